"""Two readers of one file: the same images, others, and what one can't read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archbuild.model.finding import Severity
from archbuild.model.image import DeviceFile, FileFormat, ImageKind
from archbuild.rules.checking.agreement import Answer, check_readers, compare_readers
from tests.images import GOOD, codes, file, lto, one, real, region, virtual

IN_SECTION = replace(
    GOOD,
    format=FileFormat.ELF,
    regions=tuple(replace(r, section=".nv_fatbin") for r in GOOD.regions),
)


def visible(image):
    return image.kind in (ImageKind.SASS, ImageKind.PTX)


def test_two_readers_that_agree() -> None:
    other = DeviceFile("x.so", GOOD.regions[::-1], "cuobjdump 13.5")
    assert list(check_readers(GOOD, other, visible)) == []


def test_two_readers_that_disagree() -> None:
    other = DeviceFile("x.so", GOOD.regions[:1], "cuobjdump 13.5")
    finding = one(list(check_readers(GOOD, other, visible)), "V250")
    assert finding.evidence == (
        "1 more ptx compute_90 of ISA 8.0 by native",
        "1 more sass sm_80 by native",
        "1 more sass sm_90 by native",
    )
    assert finding.severity is Severity.ERROR


def test_a_lost_suffix_is_a_disagreement_and_a_blind_spot_is_none() -> None:
    mine = file(region(real("100f", "k"), lto()))
    other = DeviceFile("x.so", (region(real("100", "k")),), "cuobjdump 13.5")
    assert codes(check_readers(mine, other, visible)) == ["V250"]
    assert list(check_readers(mine, other, lambda image: False)) == []


def test_another_isa_is_a_disagreement() -> None:
    mine, other = (file(region(virtual("90", "k", isa=isa))) for isa in ((8, 0), (8, 7)))
    assert codes(check_readers(mine, replace(other, reader="cuobjdump"))) == ["V250"]


def test_what_both_see_is_counted() -> None:
    both = Answer(GOOD, replace(GOOD, reader="cuobjdump 13.5"))
    nothing = Answer(file(path="host.so"), file(path="host.so"))
    agreement = compare_readers([both, nothing], "cuobjdump 13.5")
    assert (agreement.findings, agreement.agreed, agreement.images) == ((), 1, 6)


@pytest.mark.parametrize("answer", [Answer(GOOD, None, "It is a Windows binary."), Answer(GOOD)])
def test_what_cuobjdump_cannot_read_is_no_disagreement(answer) -> None:
    agreement = compare_readers([answer], "cuobjdump 13.5")
    assert (agreement.findings, agreement.agreed) == ((), 0)
    assert agreement.unread == (answer.reason or "cuobjdump 13.5 does not read x.so.",)


def test_silence_about_a_section_of_its_own_is_a_disagreement() -> None:
    blind = Answer(IN_SECTION, None, "It holds a fatbin elsewhere.", is_blind=True)
    finding = one(compare_readers([blind], "cuobjdump 13.5").findings, "V250")
    assert finding.evidence[0] == "2 more ptx compute_90 of ISA 8.0 by native"
    elsewhere = replace(blind, one=replace(IN_SECTION, regions=GOOD.regions))
    assert compare_readers([elsewhere], "cuobjdump 13.5").findings == ()


# A fatbin beside those of the section: the file's own code, and code that it carries as data.
CARRIED = replace(
    IN_SECTION,
    regions=(*IN_SECTION.regions, replace(region(real("75", "k"), lto()), section=".rodata")),
)
OWN = replace(IN_SECTION, reader="cuobjdump 13.5")


def test_code_elsewhere_is_told_as_unread_and_the_rest_is_compared() -> None:
    agreement = compare_readers([Answer(CARRIED, OWN)], "cuobjdump 13.5")
    assert (agreement.findings, agreement.agreed, agreement.images) == ((), 1, 6)
    assert agreement.unread == ()
    assert agreement.partly == (
        "cuobjdump 13.5 looks only into .nv_fatbin and __nv_relfatbin of x.so:"
        " 2 of its 8 images lie elsewhere (.rodata).",
    )


def test_a_cuobjdump_that_sees_what_lies_elsewhere_agrees_on_all_of_it() -> None:
    agreement = compare_readers([Answer(CARRIED, replace(CARRIED, reader="c"))], "c")
    assert (agreement.findings, agreement.images, agreement.partly) == ((), 8, ())


@pytest.mark.parametrize(
    ("two", "evidence"),
    [
        pytest.param(
            replace(OWN, regions=OWN.regions[:1]),
            "1 more sass sm_80 by native",
            id="less than the sections hold",
        ),
        pytest.param(
            replace(OWN, regions=(*OWN.regions, region(real("75", "k")))),
            "1 more sass sm_75 by cuobjdump 13.5",
            id="a part of what lies elsewhere",
        ),
        pytest.param(
            replace(OWN, regions=(*OWN.regions[1:], *CARRIED.regions[-1:])),
            "1 more ltoir lto_90 by cuobjdump 13.5",
            id="what lies elsewhere instead",
        ),
    ],
)
def test_code_elsewhere_makes_up_for_nothing(two: DeviceFile, evidence: str) -> None:
    agreement = compare_readers([Answer(CARRIED, two)], "cuobjdump 13.5")
    assert evidence in one(agreement.findings, "V250").evidence
    assert agreement.agreed == 0


@pytest.mark.parametrize("form", [None, FileFormat.FATBIN, FileFormat.PE])
def test_of_other_files_all_is_compared(form: FileFormat | None) -> None:
    mine = replace(CARRIED, format=form)
    assert codes(check_readers(mine, OWN)) == ["V250"]


def test_a_file_with_code_elsewhere_alone_is_unread() -> None:
    mine = replace(CARRIED, regions=CARRIED.regions[-1:])
    agreement = compare_readers([Answer(mine, DeviceFile("x.so", (), "c"))], "c")
    assert (agreement.findings, agreement.agreed, agreement.partly) == ((), 0, ())
    assert agreement.unread[0].endswith("2 of its 2 images lie elsewhere (.rodata).")


def test_code_that_only_cuobjdump_sees_is_a_disagreement() -> None:
    answer = Answer(file(), replace(GOOD, reader="cuobjdump 13.5"))
    assert codes(compare_readers([answer], "cuobjdump 13.5").findings) == ["V250"]
