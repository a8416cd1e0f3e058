"""Installed packages: which of their libraries would be loaded, and how they stand on a GPU."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from archbuild.model.arch import Arch
from archbuild.model.diagnosis import Evidence
from archbuild.model.image import ImageKind, Linkage
from archbuild.model.installed import CodeFile, CodeGroup, CodeImage, CodePackage
from archbuild.model.machine import Gpu, Machine
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.code import FileStanding, GpuKind, Standing, stand

#: How many lines of evidence a finding has.
SHOWN = 12

_TORCH_MAIN = re.compile(r"(?:lib)?torch_cuda(?:_cu|_cpp)?\.(?:so|dll)")
# NVIDIA's own libraries choose at run time between regions for one GPU each, and some serve
# newer GPUs only: what they lack is no fault. torch's nvshmem is for several machines.
_VENDOR_FILE = re.compile(
    r"(?:lib)?(?:cublas|cudnn|cufft|cufile|cupti|curand|cusolver|cusparse|nccl|nppi?|nvjitlink"
    r"|nvjpeg|nvrtc|nvshmem|torch_nvshmem|checkpoint)",
    re.IGNORECASE,
)
_VENDOR_MAIN = re.compile(r"nvidia-cublas(?:-cu\d+)?")
_VARIANT = re.compile(r"_cuda(\d{2})(\d)(?=[_.])")
_CUDA_IN_VERSION = re.compile(r"\+.*cu(?:da)?(\d{2})(\d)(?!\d)")
_CUDA_IN_NAME = re.compile(r"-?cu(?:da)?-?(1\d)(?:x|\b|-)")


@dataclass(frozen=True)
class PackageStanding:
    """How a package stands on a kind of GPU.

    Args:
        package: The package.
        kind: The GPUs.
        main: Of its main library; None where nothing of it could be judged.
        others: Of its other libraries.
    """

    package: CodePackage
    kind: GpuKind
    main: FileStanding | None = None
    others: tuple[FileStanding, ...] = ()

    @property
    def standing(self) -> Standing:
        """That of its main library."""
        return self.main.standing if self.main is not None else Standing.EMPTY

    @property
    def files(self) -> tuple[FileStanding, ...]:
        """The main library first."""
        return (self.main, *self.others) if self.main is not None else self.others


def is_torch(package: CodePackage) -> bool:
    """Whether it is torch itself."""
    return package.name.lower() == "torch"


def torch_package(machine: Machine) -> CodePackage | None:
    """torch as its libraries were read; else as its own list tells; None: nothing is known."""
    installed, torch = machine.installed, machine.torch
    if installed is None:
        return None
    read = next((package for package in installed.packages if is_torch(package)), None)
    if read is not None or torch is None or torch.archs is None:
        return read
    images = tuple(
        CodeImage(ImageKind.SASS if arch.is_real else ImageKind.PTX, arch, toolkit=torch.cuda)
        for arch in torch.archs
    )
    listed = CodeFile(torch.root, 0, (CodeGroup(images),))
    return CodePackage("torch", torch.version, (listed,))


def is_vendor(package: CodePackage) -> bool:
    """Whether it holds libraries of NVIDIA's."""
    return package.name.lower().startswith("nvidia-")


def packages_to_judge(machine: Machine) -> Iterator[CodePackage]:
    """All but torch, and but NVIDIA's helpers; cuBLAS stands for those."""
    installed = machine.installed
    for package in installed.packages if installed is not None else ():
        helper = is_vendor(package) and not _VENDOR_MAIN.fullmatch(package.name.lower())
        if not helper and not is_torch(package):
            yield package


def cover(package: CodePackage, kind: GpuKind, machine: Machine) -> PackageStanding:
    """How a package stands on GPUs of one kind.

    Args:
        package: With what its libraries hold.
        kind: The GPUs.
        machine: With the driver, and with the torch that decides between variants.
    """
    built = built_with(package, machine)
    stood = [stand(file, kind, machine, built) for file in files_in_use(package, machine)]
    judged = [file for file in stood if file.standing is not Standing.EMPTY]
    main = _main_of(package, judged)
    if main is None:
        return PackageStanding(package, kind)
    return PackageStanding(package, kind, main, tuple(f for f in judged if f is not main))


