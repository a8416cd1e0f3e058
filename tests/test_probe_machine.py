"""The machine as one value: asked, saved, read again."""

from __future__ import annotations

import json
import os
import re
import stat
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.errors import ArchbuildError, RecordError, UnreadableError, UsageError
from archbuild.model.machine import Gpu, Machine
from archbuild.model.record import MACHINE_SCHEMA
from archbuild.probe import gpus
from archbuild.probe import machine as module
from archbuild.probe.machine import query_machine, read_machine, write_machine
from tests.fake_nvcc import write_nvcc
from tests.fakes import CRASH, HANG, MIXED, FakeDriver, FakeGpu
from tests.trees import DEBIAN, driver, plant

EMPTY = Machine("linux", "x86_64", "3.11.7")


def test_all_of_it_together(fake_driver: FakeDriver, tmp_path: Path) -> None:
    write_nvcc(tmp_path / "cuda" / "bin" / "nvcc", "99.0")
    env = fake_driver(MIXED) | {"CUDA_HOME": str(tmp_path / "cuda"), "SECRET": "x", "CXX": "g++"}
    machine = query_machine(environ=env)
    assert [str(g.capability) for g in machine.gpus] == ["6.1", "8.6", "12.0"]
    assert machine.driver is not None
    assert str(tmp_path / "cuda") in [toolkit.root for toolkit in machine.toolkits]
    assert machine.variable("CUDA_HOME") == str(tmp_path / "cuda")
    assert machine.variable("CXX") == "g++"
    assert "SECRET" not in dict(machine.variables)
    write_machine(machine, tmp_path / "machine.json")
    assert read_machine(tmp_path / "machine.json") == machine


def test_an_explicit_toolkit_is_taken(tmp_path: Path) -> None:
    write_nvcc(tmp_path / "cuda" / "bin" / "nvcc", "99.0")
    machine = query_machine(gpus=False, toolkit=str(tmp_path / "cuda"))
    assert machine.toolkit is not None
    assert machine.toolkit.root == str(tmp_path / "cuda")


def test_an_error_about_the_toolkit_waits_for_no_gpu(
    fake_driver: FakeDriver, tmp_path: Path
) -> None:
    with pytest.raises(UsageError):
        query_machine(environ=fake_driver(MIXED), toolkit=str(tmp_path / "gone"))


def test_deep_asks_for_what_stands_around(fake_driver: FakeDriver, tmp_path: Path) -> None:
    driver(plant(tmp_path / "root", DEBIAN), "575.57.08")
    env = fake_driver([*MIXED[:2], FakeGpu("9.0", "NVIDIA H100", 2, fails="handle", code=15)])
    machine = query_machine(
        environ=env, toolkits=False, torch=False, deep=True, root=tmp_path / "root"
    )
    assert machine.surroundings is not None
    assert [(a.source, a.ok, a.code) for a in machine.surroundings.sources] == [
        ("nvml", False, 15),
        ("cuda driver", True, None),
        ("nvidia-smi", True, None),
    ]
    assert str(machine.surroundings.driver_files.kernel_release) == "575.57.08"
    assert len(machine.gpus) == 3
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", machine.taken or "")
    write_machine(machine, tmp_path / "machine.json")
    assert read_machine(tmp_path / "machine.json") == machine


def test_deep_where_the_driver_hangs_and_crashes(
    fake_driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpus, "query_gpus", partial(gpus.query_gpus, timeout=2.0))
    env = fake_driver(MIXED, nvml_init=HANG, cuda_init=CRASH, smi="sleep 300")
    machine = query_machine(environ=env, toolkits=False, torch=False, deep=True, root=tmp_path)
    assert machine.gpus == ()
    assert machine.surroundings is not None
    assert [(a.timed_out, a.crashed) for a in machine.surroundings.sources] == [
        (True, False),
        (False, True),
        (True, False),
    ]


