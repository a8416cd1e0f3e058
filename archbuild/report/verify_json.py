"""The outcome of verify for programs, by ``report/schemas/verify.json``."""

from __future__ import annotations

import json
from typing import Any

from archbuild.model.coverage import DeviceCoverage, DriverFloor, Floors, Outcome
from archbuild.model.record import encode
from archbuild.report.fleet import verdict_documents
from archbuild.rules.checking.demand import Demand
from archbuild.rules.checking.judge import FileVerdict
from archbuild.rules.checking.verify_outcome import VerifyReport
from archbuild.rules.covering.devices import DeviceSummary

SCHEMA = "archbuild.verify/1"
_WORDS = {
    Outcome.NATIVE: "native",
    Outcome.JIT: "jit",
    Outcome.NO: "none",
    Outcome.UNKNOWN: "unknown",
}


def verify_json(report: VerifyReport) -> str:
    """The report as JSON text."""
    return json.dumps(verify_document(report), indent=2, ensure_ascii=True)


def verify_document(report: VerifyReport) -> dict[str, Any]:
    """What :func:`verify_json` writes, as data."""
    return {
        "schema": SCHEMA,
        "ok": report.ok,
        "exit_code": report.exit_code,
        "paths": list(report.paths),
        "targets": encode(report.demand.targets),
        "asked_by": report.demand.expected.source or None,
        "policy": _policy(report.demand),
        "reader": report.reader,
        "second_reader": encode(report.second),
        "findings": encode(report.findings),
        "devices": [_device(device) for device in report.devices],
        "machines": verdict_documents(report.places),
        "files": [_file(verdict) for verdict in report.files],
        "waived": [
            {"finding": encode(finding), "reason": waiver.reason}
            for finding, waiver in report.waived
        ],
        "known": encode(report.known),
    }


def _policy(demand: Demand) -> dict[str, Any]:
    return {
        "allow_jit": demand.allow_jit,
        "exact": demand.exact,
        "strict": demand.strict,
        "size_budget": demand.size_budget,
    }


def _device(device: DeviceSummary) -> dict[str, Any]:
    kernels = device.kernels
    return {
        "capability": str(device.destination.capability),
        "driver": encode(device.destination.driver),
        **{word: None if kernels is None else kernels[o] for o, word in _WORDS.items()},
        "regions": {word: device.regions[o] for o, word in _WORDS.items()},
        **_floors(device.floors),
        "errors": list(device.errors),
    }


def _floors(floors: Floors) -> dict[str, Any]:
    pairs = {"sass": floors.sass, "ptx": floors.ptx, "device": floors.device}
    return {
        "min_driver": {name: _release(floor) for name, floor in pairs.items()},
        "min_driver_cuda": {
            name: None if floor is None else str(floor.cuda) for name, floor in pairs.items()
        },
    }


def _release(floor: DriverFloor | None) -> str | None:
    return None if floor is None or floor.release is None else str(floor.release)


def _file(verdict: FileVerdict) -> dict[str, Any]:
    targets = verdict.targets
    return {
        "path": verdict.path,
        "format": encode(verdict.format),
        "size": verdict.size,
        "archs": encode(verdict.archs),
        "images": verdict.images,
        "kernels": verdict.kernels,
        "present": encode(targets.present),
        "missing": encode(targets.missing),
        "surplus": encode(targets.surplus),
        "note": targets.note,
        "judged": verdict.judged,
        "asked_by": verdict.expected.source or None,
        "devices": [_file_device(verdict, coverage) for coverage in verdict.devices],
    }


def _file_device(verdict: FileVerdict, coverage: DeviceCoverage) -> dict[str, Any]:
    counted = verdict.kernels is not None
    return {
        "capability": str(coverage.destination.capability),
        **{word: coverage.kernels(o) if counted else None for o, word in _WORDS.items()},
        "regions": {
            word: sum(r.verdict.outcome is o for r in coverage.regions)
            for o, word in _WORDS.items()
        },
        **_floors(coverage.floors),
        "errors": list(coverage.errors),
    }
