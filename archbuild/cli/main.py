"""``archbuild COMMAND``: the command's module is loaded, and no other."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from archbuild._version import __version__
from archbuild.cli.terminal import drop_output, open_streams, say
from archbuild.errors import ArchbuildError

#: Each is a module beside this one, with ``add_arguments`` and ``run``.
COMMANDS = {
    "gpus": "which GPUs are in this machine, and which of them CUDA sees",
    "flags": "which -gencode flags serve these GPUs with this nvcc, and why",
    "smoke": "does this toolchain really build for every target?",
    "verify": "does this library or wheel hold every target?",
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


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="archbuild",
        description="Build CUDA extensions for the GPUs they will run on, and prove it.",
    )
    parser.add_argument("--version", action="version", version=f"archbuild {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, question in COMMANDS.items():
        command = commands.add_parser(name, help=question)
        if name in words:
            module = import_module(f"archbuild.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser
