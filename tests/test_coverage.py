"""What runs where: the rule, held against its facts and against ptxas itself."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.facts.architectures import CAPABILITIES
from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix, sass
from archbuild.model.coverage import Cause, Destination, Outcome, Tegra
from archbuild.model.image import DeviceFile, Flag, Image, ImageKind, Linkage, Region
from archbuild.model.machine import Driver
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.rules.covering.coverage import (
    choose,
    cover_file,
    cover_region,
    is_empty,
    runs,
    toolkit_of,
)
from tests.images import cap, driver, on, real, region, virtual

NATIVE, JIT, NO, UNKNOWN = Outcome.NATIVE, Outcome.JIT, Outcome.NO, Outcome.UNKNOWN
DATA = Path(__file__).parent / "data"


# One row of the table per case: image, where it runs, where it does not.
TABLE = [
    ("sm_80", "8.0 8.6 8.9", "7.0 7.5 9.0 10.0 12.0"),
    ("sm_86", "8.6 8.9", "8.0 9.0"),
    ("sm_89", "8.9", "8.6 8.0 9.0"),
    ("sm_90", "9.0", "8.9 10.0 12.0"),
    ("sm_100", "10.0 10.3 10.7", "9.0 11.0 12.0 12.1"),
    ("sm_103", "10.3 10.7", "10.0"),
    ("sm_120", "12.0 12.1", "10.0 10.3 11.0"),
    ("sm_121", "12.1", "12.0"),
    ("sm_52", "5.2", "5.0 6.0 8.0"),
    ("sm_60", "6.0 6.1", "5.2 7.0"),
    ("sm_70", "7.0 7.5", "8.0 6.1"),
    ("sm_90a", "9.0", "8.9 10.0 12.0"),
    ("sm_100a", "10.0", "10.3 10.7 11.0"),
    ("sm_103a", "10.3", "10.0 10.7"),
    ("sm_120a", "12.0", "12.1"),
    ("sm_100f", "10.0 10.3 10.7", "10.1 11.0 12.0"),
    ("sm_103f", "10.3 10.7", "10.0"),
    ("sm_107f", "10.7", "10.0 10.3"),
    ("sm_110f", "11.0", "10.0 12.0"),
    ("sm_120f", "12.0 12.1", "10.0 11.0"),
    ("sm_121f", "12.1", "12.0"),
    ("compute_52", "5.2 5.3 6.0 7.2 8.7 9.0 11.0 12.1", "5.0"),
    ("compute_89", "8.9 9.0 10.0 12.0", "8.6 8.7 7.5"),
    ("compute_90", "9.0 10.0 10.7 11.0 12.1", "8.9 8.0"),
    ("compute_120", "12.0 12.1", "11.0 10.3 9.0"),
    ("compute_101", "10.1 10.3 11.0 12.0", "10.0 9.0"),
    ("compute_90a", "9.0", "10.0 12.0 8.9"),
    ("compute_120f", "12.0 12.1", "10.0 11.0"),
    ("compute_100f", "10.0 10.3 10.7", "10.1 11.0 12.0"),
]


def image_of(name):
    arch = Arch.parse(name)
    return Image(ImageKind.SASS if arch.is_real else ImageKind.PTX, arch, isa=(8, 0))


@pytest.mark.parametrize(("name", "yes", "no"), TABLE, ids=[row[0] for row in TABLE])
def test_every_row_of_the_table(name, yes, no) -> None:
    image = image_of(name)
    hit = NATIVE if name.startswith("sm_") else JIT
    assert {d: runs(image, cap(d)).outcome for d in yes.split()} == dict.fromkeys(yes.split(), hit)
    for device in no.split():
        verdict = runs(image, cap(device))
        assert verdict.outcome is NO, device
        assert verdict.cause is Cause.ARCHITECTURE
        assert verdict.errors == (209, 98)
        assert name in verdict.reason
        assert device in verdict.reason


@pytest.mark.parametrize(
    ("name", "device"),
    [("sm_80", "8.7"), ("sm_86", "8.7"), ("sm_87", "8.9"), ("sm_70", "7.2"), ("sm_72", "7.5"),
     ("sm_52", "5.3"), ("sm_61", "6.2"), ("sm_100", "10.1"), ("sm_87", "8.8")],
)  # fmt: skip
def test_tegra_is_undocumented_and_has_a_switch(name, device) -> None:
    image = image_of(name)
    verdict = runs(image, cap(device))
    assert (verdict.outcome, verdict.cause, verdict.errors) == (UNKNOWN, Cause.TEGRA, ())
    assert "Tegra" in verdict.reason
    assert runs(image, cap(device), tegra=Tegra.RUNS).outcome is NATIVE
    assert runs(image, cap(device), tegra=Tegra.FAILS).outcome is NO


def test_tegra_runs_its_own_code_and_ptx() -> None:
    for tegra in Tegra:
        assert runs(real("87"), cap("8.7"), tegra=tegra).outcome is NATIVE
        assert runs(virtual("80"), cap("8.7"), tegra=tegra).outcome is JIT
        assert runs(real("89"), cap("8.7"), tegra=tegra).outcome is NO


@pytest.mark.parametrize(("name", "device"), [("sm_101", "11.0"), ("sm_110", "10.1")])
def test_thor_under_its_two_numbers(name, device) -> None:
    verdict = runs(image_of(name), cap(device))
    assert verdict.outcome is NO
    assert "Thor is 10.1 before CUDA 13.0 and 11.0 since" in verdict.reason


@pytest.mark.parametrize("name", ["compute_101a", "compute_101f"])
def test_ptx_for_thor_under_its_old_number_is_unknown(name) -> None:
    assert runs(image_of(name), cap("11.0")).outcome is UNKNOWN
    assert runs(image_of(name), cap("10.1")).outcome is JIT


@pytest.mark.parametrize(
    ("image", "cause", "outcome"),
    [
        (Image(ImageKind.LTOIR, Arch.parse("lto_90")), Cause.NOT_LOADABLE, NO),
        (Image(ImageKind.INDEX, None), Cause.NOT_LOADABLE, NO),
        (real("90", linkage=Linkage.RELOCATABLE), Cause.NOT_LOADABLE, NO),
        (virtual("90", linkage=Linkage.RELOCATABLE), Cause.NOT_LOADABLE, NO),
        (real("90", linkage=Linkage.UNKNOWN), Cause.NOT_KNOWN, UNKNOWN),
        (Image(ImageKind.SASS, None), Cause.NOT_KNOWN, UNKNOWN),
        (Image(ImageKind.TILEIR, sass("100")), Cause.NOT_KNOWN, UNKNOWN),
        (Image(ImageKind.CONCATENATED, sass("90")), Cause.NOT_KNOWN, UNKNOWN),
        (Image(ImageKind.UNFINISHED, sass("90")), Cause.NOT_KNOWN, UNKNOWN),
        (Image(ImageKind.UNKNOWN, sass("90")), Cause.NOT_KNOWN, UNKNOWN),
    ],
)
def test_what_the_driver_cannot_load(image, cause, outcome) -> None:
    verdict = runs(image, cap("9.0"))
    assert (verdict.outcome, verdict.cause) == (outcome, cause)
    assert verdict.errors == ((209, 98) if outcome is NO else ())


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("sm_90", "9.1"),
        ("sm_130", "13.1"),
        ("sm_120f", "12.2"),
        ("sm_130f", "13.1"),
        ("sm_130f", "13.0"),
    ],
)
def test_beyond_the_tables_is_unknown(name, device) -> None:
    assert runs(image_of("sm_130"), cap("13.0")).outcome is NATIVE
    assert runs(image_of(name), cap(device)).outcome is UNKNOWN


@pytest.mark.parametrize(
    ("image", "device", "found", "outcome", "errors"),
    [
        (virtual("80", isa=(8, 4)), "9.0", driver("550.54.14"), JIT, ()),
        (virtual("80", isa=(8, 5)), "9.0", driver("550.54.14"), NO, (222,)),
        (virtual("80", isa=(8, 5)), "9.0", driver(cuda="12.4"), NO, (222,)),
        (virtual("80", isa=(9, 5)), "9.0", driver("700.1"), UNKNOWN, ()),
        (virtual("80", isa=None), "9.0", driver("550.54.14"), UNKNOWN, ()),
        (virtual("80", isa=None), "9.0", None, JIT, ()),
        # Whatever the architecture: an old virtual one from a new nvcc.
        (virtual("75", isa=(9, 0)), "7.5", driver("570.26"), NO, (222,)),
        (real("90", toolkit="12.9"), "9.0", driver("525.60.13"), NATIVE, ()),
        (real("90", toolkit="13.0"), "9.0", driver("575.57.08"), NO, (35, 36)),
        (real("90"), "9.0", driver("550.54.14"), UNKNOWN, ()),
        (real("90"), "9.0", driver("580.65.06"), NATIVE, ()),
        # The device comes before the file: never 222.
        (virtual("90", isa=(8, 8)), "12.0", driver("565.57.01"), NO, (100,)),
        (real("120", toolkit="12.8"), "12.0", driver("565.57.01"), NO, (100,)),
        (real("90", toolkit="12.8"), "12.0", driver("565.57.01"), NO, (100,)),
        (real("120", toolkit="12.8"), "12.0", driver("570.26"), NATIVE, ()),
        (real("103", toolkit="12.9"), "10.3", driver("570.26"), UNKNOWN, ()),
        (real("61", toolkit="12.9"), "6.1", driver("580.95.05"), NATIVE, ()),
        (real("61", toolkit="12.9"), "6.1", driver("590.44.01"), NO, (100,)),
        (real("90", toolkit="12.0"), "9.0", driver(), UNKNOWN, ()),
        (real("90"), "9.0", None, NATIVE, ()),
        (virtual("90", isa=(9, 9)), "13.0", driver("615.1"), NO, (222,)),
        (virtual("90", isa=(9, 4)), "13.0", driver("615.1"), UNKNOWN, ()),
    ],
)
def test_with_a_driver(image, device, found, outcome, errors) -> None:
    verdict = runs(image, cap(device), found)
    assert (verdict.outcome, verdict.errors) == (outcome, errors)
    assert verdict.reason.endswith(".")


def test_the_driver_does_not_know_the_device() -> None:
    verdict = runs(real("120"), cap("12.0"), driver("565.57.01"))
    assert verdict.cause is Cause.DEVICE_TOO_NEW
    assert verdict.reason == (
        "This driver doesn't know this GPU: 12.0 needs driver 570.26 (CUDA 12.8)."
    )


def test_in_wsl_the_windows_column_counts() -> None:
    image = real("80", toolkit="11.8")
    assert runs(image, cap("8.0"), driver("451.48")).outcome is NATIVE
    assert runs(image, cap("8.0"), driver("451.48"), windows=True).outcome is NO


def test_floors_of_an_image() -> None:
    assert str(runs(virtual("80", isa=(8, 5)), cap("9.0")).floor.release) == "555.42.02"
    assert str(runs(real("80", toolkit="12.6"), cap("8.0")).floor.release) == "525.60.13"
    assert runs(real("80"), cap("8.0")).floor is None


# The choice within a region.


def chosen(device, *images, **more):
    return [str(image.arch) for image in choose(region(*images), on(device, **more))]


@pytest.mark.parametrize(
    ("device", "images", "expected"),
    [
        ("9.0", [virtual("90"), real("90")], ["sm_90"]),
        ("8.9", [real("80"), real("86"), real("90"), virtual("89")], ["sm_86"]),
        ("8.9", [real("90"), virtual("80"), virtual("86")], ["compute_86"]),
        ("12.1", [real("120"), virtual("121")], ["sm_120"]),
        ("10.3", [real("100f"), real("103")], ["sm_103"]),
        ("9.0", [real("90"), real("90a")], ["sm_90", "sm_90a"]),
        ("10.0", [real("100a"), real("100f")], ["sm_100a", "sm_100f"]),
        ("9.0", [virtual("90"), virtual("90a")], ["compute_90", "compute_90a"]),
        ("9.0", [real("80"), virtual("100")], []),
        ("9.0", [Image(ImageKind.LTOIR, Arch.parse("lto_90"))], []),
        ("9.0", [real("90", linkage=Linkage.RELOCATABLE), virtual("80")], ["compute_80"]),
        # Undocumented SASS before certain PTX: nobody knows what becomes of it.
        ("8.7", [real("80"), virtual("80")], ["sm_80"]),
        ("8.7", [real("87"), real("80")], ["sm_87"]),
        ("9.0", [Image(ImageKind.TILEIR, sass("90")), virtual("80")], ["compute_80"]),
        ("9.0", [Image(ImageKind.TILEIR, sass("90"))], ["sm_90"]),
        ("9.0", [], []),
    ],
)
def test_the_nearest_cubin_else_the_nearest_ptx(device, images, expected) -> None:
    assert chosen(device, *images) == expected


def test_with_tegra_switched_the_choice_changes() -> None:
    images = real("80"), virtual("80")
    assert chosen("8.7", *images, tegra=Tegra.FAILS) == ["compute_80"]
    assert cover_region(region(*images), on("8.7", tegra=Tegra.RUNS)).verdict.outcome is NATIVE
    assert cover_region(region(*images), on("8.7", tegra=Tegra.FAILS)).verdict.outcome is JIT
    assert cover_region(region(*images), on("8.7")).verdict.cause is Cause.TEGRA


def test_of_equals_the_unflagged_one_then_the_first_cubin_and_the_last_ptx() -> None:
    marked = Flag.NEW_SASS.value
    first, second = real("100", "a", flags=marked), real("100", "b")
    assert choose(region(first, second), on("10.0")) == (second,)
    one, two = real("90", "a"), real("90", "b")
    assert choose(region(one, two), on("9.0")) == (one,)
    one, two = virtual("90", "a"), virtual("90", "b")
    assert choose(region(one, two), on("9.0")) == (two,)


def test_a_refused_payload_does_not_fall_back() -> None:
    # compute_90 is nearest and too new; the older compute_80 is not taken instead.
    both = region(virtual("80", "k", isa=(8, 0)), virtual("90", "k", isa=(9, 0)))
    covered = cover_region(both, on("9.0", driver("550.54.14")))
    assert (covered.verdict.outcome, covered.verdict.errors) == (NO, (222,))
    assert covered.served == ("k",)
    # Nor PTX instead of a cubin that is too new for the driver.
    mixed = region(real("90", "k", "13.0"), virtual("80", "k", isa=(8, 0)))
    assert cover_region(mixed, on("9.0", driver("550.54.14"))).verdict.errors == (35, 36)


# Kernels.


def test_a_kernel_that_the_chosen_image_lacks() -> None:
    covered = cover_region(region(real("80", "k"), real("90", "k m")), on("8.9"))
    assert covered.verdict.outcome is NATIVE
    assert (covered.served, covered.absent, covered.undecided) == (("k",), ("m",), ())


def test_two_images_that_fit_with_other_kernels() -> None:
    covered = cover_region(region(real("90", "k m"), real("90a", "k n")), on("9.0"))
    assert covered.verdict.outcome is NATIVE
    assert (covered.served, covered.absent, covered.undecided) == (("k",), (), ("m", "n"))


def test_two_images_that_fit_with_the_same_kernels() -> None:
    covered = cover_region(region(real("90", "k m"), real("90a", "k m")), on("9.0"))
    assert (covered.served, covered.undecided) == (("k", "m"), ())


def test_kernels_that_were_not_read() -> None:
    covered = cover_region(region(real("90"), virtual("80", "k")), on("9.0"))
    assert covered.verdict.outcome is NATIVE
    assert (covered.served, covered.absent, covered.undecided) == ((), (), ("k",))


def test_where_nothing_fits_every_kernel_fails() -> None:
    covered = cover_region(region(real("80", "k m")), on("9.0"))
    assert covered.verdict.outcome is NO
    assert covered.served == ("k", "m")
    assert covered.verdict.reason == "No image fits 9.0: it holds sm_80."


def test_only_relocatable() -> None:
    relocatable = real("90", "k", linkage=Linkage.RELOCATABLE)
    verdict = cover_region(region(relocatable), on("9.0")).verdict
    assert (verdict.outcome, verdict.cause, verdict.errors) == (NO, Cause.NOT_LOADABLE, (209, 98))
    assert "relocatable sm_90" in verdict.reason


def test_what_lies_in_the_section_of_relocatable_code_is_relocatable() -> None:
    found = region(real("90", "k"), virtual("80", "k"), linkage=Linkage.RELOCATABLE)
    verdict = cover_region(found, on("9.0")).verdict
    assert (verdict.outcome, verdict.cause) == (NO, Cause.NOT_LOADABLE)
    assert "relocatable sm_90, relocatable compute_80" in verdict.reason


# Emptiness.


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        ([real("75", "")], True),
        ([real("75", "", variables=1)], False),
        ([real("75", ""), real("90", "k")], False),
        ([real("75")], None),
        ([real("75", "", variables=None)], None),
        ([real("75"), real("90", "k")], False),
        ([], True),
    ],
)
def test_empty_regions(images, expected) -> None:
    assert is_empty(region(*images)) is expected


def test_an_empty_region_is_ignored() -> None:
    file = DeviceFile("x.so", (region(real("75", "")), region(real("90", "k"))), "native")
    covered = cover_file(file, on("9.0"))
    assert [r.index for r in covered.regions] == [1]
    assert covered.errors == ()
    assert covered.kernels(NATIVE) == 1


def test_a_region_of_unread_kernels_that_does_not_fit_is_unknown() -> None:
    verdict = cover_region(region(real("75")), on("9.0")).verdict
    assert (verdict.outcome, verdict.errors) == (UNKNOWN, ())


# Files.


def example():
    return DeviceFile(
        "x.so",
        (
            region(real("80", "a b", "12.8"), virtual("90", "a b", isa=(8, 7))),
            region(real("90a", "w", "12.8")),
            region(real("80", "c", "12.8"), real("90", "c d", "12.8")),
        ),
        "native",
    )


@pytest.mark.parametrize(
    ("device", "counts", "errors"),
    [
        ("8.0", (3, 0, 2, 0), (98, 209, 500)),
        ("9.0", (3, 2, 0, 0), ()),
        ("10.0", (0, 2, 3, 0), (98, 209)),
        ("7.5", (0, 0, 5, 0), (98, 209)),
    ],
)
def test_a_whole_file(device, counts, errors) -> None:
    covered = cover_file(example(), on(device))
    assert tuple(covered.kernels(o) for o in (NATIVE, JIT, NO, UNKNOWN)) == counts
    assert covered.errors == errors


def test_three_floors() -> None:
    floors = cover_file(example(), on("9.0")).floors
    assert str(floors.sass.release) == "525.60.13"
    assert str(floors.ptx.release) == "570.26"
    assert str(floors.device.release) == "520.61.05"
    turing = cover_file(example(), on("7.5")).floors
    assert (turing.sass, turing.ptx) == (None, None)
    windows = cover_file(example(), on("9.0", windows=True)).floors
    assert [str(f.release) for f in (windows.sass, windows.ptx)] == ["528.33", "570.65"]


def test_the_floor_of_ptx_is_told_where_sass_is_taken_too() -> None:
    seen = DeviceFile(
        "x.so",
        (
            region(real("90", "a", "12.0"), virtual("80", "a", isa=(8, 8))),
            region(virtual("80", "b", isa=(8, 4))),
            region(real("90", "c", "12.0"), virtual("90a", "c", isa=(9, 0))),
            region(real("90", "d", "12.0"), virtual("100", "d", isa=(9, 1))),
        ),
        "native",
    )
    hopper, ada = (cover_file(seen, on(device)) for device in ("9.0", "8.9"))
    assert hopper.kernels(NATIVE) == 3
    assert str(hopper.floors.ptx.release) == "580.65.06"
    # What has to be compiled is told apart: there an older driver will do.
    assert str(hopper.jit_floor.release) == "550.54.14"
    assert (str(ada.floors.ptx.cuda), str(ada.jit_floor.cuda)) == ("12.9", "12.9")
    assert ada.floors.sass is None
    blackwell = cover_file(seen, on("12.0"))
    assert str(blackwell.floors.ptx.cuda) == "13.1"
    native = cover_file(DeviceFile("x.so", seen.regions[3:], "native"), on("9.0"))
    assert (native.floors.ptx, native.jit_floor) == (None, None)


def test_ptx_that_waits_for_a_device_link_has_no_floor() -> None:
    waiting = replace(region(virtual("80", "k")), linkage=Linkage.RELOCATABLE)
    assert cover_file(DeviceFile("x.so", (waiting,), "native"), on("9.0")).floors.ptx is None


def test_the_floor_is_unknown_where_one_of_the_makers_is() -> None:
    file = DeviceFile("x.so", (region(real("90", "a", "12.8")), region(real("90", "b"))), "native")
    assert cover_file(file, on("9.0")).floors.sass is None


def test_the_ptx_beside_it_tells_who_made_the_sass() -> None:
    both = region(real("90", "k"), virtual("90", "k", isa=(8, 5)))
    assert toolkit_of(both) == CudaVersion(12, 5)
    assert cover_region(both, on("9.0", driver("525.60.13"))).verdict.outcome is NATIVE
    assert toolkit_of(region(real("90"))) is None
    told = region(real("90", toolkit="12.6"), virtual("90", isa=(8, 5)))
    assert toolkit_of(told) == CudaVersion(12, 6)


def test_a_region_made_for_one_architecture_on_purpose() -> None:
    assert cover_region(region(real("90a", "k")), on("8.0")).on_purpose
    assert cover_region(region(real("90a", "k"), real("100f", "k")), on("8.0")).on_purpose
    assert not cover_region(region(real("90a", "k")), on("9.0")).on_purpose
    assert not cover_region(region(real("90a", "k"), real("90", "k")), on("8.0")).on_purpose
    assert not cover_region(region(Image(ImageKind.LTOIR, None)), on("8.0")).on_purpose


# ptxas.


def matrix():
    lines = (DATA / "ptxas_matrix.tsv").read_text().splitlines()[1:]
    return [(cuda, target, taken.split(",") if taken else [])
            for cuda, target, taken in (line.split("\t") for line in lines)]  # fmt: skip


ROWS = [row for row in matrix() if row[2]]
# Here ptxas says yes, and nobody has said what the loader does with the entry.
RENAMED = {("101a", "11.0"), ("101f", "11.0")}


def devices_of(cuda):
    return {Arch.parse(arch).capability for c, _, taken in ROWS if c == cuda for arch in taken}


@pytest.mark.parametrize(("cuda", "target", "taken"), ROWS, ids=[f"{r[0]}-{r[1]}" for r in ROWS])
def test_ptx_runs_where_ptxas_assembles_it(cuda, target, taken) -> None:
    number = target.removeprefix("sm_")
    assembled = {Arch.parse(arch).capability for arch in taken}
    for device in devices_of(cuda):
        outcome = runs(virtual(number), device).outcome
        if (number, str(device)) in RENAMED:
            assert outcome is UNKNOWN
        else:
            assert outcome is (JIT if device in assembled else NO), device


FAMILIES = [row for row in ROWS if row[1].endswith(("f", "a"))]


@pytest.mark.parametrize(
    ("cuda", "target", "taken"), FAMILIES, ids=[f"{r[0]}-{r[1]}" for r in FAMILIES]
)
def test_suffixed_sass_runs_on_the_family_that_ptxas_knows(cuda, target, taken) -> None:
    assembled = {Arch.parse(arch).capability for arch in taken}
    for device in devices_of(cuda):
        if Arch.parse(target).capability == cap("10.1") and device == cap("11.0"):
            continue
        outcome = runs(image_of(target), device).outcome
        assert outcome is (NATIVE if device in assembled else NO), device


def test_the_matrix_is_whole() -> None:
    releases = {cuda for cuda, _, _ in matrix()}
    assert releases == {"11.8", "12.9", "13.0", "13.5"}
    assert len({(cuda, target) for cuda, target, _ in matrix()}) == len(matrix()) == 39 * 4


def maker():
    spec = importlib.util.spec_from_file_location("maker", DATA / "make_ptxas_matrix.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_matrix(ptxas):
    script = maker()
    cuda = script.release_of(ptxas)
    stored = [f"{c}\t{target}\t{','.join(taken)}\n" for c, target, taken in matrix() if c == cuda]
    if not stored:
        pytest.skip(f"the stored matrix has no ptxas {cuda}")
    targets = [line.split("\t")[1] for line in stored]
    assert script.matrix(ptxas, targets) == stored


@pytest.mark.toolkit
def test_the_matrix_of_this_environments_ptxas(packaged_tool) -> None:
    check_matrix(packaged_tool("ptxas"))


@pytest.mark.tools
@pytest.mark.parametrize("folder", ["ptxas-11.8", "ptxas-12.9", "nvcc-13.5"])
def test_the_matrix_of_another_ptxas(other_tool, folder) -> None:
    check_matrix(other_tool(folder, "ptxas"))


# What holds for every image, device and driver.

capabilities = st.sampled_from([row.capability for row in CAPABILITIES]) | st.builds(
    ComputeCapability, st.integers(3, 15), st.integers(0, 9)
)
archs = st.builds(
    Arch, st.sampled_from([Stage.REAL, Stage.VIRTUAL]), capabilities, st.sampled_from(Suffix)
)
isas = st.none() | st.tuples(st.integers(6, 10), st.integers(0, 9))
versions = st.builds(CudaVersion, st.integers(10, 15), st.integers(0, 9))
releases = st.builds(
    lambda a, b: DriverRelease.parse(f"{a}.{b}"), st.integers(400, 700), st.integers(0, 99)
)
drivers = st.none() | st.builds(Driver, st.none() | releases, st.none() | versions)
names = st.none() | st.sets(st.sampled_from("abcd")).map(lambda found: tuple(sorted(found)))


def build(arch, isa, toolkit, kernels, variables):
    kind = ImageKind.SASS if arch.is_real else ImageKind.PTX
    return Image(kind, arch, isa=isa if arch.is_virtual else None, toolkit=toolkit,
                 kernels=kernels, variables=variables)  # fmt: skip


images = st.builds(build, archs, isas, st.none() | versions, names, st.sampled_from([None, 0, 1]))
regions = st.builds(lambda found: Region(tuple(found)), st.lists(images, max_size=5))
destinations = st.builds(Destination, capabilities, drivers, st.booleans(), st.sampled_from(Tegra))


@given(images, capabilities, drivers, st.sampled_from(Tegra))
def test_never_native_across_majors_nor_downwards(image, device, found, tegra) -> None:
    verdict = runs(image, device, found, tegra=tegra)
    arch = image.arch
    if verdict.outcome is NATIVE:
        assert arch.is_real
        assert arch.capability.major == device.major
    if verdict.runs:
        assert arch.capability <= device
        assert arch.suffix is not Suffix.ARCH or arch.capability == device
    if verdict.outcome is JIT:
        assert arch.is_virtual


@given(images, drivers, capabilities, capabilities)
def test_plain_ptx_is_monotone_in_the_device(image, found, one, two) -> None:
    lower, higher = sorted([one, two])
    if image.arch.is_real or image.arch.suffix is not Suffix.PLAIN:
        return
    if runs(image, lower).outcome is JIT:
        assert runs(image, higher).outcome is JIT


@given(images, capabilities)
def test_a_driver_of_which_nothing_is_known_takes_nothing_for_certain(image, device) -> None:
    assert not runs(image, device, Driver(None, None)).runs


@given(images, capabilities, drivers)
def test_a_driver_only_ever_takes_away(image, device, found) -> None:
    with_driver, without = runs(image, device, found), runs(image, device)
    if with_driver.runs:
        assert without.outcome is with_driver.outcome
    if without.outcome is NO:
        assert with_driver.outcome is NO


@given(images, capabilities, drivers)
def test_unread_facts_of_an_image_never_turn_into_yes(image, device, found) -> None:
    assert not runs(Image(image.kind, None), device, found).runs
    assert not runs(Image(ImageKind.UNKNOWN, image.arch), device, found).runs
    if image.arch.is_virtual and found is not None:
        assert not runs(Image(ImageKind.PTX, image.arch), device, found).runs


@given(images, destinations)
def test_errors_come_with_no_and_only_with_no(image, destination) -> None:
    more = {"windows": destination.windows, "tegra": destination.tegra}
    verdict = runs(image, destination.capability, destination.driver, **more)
    assert bool(verdict.errors) is (verdict.outcome is NO)
    assert verdict.reason.endswith(".")
    assert verdict.reason[0].isupper() or image.arch is not None


@given(regions, destinations)
def test_every_kernel_of_a_region_has_one_outcome(found, destination) -> None:
    covered = cover_region(found, destination)
    every = {name for image in found.images for name in image.kernels or ()}
    split = [*covered.served, *covered.absent, *covered.undecided]
    assert len(split) == len(set(split))
    assert set(split) == every


@given(regions, destinations)
def test_a_region_runs_only_through_an_image_of_its_own_that_runs(found, destination) -> None:
    covered = cover_region(found, destination)
    assert set(covered.chosen) <= set(found.images)
    if covered.verdict.runs:
        assert covered.chosen
        for name in covered.served:
            assert all(
                image.kernels is not None and name in image.kernels for image in covered.chosen
            )


@given(regions, destinations)
def test_an_image_that_reaches_nothing_changes_nothing(found, destination) -> None:
    stranger = Image(ImageKind.LTOIR, Arch.parse("lto_90"), kernels=(), variables=0)
    more = Region((*found.images, stranger))
    before, after = cover_region(found, destination), cover_region(more, destination)
    assert before.chosen == after.chosen
    assert before.verdict.outcome is after.verdict.outcome


@given(st.lists(regions, max_size=4), destinations)
def test_the_counts_of_a_file_add_up(found, destination) -> None:
    file = DeviceFile("x.so", tuple(found), "native")
    covered = cover_file(file, destination)
    total = sum(
        len({name for image in r.images for name in image.kernels or ()})
        for r in found
        if not is_empty(r)
    )
    assert sum(covered.kernels(outcome) for outcome in Outcome) == total
    assert covered.errors == tuple(sorted(set(covered.errors)))
