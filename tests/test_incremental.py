"""What runs again when something has changed, and nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from archbuild.build import engine
from archbuild.build.engine import Running, build
from archbuild.build.huge_pages import must_ask
from archbuild.build.linking import link_key, read_by_linker
from archbuild.model.build import Edge, Resources, Step
from tests.projects import KERNEL, Light, Project, clean_environment
from tests.test_ninja import copies, plan_of, ran
from tests.test_plan import FLAGS, request, script

BASE = "8.6;9.0"
_STEP = re.compile(r"^\[\d+/\d+\] (.*)$", re.MULTILINE)


# --- pure ---------------------------------------------------------------------------------


def changed(**changes: object) -> set[Step]:
    """The steps that are run again when the request changes so."""
    plans = [
        engine.plan_build(request(**some), {FLAGS: script()})
        for some in ({"torch": "2.14.1+cu130", "tool_stamps": "a"}, changes)
    ]
    pairs = zip(plans[0].edges, plans[1].edges, strict=True)
    return {one.step for one, other in pairs if one != other}


def test_another_torch_runs_what_reads_headers() -> None:
    """What comes after runs only where the preprocessed text has changed."""
    found = changed(torch="2.15.0+cu130", tool_stamps="a")
    assert found == {Step.PREPROCESS, Step.COMPILE}


def test_other_tools_run_everything() -> None:
    every = {edge.step for edge in engine.plan_build(request(), {FLAGS: script()}).edges}
    assert changed(torch="2.14.1+cu130", tool_stamps="b") == every
    assert changed(torch="2.14.1+cu130", tool_stamps="a") == set()


@pytest.mark.parametrize("age", [-1000, 1000], ids=["older", "newer"])
def test_a_tool_that_was_exchanged_is_noticed_whatever_its_time(tmp_path: Path, age: int) -> None:
    """Packages of conda and Debian bring files with the times at which they were made."""
    tool, source = tmp_path / "g++", tmp_path / "a"
    tool.write_text("one")
    source.write_text("1")
    folder = str(tmp_path / "b")
    wanted = request(root=str(tmp_path), folder=folder, units=(), tools=(str(tool),))

    def stamps() -> str:
        seen: list[str] = []
        before = engine.plan_build

        def look(asked, *rest):  # type: ignore[no-untyped-def]
            seen.append(asked.tool_stamps)
            return before(asked, *rest)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "plan_build", look)
            engine.plan(wanted, os.environ, lambda *_: None)  # type: ignore[arg-type,return-value]
        return seen[0]

    first = stamps()
    assert stamps() == first
    tool.write_text("two")
    os.utime(tool, (time.time() + age,) * 2)
    assert stamps() != first


def test_an_edge_made_with_something_else_runs_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    assert ran(plan_of(tmp_path, copies("a", "all", made_with="one"))) == ["all"]
    assert ran(plan_of(tmp_path, copies("a", "all", made_with="one"))) == []
    assert ran(plan_of(tmp_path, copies("a", "all", made_with="two"))) == ["all"]


def test_a_link_reads_more_than_objects(tmp_path: Path) -> None:
    """A static library of the project, and a script for the linker: not by their names alone."""
    for name in ("libown.a", "names.map", "more.o"):
        (tmp_path / name).write_text("1")
    words = [f"-Wl,--version-script={tmp_path}/names.map", f"{tmp_path}/more.o", "-Wl,-z,now"]
    read = list(read_by_linker(["own", "elsewhere"], ["/nowhere", str(tmp_path)], words))
    assert [Path(path).name for path in read] == ["libown.a", "names.map", "more.o"]
    before = link_key(["x"], read)
    assert link_key(["x"], read) == before
    (tmp_path / "libown.a").write_text("22")
    assert link_key(["x"], read) != before


def test_starting_over_leaves_nothing_but_the_lock(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    plan = plan_of(tmp_path, copies("a", "b/obj/all"))
    ran(plan)
    engine.start_over(Path(plan.folder), print)
    assert [path.name for path in Path(plan.folder).iterdir()] == ["lock"]
    assert ran(plan) == ["b/obj/all"]
    engine.start_over(tmp_path / "never", print)
    assert not (tmp_path / "never").exists()


def test_what_a_killed_build_left_half_is_made_again(tmp_path: Path) -> None:
    """ninja's log has no word of it, so that its time counts for nothing."""
    (tmp_path / "a").write_text("1")
    slow = Edge(
        Step.DEVICE,
        ("out",),
        ("a",),
        (
            (
                sys.executable,
                "-S",
                "-c",
                "import os, pathlib, time\n"
                "if not os.path.exists('tried'):\n"
                "    pathlib.Path('tried').touch(); pathlib.Path('out').write_text('half')\n"
                "    time.sleep(60)\n"
                "pathlib.Path('out').write_text('whole')",
            ),
        ),
        "slow",
    )
    plan = plan_of(tmp_path, slow)
    code = (
        "import pickle, sys; from archbuild.build.engine import Running, build\n"
        "from archbuild.model.build import Resources\n"
        "build(pickle.load(sys.stdin.buffer), Running(Resources(1, 1 << 40)))"
    )
    import pickle
    import signal

    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as child:
        assert child.stdin is not None
        child.stdin.write(pickle.dumps(plan))
        child.stdin.close()
        deadline = time.monotonic() + 30
        while not (tmp_path / "out").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(child.pid, signal.SIGKILL)
    assert (tmp_path / "out").read_text() == "half"
    done = build(plan, Running(Resources(1, 1 << 40)))
    assert not done.failed
    assert (tmp_path / "out").read_text() == "whole"


