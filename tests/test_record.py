"""Machines to JSON and back: nothing lost, and damage is told as damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.errors import RecordError
from archbuild.model import machine as machine_module
from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix
from archbuild.model.installed import Installed
from archbuild.model.machine import Absence, Driver, Gpu, Machine, Toolkit, TorchBuild
from archbuild.model.record import MACHINE_SCHEMA, parse_machine, render_machine
from archbuild.model.surroundings import Surroundings
from archbuild.model.version import CudaVersion, DriverRelease

# Bytes of a path that are no UTF-8 come into Python as lone surrogates.
texts = st.text(st.characters(), max_size=12)
versions = st.builds(CudaVersion, st.integers(0, 99), st.integers(0, 99))
releases = st.sampled_from(["580.65.06", "576.02", "525.60.13"]).map(DriverRelease.parse)
capabilities = st.builds(ComputeCapability, st.integers(1, 99), st.integers(0, 9))
archs = st.builds(Arch, st.sampled_from(Stage), capabilities, st.sampled_from(Suffix))
MEMBERS = {
    ComputeCapability: capabilities,
    CudaVersion: versions,
    DriverRelease: releases,
    Arch: archs,
    str: texts,
}
for kind, strategy in MEMBERS.items():
    st.register_type_strategy(kind, strategy)
# Hypothesis reads the types of the fields where the class stands, which imports some late.
vars(machine_module).update(Installed=Installed, Surroundings=Surroundings)
machines = st.from_type(Machine)

EXAMPLE = Machine(
    system="linux",
    processor="x86_64",
    python="3.11.7",
    gpus=(
        Gpu("GPU-1", "NVIDIA GeForce RTX 3060", ComputeCapability(8, 6), memory=12 << 30),
        Gpu("MIG-2", "slice", None, mig=True, visible=False, seen_by=("nvml", "cuda")),
    ),
    driver=Driver(DriverRelease.parse("580.65.06"), CudaVersion(13, 0)),
    toolkits=(
        Toolkit("/opt/cuda", "/opt/cuda/bin/nvcc", CudaVersion(13, 0), "13.0.88", (), ("PATH",)),
    ),
    torch=TorchBuild("2.14.1", "/site/torch", CudaVersion(13, 0), archs=(Arch.parse("sm_90a"),)),
    variables=(("LD_LIBRARY_PATH", "/caf\udce9"),),
    absences=(Absence("nvml", "the library is missing"),),
)


@given(machines)
def test_a_machine_survives_its_record(machine: Machine) -> None:
    assert parse_machine(render_machine(machine), "m.json") == machine


def test_a_record_can_be_written_whatever_the_variables_hold(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    path.write_text(render_machine(EXAMPLE), encoding="utf-8")
    assert parse_machine(path.read_text(encoding="utf-8"), str(path)) == EXAMPLE


def test_a_record_spells_what_people_know() -> None:
    machine = json.loads(render_machine(EXAMPLE))["machine"]
    assert machine["gpus"][0]["capability"] == "8.6"
    assert machine["driver"] == {"release": "580.65.06", "cuda": "13.0"}
    assert machine["torch"]["archs"] == ["sm_90a"]


def test_fields_that_are_missing_take_their_defaults() -> None:
    least = {"system": "linux", "processor": "x86_64", "python": "3.12.0"}
    text = json.dumps({"schema": MACHINE_SCHEMA, "machine": least})
    assert parse_machine(text, "m.json") == Machine("linux", "x86_64", "3.12.0")


def _damaged(path: str, value: Any) -> str:
    """The example's record with one value replaced, named as in a message."""
    document = json.loads(render_machine(EXAMPLE))
    place: Any = document
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps:
        place = place[step]
    place[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("machine", None, "machine"),
        ("machine", [], "machine"),
        ("machine.system", 5, "machine.system"),
        ("machine.system", None, "machine.system"),
        ("machine.gpus", {}, "machine.gpus"),
        ("machine.gpus.0", "GPU-1", "machine.gpus[0]"),
        ("machine.gpus.1.mig", 1, "machine.gpus[1].mig"),
        ("machine.gpus.0.memory", True, "machine.gpus[0].memory"),
        ("machine.gpus.0.memory", 1.5, "machine.gpus[0].memory"),
        ("machine.gpus.0.capability", 8.6, "machine.gpus[0].capability"),
        ("machine.gpus.0.capability", "8.60", "machine.gpus[0].capability"),
        ("machine.gpus.0.capability", "0.1", "machine.gpus[0].capability"),
        ("machine.driver.release", "13.0", "machine.driver.release"),
        ("machine.driver.cuda", "thirteen", "machine.driver.cuda"),
        ("machine.torch.archs.0", "sm_9", "machine.torch.archs[0]"),
        ("machine.torch.archs.0", None, "machine.torch.archs[0]"),
        ("machine.variables.0", ["one"], "machine.variables[0]"),
        ("machine.variables.0", ["one", 2], "machine.variables[0][1]"),
    ],
)
def test_damage_names_its_place(path: str, value: Any, place: str) -> None:
    with pytest.raises(RecordError) as caught:
        parse_machine(_damaged(path, value), "m.json")
    assert caught.value.message.startswith(f"m.json: {place} ")
    assert caught.value.exit_code == 3


def test_a_field_without_a_default_must_be_there() -> None:
    document = json.loads(render_machine(EXAMPLE))
    del document["machine"]["gpus"][0]["uuid"]
    with pytest.raises(RecordError, match=r"machine\.gpus\[0\] lacks 'uuid'"):
        parse_machine(json.dumps(document), "m.json")


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "5", '"archbuild.machine/1"', "{}", '{"schema": 1}'),
        *('{"schema": "archbuild.verify/1"}', '{"schema": null, "machine": {}}'),
        *("[" * 100_000, "9" * 5000),
    ],
)
def test_what_is_no_record_says_how_to_make_one(text: str) -> None:
    with pytest.raises(RecordError, match=r"^m\.json is no machine record.*--save"):
        parse_machine(text, "m.json")


def test_a_newer_schema_asks_for_a_newer_archbuild() -> None:
    text = _damaged("schema", "archbuild.machine/2")
    with pytest.raises(RecordError, match=r"archbuild\.machine/2; .*Update archbuild"):
        parse_machine(text, "m.json")


@given(st.text(max_size=40))
def test_any_text_is_a_machine_or_a_record_error(text: str) -> None:
    with pytest.raises(RecordError):
        parse_machine(text, "m.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(st.sampled_from(sorted(json.loads(render_machine(EXAMPLE))["machine"])), json_values)
def test_any_value_in_a_field_is_read_or_told(field: str, value: Any) -> None:
    try:
        machine = parse_machine(_damaged(f"machine.{field}", value), "m.json")
    except RecordError:
        return
    assert isinstance(machine, Machine)
