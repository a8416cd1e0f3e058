"""What is wished for: options over a machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from archbuild.errors import NoGpuError, UsageError
from archbuild.facts.torch_releases import Python, TorchRelease, parse_python
from archbuild.model.installed import CodeFile
from archbuild.model.machine import Driver, Gpu, Machine, processor_name
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.rules.covering.code import regions_of
from archbuild.rules.covering.drivers import parse_release
from archbuild.rules.recommending.candidates import region_of
from archbuild.rules.recommending.result import Card, InstalledTorch, Library, Nvcc, Wish
from archbuild.rules.selecting.archlist import Word, parse_arch_list
from archbuild.rules.selecting.expectation import find_devices

# What people call processors, besides the names that systems have for them.
_PROCESSORS = {"x64": "x86_64", "sbsa": "aarch64"}
_SYSTEMS = {"linux": ("linux", False), "windows": ("windows", True), "wsl": ("linux", True)}
SYSTEMS = tuple(_SYSTEMS)


@dataclass(frozen=True)
class Asked:
    """What was typed; None: nothing, and the machine decides.

    Args:
        gpus: Instead of the machine's: ``GTX 1080, RTX 5090``.
        with_gpus: Besides: what if they were there as well.
        driver: A release or a branch: ``570.124``, ``580``.
        python: ``3.12``.
        system: ``linux``, ``windows`` or ``wsl``.
        processor: ``x86_64`` or ``aarch64``.
        cuda: Only wheels of this CUDA.
        torch: Only this torch.
    """

    gpus: str | None = None
    with_gpus: str | None = None
    driver: str | None = None
    python: str | None = None
    system: str | None = None
    processor: str | None = None
    cuda: str | None = None
    torch: str | None = None


def make_wish(machine: Machine, asked: Asked | None = None, *, seen: bool = False) -> Wish:
    """What has to be served: the machine, and what was typed over it.

    Args:
        machine: This one, or a recorded one.
        asked: What was typed.
        seen: Leave out the GPUs that CUDA does not see, where it sees another.

    Raises:
        UsageError: If something that was typed can't be read.
        NoGpuError: If no GPU is named or found.
    """
    asked = asked or Asked()
    system, windows = _system(machine, asked.system)
    if asked.gpus is not None:
        cards = _named(asked.gpus, "--gpu", machine)
    else:
        cards = _found(machine, seen=seen)
    if asked.with_gpus is not None:
        cards += _named(asked.with_gpus, "--with-gpu", machine)
    if not cards:
        reason = machine.absence("cuda driver") or machine.absence("nvml")
        raise NoGpuError(
            "No NVIDIA GPU was found" + (f": {reason}." if reason else "."),
            'Name those that torch is for: --gpu "RTX 4090"',
        )
    return Wish(
        cards,
        system,
        _processor(asked.processor or machine.processor),
        _python(asked.python or machine.python, "--python"),
        _driver(asked.driver, machine, windows=windows),
        windows,
        _cuda(asked.cuda),
        _torch(asked.torch),
        _installed(machine),
        None if machine.toolkit is None else Nvcc(machine.toolkit.version, machine.toolkit.archs),
    )


def _system(machine: Machine, text: str | None) -> tuple[str, bool]:
    """The system whose wheels are wanted, and whether its driver is one for Windows."""
    if text is not None:
        if text not in _SYSTEMS:
            known = ", ".join(_SYSTEMS)
            raise UsageError(f"--system is {text!r:.40}.", f"Say one of: {known}.")
        return _SYSTEMS[text]
    if machine.system == "win32":
        return _SYSTEMS["windows"]
    is_wsl = machine.surroundings is not None and machine.surroundings.wsl
    return ("linux", is_wsl) if machine.system.startswith("linux") else (machine.system, False)


def _processor(text: str) -> str:
    lowered = text.strip().lower()
    return _PROCESSORS.get(lowered) or processor_name(lowered)


def _named(text: str, where: str, machine: Machine) -> tuple[Card, ...]:
    """The GPUs that a list names, each as it was named."""
    cards: list[Card] = []
    for item in parse_arch_list(text, where):
        if item.word is Word.NATIVE:
            find_devices(item.text, where, machine)
            cards += _found(machine)
        else:
            devices = find_devices(item.text, where, machine)
            cards += [Card(item.text, device) for device in devices]
    return tuple(cards)


def _found(machine: Machine, *, seen: bool = False) -> tuple[Card, ...]:
    """The GPUs of a machine; those on its bus where no driver names any."""
    gpus = [gpu for gpu in machine.gpus if not seen or gpu.visible is not False] or machine.gpus
    if gpus:
        return tuple(_card(gpu) for gpu in _whole(gpus))
    cards = machine.surroundings.cards if machine.surroundings is not None else ()
    return tuple(Card(card.name or card.chip or "GPU", card.capability) for card in cards)


def _whole(gpus: Iterable[Gpu]) -> Iterator[Gpu]:
    """All but those that MIG has cut into slices: CUDA sees the slices."""
    known = tuple(gpus)
    sliced = any(gpu.uuid.startswith("MIG-") for gpu in known)
    yield from (g for g in known if not (sliced and g.mig and not g.uuid.startswith("MIG-")))


def _card(gpu: Gpu) -> Card:
    return Card(gpu.name or gpu.uuid, gpu.capability, gpu.uuid or None)


def _python(text: str, where: str) -> Python:
    try:
        return parse_python(text)
    except ValueError as error:
        raise UsageError(f"{where}: {error}.", "Write --python 3.12") from None


def _cuda(text: str | None) -> CudaVersion | None:
    if text is None:
        return None
    try:
        return CudaVersion.parse(text)
    except ValueError as error:
        raise UsageError(f"--with-cuda: {error}.", "Write --with-cuda 13.0") from None


def _torch(text: str | None) -> TorchRelease | None:
    if text is None:
        return None
    try:
        return TorchRelease.parse(text)
    except ValueError as error:
        raise UsageError(f"--torch: {error}.", "Write --torch 2.14") from None


def _driver(text: str | None, machine: Machine, *, windows: bool) -> Driver | None:
    if text is not None:
        return Driver(parse_driver_release(text, windows=windows), None)
    driver = machine.driver
    return driver if driver is not None and (driver.release or driver.cuda) else None


def parse_driver_release(text: str, *, windows: bool = False) -> DriverRelease:
    """Read a release, ``570.124.06``, or a branch, ``580``, which stands for its first release.

    Args:
        text: What was typed.
        windows: Whether it is one of Windows.

    Raises:
        UsageError: If it is neither.
    """
    try:
        return parse_release(text, windows=windows)
    except ValueError as error:
        advice = "Write --driver 580, or a whole release such as 570.124.06; 13.0 is a CUDA."
        raise UsageError(f"--driver: {error}.", advice) from None


def _installed(machine: Machine) -> InstalledTorch | None:
    """The torch of the machine, in its own words: its libraries, else its list."""
    torch = machine.torch
    if torch is None or torch.cuda is None:
        return None
    try:
        release = TorchRelease.parse(torch.version)
    except ValueError:
        return None
    libraries = _read(machine)
    if not libraries and torch.archs:
        libraries = (Library("libtorch_cuda", (region_of(torch.archs, torch.cuda),)),)
    cudnn = machine.installed.cudnn if machine.installed is not None else None
    return InstalledTorch(torch.version, release, torch.cuda, libraries, cudnn)


def _read(machine: Machine) -> tuple[Library, ...]:
    """What was read of torch's libraries, the one that most of torch is in first."""
    packages = machine.installed.packages if machine.installed is not None else ()
    files = [f for p in packages if p.name == "torch" for f in p.files if f.groups]
    cuda = machine.torch.cuda if machine.torch is not None else None
    found = [Library(_stem(file), regions_of(file, cuda)) for file in files]
    return tuple(sorted(found, key=lambda library: not library.name.endswith("torch_cuda")))


def _stem(file: CodeFile) -> str:
    name = file.path.replace("\\", "/").rpartition("/")[2]
    return name.partition(".")[0]
