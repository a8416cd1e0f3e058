"""Plans run by the real ninja, with small programs in the place of compilers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from archbuild.build.engine import Running, build, only_build
from archbuild.build.ninja import find_ninja, run_ninja, write_ninja
from archbuild.errors import BuildError
from archbuild.model.build import BuildPlan, Cost, Edge, Resources, Scratch, Step
from archbuild.rules.building.schedule import Schedule

COPY = (
    "import sys, pathlib; pathlib.Path(sys.argv[2]).write_text("
    "''.join(pathlib.Path(p).read_text() for p in sys.argv[1].split('|')) + sys.argv[3])"
)


ONE = Schedule(1, None, 1, 1)


def python(code: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-S", "-c", code, *words)


def copies(inputs: str, output: str, more: str = "", **fields: object) -> Edge:
    """An edge that joins files and adds a text."""
    given = {
        "step": Step.COMPILE,
        "outputs": (output,),
        "inputs": tuple(inputs.split("|")),
        "commands": (python(COPY, inputs, output, more),),
        "label": output,
    }
    return Edge(**{**given, **fields})  # type: ignore[arg-type]


def plan_of(root: Path, *edges: Edge) -> BuildPlan:
    root.mkdir(exist_ok=True)
    return BuildPlan("x", str(root), str(root / "b"), edges, (edges[-1].outputs[0],))


def ran(plan: BuildPlan, jobs: int = 2, **fields: object) -> list[str]:
    """Which edges ran, all of them well."""
    done = build(plan, Running(Resources(jobs, 1 << 40), **fields))  # type: ignore[arg-type]
    assert not done.failed, done.failed
    return [run.label for run in done.runs]


def test_only_what_changed_runs_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "c").write_text("1")
    plan = plan_of(tmp_path, copies("a", "a2"), copies("c", "c2"), copies("a2|c2", "all"))
    assert sorted(ran(plan)) == ["a2", "all", "c2"]
    assert ran(plan) == []
    (tmp_path / "c").write_text("2")
    assert ran(plan) == ["c2", "all"]
    assert (tmp_path / "all").read_text() == "12"


def test_an_output_that_came_out_the_same_stops_the_wave(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    plan = plan_of(tmp_path, copies("a", "a2"), copies("a2", "all"))
    ran(plan)
    os.utime(tmp_path / "a", (time.time() + 5,) * 2)
    assert ran(plan) == ["a2"]


def test_another_command_runs_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    ran(plan_of(tmp_path, copies("a", "all", "-O2")))
    assert ran(plan_of(tmp_path, copies("a", "all", "-O3"))) == ["all"]
    assert (tmp_path / "all").read_text() == "1-O3"


SWELL = (
    "import sys, pathlib; p = pathlib.Path(sys.argv[1]);"
    "pathlib.Path(sys.argv[2]).write_text(p.read_text() * 1000)"
)


def swollen(root: Path, flag: str = "", extra: str = "") -> BuildPlan:
    """A large file between two edges, emptied after use; ``extra`` changes only how it is made."""
    make = python(SWELL, "a", "big", *filter(None, [extra]))
    first = Edge(Step.PREPROCESS, ("big",), ("a",), (make,), "big", emptied=("big",))
    last = copies("big", "all", flag, scratch=(Scratch("big", (make,), ("big",)),))
    return plan_of(root, first, last)


def test_a_large_file_is_emptied_and_nothing_runs_for_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert ran(swollen(tmp_path)) == ["big", "all"]
    assert (tmp_path / "big").stat().st_size == 0
    assert ran(swollen(tmp_path)) == []


def test_an_emptied_file_is_made_again_where_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    ran(swollen(tmp_path))
    assert ran(swollen(tmp_path, flag="-O3")) == ["all"]
    assert (tmp_path / "all").read_text() == "x" * 1000 + "-O3"
    assert (tmp_path / "big").stat().st_size == 0
    assert ran(swollen(tmp_path, flag="-O3")) == []


def test_an_emptied_file_that_would_be_the_same_is_not_used_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    ran(swollen(tmp_path))
    assert ran(swollen(tmp_path, extra="-Dother")) == ["big"]
    (tmp_path / "a").write_text("y")
    assert ran(swollen(tmp_path, extra="-Dother")) == ["big", "all"]
    assert (tmp_path / "all").read_text() == "y" * 1000


def test_useless_files_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    ran(plan_of(tmp_path, copies("a", "all", useless=("a-useless",))))
    (tmp_path / "left").write_text("")
    assert ran(plan_of(tmp_path, copies("a", "all", "x", useless=("left",)))) == ["all"]
    assert not (tmp_path / "left").exists()


FAIL = "import sys; print('it is wrong'); sys.exit(3)"


def test_a_failure_tells_its_status_and_words_and_leaves_no_output(tmp_path: Path) -> None:
    code = "import sys, pathlib; pathlib.Path('out').write_text('half'); " + FAIL
    bad = Edge(Step.DEVICE, ("out",), (), (python(code),), "k.cu compute_90", source="k.cu")
    done = build(plan_of(tmp_path, bad), Running(Resources(1, 1 << 40)))
    (run,) = done.failed
    assert (run.status, run.output, run.label) == (3, "it is wrong\n", "k.cu compute_90")
    assert not (tmp_path / "out").exists()


def test_the_second_command_does_not_run_after_a_failure(tmp_path: Path) -> None:
    commands = (python(FAIL), python("open('second', 'w')"))
    done = build(
        plan_of(tmp_path, Edge(Step.HOST, ("out",), (), commands, "x")),
        Running(Resources(1, 1 << 40)),
    )
    assert done.failed
    assert not (tmp_path / "second").exists()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    edge = Edge(Step.HOST, ("out",), (), (("/nowhere/g++",),), "x")
    (run,) = build(plan_of(tmp_path, edge), Running(Resources(1, 1 << 40))).failed
    assert run.status == 127
    assert "/nowhere/g++: No such file" in run.output


def test_a_missing_source_is_ninjas_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"'gone'.*missing"):
        build(plan_of(tmp_path, copies("gone", "all")), Running(Resources(1, 1 << 40)))


KILLED_ONCE = (
    "import os, pathlib, signal; p = pathlib.Path('tried')\n"
    "if not p.exists(): p.touch(); os.kill(os.getpid(), signal.SIGKILL)\n"
    "pathlib.Path('out').write_text('well')"
)


def test_a_pass_that_was_killed_is_tried_once_more_alone(tmp_path: Path) -> None:
    killed = Edge(Step.DEVICE, ("out",), (), (python(KILLED_ONCE),), "k.cu")
    done = build(plan_of(tmp_path, killed), Running(Resources(2, 1 << 40)))
    (run,) = done.runs
    assert (run.status, run.retried) == (0, True)
    assert (tmp_path / "out").read_text() == "well"


def test_alone_means_that_nothing_else_runs(tmp_path: Path) -> None:
    """Others sleep beside it; the second try begins when all that had begun have ended."""
    sleep = "import time; open('b{0}', 'w'); time.sleep(0.3); open('e{0}', 'w')"
    sleeps = [
        Edge(Step.COMPILE, (f"e{i}",), (), (python(sleep.format(i)),), f"e{i}") for i in range(4)
    ]
    code = (
        "import os, pathlib, signal, time; here = pathlib.Path()\n"
        "if not os.path.exists('tried'):\n"
        "    pathlib.Path('tried').touch(); end = time.monotonic() + 30\n"
        "    while not list(here.glob('b?')) and time.monotonic() < end: time.sleep(0.01)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "pathlib.Path('out').write_text(' '.join(sorted(x.name for x in here.glob('[be]?'))))"
    )
    killed = Edge(Step.DEVICE, ("out",), (), (python(code),), "killed")
    done = build(plan_of(tmp_path, *sleeps, killed), Running(Resources(8, 1 << 40)))
    assert not done.failed
    seen = (tmp_path / "out").read_text().split()
    begun, ended = ({name[1] for name in seen if name[0] == kind} for kind in "be")
    assert begun == ended != set()


def test_a_pass_that_is_killed_twice_tells_the_signal(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    edge = Edge(Step.DEVICE, ("out",), (), (python(code),), "k.cu")
    (run,) = build(plan_of(tmp_path, edge), Running(Resources(1, 1 << 40))).failed
    assert (run.status, run.retried) == (-signal.SIGKILL, True)


def test_a_driver_that_says_its_compiler_was_killed_is_tried_again(tmp_path: Path) -> None:
    said = "g++: fatal error: Killed signal terminated program cc1plus"
    code = f"import sys; sys.exit({said!r})"
    edge = Edge(Step.HOST, ("out",), (), (python(code),), "k.cu")
    (run,) = build(plan_of(tmp_path, edge), Running(Resources(1, 1 << 40))).failed
    assert (run.status, run.retried) == (1, True)


@pytest.mark.parametrize(
    "name",
    ["with blank", "größe", "it's", 'a"b', "a$b", "a:b", "#a", "^a", "b&c;d", "-a", "a=b", "a,b"],
)
def test_odd_names_are_names(tmp_path: Path, name: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / name).write_text("1")
    (tmp_path / "empty").write_text("")
    command = python(COPY, "empty", f"out/{name}.o", name)
    edge = Edge(Step.COMPILE, (f"out/{name}.o",), (f"src/{name}",), (command,), name)
    assert ran(plan_of(tmp_path, edge)) == [name]
    assert (tmp_path / "out" / f"{name}.o").read_text() == name
    assert ran(plan_of(tmp_path, edge)) == []


@pytest.mark.parametrize(("name", "said"), [("a\nb", "a line break"), ("a|b", "a bar")])
def test_a_name_that_ninja_cannot_write_is_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(BuildError, match=said):
        write_ninja([copies("a", name)], tmp_path / "b", tmp_path, ONE)


def test_the_file_is_not_written_again_where_nothing_changed(tmp_path: Path) -> None:
    file = write_ninja([copies("a", "b")], tmp_path / "b", tmp_path, ONE)
    before = file.stat().st_mtime_ns
    assert (
        write_ninja([copies("a", "b")], tmp_path / "b", tmp_path, ONE).stat().st_mtime_ns == before
    )


def test_heavy_edges_wait_for_each_other(tmp_path: Path) -> None:
    code = "import time; time.sleep(0.2); open('{}', 'w')"
    edges = [
        Edge(
            Step.DEVICE, (f"h{i}",), (), (python(code.format(f"h{i}")),), f"h{i}", cost=Cost(1, 100)
        )
        for i in range(3)
    ]
    done = build(plan_of(tmp_path, *edges), Running(Resources(8, 150)))
    spans = sorted((run.start, run.start + run.seconds) for run in done.runs)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_progress_is_told_for_each_edge(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    told: list[tuple[int, int, str]] = []
    plan = plan_of(tmp_path, copies("a", "one"), copies("one", "two"))
    ran(plan, on_progress=lambda *words: told.append(words))
    assert told == [(1, 2, "one"), (2, 2, "two")]


def test_a_record_holds_what_a_person_wants_to_know(tmp_path: Path) -> None:
    code = "x = bytearray(60 << 20); import time; time.sleep(0.1); open('out', 'w')"
    edge = Edge(Step.DEVICE, ("out",), (), (python(code),), "k.cu", source="k.cu")
    (run,) = build(plan_of(tmp_path, edge), Running(Resources(1, 1 << 40))).runs
    assert run.memory > 60 << 20
    assert run.seconds >= 0.1
    assert run.source == "k.cu"


def command_lines() -> list[str]:
    """Those of all processes, where the system shows them as files."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_text(errors="replace"))
        except OSError:
            continue
    return lines


