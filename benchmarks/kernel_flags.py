"""How benchmarks compile kernel files: with torch's flags, counting a processor's seconds."""

from __future__ import annotations

import importlib.util
import resource
import sysconfig
from pathlib import Path

from timing import Command, run_once

FLAGS = (
    "-std=c++20",
    "--expt-relaxed-constexpr",
    "--extended-lambda",
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "-DTORCH_API_INCLUDE_EXTENSION_H",
    "-DTORCH_EXTENSION_NAME=_C",
)


def kernel_flags() -> list[str]:
    """What torch's BuildExtension passes to nvcc, but for architectures."""
    # Not imported: a child counts the memory of the process that it is forked from.
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise SystemExit("there is no torch in this environment")
    include = Path(spec.origin).parent / "include"
    api = include / "torch" / "csrc" / "api" / "include"
    return [*FLAGS, f"-I{include}", f"-I{api}", f"-I{sysconfig.get_path('include')}"]


def run_counted(command: Command) -> tuple[float, int]:
    """Run it; seconds of a processor, its children's too, and bytes at the largest one's peak."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, memory = run_once(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, memory
