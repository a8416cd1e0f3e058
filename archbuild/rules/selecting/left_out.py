"""On which devices a build will not run. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from archbuild.model.arch import Arch
from archbuild.rules.covering.reach import Reach, best_reach


def left_out(targets: Sequence[Arch], source: str) -> str:
    """On which devices a build for these targets will not run, as one note.

    Args:
        targets: What is built.
        source: Whose GPUs it is built for: ``the GPUs of this machine``.
    """
    from archbuild.facts.architectures import CAPABILITIES, RENAMED  # noqa: PLC0415  (a table)

    old_numbers = {row.old for row in RENAMED}
    current = [row.capability for row in CAPABILITIES if row.capability not in old_numbers]
    ways = {capability: best_reach(targets, capability) for capability in current}
    served = [c for c, way in ways.items() if way in (Reach.NATIVE, Reach.JIT)]
    # A GPU may be newer than every row.
    oldest = min(served, default=min(target.capability for target in targets))
    gaps = [str(c) for c in current if c > oldest and c not in served]
    nor = f", nor on {', '.join(gaps)}" if gaps else ""
    return (
        f"Built for {source}: it will not run on GPUs older than {oldest}{nor}. "
        "To ship it, name a list: --arch, TORCH_CUDA_ARCH_LIST."
    )
