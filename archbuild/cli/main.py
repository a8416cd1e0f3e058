"""``archbuild COMMAND``: the command's module is loaded, and no other."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module

from archbuild._version import __version__
from archbuild.binary.forked import own_process
from archbuild.cli.terminal import drop_output, open_streams, say, width
from archbuild.errors import ArchbuildError

#: Each is a module beside this one, with ``add_arguments`` and ``run``.
COMMANDS = {
    "gpus": "which GPUs are in this machine, and which of them CUDA sees",
    "flags": "which -gencode flags serve these GPUs with this nvcc, and why",
    "smoke": "does this toolchain really build for every target?",
    "show": "what device code is in this wheel, library, folder or package",
    "compare": "what changed between two builds",
    "verify": "does this library or wheel hold every target?",
    "doctor": "can this machine build and run? One root cause first, and its cure",
    "recommend": 'which torch and CUDA to install for these GPUs; "none" is an answer',
    "explain": "what does this error mean here, and what cures it",
    "rebuild": "build an installed extension again for these GPUs, then verify it",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Without the program's name; None: those of the process.

    Returns:
        0 nothing wrong; 1 findings; 2 wrong usage; 3 something can't be read;
        4 not enough is known to say.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    open_streams()
    options = _parser(words).parse_args(words)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        code = run(options)
        sys.stdout.flush()
    except ArchbuildError as error:
        say("error", str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has had enough of it; that is no fault.
        drop_output()
        return 0
    except OSError as error:
        # Writing to a stream names no file. Whatever else fails is told where it is known.
        if error.filename is not None:
            raise
        drop_output()
        say("error", f"The output cannot be written: {error.strerror}. Send it elsewhere.")
        return 3
    return code


def program() -> None:
    """The program ``archbuild``: :func:`main` with a process of its own, which it ends.

    The process is not taken apart piece by piece, for which a short command would wait
    as long as for a tenth of its work.
    """
    own_process()
    code = main()
    for stream in (sys.stdout, sys.stderr):
        # What could not be written was told, or there is nobody left to tell.
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


class _Formatter(argparse.HelpFormatter):
    """Knows the width, which argparse would import a whole module to find out."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=width() - 2)


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="archbuild",
        description="Build CUDA extensions for the GPUs they will run on, and prove it.",
        formatter_class=_Formatter,
    )
    parser.add_argument("--version", action="version", version=f"archbuild {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, prog="archbuild"
    )
    # Of the others nothing is to be told once a command is named.
    named = [word for word in words[:1] if word in COMMANDS]
    for name in named or COMMANDS:
        command = commands.add_parser(name, help=COMMANDS[name], formatter_class=_Formatter)
        if name in words:
            module = import_module(f"archbuild.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser
