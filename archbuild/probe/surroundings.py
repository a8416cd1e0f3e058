"""What stands around the GPUs of this machine, read from its files without any program."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from archbuild.model.surroundings import SourceAnswer, Surroundings
from archbuild.probe.container import query_container
from archbuild.probe.driver_files import hidden, query_driver_files
from archbuild.probe.pci import query_cards
from archbuild.probe.places import this_processor
from archbuild.probe.system import query_system
from archbuild.probe.tree import Tree


def query_surroundings(
    *,
    root: Path = Path("/"),
    environ: Mapping[str, str] | None = None,
    sources: tuple[SourceAnswer, ...] = (),
    system: str = sys.platform,
    processor: str | None = None,
) -> Surroundings:
    """The bus, the driver's files, the system and the container.

    Args:
        root: The folder that holds ``proc``, ``sys``, ``dev``, ``etc`` and so on.
        environ: The environment variables; None: this process's.
        sources: How the sources about GPUs fared.
        system: As in ``sys.platform``.
        processor: As in :class:`archbuild.model.machine.Machine`; None: this one's.

    Returns:
        All that could be read. Nothing that lies there raises. Elsewhere than on Linux
        there are no such files.
    """
    if system != "linux":
        return Surroundings(bus_read=False, sources=sources)
    env = os.environ if environ is None else environ
    processor = processor or this_processor()
    tree = Tree(root)
    cards, bus_read = query_cards(tree)
    found = query_system(tree, processor)
    files = query_driver_files(tree, processor, env)
    container = query_container(tree, env, files, jetson=found.jetson is not None)
    return Surroundings(
        cards=cards,
        bus_read=bus_read,
        sources=sources,
        driver_files=replace(files, hidden=hidden(tree)),
        container=container,
        wsl=found.wsl,
        wsl_library=found.wsl_library,
        jetson=found.jetson,
        l4t=found.l4t,
        distribution=found.distribution,
        kernel=found.kernel,
        glibc=found.glibc,
    )
