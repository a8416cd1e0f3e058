"""What edges are expected to take: by their headers, then by what they took."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from archbuild.build.costs import by_headers, learn_from, refined
from archbuild.model.build import Cost, Edge, EdgeRun, Step
from archbuild.rules.building.cost import estimate_device

EDGE = Edge(Step.DEVICE, ("o",), (), (("cicc",),), "a.cu compute_90", source="csrc/a.cu")
RUN = EdgeRun(EDGE.label, EDGE.step, EDGE.source, "compute_90", 0.0, 12.0, 1 << 30, 0)


def write(root: Path, text: str) -> str:
    (root / "a.cu").write_text(text)
    return "a.cu"


def test_the_heaviest_header_decides(tmp_path: Path) -> None:
    source = write(tmp_path, "#include <torch/extension.h>\n#include <vector>\n")
    cost = by_headers(tmp_path, [])(source, Step.DEVICE, 1)
    assert cost.memory > 3 * 10**9
    light = write(tmp_path, "#include <cuda_runtime.h>\n")
    assert by_headers(tmp_path, [])(light, Step.DEVICE, 1).memory < 10**9


def test_a_header_of_the_project_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "all.h").write_text("#include <torch/extension.h>\n")
    source = write(tmp_path, '#include "all.h"\n')
    assert by_headers(tmp_path, ["inc"])(source, Step.DEVICE, 1).memory > 3 * 10**9


def test_lean_headers_weigh_less(tmp_path: Path) -> None:
    source = write(tmp_path, "#include <torch/extension.h>\n")
    full = by_headers(tmp_path, [])(source, Step.DEVICE, 1)
    lean = by_headers(tmp_path, [], {source})(source, Step.DEVICE, 1)
    assert lean.memory < full.memory / 2
    assert lean.memory >= estimate_device(["ATen/ATen.h"], 0).memory


def test_what_was_measured_wins(tmp_path: Path) -> None:
    learn_from([RUN], [EDGE], tmp_path, cached=False)
    (edge,) = refined([EDGE], tmp_path)
    assert edge.cost.seconds == 12.0
    assert 1 << 30 <= edge.cost.memory < 1.3 * (1 << 30)


def test_two_sources_of_one_name_are_told_apart(tmp_path: Path) -> None:
    other = replace(EDGE, source="more/a.cu", cost=Cost(1.0, 1000))
    learn_from([RUN], [EDGE, other], tmp_path, cached=False)
    assert [edge.cost.seconds for edge in refined([EDGE, other], tmp_path)] == [12.0, 1.0]


def test_a_failure_teaches_nothing(tmp_path: Path) -> None:
    learn_from([replace(RUN, status=1)], [EDGE], tmp_path, cached=False)
    assert refined([EDGE], tmp_path) == (EDGE,)


def test_a_hit_of_a_cache_is_not_what_the_compiler_takes(tmp_path: Path) -> None:
    learn_from([replace(RUN, seconds=0.01, memory=1000)], [EDGE], tmp_path, cached=True)
    (edge,) = refined([EDGE], tmp_path)
    assert edge.cost.memory >= EDGE.cost.memory


@pytest.mark.parametrize("text", ["", "[", "[]", '{"a": 1}', '{"a": ["x", 1]}', '{"a": [1]}'])
def test_a_damaged_book_is_no_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "costs.json").write_text(text)
    assert refined([EDGE], tmp_path) == (EDGE,)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    learn_from([RUN], [EDGE], tmp_path / "gone", cached=False)
    assert not (tmp_path / "gone").exists()
