"""Do the same to many things on two processors, and give the answers in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")

# Inflating lets go of Python's lock, the rest doesn't: a third thread would only wait.
_THREADS = 2
# Fewer things than this are done sooner than a thread is started.
_WORTH_IT = 16


def in_order(work: Callable[[Thing], Answer], things: Sequence[Thing]) -> list[Answer]:
    """What ``work`` makes of each thing.

    Args:
        work: Must be safe to call from several threads at once.
        things: Taken in order.

    Raises:
        Exception: Whatever ``work`` raised for the first thing that it failed for.
    """
    if len(things) < _WORTH_IT:
        return [work(thing) for thing in things]
    return _Crew(work, things).answers()


class _Crew(Generic[Thing, Answer]):
    """Threads that take the next thing when they are done with the last."""

    def __init__(self, work: Callable[[Thing], Answer], things: Sequence[Thing]) -> None:
        self._work, self._things = work, things
        self._lock = threading.Lock()
        self._taken = 0
        self._answers: dict[int, Answer] = {}
        self._failures: dict[int, Exception] = {}

    def answers(self) -> list[Answer]:
        helpers = [threading.Thread(target=self._labour) for _ in range(_THREADS - 1)]
        for helper in helpers:
            helper.start()
        try:
            self._labour()
        finally:
            # Also where the person has pressed Ctrl-C: nobody takes one more.
            self._taken = len(self._things)
            for helper in helpers:
                helper.join()
        if self._failures:
            raise self._failures[min(self._failures)]
        return [self._answers[index] for index in range(len(self._things))]

    def _labour(self) -> None:
        while (index := self._take()) < len(self._things):
            try:
                self._answers[index] = self._work(self._things[index])
            except Exception as failure:
                self._failures[index] = failure
                return

    def _take(self) -> int:
        with self._lock:
            index = len(self._things) if self._failures else self._taken
            self._taken += 1
            return index
