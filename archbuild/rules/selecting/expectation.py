"""What a binary is held against: an architecture list as exact images. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archbuild.errors import NoGpuError, UsageError
from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix
from archbuild.model.machine import Machine
from archbuild.rules.selecting.archlist import ArchItem, Word, parse_arch_list


@dataclass(frozen=True)
class Expectation:
    """The images that every file with device code must hold.

    Args:
        targets: Exact: plain, ``a`` and ``f`` are different.
        source: What asked for them; empty where nobody did.
    """

    targets: tuple[Arch, ...] = ()
    source: str = ""


def expect(
    machine: Machine,
    *,
    option: str | None = None,
    config: str | None = None,
) -> Expectation:
    """What to hold a file against: option, variables, pyproject; the first wins.

    The manifest beside a library goes before variables and pyproject; it is heard
    where the file is judged.

    Args:
        machine: For its variables, for ``native``, and for what ``all`` means.
        option: The value of ``--targets``.
        config: ``archs`` of ``[tool.archbuild]``.

    Returns:
        The targets; none where nobody named one.

    Raises:
        ArchListError: If the list can't be read.
    """
    named = (
        ("--targets", option),
        ("ARCHBUILD_ARCHS", machine.variable("ARCHBUILD_ARCHS")),
        ("TORCH_CUDA_ARCH_LIST", machine.variable("TORCH_CUDA_ARCH_LIST")),
        ("[tool.archbuild] archs", config),
    )
    for source, text in named:
        if text is not None:
            items = parse_arch_list(text, source)
            targets = {target for item in items for target in _images(item, machine, source)}
            return Expectation(tuple(sorted(targets)), source)
    return Expectation()


def find_devices(text: str, source: str, machine: Machine) -> tuple[ComputeCapability, ...]:
    """The devices that a list names, upwards and each once.

    Args:
        text: As ``--runs-on`` takes it: capabilities, products, generations, ``native``.
        source: Where it was written, for messages.
        machine: For ``native``.

    Raises:
        ArchListError: If the list can't be read.
        UsageError: If it names code, such as ``9.0a`` or ``compute_90``, and no device.
        NoGpuError: If it says ``native`` where no GPU is.
    """
    items = parse_arch_list(text, source)
    found = {device for item in items for device in _devices(item, source, machine)}
    return tuple(sorted(found))


def _devices(item: ArchItem, source: str, machine: Machine) -> Iterable[ComputeCapability]:
    if item.word is Word.NATIVE and not item.ptx:
        return [arch.capability for arch in _native(machine, source)]
    # A generation comes with PTX, as torch expands it; the devices are its real ones.
    real = [arch for arch in item.targets if arch.is_real]
    plain = real and all(arch.suffix is Suffix.PLAIN for arch in real)
    if item.word is not None or item.ptx or not plain:
        raise UsageError(
            f"{item.text} in {source} names code, not a device.",
            'Name devices, "RTX 4090, 9.0, native"; exact images belong to --targets.',
        )
    return [arch.capability for arch in real]


def _images(item: ArchItem, machine: Machine, source: str) -> Iterable[Arch]:
    if item.word is None:
        return item.targets
    if item.word is not Word.NATIVE:
        return _of_nvcc(item.word, machine, source)
    native = _native(machine, source)
    return (*native, max(native).virtual) if item.ptx else native


def _native(machine: Machine, source: str) -> list[Arch]:
    found = [Arch(Stage.REAL, gpu.capability) for gpu in machine.gpus if gpu.capability]
    if not found:
        raise NoGpuError(f"native in {source} needs a GPU, and this machine shows none.")
    return found


def _of_nvcc(word: Word, machine: Machine, source: str) -> list[Arch]:
    if machine.toolkit is None:
        raise UsageError(
            f"{word.value} in {source} depends on the nvcc that built it, and there is none here.",
            "Name the architectures one by one.",
        )
    return list(images_of_word(word, machine.toolkit.archs))


def images_of_word(word: Word, archs: Iterable[Arch]) -> tuple[Arch, ...]:
    """What ``all`` and ``all-major`` mean to an nvcc with these architectures.

    Args:
        word: Either of the two.
        archs: Everything that the nvcc takes.

    Returns:
        Its plain list, or the lowest of each major, upwards; and PTX of the
        highest major last (nvcc 13.0, ``nvcc --help``).
    """
    plain = sorted(a for a in archs if a.is_real and a.suffix is Suffix.PLAIN)
    majors: dict[int, Arch] = {}
    for arch in plain:
        majors.setdefault(arch.capability.major, arch)
    real = plain if word is Word.ALL else list(majors.values())
    return (*real, majors[max(majors)].virtual)
