"""How an installed package came here: by its own metadata, nothing of it is imported."""

from __future__ import annotations

import json
import re
from importlib import invalidate_caches
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from archbuild.model.installed import CodePackage

_PROJECT_FILES = ("setup.py", "pyproject.toml")


def describe_distribution(found: Distribution, *, folder: Path | None = None) -> CodePackage:
    """What the metadata of a distribution says of where it came from.

    Args:
        found: Its metadata.
        folder: Where it lies, if it may lie in its own source, as ``setup.py develop``
            leaves it.
    """
    address = read_text(found, "direct_url.json") or _address_of_source(folder)
    return CodePackage(
        name=read_field(found, "Name") or "unknown",
        version=read_field(found, "Version") or "0",
        installer=_installer(found),
        direct_url=address or None,
        editable=_is_editable(address),
        requires_torch=any(map(_is_torch, _requirements(found))),
    )


def read_text(found: Distribution, name: str) -> str:
    """A file of the metadata; empty where it is missing or no text."""
    try:
        return (found.read_text(name) or "").strip()
    except (OSError, ValueError):
        return ""


def read_field(found: Distribution, name: str) -> str:
    """A line of METADATA; empty where it is missing or damaged."""
    try:
        metadata = found.metadata
        return str(metadata[name]).strip() if name in metadata else ""
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return ""  # It is no text, or there is no such file: Python's own class raises any.


def _requirements(found: Distribution) -> list[str]:
    try:
        return found.requires or []
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return []


def _installer(found: Distribution) -> str | None:
    first = read_text(found, "INSTALLER").partition("\n")[0].strip().lower()
    return first or None


def _address_of_source(folder: Path | None) -> str:
    """The address of an editable install as pip would have written it; empty: it is none."""
    if folder is None or not any((folder / name).is_file() for name in _PROJECT_FILES):
        return ""
    return json.dumps({"url": folder.absolute().as_uri(), "dir_info": {"editable": True}})


def source_folder(found: Distribution) -> Path | None:
    """The folder of an editable install; None where it is none."""
    address = read_text(found, "direct_url.json")
    if not _is_editable(address):
        return None
    try:
        parts = urlsplit(str(json.loads(address).get("url")))
    except ValueError:
        return None
    path = unquote(parts.path)
    drive = re.match(r"/[A-Za-z]:/", path)  # Windows: file:///C:/source
    return Path(path[1:] if drive else path) if parts.scheme == "file" else None


def _is_editable(address: str) -> bool:
    try:
        told = json.loads(address) if address else {}
    except (ValueError, RecursionError):
        return False
    info = told.get("dir_info") if isinstance(told, dict) else None
    return isinstance(info, dict) and info.get("editable") is True


def _is_torch(requirement: str) -> bool:
    return re.match(r"torch\s*(?:$|[;\[(<>=!~])", requirement, re.IGNORECASE) is not None


def write_origin(name: str, text: str) -> None:
    """Write down where an installed package came from, as pip does.

    Args:
        name: Of the package.
        text: For ``direct_url.json``.
    """
    invalidate_caches()
    try:
        found = distribution(name)
        folder = Path(str(getattr(found, "_path", "")))
        record = folder / "RECORD"
        line = f"{folder.name}/direct_url.json,,"
        listed = record.read_text("utf-8")
        (folder / "direct_url.json").write_text(text, "utf-8")
        if line not in listed.splitlines():
            record.write_text(listed.rstrip("\n") + f"\n{line}\n", "utf-8")
    except (OSError, UnicodeDecodeError, PackageNotFoundError):
        return  # It is installed all the same; the next rebuild asks for --source.
