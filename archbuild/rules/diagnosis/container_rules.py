"""Why a container has no GPU. Each rule answers with its finding, or with None."""

from __future__ import annotations

from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence
from archbuild.model.machine import Machine
from archbuild.model.surroundings import Container, ContainerKind
from archbuild.rules.diagnosis import surrounding_kinds as kinds
from archbuild.rules.diagnosis.container_cures import DESCRIBE, start_with_gpu
from archbuild.rules.diagnosis.kind import Kind, diagnosis_of
from archbuild.rules.diagnosis.sight import (
    CUDA,
    NVML,
    SMI,
    UNKNOWN,
    around,
    card_words,
    code_of,
    container_of,
    errors_of,
    files_of,
    source,
    source_evidence,
)

_ALL = "NVIDIA_VISIBLE_DEVICES=all"
_COMPUTE = "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
#: What keeps a GPU away; the last two do when nothing maps one in another way.
_NOTHING = ("void", "none", "")


def kept_away(machine: Machine) -> Diagnosis | None:
    """NVIDIA_VISIBLE_DEVICES that asks for none; CDI sets it to void and maps the GPU itself."""
    container = container_of(machine)
    if container is None or container.gpu_mapped or container.visible_devices is None:
        return None
    value = container.visible_devices.strip()
    if value not in _NOTHING:
        return None
    return _finding(
        kinds.KEPT_AWAY,
        container,
        machine,
        start_with_gpu(machine, _ALL),
        value=value or '""',
    )


def no_runtime(machine: Machine) -> Diagnosis | None:
    """A pod that was allotted a GPU by name, into which nothing is mapped."""
    container = container_of(machine)
    if container is None or container.gpu_mapped or container.driver_mapped:
        return None
    allotted = (container.visible_devices or "").strip()
    if container.kind is not ContainerKind.KUBERNETES or not allotted.startswith(("GPU-", "MIG-")):
        return None
    default = (
        "sudo nvidia-ctk runtime configure --runtime=containerd --set-as-default && "
        "sudo systemctl restart containerd"
    )
    return _finding(
        kinds.NO_RUNTIME,
        container,
        machine,
        (start_with_gpu(machine)[0], default),
        allotted=allotted,
    )


def no_compute(machine: Machine) -> Diagnosis | None:
    """A GPU without libcuda, where the capabilities don't ask for it."""
    container = container_of(machine)
    if container is None or not container.gpu_mapped or files_of(machine).libraries:
        return None
    value = (container.capabilities or "").strip()
    named = {name.strip() for name in value.split(",")}
    if not value or named & {"compute", "all"}:
        return None
    return _finding(
        kinds.NO_COMPUTE,
        container,
        machine,
        start_with_gpu(machine, _COMPUTE, capabilities="gpu, compute, utility"),
        more=source_evidence(machine, CUDA),
        value=value,
    )


def rules_lost(machine: Machine) -> Diagnosis | None:
    """Device nodes that are there and may no longer be opened: NVML says "Unknown Error"."""
    container = container_of(machine)
    if container is None or not container.gpu_mapped:
        return None
    smi = source(machine, SMI)
    unknown = code_of(machine, NVML) == UNKNOWN or (
        smi is not None and not smi.ok and "Unknown Error" in smi.said and "GPU" not in smi.said
    )
    if not unknown:
        return None
    closed = [Evidence(node, "may not be opened") for node in files_of(machine).closed_nodes]
    return diagnosis_of(
        kinds.RULES_LOST,
        confidence=Confidence.CERTAIN if closed else Confidence.LIKELY,
        evidence=[*_seen(container, machine), *closed, *source_evidence(machine)],
        commands=(*_restart(container), DESCRIBE, _by_cdi(container)),
        errors=errors_of(machine, kinds.RULES_LOST),
        container=container.kind.value,
    )


