"""What is there of a driver: on the disk, in the kernel, in /dev."""

from __future__ import annotations

import lzma
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.surroundings import DriverFiles
from archbuild.model.version import DriverRelease
from archbuild.probe.driver_files import is_gpu_node, query_driver_files, release_of_library
from archbuild.probe.tree import Tree
from tests.trees import (
    CLOSED_MODULE,
    DEBIAN,
    LIBRARY,
    OPEN_MODULE,
    Files,
    driver,
    ldcache,
    module,
    plant,
)

RELEASE = DriverRelease.parse("580.65.06")
LIB = "usr/lib/x86_64-linux-gnu"
KERNEL = "6.1.0-25-amd64"
MODULES = f"lib/modules/{KERNEL}"


def ask(
    root: Path, processor: str = "x86_64", environ: Mapping[str, str] | None = None
) -> DriverFiles:
    return query_driver_files(Tree(root), processor, environ)


def test_a_whole_driver(tmp_path: Path) -> None:
    plant(tmp_path, DEBIAN)
    driver(tmp_path)
    assert ask(tmp_path) == DriverFiles(
        kernel_release=RELEASE,
        libraries=(f"/{LIB}/libcuda.so.580.65.06",),
        library_release=RELEASE,
        device_nodes=("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"),
        open_module=False,
    )


def test_no_driver_at_all(tmp_path: Path) -> None:
    plant(tmp_path, DEBIAN)
    assert ask(tmp_path) == DriverFiles()


def test_nothing_at_all(tmp_path: Path) -> None:
    assert ask(tmp_path) == DriverFiles(hidden=("/proc",))


@pytest.mark.parametrize(
    ("text", "release", "is_open"),
    [
        (CLOSED_MODULE.format("535.54.03"), "535.54.03", False),
        (OPEN_MODULE.format("570.172.08"), "570.172.08", True),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  garbage\n", None, False),
        ("\x00\xff" * 100, None, False),
        ("x" * 1_000_000, None, False),
    ],
)
def test_the_module_that_is_loaded(
    tmp_path: Path, text: str, release: str | None, is_open: bool
) -> None:
    plant(tmp_path, DEBIAN | {"proc/driver/nvidia/version": text})
    found = ask(tmp_path)
    assert (str(found.kernel_release or ""), found.open_module) == (release or "", is_open)


@pytest.mark.parametrize(("text", "release"), [("550.54.14\n", "550.54.14"), ("N/A\n", "")])
def test_the_module_where_its_folder_in_proc_is_missing(
    tmp_path: Path, text: str, release: str
) -> None:
    plant(tmp_path, DEBIAN | {"sys/module/nvidia/version": text})
    found = ask(tmp_path)
    assert (str(found.kernel_release or ""), found.open_module) == (release, None)


# --- the library ----------------------------------------------------------------------------


def test_library_and_module_of_two_releases(tmp_path: Path) -> None:
    plant(tmp_path, DEBIAN)
    driver(tmp_path)
    plant(tmp_path, {"proc/driver/nvidia/version": CLOSED_MODULE.format("575.57.08")})
    found = ask(tmp_path)
    assert (str(found.kernel_release), str(found.library_release)) == ("575.57.08", "580.65.06")


def test_the_loaders_choice_comes_first_and_no_file_twice(tmp_path: Path) -> None:
    compat = "usr/local/cuda-13.0/compat"
    plant(tmp_path, DEBIAN)
    driver(tmp_path, "550.54.14")
    plant(
        tmp_path,
        {
            f"{compat}/libcuda.so.580.65.06": LIBRARY,
            "etc/ld.so.cache": ldcache(
                [("libcuda.so.1", f"/{place}/libcuda.so.1") for place in (compat, "lib/link", LIB)]
            ),
        },
        {f"{compat}/libcuda.so.1": "libcuda.so.580.65.06", "lib/link": f"../{LIB}"},
    )
    found = ask(tmp_path)
    assert found.libraries == (
        f"/{compat}/libcuda.so.580.65.06",
        f"/{LIB}/libcuda.so.550.54.14",
    )
    assert found.library_release == RELEASE


@pytest.mark.parametrize(
    "folder",
    [
        LIB,
        "usr/lib64",
        "usr/lib",
        "usr/local/nvidia/lib64",
        "run/opengl-driver/lib",
        ".singularity.d/libs",
        f"{LIB}/nvidia/current",
    ],
)
def test_usual_folders_without_a_list_of_the_loader(tmp_path: Path, folder: str) -> None:
    plant(tmp_path, {f"{folder}/libcuda.so.580.65.06": LIBRARY})
    plant(tmp_path, links={f"{folder}/libcuda.so.1": "libcuda.so.580.65.06"})
    assert ask(tmp_path).libraries == (f"/{folder}/libcuda.so.580.65.06",)


