"""Builds that go wrong: one sentence, nothing half-written, and the next build is well."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from archbuild.binary.reader import read
from archbuild.build.ninja import find_ninja, write_ninja
from archbuild.build.plan import BuildRequest, CudaUnit, plan_build
from archbuild.model.build import Resources
from archbuild.rules.building.schedule import plan_schedule
from tests.projects import KERNEL, Light, Project, clean_environment
from tests.test_plan import FLAGS, script

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals and modes")


# --- many sources, with no compiler -------------------------------------------------------


def test_a_thousand_sources(tmp_path: Path) -> None:
    """Each has its own object, and the plan and its file grow with their number alone."""
    flags = (FLAGS, ("-O0", *FLAGS[:1]))
    units = tuple(CudaUnit(f"src/{i % 10}/{i}.cu", flags[i % 2]) for i in range(1000))
    tool = sys.executable  # any file that is there
    asked = BuildRequest("many", str(tmp_path), "b", tool, units)
    passes = [replace(one, command=(tool, *one.command[1:])) for one in script().passes]
    scripts = dict.fromkeys(flags, replace(script(), passes=tuple(passes)))
    plan = plan_build(asked, scripts)
    one = plan_build(replace(asked, units=units[:1]), scripts)
    assert len(plan.edges) == 1000 * len(one.edges)
    assert len(set(plan.objects)) == 1000
    schedule = plan_schedule(plan.edges, Resources(2, 8 << 30))
    file = write_ninja(plan.edges, tmp_path / "b", tmp_path, schedule)
    small = write_ninja(one.edges, tmp_path / "c", tmp_path, schedule)
    assert file.stat().st_size < 1100 * small.stat().st_size
    for unit in units:
        path = tmp_path / unit.source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    done = subprocess.run(
        [find_ninja(), "-n", "-f", str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert f"[{len(plan.edges)}/{len(plan.edges)}]" in done.stdout


# --- real ---------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def _torch(request: pytest.FixtureRequest) -> None:
    if any(item.get_closest_marker("torch") for item in request.session.items):
        pytest.importorskip("torch", reason="torch is not installed")


def one_sentence(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """It failed, and its last line is archbuild's one sentence with these words."""
    assert done.returncode != 0, done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("error: archbuild: "), done.stdout + done.stderr
    for word in words:
        assert word in last


def well(project: Project) -> Path:
    """The library of a build that has to go well."""
    done = project.build(TORCH_CUDA_ARCH_LIST="8.6;9.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.library
    assert (project.library.parent / "_C.archbuild.json").exists()
    (file,) = read(project.library)
    assert {str(image.arch) for image in file.images} == {"sm_86", "sm_90"}
    return project.library


def with_sources(folder: Path, old: str, new: str) -> Project:
    """A project whose setup.py has another list of sources."""
    project = Light().write(folder)
    setup = folder / "setup.py"
    assert old in setup.read_text()
    setup.write_text(setup.read_text().replace(old, new))
    return project


@pytest.mark.torch
@pytest.mark.toolkit
@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("'bumb.cu'", ["'bumb.cu'", "does not exist", "bump.cu"]),
        ("'bump.cu', './bump.cu'", ["bump.cu stands twice"]),
        ("'csrc/*.cu'", ["'csrc/*.cu'", "matches no file"]),
    ],
    ids=["missing", "twice", "pattern"],
)
def test_sources_that_make_no_sense(tmp_path: Path, new: str, words: list[str]) -> None:
    project = with_sources(tmp_path / "p", "'bump.cu'", new)
    one_sentence(project.build(TORCH_CUDA_ARCH_LIST="9.0"), *words)
    assert not list(tmp_path.rglob("*.o"))


@pytest.mark.torch
@pytest.mark.toolkit
@pytest.mark.parametrize("name", ["MAX_JOBS", "NVCC_THREADS"])
def test_limits_that_are_no_numbers(tmp_path: Path, name: str) -> None:
    done = Light().write(tmp_path / "p").build(TORCH_CUDA_ARCH_LIST="9.0", **{name: "many"})
    one_sentence(done, name, "many")
    assert not list(tmp_path.rglob("*.o"))


@pytest.mark.torch
@pytest.mark.toolkit
@posix
def test_odd_names_of_folders_and_sources(tmp_path: Path) -> None:
    folder = tmp_path / 'größe it\'s a "p" $x & 数'
    sources = {
        "csrc/mein Kern's.cu": '#include "wörter.h"\n' + KERNEL.format(name="one"),
        "csrc/more/mein Kern's.cu": KERNEL.format(name="two"),
        "in clude's ü/wörter.h": "",
    }
    options = """include_dirs=["in clude's ü"], define_macros=[('WORD', '"a b"')]"""
    project = Light(options, kernels=(), sources=sources).write(folder)
    well(project)
    done = project.build(TORCH_CUDA_ARCH_LIST="8.6;9.0")
    assert "is up to date" in done.stdout


@pytest.mark.torch
@pytest.mark.toolkit
def test_a_quotation_mark_that_nvcc_does_not_take_is_named(tmp_path: Path) -> None:
    project = Light("""include_dirs=['in"clude']""").write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="9.0")
    one_sentence(done, "quotation mark in the name of a folder", "in a flag never ends. Look")