def _restart(container: Container) -> tuple[str, ...]:
    if container.kind is ContainerKind.KUBERNETES:
        return ("kubectl delete pod NAME",)
    engine = "podman" if container.kind is ContainerKind.PODMAN else "docker"
    return (f"{engine} restart NAME",)


def _by_cdi(container: Container) -> str:
    if container.kind is ContainerKind.KUBERNETES:
        return "helm upgrade NAME nvidia/gpu-operator --reuse-values --set cdi.enabled=true"
    engine = "podman" if container.kind is ContainerKind.PODMAN else "docker"
    return f"{engine} run --device nvidia.com/gpu=all IMAGE"


def not_mapped(machine: Machine) -> Diagnosis | None:
    """A container without the GPU, whose host has a driver, or is a Jetson."""
    container = container_of(machine)
    if container is None or (container.gpu_mapped and container.driver_mapped):
        return None
    if container.host_release is None and around(machine).jetson is None:
        return None
    # Apptainer shows the host's nodes.
    shows_nodes = container.kind is ContainerKind.APPTAINER and not files_of(machine).libraries
    if container.gpu_mapped and not shows_nodes:
        return None
    return _finding(
        kinds.NOT_MAPPED,
        container,
        machine,
        start_with_gpu(machine),
        more=source_evidence(machine, CUDA),
        errors=errors_of(machine, kinds.NOT_MAPPED),
        release=str(container.host_release or ""),
        cards=card_words(around(machine).cards),
    )


def no_libraries(machine: Machine) -> Diagnosis | None:
    """Device nodes that were handed in by themselves."""
    container = container_of(machine)
    if container is None or not container.gpu_mapped or container.driver_mapped:
        return None
    if files_of(machine).libraries:
        return None
    return _finding(
        kinds.NO_LIBRARIES,
        container,
        machine,
        start_with_gpu(machine),
        more=source_evidence(machine, CUDA, NVML),
    )


def own_driver(machine: Machine) -> Diagnosis | None:
    """A libcuda of the image that is of another release than the host's driver."""
    container, files = container_of(machine), files_of(machine)
    if container is None or container.host_release is None or files.library_release is None:
        return None
    first = files.libraries[0] if files.libraries else ""
    if files.library_release == container.host_release or "/compat/" in first:
        return None
    return _finding(
        kinds.OWN_DRIVER,
        container,
        machine,
        (f"dpkg -S {first} || rpm -qf {first}", f"apt-get purge -y {_package(first)}"),
        more=source_evidence(machine),
        library=first,
        release=str(container.host_release),
    )


def _package(library: str) -> str:
    """Ubuntu's package of a libcuda, by its branch."""
    branch = library.rpartition("libcuda.so.")[2].partition(".")[0]
    return f"libnvidia-compute-{branch}"


def _finding(
    kind: Kind,
    container: Container,
    machine: Machine,
    commands: tuple[str, ...],
    *,
    more: list[Evidence] | None = None,
    errors: tuple[int, ...] | None = None,
    **values: str,
) -> Diagnosis:
    evidence = [*_seen(container, machine), *(source_evidence(machine) if more is None else more)]
    return diagnosis_of(
        kind,
        evidence=evidence,
        commands=commands,
        errors=errors,
        container=container.kind.value,
        more=values,
    )


def _seen(container: Container, machine: Machine) -> list[Evidence]:
    """What tells of the container and of what is mapped into it."""
    files = files_of(machine)
    seen = [
        Evidence("container", container.kind.value),
        Evidence("/dev", " ".join(files.device_nodes) or "no device node of a GPU"),
        Evidence("libcuda.so.1", " ".join(files.libraries) or "not there"),
    ]
    named = {
        "NVIDIA_VISIBLE_DEVICES": container.visible_devices,
        "NVIDIA_DRIVER_CAPABILITIES": container.capabilities,
    }
    seen += [Evidence(name, value or '""') for name, value in named.items() if value is not None]
    if container.host_release is not None:
        seen.append(Evidence("/proc/driver/nvidia/version", str(container.host_release)))
    return seen
