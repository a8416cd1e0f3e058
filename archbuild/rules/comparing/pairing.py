"""Which file of one package is which file of another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from archbuild.model.image import DeviceFile, FileFormat
from archbuild.rules.comparing.member_names import normalize_member

#: A file before and after; None where it is on the other side only.
Pair = tuple["DeviceFile | None", "DeviceFile | None"]
#: The letters of ``int64_t`` and ``uint64_t`` in a mangled name: on Linux, on Windows.
_INT64 = (("l", "x"), ("m", "y"))


def pair_files(before: Sequence[DeviceFile], after: Sequence[DeviceFile]) -> tuple[Pair, ...]:
    """The files of two packages side by side, in the order of the first, new ones last.

    Those of the same name belong together, then those of the same normalised name,
    and then, if one file with device code is left on each side, these two: such are
    two libraries that were named by themselves.

    Args:
        before: Files of one package, their paths counted from its folder.
        after: Files of the other.
    """
    partners: dict[int, int] = {}
    for key in (str, normalize_member):
        _match(before, after, partners, key)
    _match_last(before, after, partners)
    taken = set(partners.values())
    known = [(file, after[partners[i]] if i in partners else None) for i, file in enumerate(before)]
    return (*known, *((None, file) for i, file in enumerate(after) if i not in taken))


def _match(
    before: Sequence[DeviceFile],
    after: Sequence[DeviceFile],
    partners: dict[int, int],
    key: Callable[[str], str],
) -> None:
    """Add those with the same key that have no partner yet."""
    taken = set(partners.values())
    waiting: dict[str, list[int]] = {}
    for index, file in enumerate(after):
        if index not in taken:
            waiting.setdefault(key(file.path), []).append(index)
    for index, file in enumerate(before):
        if index not in partners and (fitting := waiting.get(key(file.path))):
            partners[index] = fitting.pop(0)


def _match_last(
    before: Sequence[DeviceFile], after: Sequence[DeviceFile], partners: dict[int, int]
) -> None:
    taken = set(partners.values())
    left = [i for i, file in enumerate(before) if file.regions and i not in partners]
    right = [i for i, file in enumerate(after) if file.regions and i not in taken]
    if len(left) == len(right) == 1:
        partners[left[0]] = right[0]


def align_names(pair: Pair, normalize: Callable[[str], str], widen: Callable[[str], str]) -> Pair:
    """Call the kernels of the second file as the first does, between Linux and Windows.

    ``int64_t`` has another name in mangled names there. Only kernels which the other
    file lacks are called so, and only where one of each file fits.

    Args:
        pair: Two files with kernels; others than an ELF file and a PE file stay.
        normalize: Makes names of kernels comparable between builds.
        widen: A key of such a name that is the same for both kinds of files, and as
            long as the name.
    """
    before, after = pair
    if before is None or after is None:
        return pair
    if {before.format, after.format} != {FileFormat.ELF, FileFormat.PE}:
        return pair
    old, new = (set(map(normalize, _kernels(file))) for file in (before, after))
    mine, theirs = _by_key(old - new, widen), _by_key(new - old, widen)
    spelt: dict[str, str] = {}
    for key in mine.keys() & theirs.keys():
        if len(mine[key]) == len(theirs[key]) == 1:
            names = mine[key][0], theirs[key][0]
            linux, windows = names if before.format is FileFormat.ELF else names[::-1]
            if _differ_in_int64(linux, windows):
                spelt[names[1]] = names[0]
    return before, _renamed(after, lambda name: spelt.get(normalize(name), name))


def _kernels(file: DeviceFile) -> Iterable[str]:
    return (name for image in file.images for name in image.kernels or ())


def _by_key(names: Iterable[str], key: Callable[[str], str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(key(name), []).append(name)
    return found


def _differ_in_int64(linux: str, windows: str) -> bool:
    pairs = zip(linux, windows, strict=True)
    return all(one == other or (one, other) in _INT64 for one, other in pairs)


def _renamed(file: DeviceFile, rename: Callable[[str], str]) -> DeviceFile:
    """The file with other names of its kernels."""
    regions = (
        replace(
            region,
            images=tuple(
                replace(image, kernels=tuple(map(rename, image.kernels)))
                if image.kernels
                else image
                for image in region.images
            ),
        )
        for region in file.regions
    )
    return replace(file, regions=tuple(regions))
