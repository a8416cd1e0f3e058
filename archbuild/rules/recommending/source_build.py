"""What it would take to build torch from source for GPUs that no wheel serves together."""

from __future__ import annotations

from collections.abc import Iterable

from archbuild.facts.toolkits import TOOLKITS
from archbuild.facts.torch_releases import Python, TorchRelease, find_release
from archbuild.facts.torch_wheels import Standing, torch_wheels
from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.reach import nearest_real
from archbuild.rules.recommending.jetson import is_before_thor
from archbuild.rules.recommending.result import SourceBuild, Wish
from archbuild.rules.recommending.window import window_of

#: torch 1.12 is the last whose own wheels were built with CUDA 10.2, by its compatibility
#: matrix; it is older than the table of wheels.
_BEFORE_THE_TABLE = (
    TorchRelease(1, 12),
    (CudaVersion(10, 2), CudaVersion(11, 6)),
    ((3, 7), (3, 10)),
)

_Ranges = dict[TorchRelease, tuple[CudaVersion, CudaVersion]]


def source_build(wish: Wish) -> SourceBuild | None:
    """The toolkit, the torch and the drivers for a build that serves every GPU.

    A torch counts as one that builds with a CUDA where PyTorch's own wheels of it were
    built with an older and with a newer one, or with that one itself.

    Args:
        wish: Its GPUs, and the nvcc that is here.

    Returns:
        None where a GPU is of unknown capability, or has wheels of NVIDIA's own.
    """
    devices = sorted(set(wish.capabilities))
    unknown = any(card.capability is None for card in wish.cards)
    if unknown or not devices or any(map(is_before_thor, devices)):
        return None
    able = {row.version: found for row in TOOLKITS if (found := _archs(row.archs, devices))}
    torch, cuda = _newest(able)
    if cuda is None:
        return SourceBuild(())
    window = window_of(cuda, devices, windows=wish.windows_driver)
    return SourceBuild(
        able[cuda],
        cuda,
        torch,
        None if torch is None else _pythons(torch),
        window.floor,
        window.last,
        wish.nvcc is not None and bool(_archs(wish.nvcc.archs, devices)),
    )


def _archs(built: Iterable[Arch], devices: list[ComputeCapability]) -> tuple[Arch, ...]:
    """What of a toolkit serves every GPU natively; empty where it can't."""
    known = tuple(built)
    nearest = [nearest_real(known, device) for device in devices]
    found = {arch for arch in nearest if arch is not None}
    return tuple(sorted(found)) if None not in nearest else ()


def _newest(
    able: dict[CudaVersion, tuple[Arch, ...]],
) -> tuple[TorchRelease | None, CudaVersion | None]:
    """The newest torch that builds with one of these toolkits, and the newest of those."""
    for torch, (least, most) in sorted(_ranges().items(), reverse=True):
        fitting = [cuda for cuda in able if least <= cuda <= most]
        if fitting:
            return torch, max(fitting)
    return None, max(able, default=None)


def _ranges() -> _Ranges:
    """The oldest and the newest CUDA that the wheels of each torch were built with."""
    old, pair, _ = _BEFORE_THE_TABLE
    found: _Ranges = {old: pair}
    for row in torch_wheels():
        if row.standing is not Standing.SCRIPTS:
            least, most = found.get(row.torch, (row.cuda, row.cuda))
            found[row.torch] = min(least, row.cuda), max(most, row.cuda)
    return found


def _pythons(torch: TorchRelease) -> tuple[Python, Python] | None:
    if torch == _BEFORE_THE_TABLE[0]:
        return _BEFORE_THE_TABLE[2]
    row = find_release(torch)
    return None if row is None else row.pythons
