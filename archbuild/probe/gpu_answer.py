"""What NVML, the CUDA driver and nvidia-smi answered, each read on its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from archbuild.model.arch import ComputeCapability
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.probe.process import Failure, Outcome, first_line

NVML = "nvml"
CUDA = "cuda"
SMI = "nvidia-smi"


@dataclass(frozen=True)
class RawGpu:
    """One GPU or MIG slice, as one source sees it.

    Args:
        uuid: As the source writes it, with or without ``GPU-`` in front.
        name: The product's name.
        capability: Its compute capability.
        index: The source's own number; a slice bears its GPU's.
        pci: The address, ``00000000:01:00.0``.
        memory: Bytes.
        mig: Whether MIG is on, or whether this is a slice.
        parent: Of a slice, the UUID of its GPU.
        errors: What could not be read, and why.
    """

    uuid: str | None = None
    name: str | None = None
    capability: ComputeCapability | None = None
    index: int | None = None
    pci: str | None = None
    memory: int | None = None
    mig: bool = False
    parent: str | None = None
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """One source's answer, whole or in part.

    Args:
        source: nvml, cuda or nvidia-smi.
        gpus: In the source's own order.
        release: The driver's release, where it tells.
        cuda: The driver's CUDA version, where it tells.
        complete: Whether every GPU that the source knows is among ``gpus``.
        reason: Why there is nothing, or only a part; empty where all is there.
    """

    source: str
    gpus: tuple[RawGpu, ...] = ()
    release: DriverRelease | None = None
    cuda: CudaVersion | None = None
    complete: bool = False
    reason: str = ""


# What an error code means, with the cure. NVML's codes are those of nvml.h, and
# nvidia-smi ends with them; CUDA's are those of cuda.h. Read 2025-11.
_NVML_CURES: Mapping[int, str] = {
    4: "this user may not open /dev/nvidia*: check their owner and mode",
    9: "the NVIDIA driver is not loaded: run `modprobe nvidia`, or restart the machine",
    12: "no NVIDIA driver here: install one, or start the container with `--gpus all`",
    15: "a GPU has fallen off the bus: restart the machine",
    18: "the driver's library and kernel module differ, as after an update: restart the machine",
    999: "in a container this comes of lost device rules: restart the container",
}
_CUDA_CURES: Mapping[int, str] = {
    34: "this is a stub made for linking: take its folder out of LD_LIBRARY_PATH",
    35: "the driver is older than this library: update the driver",
    100: "no GPU is visible: CUDA_VISIBLE_DEVICES may hide them all, or none is mapped into "
    "this container",
    802: "the system is not ready: start the fabric manager",
    803: "the driver's library and kernel module differ, as after an update: restart the machine",
    804: "a cuda-compat library which this GPU does not support: take it out of LD_LIBRARY_PATH",
    999: "the driver failed: read `dmesg`, then reload the driver or restart the container",
}
_NO_DEVICE = 100
_NO_LIBRARY = 12


def read_nvml(outcome: Outcome) -> Answer:
    """What the child ``ask_nvml.py`` printed."""
    return _read_child(NVML, outcome)


def read_cuda(outcome: Outcome) -> Answer:
    """What the child ``ask_cuda.py`` printed."""
    return _read_child(CUDA, outcome)


def _read_child(source: str, outcome: Outcome) -> Answer:
    records = list(_records(outcome.stdout))
    driver = next(_all(records, "driver"), {})
    failed = next(_all(records, "failed"), None)
    complete = any("end" in r for r in records)
    reason = ""
    if failed is not None:
        # CUDA has answered where it says that it sees no GPU.
        complete = source == CUDA and failed.get("code") == _NO_DEVICE
        reason = _explain(source, failed)
    elif not complete:
        # What it printed is the answer, and no message.
        why = replace(outcome, stdout="").reason
        reason = f"the process that asks it {why or 'stopped before its end'}"
    return Answer(
        source,
        tuple(_gpu(device) for device in _all(records, "device")),
        _release(driver.get("release")),
        _cuda(driver.get("cuda")),
        complete,
        reason,
    )


def _records(text: str) -> Iterator[dict[str, Any]]:
    """The lines that are JSON objects; libraries may print anything between them."""
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _all(records: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    return (r[kind] for r in records if isinstance(r.get(kind), dict))


def _explain(source: str, failed: dict[str, Any]) -> str:
    code, text = failed.get("code"), first_line(str(failed.get("text") or ""))
    detail = first_line(str(failed.get("detail") or ""))
    if source == NVML:
        return _explain_nvml(code, text, detail)
    if code is None:
        return f"{text}: {_NVML_CURES[_NO_LIBRARY]}"
    cure = _CUDA_CURES.get(code, "read `dmesg` for what the driver says") if code else ""
    return f"cuInit of {detail or 'the driver'} gives error {code}: {cure}"


def _explain_nvml(code: Any, text: str, detail: str) -> str:
    if code is None:
        return f"the module pynvml is not usable ({text}): pip install nvidia-ml-py"
    cure = _NVML_CURES.get(code, "") if isinstance(code, int) else ""
    said = detail or f"error {code}, {text}"
    return f"{said}: {cure}" if cure else said


def _gpu(device: dict[str, Any]) -> RawGpu:
    errors = device.get("errors")
    return RawGpu(
        uuid=_str(device.get("uuid")),
        name=_str(device.get("name")),
        capability=_capability(device.get("capability")),
        index=_int(device.get("index")),
        pci=normal_pci(_str(device.get("pci"))),
        memory=_int(device.get("memory")),
        mig=device.get("mig") is True,
        parent=_str(device.get("parent")),
        errors=tuple(_errors(errors)) if isinstance(errors, dict) else (),
    )


def _errors(errors: dict[str, Any]) -> Iterator[str]:
    for field, pair in errors.items():
        code, text = pair if isinstance(pair, list) and len(pair) == 2 else (None, pair)
        cure = _NVML_CURES.get(code, "") if isinstance(code, int) else ""
        yield f"{field}: {first_line(str(text))}{cure and f' ({cure})'}"


def _str(value: Any) -> str | None:
    return first_line(value) or None if isinstance(value, str) else None


def _int(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _capability(value: Any) -> ComputeCapability | None:
    try:
        major, minor = map(int, value)
        return ComputeCapability(major, minor) if major < 100 else None
    except (TypeError, ValueError):
        return None


def _release(value: Any) -> DriverRelease | None:
    try:
        return DriverRelease.parse(value)
    except (TypeError, ValueError, AttributeError):
        return None


def _cuda(value: Any) -> CudaVersion | None:
    return CudaVersion.from_encoded(value) if _int(value) and 1000 <= value < 100_000 else None


def normal_pci(text: str | None) -> str | None:
    """A PCI address as NVML writes it, or None where it is none.

    Examples:
        >>> normal_pci("0000:c1:00.0")
        '00000000:C1:00.0'
    """
    pattern = r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?"
    match = re.fullmatch(pattern, text or "", re.IGNORECASE | re.ASCII)
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):08X}:{bus.upper()}:{device.upper()}.{function or 0}"


#: The fields asked of nvidia-smi; the name is last, since it alone could hold a comma.
SMI_FIELDS = (
    "index",
    "uuid",
    "pci.bus_id",
    "memory.total",
    "driver_version",
    "mig.mode.current",
    "compute_cap",
    "name",
)
#: Fields that drivers before 450 and 510 do not know.
SMI_NEWER_FIELDS = ("mig.mode.current", "compute_cap")


def refuses_fields(outcome: Outcome) -> bool:
    """Whether this nvidia-smi is too old for one of the fields."""
    return "is not a valid field to query" in outcome.stdout + outcome.stderr


def read_smi(outcome: Outcome, fields: tuple[str, ...] = SMI_FIELDS) -> Answer:
    """What ``nvidia-smi --query-gpu=... --format=csv,noheader,nounits`` printed.

    Args:
        outcome: Its run.
        fields: What it was asked for, in this order.
    """
    if outcome.failure is Failure.NOT_FOUND:
        return Answer(SMI, reason="not found on PATH; it comes with the driver")
    rows = [line.split(",", len(fields) - 1) for line in outcome.stdout.splitlines()]
    rows = [row for row in rows if len(row) == len(fields)]
    found = [dict(zip(fields, (cell.strip() for cell in row), strict=True)) for row in rows]
    found = [row for row in found if row["uuid"].startswith("GPU-")]
    release = next(filter(None, (_release(row["driver_version"]) for row in found)), None)
    reason = _explain_smi(outcome) if not outcome.ok or not found else ""
    gpus = tuple(_smi_gpu(row) for row in found)
    return Answer(SMI, gpus, release, None, outcome.ok and bool(found), reason)


def _explain_smi(outcome: Outcome) -> str:
    if outcome.ok:
        said = first_line(outcome.stdout)
        return f"it names no GPU{said and f' but says: {said}'}"
    cure = _NVML_CURES.get(outcome.returncode or 0, "")
    return f"it {outcome.reason}{cure and f': {cure}'}"


def _smi_gpu(row: dict[str, str]) -> RawGpu:
    memory = row["memory.total"]
    lost = tuple(f"{field}: {value}" for field, value in row.items() if _is_error(value))
    return RawGpu(
        uuid=row["uuid"],
        name=None if _is_missing(row["name"]) else first_line(row["name"]),
        capability=_capability(row.get("compute_cap", "").split(".")),
        index=int(row["index"]) if row["index"].isdecimal() else None,
        pci=normal_pci(row["pci.bus_id"]),
        # Mebibytes, by the option nounits.
        memory=int(memory) << 20 if memory.isdecimal() else None,
        mig=row.get("mig.mode.current") == "Enabled",
        errors=lost,
    )


def _is_missing(value: str) -> bool:
    return value.startswith("[") and value.endswith("]")


def _is_error(value: str) -> bool:
    return _is_missing(value) and value not in ("[N/A]", "[Not Supported]")
