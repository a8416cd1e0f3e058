"""Does this toolchain really build for every target? Compile, link, verify, run."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from archbuild.binary.cuobjdump import read_with_cuobjdump
from archbuild.binary.reader import read
from archbuild.errors import UnreadableError, UsageError
from archbuild.model.arch import Arch
from archbuild.model.gencode import Gencode, render_gencodes
from archbuild.model.image import DeviceFile
from archbuild.model.machine import Gpu, Toolkit
from archbuild.probe.process import Outcome, run_limited
from archbuild.probe.resources import query_resources
from archbuild.probe.smoke_source import find_source
from archbuild.rules.building.build_failure import explain_failure
from archbuild.rules.building.smoke_numbers import compute_numbers
from archbuild.rules.building.smoke_outcome import (
    GpuRun,
    SmokeReport,
    Stage,
    State,
    judge_answer,
    sum_up,
)
from archbuild.rules.checking.agreement import check_readers

#: The kernel's name in csrc/smoke.cu.
KERNEL = "archbuild_smoke_kernel"
#: Seconds for one call of nvcc; a target takes about half a second.
_NVCC_TIMEOUT = 600.0
#: Seconds for one GPU: starting CUDA on a machine with many takes tens of them.
_RUN_TIMEOUT = 120.0
_ELEMENTS, _SEED = 1000, 20260214  # not a multiple of the block, so that its edge is tested
_WINDOWS = os.name == "nt"


def smoke(
    toolkit: Toolkit,
    gencodes: Sequence[Gencode],
    *,
    cuobjdump: str,
    gpus: Sequence[Gpu],
    run: bool = True,
    keep: str | None = None,
    words: Sequence[str] = (),
) -> SmokeReport:
    """Build the smoke kernel for every target, check it, and run it on every GPU.

    Args:
        toolkit: Whose nvcc to try.
        gencodes: What to build.
        cuobjdump: The cuobjdump to check with.
        gpus: Where to run; none is no failure.
        run: False: build and check only.
        keep: A folder to leave the library in, if it is good.
        words: More for nvcc, that name its host compiler.

    Raises:
        UsageError: If no gencode is given, or ``keep`` cannot be written.
        ToolError: If cuobjdump fails.
        UnreadableError: If there is no room for temporary files.
    """
    if not gencodes:
        raise UsageError("smoke was given no target.", "Name some: --arch 8.6,9.0")
    with _scratch() as folder:
        work = _Work(toolkit, tuple(gencodes), folder, tuple(words))
        stages = _build(work, cuobjdump)
        good = all(stage.state is State.PASSED for stage in stages)
        runs = tuple(_run_on(work, gpu) for gpu in gpus) if run and good else ()
        stages.append(sum_up(runs, good=good, wanted=run))
        kept = _keep(work.library, Path(keep)) if keep is not None and good else None
    return SmokeReport(toolkit, work.targets, tuple(stages), runs, kept)


@contextmanager
def _scratch() -> Iterator[Path]:
    try:
        folder = tempfile.TemporaryDirectory(prefix="archbuild-smoke-")
    except OSError as error:
        raise UnreadableError(
            f"No temporary folder can be made: {error.strerror or error}.",
            "Make room, or set TMPDIR.",
        ) from None
    with folder as name:
        yield Path(name)


@dataclass(frozen=True)
class _Work:
    """What is built, and where."""

    toolkit: Toolkit
    gencodes: tuple[Gencode, ...]
    folder: Path
    words: tuple[str, ...]
    targets: tuple[Arch, ...] = field(init=False)

    def __post_init__(self) -> None:
        targets = tuple(sorted({gencode.target for gencode in self.gencodes}))
        object.__setattr__(self, "targets", targets)

    @property
    def object(self) -> Path:
        return self.folder / ("smoke.obj" if _WINDOWS else "smoke.o")

    @property
    def library(self) -> Path:
        return self.folder / ("smoke.dll" if _WINDOWS else "libarchbuild_smoke.so")

    def nvcc(self, *words: str | Path) -> Outcome:
        """Call nvcc; its temporary files go to the folder, also where it is killed."""
        place = str(self.folder)
        env = {**os.environ, "TMPDIR": place, "TEMP": place, "TMP": place}
        flags = (*self.words, *render_gencodes(self.gencodes))
        command = [self.toolkit.nvcc, *flags, *map(str, words)]
        return run_limited(command, timeout=_NVCC_TIMEOUT, env=env, cwd=place)


def _build(work: _Work, cuobjdump: str) -> list[Stage]:
    """Compile, link and verify; what comes after a failure is skipped."""
    stages: list[Stage] = []
    for name, step in (("compile", _compile), ("link", _link)):
        if stages and stages[-1].state is not State.PASSED:
            stages.append(Stage(name, State.SKIPPED, "not tried"))
        else:
            stages.append(step(work))
    if stages[-1].state is State.PASSED:
        stages.append(_verify(work, cuobjdump))
    else:
        stages.append(Stage("verify", State.SKIPPED, "not tried"))
    return stages


def _compile(work: _Work) -> Stage:
    position = [] if _WINDOWS else ["-Xcompiler=-fPIC"]
    includes = [f"-I{folder}" for folder in work.toolkit.include]
    threads = f"--threads={query_resources().processors}"
    outcome = work.nvcc("-c", threads, *position, *includes, find_source(), "-o", work.object)
    return _stage("compile", outcome, work.object)


def _link(work: _Work) -> Stage:
    """The gencodes again: without any nvcc would add an empty image of its default."""
    libs = [f"-L{folder}" for folder in work.toolkit.lib]
    outcome = work.nvcc("-shared", *libs, work.object, "-o", work.library)
    return _stage("link", outcome, work.library)


def _stage(name: str, outcome: Outcome, product: Path) -> Stage:
    printed = outcome.stderr + outcome.stdout
    evidence = tuple(printed.splitlines())
    if outcome.ok and product.is_file():
        return Stage(name, State.PASSED, evidence=evidence)
    if outcome.ok:
        detail = "nvcc ended well and wrote nothing; is it a wrapper?"
        return Stage(name, State.FAILED, detail, evidence=evidence)
    known = explain_failure(printed, 1)
    if known is None:
        return Stage(name, State.FAILED, f"nvcc {outcome.reason}", evidence=evidence)
    return Stage(name, State.FAILED, known.clause, known.cure, evidence)


def _verify(work: _Work, cuobjdump: str) -> Stage:
    """Every target must hold the kernel, by both readers: the link leaves empty images, too."""
    name = "the smoke library"
    mine = replace(read(str(work.library), kernels=True)[0], path=name)
    other = read_with_cuobjdump(work.library, cuobjdump, everything=True, kernels=True, name=name)
    disagreement = next(iter(check_readers(mine, other)), None)
    if disagreement is not None:
        told = disagreement.evidence
        return Stage("verify", State.FAILED, disagreement.message, disagreement.advice, told)
    held = _held(mine) & _held(other)
    missing = [target for target in work.targets if target not in held]
    there = ", ".join(map(str, sorted(held))) or "nothing"
    if missing:
        detail = f"{', '.join(map(str, missing))} missing from what nvcc built"
        advice = "Look for a wrapper or a variable that changes nvcc's flags."
        return Stage("verify", State.FAILED, detail, advice, (f"holds: {there}", *other.notes))
    by = f"by {mine.reader} and {other.reader}"
    return Stage("verify", State.PASSED, by, evidence=(f"holds: {there}",))


def _held(file: DeviceFile) -> frozenset[Arch]:
    """Architectures of the images with the kernel; cuobjdump names none in PTX."""
    images = (image for image in file.images if image.is_loadable and image.arch is not None)
    return frozenset(
        image.arch
        for image in images
        if image.arch is not None and (image.kernels is None or KERNEL in image.kernels)
    )


def _keep(library: Path, folder: Path) -> str:
    target = folder / library.name
    draft = folder / f".{library.name}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library, draft)
        draft.chmod(0o755)
        draft.replace(target)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise UsageError(
            f"{folder} cannot be written: {error.strerror or error}.", "Name another folder."
        ) from None
    return str(target)


def _run_on(work: _Work, gpu: Gpu) -> GpuRun:
    """Run the kernel on one GPU, in a child that sees only that one."""
    if gpu.visible is False:
        return GpuRun(gpu, State.SKIPPED, "CUDA does not see it")
    if gpu.mig and not gpu.uuid.startswith("MIG-"):
        return GpuRun(gpu, State.SKIPPED, "it is divided by MIG; its slices count")
    script = Path(__file__).resolve().parents[1] / "probe" / "run_smoke.py"
    answer = work.folder / "answer.json"
    answer.unlink(missing_ok=True)
    words = [str(work.library), "0", str(_ELEMENTS), str(_SEED), str(answer)]
    outcome = run_limited(
        [sys.executable, "-I", str(script), *words],
        timeout=_RUN_TIMEOUT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": gpu.uuid},
    )
    if not outcome.ok:
        return GpuRun(gpu, State.FAILED, f"the run {outcome.reason}")
    try:
        text = answer.read_text()
    except (OSError, ValueError):
        text = ""
    return judge_answer(gpu, text, work.gencodes, compute_numbers(_ELEMENTS, _SEED))
