"""Sentences as data: a key and what fills it, so that another language can fill its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archbuild.rules.filling import fill


@dataclass(frozen=True)
class Said:
    """One sentence or clause.

    Args:
        key: Of :data:`SENTENCES`.
        values: What fills it, by name.
    """

    key: str
    values: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return spell(self, SENTENCES)


def said(key: str, **values: object) -> Said:
    """A sentence with its values; None leaves the part in brackets out."""
    known = tuple((name, str(value)) for name, value in values.items() if value is not None)
    return Said(key, known)


def spell(sentence: Said, texts: Mapping[str, str]) -> str:
    """A sentence in one language.

    Args:
        sentence: What to say.
        texts: The language's templates by key.
    """
    return fill(texts[sentence.key], dict(sentence.values))


#: Clauses, which say why a wheel won't do.
REASONS = {
    "python": "it has wheels for Python {pythons}, and none for {python}",
    "python_unknown": "for which Pythons it has wheels is not known",
    "held": "{library} holds nothing for {capability} ({held})",
    "library": (
        "{library} holds nothing for {capability} ({held}): what it computes fails with error 209"
    ),
    "library_inferred": (
        "{library} holds nothing for {capability} in any wheel of its CUDA that was read: "
        "what it computes fails with error 209"
    ),
    "driver": "machine code of its CUDA needs driver {floor} or newer",
    "device": "{capability} needs driver {floor} or newer",
    "retired": "driver branch {branch} is the last one for {capability}",
    "ptx": "its PTX for {capability} needs driver {floor} or newer",
    "promised": (
        "only PTX would reach {capability}: the build scripts name it, but no library that was "
        "read holds any"
    ),
    "tegra": "NVIDIA documents no compatibility of this code with {capability}, which is Tegra",
    "jetson": "wheels of this index are not made for Jetson modules before Thor",
    "cudnn": "it brings cuDNN {cudnn}, which has nothing for {capability}",
    "cudnn_unknown": (
        "which cuDNN it brings is not known, and newer ones have nothing for {capability}"
    ),
    "scripts": "only PyTorch's build scripts name it: nobody here has seen it on the index",
    "unclear": "whether it runs on {capability} with this driver is not known",
    "capability": "the capability of {gpu} is not known",
    "no_driver": (
        "no driver serves all: branch {branch} is the last one for {capability}, and {floor} or "
        "newer is needed"
    ),
}

#: Sentences about the whole.
NOTES = {
    "facts_old": (
        "The table of wheels is of {date}, more than half a year ago: there may be newer ones."
    ),
    "assumed": "No driver is known here: one is assumed that is {floor} or newer.",
    "last_driver": "Branch {branch} is the last driver for {gpus}: install none that is newer.",
    "minor": (
        "CUDA {cuda} is newer than this driver's {driver}: its machine code runs all the same, "
        "but the driver compiles no PTX of it."
    ),
    "tried": "The wheels of torch {torch} for Python {python} are experimental.",
    "cudnn_keep": (
        "Leave {package} at {cudnn}, which comes with it: newer ones have nothing for {gpus}."
    ),
    "cudnn_here": (
        "cuDNN {here} is installed here and has nothing for {gpus}: go back with "
        'pip install "{package}=={cudnn}".'
    ),
    "installed": "torch {version} of CUDA {cuda} is what is installed here: nothing to do.",
    "better": "With driver {floor} or newer[, up to branch {last}]: torch {torch} of CUDA {cuda}.",
    "wsl": "In WSL the driver is the one of Windows: update it there, and install none inside.",
    "jetson_own": (
        "For a Jetson before Thor take NVIDIA's own wheels: "
        "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/"
    ),
    "macos": "There is no CUDA for macOS.",
    "no_rows": "The table knows no wheel with CUDA for {system} on {processor}.",
    "python_better": "With Python {python}: torch {torch} of CUDA {cuda}.",
    "cpu": "Without a GPU: pip install torch --index-url https://download.pytorch.org/whl/cpu",
    "conda": (
        "conda-forge builds torch by itself, in other versions and for other architectures than "
        "these wheels. The table doesn't know them: install it aside, then ask: archbuild verify "
        "torch --runs-on native"
    ),
    "asked_for": "The table knows no wheel[ of torch {torch}][ with CUDA {cuda}] for this system.",
}

SENTENCES: Mapping[str, str] = {**REASONS, **NOTES}
