"""The cuobjdump that will be used: new enough to read what this machine's nvcc writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from archbuild.model.machine import Absence, Toolkit
from archbuild.model.version import CudaVersion
from archbuild.probe.nvcc import broken, parse_version
from archbuild.probe.places import Places
from archbuild.probe.process import run_limited

#: Seconds for the question to each.
TIMEOUT = 5.0


def find_cuobjdump(
    toolkits: Sequence[Toolkit],
    *,
    environ: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
    places: Places | None = None,
) -> tuple[str | None, Absence | None]:
    """A cuobjdump that works and is no older than the toolkit that builds.

    This environment's package is asked first, then the one beside the chosen
    toolkit, those beside the others, and PATH. An older one is taken where
    there is no better, and that is said.

    Args:
        toolkits: Best match first.
        environ: The environment variables; None: this process's.
        timeout: Seconds for the question to each.
        places: Where to look; None: on this machine.

    Returns:
        Its path, and what there is to say: why there is none, or that it is old.
    """
    places = places or Places.here(environ)
    wanted = toolkits[0].version if toolkits else None
    older: dict[str, CudaVersion] = {}
    failures: list[str] = []
    for path in dict.fromkeys(_candidates(toolkits, places)):
        version = _version(path, places.environ, timeout)
        if isinstance(version, str):
            failures.append(f"{path} {version}")
        elif wanted is None or version >= wanted:
            return path, None
        else:
            older[path] = version
    if older and wanted is not None:
        best = max(older, key=lambda path: older[path])
        return best, Absence("cuobjdump", _old(best, older[best], wanted))
    return None, Absence("cuobjdump", "; ".join([*failures, _CURE]))


_CURE = "none was found that works: pip install nvidia-cuda-cuobjdump"


def _candidates(toolkits: Sequence[Toolkit], places: Places) -> Iterator[str]:
    yield from map(str, places.in_packages("cuobjdump"))
    yield from (toolkit.cuobjdump for toolkit in toolkits if toolkit.cuobjdump)
    yield from map(str, places.on_path("cuobjdump"))


def _version(path: str, environ: Mapping[str, str], timeout: float) -> CudaVersion | str:
    """Its version, or why it does not count."""
    outcome = run_limited([path, "--version"], timeout=timeout, env=environ)
    says = parse_version(outcome.stdout) if outcome.ok else None
    return says[0] if says else broken(outcome, "its --version names no release")


def _old(path: str, version: CudaVersion, wanted: CudaVersion) -> str:
    return (
        f"{path} is of CUDA {version} and may not read what nvcc {wanted} writes: "
        "pip install -U nvidia-cuda-cuobjdump"
    )
