"""Answers of the three sources, read from text that may be damaged."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import ComputeCapability
from archbuild.probe.gpu_answer import (
    SMI_FIELDS,
    Answer,
    RawGpu,
    normal_pci,
    read_cuda,
    read_nvml,
    read_smi,
    refuses_fields,
)
from archbuild.probe.process import Failure, Outcome


def run(*records: object, returncode: int = 0, failure: Failure | None = None) -> Outcome:
    lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
    return Outcome(("x",), "\n".join(lines), "", returncode, failure)


DEVICE = {
    "index": 0,
    "uuid": "GPU-1",
    "name": "NVIDIA H100",
    "capability": [9, 0],
    "pci": "00000000:01:00.0",
    "memory": 1 << 30,
    "mig": False,
    "errors": {},
}
READ = RawGpu("GPU-1", "NVIDIA H100", ComputeCapability(9, 0), 0, "00000000:01:00.0", 1 << 30)


def test_a_whole_answer() -> None:
    driver = {"driver": {"release": "580.65.06", "cuda": 13000}}
    answer = read_nvml(run(driver, {"device": DEVICE}, {"end": True}))
    assert answer.gpus == (READ,)
    assert (str(answer.release), str(answer.cuda)) == ("580.65.06", "13.0")
    assert (answer.complete, answer.reason) == (True, "")


def test_lines_of_others_are_passed_by() -> None:
    answer = read_nvml(run("noise", "[1]", "{", {"device": DEVICE}, "{}", {"end": True}))
    assert (answer.gpus, answer.complete) == ((READ,), True)


def test_an_answer_that_breaks_off_is_a_part() -> None:
    answer = read_cuda(run({"device": DEVICE}, returncode=-11))
    assert (answer.gpus, answer.complete) == ((READ,), False)
    assert answer.reason == "the process that asks it was ended by SIGSEGV"
    assert "stopped before its end" in read_cuda(run()).reason


def test_cuda_without_a_visible_gpu_has_answered() -> None:
    answer = read_cuda(run({"failed": {"code": 100, "text": "", "detail": ""}}))
    assert answer.complete
    assert "error 100" in answer.reason


@pytest.mark.parametrize(
    ("code", "cure"),
    [
        (34, "stub"),
        (35, "update the driver"),
        (802, "fabric manager"),
        (803, "restart the machine"),
        (804, "cuda-compat"),
        (999, "dmesg"),
        (12345, "dmesg"),
    ],
)
def test_errors_of_cuda_have_a_cure(code: int, cure: str) -> None:
    answer = read_cuda(run({"failed": {"code": code, "text": "", "detail": "/lib/libcuda.so.1"}}))
    assert not answer.complete
    assert answer.reason.startswith(f"cuInit of /lib/libcuda.so.1 gives error {code}: ")
    assert cure in answer.reason
    said = "cuInit of /lib/libcuda.so.1 fails"
    assert (answer.code, answer.said, answer.timed_out, answer.crashed) == (
        code,
        said,
        False,
        False,
    )


def test_a_library_that_fails_after_cuinit_is_no_missing_driver() -> None:
    failed = {"code": None, "text": "cuDeviceGetCount failed", "detail": "/lib/libcuda.so.1"}
    answer = read_cuda(run({"failed": failed}))
    assert (answer.reason, answer.code) == ("cuDeviceGetCount failed", None)
    missing = read_cuda(run({"failed": {"code": None, "text": "no such file", "detail": ""}}))
    assert (missing.said, missing.code) == ("no such file", None)
    assert "install one" in missing.reason


def test_what_put_an_end_to_an_answer() -> None:
    crashed = read_nvml(run({"device": DEVICE}, returncode=-11))
    assert (crashed.crashed, crashed.timed_out, crashed.code) == (True, False, None)
    hung = read_nvml(run(failure=Failure.TIMED_OUT))
    assert (hung.crashed, hung.timed_out, hung.said) == (
        False,
        True,
        "did not answer in time",
    )
    chatty = read_nvml(run(failure=Failure.TOO_MUCH))
    assert (chatty.crashed, chatty.timed_out) == (False, False)
    # What crashes on its way out has answered.
    late = read_nvml(run({"device": DEVICE}, {"end": True}, returncode=-11))
    assert (late.complete, late.crashed, late.reason) == (True, False, "")


@pytest.mark.parametrize("value", [1, "yes", None, [True], 0.0])
def test_only_true_is_true(value: object) -> None:
    (gpu,) = read_cuda(run({"device": DEVICE | {"vgpu": value, "integrated": value}})).gpus
    assert (gpu.vgpu, gpu.integrated) == (False, None)


@pytest.mark.parametrize(
    ("code", "cure"),
    [(4, "/dev/nvidia"), (9, "modprobe"), (12, "--gpus all"), (18, "restart"), (999, "restart")],
)
def test_errors_of_nvml_have_a_cure(code: int, cure: str) -> None:
    answer = read_nvml(run({"failed": {"code": code, "text": "Oh", "detail": ""}}))
    assert answer.reason.startswith(f"error {code}, Oh: ")
    assert (answer.code, answer.said) == (code, "Oh")
    assert cure in answer.reason


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("capability", [0, 0]),
        ("capability", [9, 10]),
        ("capability", [1000, 0]),
        ("capability", [9]),
        ("capability", "9.0"),
        ("capability", [None, None]),
        ("memory", -1),
        ("memory", True),
        ("index", "0"),
        ("pci", "nonsense"),
        ("name", ["x"]),
        ("uuid", ""),
    ],
)
def test_a_value_that_cannot_be_is_none(field: str, value: object) -> None:
    answer = read_nvml(run({"device": DEVICE | {field: value}}, {"end": True}))
    assert getattr(answer.gpus[0], field) is None
    assert answer.gpus[0].errors == ()


def test_errors_of_one_gpu_are_kept_with_their_cure() -> None:
    errors = {"memory": [15, "GPU is lost"], "name": "odd"}
    answer = read_nvml(run({"device": DEVICE | {"errors": errors}}))
    assert answer.gpus[0].errors == (
        "memory: GPU is lost (a GPU has fallen off the bus: restart the machine)",
        "name: odd",
    )
    assert answer.gpus[0].code == 15


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(["uuid", "name", "capability", "index", "pci", "memory", "mig", "errors"])


@given(st.lists(st.dictionaries(st.sampled_from(["driver", "device", "failed", "end"]), values)))
def test_no_record_is_too_odd(records: list[dict[str, object]]) -> None:
    for read in (read_nvml, read_cuda):
        assert isinstance(read(run(*records)), Answer)


@given(st.dictionaries(keys, values))
def test_no_device_is_too_odd(device: dict[str, object]) -> None:
    assert len(read_nvml(run({"device": device})).gpus) == 1


ROW = "0, GPU-1, 00000000:01:00.0, 81559, 580.65.06, Disabled, 9.0, NVIDIA H100 80GB, HBM3"


def test_a_row_of_nvidia_smi_whose_name_has_a_comma() -> None:
    answer = read_smi(run(ROW))
    assert answer.gpus == (
        RawGpu(
            "GPU-1",
            "NVIDIA H100 80GB, HBM3",
            ComputeCapability(9, 0),
            0,
            "00000000:01:00.0",
            81559 << 20,
        ),
    )
    assert answer.complete


def test_cells_that_are_not_known_and_cells_that_failed() -> None:
    row = "1, GPU-2, 00000000:02:00.0, [N/A], 580.65.06, [N/A], [Unknown Error], [GPU is lost]"
    (gpu,) = read_smi(run(row)).gpus
    assert (gpu.memory, gpu.mig, gpu.capability, gpu.name) == (None, False, None, None)
    assert gpu.errors == ("compute_cap: [Unknown Error]", "name: [GPU is lost]")


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (run(failure=Failure.NOT_FOUND), "not found on PATH; it comes with the driver"),
        (run(failure=Failure.TIMED_OUT), "it did not answer in time"),
        (run("No devices were found"), "it names no GPU but says: No devices were found"),
        (run("", returncode=0), "it names no GPU"),
        (run("Driver mismatch", returncode=18), "it ended with exit code 18: Driver mismatch: "),
        (run("a,b,c,d,e,f,g,h"), "it names no GPU but says: a,b,c,d,e,f,g,h"),
    ],
)
def test_why_nvidia_smi_names_nothing(outcome: Outcome, reason: str) -> None:
    answer = read_smi(outcome)
    assert answer.gpus == ()
    assert answer.reason.startswith(reason)
    assert not answer.complete
    assert answer.said
    assert answer.said in answer.reason
    assert answer.code == (18 if outcome.returncode == 18 else None)
    assert answer.timed_out == (outcome.failure is Failure.TIMED_OUT)


def test_an_old_nvidia_smi_is_recognised() -> None:
    assert refuses_fields(run('Field "compute_cap" is not a valid field to query.'))
    assert not refuses_fields(run(ROW))


@given(st.text(), st.sampled_from([SMI_FIELDS, SMI_FIELDS[:3] + SMI_FIELDS[3:6] + ("name",)]))
def test_no_table_is_too_odd(text: str, fields: tuple[str, ...]) -> None:
    read_smi(Outcome(("x",), text, "", 0), fields)
    read_smi(Outcome(("x",), ROW.replace("9.0", text), "", 0), fields)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0000:01:00.0", "00000000:01:00.0"),
        ("00000001:C1:00.0", "00000001:C1:00.0"),
        ("c1:00.0", "00000000:C1:00.0"),
        ("0000:01:00", "00000000:01:00.0"),
        ("01:00.9", None),
        ("", None),
        (None, None),
    ],
)
def test_pci_addresses_have_one_spelling(text: str | None, expected: str | None) -> None:
    assert normal_pci(text) == expected
