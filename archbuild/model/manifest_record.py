"""Manifests to JSON and back, by ``report/schemas/manifest.json``."""

from __future__ import annotations

import json

from archbuild.errors import RecordError
from archbuild.model.manifest import MANIFEST_SCHEMA, Manifest
from archbuild.model.record import decode, encode

_ADVICE = "Build the library again, or take the file out."


def render_manifest(manifest: Manifest) -> str:
    """The manifest as JSON text, ASCII, stable in order, ending in a newline."""
    document = {"schema": MANIFEST_SCHEMA, **encode(manifest)}
    return json.dumps(document, indent=2) + "\n"


def parse_manifest(text: str | bytes, name: str) -> Manifest:
    """A manifest from the JSON that :func:`render_manifest` wrote.

    Fields that this archbuild doesn't know are passed over.

    Args:
        text: The JSON.
        name: The file that it came from, for messages.

    Raises:
        RecordError: If it is damaged, no manifest, or of a newer schema.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{name} is no manifest: {error}.", _ADVICE) from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or not schema.startswith("archbuild.manifest/"):
        raise RecordError(f"{name} is no manifest of archbuild.", _ADVICE)
    if schema != MANIFEST_SCHEMA:
        raise RecordError(
            f"{name} is of schema {schema:.40}; this archbuild reads {MANIFEST_SCHEMA}.",
            "Update archbuild: pip install -U archbuild",
        )
    try:
        manifest = decode(Manifest, document, name)
    except RecordError as error:
        raise RecordError(error.message, _ADVICE) from None
    assert isinstance(manifest, Manifest)
    return manifest
