"""Work shared with a child process: whatever becomes of the child, the answers are right.

Each test that copies a process does it in one of its own, which has no second thread.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from archbuild.binary import forked
from archbuild.binary.parallel import in_order
from archbuild.cli import main
from tests.fatbins import DATA, elf

ROOT = Path(__file__).parents[1]
linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")

_START = """
import os, signal, sys, time
from archbuild.binary import forked
from archbuild.binary.parallel import in_order
os.sched_getaffinity = lambda _: {0, 1}
forked.own_process()
assert forked.may_fork()
parent = os.getpid()
def is_child():
    return os.getpid() != parent
def no_child_left():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
"""


def alone(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run some lines in a process of their own, which may be copied."""
    command = [sys.executable, "-W", "error", "-c", _START + code, *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


def lines_of(code: str, *arguments: str) -> list[str]:
    done = alone(code, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@linux
@pytest.mark.parametrize("count", [16, 500, 5000])
def test_both_processes_work_and_the_answers_come_in_order(count: int) -> None:
    code = """
def work(n):
    time.sleep(0.05 if n < 2 else 0)
    return n * n, is_child()
count = int(sys.argv[1])
answers = in_order(work, range(count))
print([a for a, _ in answers] == [n * n for n in range(count)])
print(sorted({who for _, who in answers}))
print(no_child_left(), len(os.listdir("/proc/self/fd")))
"""
    before = lines_of('print(len(os.listdir("/proc/self/fd")))')
    assert lines_of(code, str(count)) == ["True", "[False, True]", f"True {before[0]}"]


@linux
@pytest.mark.parametrize(
    "harm",
    [
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os._exit(0)",
        "sys.exit('the child says nothing')",
        "raise KeyboardInterrupt",
        "raise MemoryError",
        "return lambda: 'cannot be pickled'",
    ],
)
def test_what_a_child_that_came_to_harm_did_not_answer_is_done_here(harm: str) -> None:
    code = f"""
def work(n):
    if not is_child():
        time.sleep(0.02 if n < 8 else 0)
    elif n > 3:
        {harm}
    return n
print(in_order(work, range(200)) == list(range(200)))
print(no_child_left())
"""
    assert lines_of(code) == ["True", "True"]


@linux
@pytest.mark.parametrize("told", ["True", "False"], ids=["in the child", "in the parent"])
def test_the_first_failure_is_told_and_the_rest_left_undone(told: str, tmp_path: Path) -> None:
    code = f"""
def work(n):
    if is_child() is not {told}:
        time.sleep(0.3)
    if n in (5, 9):
        raise ValueError(f"thing {{n}}")
    open(f"{{sys.argv[1]}}/{{n}}", "w").close()
    return n
try:
    in_order(work, range(3000))
except ValueError as error:
    print(error)
print(len(os.listdir(sys.argv[1])) < 30, no_child_left())
"""
    assert lines_of(code, str(tmp_path)) == ["thing 5", "True True"]


@linux
def test_after_ctrl_c_no_child_is_left() -> None:
    code = """
def work(n):
    if is_child():
        time.sleep(600)
    time.sleep(0.1)
    os.killpg(0, signal.SIGINT)
os.setpgid(0, 0)
# Ignored where a shell runs the tests in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    in_order(work, range(100))
except KeyboardInterrupt:
    print("interrupted", no_child_left())
"""
    assert lines_of(code) == ["interrupted True"]


@linux
def test_a_child_whose_parent_was_killed_soon_ends_too(tmp_path: Path) -> None:
    code = """
def work(n):
    if not is_child():
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    open(f"{sys.argv[1]}/{n}", "w").close()
    time.sleep(0.02)
in_order(work, range(1000))
"""
    # Both ends of the output are closed only when the child is gone as well.
    done = alone(code, str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (-9, "", "")
    assert len(list(tmp_path.iterdir())) < 200


@linux
def test_where_children_are_forgotten_by_the_system_the_work_is_done_too() -> None:
    code = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print(in_order(lambda n: -n, range(100)) == [-n for n in range(100)])
"""
    assert lines_of(code) == ["True"]


@linux
@pytest.mark.parametrize("count", [100, 5000])
def test_where_there_is_no_room_for_a_child_all_is_done_here(count: int, monkeypatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refuse)
    answers: dict[int, int] = {}
    forked.labour_beside_a_child(lambda n: n * n, range(count), answers)
    assert answers == {n: n * n for n in range(count)}


@pytest.fixture
def own(monkeypatch) -> None:
    """As if this process were the command line's, with two processors, and one thread."""
    monkeypatch.setattr(forked, "_OWNED", [True])
    monkeypatch.setattr(forked, "_threads", lambda: 1)
    monkeypatch.setattr(forked, "_processors", lambda: 2)


@linux
def test_only_what_is_owned_and_alone_is_copied(own: None, monkeypatch) -> None:
    assert forked.may_fork()
    for name, value in (("_OWNED", []), ("_threads", lambda: 2), ("_processors", lambda: 1)):
        with monkeypatch.context() as change:
            change.setattr(forked, name, value)
            assert not forked.may_fork()


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_on_other_systems_nothing_is_copied(own: None, system: str, monkeypatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert not forked.may_fork()


@linux
def test_threads_are_counted_and_none_can_be_where_they_cannot(monkeypatch) -> None:
    before, stop = forked._threads(), threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert forked._threads() == before + 1
    finally:
        stop.set()
        thread.join()
    monkeypatch.setattr(forked, "_THREADS", "/nowhere")
    assert forked._threads() == 0


@linux
def test_one_processor_is_seen(monkeypatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert forked._processors() == 1


@linux
def test_a_library_in_somebodys_program_copies_nothing(monkeypatch) -> None:
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("copied"))
    assert in_order(lambda n: n, range(100)) == list(range(100))


def test_the_program_owns_its_process_and_the_function_main_does_not(monkeypatch) -> None:
    codes = []
    monkeypatch.setattr(forked, "_OWNED", [])
    with pytest.raises(SystemExit):
        main.main(["--version"])
    assert forked._OWNED == []
    monkeypatch.setattr(main, "main", lambda: 7)
    monkeypatch.setattr(os, "_exit", codes.append)
    main.program()
    assert forked._OWNED
    assert codes == [7]


def library(folder: Path, damaged: tuple[int, ...] = ()) -> Path:
    """Forty fatbins, some of which have an image that cannot be inflated."""
    fatbin = (DATA / "suffixes.fatbin").read_bytes()
    magic = b"\x28\xb5\x2f\xfd"
    assert magic in fatbin
    broken = fatbin.replace(magic, b"\0\0\0\0")
    data = b"".join(broken if n in damaged else fatbin for n in range(40))
    path = folder / "library.so"
    path.write_bytes(elf([(".nv_fatbin", data)]))
    return path


_PROGRAM = """
from archbuild.cli.main import program
import archbuild.binary.inside as inside
forks, real, look = [], os.fork, inside._look_into
def fork():
    forks.append(1)
    return real()
def slow(source, share, depth, **more):
    time.sleep(0 if is_child() or not forks else 0.05)
    return look(source, share, depth, **more)
def leave(code):
    if not is_child():
        print("copied:", len(forks), "code:", code, file=sys.stderr, flush=True)
    end(code)
os.fork, inside._look_into, end, os._exit = fork, slow, os._exit, leave
count = int(sys.argv.pop(1))
os.sched_getaffinity = lambda _: set(range(count))
program()
"""


@linux
@pytest.mark.parametrize("damaged", [(), (7,), (30, 12, 39)])
@pytest.mark.parametrize("command", [["show", "--kernels"], ["show", "--kernels", "--json"]])
def test_two_processors_tell_what_one_tells(
    command: list[str], damaged: tuple[int, ...], tmp_path: Path
) -> None:
    path = library(tmp_path, damaged)
    one, two = (alone(_PROGRAM, count, *command, str(path)) for count in ("1", "2"))
    assert "copied: 0" in one.stderr
    assert "copied: 1" in two.stderr
    assert one.stdout == two.stdout
    assert one.stderr.partition("copied")[0] == two.stderr.partition("copied")[0]
    assert ("holds damaged zstd data" in two.stderr) is bool(damaged)
    assert f"code: {3 if damaged else 0}" in two.stderr
