"""The public names: loaded when used, typed, and what they answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import archbuild
from archbuild.model.arch import ComputeCapability
from tests.images import driver, real, virtual

DATA = Path(__file__).parent / "data"


def test_every_public_name_is_listed() -> None:
    assert {"runs", "select", "verify"} <= set(archbuild.__all__)
    assert set(archbuild.__all__) <= set(dir(archbuild))


def test_verify() -> None:
    report = archbuild.verify(
        DATA / "classic.so", targets="8.6;12.0+PTX", runs_on="RTX 3090, RTX 5090", reader="native"
    )
    assert (report.ok, report.exit_code, report.findings) == (True, 0, ())


@pytest.mark.parametrize(
    ("image", "device", "release", "outcome"),
    [
        (real("86", "k"), "8.9", None, "native"),
        (real("86", "k"), "8.0", None, "no"),
        (real("80", "k"), "8.7", None, "unknown"),
        (virtual("80", "k", isa=(8, 7)), "9.0", "550.54.14", "no"),
        (virtual("80", "k", isa=(8, 4)), "9.0", "550.54.14", "jit"),
    ],
)
def test_runs(image, device: str, release: str | None, outcome: str) -> None:
    found = driver(release) if release else None
    verdict = archbuild.runs(image, ComputeCapability.parse(device), found)
    assert verdict.outcome.value == outcome


def test_what_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = archbuild.nothing
