"""Parts of recorded machines: GPUs, drivers, packages and their libraries, as typed values.

``make_machine_records.py`` puts them together. What a published wheel holds is written as the
native reader saw it, or as the build scripts of that project say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from typing import Any

from archbuild.facts.toolkits import find_toolkit_row
from archbuild.model.arch import Arch, ComputeCapability, Stage
from archbuild.model.image import ImageKind
from archbuild.model.installed import (
    CodeFile,
    CodeGroup,
    CodeImage,
    CodePackage,
    Distribution,
    HostCompilerFit,
    Installed,
    LoadedLibrary,
    Trial,
    TrialOutcome,
)
from archbuild.model.machine import Driver, Gpu, Machine, Toolkit, TorchBuild
from archbuild.model.record import encode
from archbuild.model.surroundings import (
    Container,
    ContainerKind,
    DriverFiles,
    PciCard,
    SourceAnswer,
    Surroundings,
)
from archbuild.model.version import CudaVersion, DriverRelease

SITE = "/opt/env/lib/python3.12/site-packages"
_GIB = 1 << 30
_MIB = 1 << 20


@dataclass(frozen=True)
class Product:
    """A GPU of a shop: its name, capability, PCI id, chip and memory in GiB."""

    name: str
    capability: str
    device: int
    chip: str
    memory: int


GTX_680 = Product("NVIDIA GeForce GTX 680", "3.0", 0x1180, "GK104", 2)
TESLA_K40 = Product("Tesla K40m", "3.5", 0x1023, "GK110", 11)
QUADRO_M2000 = Product("Quadro M2000", "5.2", 0x1430, "GM206", 4)
GTX_1060 = Product("NVIDIA GeForce GTX 1060 6GB", "6.1", 0x1C03, "GP106", 6)
GTX_1070 = Product("NVIDIA GeForce GTX 1070", "6.1", 0x1B81, "GP104", 8)
GTX_1080 = Product("NVIDIA GeForce GTX 1080", "6.1", 0x1B80, "GP104", 8)
GTX_1080_TI = Product("NVIDIA GeForce GTX 1080 Ti", "6.1", 0x1B06, "GP102", 11)
V100 = Product("Tesla V100-SXM2-16GB", "7.0", 0x1DB1, "GV100", 16)
T4 = Product("Tesla T4", "7.5", 0x1EB8, "TU104", 15)
A100 = Product("NVIDIA A100-SXM4-80GB", "8.0", 0x20B2, "GA100", 80)
RTX_3060 = Product("NVIDIA GeForce RTX 3060", "8.6", 0x2503, "GA106", 12)
RTX_3090 = Product("NVIDIA GeForce RTX 3090", "8.6", 0x2204, "GA102", 24)
RTX_A6000 = Product("NVIDIA RTX A6000", "8.6", 0x2230, "GA102", 48)
RTX_4060_LAPTOP = Product("NVIDIA GeForce RTX 4060 Laptop GPU", "8.9", 0x28A0, "AD107", 8)
RTX_4070 = Product("NVIDIA GeForce RTX 4070", "8.9", 0x2786, "AD104", 12)
RTX_4090 = Product("NVIDIA GeForce RTX 4090", "8.9", 0x2684, "AD102", 24)
L40S = Product("NVIDIA L40S", "8.9", 0x26B9, "AD102", 45)
H100 = Product("NVIDIA H100 80GB HBM3", "9.0", 0x2330, "GH100", 80)
B200 = Product("NVIDIA B200", "10.0", 0x2901, "GB100", 179)
RTX_5090 = Product("NVIDIA GeForce RTX 5090", "12.0", 0x2B85, "GB202", 32)
GB10 = Product("NVIDIA GB10", "12.1", 0x2E12, "GB20B", 120)
ORIN = Product("Orin", "8.7", 0, "GA10B", 61)
THOR = Product("NVIDIA Thor", "11.0", 0, "GB10B", 122)


def uuid(number: int) -> str:
    """The UUID of the n-th GPU of a machine."""
    return f"GPU-0000000{number}-0000-4000-8000-000000000000"


def gpus(*products: Product, hidden: Iterable[int] = ()) -> tuple[Gpu, ...]:
    """The GPUs of a machine as all sources see them, those ``hidden`` not by CUDA."""
    away = set(hidden)
    shown = [n for n in range(len(products)) if n not in away]
    return tuple(
        Gpu(
            uuid(n),
            product.name,
            ComputeCapability.parse(product.capability),
            index=n,
            cuda_index=shown.index(n) if n in shown else None,
            visible=n in shown,
            pci=_address(n) if product.device else None,
            memory=product.memory * _GIB,
            seen_by=("nvml", "cuda", "nvidia-smi") if n in shown else ("nvml", "nvidia-smi"),
            integrated=not product.device or None,
        )
        for n, product in enumerate(products)
    )


def _address(number: int) -> str:
    return f"00000000:{number + 1:02X}:00.0"


def cards(*products: Product, module: str | None = "nvidia") -> tuple[PciCard, ...]:
    """The same on the PCI bus, bound to a kernel module."""
    return tuple(
        PciCard(
            _address(n),
            product.device,
            product.chip,
            product.name,
            ComputeCapability.parse(product.capability),
            module,
        )
        for n, product in enumerate(products)
        if product.device
    )


def driver(release: str | None, cuda: str | None) -> Driver:
    """A driver by its release and its CUDA version."""
    return Driver(
        DriverRelease.parse(release) if release else None,
        CudaVersion.parse(cuda) if cuda else None,
    )


_SOURCES = tuple(SourceAnswer(name, ok=True) for name in ("nvml", "cuda driver", "nvidia-smi"))


def desktop(
    release: str, *products: Product, distribution: str = "ubuntu 24.04", **more: Any
) -> Surroundings:
    """A Linux machine whose driver is whole: module, library and device nodes agree."""
    parsed = DriverRelease.parse(release)
    library = f"/usr/lib/x86_64-linux-gnu/libcuda.so.{release}"
    nodes = tuple(f"/dev/nvidia{n}" for n in range(len(products)))
    files = DriverFiles(
        kernel_release=parsed,
        module_on_disk=parsed,
        libraries=(library,),
        library_release=parsed,
        device_nodes=(*nodes, "/dev/nvidiactl", "/dev/nvidia-uvm"),
    )
    values = {
        "cards": cards(*products),
        "sources": _SOURCES,
        "driver_files": files,
        "distribution": distribution,
        "kernel": "6.8.0-45-generic",
        "glibc": "2.39",
    }
    return Surroundings(**{**values, **more})


def docker(release: str, image_cuda: str) -> Container:
    """A container with the GPU in it, as the container toolkit maps it."""
    return Container(
        ContainerKind.DOCKER,
        gpu_mapped=True,
        driver_mapped=True,
        visible_devices="all",
        capabilities="compute,utility",
        image_cuda=image_cuda,
        host_release=DriverRelease.parse(release),
    )


def jetson(board: str, l4t: str) -> Surroundings:
    """A Jetson: no PCI card, no NVML."""
    return Surroundings(
        sources=(
            SourceAnswer("nvml", ok=False, said="there is no NVML on this Jetson"),
            SourceAnswer("cuda driver", ok=True),
        ),
        driver_files=DriverFiles(
            libraries=("/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1",),
            device_nodes=("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvmap"),
        ),
        jetson=board,
        l4t=l4t,
        distribution="ubuntu 22.04",
        kernel="5.15.148-tegra",
        glibc="2.35",
    )


def wsl(*products: Product) -> Surroundings:
    """WSL with the driver of Windows."""
    return Surroundings(
        cards=(),
        sources=_SOURCES,
        driver_files=DriverFiles(
            libraries=("/usr/lib/wsl/lib/libcuda.so.1",), device_nodes=("/dev/dxg",)
        ),
        wsl=True,
        wsl_library="/usr/lib/wsl/lib/libcuda.so.1",
        distribution="ubuntu 22.04",
        kernel="5.15.167.4-microsoft-standard-WSL2",
        glibc="2.35",
    )


# --- what libraries hold ------------------------------------------------------------------------


def images(text: str, isa: str | None = None, cuda: str | None = None) -> tuple[CodeImage, ...]:
    """``"sm_80 sm_90a compute_90"`` as images; the ISA is of the PTX, the CUDA made them all."""
    toolkit = CudaVersion.parse(cuda) if cuda else None
    found = []
    for name in text.split():
        arch = Arch.parse(name)
        kind = {Stage.REAL: ImageKind.SASS, Stage.VIRTUAL: ImageKind.PTX}[arch.stage]
        version = _isa(isa) if kind is ImageKind.PTX else None
        found.append(CodeImage(kind, arch, version, toolkit))
    return tuple(found)


def _isa(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def library(path: str, size: int, *groups: tuple[str, int], **more: Any) -> CodeFile:
    """A library: its size in MiB, and how many regions hold which images."""
    isa, cuda = more.pop("isa", None), more.pop("cuda", None)
    held = tuple(CodeGroup(images(text, isa, cuda), count) for text, count in groups)
    return CodeFile(path, size * _MIB, held, **more)


def sm(numbers: str) -> str:
    """``"7.5 8.0"`` as ``"sm_75 sm_80"``."""
    return " ".join(f"sm_{number.replace('.', '')}" for number in numbers.split())


#: What the shipped wheels of torch hold, libtorch_cuda and libtorch_cuda_linalg.
CU117 = ("3.7 5.0 6.0 7.0 7.5 8.0 8.6", "3.7 5.0 6.0 7.0 7.5 8.0 8.6")
CU118 = ("3.7 5.0 6.0 7.0 7.5 8.0 8.6 9.0", "3.7 5.0 6.0 7.0 7.5 8.0 8.6 9.0")
CU124 = ("5.0 6.0 7.0 7.5 8.0 8.6 9.0", "5.0 6.0 7.0 7.5 8.0 8.6 9.0")
CU128 = ("7.0 7.5 8.0 8.6 9.0 10.0 12.0", "5.0 6.0 7.0 8.0 8.6 9.0 10.0 12.0")
CU130 = ("7.5 8.0 8.6 9.0 10.0 12.0", "8.0 8.6 9.0 10.0 12.0")
ARM126 = ("8.0 9.0", "8.0 9.0")
ARM130 = ("8.0 9.0 10.0 11.0 12.0", "8.0 9.0 10.0 11.0 12.0")


def torch_build(version: str, cuda: str | None, held: tuple[str, str] | None = None) -> TorchBuild:
    """A torch as its own files tell, and the list it states of itself."""
    archs = None if held is None else tuple(Arch.parse(name) for name in sm(held[0]).split())
    parsed = CudaVersion.parse(cuda) if cuda else None
    return TorchBuild(version, f"{SITE}/torch", parsed, archs=archs)


def torch_package(version: str, held: tuple[str, str], special: str = "") -> CodePackage:
    """The libraries of a published torch, ``special`` being what some regions hold besides."""
    main, linalg = sm(held[0]), sm(held[1])
    groups = [(main, 414), (f"{main} {special}", 57)] if special else [(main, 471)]
    return CodePackage(
        "torch",
        version,
        (
            library("torch/lib/libtorch_cuda.so", 479, *groups),
            library("torch/lib/libtorch_cuda_linalg.so", 41, (linalg, 65)),
        ),
        installer="pip",
    )


def package(name: str, version: str, *files: CodeFile, **more: Any) -> CodePackage:
    """Any other package."""
    return CodePackage(name, version, files, **{"installer": "pip", **more})


def extension(name: str, version: str, archs: str, regions: int = 4, **more: Any) -> CodePackage:
    """An extension of torch with one library."""
    path = f"{name.replace('-', '_')}/_C.so"
    texts = {key: more.pop(key) for key in ("isa", "cuda") if key in more}
    file = library(path, 12, (archs, regions), **texts)
    return package(name, version, file, **{"requires_torch": True, **more})


def distribution(name: str, version: str, *same: str, folder: str = SITE) -> Distribution:
    """A package of CUDA, and those that own some of the same files."""
    return Distribution(name, version, folder, same)


def loaded(soname: str, version: str, below: str, **more: Any) -> LoadedLibrary:
    """A CUDA library out of its package."""
    path = f"{SITE}/nvidia/{below}/{soname}"
    return LoadedLibrary(soname, path, version, **{"found_by": "package", **more})


def trial(name: str, number: int, outcome: str = "passed", **more: Any) -> Trial:
    """A trial on the n-th GPU."""
    return Trial(name, uuid(number), TrialOutcome(outcome), seconds=0.4, **more)


def toolkit(version: str, release: str | None = None, root: str | None = None) -> Toolkit:
    """A toolkit below /usr/local, with what that release builds."""
    row = find_toolkit_row(CudaVersion.parse(version))
    assert row is not None
    folder = root or f"/usr/local/cuda-{version}"
    archs = tuple(sorted({*row.archs, *(arch.virtual for arch in row.archs)}))
    return Toolkit(
        folder, f"{folder}/bin/nvcc", row.version, release or f"{version}.88", archs, ("PATH",)
    )


GCC = HostCompilerFit("/usr/bin/g++", "13.3", "gcc 15")


def machine(*products: Product, surroundings: Surroundings, **more: Any) -> Machine:
    """A machine with these GPUs; all of it that is not named is as on most Linux machines."""
    hidden = more.pop("hidden", ())
    parts = {name: more.pop(name) for name in _INSTALLED if name in more}
    values = {
        "system": "linux",
        "processor": "x86_64",
        "python": "3.12.3",
        "gpus": gpus(*products, hidden=hidden),
        "surroundings": surroundings,
        "installed": Installed(**parts),
        "taken": "2026-12-01",
    }
    return Machine(**{**values, **more})


_INSTALLED = tuple(field.name for field in fields(Installed))


def without_driver(surroundings: Surroundings) -> Surroundings:
    """The same with no sign of a driver."""
    sources = tuple(
        SourceAnswer(name, ok=False, said="no library")
        for name in ("nvml", "cuda driver", "nvidia-smi")
    )
    return replace(surroundings, sources=sources, driver_files=DriverFiles())


def slim(value: Any) -> Any:
    """A value as the record has it, without what is as by default."""
    if isinstance(value, (tuple, list)):
        return [slim(item) for item in value]
    if not is_dataclass(value) or isinstance(encode(value), str):
        return encode(value)
    kept = {field.name: getattr(value, field.name) for field in fields(value)}
    defaults = {field.name: field.default for field in fields(value)}
    return {
        name: slim(item)
        for name, item in kept.items()
        if defaults[name] is MISSING or item != defaults[name]
    }
