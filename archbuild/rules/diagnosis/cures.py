"""Commands that cure: for packages, for the driver, for the toolkit."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from archbuild.facts.architectures import find_capability_row
from archbuild.facts.drivers import cuda_of_branch, last_branch
from archbuild.facts.toolkits import toolkits_that_build
from archbuild.facts.torch_wheels import INDEX
from archbuild.model.arch import Arch, Stage
from archbuild.model.coverage import Destination, DriverFloor
from archbuild.model.installed import CodePackage
from archbuild.model.machine import Driver, Machine
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.code import GpuKind, destination_of, gpu_kinds
from archbuild.rules.covering.drivers import device_floor, has_retired
from archbuild.rules.diagnosis.code_packages import highest_held
from archbuild.rules.recommending.torch_choice import install_command
from archbuild.rules.selecting.torch_match import EXTRAS

CPU_TORCH = f"pip install torch --index-url {INDEX}/cpu"

# The branches that distributions keep; others were there for some months.
_KEPT_BRANCHES = (470, 535, 550, 570, 580)
# From here on the driver has its open kernel module alone.
_OPEN_ALONE = 100


def torch_command(machine: Machine) -> str | None:
    """The command that puts a torch there which serves every GPU; None: there is none.

    A driver that does not serve a GPU is cured first: the torch is one for the oldest that
    does.
    """
    command = install_command(as_cured(machine))
    if command is None or machine.torch is None or "--force-reinstall" in command:
        return command
    # To pip 2.9.1+cu130 is newer than 2.9.1+cu126, and any torch is one that is there already.
    return f"{command} --force-reinstall"


def as_cured(machine: Machine) -> Machine:
    """The machine with the GPUs that are judged, and with a driver that serves them."""
    kinds = gpu_kinds(machine)
    gpus = tuple(replace(gpu, visible=True) for kind in kinds for gpu in kind.gpus)
    places = [destination_of(kind.capability, machine) for kind in kinds]
    unserved = [place for place in places if place.driver is None]
    driver = machine.driver
    if driver is not None and unserved:
        driver = _serving(unserved, driver)
    return replace(machine, gpus=gpus, driver=driver)


def _serving(unserved: Iterable[Destination], driver: Driver) -> Driver:
    """The oldest driver that knows these GPUs; of one that has left them its last branch."""
    for place in unserved:
        floor = device_floor(place)
        row = find_capability_row(place.capability)
        last = last_branch(row.generation) if row is not None else None
        if has_retired(replace(place, driver=driver)) and last is not None:
            return Driver(None, cuda_of_branch(last))
        if floor is not None and (driver.cuda is None or driver.cuda < floor.cuda):
            driver = Driver(floor.release, floor.cuda)
    return driver


def linalg_command(path: str, lacking: Iterable[GpuKind], machine: Machine) -> tuple[str, ...]:
    """A torch whose linear algebra has what this one's lacks, where one is known.

    Of 2.8 and 2.9 of CUDA 12.8 both libraries were read: the linear algebra holds sm_70,
    which 7.5 runs too, and libtorch_cuda holds sm_75.
    """
    turing = all((kind.capability.major, kind.capability.minor) == (7, 5) for kind in lacking)
    python = tuple(int(part) for part in machine.python.split(".")[:2] if part.isdigit())
    if "linalg" not in path or not turing or python > (3, 14):
        return ()
    if machine.processor.lower() not in ("x86_64", "amd64") or machine.system == "win32":
        return ()
    return (f'pip install "torch==2.9.*" --index-url {INDEX}/cu128 --force-reinstall',)


def reinstall(name: str, version: str) -> str:
    """The command that puts the same release of a package there again."""
    local = re.search(r"\+(cpu|cu\d+)$", version)
    index = f" --index-url {INDEX}/{local[1]}" if local and name.startswith("torch") else ""
    return f'pip install --force-reinstall --no-deps "{name}=={version}"{index}'


def package_commands(
    package: CodePackage, kinds: Iterable[GpuKind], machine: Machine
) -> tuple[str, ...]:
    """What gets a package that holds code for these GPUs."""
    source = _source_of(package)
    if package.editable and source is not None and machine.system != "win32":
        return (f"{_arch_list(kinds)} pip install --no-build-isolation --no-deps -e {source}",)
    if package.requires_torch:
        return (f"archbuild rebuild {package.name}",)
    highest = highest_held(package)
    newer = highest is None or any(kind.capability > highest.capability for kind in kinds)
    if newer:
        return (f"pip install --upgrade {package.name}",)
    return (f'pip install "{package.name}<{package.version.split("+")[0]}"',)


def _source_of(package: CodePackage) -> str | None:
    parts = urlsplit(package.direct_url or "")
    return shlex.quote(unquote(parts.path)) if parts.scheme == "file" and parts.path else None


def _arch_list(kinds: Iterable[GpuKind]) -> str:
    listed = ";".join(str(capability) for capability in sorted(k.capability for k in kinds))
    return f'TORCH_CUDA_ARCH_LIST="{listed}+PTX"'


def driver_commands(floor: DriverFloor | None, machine: Machine) -> tuple[str, ...]:
    """What installs a driver of this floor, where the distribution has one command for it."""
    around = machine.surroundings
    if floor is None or floor.release is None or around is None:
        return ()
    outside = around.container is not None or around.wsl or around.jetson is not None
    if outside or not (around.distribution or "").startswith("ubuntu"):
        return ()
    found = gpu_kinds(machine)
    last = int(last_branch_of(found) or _KEPT_BRANCHES[-1])
    fitting = [b for b in _KEPT_BRANCHES if floor.release.branch <= b <= last]
    module = "-open" if any(k.capability.number >= _OPEN_ALONE for k in found) else ""
    return (f"sudo apt install nvidia-driver-{fitting[-1]}{module}",) if fitting else ()


def set_variable(name: str, value: str, machine: Machine) -> str:
    """The command that sets an environment variable."""
    return f"{'set' if machine.system == 'win32' else 'export'} {name}={value}"


def driver_of(machine: Machine) -> str:
    """The driver's release, or its CUDA version in brackets; empty where there is none."""
    driver = machine.driver
    if driver is None:
        return ""
    return str(driver.release) if driver.release is not None else f"(CUDA {driver.cuda})"


