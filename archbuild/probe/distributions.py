"""The installed packages that have to do with CUDA, and which of them own the same files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from archbuild.model.installed import Distribution
from archbuild.probe.installations import Installation, normal_name
from archbuild.probe.provenance import read_field, read_text

_CUDA = re.compile(
    r"(?:nvidia|cuda|cupy|cudnn|torch|torchvision|torchaudio|triton|pytorch|jax|jaxlib|tensorflow"
    r"|tf|xformers|flash|onnxruntime|bitsandbytes|tensorrt|nccl|nvshmem)(?:-.*)?",
    re.ASCII,
)
_ANYONES = ("__init__.py", "py.typed", ".pyc")


def list_distributions(installations: Sequence[Installation]) -> tuple[Distribution, ...]:
    """Those that have to do with CUDA, in every folder of the search path.

    Args:
        installations: By :func:`archbuild.probe.installations.list_installations`.
    """
    ours = [one for one in installations if _CUDA.fullmatch(normal_name(one.name))]
    named = [(one, _name(one), _files(one)) for one in ours]
    return tuple(
        Distribution(
            name,
            read_field(one.distribution, "Version") or one.version or "0",
            str(one.folder),
            tuple(sorted(_owners(one, files, named))),
        )
        for one, name, files in named
    )


def _name(one: Installation) -> str:
    return read_field(one.distribution, "Name") or one.name


def _files(one: Installation) -> frozenset[str]:
    record = read_text(one.distribution, "RECORD")
    paths = (line.partition(",")[0].strip('"') for line in record.splitlines())
    return frozenset(path for path in paths if path and not _is_shared(path))


def _is_shared(path: str) -> bool:
    """Whether several packages may own it without harm."""
    return path.endswith(_ANYONES) or path.startswith("..") or ".dist-info/" in path


def _owners(
    one: Installation,
    files: frozenset[str],
    named: Iterable[tuple[Installation, str, frozenset[str]]],
) -> set[str]:
    """Other packages of the same folder that own some of the same files."""
    return {
        name
        for other, name, theirs in named
        if other is not one
        and other.folder == one.folder
        and normal_name(other.name) != normal_name(one.name)
        and not files.isdisjoint(theirs)
    }


def cudnn_version(distributions: Iterable[Distribution], cuda_major: int | None) -> str | None:
    """The cuDNN that packages bring, for the CUDA of torch where it is known; None: none.

    Args:
        distributions: In the order of the search path.
        cuda_major: Of torch.
    """
    found = {normal_name(one.name): one.version for one in reversed(list(distributions))}
    own = found.get(f"nvidia-cudnn-cu{cuda_major}")
    if own is not None:
        return own
    return next((v for name, v in found.items() if name.startswith("nvidia-cudnn-cu")), None)
