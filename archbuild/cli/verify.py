"""Does it hold what was declared, and will it run on these GPUs with this driver?"""

from __future__ import annotations

import argparse

from archbuild.cli.inputs import add_machines, recorded_machines
from archbuild.cli.terminal import color, say, width

# ruff: noqa: PLC0415  (see inputs.py)

UNREADABLE = "V206"
_CURE = 'Name it: --targets "8.6;9.0+PTX", --runs-on "RTX 4090", or TORCH_CUDA_ARCH_LIST.'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.description = (
        "Hold libraries, wheels, archives, folders or installed packages against a list of "
        "targets, or of GPUs with a driver. Needs no toolkit, no GPU and no driver."
    )
    parser.epilog = "Exit: 0 well, 1 findings, 2 wrong usage, 3 unreadable, 4 it can't be said."
    add = parser.add_argument
    add("path", nargs="+", metavar="X", help="a wheel, library, folder or installed package")
    add("--targets", metavar="LIST", help='exact images: "8.6;9.0a;12.0+PTX"')
    add("--runs-on", metavar="LIST", help='devices: "RTX 4090, 9.0", or native')
    add("--driver", metavar="RELEASE", help="the devices' driver, 550.54")
    add("--driver-cuda", metavar="X.Y", help="the same by the CUDA that it serves, 12.4")
    add_machines(parser, "records of machines that it must run on, each with its own driver")
    add("--file", metavar="GLOB", help="judge only files of this name")
    add("--no-allow-jit", action="store_true", help="PTX will not do")
    add("--exact", action="store_true", help="more than the targets is as wrong as less")
    add("--allow-dev", action="store_true", help="a development build will do")
    add("--strict", action="store_true", help="warnings fail as well")
    add("--size-budget", metavar="SIZE", help="the most bytes each may have: 100MB")
    add("--config", metavar="FILE", help="policy and waivers, in place of ./pyproject.toml")
    add("--baseline", metavar="FILE", help="an earlier --json: only what is new fails")
    readers = ("auto", "native", "cuobjdump", "both")
    add("--reader", choices=readers, default="auto", help="default: both where cuobjdump is found")
    add(
        "--tegra",
        choices=("yes", "no", "undocumented"),
        default="undocumented",
        help="does SASS run between Tegra and other chips?",
    )
    add(
        "--kernels",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="read the kernels; default: for devices, and where they decide",
    )
    formats = ("text", "json", "markdown", "github")
    add("--format", choices=formats, default="text", help="default: %(default)s")
    add(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="the same as --format json",
    )


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    from archbuild.services.verify import verify

    report = verify(
        options.path,
        targets=options.targets,
        runs_on=options.runs_on,
        driver=options.driver,
        driver_cuda=options.driver_cuda,
        file=options.file,
        allow_jit=not options.no_allow_jit,
        strict=options.strict,
        exact=options.exact,
        size_budget=options.size_budget,
        config=options.config,
        baseline=options.baseline,
        reader=options.reader,
        tegra=options.tegra,
        kernels=options.kernels,
        allow_dev=options.allow_dev,
        machines=recorded_machines(options),
    )
    source = report.demand.expected.source
    if source and source != "--targets":
        say("note", f"Held against {source}.")
    unread = [finding for finding in report.findings if finding.code == UNREADABLE]
    for finding in unread:
        say("error", f"{finding.message} {finding.advice}".rstrip())
    if report.demand.is_empty and not unread:
        say("error", f"Nothing says what this should hold. {_CURE}")
    if options.format == "text" and not report.files and len(unread) == len(report.findings) > 0:
        return report.exit_code
    if options.format == "json":
        from archbuild.report.verify_json import verify_json

        print(verify_json(report))
    elif options.format == "text":
        from archbuild.report.verify import render_verify

        print(render_verify(report, width(), color=color()))
    else:
        from archbuild.report import verify_markdown as other

        render = other.verify_github if options.format == "github" else other.verify_markdown
        print(render(report))
    return report.exit_code
