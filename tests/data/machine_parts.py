"""Parts of recorded machines: GPUs, cards, drivers, sources, containers, as typed values.

``make_machine_records.py`` puts them together into records.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from archbuild.model.arch import ComputeCapability
from archbuild.model.machine import Driver, Gpu, Machine
from archbuild.model.surroundings import DriverFiles, PciCard, SourceAnswer, Surroundings
from archbuild.model.version import CudaVersion, DriverRelease
from tests.data.code_case import Case

_GIB = 1 << 30
#: CUDA of a driver, by its branch.
_CUDA = {
    470: "11.4",
    520: "11.8",
    525: "12.0",
    535: "12.2",
    550: "12.4",
    560: "12.6",
    570: "12.8",
    575: "12.9",
    580: "13.0",
    590: "13.1",
    595: "13.2",
}


@dataclass(frozen=True)
class Product:
    """A GPU of a shop: name, capability, PCI id, chip, and memory in GiB.

    ``short`` is what pci.ids calls it, where it is not the name without its maker.
    """

    name: str
    capability: str
    device: int
    chip: str
    memory: int
    short: str = ""

    @property
    def bus_name(self) -> str:
        """As the table of PCI ids names it."""
        return self.short or self.name.removeprefix("NVIDIA ")


GTX_680 = Product("NVIDIA GeForce GTX 680", "3.0", 0x1180, "GK104", 2)
GTX_1050 = Product("NVIDIA GeForce GTX 1050", "6.1", 0x1C8D, "GP107", 4, "GeForce GTX 1050 Mobile")
GTX_1070 = Product("NVIDIA GeForce GTX 1070", "6.1", 0x1B81, "GP104", 8)
GTX_1080 = Product("NVIDIA GeForce GTX 1080", "6.1", 0x1B80, "GP104", 8)
V100 = Product("Tesla V100-SXM2-16GB", "7.0", 0x1DB1, "GV100", 16, "Tesla V100 SXM2 16GB")
GRID_V100D = Product("GRID V100D-8C", "7.0", 0x1DB5, "GV100", 8, "Tesla V100 SXM2 32GB")
T4 = Product("Tesla T4", "7.5", 0x1EB8, "TU104", 15)
A100 = Product("NVIDIA A100-SXM4-40GB", "8.0", 0x20B0, "GA100", 40, "A100 SXM4 40GB")
RTX_3060 = Product("NVIDIA GeForce RTX 3060", "8.6", 0x2503, "GA106", 12)
RTX_3090 = Product("NVIDIA GeForce RTX 3090", "8.6", 0x2204, "GA102", 24)
RTX_4060_LAPTOP = Product(
    *("NVIDIA GeForce RTX 4060 Laptop GPU", "8.9", 0x28A0, "AD107", 8),
    short="GeForce RTX 4060 Max-Q / Mobile",
)
RTX_4070 = Product("NVIDIA GeForce RTX 4070", "8.9", 0x2786, "AD104", 12)
RTX_4090 = Product("NVIDIA GeForce RTX 4090", "8.9", 0x2684, "AD102", 24)
H100 = Product("NVIDIA H100 80GB HBM3", "9.0", 0x2330, "GH100", 80, "H100 SXM5 80GB")
B200 = Product("NVIDIA B200", "10.0", 0x2901, "GB100", 179, "B200")
RTX_5090 = Product("NVIDIA GeForce RTX 5090", "12.0", 0x2B85, "GB202", 32)
GB10 = Product("NVIDIA GB10", "12.1", 0x2E12, "GB20B", 120, "GB10")
ORIN = Product("Orin", "8.7", 0, "GA10B", 61)


#: The first generation that the open kernel module serves.
TURING = ComputeCapability(7, 5)


# --- GPUs and cards -----------------------------------------------------------------------------


def uuid(number: int, kind: str = "GPU") -> str:
    """The UUID of the n-th GPU of a machine, or of its n-th slice."""
    return f"{kind}-{number}b6f1c2e-0a4d-4c1e-9a77-5d2c8e3f1a0{number}"


def address(number: int) -> str:
    """Where the n-th card sits."""
    return f"00000000:{number + 1:02X}:00.0"


def gpu(product: Product, number: int = 0, *, cuda: int | None = -1, **more: Any) -> Gpu:
    """The n-th GPU, as NVML, nvidia-smi and CUDA see it.

    Args:
        product: What it is.
        number: NVML's number.
        cuda: CUDA's number; None: CUDA does not see it; -1: the same as NVML's.
        more: Fields that differ.
    """
    seen = number if cuda == -1 else cuda
    values = {
        "index": number,
        "cuda_index": seen,
        "visible": seen is not None,
        "pci": address(number) if product.device else None,
        "memory": product.memory * _GIB,
        "seen_by": ("nvml", "nvidia-smi") if seen is None else ("nvml", "cuda", "nvidia-smi"),
    }
    capability = ComputeCapability.parse(product.capability)
    named = more.pop("uuid", uuid(number))
    return Gpu(named, product.name, capability, **{**values, **more})


def gpus(*products: Product, hidden: Iterable[int] = ()) -> tuple[Gpu, ...]:
    """GPUs in NVML's order; CUDA numbers those that are not hidden."""
    away = set(hidden)
    shown = [n for n in range(len(products)) if n not in away]
    return tuple(
        gpu(product, n, cuda=shown.index(n) if n in shown else None)
        for n, product in enumerate(products)
    )