def test_deep_without_gpus_asks_no_source(tmp_path: Path) -> None:
    root = plant(tmp_path, DEBIAN)
    machine = query_machine(
        environ={}, gpus=False, toolkits=False, torch=False, deep=True, root=root
    )
    assert machine.surroundings is not None
    assert (machine.surroundings.sources, machine.surroundings.distribution) == ((), "debian 12")


def test_what_is_not_asked_for_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name in (
        (gpus, "query_gpus"),
        (module, "find_toolkits"),
        (module, "find_cuobjdump"),
        (module, "find_torch"),
    ):
        monkeypatch.setattr(place, name, lambda **_: pytest.fail("asked"))
    machine = query_machine(environ={}, gpus=False, toolkits=False, torch=False)
    assert machine == Machine(machine.system, machine.processor, machine.python)
    assert (machine.surroundings, machine.installed, machine.taken) == (None, None, None)
    assert machine.python.count(".") == 2


def test_a_saved_machine_stays_whole_until_the_new_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "machine.json"
    write_machine(EMPTY, path)
    before = path.read_bytes()

    def fill_the_disk(_path: Path, _target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fill_the_disk)
    with pytest.raises(UnreadableError, match=r"cannot be written: No space left on device\."):
        write_machine(EMPTY, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_still_leads_to_what_was_saved(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_machine(EMPTY, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert read_machine(tmp_path / "real") == EMPTY


@pytest.mark.parametrize("name", ["", "gone/machine.json", "file/machine.json", "a\0b"])
def test_where_nothing_can_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnreadableError, match="cannot be written") as error:
        write_machine(EMPTY, f"{tmp_path}/{name}")
    assert error.value.exit_code == 3
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


@pytest.mark.skipif(os.name != "posix", reason="pipes in the file system are POSIX's")
def test_a_pipe_is_written_and_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_machine(EMPTY, path)
        assert json.loads(os.read(reader, 1 << 16))["schema"] == MACHINE_SCHEMA
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is no machine record"),
        (b"\x7fELF\xff\x00", "it is no text"),
        (b"[]", "is no machine record"),
        (b'{"schema": "archbuild.machine/9"}', "schema archbuild.machine/9"),
        (b'{"schema": "archbuild.machine/1"}', "should be an object"),
        (b"[" * 100_000, "is no machine record"),
    ],
)
def test_a_file_that_is_no_record(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "machine.json"
    path.write_bytes(data)
    with pytest.raises(RecordError, match=message) as error:
        read_machine(path)
    assert str(path) in str(error.value)
    assert error.value.exit_code == 3


def test_no_file_a_folder_and_one_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RecordError, match="cannot be read: No such file"):
        read_machine(tmp_path / "gone")
    with pytest.raises(RecordError, match="cannot be read: Is a directory"):
        read_machine(tmp_path)
    monkeypatch.setattr(module, "_RECORD_LIMIT", 100)
    (tmp_path / "large").write_text(" " * 101)
    with pytest.raises(RecordError, match="too large"):
        read_machine(tmp_path / "large")


def test_a_mark_at_the_beginning_is_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    write_machine(EMPTY, path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_machine(path) == EMPTY


def test_bytes_that_are_no_text_in_a_variable_are_kept(tmp_path: Path) -> None:
    odd = Machine("linux", "x86_64", "3.11.7", variables=(("CUDA_HOME", "/caf\udce9"),))
    write_machine(odd, tmp_path / "machine.json")
    assert read_machine(tmp_path / "machine.json").variable("CUDA_HOME")


@given(st.binary(max_size=200), st.integers(0, 400))
def test_no_damage_is_too_odd(
    tmp_path_factory: pytest.TempPathFactory, piece: bytes, place: int
) -> None:
    path = tmp_path_factory.mktemp("record") / "machine.json"
    write_machine(Machine("linux", "x86_64", "3.11.7", (Gpu("GPU-1", "x", None),)), path)
    data = path.read_bytes()
    path.write_bytes(data[:place] + piece + data[place + len(piece) :])
    try:
        read_machine(path)
    except ArchbuildError as error:
        assert str(path) in str(error)
