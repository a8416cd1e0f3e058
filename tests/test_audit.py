"""Every check of a file fires where it should, and holds its peace elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import ptx, sass
from archbuild.model.finding import Severity, has_errors
from archbuild.model.image import Compression, Flag, Image, ImageKind, Linkage
from archbuild.rules.checking.audit import audit
from archbuild.rules.checking.codes import CODES
from archbuild.rules.checking.served import check_served
from archbuild.rules.covering.coverage import cover_file
from tests.images import GOOD, codes, file, lto, on, one, real, region, relocatable, virtual


def test_a_good_file_is_given_no_finding() -> None:
    assert audit(GOOD) == ()


def test_a_file_without_device_code_is_given_none() -> None:
    assert audit(file()) == ()


# Each check on the images: files that make it fire, and files that don't.

#: What -dlto leaves beside the code that came of it.
WAITING = region(lto(), linkage=Linkage.RELOCATABLE)

ROWS = [
    (
        "V202",
        [file(region(relocatable(real("90", "k")), linkage=Linkage.RELOCATABLE),
              region(real("75", "")))],
        [GOOD, file(region(relocatable(real("90", "k"))), *GOOD.regions)],
    ),
    (
        "V204",
        [
            file(region(replace(real("90", "k"), kind=ImageKind.UNKNOWN, number=0x4000))),
            file(region(replace(real("90", "k"), kind=ImageKind.CONCATENATED))),
            file(region(replace(real("90", "k"), arch=None))),
            file(region(real("90", "k", flags=1 << 40))),
        ],
        [GOOD, file(region(Image(ImageKind.INDEX, None), real("90", "k", flags=0x1000011)))],
    ),
    ("V205", [file(hip=True), file(*GOOD.regions, hip=True)], [GOOD]),
    (
        "V208",
        [
            file(region(lto())),
            file(region(lto(), lto("80")), *GOOD.regions),
            file(WAITING),
            file(WAITING, *GOOD.regions, wanting=("__cudaRegisterLinkedBinary_k",)),
            file(WAITING, region(real("90", ""))),
        ],
        [GOOD, file(region(lto(), real("90", "k"))), file(WAITING, *GOOD.regions)],
    ),
    (
        "V220",
        [
            file(region(real("80", "k"), real("90", "k"))),
            file(*GOOD.regions, region(real("90", "n"))),
            file(region(real("90", "k"), virtual("90a", "k"))),
            file(region(real("90", "k"), relocatable(virtual("90", "k")))),
            file(region(real("90"))),
        ],
        [
            GOOD,
            file(*GOOD.regions, region(real("90a", "w"))),
            file(*GOOD.regions, region(real("75", ""))),
        ],
    ),
    (
        "V221",
        [file(region(real("90a", "k"))), file(region(real("90a", "k"), real("100a", "k")))],
        [
            GOOD,
            file(region(real("90a", "k"), real("80", "k"))),
            file(region(real("90a", "k"), real("100f", "k"))),
            file(region(real("90a", "k")), *GOOD.regions),
            file(region(real("90a", ""))),
        ],
    ),
    (
        "V222",
        [file(region(virtual("90a", "k"))), file(region(real("80", "k"), virtual("120f", "k")))],
        [GOOD, file(region(real("90a", "k"))), file(region(relocatable(virtual("90a", "k"))))],
    ),
    (
        "V223",
        [file(region(real("80", "k"), real("90", "k m")))],
        [
            GOOD,
            file(region(real("80", "k")), region(real("90", "m"))),
            file(region(real("80"), real("90", "m"))),
            file(region(real("80", ""), real("90", "m"))),
            file(region(real("80", "k m"), real("90", "m k"))),
        ],
    ),
    (
        "V225",
        [
            file(region(real("80", ""), real("90", "m"), virtual("90", "m"))),
            # As sm_75 in one region of torch 2.14.1: variables, and none of the kernels.
            file(region(real("75", "", variables=28), real("80", "m"))),
        ],
        [
            GOOD,
            file(region(real("75", "")), *GOOD.regions),
            file(region(real("80", "", variables=2), real("90", ""))),
            file(region(real("80"), real("90", "m"))),
        ],
    ),
    (
        "V226",
        [file(region(real("75", ""))), file(region(real("80", ""), real("90", "")))],
        [GOOD, file(), file(region(real("75"))), file(region(real("75", "", variables=1)))],
    ),
    (
        "V227",
        [file(region(real("90", "k")), region(relocatable(virtual("90", "k"))))],
        [
            GOOD,
            file(*GOOD.regions, region(relocatable(virtual("90", "k")))),
            file(region(real("90", "k"))),
        ],
    ),
    (
        "V228",
        [
            file(region(real("90", "k", virtual=ptx("75")))),
            file(region(real("90", "k", virtual=ptx("89")))),
            file(region(real("120", "k", virtual=ptx("100")))),
        ],
        [
            GOOD,
            file(region(real("90", "k", virtual=ptx("90")))),
            file(region(real("89", "k", virtual=ptx("80")))),
            file(region(real("103f", "k", virtual=ptx("100f")))),
        ],
    ),
    (
        "V229",
        [
            file(region(real("90", "k", inner=sass("80")))),
            file(region(real("90", "k", inner=sass("90a")))),
            file(region(real("100f", "k", inner=sass("100a")))),
        ],
        [
            GOOD,
            file(region(real("90a", "k", inner=sass("90a")))),
            # A CUDA 13 cubin need not tell its suffix.
            file(region(real("100f", "k", inner=sass("100")))),
            file(region(virtual("90a", "k", inner=ptx("90a")))),
        ],
    ),
    (
        "V230",
        [file(region(real("90", "k", flags=Flag.DEBUG.value | 1)))],
        [GOOD, file(region(real("90", "k", flags=0x11)))],
    ),
    (
        "V231",
        [file(region(real("90", "k", stored=2 << 20, compression=Compression.NONE)))],
        [
            GOOD,
            file(region(real("90", "k", stored=2 << 20, compression=Compression.ZSTD))),
            file(region(real("90", "k", stored=1000, compression=Compression.NONE))),
            file(region(real("90", "k", compression=Compression.NONE))),
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "seen"), [(code, f) for code, fires, _ in ROWS for f in fires])
def test_it_fires(code, seen) -> None:
    found = [finding for finding in audit(seen) if finding.code == code]
    assert found
    for finding in found:
        assert finding.file == "x.so"
        assert finding.message.endswith(".")
        assert "x.so" in finding.message


@pytest.mark.parametrize(("code", "seen"), [(code, f) for code, _, silent in ROWS for f in silent])
def test_it_does_not_fire(code, seen) -> None:
    assert code not in codes(audit(seen))


def test_hip_beside_cuda_is_a_note_and_alone_an_error() -> None:
    assert one(audit(file(hip=True)), "V205").severity is Severity.ERROR
    assert one(audit(file(*GOOD.regions, hip=True)), "V205").severity is Severity.NOTE


def test_a_part_without_ptx_is_counted() -> None:
    finding = one(audit(file(*GOOD.regions, region(real("90", "n")))), "V220")
    assert "no PTX in 1 of its regions" in finding.message


def test_each_missing_kernel_is_named_with_its_architecture() -> None:
    seen = file(region(real("80", "k"), real("90", "k m"), virtual("90", "m")))
    found = [f for f in audit(seen) if f.code == "V223"]
    assert [(f.kernel, f.arch) for f in found] == [("m", "sm_80"), ("k", "compute_90")]


def test_an_empty_image_tells_what_it_lacks() -> None:
    seen = file(region(real("75", ""), real("80", "k m")), region(real("75", ""), real("80", "n")))
    finding = one(audit(seen), "V225")
    assert finding.arch == "sm_75"
    assert finding.evidence == (
        "region 0: kernels of other images: 2",
        "region 1: kernels of other images: 1",
    )


def test_an_unknown_entry_is_told_with_its_numbers() -> None:
    odd = replace(real("90", "k", flags=0x11, offset=0x40), kind=ImageKind.UNKNOWN, number=0x4000)
    assert one(audit(file(region(odd))), "V204").evidence == (
        "kind unknown 0x4000, sm_90, flags 0x11 at 0x40",
    )


def served(seen, *destinations, **more):
    coverages = [cover_file(seen, destination) for destination in destinations]
    return check_served(seen.path, coverages, **more)


# What holds for every file.

archs = st.sampled_from(["75", "80", "86", "87", "90", "90a", "100f", "100a", "120", "101"])
names = st.none() | st.sets(st.sampled_from("abc")).map(lambda found: " ".join(sorted(found)))
images = (
    st.builds(real, archs, names)
    | st.builds(virtual, archs, names)
    | st.builds(lambda n, k: relocatable(real(n, k)), archs, names)
    | st.builds(lambda n: replace(real(n), kind=ImageKind.UNKNOWN, arch=None), archs)
    | st.builds(lto)
)
regions = st.lists(images, max_size=4).map(lambda found: region(*found))
files = st.lists(regions, max_size=4).map(lambda found: file(*found))
places = st.sampled_from(["7.5", "8.0", "8.7", "9.0", "10.0", "11.0", "12.0", "13.0"]).map(on)


@given(files, places)
def test_findings_are_sentences_of_known_codes(seen, place) -> None:
    known = {code.code for code in CODES}
    for found in (*audit(seen), *served(seen, place)):
        assert found.code in known
        assert found.file == seen.path
        assert found.message.endswith(".")
        assert "\n" not in found.message


@given(files, places)
def test_whatever_does_not_run_is_told(seen, place) -> None:
    covered = cover_file(seen, place)
    found = served(seen, place)
    unserved = [r for r in covered.regions if not r.verdict.runs]
    assert bool(unserved) <= bool(found)
    failing = [r for r in unserved if r.verdict.errors and not r.on_purpose]
    assert bool(failing) <= has_errors(found)
