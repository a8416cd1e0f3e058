"""What the binary that failed has to do with an error, and what cures that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from archbuild.model.arch import Arch, ComputeCapability, Stage
from archbuild.model.coverage import Cause, Destination, Outcome
from archbuild.model.image import DeviceFile, Image, ImageKind, Region
from archbuild.rules.covering.coverage import cover_region, loadable_images
from archbuild.rules.covering.places import Place
from archbuild.rules.explaining.answer import Phrase, phrase
from archbuild.rules.explaining.circumstances import Circumstances
from archbuild.rules.explaining.code_verdict import (
    CodeVerdict,
    State,
    has_code,
    judge_code,
    place_phrase,
    verdict_phrase,
)
from archbuild.rules.explaining.rebuild_command import (
    missing_toolkit,
    rebuild_commands,
    wanted_archs,
)
from archbuild.rules.rebuilding.variables import find_package_row
from archbuild.rules.selecting.archlist import render_arch_list

#: How many sentences on files are said.
_SHOWN = 6
#: Errors for which the driver decides.
_OF_DRIVERS = (222, 218, 221, 223)
#: Packages that people install and don't build: another build of them is the cure.
_RECOMMENDED = ("torch", "torchvision", "torchaudio")
_INSTALLED = re.compile(r"(?:cupy|paddlepaddle|bitsandbytes|triton|nvidia-|vllm)[\w-]*")


@dataclass(frozen=True)
class CodeAnswer:
    """The binary's part of an answer.

    Args:
        here: What it does on the GPUs, the worst first.
        errors: What a person sees of that.
        kernels: Mangled names of the kernels that fail.
        cure: What to do; None: what the error's own advice says.
        commands: As commands to paste; None: the error's own.
        wanted: What would decide more.
        decided: Whether it is proved that something of it fails.
    """

    here: tuple[Phrase, ...] = ()
    errors: tuple[int, ...] = ()
    kernels: tuple[str, ...] = ()
    cure: Phrase | None = None
    commands: tuple[str, ...] | None = None
    wanted: tuple[Phrase, ...] = ()
    decided: bool = False


def answer_code(circumstances: Circumstances, errors: Sequence[int]) -> CodeAnswer:
    """What the binary does on the GPUs, and what cures it.

    Args:
        circumstances: With the binary and the GPUs.
        errors: What the text names; empty: there is no text.
    """
    wanted = tuple(_wanted(circumstances, errors))
    files = circumstances.files
    if files is None:
        return CodeAnswer(wanted=wanted)
    without = tuple(_without_code(circumstances, files))
    if without:
        link = without[0].key == "code-relocatable"
        cure = phrase("cure-link") if link else None
        return CodeAnswer(without, cure=cure, wanted=wanted, decided=True)
    verdicts = judge_code(files, circumstances.places)
    failing = [verdict for verdict in verdicts if verdict.fails]
    here = (*_unread(circumstances), *_sentences(verdicts, failing))
    if not failing:
        return _serving(circumstances, verdicts, here, wanted)
    return _failing(circumstances, failing, (*here, *_other_error(failing, errors)), wanted)


def _serving(
    circumstances: Circumstances,
    verdicts: Sequence[CodeVerdict],
    here: tuple[Phrase, ...],
    wanted: tuple[Phrase, ...],
) -> CodeAnswer:
    """Where nothing of the binary fails: something else did, unless that is not known."""
    if not verdicts or not all(v.state in (State.JIT, State.NATIVE) for v in verdicts):
        return CodeAnswer(here, wanted=wanted)
    not_it = phrase("code-not-it", binary=circumstances.binary)
    commands = ("archbuild doctor",)
    return CodeAnswer((*here, not_it), cure=phrase("cure-other"), commands=commands, wanted=wanted)


def _failing(
    circumstances: Circumstances,
    failing: Sequence[CodeVerdict],
    here: tuple[Phrase, ...],
    wanted: tuple[Phrase, ...],
) -> CodeAnswer:
    found = tuple(dict.fromkeys(number for verdict in failing for number in verdict.errors))
    kernels = tuple(dict.fromkeys(name for verdict in failing for name in verdict.kernels))
    cure, commands, archs = _cure(circumstances, failing)
    how = missing_toolkit(circumstances.machine, archs) if archs else None
    if how is not None:
        here = (*here, phrase("toolkit-needed", how=how))
    if not commands and failing[0].state not in (State.DEVICE, State.DRIVER):
        wanted = (*wanted, phrase("want-source"))
    return CodeAnswer(here, found, kernels, cure, commands, wanted, decided=True)


# --- sentences ------------------------------------------------------------------------------------


def _sentences(verdicts: Sequence[CodeVerdict], failing: Sequence[CodeVerdict]) -> Iterator[Phrase]:
    """What fails, and what the same files do on the other GPUs; all, where nothing fails."""
    bad = {verdict.file.path for verdict in failing}
    chosen = [v for v in verdicts if v.file.path in bad] if failing else list(verdicts)
    told = dict.fromkeys(map(_sentence, chosen))
    yield from list(told)[:_SHOWN]
    if len(told) > _SHOWN:
        yield phrase("code-more", count=str(len(told) - _SHOWN))


def _sentence(verdict: CodeVerdict) -> Phrase:
    said = verdict_phrase(verdict)
    retired = any(r.verdict.cause is Cause.DEVICE_RETIRED for r in verdict.regions)
    return Phrase("code-retired", said.values) if retired else said


def _unread(circumstances: Circumstances) -> Iterator[Phrase]:
    for text in circumstances.unread:
        yield phrase("code-unread", text=text)


def _without_code(circumstances: Circumstances, files: Sequence[DeviceFile]) -> Iterator[Phrase]:
    """Where no file holds CUDA code that a driver could load."""
    held = [file for file in files if has_code(file)]
    if not held:
        hip = [file for file in files if file.hip]
        if hip:
            yield phrase("code-hip", file=hip[0].path)
        elif not circumstances.unread:
            yield phrase("code-no-code", file=circumstances.binary)
    elif not any(loadable_images(region) for file in held for region in file.regions):
        yield phrase("code-relocatable", file=held[0].path)


def _other_error(failing: Iterable[CodeVerdict], errors: Sequence[int]) -> Iterator[Phrase]:
    """Where the binary gives another error than the text names."""
    found = list(dict.fromkeys(number for verdict in failing for number in verdict.errors))
    alike = {98, 209, 500}
    if errors and found and not set(found) & set(errors) and not {errors[0], found[0]} <= alike:
        yield phrase("code-other-error", errors=", ".join(map(str, found)), number=str(errors[0]))


def _wanted(circumstances: Circumstances, errors: Sequence[int]) -> Iterator[Phrase]:
    if circumstances.files is None and circumstances.suspect is not None:
        yield phrase("want-package", name=circumstances.suspect)
    elif circumstances.files is None:
        yield phrase("want-file")
    places = [place for place in circumstances.places if place.capability is not None]
    if not places:
        yield phrase("want-gpu")
    elif errors and errors[0] in _OF_DRIVERS and any(place.driver is None for place in places):
        yield phrase("want-driver")


# --- cures ----------------------------------------------------------------------------------------


def _cure(
    circumstances: Circumstances, failing: Sequence[CodeVerdict]
) -> tuple[Phrase, tuple[str, ...], tuple[Arch, ...]]:
    """The cure of the worst, with the commands for all that fail, and what they build."""
    worst = failing[0]
    values = dict(_sentence(worst).values)
    floors = {k: v for k, v in values.items() if k.startswith("floor") and isinstance(v, str)}
    if worst.state is State.DEVICE:
        return _cure_device(worst, floors), (), ()
    if worst.state is State.DRIVER:
        return phrase("cure-driver", **floors), (), ()
    upgrade = _upgrade(circumstances)
    if upgrade is not None:
        return (*upgrade, ())
    archs = wanted_archs([v.file for v in failing], failing, circumstances.machine)
    if not archs:
        return phrase("cure-upgrade", name=circumstances.binary), (), ()
    commands = rebuild_commands(circumstances, archs)
    named = render_arch_list(archs)
    if worst.state is State.PTX:
        return phrase("cure-ptx", archs=named, **floors), commands, archs
    if worst.state is State.UNREGISTERED:
        return phrase("cure-registered"), commands, archs
    return phrase("cure-rebuild", archs=named), commands, archs


def _cure_device(worst: CodeVerdict, floors: Mapping[str, str]) -> Phrase:
    if any(r.verdict.cause is Cause.DEVICE_RETIRED for r in worst.regions):
        return phrase("cure-retired")
    return phrase("cure-device", **floors)


def _upgrade(circumstances: Circumstances) -> tuple[Phrase, tuple[str, ...]] | None:
    """For packages that nobody builds: which command brings another build."""
    name = circumstances.origin.name
    if name is None or circumstances.origin.source is not None:
        return None
    if name in _RECOMMENDED:
        return phrase("cure-upgrade", name=name), (_recommend(circumstances),)
    row = find_package_row(name)
    if _INSTALLED.fullmatch(name) or (row is not None and row.refused):
        return phrase("cure-upgrade", name=name), (f"pip install --upgrade {name}",)
    return None


def _recommend(circumstances: Circumstances) -> str:
    if circumstances.here:
        return "archbuild recommend"
    named = dict.fromkeys(
        place.gpu or str(place.capability) for place in circumstances.places if place.capability
    )
    return f'archbuild recommend --gpu "{", ".join(named)}"'


def build_again(circumstances: Circumstances) -> CodeAnswer:
    """The commands that build the binary anew, for what it holds and for the GPUs."""
    if circumstances.files is None:
        name = circumstances.suspect
        want = phrase("want-file") if name is None else phrase("want-package", name=name)
        return CodeAnswer(wanted=(want,))
    verdicts = judge_code(circumstances.files, circumstances.places)
    archs = wanted_archs(circumstances.files, verdicts, circumstances.machine)
    commands = rebuild_commands(circumstances, archs) if archs else ()
    return CodeAnswer(commands=commands, wanted=() if commands else (phrase("want-source"),))


# --- lists that torch prints -------------------------------------------------------------------


def answer_list(values: Mapping[str, str]) -> CodeAnswer | None:
    """Whether it is true that a list of architectures does not serve a GPU; None: no GPU.

    Args:
        values: Of the text: ``sm`` or ``capability`` of the GPU, and ``has``.
    """
    device = _capability(values)
    archs = tuple(_archs(values.get("has", "")))
    if device is None:
        return None
    place = Place("", values.get("gpu", ""), device)
    if not archs:
        return CodeAnswer(commands=(f'archbuild recommend --gpu "{device}"',))
    region = Region(tuple(map(_image, archs)))
    outcome = cover_region(region, Destination(device)).verdict.outcome
    words = {Outcome.NO: "true", Outcome.UNKNOWN: "unknown"}.get(outcome, "false")
    named = ", ".join(map(str, archs))
    here = (phrase(f"list-{words}", place=place_phrase(place), has=named),)
    if words == "false":
        return CodeAnswer(here, cure=phrase("cure-false-alarm"), commands=(), decided=True)
    command = f'archbuild recommend --gpu "{device}"'
    return CodeAnswer(here, commands=(command,), decided=words == "true")


def _capability(values: Mapping[str, str]) -> ComputeCapability | None:
    try:
        if "sm" in values:
            return ComputeCapability.from_number(int(values["sm"]))
        return ComputeCapability.parse(values.get("capability", ""))
    except ValueError:
        return None


def _archs(text: str) -> Iterator[Arch]:
    for word in text.split():
        try:
            yield Arch.parse(word)
        except ValueError:
            continue


def _image(arch: Arch) -> Image:
    kind = ImageKind.SASS if arch.stage is Stage.REAL else ImageKind.PTX
    return Image(kind, arch, kernels=("",))
