"""Whether the devices that a person named are served: coverage -> findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from archbuild.model.coverage import (
    KERNEL_ABSENT_ERRORS,
    Cause,
    DeviceCoverage,
    Outcome,
    RegionCoverage,
)
from archbuild.model.finding import Finding, Severity
from archbuild.model.version import CudaVersion
from archbuild.rules.checking.codes import (
    DEVICE_NOT_KNOWN,
    DRIVER_TOO_OLD,
    JIT_NEEDED,
    KERNEL_MISSING,
    NOT_SERVED,
    ON_PURPOSE,
    PTX_TOO_NEW,
    REGION_NOT_SERVED,
    TEGRA,
    UNDECIDED,
    Code,
    finding_of,
)
from archbuild.rules.covering.drivers import floor_words

#: How many reasons a finding tells one by one.
SHOWN = 10
#: How many regions are named with a reason.
_NUMBERS = 3

_BY_DRIVER = {
    Cause.PTX_TOO_NEW: PTX_TOO_NEW,
    Cause.DRIVER_TOO_OLD: DRIVER_TOO_OLD,
    Cause.DEVICE_TOO_NEW: DEVICE_NOT_KNOWN,
    Cause.DEVICE_RETIRED: DEVICE_NOT_KNOWN,
}
_REBUILD = "Build it again with this device in the list of architectures."
_ADVICE = {
    PTX_TOO_NEW: "Update the driver, or build the PTX with a toolkit as old as the driver.",
    DRIVER_TOO_OLD: "Update the driver, or build with a toolkit of the driver's CUDA.",
    DEVICE_NOT_KNOWN: "Install a driver that serves this GPU.",
}


def check_served(
    path: str, coverages: Iterable[DeviceCoverage], *, allow_jit: bool = True
) -> tuple[Finding, ...]:
    """What stands in the way of a file on each of the devices.

    Args:
        path: The file.
        coverages: What it does on each device; one without regions has nothing
            that could fail.
        allow_jit: Whether PTX will do; otherwise JIT is an error.
    """
    found = (
        finding
        for coverage in coverages
        for finding in (
            *_check_driver(path, coverage),
            *_check_images(path, coverage),
            *_check_absent(path, coverage),
            *_check_unknown(path, coverage),
            *_check_jit(path, coverage, allow_jit=allow_jit),
        )
    )
    # Of two drivers for one device much is the same.
    return tuple(dict.fromkeys(found))


def _with(coverage: DeviceCoverage, *outcomes: Outcome) -> list[RegionCoverage]:
    return [region for region in coverage.regions if region.verdict.outcome in outcomes]


def _check_driver(path: str, coverage: DeviceCoverage) -> Iterable[Finding]:
    """The regions that the driver refuses, by the reason it has."""
    failing = _with(coverage, Outcome.NO)
    for code in dict.fromkeys(_BY_DRIVER.values()):
        regions = [r for r in failing if _BY_DRIVER.get(r.verdict.cause) is code]
        if not regions:
            continue
        worst = max(regions, key=_floor)
        message = f"{path} on {_device(coverage)}: {_lower(worst.verdict.reason)}"
        yield _finding(code, message, path, coverage, regions, advice=_ADVICE[code])


def _floor(region: RegionCoverage) -> CudaVersion:
    floor = region.verdict.floor
    return CudaVersion(0, 0) if floor is None else floor.cuda


def _check_images(path: str, coverage: DeviceCoverage) -> Iterable[Finding]:
    """The regions that hold nothing for the device."""
    failing = [r for r in _with(coverage, Outcome.NO) if r.verdict.cause not in _BY_DRIVER]
    device = _device(coverage)
    if failing and len(failing) == len(coverage.regions):
        message = f"{path} has nothing that runs on {device}."
        yield _finding(NOT_SERVED, message, path, coverage, failing, advice=_REBUILD)
        return
    plain = [region for region in failing if not region.on_purpose]
    if plain:
        share = f"{len(plain)} of {len(coverage.regions)} regions"
        message = f"{path} has nothing for {device} in {share}."
        yield _finding(REGION_NOT_SERVED, message, path, coverage, plain, advice=_REBUILD)
    special = [region for region in failing if region.on_purpose]
    if special:
        share = f"{len(special)} of {len(coverage.regions)} regions"
        message = f"{path} has {share} made for other architectures alone, not for {device}."
        yield _finding(ON_PURPOSE, message, path, coverage, special)


def _check_absent(path: str, coverage: DeviceCoverage) -> Iterable[Finding]:
    """Kernels that the images which run there lack."""
    absent = [(r.index, name) for r in coverage.regions for name in r.absent]
    if not absent:
        return
    device, arch = _device(coverage), f"sm_{coverage.destination.capability.number}"
    errors = " or ".join(map(str, KERNEL_ABSENT_ERRORS))
    message = f"{path} on {device}: the code that runs there lacks {len(absent)} kernels of others."
    told = tuple(f"region {i}: {name} (error {errors})" for i, name in absent[:SHOWN])
    advice = "Compile them for every architecture, unless they are meant for some alone."
    yield finding_of(KERNEL_MISSING, message, path, arch=arch, evidence=told, advice=advice)


def _check_unknown(path: str, coverage: DeviceCoverage) -> Iterable[Finding]:
    unknown = _with(coverage, Outcome.UNKNOWN)
    device = _device(coverage)
    tegra = [region for region in unknown if region.verdict.cause is Cause.TEGRA]
    if tegra:
        message = f"{path} on {device}: {_lower(tegra[0].verdict.reason)}"
        advice = f"Build it for sm_{coverage.destination.capability.number} too."
        yield _finding(TEGRA, message, path, coverage, tegra, advice=advice)
    others = [region for region in unknown if region.verdict.cause is not Cause.TEGRA]
    if others:
        message = f"{path} on {device}: {_lower(others[0].verdict.reason)}"
        yield _finding(UNDECIDED, message, path, coverage, others)
    elif any(region.undecided for region in coverage.regions):
        regions = [region for region in coverage.regions if region.undecided]
        message = f"{path} on {device}: which image the driver takes is not known, and it matters."
        yield _finding(UNDECIDED, message, path, coverage, regions)


def _check_jit(path: str, coverage: DeviceCoverage, *, allow_jit: bool) -> Iterable[Finding]:
    regions = _with(coverage, Outcome.JIT)
    if not regions:
        return
    floor = coverage.jit_floor
    driver = f"{floor_words(floor)} or newer" if floor is not None else "the driver"
    message = (
        f"{path} runs on {_device(coverage)} only after {driver} has compiled it "
        f"({len(regions)} of {len(coverage.regions)} regions)."
    )
    advice = f"Build it for sm_{coverage.destination.capability.number} to be spared the wait."
    finding = _finding(JIT_NEEDED, message, path, coverage, regions, advice=advice)
    yield finding if allow_jit else replace(finding, severity=Severity.ERROR)


def _device(coverage: DeviceCoverage) -> str:
    return str(coverage.destination.capability)


def _lower(sentence: str) -> str:
    """A sentence to follow a colon; names such as sm_90 begin small anyhow."""
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def _finding(
    code: Code,
    message: str,
    path: str,
    coverage: DeviceCoverage,
    regions: Sequence[RegionCoverage],
    *,
    advice: str = "",
) -> Finding:
    arch = f"sm_{coverage.destination.capability.number}"
    return finding_of(code, message, path, arch=arch, evidence=_evidence(regions), advice=advice)


def _evidence(regions: Sequence[RegionCoverage]) -> tuple[str, ...]:
    """The reasons, each with the regions that have it."""
    reasons: dict[str, list[int]] = {}
    for region in regions:
        reasons.setdefault(f"{region.verdict.reason}{_errors(region)}", []).append(region.index)
    lines = [f"{_numbers(found)}: {reason}" for reason, found in reasons.items()]
    rest = len(lines) - SHOWN
    return (*lines[:SHOWN], f"and {rest} more reasons") if rest > 0 else tuple(lines)


def _numbers(found: Sequence[int]) -> str:
    if len(found) == 1:
        return f"region {found[0]}"
    first = ", ".join(map(str, found[:_NUMBERS]))
    return f"regions {first}" + (
        f" and {len(found) - _NUMBERS} more" if len(found) > _NUMBERS else ""
    )


def _errors(region: RegionCoverage) -> str:
    numbers = " or ".join(map(str, region.verdict.errors))
    return f" (error {numbers})" if numbers else ""
