"""The same work on many things: answers in order, the first failure told."""

from __future__ import annotations

import threading

import pytest

from archbuild.binary.parallel import in_order


@pytest.mark.parametrize("count", [0, 1, 15, 16, 500])
def test_answers_come_in_order(count: int) -> None:
    assert in_order(lambda n: n * n, range(count)) == [n * n for n in range(count)]


@pytest.mark.parametrize("count", [10, 300])
def test_the_first_failure_is_told_and_the_rest_left_undone(count: int) -> None:
    done = []

    def work(n: int) -> int:
        if n in (5, 9):
            raise ValueError(f"thing {n}")
        done.append(n)
        return n

    with pytest.raises(ValueError, match="thing 5"):
        in_order(work, range(count))
    assert len(done) < 30


def test_many_things_are_shared_between_threads_that_end() -> None:
    both = threading.Barrier(2, timeout=60)
    seen = set()

    def work(n: int) -> None:
        if n < 2:
            both.wait()
        seen.add(threading.get_ident())

    in_order(work, range(20))
    assert len(seen) == 2
    assert threading.active_count() == 1
