"""What does this error mean here, and what cures it?"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from archbuild.cli.inputs import add_machine, recorded_machine
from archbuild.cli.language import add_language, language_of
from archbuild.cli.terminal import color, say, width
from archbuild.errors import UnreadableError, UsageError

# ruff: noqa: PLC0415  (see inputs.py)

#: Bytes that are read at once.
_BLOCK = 1 << 18
_UNKNOWN = (
    "This text names no error that archbuild knows. Pipe the whole log into archbuild explain, "
    "or name what failed: --file WHEEL, --package NAME."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.description = (
        "Say what an error means for this machine and for the binary that failed, and which "
        "command cures it. Takes CUDA's names, numbers and texts, what torch, compilers, linkers, "
        "loaders, docker and other packages print, or a whole log on standard input."
    )
    parser.epilog = "Exit: 0 explained, 2 wrong usage, 3 unreadable, 4 it can't be said."
    add = parser.add_argument
    what = (
        "what was printed, or the file of a log; - or nothing: standard input; the code of a "
        "finding, D340: its page"
    )
    add("text", nargs="*", metavar="TEXT", help=what)
    binary = parser.add_mutually_exclusive_group()
    binary.add_argument("--package", metavar="NAME", help="the installed package that failed")
    binary.add_argument("--file", metavar="X", help="the wheel, library or folder that failed")
    add("--source", metavar="DIR", help="the source of that package, to build it again from")
    add("--gpu", metavar="LIST", help='these GPUs instead of the ones here: "RTX 3090, 12.0"')
    add("--driver", metavar="RELEASE", help="their driver, 570.124")
    add("--driver-cuda", metavar="X.Y", help="the same by the CUDA that it serves, 12.8")
    add("--json", action="store_true", help="print JSON")
    add_language(parser)
    add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    from archbuild.services.explain import explain

    machine = recorded_machine(options)
    log = _log(options)
    if log is None and len(options.text) == 1 and (page := _page(options.text[0])) is not None:
        print(page, end="")
        return 0
    report = explain(
        " ".join(options.text) if options.text and log is None else None,
        log=log,
        package=options.package,
        file=options.file,
        source=options.source,
        gpu=options.gpu,
        driver=options.driver,
        driver_cuda=options.driver_cuda,
        machine=machine,
    )
    if report.exit_code == 4:
        say("error", _UNKNOWN)
    if report.circumstances.files is None:
        for text in report.circumstances.unread:
            say("note", text)
    language = options.lang or language_of(os.environ, sys.stdout.encoding)
    if options.json:
        from archbuild.report.explain_json import explain_json

        print(explain_json(report))
    elif report.exit_code == 0 or report.answer.here:
        from archbuild.report.explain import render_explain

        print(render_explain(report, width(), language=language, color=color()))
    return report.exit_code


def _page(word: str) -> str | None:
    """The page of a finding; None if the word is no code of one.

    Raises:
        UsageError: If it looks like one, and there is none of that code.
    """
    from archbuild.probe.pages import CODE, find_page

    if not CODE.fullmatch(word):
        return None
    page = find_page(word)
    if page is None:
        raise UsageError(f"There is no finding {word}.", "Take the code as it was printed: D340.")
    return page


def _log(options: argparse.Namespace) -> Iterator[bytes] | None:
    """The log to read: standard input, or a file that was named; None: the words are the text."""
    words = options.text
    if len(words) == 1 and os.path.isfile(words[0]):  # noqa: PTH113 - pathlib is slow to import
        return _file(words[0])
    if words and words != ["-"]:
        return None
    named = options.file is not None or options.package is not None
    waits = sys.stdin is not None and not sys.stdin.isatty() and not named
    return _input() if words or waits else None


def _file(path: str) -> Iterator[bytes]:
    """A file in blocks.

    Raises:
        UnreadableError: If it cannot be read.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            while block := file.read(_BLOCK):
                yield block
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}."
        raise UnreadableError(message, "Check its permissions, or pipe it in.") from None


def _input() -> Iterator[bytes]:
    """Standard input in blocks."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        yield (sys.stdin.read() if sys.stdin is not None else "").encode("utf-8", "replace")
        return
    while block := stream.read(_BLOCK):
        yield block
