"""CUDA_VISIBLE_DEVICES as CUDA reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.rules.diagnosis.visible_devices import Ending, parse_visible_devices

_UUIDS = ("GPU-a1b2", "GPU-a1c3", "GPU-d4e5", "MIG-77", "MIG-78")


@pytest.mark.parametrize(
    ("value", "chosen", "ending"),
    [
        ("0", (0,), Ending.WHOLE),
        ("2,1", (2, 1), Ending.WHOLE),
        (" 1 , 0 ", (1, 0), Ending.WHOLE),
        ("+1", (1,), Ending.WHOLE),
        ("00", (0,), Ending.WHOLE),
        ("1gpu2,2ampere", (1, 2), Ending.WHOLE),
        ("0,2,-1,1", (0, 2), Ending.CLOSED),
        ("0,3,1", (0,), Ending.NOT_THERE),
        ("0,,1", (0,), Ending.NOT_THERE),
        ("0,", (0,), Ending.NOT_THERE),
        ("-1", (), Ending.CLOSED),
        ("", (), Ending.EMPTY),
        ("  ", (), Ending.EMPTY),
        (",", (), Ending.NOT_THERE),
        ("NoDevFiles", (), Ending.NOT_THERE),
        ("cuda:0", (), Ending.NOT_THERE),
        ("all", (), Ending.NOT_THERE),
        ("1,1", (), Ending.REPEATED),
        ("0,1,00", (), Ending.REPEATED),
        ("99999999999999999999999", (), Ending.NOT_THERE),
        ("GPU-a1b2", ("GPU-a1b2",), Ending.WHOLE),
        ("GPU-d", ("GPU-d4e5",), Ending.WHOLE),
        ("GPU-d,GPU-a1b", ("GPU-d4e5", "GPU-a1b2"), Ending.WHOLE),
        ("GPU-a1", (), Ending.AMBIGUOUS),
        ("GPU-d,GPU-a1", ("GPU-d4e5",), Ending.AMBIGUOUS),
        ("GPU-", (), Ending.NOT_THERE),
        ("GPU-ff", (), Ending.NOT_THERE),
        ("gpu-d", (), Ending.NOT_THERE),
        ("d4e5", (), Ending.NOT_THERE),
        ("GPU-d,0", ("GPU-d4e5",), Ending.NOT_THERE),
        ("0,GPU-d", (0,), Ending.NOT_THERE),
        ("GPU-d,GPU-d4", (), Ending.REPEATED),
        ("MIG-78", ("MIG-78",), Ending.WHOLE),
        ("MIG-7", (), Ending.AMBIGUOUS),
        ("MIG-GPU-d4e5/1/0", (), Ending.NOT_THERE),
        ("٣", (), Ending.NOT_THERE),
    ],
)
def test_what_is_chosen(value: str, chosen: tuple[object, ...], ending: Ending) -> None:
    read = parse_visible_devices(value, _UUIDS)
    assert (read.chosen, read.ending) == (chosen, ending)
    assert read.hides_all == (not chosen)


def test_what_it_ends_at_is_told_as_it_was_written() -> None:
    read = parse_visible_devices("0, seven ,1", _UUIDS)
    assert (read.taken, read.entry) == (("0",), "seven")


def test_a_uuid_that_begins_another_one_is_itself() -> None:
    assert parse_visible_devices("GPU-1", ("GPU-1", "GPU-12")).chosen == ("GPU-1",)


def test_as_many_numbers_as_were_told() -> None:
    assert parse_visible_devices("3", (), count=4).chosen == (3,)
    assert parse_visible_devices("3", (), count=3).hides_all


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=5))
def test_any_text_is_read(value: str, uuids: list[str]) -> None:
    read = parse_visible_devices(value, uuids)
    assert len(read.taken) == len(read.chosen) == len(set(read.chosen))
    assert (read.ending is Ending.WHOLE) == (read.entry is None and bool(value.strip()))
    whole = [uuid for uuid in uuids if uuid.startswith("GPU-")]
    for chosen in read.chosen:
        assert chosen in uuids if isinstance(chosen, str) else chosen < len(whole)


@given(st.permutations(range(5)), st.integers(0, 5))
def test_numbers_that_are_there_are_all_taken(order: list[int], kept: int) -> None:
    wanted = order[:kept]
    read = parse_visible_devices(",".join(map(str, wanted)), (), count=5)
    assert list(read.chosen) == wanted


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8))
def test_what_comes_after_the_end_changes_nothing(numbers: list[int]) -> None:
    before = parse_visible_devices(",".join(map(str, numbers)), (), count=5)
    after = parse_visible_devices(",".join(map(str, numbers)) + ",x,0,1", (), count=5)
    assert after.chosen == before.chosen
