"""The table of GPUs for people."""

from __future__ import annotations

import pytest

from archbuild.model.arch import ComputeCapability
from archbuild.model.machine import Absence, Driver, Gpu, Machine
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.report.gpus import render_gpus

DRIVER = Driver(DriverRelease.parse("580.65.06"), CudaVersion(13, 0))
GTX = Gpu(
    "GPU-00000001-1111-2222-3333-444444444444",
    "NVIDIA GeForce GTX 1080",
    ComputeCapability(6, 1),
    index=0,
    cuda_index=1,
    visible=True,
    memory=8 << 30,
)
B200 = Gpu(
    "GPU-00000002-1111-2222-3333-444444444444",
    "NVIDIA B200 with a name much too long for any table that is to fit",
    ComputeCapability(10, 0),
    index=1,
    visible=False,
    memory=183359 << 20,
)


def machine(*gpus: Gpu, driver: Driver | None = DRIVER, **more: object) -> Machine:
    return Machine("linux", "x86_64", "3.11.7", gpus=gpus, driver=driver, **more)  # type: ignore[arg-type]


def test_the_table_at_80_columns() -> None:
    assert render_gpus(machine(GTX), 80) == (
        "Driver: 580.65.06, for CUDA up to 13.0\n"
        "\n"
        "#  GPU                      capability  memory   CUDA\n"
        "0  NVIDIA GeForce GTX 1080  6.1         8.0 GiB  as 1\n"
        "   GPU-00000001-1111-2222-3333-444444444444\n"
    )


def test_a_wide_terminal_has_the_uuid_in_the_row() -> None:
    text = render_gpus(machine(GTX), 120)
    row = next(line for line in text.splitlines() if line.startswith("0"))
    assert row.endswith(f"as 1  {GTX.uuid}")


@pytest.mark.parametrize("width", [50, 60, 80, 90, 100, 120, 200])
def test_no_line_is_too_long(width: int) -> None:
    absences = (
        Absence("nvml", "x" * 300),
        Absence("gpu 1", "its capability cannot be read because of what nobody knows " * 5),
    )
    text = render_gpus(machine(GTX, B200, absences=absences), width)
    assert max(map(len, text.splitlines())) <= width
    assert B200.uuid in text


def test_a_width_that_cannot_be_is_no_error() -> None:
    assert GTX.uuid in render_gpus(machine(GTX), 0)


def test_hidden_gpus_are_explained() -> None:
    variables = (("CUDA_VISIBLE_DEVICES", "0"),)
    text = render_gpus(machine(GTX, B200, variables=variables), 80)
    assert "CUDA sees 1 of these: CUDA_VISIBLE_DEVICES is 0." in text
    assert "  no\n" in text
    assert "179 GiB" in text
    assert "CUDA does not see 1 of these." in render_gpus(machine(GTX, B200), 80)
    hidden = machine(B200, variables=(("CUDA_VISIBLE_DEVICES", ""),))
    assert "CUDA_VISIBLE_DEVICES is set and empty." in render_gpus(hidden, 80)


def test_nothing_is_explained_by_the_reasons_about_gpus_alone() -> None:
    absences = (Absence("nvml", "no driver here"), Absence("torch", "not installed"))
    text = render_gpus(machine(driver=None, absences=absences), 80)
    assert text == "Driver: none found\n\nNo NVIDIA GPU was found.\n\nnvml: no driver here.\n"


def test_what_is_unknown_says_so() -> None:
    text = render_gpus(machine(Gpu("", "unknown GPU", None), driver=Driver(None, None)), 80)
    assert "release unknown, for CUDA up to an unknown version" in text
    assert text.count("unknown") == 7
    assert "UUID unknown" in text


def test_slices_stand_below_their_gpu() -> None:
    whole = Gpu("GPU-1", "NVIDIA H100", ComputeCapability(9, 0), index=0, visible=False, mig=True)
    part = Gpu("MIG-1", "NVIDIA H100 MIG 1g", ComputeCapability(9, 0), 0, 0, visible=True, mig=True)
    lines = render_gpus(machine(whole, part), 80).splitlines()
    assert lines[3].startswith("0  NVIDIA H100 (MIG on)")
    assert lines[5].startswith("   NVIDIA H100 MIG 1g")
    assert "CUDA does not see" not in "\n".join(lines)


def test_a_name_from_elsewhere_cannot_steer_the_terminal() -> None:
    text = render_gpus(machine(Gpu("GPU-\x1b[2J", "evil\x1b]0;name\n\x07", None)), 80)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "evil?]0;name??" in text