def test_ctrl_c_ends_the_children_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    """A build in a process group of its own, which gets the signal as a terminal would send it."""
    code = "import time, pathlib; pathlib.Path('out').write_text('half'); time.sleep(60)"
    edge = Edge(Step.DEVICE, ("out",), (), (python(code),), "k.cu")
    file = write_ninja([edge], tmp_path / "b", tmp_path, ONE)
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from archbuild.build.ninja import run_ninja\n"
        # A shell that runs tests in the background has the signal ignored, and so would we.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"run_ninja(Path({str(file)!r}), Path({str(tmp_path)!r}), jobs=1, environ=os.environ,"
        " on_progress=lambda *_: None)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], start_new_session=True, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 20
        while not (tmp_path / "out").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(child.pid, signal.SIGINT)
        assert child.wait(20) != 0
    finally:
        child.kill()
    time.sleep(0.1)
    assert not (tmp_path / "out").exists()
    assert not [line for line in command_lines() if str(tmp_path) in line]


def test_a_second_build_of_a_folder_waits_and_says_so(tmp_path: Path) -> None:
    told: list[str] = []
    code = (
        "import sys, time; from pathlib import Path\n"
        "from archbuild.build.engine import only_build\n"
        f"with only_build(Path({str(tmp_path)!r}), print):\n"
        " print('mine', flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "mine\n"

        def wait(sentence: str) -> None:
            told.append(sentence)
            assert other.stdin is not None
            other.stdin.write("\n")
            other.stdin.close()

        with only_build(tmp_path, wait):
            assert other.wait(10) == 0
    assert told[0].startswith("another build is at work in")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(BuildError, match="cannot be written"),
        only_build(tmp_path / "file" / "b", print),
    ):
        pass


