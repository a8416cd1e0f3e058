"""What stands around the GPUs of a machine: bus, driver files, system, container."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from archbuild.model.arch import ComputeCapability
from archbuild.model.version import DriverRelease


@dataclass(frozen=True)
class PciCard:
    """An NVIDIA display controller on the PCI bus, which needs no driver to be seen.

    Args:
        address: ``00000000:01:00.0``, as NVML writes it.
        device: The PCI device id.
        chip: ``GA102``; None where the table lacks it.
        name: The product as the table names it; None where it lacks it.
        capability: By the table; None where it lacks it.
        driver: The kernel module bound to it: ``nvidia``, ``nouveau``, ``vfio-pci``;
            None: none.
    """

    address: str
    device: int
    chip: str | None = None
    name: str | None = None
    capability: ComputeCapability | None = None
    driver: str | None = None


@dataclass(frozen=True)
class SourceAnswer:
    """How one source of answers about GPUs fared.

    Args:
        source: ``nvml``, ``cuda driver`` or ``nvidia-smi``.
        ok: Whether it answered for every GPU that it knows.
        code: The number of its error, where it gave one: NVML's or CUDA's; of
            nvidia-smi its exit status.
        said: Its own words; empty where all is well.
        timed_out: Whether it was ended for taking too long.
        crashed: Whether a signal ended it.
    """

    source: str
    ok: bool
    code: int | None = None
    said: str = ""
    timed_out: bool = False
    crashed: bool = False


@dataclass(frozen=True)
class DriverFiles:
    """What lies on the disk and in the kernel of the driver.

    Args:
        kernel_release: The release that the loaded kernel module states.
        module_on_disk: The release of the module that would be loaded; None: unknown.
        libraries: The real files of libcuda.so.1 that the system holds, ldconfig's
            first; their names end in their release.
        library_release: The release of the first of them.
        device_nodes: Paths of /dev/nvidia*, or /dev/dxg.
        closed_nodes: Those of them that this user may not open for reading and writing.
        nouveau: Whether nouveau is loaded.
        hidden: Files that could not be read for lack of permission, ``/proc`` among them.
        open_module: Whether the open kernel module is loaded; None: unknown.
        fabric_manager: Whether a fabric manager is running; None: unknown or no need.
    """

    kernel_release: DriverRelease | None = None
    module_on_disk: DriverRelease | None = None
    libraries: tuple[str, ...] = ()
    library_release: DriverRelease | None = None
    device_nodes: tuple[str, ...] = ()
    closed_nodes: tuple[str, ...] = ()
    nouveau: bool = False
    hidden: tuple[str, ...] = ()
    open_module: bool | None = None
    fabric_manager: bool | None = None


class ContainerKind(Enum):
    """Who runs the container."""

    DOCKER = "docker"
    PODMAN = "podman"
    KUBERNETES = "kubernetes"
    APPTAINER = "apptainer"
    LXC = "lxc"
    OTHER = "other"


@dataclass(frozen=True)
class Container:
    """The container around this process.

    Args:
        kind: Who runs it.
        gpu_mapped: Whether device nodes of a GPU are in it.
        driver_mapped: Whether the host's driver library is in it.
        visible_devices: NVIDIA_VISIBLE_DEVICES; None: not set.
        capabilities: NVIDIA_DRIVER_CAPABILITIES; None: not set.
        mode: How the toolkit maps, ``legacy``, ``cdi`` or ``csv``; None: unknown.
        image_cuda: CUDA_VERSION of the image, where it states one.
        host_release: The driver's release on the host, which the kernel module tells.
    """

    kind: ContainerKind
    gpu_mapped: bool = False
    driver_mapped: bool = False
    visible_devices: str | None = None
    capabilities: str | None = None
    mode: str | None = None
    image_cuda: str | None = None
    host_release: DriverRelease | None = None


@dataclass(frozen=True)
class Surroundings:
    """All of it.

    Args:
        cards: On the PCI bus.
        bus_read: Whether the bus could be read at all.
        sources: How the sources about GPUs fared.
        driver_files: Of the driver.
        container: None: not in one.
        wsl: Whether this is WSL.
        wsl_library: The libcuda of WSL, ``/usr/lib/wsl/lib/libcuda.so.1``.
        jetson: The board's name by the device tree; None: not a Jetson.
        l4t: The release of its system, ``36.4.0``.
        distribution: ``ubuntu 24.04``.
        kernel: ``6.8.0-45-generic``.
        glibc: ``2.39``.
    """

    cards: tuple[PciCard, ...] = ()
    bus_read: bool = True
    sources: tuple[SourceAnswer, ...] = ()
    driver_files: DriverFiles = DriverFiles()
    container: Container | None = None
    wsl: bool = False
    wsl_library: str | None = None
    jetson: str | None = None
    l4t: str | None = None
    distribution: str | None = None
    kernel: str | None = None
    glibc: str | None = None
