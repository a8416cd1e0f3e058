"""Kernels that the host does not register, and code that was never linked."""

from __future__ import annotations

import pytest

from archbuild.model.finding import Severity
from archbuild.model.image import Linkage
from archbuild.rules.checking.kernel_checks import check_device_link, check_not_registered
from tests.images import GOOD, codes, file, lto, one, real, region, relocatable, virtual

LINK = "__cudaRegisterLinkedBinary_12_k_cu_aa"
WAITING = region(relocatable(real("90", "k")), linkage=Linkage.RELOCATABLE)


def test_a_kernel_that_the_host_does_not_name() -> None:
    seen = file(region(real("90", "a b")), region(relocatable(real("90", "c"))), unnamed=("b", "c"))
    found = list(check_not_registered(seen))
    assert [(f.code, f.kernel, f.severity) for f in found] == [("V224", "b", Severity.WARNING)]
    assert "error 98" in found[0].message


@pytest.mark.parametrize("unnamed", [None, ()])
def test_where_nothing_is_known_or_missing_nothing_is_said(unnamed) -> None:
    assert list(check_not_registered(file(region(real("90", "a")), unnamed=unnamed))) == []


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (file(*GOOD.regions, WAITING, wanting=(LINK,)), "never device-linked"),
        (file(WAITING), "relocatable"),
        (file(WAITING, wanting=(LINK,)), "never device-linked"),
        (file(WAITING, region(real("75", ""))), "device link of x.so is empty, though sm_90"),
        (file(region(relocatable(virtual("90", "k")))), "relocatable"),
    ],
)
def test_a_device_link_that_is_missing_is_told_once(seen, says) -> None:
    finding = one(list(check_device_link(seen)), "V202")
    assert says in finding.message
    assert finding.evidence == seen.wanting


@pytest.mark.parametrize(
    "seen",
    [GOOD, file(), file(region(lto())), file(WAITING, *GOOD.regions), file(region(real("75", "")))],
)
def test_what_needs_no_device_link(seen) -> None:
    assert codes(check_device_link(seen)) == []
