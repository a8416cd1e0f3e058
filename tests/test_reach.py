"""What code reaches which device, by the documented rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.facts.architectures import CAPABILITIES
from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix
from archbuild.rules.covering.reach import Reach, best_reach, nearest_real, nearest_virtual, reach

_CAPABILITIES = [row.capability for row in CAPABILITIES]
_ANY = st.builds(
    Arch, st.sampled_from(Stage), st.sampled_from(_CAPABILITIES), st.sampled_from(Suffix)
)


def _archs(text: str) -> list[Arch]:
    return [Arch.parse(name) for name in text.split()]


@pytest.mark.parametrize(
    ("arch", "device", "expected"),
    [
        # SASS: the same major, an equal or higher minor.
        ("sm_86", "8.6", Reach.NATIVE),
        ("sm_86", "8.9", Reach.NATIVE),
        ("sm_89", "8.6", Reach.NONE),
        ("sm_80", "9.0", Reach.NONE),
        ("sm_100", "12.0", Reach.NONE),
        ("sm_120", "12.1", Reach.NATIVE),
        # As numbers: 9.0 is older than 10.0, and 10.3 is no 1.03.
        ("compute_90", "10.0", Reach.JIT),
        ("compute_100", "9.0", Reach.NONE),
        ("compute_86", "8.6", Reach.JIT),
        ("compute_87", "9.0", Reach.JIT),
        # a: that device alone; f: the family, which is not the major.
        ("sm_90a", "9.0", Reach.NATIVE),
        ("sm_100a", "10.3", Reach.NONE),
        ("compute_90a", "10.0", Reach.NONE),
        ("compute_90a", "9.0", Reach.JIT),
        ("sm_100f", "10.3", Reach.NATIVE),
        ("sm_100f", "10.1", Reach.NONE),
        ("sm_103f", "10.0", Reach.NONE),
        ("compute_120f", "12.1", Reach.JIT),
        ("sm_90f", "9.0", Reach.NONE),
        # Nothing is documented between desktop and Tegra, nor of what nobody knows.
        ("sm_80", "8.7", Reach.UNDOCUMENTED),
        ("sm_87", "8.9", Reach.UNDOCUMENTED),
        ("sm_87", "8.7", Reach.NATIVE),
        ("sm_120", "12.9", Reach.UNDOCUMENTED),
        # LTO-IR needs a device link first.
        ("lto_90", "9.0", Reach.NONE),
    ],
)
def test_reach(arch: str, device: str, expected: Reach) -> None:
    assert reach(Arch.parse(arch), ComputeCapability.parse(device)) is expected


@pytest.mark.parametrize(
    ("archs", "device", "expected"),
    [
        ("compute_80 sm_86", "8.6", Reach.NATIVE),
        ("sm_80 compute_80", "8.7", Reach.JIT),
        ("sm_80", "8.7", Reach.UNDOCUMENTED),
        ("sm_80 sm_90", "7.5", Reach.NONE),
        ("", "7.5", Reach.NONE),
    ],
)
def test_the_best_way(archs: str, device: str, expected: Reach) -> None:
    assert best_reach(_archs(archs), ComputeCapability.parse(device)) is expected


@pytest.mark.parametrize(
    ("archs", "device", "real", "virtual"),
    [
        ("sm_80 sm_86 compute_80 compute_86", "8.9", "sm_86", "compute_86"),
        ("sm_90 compute_90", "12.0", None, "compute_90"),
        ("sm_90 compute_90 sm_100 compute_100", "12.0", None, "compute_100"),
        ("sm_75 compute_75", "6.1", None, None),
        ("sm_80 compute_80", "8.7", None, "compute_80"),
        ("sm_90a compute_90a", "9.0", None, None),
        ("sm_120f sm_120 compute_120f compute_120", "12.1", "sm_120", "compute_120"),
        ("", "8.0", None, None),
    ],
)
def test_the_nearest(archs: str, device: str, real: str | None, virtual: str | None) -> None:
    capability = ComputeCapability.parse(device)
    near = nearest_real(_archs(archs), capability), nearest_virtual(_archs(archs), capability)
    assert [arch and str(arch) for arch in near] == [real, virtual]


@given(_ANY, st.sampled_from(_CAPABILITIES))
def test_nothing_reaches_an_older_device(arch: Arch, device: ComputeCapability) -> None:
    if device < arch.capability:
        assert reach(arch, device) is Reach.NONE


@given(st.sampled_from(_CAPABILITIES), st.sampled_from([Stage.REAL, Stage.VIRTUAL]))
def test_plain_code_reaches_its_own_device(device: ComputeCapability, stage: Stage) -> None:
    assert reach(Arch(stage, device), device) in (Reach.NATIVE, Reach.JIT)


@given(st.lists(_ANY), st.sampled_from(_CAPABILITIES))
def test_the_nearest_reaches(archs: list[Arch], device: ComputeCapability) -> None:
    real, virtual = nearest_real(archs, device), nearest_virtual(archs, device)
    assert real is None or reach(real, device) is Reach.NATIVE
    assert virtual is None or reach(virtual, device) is Reach.JIT
    plain = [arch for arch in archs if arch.suffix is Suffix.PLAIN]
    if best_reach(plain, device) in (Reach.NATIVE, Reach.JIT):
        assert real or virtual
