"""What nvcc would run for one source, read from its dry run.

nvcc prints the commands of its passes with ``--dryrun``, and with ``--keep`` under names
that do not change. Run one by one they make the same object as nvcc itself, byte for
byte (nvcc 13.0), so a build can run them side by side, and only those that are needed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from archbuild.model.arch import Arch
from archbuild.model.build import Step

#: What the dry run is asked about; a real source takes this name's place.
PLACEHOLDER = "archbuild-in/archbuild-source.cu"
PLACEHOLDER_OBJECT = "archbuild-object.o"
PLACEHOLDER_FOLDER = "archbuild-keep"
_STEM = "archbuild-source"
#: Stands in a wrapper for the file that the assembler is to take in.
DATA = "@archbuild-fatbin@"

_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)")
_FILE = re.compile(r"--image3?=.*\bfile=([^,]+)")
_ORIGIN = "--orig_src_path_name"
_UNREAD = ("--gen_c_file_name", "--gen_device_file_name")


@dataclass(frozen=True)
class Pass:
    """One command of nvcc.

    Args:
        step: What it does.
        command: The program and its words.
        inputs: Files that it reads, those that other passes make among them.
        outputs: Files that it makes and others read; none where it only checks.
        arch: What it compiles for or assembles; None for host passes.
        useless: Files that it makes and nothing reads.
    """

    step: Step
    command: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    arch: Arch | None = None
    useless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Script:
    """All passes of one source, in the order in which nvcc runs them.

    Args:
        passes: The passes.
        warnings: What nvcc had to say about its flags.
        wrapper: What fatbinary writes for the host compiler, with :data:`DATA` in the
            place of the fatbin; None where that is not known.
    """

    passes: tuple[Pass, ...]
    warnings: tuple[str, ...] = ()
    wrapper: str | None = None

    @property
    def tools(self) -> tuple[str, ...]:
        """The programs, each once."""
        return tuple(dict.fromkeys(one.command[0] for one in self.passes))


def dryrun_words(flags: Sequence[str]) -> tuple[str, ...]:
    """The words for nvcc that make it print its passes for :data:`PLACEHOLDER`."""
    keep = ("--dryrun", "--keep", "--keep-dir", PLACEHOLDER_FOLDER)
    return (*keep, *flags, "-c", PLACEHOLDER, "-o", PLACEHOLDER_OBJECT)


def parse_dryrun(text: str, find_tool: Callable[[str, str], str | None]) -> Script | None:
    """Read what nvcc printed.

    Args:
        text: Its standard error.
        find_tool: Finds a program by its name and by a PATH; nvcc's own comes first
            in the latter.

    Returns:
        None where something in it is not understood: the whole nvcc is to be
        called then.
    """
    variables: dict[str, str] = {}
    commands: list[list[str]] = []
    warnings: list[str] = []
    for line in text.splitlines():
        if not line.startswith("#$ "):
            warnings += [line.strip()] * bool(line.strip())
            continue
        match = _VARIABLE.match(line[3:])
        if match is not None:
            variables[match[1]] = match[2]
            continue
        words = _split(line[3:], variables)
        tool = find_tool(words[0], variables.get("PATH", "")) if words else None
        if words is None or tool is None:
            return None
        commands.append([tool, *words[1:]])
    return _sorted_out(commands, tuple(warnings))


def _split(line: str, variables: Mapping[str, str]) -> list[str] | None:
    """The words of one command; None where a shell would do more than split it."""
    line = line.replace("$CICC_PATH", variables.get("CICC_PATH", "$"))
    if any(sign in line for sign in "$`;|<>&"):
        return None
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    return [_mended(word, before) for before, word in zip(["", *words], words, strict=False)]


def _mended(word: str, before: str) -> str:
    """A word as nvcc was given it: it writes a backslash that stays before an apostrophe.

    nvcc itself does not find a folder of such a name therefore.
    """
    if word.startswith("-I") or before in ("-isystem", "-include"):
        return word.replace("\\'", "'")
    return word


def _sorted_out(commands: Sequence[Sequence[str]], warnings: tuple[str, ...]) -> Script | None:
    passes: list[Pass] = []
    for command in commands:
        one = _recognise(tuple(command))
        if one is None:
            return None
        passes.append(one)
    ends = [one.step for one in passes[-2:]]
    if ends != [Step.FATBIN, Step.HOST]:
        return None
    return Script(_joined(passes), warnings)


def _recognise(command: tuple[str, ...]) -> Pass | None:
    """Which pass a command is, by its program and what it says of itself."""
    name = re.split(r"[/\\]", command[0])[-1].removesuffix(".exe")
    reader = _READERS.get(name)
    try:
        if reader is not None:
            return reader(command)
        if "-E" in command:
            return Pass(Step.PREPROCESS, command, (_before_output(command),), (_output(command),))
        if "-c" in command:
            return Pass(Step.HOST, command, (_before_output(command),), (_output(command),))
    except (ValueError, IndexError):
        return None
    return None


def _value(command: Sequence[str], name: str) -> str:
    return command[command.index(name) + 1]


def _output(command: Sequence[str]) -> str:
    return _value(command, "-o")


def _before_output(command: Sequence[str]) -> str:
    """The file that a compiler reads: nvcc names it right before ``-o``."""
    return command[command.index("-o") - 1]


def _cudafe(command: tuple[str, ...]) -> Pass:
    made = (_value(command, "--gen_c_file_name"), _value(command, "--module_id_file_name"))
    return Pass(Step.SPLIT, command, (command[-1],), made)


def _cicc(command: tuple[str, ...]) -> Pass:
    arch = Arch.parse(_value(command, "-arch"))
    read = (next(w for w in command if w.endswith(".ii")), _value(command, "--module_id_file_name"))
    made = (_output(command), _value(command, "--stub_file_name"))
    useless = tuple(_value(command, name) for name in _UNREAD if name in command)
    return Pass(Step.DEVICE, command, read, made, arch, useless)


def _ptxas(command: tuple[str, ...]) -> Pass:
    arch = next(word for word in command if word.startswith("-arch=")).removeprefix("-arch=")
    if "-o" not in command:  # PTX that stays PTX: ptxas only looks whether it is valid
        return Pass(Step.ASSEMBLE, command, (command[-1],), (), Arch.parse(arch))
    read = (_before_output(command),)
    return Pass(Step.ASSEMBLE, command, read, (_output(command),), Arch.parse(arch))


def _fatbinary(command: tuple[str, ...]) -> Pass:
    matches = map(_FILE.fullmatch, command)
    read = tuple(match[1] for match in matches if match)
    made = tuple(
        word.partition("=")[2]
        for word in command
        if word.startswith(("--create=", "--embedded-fatbin="))
    )
    if not read or len(made) != 2:
        raise ValueError(command)
    return Pass(Step.FATBIN, command, read, made)


_READERS: Mapping[str, Callable[[tuple[str, ...]], Pass]] = {
    "cudafe++": _cudafe,
    "cicc": _cicc,
    "ptxas": _ptxas,
    "fatbinary": _fatbinary,
}


def _joined(passes: Sequence[Pass]) -> tuple[Pass, ...]:
    """The passes with what the text of their inputs includes: the fatbin and a stub."""
    archs = {read: one.arch for one in passes if one.step is Step.DEVICE for read in one.inputs}
    fatbin = next(one for one in passes if one.step is Step.FATBIN)
    split = next(one for one in passes if one.step is Step.SPLIT)
    stub = _value(split.command, "--stub_file_name")
    made = [file for one in passes for file in one.outputs]
    stubs = [file for file in made if re.split(r"[/\\]", file)[-1] == stub]
    return tuple(_join(one, archs, (*fatbin.outputs[1:], *stubs)) for one in passes)


def _join(one: Pass, archs: Mapping[str, Arch | None], included: tuple[str, ...]) -> Pass:
    if one.step is Step.HOST:
        return replace(one, inputs=(*one.inputs, *included))
    if one.step is Step.PREPROCESS:
        return replace(one, arch=archs.get(one.outputs[0]))
    return one


_QUADS = re.compile(r'(?:"\.quad [^\n]*\\n"\n)+')


def parse_wrapper(text: str) -> str | None:
    """What fatbinary writes for the host compiler, without the fatbin itself.

    The host compiler may then begin before there is one: the assembler takes it in.

    Args:
        text: As fatbinary wrote it for any image.

    Returns:
        The same with ``.incbin`` for the data; None where it is not understood.
    """
    wrapper, count = _QUADS.subn(f'".incbin \\\\"{DATA}\\\\"\\\\n"\n', text)
    return wrapper if count == 1 and ".quad" not in wrapper else None


def fill(script: Script, source: str, absolute: str, folder: str, obj: str) -> Script:
    """The passes of a real source.

    Args:
        script: That of the placeholder, with the same flags.
        source: The source as the commands are to name it.
        absolute: The same from the root on: nvcc derives names of its own from it.
        folder: Where what lies between source and object is kept.
        obj: The object.
    """
    stem = re.split(r"[/\\]", source)[-1].rpartition(".")[0]
    pairs = (
        (PLACEHOLDER, source),
        (PLACEHOLDER_OBJECT, obj),
        (f"{PLACEHOLDER_FOLDER}/{_STEM}", f"{folder}/{stem}"),
        (_STEM, stem),
    )

    def named(word: str) -> str:
        # One after the other, split at what was put in: a source may bear a placeholder's name.
        pieces = [(word, False)]
        for old, new in pairs:
            pieces = [part for piece in pieces for part in _put(piece, old, new)]
        return "".join(text for text, _ in pieces)

    def filled(one: Pass) -> Pass:
        words = [named(word) for word in one.command]
        if _ORIGIN in words:
            words[words.index(_ORIGIN) + 1] = absolute
        return replace(
            one,
            command=tuple(words),
            inputs=tuple(map(named, one.inputs)),
            outputs=tuple(map(named, one.outputs)),
            useless=tuple(map(named, one.useless)),
        )

    return replace(script, passes=tuple(map(filled, script.passes)))


def _put(piece: tuple[str, bool], old: str, new: str) -> list[tuple[str, bool]]:
    """A piece of text with a name in place of another; what was put in stays as it is."""
    text, done = piece
    if done:
        return [piece]
    found: list[tuple[str, bool]] = []
    for index, part in enumerate(text.split(old)):
        found += [(new, True)] * bool(index) + [(part, False)]
    return found
