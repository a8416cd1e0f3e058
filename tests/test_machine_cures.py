"""The cures are commands that can be pasted, and none does more than it must."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from typing import Any

import pytest

from archbuild.facts.architectures import CAPABILITIES
from archbuild.facts.drivers import RETIRED
from archbuild.facts.kernel_modules import FLAVOURS, PACKAGES, find_flavour, find_packages
from archbuild.model.arch import ComputeCapability
from archbuild.model.machine import Machine
from archbuild.model.surroundings import Container, ContainerKind
from archbuild.rules.diagnosis.all_rules import diagnose_machine
from archbuild.rules.diagnosis.container_cures import compose, docker, jetson, kubernetes
from archbuild.rules.diagnosis.driver_cures import (
    RESTART,
    Window,
    build_module,
    forbid_nouveau,
    install_driver,
    install_library,
    window_of,
)
from archbuild.rules.diagnosis.search_path import leads_to, variable_of, without_folder
from archbuild.rules.diagnosis.shell import set_variable
from tests.data import machine_parts as parts
from tests.data.make_machine_records import MACHINE_CASES as CASES

_COMMANDS = sorted(
    {
        command
        for case in CASES.values()
        for finding in diagnose_machine(case.machine).findings
        for command in finding.commands
    }
)


def _on(distribution: str | None, **around: Any) -> Machine:
    return parts.machine(parts.around(distribution=distribution, **around))


def _capabilities(text: str) -> list[ComputeCapability]:
    return [ComputeCapability.parse(number) for number in text.split()]


# --- all of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_command_is_one_line_that_a_shell_reads(command: str) -> None:
    assert "\n" not in command
    assert not re.search(r"(?<!\{)\{[a-z_]+\}", command)
    if command.startswith("Remove-Item") or shutil.which("bash") is None:
        return
    run = subprocess.run(["bash", "-n", "-c", command], capture_output=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("command", _COMMANDS)
def test_nothing_is_purged_but_what_is_named(command: str) -> None:
    if "purge" in command or "remove" in command:
        assert "*" not in command
        assert "cuda" not in command


def test_no_cure_for_a_driver_is_the_newest_one() -> None:
    for case in CASES.values():
        for finding in diagnose_machine(case.machine).findings:
            if finding.code == "D306":
                branches = re.findall(r"nvidia-driver-(\d+)", " ".join(finding.commands))
                assert all(int(branch) <= 580 for branch in branches)


# --- containers -----------------------------------------------------------------------------------

_VARIABLE = "NVIDIA_DRIVER_CAPABILITIES=compute,utility"


def test_kubernetes_gets_a_patch_that_is_json() -> None:
    *words, patch = shlex.split(kubernetes(_VARIABLE))
    assert words == ["kubectl", "patch", "deployment", "NAME", "-p"]
    pod = json.loads(patch)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["runtimeClassName"] == "nvidia"
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    assert container["env"] == [
        {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"},
    ]


def test_compose_gets_a_file_of_one_line() -> None:
    words = shlex.split(compose(_VARIABLE, capabilities="gpu, compute, utility"))
    assert words[0] == "echo"
    assert words[1].count("{") == words[1].count("}")
    assert "capabilities: [gpu, compute, utility]" in words[1]
    assert f'environment: ["{_VARIABLE}"]' in words[1]
    assert words[2:5] == [">", "gpu.yaml", "&&"]


def test_docker_gets_flags() -> None:
    assert shlex.split(docker(_VARIABLE)) == [
        *("docker", "run", "--gpus", "all", "-e", _VARIABLE, "IMAGE"),
    ]
    assert jetson() == "docker run --runtime nvidia IMAGE"


# --- the driver -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capabilities", "words"),
    [
        ("12.0", ">= 570 (open)"),
        ("6.1", ">= 410, <= 580 (proprietary)"),
        ("3.5", ">= 410, <= 470 (proprietary)"),
        ("8.6", ">= 455"),
        ("6.1 8.6", ">= 455, <= 580 (proprietary)"),
        ("7.5 12.0", ">= 570 (open)"),
        ("8.7", ""),
        ("", ""),
    ],
)
def test_the_drivers_that_serve_cards(capabilities: str, words: str) -> None:
    window = window_of(_capabilities(capabilities))
    assert str(window) == words
    assert not window.is_empty


@pytest.mark.parametrize("capabilities", ["3.0 12.0", "6.1 12.0", "7.0 10.0", "3.5 9.0"])
def test_cards_that_no_one_driver_serves(capabilities: str) -> None:
    assert window_of(_capabilities(capabilities)).is_empty


@pytest.mark.parametrize(
    ("distribution", "capabilities", "command"),
    [
        ("ubuntu 24.04", "12.0", "sudo apt install nvidia-driver-580-open"),
        ("ubuntu 24.04", "6.1", "sudo apt install nvidia-driver-580"),
        ("ubuntu 22.04", "3.5", "sudo apt install nvidia-driver-470"),
        ("fedora 42", "8.9", "sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda"),
        ("rocky 9.5", "9.0", "sudo dnf module install nvidia-driver:open-dkms"),
        ("rhel 9.4", "7.0", "sudo dnf module install nvidia-driver:580-dkms"),
        ("arch", "12.0", "sudo pacman -S --needed nvidia-open nvidia-utils"),
    ],
)
def test_what_installs_a_driver(distribution: str, capabilities: str, command: str) -> None:
    window = window_of(_capabilities(capabilities))
    assert install_driver(_on(distribution), window) == (command, RESTART)


@pytest.mark.parametrize(
    ("distribution", "capabilities"),
    [
        # These have one driver, the newest, which has left such cards behind.
        ("fedora 42", "6.1"),
        ("arch", "6.1"),
        ("nixos 26.05", "8.9"),
        (None, "8.9"),
        ("ubuntu 24.04", "3.0 12.0"),
        # No branch that is kept is new enough.
        ("ubuntu 24.04", "10.7"),
    ],
)
def test_where_no_command_is_known(distribution: str | None, capabilities: str) -> None:
    assert install_driver(_on(distribution), window_of(_capabilities(capabilities))) == ()


def test_no_driver_is_installed_where_none_belongs() -> None:
    inside = Container(ContainerKind.DOCKER)
    for machine in (
        _on("ubuntu 24.04", container=inside),
        _on("ubuntu 24.04", wsl=True),
        _on("ubuntu 22.04", jetson="NVIDIA Jetson AGX Orin Developer Kit"),
        parts.machine(parts.around(), system="win32"),
    ):
        assert install_driver(machine, Window()) == ()
        assert install_library(machine, 550) == ()


def test_other_commands_by_the_distribution() -> None:
    ubuntu, unknown = _on("ubuntu 24.04"), _on("void")
    assert install_library(ubuntu, 550) == ("sudo apt install libnvidia-compute-550",)
    assert install_library(ubuntu, None) == ()
    assert install_library(unknown, 550) == ()
    assert "linux-headers-$(uname -r)" in build_module(ubuntu)[0]
    assert build_module(unknown) == ("sudo dkms autoinstall", "sudo modprobe nvidia")
    assert forbid_nouveau(_on("fedora 42"))[1] == "sudo dracut --force"
    assert len(forbid_nouveau(unknown)) == 2


# --- facts ----------------------------------------------------------------------------------------


def test_a_generation_without_new_drivers_has_the_proprietary_module_alone() -> None:
    retired = {row.generation for row in RETIRED}
    for row in CAPABILITIES:
        flavour = find_flavour(row.capability)
        assert flavour is not None
        if not row.tegra and row.generation in retired:
            assert (flavour.open, flavour.proprietary) == (False, True)


def test_before_the_table_nothing_is_known() -> None:
    assert find_flavour(ComputeCapability(2, 1)) is None
    assert list(FLAVOURS) == sorted(FLAVOURS, key=lambda row: row.first)


def test_rows_of_packages_are_found_by_their_name() -> None:
    assert all(find_packages(f"{row.distribution} 1.0") is row for row in PACKAGES)
    assert find_packages(None) is None
    assert find_packages("Ubuntu 24.04") is find_packages("ubuntu")


# --- search path ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "path", "command"),
    [
        ("/a:/b", "/a/libcuda.so.1", ("export LD_LIBRARY_PATH=/b",)),
        ("/a/", "/a/libcuda.so.1", ("unset LD_LIBRARY_PATH",)),
        ("/a b:/c", "/c/libcuda.so.1", ("export LD_LIBRARY_PATH='/a b'",)),
        ("/b", "/a/libcuda.so.1", ()),
        ("", "/a/libcuda.so.1", ()),
        # /usr/local/cuda is a link, so that the folder goes by its name.
        ("/usr/local/cuda/lib64/stubs", "/x/stubs/libcuda.so", ("unset LD_LIBRARY_PATH",)),
        ("/usr/local/cuda/lib64", "/x/lib64/libcuda.so.1", ()),
    ],
)
def test_a_folder_leaves_the_search_path(listed: str, path: str, command: tuple[str, ...]) -> None:
    machine = parts.machine(None, variables=(("LD_LIBRARY_PATH", listed),))
    assert without_folder(machine, path) == command
    assert (variable_of(machine, path) is None) == (not command)


def test_a_folder_is_not_another_one_that_begins_so() -> None:
    assert not leads_to("/usr/lib", "/usr/lib64/libcuda.so.1")


def test_a_value_is_quoted_for_its_shell() -> None:
    assert set_variable(parts.machine(None), "A", "b;c") == "export A='b;c'"
    assert set_variable(parts.machine(None, system="win32"), "A", "b") == "$env:A = 'b'"
