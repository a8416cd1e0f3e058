"""Containers by the traces that their engines leave in the files of a system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.surroundings import Container, ContainerKind
from archbuild.probe.container import query_container
from archbuild.probe.driver_files import query_driver_files
from archbuild.probe.tree import Tree
from tests.trees import CLOSED_MODULE, DEBIAN, LIBRARY, Files, driver, ldcache, plant

LIB = "usr/lib/x86_64-linux-gnu"
OVERLAY = "700 600 0:60 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/x\n"
DISK = "29 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
TMPFS = "750 700 0:70 / /proc/driver/nvidia rw - tmpfs tmpfs rw,size=1k\n"
BOUND = (
    f"751 700 8:2 /{LIB}/libcuda.so.580.65.06 /{LIB}/libcuda.so.580.65.06 ro - ext4 /dev/sda2 r\n"
)
ACCOUNT = "run/secrets/kubernetes.io/serviceaccount/token"
DOCKER: Files = {
    ".dockerenv": "",
    "proc/1/cgroup": "0::/\n",
    "proc/self/cgroup": "0::/\n",
    "proc/1/comm": "python\n",
    "proc/2/comm": "sh\n",
    "proc/self/mountinfo": OVERLAY,
}


def host_file(top: str) -> str:
    return f"{OVERLAY}740 700 8:2 {top} /etc/hosts rw - ext4 /dev/sda2 rw\n"


def ask(
    root: Path, environ: Mapping[str, str] | None = None, *, jetson: bool = False
) -> Container | None:
    tree, env = Tree(root), environ or {}
    files = query_driver_files(tree, "x86_64", env)
    return query_container(tree, env, files, jetson=jetson)


def kind(root: Path, environ: Mapping[str, str] | None = None) -> ContainerKind | None:
    found = ask(root, environ)
    return found.kind if found else None


# --- who runs it ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"proc/self/mountinfo": host_file("/var/lib/docker/containers/ab12/hosts")}, "docker"),
        ({"proc/1/cgroup": "12:cpu:/docker/ab12\n"}, "docker"),
        ({"proc/self/cgroup": "0::/system.slice/docker-ab12.scope\n"}, "docker"),
        ({"run/.containerenv": 'engine="podman-5.2.0"\n'}, "podman"),
        ({"run/.containerenv": "", ".dockerenv": ""}, "podman"),
        ({"proc/1/environ": b"PATH=/bin\0container=podman\0"}, "podman"),
        (
            {
                "proc/self/mountinfo": host_file(
                    "/containers/storage/overlay-containers/ab/userdata/hosts"
                )
            },
            "podman",
        ),
        ({"proc/1/cgroup": "0::/kubepods.slice/kubepods-pod12.slice/x.scope\n"}, "kubernetes"),
        ({"proc/self/mountinfo": host_file("/var/lib/kubelet/pods/12/etc-hosts")}, "kubernetes"),
        ({"proc/1/cgroup": "9:cpu:/kubepods/besteffort/pod1/ab\n", ".dockerenv": ""}, "kubernetes"),
        ({".singularity.d/env/01-base.sh": "", ".dockerenv": ""}, "apptainer"),
        ({"proc/1/environ": b"container=lxc\0"}, "lxc"),
        ({"run/systemd/container": "lxc\n"}, "lxc"),
        ({"proc/1/cgroup": "0::/lxc.payload.web/init.scope\n"}, "lxc"),
        ({"proc/1/cgroup": "4:devices:/lxc/web\n"}, "lxc"),
        ({"run/systemd/container": "systemd-nspawn\n"}, "other"),
        ({"proc/self/cgroup": "0::/system.slice/cri-containerd-ab.scope\n"}, "other"),
        ({"run/systemd/container": "wsl\n"}, None),
        ({"run/systemd/container": "\0\xff\n"}, "other"),
        ({"run/systemd/container": ""}, None),
        ({"proc/1/environ": "container\0=\0\0"}, None),
        ({}, None),
    ],
)
def test_who_runs_it(tmp_path: Path, files: Files, expected: str | None) -> None:
    found = kind(plant(tmp_path, DEBIAN | {"proc/self/mountinfo": OVERLAY} | files))
    assert (found and found.value) == expected


@pytest.mark.parametrize(
    ("environ", "files", "expected"),
    [
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {ACCOUNT: "x"}, "kubernetes"),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {f"var/{ACCOUNT}": "x"}, "kubernetes"),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {".dockerenv": ""}, "kubernetes"),
        ({"KUBERNETES_SERVICE_HOST": ""}, {".dockerenv": "", ACCOUNT: "x"}, "docker"),
        # On a node itself somebody may have set it.
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {}, None),
        ({}, {"proc/1/environ": b"KUBERNETES_SERVICE_HOST=1\0", ACCOUNT: "x"}, "kubernetes"),
        ({"APPTAINER_CONTAINER": "/x.sif"}, {}, "apptainer"),
        ({"SINGULARITY_CONTAINER": "/x.sif"}, {".dockerenv": ""}, "apptainer"),
        ({"APPTAINER_CONTAINER": ""}, {}, None),
        # A sandbox of the desktop, or a person.
        ({"container": "flatpak"}, {}, None),
    ],
)
def test_who_runs_it_by_variables(
    tmp_path: Path,
    environ: Mapping[str, str],
    files: Files,
    expected: str | None,
) -> None:
    plant(tmp_path, DEBIAN | {"proc/self/mountinfo": OVERLAY} | files)
    found = kind(tmp_path, environ)
    assert (found and found.value) == expected


def test_an_image_that_was_unpacked_for_a_machine_is_no_container(tmp_path: Path) -> None:
    """`docker export | wsl --import`, and virtual machines made the same way."""
    assert kind(plant(tmp_path, DOCKER | {"proc/self/mountinfo": DISK})) is None


@pytest.mark.parametrize(
    "root",
    [
        OVERLAY,
        "700 600 0:25 /@/var/lib/docker/btrfs/subvolumes/ab / rw - btrfs /dev/sda2 rw\n",
        "700 600 253:3 /rootfs / rw - xfs /dev/mapper/docker-253:0-ab rw\n",
        "700 600 0:50 / / rw - zfs pool/docker/ab rw\n",
        "",
    ],
)
def test_docker_on_every_kind_of_storage(tmp_path: Path, root: str) -> None:
    assert kind(plant(tmp_path, DOCKER | {"proc/self/mountinfo": root})) is ContainerKind.DOCKER


def test_a_host_that_runs_containers_is_none(tmp_path: Path) -> None:
    mounts = (
        DISK
        + "80 29 0:80 / /var/lib/docker/overlay2/ab/merged rw - overlay overlay rw\n"
        + "81 29 0:81 / /var/lib/kubelet/pods/12/volumes/x rw - tmpfs tmpfs rw\n"
        + "82 29 0:82 / /run/containerd/io.containerd/x/rootfs rw - overlay overlay rw\n"
    )
    groups = {
        "proc/1/cgroup": "0::/init.scope\n",
        "proc/self/cgroup": "0::/system.slice/docker.service\n",
    }
    assert kind(plant(tmp_path, DEBIAN | groups | {"proc/self/mountinfo": mounts})) is None


@given(st.binary(max_size=200), st.text(max_size=200), st.text(max_size=200))
def test_no_file_is_too_odd(
    tmp_path_factory: pytest.TempPathFactory, first: bytes, mounts: str, groups: str
) -> None:
    files: Files = {"proc/1/environ": first, ".dockerenv": ""}
    files["proc/self/mountinfo"] = mounts.encode("utf-8", "surrogatepass")
    files["proc/1/cgroup"] = groups.encode("utf-8", "surrogatepass")
    ask(plant(tmp_path_factory.mktemp("container"), files))


# --- what is mapped -------------------------------------------------------------------------


def test_nothing_is_mapped(tmp_path: Path) -> None:
    # The host's module shows through, since /proc/driver is the same in every container.
    text = CLOSED_MODULE.format("580.65.06")
    plant(tmp_path, DOCKER | {"proc/driver/nvidia/version": text})
    found = ask(tmp_path, {"CUDA_VERSION": "12.4.1"})
    assert found is not None
    assert found == Container(
        ContainerKind.DOCKER, image_cuda="12.4.1", host_release=found.host_release
    )
    assert str(found.host_release) == "580.65.06"


def test_all_is_mapped_by_the_old_command(tmp_path: Path) -> None:
    driver(plant(tmp_path, DOCKER | {"proc/self/mountinfo": OVERLAY + TMPFS + BOUND}))
    env = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    found = ask(tmp_path, env)
    assert found is not None
    assert (found.gpu_mapped, found.driver_mapped, found.mode) == (True, True, "legacy")
    assert (found.visible_devices, found.capabilities) == ("all", "compute,utility")


@pytest.mark.parametrize(
    ("environ", "mode"),
    [
        ({"NVIDIA_VISIBLE_DEVICES": "void"}, "cdi"),
        ({"NVIDIA_VISIBLE_DEVICES": "nvidia.com/gpu=0"}, "cdi"),
        ({"NVIDIA_VISIBLE_DEVICES": "runtime.nvidia.com/gpu=all"}, "cdi"),
        ({"NVIDIA_CTK_LIBCUDA_DIR": f"/{LIB}", "NVIDIA_VISIBLE_DEVICES": "0"}, "cdi"),
        ({"NVIDIA_VISIBLE_DEVICES": "all"}, None),
        ({}, None),
    ],
)
def test_a_description_leaves_its_variables(
    tmp_path: Path, environ: Mapping[str, str], mode: str | None
) -> None:
    driver(plant(tmp_path, DOCKER | {"proc/self/mountinfo": OVERLAY + BOUND}))
    found = ask(tmp_path, environ)
    assert found is not None
    assert (found.mode, found.gpu_mapped) == (mode, True)


def test_void_without_a_gpu_is_a_wish_for_none(tmp_path: Path) -> None:
    found = ask(plant(tmp_path, DOCKER), {"NVIDIA_VISIBLE_DEVICES": "void"})
    assert found is not None
    assert (found.mode, found.visible_devices) == (None, "void")


def test_a_jetson_maps_by_its_lists(tmp_path: Path) -> None:
    plant(tmp_path, DOCKER | {"dev/nvmap": "", "usr/lib64/libcuda.so.1": LIBRARY})
    found = ask(tmp_path, {"NVIDIA_VISIBLE_DEVICES": "all"}, jetson=True)
    assert found is not None
    assert (found.mode, found.gpu_mapped) == ("csv", True)
    found = ask(tmp_path, {"NVIDIA_VISIBLE_DEVICES": "nvidia.com/gpu=all"}, jetson=True)
    assert found is not None
    assert found.mode == "cdi"


@pytest.mark.parametrize(
    ("release", "host", "mounts", "mapped"),
    [
        ("580.65.06", "580.65.06", OVERLAY, True),  # LXC: the same release, installed twice
        ("575.57.08", "580.65.06", OVERLAY, False),  # came with the image
        ("575.57.08", "580.65.06", OVERLAY + BOUND.replace("580.65.06", "575.57.08"), True),
        ("575.57.08", "", OVERLAY, True),  # nobody can tell
        ("575.57.08", "580.65.06", "", True),
    ],
)
def test_a_library_is_the_hosts_or_the_images(
    tmp_path: Path, release: str, host: str, mounts: str, mapped: bool
) -> None:
    driver(plant(tmp_path, DOCKER | {"proc/self/mountinfo": mounts}), release)
    plant(tmp_path, {"proc/driver/nvidia/version": CLOSED_MODULE.format(host) if host else ""})
    plant(tmp_path, {"sys/module/nvidia/version": f"{host}\n"})
    found = ask(tmp_path)
    assert found is not None
    assert found.driver_mapped == mapped


def test_a_folder_of_libraries_that_a_node_hands_in(tmp_path: Path) -> None:
    folder = "usr/local/nvidia"
    mounts = f"{OVERLAY}751 700 8:1 /opt/node/nvidia /{folder} ro - ext4 /dev/sda1 ro\n"
    plant(tmp_path, DOCKER | {"proc/self/mountinfo": mounts})
    plant(tmp_path, {"proc/driver/nvidia/version": CLOSED_MODULE.format("580.65.06")})
    plant(tmp_path, {f"{folder}/lib64/libcuda.so.1": LIBRARY})
    found = ask(tmp_path)
    assert found is not None
    assert (found.driver_mapped, found.gpu_mapped) == (True, False)


def test_a_compat_library_of_the_image_is_no_driver(tmp_path: Path) -> None:
    folder = "usr/local/cuda-13.0/compat"
    cache = ldcache([("libcuda.so.1", f"/{folder}/libcuda.so.1")])
    plant(tmp_path, DOCKER | {"etc/ld.so.cache": cache})
    plant(tmp_path, {f"{folder}/libcuda.so.1": LIBRARY})
    found = ask(tmp_path)
    assert found is not None
    assert not found.driver_mapped


# --- variables ------------------------------------------------------------------------------

FIRST = (
    b"PATH=/bin\0NVIDIA_VISIBLE_DEVICES=0,1\0"
    b"NVIDIA_DRIVER_CAPABILITIES=utility\0CUDA_VERSION=13.0.1"
)


def test_variables_that_the_shell_has_lost(tmp_path: Path) -> None:
    plant(tmp_path, DOCKER | {"proc/1/environ": FIRST})
    found = ask(tmp_path)
    assert found is not None
    assert (found.visible_devices, found.capabilities, found.image_cuda) == (
        "0,1",
        "utility",
        "13.0.1",
    )


def test_the_shells_own_come_first_also_when_they_are_empty(tmp_path: Path) -> None:
    plant(tmp_path, DOCKER | {"proc/1/environ": FIRST})
    names = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "CUDA_VERSION")
    found = ask(tmp_path, dict.fromkeys(names, ""))
    assert found is not None
    assert (found.visible_devices, found.capabilities, found.image_cuda) == ("", "", None)


def test_nonsense_in_variables(tmp_path: Path) -> None:
    found = ask(plant(tmp_path, DOCKER), {"NVIDIA_VISIBLE_DEVICES": " \x1b[2Jall\n\udcff" * 9000})
    assert found is not None
    assert found.visible_devices is not None
    assert found.visible_devices.startswith("?[2Jall??")
    assert found.visible_devices.isprintable()
    assert len(found.visible_devices) == 4096


def test_the_uuids_of_sixteen_gpus_are_kept(tmp_path: Path) -> None:
    uuids = ",".join(f"GPU-{n:08x}-1111-2222-3333-444444444444" for n in range(16))
    found = ask(plant(tmp_path, DOCKER), {"NVIDIA_VISIBLE_DEVICES": uuids})
    assert found is not None
    assert found.visible_devices == uuids