# --- real ---------------------------------------------------------------------------------

SOURCES = {
    "one.cu": '#include "a.h"\n' + KERNEL.format(name="one"),
    "two.cu": KERNEL.format(name="two"),
    "inc/a.h": "#pragma once\n",
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Project:
    pytest.importorskip("torch", reason="torch is not installed")
    options = "include_dirs=['inc'], extra_compile_args={'cxx': [], 'nvcc': []}"
    return Light(options, kernels=(), sources=SOURCES).write(
        tmp_path_factory.mktemp("incremental") / "p"
    )


@pytest.fixture
def project(shared: Project) -> Project:
    """The project as it was written, built for BASE: what a test changed is taken back."""
    for name, text in SOURCES.items():
        if (shared.folder / name).read_text() != text:
            (shared.folder / name).write_text(text)
    setup = shared.folder / "setup.py"
    plain = re.sub(r"'(cxx|nvcc)': \[.*?\]", r"'\1': []", setup.read_text())
    setup.write_text(plain)
    steps(shared)
    return shared


def steps(project: Project, *words: str, archs: str = BASE, **variables: str) -> list[str]:
    """Build it well; the labels of what ran."""
    given = {"TORCH_CUDA_ARCH_LIST": archs, **variables}
    done = project.run("setup.py", "build_ext", "--inplace", *words, **given)
    assert done.returncode == 0, done.stdout + done.stderr
    project_log[project.folder] = done.stdout + done.stderr
    return _STEP.findall(done.stdout)


project_log: dict[Path, str] = {}


def linked(project: Project) -> bool:
    """Whether the last build linked its library."""
    return "is up to date" not in project_log[project.folder]


def device(labels: list[str]) -> set[str]:
    """Those that compile or assemble device code."""
    return {label for label in labels if re.search(r" (sm|compute)_\w+$", label)}


@pytest.mark.torch
@pytest.mark.toolkit
def test_with_nothing_changed_nothing_runs(project: Project) -> None:
    assert steps(project) == []
    assert not linked(project)


@pytest.mark.torch
@pytest.mark.toolkit
def test_huge_pages_change_nothing_that_is_made(project: Project) -> None:
    if not must_ask({"ARCHBUILD_HUGE_PAGES": "1"}):
        pytest.skip("Linux gives no huge pages to those who ask here")
    assert steps(project, "--force", ARCHBUILD_HUGE_PAGES="1")
    (folder,) = (project.folder / "build" / "archbuild").iterdir()
    told = [json.loads(path.read_text()) for path in (folder / "records").glob("*.aside")]
    library = str(folder / "huge_pages.so")
    assert [one["environ"].get("LD_PRELOAD") for one in told].count(library) == 4  # 2 x 2 passes
    objects = {path.name: path.read_bytes() for path in (folder / "obj").glob("*.o")}
    assert steps(project, ARCHBUILD_HUGE_PAGES="0") == []
    assert steps(project, "--force", ARCHBUILD_HUGE_PAGES="0")
    assert {path.name: path.read_bytes() for path in (folder / "obj").glob("*.o")} == objects
    assert not (folder / "huge_pages.so").exists()


@pytest.mark.torch
@pytest.mark.toolkit
def test_a_header_runs_what_includes_it(project: Project) -> None:
    (project.folder / "inc" / "a.h").write_text("#pragma once\nint more();\n")
    labels = steps(project)
    assert {label.split()[0] for label in labels} == {"one.cu"}
    assert {"one.cu compute_86", "one.cu compute_90", "one.cu host code compiled"} <= set(labels)


@pytest.mark.torch
@pytest.mark.toolkit
def test_a_comment_in_a_header_compiles_nothing(project: Project) -> None:
    (project.folder / "inc" / "a.h").write_text("#pragma once  // a word\n")
    labels = steps(project)
    assert set(labels) == {
        "one.cu preprocessed",
        "one.cu compute_86 preprocessed",
        "one.cu compute_90 preprocessed",
    }
    assert not linked(project)


def with_flag(project: Project, language: str, flag: str) -> None:
    setup = project.folder / "setup.py"
    setup.write_text(setup.read_text().replace(f"'{language}': []", f"'{language}': ['{flag}']"))


@pytest.mark.torch
@pytest.mark.toolkit
def test_a_flag_of_one_language_runs_its_sources(project: Project) -> None:
    with_flag(project, "cxx", "-O1")
    assert steps(project) == ["module.cpp"]
    with_flag(project, "nvcc", "--maxrregcount=64")
    labels = steps(project)
    assert {label.split()[0] for label in labels} == {"one.cu", "two.cu"}
    told = json.loads((project.folder / "light" / "_C.archbuild.json").read_text())
    assert "--maxrregcount=64" in told["flags"]


@pytest.mark.torch
@pytest.mark.toolkit
def test_a_flag_that_changes_no_object_stands_in_the_manifest_all_the_same(
    project: Project,
) -> None:
    with_flag(project, "nvcc", "-DNOBODY_ASKS")
    labels = steps(project)
    assert labels
    assert not device(labels)
    told = json.loads((project.folder / "light" / "_C.archbuild.json").read_text())
    assert "-DNOBODY_ASKS" in told["flags"]


@pytest.mark.torch
@pytest.mark.toolkit
@pytest.mark.parametrize(("archs", "name"), [("9.0a", "90a"), ("12.0", "120")])
def test_one_more_architecture_compiles_that_one_and_one_less_none(
    project: Project, archs: str, name: str
) -> None:
    labels = steps(project, archs=f"{BASE};{archs}")
    assert device(labels) == {
        f"{source} {kind}_{name}" for source in ("one.cu", "two.cu") for kind in ("compute", "sm")
    }
    assert {"one.cu object", "two.cu object"} <= set(labels)
    assert "module.cpp" not in labels
    less = steps(project)
    assert not device(less)
    assert {"one.cu object", "two.cu object"} <= set(less)
    told = json.loads((project.folder / "light" / "_C.archbuild.json").read_text())
    assert told["targets"] == ["sm_86", "sm_90"]


@pytest.mark.torch
@pytest.mark.toolkit
@pytest.mark.parametrize(
    "words", [("--force",), ("build", "--force", "build_ext", "--inplace")], ids=["own", "builds"]
)
def test_a_persons_force_builds_everything(project: Project, words: tuple[str, ...]) -> None:
    labels = steps(project, *words)
    assert {"module.cpp", "one.cu object", "two.cu object"} <= set(labels)
    assert len(device(labels)) == 8
    assert linked(project)


@pytest.mark.torch
@pytest.mark.toolkit
def test_what_was_built_unseen_is_looked_at_by_the_next_build(project: Project) -> None:
    steps(project, ARCHBUILD_VERIFY="off")
    with_flag(project, "nvcc", "--maxrregcount=32")
    steps(project, ARCHBUILD_VERIFY="off")
    assert steps(project) == []
    assert "holds sm_86, sm_90" in project_log[project.folder]


@pytest.mark.torch
@pytest.mark.toolkit
def test_editable_installs_keep_their_objects(tmp_path: Path) -> None:
    project = Light().write(tmp_path / "p")
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = next(place.glob("[bB]*/python*"))
    paths = sysconfig.get_paths(vars={"base": str(place), "platbase": str(place)})
    outer = [sysconfig.get_paths()["purelib"], *filter(None, sys.path)]
    Path(paths["purelib"], "outer.pth").write_text("\n".join(dict.fromkeys(outer)))
    words = ["install", "-e", ".", "--no-build-isolation", "--no-deps", "-v"]

    def install() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--python", str(python), *words],
            cwd=project.folder,
            env=clean_environment(TORCH_CUDA_ARCH_LIST="9.0"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said = done.stdout + done.stderr
        return [line for line in said.splitlines() if re.match(r"\s*\[\d+/\d+\] ", line)]

    assert len(install()) > 3
    assert install() == []
    assert project.library
    assert (project.library.parent / "_C.archbuild.json").exists()