def floor_of(floor: DriverFloor | None) -> str:
    """``570.26 (CUDA 12.8)``; empty where it is not known."""
    if floor is None:
        return ""
    return f"CUDA {floor.cuda}" if floor.release is None else f"{floor.release} (CUDA {floor.cuda})"


def last_branch_of(kinds: Iterable[GpuKind]) -> str:
    """The last driver branch for the oldest of these GPUs; empty where none is announced."""
    rows = [find_capability_row(kind.capability) for kind in kinds]
    found = [last_branch(row.generation) for row in rows if row is not None and not row.tegra]
    return str(min((branch for branch in found if branch is not None), default=""))


def toolkits_for(kinds: Iterable[GpuKind]) -> tuple[CudaVersion, ...]:
    """The CUDA releases that build for all of these GPUs, upwards."""
    built = [toolkits_that_build(Arch(Stage.REAL, kind.capability)) for kind in kinds]
    return tuple(v for v in built[0] if all(v in other for other in built)) if built else ()


def toolkit_command(version: CudaVersion) -> str:
    """What gets an nvcc of this CUDA; the package index has none before CUDA 13."""
    if version in EXTRAS:
        return f'pip install "archbuild[cu{version.major}{version.minor}]"'
    if version.major >= EXTRAS[0].major:
        return f'pip install "cuda-toolkit[nvcc,cccl]=={version}.*" nvidia-cuda-cuobjdump'
    return f"conda install -c nvidia cuda-toolkit={version}"