ONE_PASS_FAILS = KERNEL.format(name="bump") + (
    "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900\n"
    "__device__ int broken() { return no_such_name; }\n"
    "#endif\n"
)


@pytest.mark.torch
@pytest.mark.toolkit
def test_an_error_in_one_of_several_passes_is_shown_once_and_named(tmp_path: Path) -> None:
    project = Light(kernels=(), sources={"bump.cu": ONE_PASS_FAILS}).write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="8.6;9.0")
    one_sentence(done, "bump.cu compute_90")
    assert "compute_86" not in done.stderr.strip().splitlines()[-1]
    assert (done.stdout + done.stderr).count('identifier "no_such_name" is undefined') == 1
    assert project.library is None
    (project.folder / "bump.cu").write_text(KERNEL.format(name="bump"))
    well(project)


# --- no room, and no right to write -------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that takes little."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root on Linux may mount a small file system")
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this container may not mount file systems")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


@pytest.mark.torch
@pytest.mark.toolkit
@pytest.mark.parametrize("size", ["64k", "1200k", "3m"])
def test_no_room_for_objects(tmp_path: Path, small_disk: Path, size: str) -> None:
    remount = ["mount", "-o", f"remount,size={size}", str(small_disk)]
    subprocess.run(remount, check=True)
    project = Light().write(tmp_path / "p")
    named = {"ARCHBUILD_BUILD_DIR": str(small_disk), "TORCH_CUDA_ARCH_LIST": "8.6;9.0"}
    done = project.build(**named)
    if size == "3m" and done.returncode == 0:
        pytest.skip("these objects need less room")
    one_sentence(done)
    said = done.stderr.strip().splitlines()[-1].lower()
    assert "no space left" in said or "disk" in said or "room" in said
    assert project.library is None
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert project.build(**named).returncode == 0
    assert project.library


def without_rights(
    project: Project, *words: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run setup.py as somebody to whom the modes of files apply: they don't to root."""
    command = [sys.executable, "setup.py", "build_ext", *words]
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root may write everywhere, and there is no setpriv to give that up")
        command = [setpriv, "--bounding-set", "-dac_override,-dac_read_search", *command]
    return subprocess.run(
        command,
        cwd=project.folder,
        env=clean_environment(TORCH_CUDA_ARCH_LIST="9.0", **variables),
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def closed(folder: Path) -> Iterator[None]:
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o755)


@pytest.mark.torch
@pytest.mark.toolkit
@posix
def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    project = Light().write(tmp_path / "p")
    home = tmp_path / "home"
    home.mkdir()
    with closed(home):
        variables = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        done = without_rights(project, "--inplace", **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        assert not list(home.iterdir())
    assert project.library


@pytest.mark.torch
@pytest.mark.toolkit
@posix
def test_a_project_that_cannot_be_written(tmp_path: Path) -> None:
    """Built elsewhere it is built all the same; in place it is one sentence."""
    project = Light().write(tmp_path / "p")
    out = tmp_path / "out"
    with closed(project.folder):
        elsewhere = ("--build-lib", str(out / "lib"), "--build-temp", str(out / "temp"))
        done = without_rights(project, *elsewhere)
        assert done.returncode == 0, done.stdout + done.stderr
        assert not (project.folder / "build").exists()
        refused = without_rights(project, "--inplace")
        assert refused.returncode != 0
        assert "Traceback" not in refused.stderr
        assert "Permission denied" in refused.stderr.strip().splitlines()[-1]
    assert next((out / "lib" / "light").glob("_C*.so"))
    assert (out / "lib" / "light" / "_C.archbuild.json").exists()
    assert project.library is None


# --- builds that are ended ----------------------------------------------------------------


def started(project: Project) -> subprocess.Popen[str]:
    """A build in a process group of its own, in the middle of its compiles."""
    child = subprocess.Popen(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=project.folder,
        env=clean_environment(TORCH_CUDA_ARCH_LIST="8.6;9.0"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    while not list(project.folder.glob("build/archbuild/*/obj/*.passes/*.ptx")):
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return child


def left(project: Project) -> list[str]:
    """The command lines of processes that still work for a project."""
    lines = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cwd").readlink().is_relative_to(project.folder):
                lines.append((path / "cmdline").read_text(errors="replace"))
        except OSError:
            continue
    return lines


@pytest.mark.torch
@pytest.mark.toolkit
@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "killed"])
def test_a_build_that_is_ended_leaves_no_library_and_the_next_one_is_well(
    tmp_path: Path, number: signal.Signals
) -> None:
    project = Light(kernels=("one", "two", "three")).write(tmp_path / "p")
    child = started(project)
    os.killpg(child.pid, number)
    _, said = child.communicate(timeout=60)
    assert child.returncode != 0
    assert project.library is None
    assert not list((project.folder / "build").rglob("_C*.so"))
    if number == signal.SIGINT:
        assert not left(project)
        assert "interrupted" in said.splitlines()[-1]
    deadline = time.monotonic() + 60
    while left(project) and time.monotonic() < deadline:
        time.sleep(0.05)
    well(project)
