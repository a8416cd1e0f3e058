"""Command lines that are too long for Windows: their words go into a file."""

from __future__ import annotations

import subprocess
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace

from archbuild.model.build import Edge, Response, Step

# What CreateProcess takes, the closing null among it, and what cmd.exe takes, which runs
# batch files. learn.microsoft.com: "CreateProcessW", "Command prompt line string limitation".
_LIMIT, _BATCH_LIMIT = 32767, 8191
_BATCH = (".bat", ".cmd")
#: Kept for words that the schedule adds: ``--threads 16``.
_SPARE = 64
_PASSES_ON = ("-X", "--compiler-options")


def shortened(edge: Edge, lead: int) -> Edge:
    """The edge, its last command with a response file if it is too long without.

    Args:
        edge: nvcc's or cl's, its step tells which.
        lead: How many words call the compiler; they stay on the command line.
    """
    command = edge.commands[-1]
    if _length(command) + _SPARE < _limit(command):
        return edge
    file = f"{edge.outputs[0]}.rsp"
    head, words = command[:lead], command[lead:]
    if edge.step is Step.COMPILE:
        # Without a byte order mark cl reads it in the system's code page.
        response = Response(file, response_text(words), "utf-16")
        shorter: tuple[str, ...] = (*head, f"@{file}")
    else:
        moved = set(_indices(words, set(edge.inputs) - {edge.source}))
        paths = (words[index].replace("\\", "/") for index in sorted(moved))
        response = Response(file, response_text(paths), "utf-8")
        kept = (word for index, word in enumerate(words) if index not in moved)
        shorter = (*head, "--options-file", file, *kept)
    commands = (*edge.commands[:-1], shorter)
    return replace(edge, commands=commands, responses=(*edge.responses, response))


def _indices(words: Sequence[str], objects: Container[str]) -> Iterator[int]:
    """Which words nvcc can be told in a file: folders of headers, and objects.

    nvcc 13.0 takes a backslash in that file for an escape, and quotes in a define away;
    in a path Windows takes a slash as well.
    """
    for index, word in enumerate(words):
        passed_on = index > 0 and words[index - 1].startswith(_PASSES_ON)
        if word in objects or (word.startswith("-I") and len(word) > 2 and not passed_on):
            yield index


def response_text(words: Iterable[str]) -> str:
    """A word on each line, quoted by the rules by which programs take command lines apart."""
    return "".join(f"{subprocess.list2cmdline([word])}\n" for word in words)


def _length(command: Sequence[str]) -> int:
    """In the units that Windows counts, those of UTF-16."""
    return len(subprocess.list2cmdline(command).encode("utf-16-le", "surrogatepass")) // 2


def _limit(command: Sequence[str]) -> int:
    return _BATCH_LIMIT if command[0].lower().endswith(_BATCH) else _LIMIT