def _main_of(package: CodePackage, judged: Sequence[FileStanding]) -> FileStanding | None:
    """torch's libtorch_cuda; else the largest that is not made for other GPUs on purpose."""

    def weight(stood: FileStanding) -> tuple[bool, bool, int]:
        named = is_torch(package) and bool(_TORCH_MAIN.match(_name(stood.file)))
        return named, stood.standing is not Standing.ELSEWHERE, stood.file.size

    return max(judged, key=weight, default=None)


def _name(file: CodeFile) -> str:
    return file.path.replace("\\", "/").rsplit("/", 1)[-1]


def files_in_use(package: CodePackage, machine: Machine) -> tuple[CodeFile, ...]:
    """The libraries with CUDA code that this machine would load of a package.

    Of several that differ by a CUDA version in their names, ``_cuda126``, that of torch's
    CUDA is loaded.
    """
    files = [
        file
        for file in package.files
        if file.groups and (is_vendor(package) or not _VENDOR_FILE.match(_name(file)))
    ]
    cuda = machine.torch.cuda if machine.torch is not None else None
    tagged = {file.path: match for file in files if (match := _VARIANT.search(_name(file)))}
    chosen = [p for p, match in tagged.items() if CudaVersion(int(match[1]), int(match[2])) == cuda]
    dropped = set(tagged) - set(chosen) if chosen else set()
    return tuple(file for file in files if file.path not in dropped)


def built_with(package: CodePackage, machine: Machine) -> CudaVersion | None:
    """The CUDA that made a package, by its version or name, or by the torch that it needs.

    A name tells the major version, and that is enough: the driver's floor for SASS is one
    for all of a major version.
    """
    told = _CUDA_IN_VERSION.search(package.version)
    if told is not None:
        return CudaVersion(int(told[1]), int(told[2]))
    torch = machine.torch
    of_torch = is_torch(package) or package.requires_torch
    if of_torch and torch is not None and torch.cuda is not None:
        return torch.cuda
    named = _CUDA_IN_NAME.search(package.name.lower())
    return CudaVersion(int(named[1]), 1 if named[1] == "11" else 0) if named else None


# --- words that need no language ------------------------------------------------------------------


def gpu_words(kinds: Iterable[GpuKind]) -> str:
    """``2 x NVIDIA H100 80GB HBM3 (9.0), NVIDIA GeForce RTX 5090 (12.0)``."""
    return name_gpus(gpu for kind in kinds for gpu in kind.gpus)


def name_gpus(gpus: Iterable[Gpu]) -> str:
    """GPUs by name and capability, the same ones counted."""
    counted = Counter((gpu.name, str(gpu.capability or "?")) for gpu in gpus)
    return ", ".join(
        f"{f'{count} x ' if count > 1 else ''}{name} ({capability})"
        for (name, capability), count in counted.items()
    )


def uuids_of(kinds: Iterable[GpuKind]) -> tuple[str, ...]:
    """Of all of these GPUs."""
    return tuple(uuid for kind in kinds for uuid in kind.uuids)


def held_words(files: Iterable[CodeFile]) -> str:
    """What libraries hold: ``sm_80 sm_90a compute_90``; empty where nothing."""
    return " ".join(str(arch) for arch in sorted(_archs(g for f in files for g in f.groups)))


def _archs(groups: Iterable[CodeGroup]) -> set[Arch]:
    return {
        image.arch
        for group in groups
        for image in group.images
        if image.arch is not None and _is_code(image)
    }


def _is_code(image: CodeImage) -> bool:
    loadable = image.linkage is not Linkage.RELOCATABLE
    return loadable and image.kind in (ImageKind.SASS, ImageKind.PTX)


def highest_held(package: CodePackage) -> Arch | None:
    """The highest architecture of a package; None where it holds none."""
    return max(_archs(group for file in package.files for group in file.groups), default=None)


def evidence_of(stood: Iterable[FileStanding]) -> tuple[Evidence, ...]:
    """One line for each library and kind of GPU: what it holds, and what becomes of it."""
    lines = [Evidence(file.file.path, _said(file)) for file in stood]
    return tuple(lines[:SHOWN])


def _said(stood: FileStanding) -> str:
    verdict = stood.verdict
    outcome = verdict.outcome.value if verdict is not None else "unknown"
    errors = f" ({', '.join(map(str, verdict.errors))})" if verdict and verdict.errors else ""
    share = f" [{stood.regions}/{stood.of}]" if stood.regions != stood.of else ""
    return f"{held_words([stood.file])} -> {stood.kind.capability}: {outcome}{errors}{share}"
