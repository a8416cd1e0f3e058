"""What packages read from the environment when they are built: typed rows.

Gathered from the setup.py and the documentation of each project, 2026-12. What is set
beside ``TORCH_CUDA_ARCH_LIST`` does no harm where a version doesn't read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from archbuild.model.arch import Arch, Suffix

_READ = date(2026, 12, 1)


def _numbers(archs: Sequence[Arch]) -> str:
    """``80;90``: without dots and suffixes."""
    return ";".join(dict.fromkeys(str(arch.capability.number) for arch in archs))


def _commas(archs: Sequence[Arch]) -> str:
    """``80,90``."""
    return _numbers(archs).replace(";", ",")


def _dotted(archs: Sequence[Arch]) -> str:
    """``8.0;9.0a``."""
    return ";".join(arch.dotted for arch in archs)


def _cmake(archs: Sequence[Arch]) -> str:
    """``80-real;90a-real``, as CMAKE_CUDA_ARCHITECTURES has it."""
    return ";".join(f"{_with_suffix(arch)}-real" for arch in archs)


def _gencodes(archs: Sequence[Arch]) -> str:
    """``arch=compute_80,code=sm_80``, one after the other."""
    return ";".join(
        f"arch=compute_{_with_suffix(arch)},code=sm_{_with_suffix(arch)}" for arch in archs
    )


def _with_suffix(arch: Arch) -> str:
    suffix = "" if arch.suffix is Suffix.PLAIN else arch.suffix.value
    return f"{arch.capability.number}{suffix}"


@dataclass(frozen=True)
class ListVariable:
    """A variable that takes architectures.

    Args:
        name: Of the variable.
        spell: How it wants them.
        inside: What stands around the list, with ``{}`` for it.
    """

    name: str
    spell: Callable[[Sequence[Arch]], str]
    inside: str = "{}"

    def value(self, archs: Sequence[Arch]) -> str:
        """The value for these architectures."""
        return self.inside.format(self.spell(archs))


@dataclass(frozen=True)
class PackageRow:
    """What one package, or several of one kind, read when they are built.

    Args:
        names: Their names, lower case, with ``-`` for ``_`` and ``.``.
        lists: Variables for architectures.
        fixed: Variables with one value: those that force a build from source.
        least: The lowest major number that it supports; None: no limit.
        refused: Why pip cannot build it; empty: it can.
        with_torch: Whether its build imports torch, whatever its metadata says.
        source: Where it is read.
        read: When that was looked at.
    """

    names: tuple[str, ...]
    lists: tuple[ListVariable, ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()
    least: int | None = None
    refused: str = ""
    with_torch: bool = True
    source: str = "setup.py"
    read: date = _READ


_BAZEL = "it is built with Bazel, by its own scripts"

#: Every package that is known to want more than TORCH_CUDA_ARCH_LIST, or not to be built by pip.
PACKAGES = (
    PackageRow(
        ("flash-attn",),
        (ListVariable("FLASH_ATTN_CUDA_ARCHS", _numbers),),
        (("FLASH_ATTENTION_FORCE_BUILD", "TRUE"),),
        least=8,
    ),
    PackageRow(
        ("transformer-engine", "transformer-engine-torch"),
        (ListVariable("NVTE_CUDA_ARCHS", _numbers),),
        (("NVTE_FRAMEWORK", "pytorch"),),
        source="docs.nvidia.com/deeplearning/transformer-engine, environment variables",
    ),
    PackageRow(("tinycudann",), (ListVariable("TCNN_CUDA_ARCHITECTURES", _commas),)),
    PackageRow(("natten",), (ListVariable("NATTEN_CUDA_ARCH", _dotted),)),
    PackageRow(("causal-conv1d",), fixed=(("CAUSAL_CONV1D_FORCE_BUILD", "TRUE"),)),
    PackageRow(("mamba-ssm",), fixed=(("MAMBA_FORCE_BUILD", "TRUE"),)),
    PackageRow(
        (
            *("torch-scatter", "torch-sparse", "torch-cluster", "torch-spline-conv", "pyg-lib"),
            *("detectron2", "pytorch3d", "torchvision", "xformers"),
        ),
        fixed=(("FORCE_CUDA", "1"),),
    ),
    PackageRow(("mmcv", "mmcv-full"), fixed=(("MMCV_WITH_OPS", "1"), ("FORCE_CUDA", "1"))),
    PackageRow(("apex",), fixed=(("APEX_CPP_EXT", "1"), ("APEX_CUDA_EXT", "1"))),
    PackageRow(("deepspeed",), fixed=(("DS_BUILD_OPS", "1"),)),
    PackageRow(("auto-gptq",), fixed=(("BUILD_CUDA_EXT", "1"),)),
    PackageRow(("gptqmodel",), fixed=(("GPTQMODEL_FORCE_BUILD", "1"),)),
    PackageRow(
        ("llama-cpp-python",),
        (ListVariable("CMAKE_ARGS", _cmake, '-DGGML_CUDA=on "-DCMAKE_CUDA_ARCHITECTURES={}"'),),
        (("FORCE_CMAKE", "1"),),
        with_torch=False,
        source="README.md",
    ),
    PackageRow(
        ("bitsandbytes",),
        (ListVariable("CMAKE_ARGS", _numbers, '-DCOMPUTE_BACKEND=cuda "-DCOMPUTE_CAPABILITY={}"'),),
        with_torch=False,
        source="CMakeLists.txt",
    ),
    PackageRow(
        ("cupy",),
        (ListVariable("CUPY_NVCC_GENERATE_CODE", _gencodes),),
        with_torch=False,
        source="install/cupy_builder/_compiler.py",
    ),
    PackageRow(("tensorflow", "tensorflow-gpu", "jaxlib"), refused=_BAZEL),
    PackageRow(
        ("jax-cuda12-plugin", "jax-cuda13-plugin", "jax-cuda12-pjrt", "jax-cuda13-pjrt"),
        refused=_BAZEL,
    ),
    PackageRow(("torch",), refused="its build takes hours and more than pip gives it"),
    PackageRow(
        ("onnxruntime-gpu", "ctranslate2", "faiss-gpu", "faiss-gpu-cu12"),
        refused="its source package builds no library; its own build script does",
    ),
)


def find_package_row(name: str) -> PackageRow | None:
    """The row of a package, by its name in any spelling; None: nothing special is known."""
    plain = re.sub(r"[-_.]+", "-", name).lower()
    if re.fullmatch(r"cupy-cuda\d+x?", plain):
        plain = "cupy"
    return next((row for row in PACKAGES if plain in row.names), None)
