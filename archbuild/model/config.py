"""What a project says in ``[tool.archbuild]`` of its pyproject.toml."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from archbuild.model.source import Source
from archbuild.model.waiver import Waiver


@dataclass(frozen=True)
class VerifyPolicy:
    """``[tool.archbuild.verify]``: what ``archbuild verify`` checks in any case.

    Args:
        runs_on: Devices, as ``--runs-on`` takes them; None: none are named.
        driver: Their driver, a release.
        driver_cuda: Their driver, the CUDA version that it serves.
        allow_jit: Whether PTX will do.
        exact: Whether more than the targets is as wrong as less.
        strict: Whether warnings fail.
        size_budget: The most bytes that a wheel or library may have, ``100MB``.
    """

    runs_on: str | None = None
    driver: str | None = None
    driver_cuda: str | None = None
    allow_jit: bool = True
    exact: bool = False
    strict: bool = False
    size_budget: str | None = None


class LeanHeaders(Enum):
    """Whether .cu files get the parts of torch's headers that kernels use, and no more."""

    OFF = "off"
    ON = "on"
    AUTO = "auto"

    @classmethod
    def of(cls, value: object) -> LeanHeaders | None:
        """What people write: true, false or ``"auto"``; None for anything else."""
        if isinstance(value, bool):
            return cls.ON if value else cls.OFF
        return cls.AUTO if value == cls.AUTO.value else None


@dataclass(frozen=True)
class BuildOptions:
    """``[tool.archbuild.build]``: how a project's extensions are built.

    Args:
        lean_headers: ``true``, ``false`` or ``"auto"``, which falls back to the
            full headers for a source that needs them.
        development: Whether one virtual architecture serves all: not to be shipped.
        launcher: ``auto``, ``sccache``, ``ccache``, ``off`` or a path; None: not said.
        jobs: The most jobs at once; None: not said.
    """

    lean_headers: LeanHeaders = LeanHeaders.OFF
    development: bool = False
    launcher: str | None = None
    jobs: int | None = None


@dataclass(frozen=True)
class Config:
    """The table as a value.

    Args:
        archs: The architecture list, its pieces joined with ``;``; None where
            the project names none.
        path: The pyproject.toml that was read; None where there is none.
        verify: The policy; the empty one where the project has none.
        waivers: What the project knows about, and lets pass.
        build: How it is built.
        sources: Sources of any extension with architectures of their own; their
            paths may be patterns.
    """

    archs: str | None = None
    path: str | None = None
    verify: VerifyPolicy = VerifyPolicy()
    waivers: tuple[Waiver, ...] = ()
    build: BuildOptions = BuildOptions()
    sources: tuple[Source, ...] = ()
