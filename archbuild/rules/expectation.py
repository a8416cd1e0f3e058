"""What a binary is held against: an architecture list as exact images. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archbuild.errors import NoGpuError, NotKnownError, UsageError
from archbuild.model.arch import Arch, Stage, Suffix
from archbuild.model.machine import Machine
from archbuild.rules.archlist import ArchItem, Word, parse_arch_list


@dataclass(frozen=True)
class Expectation:
    """The images that every file with device code must hold.

    Args:
        targets: Exact: plain, ``a`` and ``f`` are different.
        source: What asked for them.
    """

    targets: tuple[Arch, ...]
    source: str


def expect(
    machine: Machine, *, option: str | None = None, config: str | None = None
) -> Expectation:
    """What to hold a file against: option, variables, pyproject; the first wins.

    Args:
        machine: For its variables, for ``native``, and for what ``all`` means.
        option: The value of ``--targets``.
        config: ``archs`` of ``[tool.archbuild]``.

    Raises:
        ArchListError: If the list can't be read.
        NotKnownError: If nobody named a target.
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
    raise NotKnownError(
        "Nothing says what this should hold.",
        'Name it: --targets "8.6;9.0+PTX", or TORCH_CUDA_ARCH_LIST, or archs in [tool.archbuild].',
    )


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
