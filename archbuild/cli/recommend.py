"""Which torch and CUDA to install for these GPUs?"""

from __future__ import annotations

import argparse
import os
import sys

from archbuild.cli.inputs import add_machine, recorded_machine
from archbuild.cli.language import add_language, language_of
from archbuild.cli.terminal import color, say, width
from archbuild.errors import UsageError

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from archbuild.rules.recommending.result import Recommendation
    from archbuild.rules.recommending.wish import Asked

# ruff: noqa: PLC0415  (see inputs.py)

_FORMATS = ("text", "pip", "uv", "conda", "requirements", "pyproject", "dockerfile")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.description = (
        "The newest torch and CUDA that serve every GPU with this driver, system, processor and "
        "Python; else the best part; else none, and what a build from source would need."
    )
    parser.epilog = "Exit: 0 a combination, 1 none for all, 2 wrong usage, 4 it can't be said."
    add = parser.add_argument
    add("--gpu", metavar="LIST", help='instead of the GPUs here: "GTX 1080, RTX 5090", 8.6')
    add("--driver", metavar="RELEASE", help="instead of the driver here: 570.124, or 580")
    add("--python", metavar="X.Y", help="instead of this one: 3.12")
    add("--system", choices=("linux", "windows", "wsl"), help="instead of this one")
    add("--processor", choices=("x86_64", "aarch64"), help="instead of this one")
    add("--with-gpu", metavar="LIST", help="what if these GPUs were there as well")
    add("--with-driver", metavar="RELEASE", help="what if this were the driver")
    add("--with-cuda", metavar="X.Y", help="what if it had to be this CUDA")
    add("--torch", metavar="X.Y", help="it must be this torch")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--format", choices=_FORMATS, default="text", help="what to print (default: %(default)s)"
    )
    how.add_argument("--json", action="store_true", help="print JSON")
    add_language(parser)
    add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    from archbuild.services.recommend import recommend_torch

    answer = recommend_torch(recorded_machine(options), _asked(options))
    text = _text(options, answer)
    if text:
        print(text)
    return answer.outcome.exit_code


def _asked(options: argparse.Namespace) -> Asked:
    from archbuild.rules.recommending.wish import Asked

    if options.driver is not None and options.with_driver is not None:
        raise UsageError("--driver and --with-driver both name a driver.", "Name one.")
    return Asked(
        options.gpu,
        options.with_gpu,
        options.driver if options.driver is not None else options.with_driver,
        options.python,
        options.system,
        options.processor,
        options.with_cuda,
        options.torch,
    )


def _text(options: argparse.Namespace, answer: Recommendation) -> str:
    if options.json:
        from archbuild.report.recommend_json import recommend_json

        return recommend_json(answer)
    language = options.lang or language_of(os.environ, sys.stdout.encoding)
    if options.format == "text":
        from archbuild.report.recommend import render_recommend

        return render_recommend(answer, width(), language=language, color=color())
    return _format(options.format, answer, language)


def _format(style: str, answer: Recommendation, language: str) -> str:
    """The part to paste; what has to be known besides goes to standard error."""
    from archbuild.report.recommend import remarks
    from archbuild.report.recommend_formats import render_format

    sure = answer.outcome.exit_code == 0 and answer.best is not None
    text = render_format(answer, style) if sure else ""
    for remark in remarks(answer, style, language=language):
        say("note" if sure else "error", remark)
    return text