def test_no_ninja_is_told_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ninja", None)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BuildError, match="pip install ninja"):
        find_ninja()


def test_what_ninja_says_besides_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "build.ninja"
    file.write_text("nonsense\n")
    status, said = run_ninja(file, tmp_path, jobs=1, environ=os.environ, on_progress=print)
    assert status != 0
    assert "build.ninja:1" in said


def test_records_of_another_build_are_not_this_ones(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    plan = plan_of(tmp_path, copies("a", "all"))
    ran(plan)
    records = list((tmp_path / "b" / "records").glob("*.json"))
    assert len(records) == 1
    json.loads(records[0].read_text())
    (tmp_path / "b" / "records" / "broken.json").write_text("{")
    assert ran(plan) == []


def test_what_a_killed_build_made_is_made_again(tmp_path: Path) -> None:
    """Also where the flags are those of an older build, whose note of it ninja would believe."""
    (tmp_path / "a").write_text("1")
    ran(plan_of(tmp_path, copies("a", "all", "-O2")))
    (mark,) = (tmp_path / "b" / "records").glob("*.json")
    (tmp_path / "all").write_text("of other flags, by a build that was killed")
    mark.with_name(f"{mark.name}.begun").write_text('["all"]')
    assert ran(plan_of(tmp_path, copies("a", "all", "-O2"))) == ["all"]
    assert (tmp_path / "all").read_text() == "1-O2"
    assert not list((tmp_path / "b" / "records").glob("*.begun"))