def test_the_folder_that_the_container_toolkit_names(tmp_path: Path) -> None:
    plant(tmp_path, {"snap/docker/lib/libcuda.so.1": LIBRARY})
    for told, count in (("/snap/docker/lib/", 1), ("snap/docker/lib", 0), ("", 0), ("/x\0", 0)):
        found = ask(tmp_path, environ={"NVIDIA_CTK_LIBCUDA_DIR": told})
        assert len(found.libraries) == count


def test_the_library_of_a_jetson_and_of_wsl_have_no_release_in_their_names(tmp_path: Path) -> None:
    jetson = "usr/lib/aarch64-linux-gnu/nvidia"
    plant(tmp_path, {f"{jetson}/libcuda.so.1.1": LIBRARY})
    plant(tmp_path, links={f"{jetson}/libcuda.so.1": "libcuda.so.1.1"})
    plant(tmp_path, {"usr/lib/wsl/lib/libcuda.so.1": LIBRARY})
    found = ask(tmp_path, "aarch64")
    assert found.libraries == ("/usr/lib/wsl/lib/libcuda.so.1", f"/{jetson}/libcuda.so.1.1")
    assert found.library_release is None


@pytest.mark.parametrize(
    "content",
    [b"", b"no library", b"\x7fELF\x01" + bytes(60), b"\x7fELF"],
    ids=["empty", "text", "32 bits", "cut short"],
)
def test_what_is_no_library_of_this_system(tmp_path: Path, content: bytes) -> None:
    # Building an image with the GPU mapped leaves empty files of these names in it.
    plant(tmp_path, {"usr/lib64/libcuda.so.1": content})
    assert ask(tmp_path).libraries == ()


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    plant(tmp_path, {"etc/ld.so.cache": ldcache([("libcuda.so.1", "/x/libcuda.so.1")])})
    plant(tmp_path, {"usr/lib/libcuda.so.1/file": "a folder"})
    plant(tmp_path, links={f"{LIB}/libcuda.so.1": "libcuda.so.1", "usr/lib64": "gone"})
    assert ask(tmp_path) == DriverFiles(hidden=("/proc",))


@pytest.mark.parametrize(
    ("path", "release"),
    [
        ("/usr/lib64/libcuda.so.580.65.06", "580.65.06"),
        ("/usr/lib64/libcuda.so.1", None),
        ("/usr/lib64/libcuda.so", None),
        ("libcuda.so.418.39.bak", None),
        ("", None),
    ],
)
def test_the_release_in_a_name(path: str, release: str | None) -> None:
    found = release_of_library(path)
    assert (found and str(found)) == release


# --- the module on the disk -----------------------------------------------------------------


@pytest.mark.parametrize("place", ["updates/dkms/nvidia.ko", "extra/nvidia/nvidia.ko", "nvidia.ko"])
def test_the_module_that_would_be_loaded(tmp_path: Path, place: str) -> None:
    plant(
        tmp_path,
        DEBIAN
        | {
            f"{MODULES}/modules.dep": f"kernel/x.ko:\n{place}: kernel/drm.ko\nz/nvidia-drm.ko:\n",
            f"{MODULES}/{place}": module(license="NVIDIA", version="575.57.08", name="nvidia"),
        },
    )
    assert str(ask(tmp_path).module_on_disk) == "575.57.08"


def test_of_a_packed_module_dkms_tells_the_release(tmp_path: Path) -> None:
    packed = "updates/dkms/nvidia.ko.xz"
    plant(
        tmp_path,
        DEBIAN
        | {
            f"{MODULES}/modules.dep": f"{packed}:\n",
            f"{MODULES}/{packed}": lzma.compress(module(version="575.57.08")),
        },
    )
    assert ask(tmp_path).module_on_disk is None
    link = f"kernel-{KERNEL}-x86_64"
    plant(
        tmp_path,
        {"var/lib/dkms/zfs/x": ""},
        {
            f"var/lib/dkms/nvidia-fs/{link}": "2.25.6/x/y",
            f"var/lib/dkms/nvidia-srv/{link}": f"575.57.08/{KERNEL}/x86_64",
            f"var/lib/dkms/zfs/{link}": "555.55.55/x/y",
        },
    )
    assert str(ask(tmp_path).module_on_disk) == "575.57.08"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x7fELF",
        b"not an ELF file" * 100,
        module(),
        module(version="unknown"),
        module(version="575.57.08")[:150],
        module(version="575.57.08").replace(b".modinfo", b".modinfx"),
    ],
)
def test_a_module_that_says_nothing(tmp_path: Path, content: bytes) -> None:
    files: Files = {f"{MODULES}/modules.dep": "nvidia.ko:\n", f"{MODULES}/nvidia.ko": content}
    assert ask(plant(tmp_path, DEBIAN | files)).module_on_disk is None


