"""One file against all that is asked of it, and several added up."""

from __future__ import annotations

import pytest

from archbuild.model.arch import ptx, sass
from archbuild.model.coverage import Destination, Outcome
from archbuild.model.image import FileFormat
from archbuild.rules.checking.demand import Demand
from archbuild.rules.checking.judge import count_kernels, judge_file, wants_closer_look
from archbuild.rules.covering.devices import sum_devices
from archbuild.rules.selecting.expectation import Expectation
from tests.images import GOOD, cap, codes, driver, file, real, region, virtual


def demand(*devices: str, targets=(), **more) -> Demand:
    places = tuple(Destination(cap(device)) for device in devices)
    return Demand(Expectation(targets, "--targets" if targets else ""), places, **more)


def test_targets_and_devices_are_judged_together() -> None:
    verdict = judge_file(GOOD, demand("7.5", "9.0", targets=(sass("80"), sass("75"))))
    assert verdict.judged
    assert codes(verdict.findings) == ["V201", "V210", "V203", "V203"]
    assert [c.kernels(Outcome.NATIVE) for c in verdict.devices] == [0, 2]
    assert (verdict.kernels, verdict.images) == (2, 6)
    assert verdict.archs == (sass("80"), sass("90"), ptx("90"))


def test_a_file_without_code_is_held_against_no_device() -> None:
    verdict = judge_file(file(), demand("9.0", targets=(sass("90"),)))
    assert (verdict.judged, verdict.devices, verdict.findings) == (False, (), ())


def test_jit_is_an_error_where_it_is_not_allowed() -> None:
    seen = file(region(virtual("80", "k")))
    assert [f.severity.value for f in judge_file(seen, demand("9.0")).findings] == ["warning"]
    (finding,) = judge_file(seen, demand("9.0", allow_jit=False)).findings
    assert finding.severity.value == "error"


def test_windows_files_have_drivers_for_windows() -> None:
    seen = file(region(real("90", "k", "12.4")), format=FileFormat.PE)
    (coverage,) = judge_file(seen, demand("9.0")).devices
    assert str(coverage.floors.sass.release) == "528.33"


@pytest.mark.parametrize(
    ("seen", "count"),
    [
        (GOOD, 2),
        (file(), 0),
        (file(region(real("80", "a b"), real("90", "b c"))), 3),
        (file(region(real("80", "a")), region(real("80", "a"))), 2),
        (file(region(real("80"))), None),
        (file(region(real("80", "")), region(real("90"))), None),
    ],
)
def test_kernels_are_counted_by_region(seen, count) -> None:
    assert count_kernels(seen) == count


@pytest.mark.parametrize(
    ("seen", "asked", "closer"),
    [
        (file(region(real("80"), real("90"))), demand(targets=(sass("80"),)), False),
        (file(region(real("80"), real("90"))), demand(targets=(sass("86"),)), True),
        (file(region(real("80"))), demand("9.0"), True),
        (file(region(real("80"))), demand("8.6"), False),
        (file(region(real("80", "k"))), demand("9.0", targets=(sass("90"),)), False),
        (file(), demand("9.0"), False),
    ],
)
def test_a_closer_look_is_wanted_where_kernels_decide(seen, asked, closer) -> None:
    assert wants_closer_look(seen, asked) is closer


def test_files_are_added_up() -> None:
    one = file(region(real("90", "a b", "13.0")), path="a.so")
    two = file(region(virtual("80", "c", isa=(8, 7))), region(real("80", "d", "12.0")), path="b.so")
    verdicts = [judge_file(seen, demand("9.0", "8.0")) for seen in (one, two)]
    hopper, ampere = sum_devices([verdict.devices for verdict in verdicts], counted=True)
    assert hopper.kernels == {
        Outcome.NATIVE: 2,
        Outcome.JIT: 1,
        Outcome.NO: 1,
        Outcome.UNKNOWN: 0,
    }
    assert (str(hopper.floors.sass.release), str(hopper.floors.ptx.release)) == (
        "580.0",
        "570.26",
    )
    assert ampere.regions[Outcome.NO] == 1
    assert ampere.errors == (98, 209)
    assert str(ampere.floors.sass.release) == "525.60.13"
    assert sum_devices([], counted=True) == ()
    (uncounted, _) = sum_devices([verdict.devices for verdict in verdicts], counted=False)
    assert uncounted.kernels is None


def test_a_floor_that_is_unknown_somewhere_is_unknown_for_all() -> None:
    known = file(region(real("90", "a", "13.0")))
    unknown = file(region(real("90", "b")))
    columns = [judge_file(seen, demand("9.0")).devices for seen in (known, unknown)]
    assert sum_devices(columns, counted=True)[0].floors.sass is None


def test_a_driver_decides_by_the_toolkit() -> None:
    place = (Destination(cap("9.0"), driver("550.54.14")),)
    asked = Demand(destinations=place)
    assert codes(judge_file(file(region(real("90", "k", "13.0"))), asked).findings)[:1] == ["V215"]
    assert "V215" not in codes(judge_file(file(region(real("90", "k", "12.0"))), asked).findings)
    unknown = codes(judge_file(file(region(real("90", "k"))), asked).findings)
    assert unknown[:1] == ["V217"]
