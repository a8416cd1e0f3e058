"""Folders of installed packages, made by hand of the fixtures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

DATA = Path(__file__).parent / "data"


def install(
    site: Path,
    name: str,
    version: str = "1.0",
    *,
    files: Mapping[str, str | bytes] | None = None,
    record: str | None = "",
    requires: tuple[str, ...] = (),
    direct: object = None,
    installer: str | None = "pip",
) -> Path:
    """Put a package into a folder as pip would.

    Args:
        site: The folder of packages.
        name: As its metadata spells it.
        version: Its version.
        files: Path in the folder -> a fixture's name, or bytes.
        record: Further lines of RECORD; None: it has none.
        requires: Its requirements.
        direct: What direct_url.json holds.
        installer: What INSTALLER holds; None: there is none.

    Returns:
        The folder of its metadata.
    """
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n\nA description.\n", encoding="utf-8")
    listed = []
    for path, content in (files or {}).items():
        target = site / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            shutil.copyfile(DATA / content, target)
        listed.append(f"{path},sha256=x,1")
    if record is not None:
        (info / "RECORD").write_text("\n".join([*listed, record]) + "\n", encoding="utf-8")
    if direct is not None:
        (info / "direct_url.json").write_text(json.dumps(direct))
    if installer is not None:
        (info / "INSTALLER").write_text(f"{installer}\n")
    return info


def conda_record(prefix: Path, name: str, version: str, files: tuple[str, ...] = ()) -> None:
    """Put conda's record of a package into an environment.

    Args:
        prefix: The environment.
        name: The package.
        version: Its version.
        files: What belongs to it, below the environment.
    """
    folder = prefix / "conda-meta"
    folder.mkdir(parents=True, exist_ok=True)
    record = {"name": name, "version": version, "files": list(files)}
    (folder / f"{name}-{version}-h0_0.json").write_text(json.dumps(record, indent=2))
