"""What changed between two builds?"""

from __future__ import annotations

import argparse

from archbuild.cli.terminal import color, width

# ruff: noqa: PLC0415  (see inputs.py)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.description = (
        "Architectures, kernels, coverage and bytes gained and lost between two builds."
    )
    for name, which in (("before", "the earlier"), ("after", "the later")):
        parser.add_argument(name, help=f"{which} wheel, library, folder or installed package")
    parser.add_argument(
        "--fail-on", choices=("lost",), help="exit with 1 if anything was lost, else always with 0"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    from archbuild.report.compare import compare_json, render_compare
    from archbuild.services.compare import compare

    report = compare(options.before, options.after)
    print(compare_json(report) if options.json else render_compare(report, width(), color=color()))
    return int(options.fail_on == "lost" and report.differences.has_lost)
