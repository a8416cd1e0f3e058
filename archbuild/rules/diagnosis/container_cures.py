"""How a container is started with the GPU: docker, compose, Kubernetes and the others; pure.

Words in capitals are places for what only the person knows.
"""

from __future__ import annotations

from archbuild.model.machine import Machine
from archbuild.model.surroundings import ContainerKind
from archbuild.rules.diagnosis.sight import around, container_of

#: What the host needs once, for docker.
CONFIGURE = "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"
#: A description of the GPUs for CDI, which keeps them through systemctl daemon-reload.
DESCRIBE = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"


def start_with_gpu(machine: Machine, *variables: str, capabilities: str = "gpu") -> tuple[str, ...]:
    """The forms of a container with the GPU, that of its own engine first.

    Args:
        machine: With its container.
        variables: To set besides, ``NVIDIA_VISIBLE_DEVICES=all``.
        capabilities: What compose asks for: those that are named there count, whatever
            the variable says.
    """
    container = container_of(machine)
    if container is not None and container.kind is ContainerKind.KUBERNETES:
        return (
            kubernetes(*variables),
            docker(*variables),
            compose(*variables, capabilities=capabilities),
        )
    if around(machine).jetson is not None:
        return (jetson(*variables), compose(*variables, runtime=True), kubernetes(*variables))
    if container is not None and container.kind in _OTHERS:
        return _OTHERS[container.kind]
    composed = compose(*variables, capabilities=capabilities)
    return (docker(*variables), composed, kubernetes(*variables), CONFIGURE)


def docker(*variables: str) -> str:
    """As ``docker run``."""
    return f"docker run --gpus all {_flags(variables)}IMAGE"


def jetson(*variables: str) -> str:
    """As ``docker run`` on a Jetson, whose devices only NVIDIA's runtime maps."""
    return f"docker run --runtime nvidia {_flags(variables)}IMAGE"


def compose(*variables: str, runtime: bool = False, capabilities: str = "gpu") -> str:
    """As a file that is laid over that of compose."""
    devices = f"devices: [{{driver: nvidia, count: all, capabilities: [{capabilities}]}}]"
    wish = (
        "runtime: nvidia" if runtime else f"deploy: {{resources: {{reservations: {{{devices}}}}}}}"
    )
    listed = ", ".join(f'"{variable}"' for variable in variables)
    environment = f", environment: [{listed}]" if variables else ""
    return (
        f"echo 'services: {{SERVICE: {{{wish}{environment}}}}}' > gpu.yaml && "
        "docker compose -f compose.yaml -f gpu.yaml up -d"
    )


def kubernetes(*variables: str) -> str:
    """As a change of a deployment."""
    pairs = (variable.partition("=") for variable in variables)
    listed = ",".join(f'{{"name":"{name}","value":"{value}"}}' for name, _, value in pairs)
    environment = f',"env":[{listed}]' if variables else ""
    container = (
        f'{{"name":"CONTAINER","resources":{{"limits":{{"nvidia.com/gpu":1}}}}{environment}}}'
    )
    spec = f'{{"runtimeClassName":"nvidia","containers":[{container}]}}'
    return f'kubectl patch deployment NAME -p \'{{"spec":{{"template":{{"spec":{spec}}}}}}}\''


def _flags(variables: tuple[str, ...]) -> str:
    return "".join(f"-e {variable} " for variable in variables)


_OTHERS = {
    ContainerKind.PODMAN: ("podman run --device nvidia.com/gpu=all IMAGE", DESCRIBE),
    ContainerKind.APPTAINER: ("apptainer exec --nv IMAGE.sif COMMAND",),
    ContainerKind.LXC: (
        "lxc config device add NAME gpu gpu",
        "lxc config set NAME nvidia.runtime true",
        "lxc restart NAME",
    ),
}
