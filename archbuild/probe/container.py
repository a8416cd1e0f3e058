"""The container around this process: who runs it, and what of the GPU is mapped into it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from archbuild.model.surroundings import Container, ContainerKind, DriverFiles
from archbuild.probe.driver_files import is_gpu_node, release_of_library
from archbuild.probe.mounts import Mount, mount_of, parse_mounts
from archbuild.probe.process import first_line
from archbuild.probe.tree import Tree

# Some thousand variables, or some thousand mounts.
_LIMIT = 1 << 20
# Characters of a variable: the UUIDs of a hundred GPUs.
_LONGEST = 4096
_ACCOUNT = "/run/secrets/kubernetes.io/serviceaccount"
# Container engines put these files of their own over the image's.
_PLACED = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
# Who it is, by a piece of the name of a control group or of the host's folder of such a file.
_NAMES = (
    (ContainerKind.KUBERNETES, ("kubepods", "/kubelet/pods/", "/kubernetes.io")),
    (ContainerKind.PODMAN, ("libpod", "/overlay-containers/", "/vfs-containers/")),
    (ContainerKind.DOCKER, ("/docker/", "/docker-")),
    (ContainerKind.LXC, ("/lxc/", "/lxc.payload", "/lxd/")),
    (ContainerKind.OTHER, ("cri-containerd", "io.containerd", "/crio-", "/buildkit", "/garden/")),
)
# What engines and systemd call themselves, in the variable or in the file "container".
_SELF_NAMES = {
    "docker": ContainerKind.DOCKER,
    "podman": ContainerKind.PODMAN,
    "lxc": ContainerKind.LXC,
    "lxc-libvirt": ContainerKind.LXC,
    "kube": ContainerKind.KUBERNETES,
}


@dataclass(frozen=True)
class _Signs:
    """What tells of a container.

    Args:
        tree: The machine's files.
        environ: This process's variables.
        first: Those of the container's first process, as far as they may be read.
        mounts: What is mounted.
        groups: The text of the control groups.
    """

    tree: Tree
    environ: Mapping[str, str]
    first: Mapping[str, str]
    mounts: tuple[Mount, ...]
    groups: str

    def variable(self, name: str) -> str | None:
        """A variable; a shell that was started by sshd or sudo has lost it."""
        value = self.environ.get(name, self.first.get(name))
        return None if value is None else _printable(value)


def query_container(
    tree: Tree, environ: Mapping[str, str], files: DriverFiles, *, jetson: bool = False
) -> Container | None:
    """The container around this process; None where nothing tells of one.

    Args:
        tree: The machine's files.
        environ: The environment variables.
        files: What is there of the driver.
        jetson: Whether this is a Jetson, which is mapped in a way of its own.
    """
    signs = _signs(tree, environ)
    kind = _kind(signs)
    if kind is None:
        return None
    gpu = any(map(is_gpu_node, files.device_nodes))
    driver = any(_is_mapped(path, files, signs.mounts) for path in files.libraries)
    return Container(
        kind,
        gpu,
        driver,
        signs.variable("NVIDIA_VISIBLE_DEVICES"),
        signs.variable("NVIDIA_DRIVER_CAPABILITIES"),
        _mode(signs, gpu=gpu, driver=driver, jetson=jetson),
        signs.variable("CUDA_VERSION") or None,
        files.kernel_release,
    )


def _signs(tree: Tree, environ: Mapping[str, str]) -> _Signs:
    data = tree.data("/proc/1/environ", limit=_LIMIT, quiet=True) or b""
    groups = [tree.text(f"/proc/{p}/cgroup", limit=_LIMIT, quiet=True) for p in ("1", "self")]
    mounts = parse_mounts(tree.text("/proc/self/mountinfo", limit=_LIMIT) or "")
    return _Signs(tree, environ, _variables(data), mounts, "\n".join(filter(None, groups)))


def _variables(data: bytes) -> Mapping[str, str]:
    pairs = (piece.partition("=") for piece in data.decode("utf-8", "replace").split("\0"))
    return {name: value for name, equals, value in pairs if equals}


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text.strip())[:_LONGEST]


# --- who runs it ----------------------------------------------------------------------------


def _kind(signs: _Signs) -> ContainerKind | None:
    """The innermost first: Apptainer runs inside of the others too, a pod inside of an engine."""
    if _is_apptainer(signs):
        return ContainerKind.APPTAINER
    found = list(_told(signs))
    if _is_pod(signs, is_container=bool(found)):
        return ContainerKind.KUBERNETES
    kinds = [kind for kind, _ in _NAMES if kind in found]
    return kinds[0] if kinds else None


def _is_apptainer(signs: _Signs) -> bool:
    names = ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER")
    return any(signs.environ.get(name) for name in names) or signs.tree.holds("/.singularity.d")


def _is_pod(signs: _Signs, *, is_container: bool) -> bool:
    """By the variable that every pod has; on a node itself somebody may have set it."""
    service = signs.variable("KUBERNETES_SERVICE_HOST")
    account = signs.tree.holds(_ACCOUNT) or signs.tree.holds(f"/var{_ACCOUNT}")
    return bool(service) and (account or is_container)


def _told(signs: _Signs) -> Iterator[ContainerKind]:
    if signs.tree.holds("/run/.containerenv"):
        yield ContainerKind.PODMAN
    if signs.tree.holds("/.dockerenv") and not _is_whole_disk(signs.mounts):
        yield ContainerKind.DOCKER
    named = (signs.tree.text("/run/systemd/container", limit=64) or "", _own_name(signs))
    for name in (first_line(name) for name in named):
        if name and name != "wsl":  # which systemd counts among them
            yield _SELF_NAMES.get(name, ContainerKind.OTHER)
    places = [mount.top for mount in signs.mounts if mount.point in _PLACED]
    for text in (signs.groups, *places):
        yield from (kind for kind, names in _NAMES if any(name in text for name in names))


def _own_name(signs: _Signs) -> str:
    # What a person's shell says of itself counts for nothing: a sandbox of the desktop sets it.
    return signs.first.get("container", "")


def _is_whole_disk(mounts: tuple[Mount, ...]) -> bool:
    """Whether the root is all of a disk: an image that was unpacked for a machine or for WSL."""
    root = mount_of("/", mounts)
    return root is not None and root.top == "/" and root.device.startswith("/dev/")


# --- what is mapped -------------------------------------------------------------------------


def _is_mapped(path: str, files: DriverFiles, mounts: tuple[Mount, ...]) -> bool:
    """Whether a library is the host's, and not one that came with the image."""
    if "/compat/" in path:
        return False
    mount = mount_of(path, mounts)
    if mount is not None and mount.point != "/":
        return True
    release, host = release_of_library(path), files.kernel_release
    return mount is None or release is None or host is None or release == host


def _mode(signs: _Signs, *, gpu: bool, driver: bool, jetson: bool) -> str | None:
    """How the NVIDIA Container Toolkit mapped the GPU; None where that leaves no trace.

    Its old command mounts a folder of its own over the driver's in /proc; a description
    (CDI) sets the variable so that the old command has nothing to do. Both were read in
    the toolkit's issues and sources in 2026-11.
    """
    if any(mount.point == "/proc/driver/nvidia" for mount in signs.mounts):
        return "legacy"
    wish = signs.variable("NVIDIA_VISIBLE_DEVICES") or ""
    described = wish == "void" or re.match(r"(?:[\w.-]+\.)?nvidia\.com/\w+=", wish, re.ASCII)
    if gpu and (described or signs.variable("NVIDIA_CTK_LIBCUDA_DIR")):
        return "cdi"
    return "csv" if jetson and driver else None
