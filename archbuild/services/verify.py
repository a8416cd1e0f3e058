"""Does it hold what was declared, and will it run on these GPUs? Read it, judge it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from archbuild.binary.manifests import Manifests
from archbuild.binary.names import normalize
from archbuild.binary.recognize import READER
from archbuild.errors import ArchbuildError, NotKnownError, UsageError
from archbuild.model.arch import Arch
from archbuild.model.finding import Finding
from archbuild.model.image import DeviceFile
from archbuild.model.machine import Machine
from archbuild.model.waiver import Waiver
from archbuild.probe.baseline import read_baseline
from archbuild.probe.machine import query_machine
from archbuild.probe.manifest_files import ManifestFiles
from archbuild.probe.project import read_config
from archbuild.probe.second_reader import OtherReader
from archbuild.probe.wanted_files import WantedFiles
from archbuild.rules.checking.agreement import Agreement
from archbuild.rules.checking.codes import UNREADABLE
from archbuild.rules.checking.demand import Demand, Options, make_demand, parse_tegra, spell_targets
from archbuild.rules.checking.judge import FileVerdict, judge_file, wants_closer_look
from archbuild.rules.checking.package_checks import bytes_by_arch, check_driver_bundled, check_size
from archbuild.rules.checking.place_verdicts import check_places, judge_places
from archbuild.rules.checking.targets import check_any_code, check_container, unreadable
from archbuild.rules.checking.verify_outcome import (
    SecondReader,
    VerifyReport,
    note_unasked,
    with_manifests,
)
from archbuild.rules.checking.waivers import apply_waivers, new_findings
from archbuild.rules.covering.places import Member

#: Who may read the files.
READERS = ("auto", "native", "cuobjdump", "both")


def verify(
    path: str | Path | Sequence[str | Path],
    *,
    targets: str | Sequence[Arch | str] | None = None,
    runs_on: str | Sequence[str] | None = None,
    driver: str | None = None,
    driver_cuda: str | None = None,
    file: str | None = None,
    allow_jit: bool = True,
    strict: bool = False,
    exact: bool = False,
    size_budget: str | int | None = None,
    config: str | Path | None = None,
    baseline: str | Path | None = None,
    reader: str = "auto",
    tegra: str = "undocumented",
    kernels: bool | None = None,
    allow_dev: bool = False,
    machines: Sequence[Member] = (),
) -> VerifyReport:
    """Whether files hold what they should, and run where they should.

    Nothing of a file is executed or imported. What can't be read is a finding of
    the report (V206), so that the other files are told of as well.

    Args:
        path: A file, folder, wheel, other archive or installed package, or several.
        targets: The images that every region with kernels must hold, exactly:
            ``"8.6;9.0a;12.0+PTX"``. Where neither these nor ``runs_on`` are given:
            the manifest beside the library, ARCHBUILD_ARCHS,
            TORCH_CUDA_ARCH_LIST, ``[tool.archbuild] archs``.
        runs_on: The devices it must run on: ``"RTX 4090, 9.0, native"``.
        driver: The release of their driver, ``"550.54"``.
        driver_cuda: The CUDA version that their driver serves, ``"12.4"``.
        file: Only files whose name, or whole path, matches this glob.
        allow_jit: Whether PTX, compiled by the driver, will do.
        strict: Whether warnings fail.
        exact: Whether more than the targets is as wrong as less.
        size_budget: The most bytes that each path may have, ``"100MB"``.
        config: A TOML file with ``[tool.archbuild]``; None: ./pyproject.toml.
        baseline: An earlier report (``--json``): only what is new fails.
        reader: ``native``, ``cuobjdump``, ``both``, or ``auto``: both where there
            is a cuobjdump.
        tegra: ``yes``, ``no`` or ``undocumented``: whether SASS for Tegra runs on
            other chips and the other way round.
        kernels: Whether to read the kernels; None: for devices always, for
            targets only of small files and where they decide.
        allow_dev: Whether a development build will do.
        machines: Recorded machines: their GPUs are devices it must run on, each with
            its machine's own driver; one that is named here goes before theirs.

    Returns:
        The report; ``ok`` sums it up, ``findings`` says why.

    Raises:
        UsageError: If an argument can't be read, or no file matches the glob.
        NotKnownError: If a reader or a GPU that was asked for is not there.

    Examples:
        >>> report = verify("tests/data/classic.so", targets="8.6;12.0+PTX", reader="native")
        >>> report.ok
        True
        >>> report = verify("tests/data/classic.so", runs_on="RTX 2080", reader="native")
        >>> [(finding.code, finding.message) for finding in report.findings]
        [('V210', 'tests/data/classic.so has nothing that runs on 7.5.')]
    """
    paths = [path] if isinstance(path, (str, Path)) else list(path)
    settings = read_config(file=config) if config is not None else read_config()
    options = Options(
        targets=spell_targets(targets),
        runs_on=runs_on if runs_on is None or isinstance(runs_on, str) else ", ".join(runs_on),
        driver=driver,
        driver_cuda=driver_cuda,
        allow_jit=allow_jit,
        exact=exact,
        strict=strict,
        size_budget=None if size_budget is None else str(size_budget),
        tegra=parse_tegra(tegra),
        allow_dev=allow_dev,
        machines=tuple(machines),
    )
    before = None if baseline is None else read_baseline(baseline)
    machine = _machine(options, settings.verify.runs_on, reader)
    demand = make_demand(options, machine, settings)
    other = OtherReader(_cuobjdump(machine, reader), len(paths) > 1)
    deep = bool(demand.destinations)
    look = _Look(demand, WantedFiles(file, kernels, deep, other, reader), len(paths) > 1)
    return _report([str(one) for one in paths], look, settings.waivers, before)


def _machine(options: Options, policy: str | None, reader: str) -> Machine:
    """This machine, as far as the lists and the readers need it."""
    if reader not in READERS:
        raise UsageError(f"reader is {reader!r:.40}.", f"Say one of {', '.join(READERS)}.")
    named = (options.targets, options.runs_on, policy)
    variables = (os.environ.get(name) for name in ("ARCHBUILD_ARCHS", "TORCH_CUDA_ARCH_LIST"))
    text = " ".join(filter(None, (*named, *variables))).lower()
    return query_machine(
        gpus="native" in text, toolkits=reader != "native" or "all" in text, torch=False
    )


def _cuobjdump(machine: Machine, reader: str) -> str | None:
    """The cuobjdump to ask, None where it is not to be asked or not there.

    Raises:
        NotKnownError: If it was asked for by name and is not there.
    """
    if reader == "native":
        return None
    if machine.cuobjdump is None and reader != "auto":
        reason = machine.absence("cuobjdump") or "it was not found"
        raise NotKnownError(
            f"There is no cuobjdump here: {reason}.",
            'Install it with: pip install "nvidia-cuda-cuobjdump>=13.2"',
        )
    return machine.cuobjdump


def _report(
    paths: Sequence[str],
    look: _Look,
    waivers: Sequence[Waiver],
    before: Sequence[Finding] | None,
) -> VerifyReport:
    if not paths:
        raise UsageError("verify was given nothing to verify.", "Name a library or a wheel.")
    seen = [look.at(path) for path in paths]
    verdicts = note_unasked([verdict for one in seen for verdict in one.verdicts])
    found = [finding for one in seen for finding in one.findings]
    found += check_places(judge_places(look.demand, verdicts))
    unread = [finding for finding in found if finding.code == UNREADABLE.code]
    if look.files.glob is not None and not verdicts and not unread:
        message = f"No file in {', '.join(paths)} matches {look.files.glob!r}."
        raise UsageError(message, "Look at the names first: archbuild show X")
    judged = apply_waivers([f for f in found if f.code != UNREADABLE.code], waivers)
    kept = judged.kept
    if before is not None:
        kept = new_findings(kept, before, normalize)
    return VerifyReport(
        tuple(paths),
        with_manifests(look.demand, verdicts),
        verdicts,
        (*unread, *kept),
        judged.waived,
        tuple(finding for finding in judged.kept if finding not in set(kept)),
        look.who,
        look.second([one.agreement for one in seen]),
        bool(look.files.kernels),
    )


@dataclass(frozen=True)
class _Seen:
    """What was found in one path."""

    verdicts: tuple[FileVerdict, ...]
    findings: tuple[Finding, ...]
    agreement: Agreement


@dataclass(frozen=True)
class _Look:
    """How to look: for what, and with whose eyes."""

    demand: Demand
    files: WantedFiles
    several: bool

    @property
    def who(self) -> str:
        """Who reads the files in the first place."""
        return self.files.other.name if self.files.reader == "cuobjdump" else READER

    def second(self, agreements: Sequence[Agreement]) -> SecondReader | None:
        """What came of asking cuobjdump as well; None where nobody wanted it."""
        if self.files.reader in ("native", "cuobjdump"):
            return None
        return self.files.other.sum_up(agreements)

    def at(self, path: str) -> _Seen:
        """Read everything in a path, and judge it."""
        if not path:
            raise UsageError("A path is empty.", "Look at the variable that should have held it.")
        errors: list[ArchbuildError] = []
        manifests = Manifests()
        files, verdicts = self._judge(path, errors, manifests)
        both = self.files.reader != "cuobjdump"
        agreement = self.files.other.compare(path, files) if both else Agreement()
        findings = (
            *(unreadable(error.message, path, error.advice) for error in errors),
            *self._check_whole(path, files, errors),
            *(finding for verdict in verdicts for finding in verdict.findings),
            *agreement.findings,
        )
        return _Seen(tuple(verdicts), findings, agreement)

    def _judge(
        self, path: str, errors: list[ArchbuildError], manifests: Manifests
    ) -> tuple[list[DeviceFile], list[FileVerdict]]:
        """Every file with its verdict; those that need it are read again, with kernels."""
        # A manifest may come after its library, so that nothing is judged before the end.
        files = list(self.files.read(path, errors, manifests))
        beside = ManifestFiles(manifests, errors, [file.path for file in files])
        closer = {
            file.path
            for file in files
            if self.files.kernels is None
            and wants_closer_look(file, self.demand, beside.manifest_of(file.path))
        }
        verdicts = {
            file.path: self._verdict(path, file, beside)
            for file in files
            if file.path not in closer
        }
        for file in self.files.read_kernels(path, closer, errors, manifests):
            verdicts[file.path] = self._verdict(path, file, beside)
        named = [self._named(path, file) for file in files]
        return named, [verdicts[file.path] for file in files if file.path in verdicts]

    def _verdict(self, path: str, file: DeviceFile, beside: ManifestFiles) -> FileVerdict:
        named = self._named(path, file)
        verdict = judge_file(named, self.demand, beside.manifest_of(file.path))
        more = tuple(beside.findings(file.path, named.path))
        return replace(verdict, findings=(*verdict.findings, *more)) if more else verdict

    def _named(self, path: str, file: DeviceFile) -> DeviceFile:
        """With several paths a member's name says which wheel it is from."""
        inside = self.several and not file.path.startswith(path)
        return replace(file, path=f"{path}/{file.path}") if inside else file

    def _check_whole(
        self, path: str, files: Sequence[DeviceFile], errors: Sequence[ArchbuildError]
    ) -> Iterator[Finding]:
        """What is to be said of the path as a whole."""
        if errors and not files:
            return
        if any(file.path != path for file in files) and Path(path).is_file():
            from archbuild.binary.wheel import describe_container  # noqa: PLC0415

            yield from check_container(describe_container(path), path)
        if files or self.files.glob is None:
            yield from check_any_code(files, path, unread=len(errors))
        yield from check_driver_bundled(file.path for file in files)
        if self.demand.size_budget is not None:
            size = Path(path).stat().st_size if Path(path).is_file() else _total(files)
            yield from check_size(path, size, self.demand.size_budget, bytes_by_arch(files))


def _total(files: Sequence[DeviceFile]) -> int:
    return sum(file.size or 0 for file in files)
