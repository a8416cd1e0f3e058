"""The kernels of a file as a list for people, those in the same architectures together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from archbuild.model.arch import Arch
from archbuild.model.image import DeviceFile, Image, ImageKind, Kernel
from archbuild.report.sizes import count_words, exact_words
from archbuild.report.text import folded, wrap
from archbuild.services.show import Kernels

_INDENT = "  "
_DEEPER = _INDENT * 2


def render_kernels(
    file: DeviceFile, kernels: Kernels, width: int, *, details: bool = False
) -> list[str]:
    """Which kernels a file holds, and in which architectures.

    Args:
        file: With its kernels read.
        kernels: Which of them to list, and under which names.
        width: No line has more columns than this.
        details: Also the bytes, registers and shared memory of each.
    """
    places = kernel_places(file, kernels.names)
    lines = wrap(f"{_INDENT}{_heading(file, places, kernels)}", width, _DEEPER)
    groups: dict[frozenset[Arch], list[str]] = {}
    for name, archs in places.items():
        groups.setdefault(archs, []).append(name)
    known = _details(file) if details else {}
    for archs, names in groups.items():
        told = ", ".join(map(str, sorted(archs))) or "an unknown architecture"
        told = f"{_INDENT}{count_words(len(names), 'kernel')} in {told}:"
        lines += wrap(told, width, _DEEPER)
        for name in sorted(names, key=kernels.names.__getitem__):
            lines.append(folded(_DEEPER + kernels.names[name], width, _DEEPER + _INDENT))
            for line in known.get(name, ()):
                lines.append(folded(_DEEPER + _INDENT + line, width, _DEEPER * 2))
    return lines


def kernel_places(file: DeviceFile, names: Mapping[str, str]) -> dict[str, frozenset[Arch]]:
    """The architectures in which each of these kernels lies; PTX and SASS are two.

    Args:
        file: With its kernels read.
        names: The kernels that matter.
    """
    numbers: dict[Arch | None, int] = {}
    bits: dict[str, int] = {}
    for held, its_archs in _lists(file):
        own = sum(1 << numbers.setdefault(arch, len(numbers)) for arch in its_archs)
        for name in held:
            bits[name] = bits.get(name, 0) | own
    archs = list(numbers)
    sets = {
        value: frozenset(a for i, a in enumerate(archs) if value >> i & 1 and a is not None)
        for value in set(bits.values())
    }
    return {name: sets[value] for name, value in bits.items() if name in names}


def _lists(file: DeviceFile) -> Iterable[tuple[tuple[str, ...], set[Arch | None]]]:
    """Lists of kernels and where they lie; images that share one are taken together."""
    found: dict[int, tuple[tuple[str, ...], set[Arch | None]]] = {}
    for image in file.images:
        if image.kernels:
            found.setdefault(id(image.kernels), (image.kernels, set()))[1].add(image.arch)
    return found.values()


def _heading(file: DeviceFile, places: Mapping[str, object], kernels: Kernels) -> str:
    unread = sum(image.kernels is None for image in file.images)
    told = count_words(len(places), "kernel")
    if kernels.pattern is not None:
        told += f" matching {kernels.pattern}"
    if unread:
        told += f"; {count_words(unread, 'image')} not read"
    if kernels.demangler is not None:
        program = kernels.demangler.replace("\\", "/").rpartition("/")[2]
        return f"{told}; names by {program}"
    return f"{told}; mangled names ({kernels.why_mangled})" if kernels.why_mangled else told


def _details(file: DeviceFile) -> dict[str, list[str]]:
    """What is known of each kernel, a line for each image that it lies in."""
    found: dict[str, list[str]] = {}
    for image in file.images:
        for kernel in () if image.kind is ImageKind.PTX else image.details or ():
            found.setdefault(kernel.name, []).append(_detail(image, kernel))
    return found


def _detail(image: Image, kernel: Kernel) -> str:
    told = [exact_words(kernel.size)] if kernel.size is not None else []
    if kernel.registers is not None:
        told.append(count_words(kernel.registers, "register"))
    if kernel.shared:
        told.append(f"{exact_words(kernel.shared)} shared")
    if kernel.binding.value != "global":
        told.append(kernel.binding.value)
    return f"{image.arch or 'unknown'}: {', '.join(told) or 'nothing more is known'}"