@pytest.mark.parametrize(
    "listed",
    ["", "nvidia.ko.xz\n", "other/nvidia.ko.txt nvidia.ko:", "x" * 1_000_000, "/" * 1_000_000],
)
def test_a_list_of_modules_that_names_none(tmp_path: Path, listed: str) -> None:
    assert ask(plant(tmp_path, DEBIAN | {f"{MODULES}/modules.dep": listed})).module_on_disk is None


@pytest.mark.parametrize("kernel", ["../../x", "", "\0", "a" * 5000])
def test_a_kernel_that_is_no_name(tmp_path: Path, kernel: str) -> None:
    plant(tmp_path, DEBIAN | {"proc/sys/kernel/osrelease": kernel})
    assert ask(tmp_path).module_on_disk is None


@given(st.integers(0, 300), st.binary(max_size=40))
def test_no_module_is_too_odd(
    tmp_path_factory: pytest.TempPathFactory, place: int, piece: bytes
) -> None:
    data = module(version="575.57.08")
    damaged = data[:place] + piece + data[place + len(piece) :]
    files: Files = {f"{MODULES}/modules.dep": "nvidia.ko:\n", f"{MODULES}/nvidia.ko": damaged}
    found = ask(plant(tmp_path_factory.mktemp("module"), DEBIAN | files)).module_on_disk
    assert found is None or isinstance(found, DriverRelease)


@pytest.mark.parametrize(
    ("files", "there"),
    [
        ({"proc/modules": "drm 1 1 nouveau, Live 0x0\nnouveau 2433024 4 - Live 0x0\n"}, True),
        ({"sys/module/nouveau/refcnt": "0\n"}, True),  # built in
        ({"proc/modules": "drm 1 1 nouveau, Live 0x0\nnouveaux 1 0 - Live 0x0\n"}, False),
        ({}, False),
    ],
)
def test_nouveau(tmp_path: Path, files: Files, there: bool) -> None:
    assert ask(plant(tmp_path, DEBIAN | files)).nouveau == there


# --- nodes and processes --------------------------------------------------------------------


def test_nodes_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    names = ("nvidia10", "nvidia2", "nvidia-uvm-tools", "nvidiactl", "nvidia-modeset", "dxg")
    plant(tmp_path, {f"dev/{name}": "" for name in names})
    plant(tmp_path, {"dev/nvidia-caps/nvidia-cap1": "", "dev/nvme0": "", "dev/nvidia-fs1": ""})
    plant(tmp_path, links={"dev/nvidia0": "gone"})
    assert ask(tmp_path).device_nodes == tuple(
        f"/dev/{name}"
        for name in (
            "nvidia2",
            "nvidia10",
            "dxg",
            "nvidiactl",
            "nvidia-modeset",
            "nvidia-uvm-tools",
        )
    )


@pytest.mark.parametrize(
    ("node", "is_gpu"),
    [
        ("/dev/nvidia0", True),
        ("/dev/nvidia15", True),
        ("/dev/dxg", True),
        ("/dev/nvhost-ctrl-gpu", True),
        ("/dev/nvmap", True),
        ("/dev/nvidiactl", False),
        ("/dev/nvidia-uvm", False),
        ("/dev/nvidia-nvswitch0", False),
    ],
)
def test_which_nodes_are_a_gpus_own(node: str, is_gpu: bool) -> None:
    assert is_gpu_node(node) == is_gpu


@pytest.mark.parametrize(
    ("files", "runs"),
    [
        ({"proc/4711/comm": "nv-fabricmanage\n"}, True),
        ({"proc/4711/comm": "nvidia-smi\n"}, False),
        ({"proc/4711/other": ""}, False),
        ({"proc/2/comm": "sh\n"}, None),  # a container's own processes
    ],
)
def test_the_fabric_manager_where_there_are_switches(
    tmp_path: Path, files: Files, runs: bool | None
) -> None:
    plant(tmp_path, DEBIAN | files)
    assert ask(tmp_path).fabric_manager is None
    plant(tmp_path, {"dev/nvidia-nvswitch0": "", "dev/nvidia-nvswitchctl": ""})
    assert ask(tmp_path).fabric_manager is runs


def test_processes_of_others_are_hidden(tmp_path: Path) -> None:
    plant(tmp_path, {"proc/4711/comm": "python\n", "dev/nvidia-nvswitch0": ""})
    assert ask(tmp_path) == replace(
        DriverFiles(), device_nodes=("/dev/nvidia-nvswitch0",), hidden=("/proc",)
    )
