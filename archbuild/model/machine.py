"""Everything known about a machine, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.version import CudaVersion, DriverRelease

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:  # most commands ask for neither, and every one would wait for them
    from archbuild.model.installed import Installed
    from archbuild.model.surroundings import Surroundings


@dataclass(frozen=True)
class Absence:
    """Something that was looked for and is not there.

    Args:
        what: Short name: ``"nvml"``, ``"cuda driver"``, ``"torch"``.
        reason: One clause a person can act on.
    """

    what: str
    reason: str


@dataclass(frozen=True)
class Gpu:
    """One GPU, or one slice of a GPU in MIG mode, as all sources see it.

    Args:
        uuid: ``GPU-...`` or ``MIG-...``; the key by which sources are joined.
        name: The product's name.
        capability: None where no source could tell.
        index: NVML's index, which is not CUDA's.
        cuda_index: CUDA's ordinal; None where CUDA does not see it.
        visible: Whether CUDA sees it; None where CUDA could not be asked.
        pci: The PCI address, ``00000000:01:00.0``.
        memory: Bytes.
        mig: Whether MIG is on (for a GPU), or whether this is a slice.
        seen_by: The sources that named it: nvml, cuda, nvidia-smi, pci.
        vgpu: Whether it is a share of a GPU that a hypervisor hands out.
        integrated: Whether it shares the processor's memory, as on a Jetson; None: unknown.
        errors: What could not be read of it, and why.
    """

    uuid: str
    name: str
    capability: ComputeCapability | None
    index: int | None = None
    cuda_index: int | None = None
    visible: bool | None = None
    pci: str | None = None
    memory: int | None = None
    mig: bool = False
    seen_by: tuple[str, ...] = ()
    vgpu: bool = False
    integrated: bool | None = None
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Driver:
    """The installed driver; its release and its CUDA version are two things.

    Args:
        release: ``580.65.06``.
        cuda: The highest CUDA whose runtime and PTX it takes.
    """

    release: DriverRelease | None
    cuda: CudaVersion | None


@dataclass(frozen=True)
class Toolkit:
    """One root of a CUDA Toolkit with an nvcc that answers.

    Args:
        root: The true root, wrappers and links followed.
        nvcc: The nvcc to call.
        version: Its CUDA version.
        release: Its full version, ``13.0.88``.
        archs: What nvcc says it can build, real and virtual, ordered.
        found_by: What led to it, the strongest first: ``CUDA_HOME``,
            ``environment``, ``conda``, ``PATH``, ``/usr/local``.
        cuobjdump: The cuobjdump beside it, if any.
        include: Folders for ``-I``.
        lib: Folders for ``-L``.
    """

    root: str
    nvcc: str
    version: CudaVersion
    release: str
    archs: tuple[Arch, ...]
    found_by: tuple[str, ...]
    cuobjdump: str | None = None
    include: tuple[str, ...] = ()
    lib: tuple[str, ...] = ()


@dataclass(frozen=True)
class TorchBuild:
    """The installed torch, read without importing it.

    Args:
        version: ``2.14.1``.
        root: The folder of the package.
        cuda: The CUDA it was built with; None: it is not a CUDA build.
        hip: The ROCm it was built with.
        archs: What it says it was compiled for; None: not asked.
    """

    version: str
    root: str
    cuda: CudaVersion | None
    hip: str | None = None
    archs: tuple[Arch, ...] | None = None


@dataclass(frozen=True)
class Machine:
    """A machine at one moment: the input of every decision.

    Args:
        system: ``sys.platform``.
        processor: ``x86_64``, ``aarch64``.
        python: ``3.11.7``.
        gpus: NVML's order first, then those that only others see.
        driver: None: no driver was found.
        toolkits: Best match first.
        torch: None: torch is not installed.
        cuobjdump: The cuobjdump that will be used.
        variables: The environment variables that decide something, name and
            value, those that are set.
        absences: What was looked for in vain, with the reason.
        surroundings: Bus, driver files, system, container; None: not asked.
        installed: Packages and libraries with device code, trials; None: not asked.
        taken: The day of the record, ``2026-12-01``; None: not recorded.
    """

    system: str
    processor: str
    python: str
    gpus: tuple[Gpu, ...] = ()
    driver: Driver | None = None
    toolkits: tuple[Toolkit, ...] = ()
    torch: TorchBuild | None = None
    cuobjdump: str | None = None
    variables: tuple[tuple[str, str], ...] = ()
    absences: tuple[Absence, ...] = ()
    surroundings: Surroundings | None = None
    installed: Installed | None = None
    taken: str | None = None

    @property
    def toolkit(self) -> Toolkit | None:
        """The toolkit that builds would take."""
        return self.toolkits[0] if self.toolkits else None

    def variable(self, name: str) -> str | None:
        """The value of an environment variable, None where it is not set or empty."""
        value = dict(self.variables).get(name)
        return value if value and value.strip() else None

    def absence(self, what: str) -> str | None:
        """Why ``what`` is not there; None where nothing was noted."""
        return next((a.reason for a in self.absences if a.what == what), None)


#: Variables that decide what is built, how, or what is seen; nothing else is recorded.
VARIABLES = (
    "ARCHBUILD_ARCHS",
    "ARCHBUILD_VERIFY",
    "TORCH_CUDA_ARCH_LIST",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "NVCC_CCBIN",
    "CUDAHOSTCXX",
    "CC",
    "CXX",
    "MAX_JOBS",
    "NVCC_THREADS",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "VIRTUAL_ENV",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_DISABLE_REQUIRE",
    "CUDA_MODULE_LOADING",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_DISABLE_PTX_JIT",
    "PYTORCH_NVML_BASED_CUDA_CHECK",
)


# Windows and macOS have names of their own for them.
_NAMES_ON_LINUX = {"amd64": "x86_64", "arm64": "aarch64"}


def processor_name(name: str) -> str:
    """A processor as Linux names it, ``x86_64`` for Windows' ``AMD64``; others as they are."""
    return _NAMES_ON_LINUX.get(name.lower(), name)
