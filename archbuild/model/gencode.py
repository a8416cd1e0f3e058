"""One ``-gencode`` of nvcc: the PTX it compiles, and the image it leaves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from archbuild.model.arch import Arch, Stage, Suffix

_ARCH_FIRST = re.compile(r"arch=(?P<arch>[^,=]+),code=(?P<code>[^=]+)")
_CODE_FIRST = re.compile(r"code=(?P<code>[^=]+),arch=(?P<arch>[^,=]+)")


@dataclass(frozen=True)
class Gencode:
    """A virtual architecture to compile for, and the code to embed.

    Args:
        virtual: What cicc compiles for, ``compute_90``.
        code: What is embedded: ``sm_90`` (SASS), ``compute_90`` (PTX) or
            ``lto_90`` (LTO-IR).

    Examples:
        >>> Gencode.for_target(Arch.parse("sm_90a")).flag
        '-gencode=arch=compute_90a,code=sm_90a'
    """

    virtual: Arch
    code: Arch

    @classmethod
    def for_target(cls, target: Arch) -> Gencode:
        """The gencode which makes exactly this image from its own virtual side."""
        return cls(target.virtual, target)

    @classmethod
    def parse(cls, value: str) -> tuple[Gencode, ...]:
        """Read the value of ``-gencode``; it may name several codes.

        Args:
            value: Such as ``arch=compute_90,code=[sm_90,compute_90]``; ``code=``
                may come first, as nvcc 13.0 takes it.

        Raises:
            ValueError: If it is not of that form.
        """
        text = "".join(value.split()).replace('"', "").replace("'", "")
        match = _ARCH_FIRST.fullmatch(text) or _CODE_FIRST.fullmatch(text)
        if match is None:
            raise ValueError(f"{value!r} is no -gencode value: arch=compute_90,code=sm_90")
        codes = match["code"].removeprefix("[").removesuffix("]").split(",")
        virtual = Arch.parse(match["arch"])
        if virtual.stage is Stage.REAL:
            raise ValueError(f"{value!r}: arch= wants a virtual architecture, compute_")
        return tuple(cls(virtual, Arch.parse(code)) for code in codes)

    @property
    def target(self) -> Arch:
        """The image that this leaves in the binary.

        The suffix comes from the virtual side where only that one has it:
        ``arch=compute_100f,code=sm_103`` is named sm_103f in the binary
        (nvcc 13.0).
        """
        if self.code.suffix is Suffix.PLAIN and self.virtual.suffix is not Suffix.PLAIN:
            return Arch(self.code.stage, self.code.capability, self.virtual.suffix)
        return self.code

    @property
    def flag(self) -> str:
        """The flag for nvcc, one word."""
        return f"-gencode=arch={self.virtual},code={self.code}"

    def __str__(self) -> str:
        return self.flag


def render_gencodes(gencodes: Iterable[Gencode]) -> list[str]:
    """The flags in the one stable order: SASS upwards, then PTX upwards."""
    ordered = sorted(gencodes, key=lambda g: (g.code.stage is Stage.VIRTUAL, g.code, g.virtual))
    return [gencode.flag for gencode in ordered]
