"""The GPUs of this machine: three sources, each asked in a child process, then joined."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from archbuild.model.version import DriverRelease
from archbuild.probe.gpu_answer import (
    NVML,
    SMI_FIELDS,
    SMI_NEWER_FIELDS,
    Answer,
    read_cuda,
    read_nvml,
    read_smi,
    refuses_fields,
)
from archbuild.probe.gpu_join import GpuView, join_answers
from archbuild.probe.places import Places, is_file
from archbuild.probe.process import Outcome, run_limited, run_together

#: Seconds for each source.
TIMEOUT = 5.0

_KERNEL_MODULE = Path("/proc/driver/nvidia/version")

# Where nvidia-smi lies when it is not on PATH: WSL's, and that of older Windows drivers.
_SMI_PLACES = (
    Path("/usr/lib/wsl/lib/nvidia-smi"),
    Path("C:/Program Files/NVIDIA Corporation/NVSMI/nvidia-smi.exe"),
)


def query_gpus(
    *,
    timeout: float = TIMEOUT,
    environ: Mapping[str, str] | None = None,
    kernel_module: Path = _KERNEL_MODULE,
) -> GpuView:
    """Every GPU of this machine, and which of them CUDA sees.

    NVML, the CUDA driver and nvidia-smi are asked side by side, each in a
    process of its own, so that none can hang or crash this one.

    Args:
        timeout: Seconds for each source.
        environ: The environment of the question; None: this process's.
        kernel_module: The file in which the kernel module states its release.

    Returns:
        The GPUs, the driver, and the reason for whatever is missing.
    """
    env = os.environ if environ is None else environ
    folder = _pynvml_folder()
    smi = _smi(env)
    commands = [_smi_command(smi, SMI_FIELDS), _child("ask_cuda.py")]
    if folder is not None:
        commands.append(_child("ask_nvml.py", folder))
    outcomes = run_together(commands, timeout=timeout, env=env)
    nvml = read_nvml(outcomes[2]) if folder is not None else _NO_PYNVML
    return join_answers(
        nvml,
        read_cuda(outcomes[1]),
        _read_smi(smi, outcomes[0], timeout, env),
        read_kernel_module(kernel_module),
    )


_NO_PYNVML = Answer(
    NVML,
    reason="the module pynvml is not in this environment: pip install nvidia-ml-py",
    said="the module pynvml is not in this environment",
)


def _child(script: str, *args: str) -> list[str]:
    # Isolated and without site-packages: nothing of the environment runs in it.
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name(script)), *args]


def _pynvml_folder() -> str | None:
    """The folder to import pynvml from, found without importing it."""
    try:
        spec = importlib.util.find_spec("pynvml")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin)
    return str(path.parent.parent if spec.submodule_search_locations else path.parent)


def _smi(env: Mapping[str, str]) -> str:
    on_path = Places.here(env).on_path("nvidia-smi")
    elsewhere = (place for place in _SMI_PLACES if is_file(place))
    return str(next(chain(on_path, elsewhere), "nvidia-smi"))


def _smi_command(smi: str, fields: tuple[str, ...]) -> list[str]:
    return [smi, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]


def _read_smi(smi: str, outcome: Outcome, timeout: float, env: Mapping[str, str]) -> Answer:
    if not refuses_fields(outcome):
        return read_smi(outcome)
    fields = tuple(field for field in SMI_FIELDS if field not in SMI_NEWER_FIELDS)
    return read_smi(run_limited(_smi_command(smi, fields), timeout=timeout, env=env), fields)


def parse_kernel_module(text: str) -> DriverRelease | None:
    """The release in the text of ``/proc/driver/nvidia/version``; None without one."""
    match = re.search(r"^NVRM version:.*?\s(\d{3}\.\d+(?:\.\d+)*)\s", text, re.MULTILINE | re.ASCII)
    return DriverRelease.parse(match[1]) if match else None


def read_kernel_module(path: Path = _KERNEL_MODULE) -> DriverRelease | None:
    """The release which the loaded kernel module states; None without one."""
    try:
        return parse_kernel_module(path.read_text("utf-8", "replace"))
    except OSError:
        return None
