"""What a project says in ``[tool.archbuild]`` of its pyproject.toml."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Config:
    """The table as a value.

    Args:
        archs: The architecture list, its pieces joined with ``;``; None where
            the project names none.
        path: The pyproject.toml that was read; None where there is none.
        verify: The policy; the empty one where the project has none.
        waivers: What the project knows about, and lets pass.
    """

    archs: str | None = None
    path: str | None = None
    verify: VerifyPolicy = VerifyPolicy()
    waivers: tuple[Waiver, ...] = ()
