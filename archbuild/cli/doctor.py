"""Can this machine build and run?"""

from __future__ import annotations

import argparse
import os
import sys

from archbuild.cli.inputs import add_machine, recorded_machine
from archbuild.cli.language import add_language, language_of
from archbuild.cli.terminal import color, width
from archbuild.errors import UsageError

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from archbuild.rules.diagnosis.changes import Changes
    from archbuild.services.doctor import Examination

# ruff: noqa: PLC0415  (see inputs.py)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.description = (
        "Judge every GPU, the driver, toolkits, torch and every package with device code; name "
        "one root cause and the command that cures it."
    )
    parser.epilog = "Exit: 0 all well, 1 findings, 2 wrong usage, 3 unreadable, 4 it can't be said."
    add = parser.add_argument
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print JSON")
    how.add_argument(
        "--markdown",
        action="store_true",
        help="for an issue report: names, paths of homes and serial numbers are left out",
    )
    how.add_argument(
        "--check",
        action="store_true",
        help="one line, in under two seconds: for boot, CI, the health check of a container",
    )
    add("--strict", action="store_true", help="warnings fail as well")
    add("--verbose", action="store_true", help="all evidence, every library")
    add("--save", metavar="FILE", help="write the machine to a file as well")
    add("--diff", metavar="OLD", help="what changed since this record was written")
    add(
        "--run",
        dest="trials",  # "run" is the function of the command
        action=argparse.BooleanOptionalAction,
        default=None,
        help="run kernels on every GPU; default: where CUDA sees one",
    )
    add_language(parser)
    add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    from archbuild.probe.machine import read_machine, write_machine
    from archbuild.services.doctor import changes_since, check, diagnose

    if options.trials and (options.machine is not None or options.check):
        why = "a record has no GPU" if options.machine is not None else "--check runs nothing"
        raise UsageError(f"--run cannot be: {why}.", "Leave one of the two out.")
    recorded = recorded_machine(options)
    # A record that cannot be read is told before the machine is asked, which takes a while.
    old = read_machine(options.diff) if options.diff is not None else None
    examined = check(recorded) if options.check else diagnose(recorded, trials=options.trials)
    if options.save is not None:
        write_machine(examined.machine, options.save)
    changes = changes_since(old, examined) if old is not None else None
    print(_text(options, examined, changes))
    return examined.report.exit_code(strict=options.strict)


def _text(options: argparse.Namespace, examined: Examination, changes: Changes | None) -> str:
    language = options.lang or language_of(os.environ, sys.stdout.encoding)
    if options.json:
        from archbuild.report.doctor_json import doctor_json

        return doctor_json(examined, strict=options.strict, changes=changes)
    if options.markdown:
        from archbuild.probe.person import query_person
        from archbuild.report.doctor_markdown import doctor_markdown

        return doctor_markdown(examined, query_person(), language=language)
    if options.check:
        from archbuild.report.doctor_check import render_check

        return render_check(examined, language=language, strict=options.strict)
    return _report(options, examined, changes, language)


def _report(
    options: argparse.Namespace, examined: Examination, changes: Changes | None, language: str
) -> str:
    from archbuild.report.doctor import render_doctor

    columns, inked = width(), color()
    text = render_doctor(
        examined,
        columns,
        language=language,
        verbose=options.verbose,
        strict=options.strict,
        color=inked,
    )
    if changes is None:
        return text
    from archbuild.report.doctor_changes import render_changes

    return f"{render_changes(changes, columns, language=language, color=inked)}\n\n{text}"
