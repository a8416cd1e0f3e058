"""Processors and memory: injected trees of /proc and /sys, and one real limit."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archbuild.probe.cgroups import Group, find_groups
from archbuild.probe.resources import query_resources
from archbuild.probe.windows_memory import MemoryStatus, query_available

GB = 1 << 30

_V2 = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
_V1 = (
    "32 31 0:29 {top} /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 {top} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


@pytest.fixture(autouse=True)
def _sixteen_processors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "real" not in request.node.name:
        monkeypatch.setattr(os, "cpu_count", lambda: 16)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(16)), raising=False)


def tree(root: Path, files: Mapping[str, str], available: int | None = 64 * GB) -> str:
    """Write files below a root, and how much memory the system has available."""
    meminfo = f"MemTotal: 99 kB\nMemAvailable:  {available >> 10} kB\n" if available else None
    for name, text in {**files, **({"proc/meminfo": meminfo} if meminfo else {})}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def v2(own: str, files: Mapping[str, str]) -> dict[str, str]:
    """A version 2 hierarchy in which the process is in the group ``own``."""
    below = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    return {"proc/self/mountinfo": _V2, "proc/self/cgroup": f"0::{own}\n", **below}


def v1(own: str, files: Mapping[str, str], top: str = "/") -> dict[str, str]:
    """A version 1 hierarchy; names begin with ``cpu,cpuacct/`` or ``memory/``."""
    below = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    cgroup = f"5:memory:{own}\n4:cpu,cpuacct:{own}\n1:name=systemd:/else\n"
    return {"proc/self/mountinfo": _V1.format(top=top), "proc/self/cgroup": cgroup, **below}


# --- processors -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "processors", "why"),
    [
        ({}, 16, "the machine's"),
        (v2("/a", {"a/cpu.max": "max 100000\n"}), 16, "the machine's"),
        (v2("/a", {"a/cpu.max": "400000 100000\n"}), 4, "cgroup cpu.max of /a"),
        (v2("/a", {"a/cpu.max": "400000\n"}), 4, "cgroup cpu.max of /a"),
        (v2("/a", {"a/cpu.max": "250000 100000\n"}), 2, "cgroup cpu.max of /a"),
        (v2("/a", {"a/cpu.max": "10000 100000\n"}), 1, "cgroup cpu.max of /a"),
        (
            v2("/a/b", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}),
            3,
            "cgroup cpu.max of /a",
        ),
        (
            v2("/a/b", {"a/cpu.max": "900000 100000", "a/b/cpu.max": "200000 100000"}),
            2,
            "cgroup cpu.max of /a/b",
        ),
        # A namespace: the process's own group is the topmost that is visible.
        (v2("/", {"cpu.max": "500000 100000"}), 5, "cgroup cpu.max of /"),
        (v2("/../../x", {"cpu.max": "500000 100000"}), 5, "cgroup cpu.max of /"),
        (
            v2("/../../x", {"cpu.max": "500000 100000", "../../x/cpu.max": "200000 100000"}),
            5,
            "cgroup cpu.max of /",
        ),
        # The host's path, though only the container's part of the tree is there.
        (v2("/docker/0a1b", {"cpu.max": "500000 100000"}), 5, "cgroup cpu.max of /"),
        (
            v1(
                "/a",
                {
                    "cpu,cpuacct/a/cpu.cfs_quota_us": "600000",
                    "cpu,cpuacct/a/cpu.cfs_period_us": "100000",
                },
            ),
            6,
            "cgroup cpu.cfs_quota_us of /a",
        ),
        (
            v1(
                "/docker/0a1b",
                {"cpu,cpuacct/cpu.cfs_quota_us": "70000", "cpu,cpuacct/cpu.cfs_period_us": "10000"},
                top="/docker/0a1b",
            ),
            7,
            "cgroup cpu.cfs_quota_us of /",
        ),
        (
            v1(
                "/a",
                {
                    "cpu,cpuacct/a/cpu.cfs_quota_us": "-1",
                    "cpu,cpuacct/a/cpu.cfs_period_us": "100000",
                },
            ),
            16,
            "the machine's",
        ),
        # No /proc: the usual places are tried.
        ({"sys/fs/cgroup/cpu.max": "200000 100000"}, 2, "cgroup cpu.max of /"),
        ({"sys/fs/cgroup/unified/cpu.max": "200000 100000"}, 2, "cgroup cpu.max of /"),
        (
            {
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            3,
            "cgroup cpu.cfs_quota_us of /",
        ),
    ],
)
def test_processors(files: dict[str, str], processors: int, why: str, tmp_path: Path) -> None:
    found = query_resources(tree(tmp_path, files), {})
    assert (found.processors, found.why_processors) == (processors, why)


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "max", "-5 100000", "100000 0", "100000 -1", "0 100000", "1e5 100000", "٣ 1"],
)
def test_nonsense_in_cpu_max_is_no_limit(text: str, tmp_path: Path) -> None:
    assert query_resources(tree(tmp_path, v2("/", {"cpu.max": text})), {}).processors == 16


def test_affinity_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3, 5}, raising=False)
    found = query_resources(tree(tmp_path, v2("/", {"cpu.max": "300000 100000"})), {})
    assert (found.processors, found.why_processors) == (2, "affinity")


def test_a_system_without_affinity_and_without_a_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert query_resources(str(tmp_path), {}).processors == 1


@pytest.mark.parametrize(
    ("value", "processors"), [("3", 3), ("default", 16), ("0", 16), ("-2", 16), ("99", 16)]
)
def test_pythons_own_variable_limits(value: str, processors: int, tmp_path: Path) -> None:
    assert query_resources(str(tmp_path), {"PYTHON_CPU_COUNT": value}).processors == processors


# --- memory ---------------------------------------------------------------------------------


def _v2_memory(limit: int | str, used: int, cache: int, file: str = "memory.max") -> dict[str, str]:
    stat = f"anon 5\nfile 7\ninactive_file {cache}\nactive_file 9\n"
    return {
        f"a/{file}": f"{limit}\n",
        "a/memory.current": f"{used}\n",
        "a/memory.stat": stat,
        "a/b/memory.max": "max\n",
        "a/b/memory.current": "1\n",
    }


_V1_STAT = f"inactive_file 1\nhierarchical_memory_limit {9 * GB}\ntotal_inactive_file {2 * GB}\n"


@pytest.mark.parametrize(
    ("files", "memory", "why"),
    [
        ({}, 64 * GB, "MemAvailable"),
        (v2("/a", _v2_memory("max", 5 * GB, 0)), 64 * GB, "MemAvailable"),
        (v2("/a", _v2_memory(8 * GB, 5 * GB, 0)), 3 * GB, "cgroup memory.max of /a"),
        (v2("/a", _v2_memory(8 * GB, 5 * GB, 4 * GB)), 7 * GB, "cgroup memory.max of /a"),
        (v2("/a", _v2_memory(8 * GB, 5 * GB, 6 * GB)), 8 * GB, "cgroup memory.max of /a"),
        (v2("/a", _v2_memory(8 * GB, 9 * GB, 0)), 0, "cgroup memory.max of /a"),
        (
            v2("/a", _v2_memory(8 * GB, 5 * GB, 0, "memory.high")),
            3 * GB,
            "cgroup memory.high of /a",
        ),
        (v2("/a/b", _v2_memory(8 * GB, 5 * GB, 0)), 3 * GB, "cgroup memory.max of /a"),
        (v2("/a/gone", _v2_memory(8 * GB, 5 * GB, 0)), 3 * GB, "cgroup memory.max of /a"),
        (v2("/a", {"a/memory.max": f"{4 * GB}"}), 4 * GB, "cgroup memory.max of /a"),
        (v2("/", {"memory.max": f"{6 * GB}"}), 6 * GB, "cgroup memory.max of /"),
        (
            v1(
                "/a",
                {
                    "memory/a/memory.limit_in_bytes": f"{8 * GB}",
                    "memory/a/memory.usage_in_bytes": f"{5 * GB}",
                    "memory/a/memory.stat": _V1_STAT,
                },
            ),
            5 * GB,
            "cgroup memory.limit_in_bytes of /a",
        ),
        (
            v1(
                "/a",
                {
                    "memory/a/memory.limit_in_bytes": "9223372036854771712",
                    "memory/a/memory.usage_in_bytes": f"{5 * GB}",
                    "memory/a/memory.stat": _V1_STAT,
                },
            ),
            6 * GB,
            "cgroup hierarchical_memory_limit of /a",
        ),
        (
            v1("/a/b", {"memory/a/memory.limit_in_bytes": f"{8 * GB}"}),
            8 * GB,
            "cgroup memory.limit_in_bytes of /a",
        ),
        (
            v1(
                "/a",
                {
                    "memory/a/memory.limit_in_bytes": "9223372036854771712",
                    "memory/a/memory.usage_in_bytes": "5",
                },
            ),
            64 * GB,
            "MemAvailable",
        ),
        ({"sys/fs/cgroup/memory.max": f"{6 * GB}"}, 6 * GB, "cgroup memory.max of /"),
        (
            {"sys/fs/cgroup/memory/memory.limit_in_bytes": f"{6 * GB}"},
            6 * GB,
            "cgroup memory.limit_in_bytes of /",
        ),
    ],
)
def test_memory(files: dict[str, str], memory: int, why: str, tmp_path: Path) -> None:
    found = query_resources(tree(tmp_path, files), {})
    assert (found.memory, found.why_memory) == (memory, why)


def test_a_hybrid_is_limited_by_both_versions(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": _V1.format(top="/") + _V2.replace("cgroup rw", "cgroup/unified rw"),
        "proc/self/cgroup": "3:memory:/old\n2:cpu,cpuacct:/\n0::/new\n",
        "sys/fs/cgroup/unified/new/cpu.max": "300000 100000",
        "sys/fs/cgroup/memory/old/memory.limit_in_bytes": f"{5 * GB}",
    }
    found = query_resources(tree(tmp_path, files), {})
    assert (found.processors, found.memory) == (3, 5 * GB)


def test_the_system_may_be_tighter_than_the_group(tmp_path: Path) -> None:
    files = v2("/", {"memory.max": f"{6 * GB}"})
    assert query_resources(tree(tmp_path, files, available=2 * GB), {}).memory == 2 * GB


@pytest.mark.parametrize(
    ("meminfo", "memory"),
    [
        ("MemTotal: 9 kB\nMemFree: 4 kB\nBuffers: 2 kB\nCached: 1 kB\n", 7 << 10),
        ("MemFree: 4 kB\n", 4 << 10),
        ("MemAvailable: much\nMemFree: 4 kB", 4 << 10),
        ("MemAvailable: -3 kB\n", None),
        ("", None),
        ("\0\xff", None),
    ],
)
def test_other_texts_of_meminfo(meminfo: str, memory: int | None, tmp_path: Path) -> None:
    assert query_resources(tree(tmp_path, {"proc/meminfo": meminfo}, None), {}).memory == memory


def test_nobody_says_how_much_memory_there_is(tmp_path: Path) -> None:
    found = query_resources(str(tmp_path), {})
    assert (found.memory, found.why_memory) == (None, "nobody says")


@settings(max_examples=50, deadline=None)
@given(mountinfo=st.text(max_size=300), cgroup=st.text(max_size=300), limit=st.text(max_size=60))
def test_no_text_of_the_kernels_is_too_odd(
    tmp_path_factory: pytest.TempPathFactory, mountinfo: str, cgroup: str, limit: str
) -> None:
    root = tmp_path_factory.mktemp("odd")
    files = {"proc/self/mountinfo": mountinfo, "proc/self/cgroup": cgroup}
    files |= {"sys/fs/cgroup/memory.max": limit, "sys/fs/cgroup/cpu.max": limit}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    found = query_resources(str(root), {})
    assert 1 <= found.processors <= 16
    assert found.memory is None or found.memory >= 0


def test_a_mount_point_with_a_blank(tmp_path: Path) -> None:
    line = _V2.replace("/sys/fs/cgroup ", "/sys/my\\040groups ")
    files = {"proc/self/mountinfo": line, "sys/my groups/cpu.max": "200000 100000"}
    tree(tmp_path, files)
    (group,) = find_groups("cpu", tmp_path)
    assert group == Group(tmp_path / "sys/my groups", 2, "/")
    assert query_resources(str(tmp_path), {}).processors == 2


# --- this machine -----------------------------------------------------------------------------


def test_real_answer_is_within_the_machine() -> None:
    found = query_resources()
    assert 1 <= found.processors <= (os.cpu_count() or 1)
    assert found.memory is None or found.memory >= 0
    assert found.why_processors
    assert found.why_memory


@contextmanager
def _limited(controller: str, limits: Mapping[int, Mapping[str, str]]) -> Iterator[Path]:
    """A group below one of this process's own with a real limit, by the version of the groups."""
    groups = [g for g in find_groups(controller) if _can_limit(g, controller)]
    if not groups:
        pytest.skip(f"no control group that the {controller} controller could limit is mounted")
    folder = groups[0].folder / f"archbuild-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"this user may make no control group: {error.strerror}")
    try:
        for file, text in limits[groups[0].version].items():
            (folder / file).write_text(text)
        yield folder
    except PermissionError:
        pytest.skip("this user may set no limit")
    finally:
        folder.rmdir()