def mig_slice(
    product: Product, number: int, profile: str, *, parent: int = 0, cuda: int | None = None
) -> Gpu:
    """A slice of a GPU in MIG mode."""
    return Gpu(
        uuid(number + 1, "MIG"),
        f"{product.name} MIG {profile}",
        ComputeCapability.parse(product.capability),
        index=parent,
        cuda_index=cuda,
        visible=cuda is not None,
        pci=address(parent),
        mig=True,
        seen_by=("nvml",) if cuda is None else ("nvml", "cuda"),
    )


def card(product: Product, number: int = 0, module: str | None = "nvidia") -> PciCard:
    """The n-th card on the PCI bus, bound to a kernel module."""
    return PciCard(
        address(number),
        product.device,
        product.chip,
        product.bus_name,
        ComputeCapability.parse(product.capability),
        module,
    )


def cards(*products: Product, module: str | None = "nvidia") -> tuple[PciCard, ...]:
    """Cards in the order of the bus."""
    return tuple(card(product, n, module) for n, product in enumerate(products) if product.device)


# --- the driver ---------------------------------------------------------------------------------


def release(text: str) -> DriverRelease:
    """A driver's release."""
    return DriverRelease.parse(text)


def driver(text: str | None, cuda: str | None = "") -> Driver:
    """A driver by its release; its CUDA version is that of its branch, if no other is named."""
    found = release(text) if text else None
    number = _CUDA[found.branch] if cuda == "" and found is not None else cuda
    return Driver(found, CudaVersion.parse(number) if number else None)


def library(text: str, folder: str = "/usr/lib/x86_64-linux-gnu") -> str:
    """The file of libcuda of a release."""
    return f"{folder}/libcuda.so.{text}"


def files(text: str, count: int = 1, **more: Any) -> DriverFiles:
    """Library, kernel module and device nodes of one release, for as many GPUs."""
    found = release(text)
    values = {
        "kernel_release": found,
        "module_on_disk": found,
        "libraries": (library(text),),
        "library_release": found,
        "device_nodes": nodes(count),
        # There was none before 515.
        "open_module": found.branch >= 515,
    }
    return DriverFiles(**{**values, **more})


def nodes(count: int = 1, *more: str) -> tuple[str, ...]:
    """The device nodes for as many GPUs."""
    common = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")
    return (*(f"/dev/nvidia{n}" for n in range(count)), *common, *more)


# --- how the sources fared ----------------------------------------------------------------------

_NAMES = ("nvml", "cuda driver", "nvidia-smi")
_Fared = tuple[int | None, str] | str | None


def sources(nvml: _Fared = None, cuda: _Fared = None, smi: _Fared = None) -> Any:
    """How NVML, CUDA and nvidia-smi fared.

    Args:
        nvml: None: well; a pair: the number of its error and its words; ``hangs`` or
            ``crashes``.
        cuda: The same of the CUDA driver.
        smi: The same of nvidia-smi.
    """
    return tuple(map(_source, _NAMES, (nvml, cuda, smi)))


def _source(name: str, fared: _Fared) -> SourceAnswer:
    if fared is None:
        return SourceAnswer(name, ok=True)
    if isinstance(fared, str):
        said = {"hangs": "was ended after 10 seconds", "crashes": "was ended by SIGSEGV"}[fared]
        return SourceAnswer(
            name, False, None, said, timed_out=fared == "hangs", crashed=fared == "crashes"
        )
    return SourceAnswer(name, False, fared[0], fared[1])


#: What each says where there is no driver at all.
NO_NVML = (12, "libnvidia-ml.so.1: cannot open shared object file: No such file or directory")
NO_CUDA = (None, "libcuda.so.1: cannot open shared object file: No such file or directory")
NO_SMI = (None, "not found on PATH; it comes with the driver")
NO_SOURCES = sources(NO_NVML, NO_CUDA, NO_SMI)
#: What they say where the driver is installed and its kernel module is not there.
NO_MODULE = sources(
    (9, "Driver Not Loaded"),
    (100, "cuInit of /usr/lib/x86_64-linux-gnu/libcuda.so.1 fails"),
    (9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
)


def init_fails(code: int) -> tuple[int, str]:
    """What CUDA says where it cannot be started."""
    return code, "cuInit of /usr/lib/x86_64-linux-gnu/libcuda.so.1 fails"


# --- the whole ----------------------------------------------------------------------------------


def around(driver_files: DriverFiles | None = None, **more: Any) -> Surroundings:
    """What stands around the GPUs, on Ubuntu where nothing else is said."""
    values = {
        "sources": sources(),
        "driver_files": driver_files or DriverFiles(),
        "distribution": "ubuntu 24.04",
        "kernel": "6.8.0-45-generic",
        "glibc": "2.39",
    }
    return Surroundings(**{**values, **more})


def whole(text: str, *products: Product, **more: Any) -> Surroundings:
    """The surroundings of GPUs whose driver is whole."""
    found = files(text, len(products))
    if any(ComputeCapability.parse(product.capability) < TURING for product in products):
        found = replace(found, open_module=False)
    return around(found, **{"cards": cards(*products), **more})


def machine(surroundings: Surroundings | None, **more: Any) -> Machine:
    """A machine; what is not named is as on most."""
    values = {
        "system": "linux",
        "processor": "x86_64",
        "python": "3.12.3",
        "surroundings": surroundings,
        "taken": "2026-12-01",
    }
    return Machine(**{**values, **more})


def record(
    name: str, title: str, source: str, kind: str, machine: Machine, *expected: Any, **more: Any
) -> Case:
    """A record: what it is called, what it shows, where it is from; then what is expected."""
    values = {"expected": expected[0]} if expected else {}
    return Case(name, source, kind, machine, title, **values, **more)
