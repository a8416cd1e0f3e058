"""Looks into what was built: is every target in it, in every object and in the library?"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from archbuild.build.extension_plan import DLINK_CURE, is_cuda_source
from archbuild.build.source_plan import SourcesPlan
from archbuild.build.verification import find_empty, find_lack, refuse

_log = logging.getLogger(__name__)

_EMPTY = (
    "archbuild: %s holds no kernel for %s, though it does for others (a guard on __CUDA_ARCH__?): "
    "a launch there gives error 98, invalid device function"
)


def check_built(
    sources: SourcesPlan,
    objects: Mapping[str, Path],
    library: Path,
    cuobjdump: str | None,
    *,
    dlink_cure: str = DLINK_CURE,
) -> None:
    """Refuse an extension in which a target is missing.

    Args:
        sources: What was to be built.
        objects: The objects by their sources.
        library: What they were linked to.
        cuobjdump: The second reader; None: archbuild's own alone.
        dlink_cure: What to do about relocatable code without a device link.

    Raises:
        BuildError: Naming each file and what is missing in it.
        BinaryError: If a reader can't read a file.
    """
    plan = sources.extension
    pairs = [(s, o) for s, o in objects.items() if is_cuda_source(s)]
    lacks = [
        find_lack(
            obj,
            source,
            sources.targets_of(source),
            cuobjdump,
            relocatable=plan.relocatable,
            is_object=True,
        )
        for source, obj in pairs
    ]
    refuse([lack for lack in lacks if lack], f"{plan.name}, compiled")
    for source, empty in [(s, find_empty(o)) for s, o in pairs]:
        if empty:
            _log.warning(_EMPTY, source, ", ".join(map(str, empty)))
    linked = {"device_linked": plan.relocatable}
    lack = find_lack(library, library.name, plan.library_targets, cuobjdump, **linked)
    unlinked = plan.relocatable and "nvcc_dlink" not in plan.args
    cure = {"advice": dlink_cure} if unlinked else {}
    refuse([lack] if lack else [], f"{plan.name}, linked", **cure)
    _log.info("archbuild: %s holds %s", library.name, ", ".join(map(str, plan.library_targets)))
