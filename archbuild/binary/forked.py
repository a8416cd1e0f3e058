"""Share work with a child process that begins as a copy of this one.

Threads take turns where Python itself is at work; two processes do not. Yet to copy a
process is safe only where nothing else runs in it, and is not for a library to do in
somebody's program. So it is done only after :func:`own_process`, and on Linux, which
tells how many threads there are.

The work lies in a pipe from which both take one ticket after the other. The child
sends its answers when no ticket is left. Whatever becomes of it, what it does not
answer for is simply missing: the parent does that itself, and meets the same errors.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Thing = TypeVar("Thing")
    Answer = TypeVar("Answer")

_THREADS = "/proc/self/task"
# A ticket is two bytes, and all of them fit into the smallest pipe there is.
_TICKET = 2
_MOST_TICKETS = 2048
_LENGTH = 8
_CHUNK = 1 << 20

_OWNED: list[bool] = []


def own_process() -> None:
    """Let this process be copied from now on: it is the program's own, to its end."""
    _OWNED.append(True)


def may_fork() -> bool:
    """Whether this process may be copied, and there is a processor for the copy."""
    return bool(_OWNED) and sys.platform == "linux" and _threads() == 1 and _processors() > 1


def _threads() -> int:
    """Threads of this process, those that Python knows nothing of included."""
    try:
        return len(os.listdir(_THREADS))  # noqa: PTH208 - pathlib is slow to import
    except OSError:
        return 0


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def labour_beside_a_child(
    work: Callable[[Thing], Answer], things: Sequence[Thing], answers: dict[int, Answer]
) -> None:
    """Do things here and in a child, until all are done or one has failed.

    Args:
        work: What to do to each; its answers can be pickled.
        things: They are taken in order.
        answers: Where to put the answers. Those that fail, and those of a child that
            came to harm, stay missing.
    """
    tickets = _Tickets(len(things))
    try:
        with _child(lambda: _labour(work, things, tickets)) as results:
            answers.update(_labour(work, things, tickets))
            answers.update(_received(results))
    finally:
        tickets.close()


class _Tickets:
    """Numbers of things in a pipe, of which each is taken once, by one process."""

    def __init__(self, count: int) -> None:
        self._owner = os.getpid()
        self._each = max(1, -(-count // _MOST_TICKETS))
        self._out, end = os.pipe()
        numbers = range(0, count, self._each)
        os.write(end, b"".join(i.to_bytes(_TICKET, "little") for i in range(len(numbers))))
        os.close(end)
        self._count = count

    def __iter__(self) -> Iterator[int]:
        while self._are_wanted() and (ticket := os.read(self._out, _TICKET)):
            first = int.from_bytes(ticket, "little") * self._each
            yield from range(first, min(first + self._each, self._count))

    def _are_wanted(self) -> bool:
        """Whether the process that waits for the answers still lives."""
        return self._owner in (os.getpid(), os.getppid())

    def drop(self) -> None:
        """Leave none for anybody."""
        while os.read(self._out, _CHUNK):
            pass

    def close(self) -> None:
        os.close(self._out)


def _labour(
    work: Callable[[Thing], Answer], things: Sequence[Thing], tickets: _Tickets
) -> dict[int, Answer]:
    answers: dict[int, Answer] = {}
    try:
        for index in tickets:
            answers[index] = work(things[index])
    except Exception:
        tickets.drop()
    return answers


@contextmanager
def _child(work: Callable[[], object]) -> Iterator[int]:
    """A child that does some work; what comes out of the pipe is its answer.

    It is gone when this ends. Where the system has no room for it there is none.
    """
    out, end = os.pipe()
    child = 0
    try:
        with _deaf():
            with suppress(OSError):
                child = os.fork()
                if not child:
                    _be_child(work, out, end)
            os.close(end)
        yield out
    except BaseException:
        _end(child)
        raise
    finally:
        os.close(out)
        _wait(child)


def _be_child(work: Callable[[], object], out: int, end: int) -> None:
    """Work, send the answer, and leave without a word whatever happens.

    It stays deaf to Ctrl-C, which its parent hears too, and ends it.
    """
    try:
        os.close(out)
        _send(end, work())
    finally:
        os._exit(0)


@contextmanager
def _deaf() -> Iterator[None]:
    """Ctrl-C waits: none must come between a child and those who know of it."""
    import signal  # noqa: PLC0415 - slow to import

    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(child: int) -> None:
    import signal  # noqa: PLC0415 - slow to import

    with suppress(ProcessLookupError):
        if child:
            os.kill(child, signal.SIGKILL)


def _wait(child: int) -> None:
    # There is nobody to wait for where the system itself was told to forget children.
    with suppress(ChildProcessError):
        if child:
            os.waitpid(child, 0)


def _send(end: int, answer: object) -> None:
    import pickle  # noqa: PLC0415 - slow to import; nobody else's data is read

    data = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    with open(end, "wb") as pipe:
        pipe.write(len(data).to_bytes(_LENGTH, "little") + data)


def _received(out: int) -> dict[int, Any]:
    """The child's answers; none where they did not all come."""
    import pickle  # noqa: PLC0415 - as above

    chunks = []
    while chunk := os.read(out, _CHUNK):
        chunks.append(chunk)
    data = b"".join(chunks)
    if len(data) <= _LENGTH or len(data) != _LENGTH + int.from_bytes(data[:_LENGTH], "little"):
        return {}
    answers: dict[int, Any] = pickle.loads(memoryview(data)[_LENGTH:])  # noqa: S301 - as above
    return answers
