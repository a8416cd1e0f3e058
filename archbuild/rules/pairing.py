"""Which file of one package is which file of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from archbuild.model.image import DeviceFile
from archbuild.rules.member_names import normalize_member

#: A file before and after; None where it is on the other side only.
Pair = tuple["DeviceFile | None", "DeviceFile | None"]


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
