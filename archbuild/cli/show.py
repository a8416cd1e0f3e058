"""What device code is in it?"""

from __future__ import annotations

import argparse
import gc
import os

from archbuild.cli.terminal import color, say, width
from archbuild.errors import UsageError

# ruff: noqa: PLC0415  (see inputs.py)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.description = "List the device code in libraries, objects, wheels, archives or folders."
    parser.add_argument(
        "path", nargs="*", help="a library, object, wheel, archive, folder or installed package"
    )
    parser.add_argument(
        "--kernels",
        nargs="?",
        const="",
        metavar="PATTERN",
        help="list the kernels too; with PATTERN those whose name matches, as in *gemm*",
    )
    parser.add_argument(
        "--sizes",
        action="store_true",
        help="bytes to the last digit, and the largest regions; with --kernels each kernel's size",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    # What is read has no cycles, and looking for some in thousands of images takes a while.
    gc.disable()
    try:
        return _show(options)
    finally:
        gc.enable()


def _show(options: argparse.Namespace) -> int:
    from archbuild.services.show import show

    paths, pattern = _sorted_out(options.path, options.kernels)
    asked = pattern is not None
    report = show(paths, kernels=asked, pattern=pattern or None, details=asked and options.sizes)
    for error in report.errors:
        say("error", str(error))
    if options.json:
        from archbuild.report.show_json import show_json

        text = show_json(report)
    else:
        from archbuild.report.show import render_show

        text = render_show(report, width(), sizes=options.sizes, color=color())
    if text:
        print(text)
    return report.exit_code


def _sorted_out(paths: list[str], pattern: str | None) -> tuple[list[str], str | None]:
    """Paths and pattern: in ``--kernels FILE`` the file is no pattern.

    Raises:
        UsageError: If no path is named.
    """
    if paths:
        return paths, pattern
    if pattern and os.path.lexists(pattern):
        return [pattern], ""
    raise UsageError("show was given nothing to show.", "Name a library, a wheel or a package.")
