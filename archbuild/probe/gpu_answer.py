"""What NVML, the CUDA driver and nvidia-smi answered, each read on its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from archbuild.model.arch import ComputeCapability
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.probe.process import Failure, Outcome, first_line, json_lines

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
        code: The number of the first of these errors, where it has one.
        vgpu: Whether a hypervisor says that this is a share of a GPU.
        integrated: Whether it shares the processor's memory; None: not asked.
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
    code: int | None = None
    vgpu: bool = False
    integrated: bool | None = None


@dataclass(frozen=True)
class Answer:
    """One source's answer, whole or in part.

    Args:
        source: nvml, cuda or nvidia-smi.
        gpus: In the source's own order.
        release: The driver's release, where it tells.
        cuda: The driver's CUDA version, where it tells.
        complete: Whether every GPU that the source knows is among ``gpus``.
        reason: Why there is nothing, or only a part, with the cure; empty where all is there.
        code: The number of the source's error, where it gave one.
        said: The reason in the source's own words, without the number and the cure.
        timed_out: Whether it was ended for taking too long.
        crashed: Whether a signal ended it.
    """

    source: str
    gpus: tuple[RawGpu, ...] = ()
    release: DriverRelease | None = None
    cuda: CudaVersion | None = None
    complete: bool = False
    reason: str = ""
    code: int | None = None
    said: str = ""
    timed_out: bool = False
    crashed: bool = False


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
    records = list(json_lines(outcome.stdout))
    driver = next(_all(records, "driver"), {})
    answer = Answer(
        source,
        tuple(_gpu(device) for device in _all(records, "device")),
        _release(driver.get("release")),
        _cuda(driver.get("cuda")),
        complete=any("end" in r for r in records),
    )
    failed = next(_all(records, "failed"), None)
    if failed is not None:
        return _failed(answer, failed)
    return answer if answer.complete else _broken_off(answer, outcome)


def _failed(answer: Answer, failed: dict[str, Any]) -> Answer:
    """An answer of a source that says why it has none."""
    code = _int(failed.get("code"))
    text = first_line(str(failed.get("text") or ""))
    detail = first_line(str(failed.get("detail") or ""))
    explain = _explain_nvml if answer.source == NVML else _explain_cuda
    said, told, cure = explain(code, text, detail)
    # CUDA has answered where it says that it sees no GPU.
    complete = answer.source == CUDA and code == _NO_DEVICE
    reason = f"{told}: {cure}" if cure else told
    return replace(answer, complete=complete, reason=reason, code=code, said=said)


def _broken_off(answer: Answer, outcome: Outcome) -> Answer:
    """An answer, or the beginning of one, that something put an end to."""
    # What it printed is the answer, and no message.
    why = replace(outcome, stdout="").reason or "stopped before its end"
    reason = f"the process that asks it {why}"
    return replace(_ended(answer, outcome), reason=reason, said=why)


def _ended(answer: Answer, outcome: Outcome) -> Answer:
    timed_out = outcome.failure is Failure.TIMED_OUT
    return replace(answer, timed_out=timed_out, crashed=(outcome.returncode or 0) < 0)


def _all(records: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    return (r[kind] for r in records if isinstance(r.get(kind), dict))


def _explain_cuda(code: int | None, text: str, detail: str) -> tuple[str, str, str]:
    """What CUDA says, the same with its number, and the cure."""
    if code is None:
        # Without a file there is no library; else it is one that lacks a function, or fails.
        return text, text, "" if detail else _NVML_CURES[_NO_LIBRARY]
    cure = _CUDA_CURES.get(code, "read `dmesg` for what the driver says") if code else ""
    call = f"cuInit of {detail or 'the driver'}"
    return f"{call} fails", f"{call} gives error {code}", cure


def _explain_nvml(code: int | None, text: str, detail: str) -> tuple[str, str, str]:
    """What NVML says, the same with its number, and the cure."""
    if code is None:
        told = f"the module pynvml is not usable ({text})"
        return told, told, "pip install nvidia-ml-py"
    return detail or text, detail or f"error {code}, {text}", _NVML_CURES.get(code, "")


def _gpu(device: dict[str, Any]) -> RawGpu:
    errors, integrated = device.get("errors"), device.get("integrated")
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
        code=_first_code(errors) if isinstance(errors, dict) else None,
        vgpu=device.get("vgpu") is True,
        integrated=integrated if type(integrated) is bool else None,
    )


def _first_code(errors: dict[str, Any]) -> int | None:
    pairs = (pair for pair in errors.values() if isinstance(pair, list) and len(pair) == 2)
    return next((code for pair in pairs if (code := _int(pair[0])) is not None), None)


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
        said = "not found on PATH"
        return Answer(SMI, reason=f"{said}; it comes with the driver", said=said)
    rows = [line.split(",", len(fields) - 1) for line in outcome.stdout.splitlines()]
    rows = [row for row in rows if len(row) == len(fields)]
    found = [dict(zip(fields, (cell.strip() for cell in row), strict=True)) for row in rows]
    found = [row for row in found if row["uuid"].startswith("GPU-")]
    release = next(filter(None, (_release(row["driver_version"]) for row in found)), None)
    gpus = tuple(_smi_gpu(row) for row in found)
    answer = Answer(SMI, gpus, release, None, outcome.ok and bool(found))
    return answer if answer.complete else _smi_failed(answer, outcome)


def _smi_failed(answer: Answer, outcome: Outcome) -> Answer:
    if outcome.ok:
        printed = first_line(outcome.stdout)
        said = f"names no GPU{printed and f' but says: {printed}'}"
        return replace(answer, reason=f"it {said}", said=said)
    code = outcome.returncode if (outcome.returncode or 0) > 0 else None
    cure = _NVML_CURES.get(code or 0, "")
    reason = f"it {outcome.reason}{cure and f': {cure}'}"
    return replace(_ended(answer, outcome), reason=reason, code=code, said=outcome.reason)


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
