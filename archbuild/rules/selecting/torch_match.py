"""Whether an nvcc and a torch fit together, with the cure where they don't."""

from __future__ import annotations

from archbuild.errors import BuildError, NoToolkitError, NoTorchError
from archbuild.model.machine import Machine, Toolkit
from archbuild.model.version import CudaVersion

#: CUDA versions for which archbuild has an extra that brings the toolkit.
EXTRAS = (CudaVersion(13, 0), CudaVersion(13, 2))


def check_torch_match(machine: Machine) -> str | None:
    """Refuse to build an extension that this torch could not load.

    Args:
        machine: Its first toolkit and its torch are judged.

    Returns:
        A warning where only the minor versions differ, else None.

    Raises:
        NoTorchError: If there is no torch, or only one without CUDA.
        NoToolkitError: If there is no nvcc.
        BuildError: If torch and nvcc are of different CUDA major versions.
    """
    torch, toolkit = machine.torch, machine.toolkit
    if torch is None:
        raise NoTorchError("torch is not installed in this environment.", _torch_cure(toolkit))
    if torch.cuda is None:
        raise NoTorchError(
            f"torch {torch.version} ({torch.root}) is built without CUDA, so it can load no CUDA "
            f"extension; {_has(toolkit)}.",
            _torch_cure(toolkit),
        )
    if toolkit is None:
        reason = machine.absence("toolkit") or "no nvcc was found"
        raise NoToolkitError(
            f"There is no CUDA Toolkit for torch {torch.version} of CUDA {torch.cuda} "
            f"({torch.root}): {reason}.",
            toolkit_cure(torch.cuda),
        )
    if torch.cuda.major != toolkit.version.major:
        raise BuildError(
            f"torch {torch.version} ({torch.root}) is of CUDA {torch.cuda}, and nvcc is of CUDA "
            f"{toolkit.version} ({toolkit.nvcc}): an extension built so would not load.",
            f"{toolkit_cure(torch.cuda)} Or: {_torch_cure(toolkit)}",
        )
    if torch.cuda != toolkit.version:
        return (
            f"nvcc is of CUDA {toolkit.version} ({toolkit.nvcc}) and torch {torch.version} of CUDA "
            f"{torch.cuda}: the minor versions differ, which mostly works."
        )
    return None


def toolkit_cure(cuda: CudaVersion) -> str:
    """How to get an nvcc of this CUDA, as one sentence.

    The package index has nvcc from CUDA 13 on; of CUDA 12 only ptxas.
    """
    if cuda in EXTRAS:
        return f'Install the toolkit: pip install "archbuild[cu{cuda.major}{cuda.minor}]"'
    if cuda.major >= EXTRAS[0].major:
        return (
            f'Install the toolkit: pip install "cuda-toolkit[nvcc,cccl]=={cuda}.*" '
            "nvidia-cuda-cuobjdump"
        )
    return (
        f"The package index has no nvcc of CUDA {cuda.major}: take conda's "
        f"(conda install -c nvidia cuda-toolkit={cuda}) or the system's, and set CUDA_HOME."
    )


def _has(toolkit: Toolkit | None) -> str:
    if toolkit is None:
        return "there is no nvcc here either"
    return f"nvcc is of CUDA {toolkit.version} ({toolkit.nvcc})"


def _torch_cure(toolkit: Toolkit | None) -> str:
    cuda = toolkit.version if toolkit is not None else EXTRAS[0]
    tag = f"cu{cuda.major}{cuda.minor}"
    return f"pip install torch --index-url https://download.pytorch.org/whl/{tag}"
