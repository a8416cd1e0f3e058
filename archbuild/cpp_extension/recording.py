"""Writes the manifest beside a library: what it was built for, from and with."""

from __future__ import annotations

import sys
from pathlib import Path

from archbuild.build.beside import manifest_path
from archbuild.build.manifest import (
    make_manifest,
    source_manifest,
    write_manifest,
)
from archbuild.cpp_extension.compiling import Compiling, Setting
from archbuild.cpp_extension.planning import PlannedExtension
from archbuild.probe.host_compiler import query_host_compiler
from archbuild.rules.selecting.nvcc_flags import parse_nvcc_flags


def record(
    library: Path,
    planned: PlannedExtension,
    compiling: Compiling,
    setting: Setting,
    *,
    limited: bool,
) -> None:
    """Write the manifest of a library that was just built.

    Args:
        library: The library.
        planned: What was to be built.
        compiling: What was built.
        setting: With what.
        limited: Whether it uses Python's limited API alone.

    Raises:
        BinaryError: If the library can't be read.
        UnreadableError: If the manifest can't be written.
    """
    plan = planned.sources.extension
    host = query_host_compiler(parse_nvcc_flags(plan.args["nvcc"]).ccbin or "gcc")
    told = _torch(setting.torch)
    manifest = make_manifest(
        library,
        targets=plan.library_targets,
        sources=[
            source_manifest(one.source, one.served, setting.root) for one in planned.sources.sources
        ],
        toolkit=setting.toolkit.release,
        python="abi3" if limited else f"cp{sys.version_info[0]}{sys.version_info[1]}",
        host_compiler=f"{host.family} {host.major}",
        torch=setting.torch,
        torch_cuda=told[0],
        cxx11_abi=told[1],
        flags=parse_nvcc_flags(compiling.flags).rest,
        relocatable=plan.relocatable,
        lean_headers=bool(compiling.lean),
        development=planned.development,
    )
    write_manifest(manifest_path(library), manifest)


def _torch(version: str | None) -> tuple[str | None, bool | None]:
    """The CUDA and the ABI of the torch that is compiled against."""
    if version is None:
        return None, None
    import torch  # noqa: PLC0415

    return torch.version.cuda, bool(torch.compiled_with_cxx11_abi())
