"""What lies of the driver on the disk, in the kernel and in ``/dev``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from archbuild.model.surroundings import DriverFiles
from archbuild.model.version import DriverRelease
from archbuild.probe.gpus import parse_kernel_module
from archbuild.probe.ldcache import parse_ldcache
from archbuild.probe.system import kernel_release
from archbuild.probe.tree import Tree

_LIBRARY = "libcuda.so.1"
_RELEASE = re.compile(r"\d{3}\.\d+(?:\.\d+)*", re.ASCII)
# What CUDA opens of a GPU: with a driver of its own, in WSL, and on a Jetson.
_NODE = re.compile(
    r"nvidia(?:\d+|ctl|-uvm|-uvm-tools|-modeset|-nvswitch\w*)|dxg|nvmap|nvhost-(?:ctrl-)?gpu",
    re.ASCII,
)
_GPU_NODE = re.compile(r"/dev/(?:nvidia\d+|dxg|nvmap|nvhost-(?:ctrl-)?gpu)", re.ASCII)
# The kernel keeps 15 bytes of a process's name, which is nv-fabricmanager.
_FABRIC_MANAGER = "nv-fabricmanage"


def query_driver_files(
    tree: Tree, processor: str, environ: Mapping[str, str] | None = None
) -> DriverFiles:
    """What can be read of the driver without calling it.

    Args:
        tree: The machine's files.
        processor: As in :class:`archbuild.model.machine.Machine`.
        environ: The environment variables, of which one may name a folder.
    """
    told = tree.text("/proc/driver/nvidia/version", limit=1 << 16) or ""
    stated = tree.text("/sys/module/nvidia/version", limit=64) or ""
    libraries = tuple(_libraries(tree, processor, environ or {}))
    nodes = _nodes(tree)
    return DriverFiles(
        kernel_release=parse_kernel_module(told) or _release(stated.strip()),
        module_on_disk=_module_on_disk(tree, processor),
        libraries=libraries,
        library_release=release_of_library(libraries[0]) if libraries else None,
        device_nodes=nodes,
        closed_nodes=tuple(node for node in nodes if not tree.may_use(node)),
        nouveau=_has_nouveau(tree),
        hidden=hidden(tree),
        open_module="Open Kernel Module" in told if told else None,
        fabric_manager=_fabric_manager(tree, nodes),
    )


def hidden(tree: Tree) -> tuple[str, ...]:
    """What this user was not let read so far, and ``/proc`` where processes are hidden."""
    lost = () if tree.holds("/proc/1") else ("/proc",)
    return tuple(dict.fromkeys((*lost, *tree.closed)))


def is_gpu_node(node: str) -> bool:
    """Whether a path such as ``/dev/nvidia0`` is a GPU's own."""
    return _GPU_NODE.fullmatch(node) is not None


def release_of_library(path: str) -> DriverRelease | None:
    """The release in the name of a file of libcuda; None in names without one.

    Examples:
        >>> str(release_of_library("/usr/lib64/libcuda.so.580.65.06"))
        '580.65.06'
    """
    return _release(path.rpartition("/")[2].removeprefix("libcuda.so."))


def _release(text: str) -> DriverRelease | None:
    return DriverRelease.parse(text) if _RELEASE.fullmatch(text) else None


# --- the library ----------------------------------------------------------------------------


