"""The package as a whole."""

from __future__ import annotations

import pytest

from archbuild.rules.checking.package_checks import (
    bytes_by_arch,
    check_driver_bundled,
    check_size,
)
from tests.images import codes, file, one, real, region


def test_size_budget() -> None:
    seen = file(region(real("90", "k", stored=300 << 20), real("80", "k", stored=100 << 20)))
    sizes = bytes_by_arch([seen])
    assert list(sizes.items()) == [("sm_90", 300 << 20), ("sm_80", 100 << 20)]
    finding = one(list(check_size("x.whl", 401 << 20, 400 << 20, sizes)), "V240")
    assert finding.message == "x.whl is 401.0 MiB; the budget is 400.0 MiB."
    assert finding.evidence == ("sm_90: 300.0 MiB", "sm_80: 100.0 MiB")
    assert list(check_size("x.whl", 400 << 20, 400 << 20, sizes)) == []


@pytest.mark.parametrize(
    ("member", "bundled"),
    [
        ("pkg/lib/libcuda.so.1", True),
        ("pkg.libs/libcuda-4f3a2b1c.so.580.65.06", True),
        ("pkg/libcuda.so", True),
        ("pkg\\bin\\nvcuda.dll", True),
        ("pkg/NVCUDA.DLL", True),
        ("pkg/libnvidia-ml.so.1", True),
        ("pkg/libnvidia-ptxjitcompiler.so.1", True),
        ("pkg/libcudart.so.13", False),
        ("pkg/libcudart-4f3a2b1c.so.12", False),
        ("pkg/libcuda_kernels.so", False),
        ("pkg/libcudnn.so.9", False),
        ("pkg/mylibcuda.so", False),
        ("pkg/libcuda.so.txt", False),
        ("pkg/libnvrtc.so.13", False),
    ],
)
def test_a_library_of_the_driver_in_the_package(member, bundled) -> None:
    assert codes(check_driver_bundled([member, "pkg/__init__.py"])) == ["V241"] * bundled