def _can_limit(group: Group, controller: str) -> bool:
    """Whether a group below this one has the controller's files."""
    if group.version == 1:
        return group.folder.is_dir()
    return controller in (group.read("cgroup.subtree_control") or "").split()


def _ask_inside(folder: Path) -> list[str]:
    enter = f"import os; open({str(folder / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
    ask = (
        "from archbuild.probe.resources import query_resources as q; r = q()\n"
        "print(r.processors, r.memory, r.why_processors, r.why_memory, sep='|')"
    )
    done = subprocess.run(
        [sys.executable, "-c", enter + ask],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=Path(__file__).parents[1],
    )
    if "PermissionError" in done.stderr:
        pytest.skip("this user may put no process into a control group")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().split("|")


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
def test_a_real_limit_of_memory() -> None:
    limit = str(256 << 20)
    files = {1: {"memory.limit_in_bytes": limit}, 2: {"memory.max": limit}}
    with _limited("memory", files) as folder:
        _, memory, _, why = _ask_inside(folder)
        assert (128 << 20) < int(memory) <= (256 << 20)
        assert why.startswith(("cgroup memory.max of ", "cgroup memory.limit_in_bytes of "))
        assert why.endswith(folder.name)


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
def test_a_real_quota_of_processors() -> None:
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one processor cannot be made fewer")
    quota = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "100000"}
    with _limited("cpu", {1: quota, 2: {"cpu.max": "100000 100000"}}) as folder:
        processors, _, why, _ = _ask_inside(folder)
        assert processors == "1"
        assert why.endswith(folder.name)


# --- Windows ----------------------------------------------------------------------------------


class _Kernel:
    """A ``kernel32`` that has 3 GB available, or nothing to say."""

    def __init__(self, answer: int) -> None:
        self.answer = answer

    def GlobalMemoryStatusEx(self, pointer: object) -> int:  # noqa: N802 -- Windows's name
        status = pointer._obj  # type: ignore[attr-defined]
        assert status.length == 64
        status.available = 3 * GB
        return self.answer


@pytest.mark.parametrize(("answer", "available"), [(1, 3 * GB), (0, None)])
def test_windows_is_asked_for_what_is_available(answer: int, available: int | None) -> None:
    assert query_available(_Kernel(answer)) == available


def test_the_structure_is_laid_out_as_windows_has_it() -> None:
    assert ctypes.sizeof(MemoryStatus) == 64
    assert MemoryStatus.available.offset == 16
