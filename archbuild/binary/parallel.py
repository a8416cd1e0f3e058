"""Do the same to many things on two processors, and give the answers in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from archbuild.binary.forked import labour_beside_a_child, may_fork

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")

# Inflating lets go of Python's lock, the rest doesn't: a third thread would only wait.
_THREADS = 2
# Fewer things than this are done sooner than a thread is started, or a process.
_WORTH_IT = 16


def in_order(work: Callable[[Thing], Answer], things: Sequence[Thing]) -> list[Answer]:
    """What ``work`` makes of each thing.

    Args:
        work: Must be safe to call from several threads at once, and again for a thing
            that it failed for. Its answers can be pickled.
        things: Taken in order.

    Raises:
        Exception: Whatever ``work`` raised for the first thing that it failed for.
    """
    answers: dict[int, Answer] = {}
    if len(things) >= _WORTH_IT:
        if may_fork():
            labour_beside_a_child(work, things, answers)
        else:
            _Crew(work, things, answers).labour()
    # What is missing is what failed, or was to be done by a child that is no more.
    missing = (index for index in range(len(things)) if index not in answers)
    answers.update((index, work(things[index])) for index in missing)
    return [answers[index] for index in range(len(things))]


class _Crew(Generic[Thing, Answer]):
    """Threads that take the next thing when they are done with the last."""

    def __init__(
        self, work: Callable[[Thing], Answer], things: Sequence[Thing], answers: dict[int, Answer]
    ) -> None:
        self._work, self._things, self._answers = work, things, answers
        self._lock = threading.Lock()
        self._taken = 0

    def labour(self) -> None:
        """Do all, or all up to what fails."""
        helpers = [threading.Thread(target=self._help) for _ in range(_THREADS - 1)]
        for helper in helpers:
            helper.start()
        try:
            self._help()
        finally:
            # Also where the person has pressed Ctrl-C: nobody takes one more.
            self._stop()
            for helper in helpers:
                helper.join()

    def _help(self) -> None:
        while (index := self._take()) < len(self._things):
            try:
                self._answers[index] = self._work(self._things[index])
            except Exception:
                self._stop()

    def _take(self) -> int:
        with self._lock:
            index = self._taken
            self._taken += 1
            return index

    def _stop(self) -> None:
        with self._lock:
            self._taken = len(self._things)
