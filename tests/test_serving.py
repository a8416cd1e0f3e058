"""What packages do on the GPUs here, as the doctor's table has it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archbuild.model.machine import Machine
from archbuild.report.doctor_labels import ENGLISH
from archbuild.report.doctor_machine import kind_words, served_words
from archbuild.rules.covering.code import gpu_kinds
from archbuild.rules.diagnosis.serving import Service, serve
from tests.doctors import GTX_1080, RTX_5090, code_package, desk, gpu


def words(machine: Machine) -> dict[str, list[str]]:
    return {
        row.name: [served_words(stood, ENGLISH) for stood in row.standings]
        for row in serve(machine).packages
    }


@pytest.mark.parametrize(
    ("archs", "driver", "expected"),
    [
        (["sm_120"], "570.124.06", "native"),
        (["sm_80"], "570.124.06", "none (209)"),
        (["compute_90"], "570.124.06", "JIT >=550"),
        (["sm_80", "compute_90"], "580.65.06", "JIT >=550"),
    ],
)
def test_one_package(archs: list[str], driver: str, expected: str) -> None:
    machine = desk(RTX_5090, driver=driver, packages=[code_package("a", "1", *archs)])
    assert words(machine) == {"a": [expected]}


def test_torch_comes_first_and_every_kind_of_gpu_has_a_column() -> None:
    machine = desk(
        RTX_5090,
        GTX_1080,
        gpu(RTX_5090.name, "12.0", 2),
        packages=[
            code_package("a", "1", "sm_61"),
            code_package("torch", "2", "sm_120", path="torch/lib/libtorch_cuda.so"),
        ],
    )
    assert words(machine) == {
        "torch": ["native", "none (209)"],
        "a": ["none (209)", "native"],
    }
    assert [kind_words(kind) for kind in serve(machine).kinds] == [
        "2 x RTX 5090 (12.0)",
        "GTX 1080 (6.1)",
    ]


def test_names_of_one_capability_share_a_column() -> None:
    both = (gpu("NVIDIA GeForce RTX 3090", "8.6"), gpu("NVIDIA RTX A6000", "8.6", 1))
    assert [kind_words(kind) for kind in gpu_kinds(desk(*both))] == ["2 x RTX 3090, ... (8.6)"]


def test_nothing_to_say() -> None:
    machine = desk(RTX_5090, packages=[code_package("a", "1", "sm_61")])
    assert serve(replace(machine, gpus=())) == Service()
    assert serve(replace(machine, installed=None)).packages == ()
    assert (
        serve(desk(RTX_5090, packages=[replace(code_package("a", "1"), files=())])).packages == ()
    )


def test_libraries_one_by_one() -> None:
    package = code_package("a", "1", "sm_120")
    other = code_package("a", "1", "sm_90a", path="a/hopper.so").files[0]
    machine = desk(RTX_5090, packages=[replace(package, files=(*package.files, other))])
    rows = {row.name: row.standings[0] for row in serve(machine).libraries}
    assert [served_words(stood, ENGLISH) for stood in rows.values()] == ["native", "-"]
    assert list(rows) == ["a/_C.so", "a/hopper.so"]
