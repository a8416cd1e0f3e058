"""Bus, driver files, system and container together, on machines made of files."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from archbuild.model.surroundings import ContainerKind, SourceAnswer, Surroundings
from archbuild.probe.surroundings import query_surroundings
from tests.trees import DEBIAN, OPEN_MODULE, card, driver, plant, seen_by_nobody

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")

RTX_3090 = 0x2204
NVML = SourceAnswer("nvml", ok=True)


def ask(root: Path, **more: str) -> Surroundings:
    return query_surroundings(
        root=root, environ=more, sources=(NVML,), system="linux", processor="x86_64"
    )


def test_a_whole_machine(tmp_path: Path) -> None:
    plant(tmp_path, DEBIAN)
    driver(tmp_path, module=OPEN_MODULE)
    card(tmp_path, "0000:01:00.0", RTX_3090, driver="nvidia")
    found = ask(tmp_path)
    assert [(c.name, c.driver) for c in found.cards] == [("GeForce RTX 3090", "nvidia")]
    assert (found.bus_read, found.sources, found.container) == (True, (NVML,), None)
    assert found.driver_files.open_module is True
    assert found.driver_files.hidden == ()
    assert (found.distribution, found.kernel) == ("debian 12", "6.1.0-25-amd64")


def test_a_container_whose_gpu_is_on_the_bus_alone(tmp_path: Path) -> None:
    plant(tmp_path, DEBIAN | {"run/.containerenv": ""})
    card(tmp_path, "0000:01:00.0", RTX_3090, driver="nvidia")
    found = ask(tmp_path, NVIDIA_VISIBLE_DEVICES="all")
    assert found.container is not None
    assert found.container.kind is ContainerKind.PODMAN
    assert not found.container.gpu_mapped
    assert len(found.cards) == 1


def test_nothing_at_all(tmp_path: Path) -> None:
    found = ask(tmp_path)
    assert found == Surroundings(
        bus_read=False,
        sources=(NVML,),
        driver_files=replace(found.driver_files, hidden=("/proc",)),
        glibc=found.glibc,
    )


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_elsewhere_than_on_linux_nothing_is_read(tmp_path: Path, system: str) -> None:
    driver(plant(tmp_path, DEBIAN))
    found = query_surroundings(root=tmp_path, sources=(NVML,), system=system)
    assert found == Surroundings(bus_read=False, sources=(NVML,))


def test_every_file_is_a_folder(tmp_path: Path) -> None:
    for name in (*DEBIAN, "etc/ld.so.cache", "proc/driver/nvidia/version", ".dockerenv"):
        (tmp_path / name).mkdir(parents=True)
    card(tmp_path, "0000:01:00.0", RTX_3090)
    found = ask(tmp_path)
    assert (found.kernel, found.distribution, len(found.cards)) == (None, None, 1)


def test_every_file_is_garbage_without_end(tmp_path: Path) -> None:
    names = [*DEBIAN, "etc/ld.so.cache", "proc/driver/nvidia/version", "usr/lib64/libcuda.so.1"]
    names += ["proc/1/environ", "sys/module/nvidia/version", "sys/bus/pci/devices/x/vendor"]
    plant(tmp_path, dict.fromkeys(names, b"\xff\x00\x1b[=:/ - \n" * 3))
    for name in names:
        with (tmp_path / name).open("r+b") as file:
            file.truncate(1 << 32)
    found = ask(tmp_path)
    assert (found.cards, found.driver_files.libraries, found.wsl) == ((), (), False)
    assert (found.kernel or "").isprintable()


def test_every_file_is_a_link_to_itself(tmp_path: Path) -> None:
    for name in (*DEBIAN, "etc/ld.so.cache", "sys/bus/pci/devices", "dev/nvidia0", ".dockerenv"):
        plant(tmp_path, links={name: Path(name).name})
    assert ask(tmp_path) == ask(plant(tmp_path / "bare", {"proc/1/comm": ""}))


# --- what a user without rights sees -----------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    plant(tmp_path, DEBIAN)
    driver(tmp_path)
    card(tmp_path, "0000:01:00.0", RTX_3090, driver="nvidia")
    for node in ("nvidia0", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "dev" / node).chmod(0o666)
    return tmp_path


def closed(root: Path, name: str, mode: int = 0) -> Surroundings:
    return seen_by_nobody(root, {name: mode})


def test_where_nothing_is_closed_nobody_sees_all(machine: Path) -> None:
    found = seen_by_nobody(machine)
    assert found == query_surroundings(root=machine, environ={}, processor="x86_64")
    assert (found.driver_files.closed_nodes, found.driver_files.hidden) == ((), ())


@pytest.mark.parametrize("mode", [0, 0o440, 0o444, 0o222])
def test_a_node_that_may_not_be_opened(machine: Path, mode: int) -> None:
    found = closed(machine, "dev/nvidia0", mode).driver_files
    assert found.closed_nodes == ("/dev/nvidia0",)
    assert found.device_nodes == ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm")


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("proc/driver/nvidia", "/proc/driver/nvidia/version"),
        ("etc/ld.so.cache", "/etc/ld.so.cache"),
        ("sys/bus/pci/devices", "/sys/bus/pci/devices"),
        ("usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06",) * 2,
        ("proc", "/proc"),
        ("dev", "/dev"),
    ],
)
def test_what_may_not_be_read_is_named(machine: Path, name: str, hidden: str) -> None:
    found = closed(machine, name).driver_files
    assert hidden.lstrip("/") in [path.lstrip("/") for path in found.hidden]


def test_a_closed_bus_is_no_bus_without_cards(machine: Path) -> None:
    found = closed(machine, "sys/bus/pci/devices")
    assert (found.cards, found.bus_read) == ((), False)


@pytest.mark.parametrize("name", ["proc/1/environ", "run/secrets"])
def test_what_is_closed_to_users_on_every_machine_is_not_named(machine: Path, name: str) -> None:
    plant(machine, {"proc/1/environ": "container=lxc\0", "run/secrets/kubernetes.io/x": ""})
    assert closed(machine, name).driver_files.hidden == ()


def test_the_module_in_sys_where_that_in_proc_is_closed(machine: Path) -> None:
    found = closed(machine, "proc/driver").driver_files
    assert str(found.kernel_release) == "580.65.06"
    assert found.open_module is None


# --- this machine ---------------------------------------------------------------------------


def test_this_machine_is_read_without_an_exception() -> None:
    found = query_surroundings(environ={})
    if sys.platform == "linux":
        assert found.kernel == os.uname().release
        assert found.bus_read == Path("/sys/bus/pci/devices").is_dir()