def _libraries(tree: Tree, processor: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Each real file once, the loader's choice first."""
    cache = tree.data("/etc/ld.so.cache") or b""
    listed = parse_ldcache(cache, _LIBRARY, processor)
    usual = (f"{folder}/{_LIBRARY}" for folder in _folders(processor, environ))
    seen = set()
    for path in (*listed, *usual):
        found = tree.real(path)
        if found is not None and found not in seen and _is_library(tree, found):
            seen.add(found)
            yield found


def _folders(processor: str, environ: Mapping[str, str]) -> Iterator[str]:
    # The container toolkit names the folder where it put the library, if it is no usual one.
    told = environ.get("NVIDIA_CTK_LIBCUDA_DIR", "")
    if told.startswith("/"):
        yield told.rstrip("/")
    system = f"/usr/lib/{processor}-linux-gnu"
    yield from (system, "/usr/lib64", "/usr/lib", "/usr/lib/wsl/lib", f"{system}/nvidia/current")
    yield from (f"{system}/nvidia", f"{system}/tegra")  # Jetson
    # Nodes of Kubernetes, NixOS, Apptainer.
    yield from ("/usr/local/nvidia/lib64", "/run/opengl-driver/lib", "/.singularity.d/libs")


def _is_library(tree: Tree, path: str) -> bool:
    """Whether it is an ELF file of 64 bits: the driver has some of 32 beside them."""
    return (tree.data(path, limit=5) or b"") == b"\x7fELF\x02"


# --- the kernel -----------------------------------------------------------------------------


def _module_on_disk(tree: Tree, processor: str) -> DriverRelease | None:
    """The release of the module that modprobe would load for the kernel that runs."""
    kernel = kernel_release(tree)
    if kernel is None or "/" in kernel:
        return None
    folder = f"/lib/modules/{kernel}"
    listed = tree.text(f"{folder}/modules.dep") or ""
    match = re.search(r"^((?:\S*/)?nvidia\.ko)(\.\w+)?:", listed, re.MULTILINE | re.ASCII)
    if match is None:
        return None
    if match[2]:
        return _of_dkms(tree, kernel, processor)  # To unpack it would take too long.
    path = match[1] if match[1].startswith("/") else f"{folder}/{match[1]}"
    return _release(_modinfo(tree, path).get("version", ""))


def _of_dkms(tree: Tree, kernel: str, processor: str) -> DriverRelease | None:
    """By the link that DKMS keeps to what it built for a kernel: ``580.65.06/KERNEL/x86_64``."""
    for package in tree.names("/var/lib/dkms") or ():
        if package.startswith("nvidia"):
            link = tree.link(f"/var/lib/dkms/{package}/kernel-{kernel}-{processor}") or ""
            found = _release(link.partition("/")[0])
            if found is not None:
                return found
    return None


def _modinfo(tree: Tree, path: str) -> Mapping[str, str]:
    """What a module's file says of itself, in a section of strings: ``version=580.65.06``."""
    from archbuild.binary.elf import read_header, read_section, read_sections  # noqa: PLC0415
    from archbuild.binary.source import FileSource  # noqa: PLC0415 -- only where there is one
    from archbuild.errors import ArchbuildError  # noqa: PLC0415

    real = tree.real(path)
    if real is None:
        return {}
    try:
        with tree.place(real).open("rb") as file:
            source = FileSource(path, file, file.seek(0, 2))
            sections = read_sections(source, read_header(source))
            found = next((s for s in sections if s.name == ".modinfo"), None)
            data = read_section(source, found) if found else b""
    except (OSError, ValueError, ArchbuildError):
        return {}
    pairs = (piece.partition(b"=") for piece in data.split(b"\0"))
    return {n.decode("utf-8", "replace"): v.decode("utf-8", "replace") for n, _, v in pairs}


def _has_nouveau(tree: Tree) -> bool:
    if tree.holds("/sys/module/nouveau"):
        return True
    loaded = tree.text("/proc/modules") or ""
    return any(line.startswith("nouveau ") for line in loaded.splitlines())


# --- nodes and processes --------------------------------------------------------------------


def _nodes(tree: Tree) -> tuple[str, ...]:
    """GPUs in the order of their numbers, then the others."""
    names = [name for name in tree.names("/dev") or () if _NODE.fullmatch(name)]
    ordered = sorted(names, key=lambda name: (not name[-1].isdigit(), len(name), name))
    return tuple(node for name in ordered if tree.is_device(node := f"/dev/{name}"))


def _fabric_manager(tree: Tree, nodes: tuple[str, ...]) -> bool | None:
    """Whether it runs, where switches between the GPUs need it."""
    if not any("nvswitch" in node for node in nodes):
        return None
    for process in tree.names("/proc") or ():
        if process.isdecimal() and _name(tree, process) == _FABRIC_MANAGER:
            return True
    # Who sees a thread of the kernel sees all processes; a container sees its own alone.
    return False if _name(tree, "2") == "kthreadd" else None


def _name(tree: Tree, process: str) -> str:
    return (tree.text(f"/proc/{process}/comm", limit=64, quiet=True) or "").strip()
