"""One arch list for several machines, and what it does on each with its own driver."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from archbuild.model.config import Config
from archbuild.model.machine import Machine
from archbuild.model.version import CudaVersion
from archbuild.report.fleet import outlook_cell, render_outlooks
from archbuild.rules.covering.places import Member
from archbuild.rules.selecting.fleet import foresee
from archbuild.services.select import Selected, select_archs
from tests.doctors import GTX_1080, RTX_5090, bare, card, desk, gpu
from tests.machines import machine

RTX_3090 = gpu("NVIDIA GeForce RTX 3090", "8.6")
H100 = gpu("NVIDIA H100", "9.0")
LAB = (
    Member("alpha", desk(RTX_3090, gpu(RTX_3090.name, "8.6", 1), driver="550.54.14")),
    Member("beta", desk(RTX_5090, GTX_1080, driver="570.124.06")),
    Member("gamma", desk(H100, driver="535.183.01")),
)


def choose(
    members: Sequence[Member], arch: str | None = None, cuda: str = "12.8", **more: object
) -> Selected:
    builder: Machine = machine(None, "7.5", **more)  # type: ignore[arg-type]
    return select_archs(arch, machine=builder, cuda=CudaVersion.parse(cuda), machines=members)


def words(selected: Selected) -> list[tuple[str, str, str]]:
    return [(o.place.machine, o.place.gpu, str(outlook_cell(o))) for o in selected.outlooks]


def test_one_list_serves_all_and_the_builders_gpu_does_not_count() -> None:
    selected = choose(LAB)
    assert [str(t) for t in selected.selection.targets] == [
        "sm_61",
        "sm_86",
        "sm_90",
        "sm_120",
        "compute_120",
    ]
    assert selected.selection.source == "the GPUs of 3 machines"
    assert {word for _, _, word in words(selected)} == {"native"}
    assert selected.selection.warnings == ()


def test_the_reason_names_the_machines() -> None:
    both = (*LAB, Member("delta", desk(RTX_3090)))
    reasons = {str(c.gencode.target): c.reason for c in choose(both).selection.choices}
    assert reasons["sm_86"] == "NVIDIA GeForce RTX 3090 (8.6) is in alpha, delta"


def test_drivers_decide_machine_by_machine() -> None:
    """CUDA 13 has no Pascal, and its code wants driver 580 of everybody."""
    new = Member("delta", desk(RTX_5090, driver="580.65.06"))
    selected = choose((*LAB, new), cuda="13.0")
    assert words(selected) == [
        ("alpha", RTX_3090.name, "none"),
        ("beta", RTX_5090.name, "none"),
        ("beta", GTX_1080.name, "none"),
        ("gamma", H100.name, "none"),
        ("delta", RTX_5090.name, "native"),
    ]
    said = "\n".join(selected.selection.warnings)
    assert "alpha: NVIDIA GeForce RTX 3090: This sm_86 is too new for driver 550.54.14" in said
    assert "delta" not in said


def test_an_older_toolkit_that_would_do_is_named() -> None:
    new = Member("delta", desk(RTX_5090, driver="580.65.06"))
    warnings = choose((*LAB, new), cuda="13.0").selection.warnings
    assert warnings[-1].endswith("runs on every GPU that has a driver: --cuda 12.9.")
    assert choose((*LAB, new), cuda="12.9").selection.warnings == ()
    typed = choose((*LAB, new), "8.0;9.0+PTX", cuda="13.0").selection.warnings
    assert not any("runs on every GPU" in warning for warning in typed)


def test_no_toolkit_is_named_where_none_would_do() -> None:
    """Kepler left with CUDA 12, and Blackwell came with 12.8."""
    members = (
        Member("old", desk(gpu("Tesla K40c", "3.5"), driver="550.54.14")),
        Member("new", desk(RTX_5090, driver="580.65.06")),
    )
    warnings = choose(members, cuda="13.0").selection.warnings
    assert warnings
    assert not any("runs on every GPU" in warning for warning in warnings)


def test_ptx_of_a_newer_cuda_is_jit_for_nobody_with_an_older_driver() -> None:
    members = (
        Member("old", desk(RTX_5090, driver="570.124.06")),
        Member("new", desk(RTX_5090, driver="580.65.06")),
    )
    assert [word for _, _, word in words(choose(members, "8.0+PTX", cuda="12.9"))] == [
        "none",
        "JIT >=575",
    ]


def test_a_typed_list_is_held_against_every_machine() -> None:
    selected = choose(LAB, "8.0;9.0+PTX")
    assert selected.selection.source == "--arch"
    assert [word for *_, word in words(selected)] == ["native", "JIT >=570", "none", "native"]
    assert "No image fits 6.1" in selected.selection.warnings[-1]


def test_native_means_the_fleet() -> None:
    assert choose(LAB, " Native ").selection.targets == choose(LAB).selection.targets


def test_records_win_over_variables_aloud() -> None:
    selected = choose(LAB[:1], TORCH_CUDA_ARCH_LIST="7.0")
    assert [str(t) for t in selected.selection.targets] == ["sm_86", "compute_86"]
    assert any("TORCH_CUDA_ARCH_LIST=7.0 is passed over" in n for n in selected.selection.notes)


def test_records_win_over_pyproject() -> None:
    selected = select_archs(
        config=Config(archs="7.0"),
        machine=machine(None),
        cuda=CudaVersion(12, 8),
        machines=LAB[:1],
    )
    assert str(selected.selection.targets[0]) == "sm_86"


def test_an_unknown_capability_is_told_and_left_out() -> None:
    members = (*LAB[:1], Member("odd", desk(gpu("NVIDIA Thing", None))))
    selected = choose(members)
    assert words(selected)[-1] == ("odd", "NVIDIA Thing", "?")
    assert any(
        w.startswith("odd: NVIDIA Thing: its capability") for w in selected.selection.warnings
    )


def test_a_card_without_a_driver_is_built_for_and_told() -> None:
    selected = choose((Member("bare", bare(card("RTX 4090", "8.9"))),))
    assert str(selected.selection.targets[0]) == "sm_89"
    assert selected.selection.warnings == (
        "bare: RTX 4090: there is no driver on record; nothing runs until there is one.",
    )


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_table(width: int) -> None:
    selected = choose((*LAB, Member("empty", desk())))
    text = render_outlooks(selected.outlooks, selected.members, width)
    assert max(map(len, text.splitlines())) <= width
    if width == 80:
        assert text.splitlines() == [
            "machine  GPU                 driver      runs    by",
            "alpha    2 x RTX 3090 (8.6)  550.54.14   native  sm_86",
            "beta     RTX 5090 (12.0)     570.124.06  native  sm_120",
            "beta     GTX 1080 (6.1)      570.124.06  native  sm_61",
            "gamma    H100 (9.0)          535.183.01  native  sm_90",
            "empty    no GPU on record                -",
        ]


def test_a_build_is_foreseen_for_other_machines_too() -> None:
    selected = choose(LAB[:1])
    (outlook,) = foresee(selection=selected.selection, members=[LAB[2]])
    assert str(outlook_cell(outlook)) == "none"
