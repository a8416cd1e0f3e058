"""Machines and findings made by hand, for the tests of the doctor's faces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence, Report
from archbuild.model.finding import Severity
from archbuild.model.image import ImageKind
from archbuild.model.installed import CodeFile, CodeGroup, CodeImage, CodePackage, Installed
from archbuild.model.machine import Driver, Gpu, Machine, Toolkit, TorchBuild
from archbuild.model.surroundings import PciCard, Surroundings
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.rules.diagnosis.kind import Kind, diagnosis_of
from archbuild.services.doctor import Examination

#: Where people live, in two words: no home of anybody is to stand in a repository.
HOMES = "/" + "home"
UUID = "GPU-{0:08x}-1111-2222-3333-444444444444"
#: The driver's CUDA by its branch.
CUDA_OF = {535: "12.2", 550: "12.4", 570: "12.8", 580: "13.0"}


def gpu(name: str, capability: str | None, number: int = 0, **more: Any) -> Gpu:
    return Gpu(
        UUID.format(number + 1),
        name,
        None if capability is None else ComputeCapability.parse(capability),
        index=number,
        cuda_index=number,
        visible=more.pop("visible", True),
        pci=f"00000000:{number + 1:02X}:00.0",
        **more,
    )


def driver_of(release: str | None) -> Driver | None:
    if release is None:
        return None
    found = DriverRelease.parse(release)
    return Driver(found, CudaVersion.parse(CUDA_OF[found.branch]))


def code_package(
    name: str, version: str, *archs: str, path: str | None = None, cuda: str = "12.4"
) -> CodePackage:
    """A package with one library, whose every region holds these architectures."""
    images = tuple(
        CodeImage(
            ImageKind.PTX if arch.is_virtual else ImageKind.SASS,
            arch,
            isa=(8, 4) if arch.is_virtual else None,
            toolkit=CudaVersion.parse(cuda),
        )
        for arch in map(Arch.parse, archs)
    )
    file = CodeFile(path or f"{name}/_C.so", 1 << 20, (CodeGroup(images, 3),))
    return CodePackage(name, version, (file,))


def desk(
    *gpus: Gpu,
    driver: str | None = "570.124.06",
    packages: Iterable[CodePackage] = (),
    **more: Any,
) -> Machine:
    """A machine on a desk, which archbuild was asked all about."""
    values: dict[str, Any] = {
        "gpus": gpus,
        "driver": driver_of(driver),
        "surroundings": Surroundings(distribution="ubuntu 24.04", kernel="6.8.0-45", glibc="2.39"),
        "installed": Installed(packages=tuple(packages), cudnn="9.1.0"),
        "taken": "2026-12-01",
    }
    return Machine("linux", "x86_64", "3.12.1", **{**values, **more})


def torch_of(version: str, cuda: str, root: str = f"{HOMES}/jane/venv/torch") -> TorchBuild:
    return TorchBuild(version, root, CudaVersion.parse(cuda))


RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0")
GTX_1080 = gpu("NVIDIA GeForce GTX 1080", "6.1", 1)

#: Kinds of findings that no rule makes: the faces must not know any.
ROOT = Kind(
    "D399",
    Severity.ERROR,
    "a wheel older than the card",
    "{package} holds nothing for the {card}[, which is {capability}].",
    "Install the wheel for CUDA {cuda}.",
    ("pip install --upgrade torch --index-url https://download.pytorch.org/whl/cu{cuda}",),
    errors=(209, 98),
)
FOLLOWER = Kind(
    "D398", Severity.ERROR, "a package that follows", "{package} fails as well.", "Rebuild it."
)
WARNING = Kind("D397", Severity.WARNING, "two of them", "There are two of {package}.", "Drop one.")
NOTE = Kind("D396", Severity.NOTE, "a note", "{package} is compiled by the driver.", "")


def root(**more: Any) -> Diagnosis:
    made = diagnosis_of(
        ROOT,
        evidence=[Evidence("libtorch_cuda.so", "sm_50 sm_80 sm_86 sm_90")],
        gpus=[RTX_5090.uuid],
        package="torch 2.6.0",
        card="RTX 5090",
        capability="12.0",
        cuda="128",
    )
    return replace(made, **more)


def follower(package: str = "flash-attn 2.7") -> Diagnosis:
    return replace(diagnosis_of(FOLLOWER, package=package), because="D399")


def warning(package: str = "cuDNN") -> Diagnosis:
    return diagnosis_of(WARNING, confidence=Confidence.LIKELY, package=package)


def note(package: str = "xformers") -> Diagnosis:
    return diagnosis_of(NOTE, package=package)


def report_of(*findings: Diagnosis, unknown: Iterable[tuple[str, str]] = ()) -> Report:
    causes = (f for f in findings if f.because is None and f.severity is not Severity.NOTE)
    return Report(next(causes, None), findings, tuple(unknown))


SICK = desk(
    RTX_5090,
    GTX_1080,
    packages=[
        code_package(
            "torch", "2.6.0", "sm_50", "sm_80", "sm_90", path="torch/lib/libtorch_cuda.so"
        ),
        code_package("flash-attn", "2.7", "sm_80", "compute_80"),
    ],
    torch=torch_of("2.6.0", "12.4"),
    variables=(("LD_LIBRARY_PATH", f"{HOMES}/jane/cuda/lib64:/usr/local/cuda/lib64"),),
)


def examined(*findings: Diagnosis, machine: Machine = SICK, **more: Any) -> Examination:
    unknown = more.pop("unknown", ())
    return Examination(report_of(*findings, unknown=unknown), machine, **more)


def bare(*cards: PciCard) -> Machine:
    """A machine without a driver, of which the PCI bus alone tells."""
    return desk(driver=None, surroundings=Surroundings(cards=cards), installed=None)


def card(name: str | None, capability: str | None, number: int = 0) -> PciCard:
    found = None if capability is None else ComputeCapability.parse(capability)
    return PciCard(f"00000000:{number + 1:02X}:00.0", 0x2B85, "GB202", name, found)


def toolkit(root: str, version: str) -> Toolkit:
    number = CudaVersion.parse(version)
    return Toolkit(root, f"{root}/bin/nvcc", number, f"{version}.88", (), ("PATH",))
