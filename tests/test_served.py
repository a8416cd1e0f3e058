"""Whether the devices that a person named are served."""

from __future__ import annotations

from archbuild.model.coverage import Tegra
from archbuild.model.finding import Severity
from archbuild.rules.checking.served import check_served
from archbuild.rules.covering.coverage import cover_file
from tests.images import GOOD, codes, driver, file, on, one, real, region, virtual


def served(seen, *destinations, **more):
    coverages = [cover_file(seen, destination) for destination in destinations]
    return check_served(seen.path, coverages, **more)


def test_a_device_that_is_served_natively_needs_no_word() -> None:
    assert served(GOOD, on("8.0"), on("8.6"), on("9.0")) == ()


def test_nothing_runs_there() -> None:
    finding = one(served(GOOD, on("7.5")), "V210")
    assert (finding.severity, finding.arch) == (Severity.ERROR, "sm_75")
    assert finding.evidence[0] == (
        "regions 0, 1: No image fits 7.5: it holds sm_80, sm_90, compute_90. (error 209 or 98)"
    )


def test_a_part_of_the_regions() -> None:
    seen = file(*GOOD.regions, region(real("80", "n")))
    found = served(seen, on("9.0"), on("8.0"))
    assert codes(found) == ["V211"]
    assert found[0].message == "x.so has nothing for 9.0 in 1 of 3 regions."


def test_made_for_one_architecture_on_purpose() -> None:
    seen = file(*GOOD.regions, region(real("90a", "w")))
    assert [(f.code, f.severity) for f in served(seen, on("8.0"))] == [("V212", Severity.NOTE)]
    assert served(seen, on("9.0")) == ()
    # But where nothing else is served either, nothing is.
    alone = file(region(real("90a", "w")))
    assert codes(served(alone, on("8.0"))) == ["V210"]


def test_kernels_that_the_image_of_this_device_lacks() -> None:
    seen = file(region(real("75", ""), real("80", "k m")), region(real("75", "n"), real("80", "n")))
    finding = one(served(seen, on("7.5")), "V223")
    assert (finding.severity, finding.arch) == (Severity.WARNING, "sm_75")
    assert "lacks 2 kernels" in finding.message
    assert finding.evidence[0] == "region 0: k (error 98 or 500)"
    assert served(seen, on("8.0")) == ()


def test_many_regions_of_one_reason_are_told_once() -> None:
    seen = file(*(region(real("80", f"k{i}")) for i in range(25)))
    evidence = one(served(seen, on("9.0")), "V210").evidence
    assert evidence == (
        "regions 0, 1, 2 and 22 more: No image fits 9.0: it holds sm_80. (error 209 or 98)",
    )
    held = [region(real(number, "k")) for number in ("70", "75", "80", "86", "87", "89")]
    odd = file(
        *held, *(region(real("80", "k"), real(n, "k")) for n in ("75", "70", "86", "89", "87"))
    )
    evidence = one(served(odd, on("9.0")), "V210").evidence
    assert len(evidence) == 11
    assert evidence[-1] == "and 1 more reasons"


def test_jit_is_a_warning_or_an_error() -> None:
    finding = one(served(GOOD, on("12.0")), "V213")
    assert finding.severity is Severity.WARNING
    assert "after driver 525.60.13 (CUDA 12.0) or newer has compiled it (2 of 2" in finding.message
    strict = one(served(GOOD, on("12.0"), allow_jit=False), "V213")
    assert strict.severity is Severity.ERROR


def test_ptx_newer_than_the_driver() -> None:
    seen = file(region(real("80", "k", "12.8"), virtual("80", "k", isa=(8, 7))))
    finding = one(served(seen, on("9.0", driver("550.54.14"))), "V214")
    assert "it needs driver 570.26 (CUDA 12.8)" in finding.message
    assert finding.evidence[0].endswith("(error 222)")
    # Natively the same driver will do: two floors in one file.
    assert served(seen, on("8.0", driver("550.54.14"))) == ()
    assert codes(served(seen, on("9.0", driver("570.26")))) == ["V213"]


def test_a_driver_older_than_the_toolkit() -> None:
    seen = file(region(real("90", "k", "13.0")))
    finding = one(served(seen, on("9.0", driver("575.57.08"))), "V215")
    assert finding.evidence[0].endswith("(error 35 or 36)")
    assert served(seen, on("9.0", driver("580.65.06"))) == ()


def test_a_driver_that_does_not_know_the_gpu() -> None:
    seen = file(region(real("120", "k", "12.8"), virtual("120", "k", isa=(8, 7))))
    found = served(seen, on("12.0", driver("565.57.01")))
    assert codes(found) == ["V216"]
    assert "doesn't know this GPU" in found[0].message
    pascal = file(region(real("61", "k", "12.8")))
    assert codes(served(pascal, on("6.1", driver("590.44.01")))) == ["V216"]


def test_what_is_not_known_is_said_to_be_so() -> None:
    assert codes(served(file(region(real("90"))), on("9.0", driver("550.54.14")))) == ["V217"]
    both = file(region(real("90", "k"), real("90a", "k w"), virtual("90", "k")))
    finding = one(served(both, on("9.0")), "V217")
    assert "which image the driver takes" in finding.message
    same = file(region(real("90", "k"), real("90a", "k")))
    assert served(same, on("9.0")) == ()


def test_tegra() -> None:
    seen = file(region(real("80", "k"), virtual("80", "k")))
    finding = one(served(seen, on("8.7")), "V218")
    assert "NVIDIA documents no compatibility" in finding.message
    assert served(seen, on("8.7", tegra=Tegra.RUNS)) == ()
    assert codes(served(seen, on("8.7", tegra=Tegra.FAILS))) == ["V213"]


def test_an_empty_region_spoils_nothing() -> None:
    assert served(file(*GOOD.regions, region(real("75", ""))), on("9.0")) == ()
    assert served(file(region(real("75", ""))), on("9.0")) == ()
