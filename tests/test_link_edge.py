"""The link at the end of a plan."""

from __future__ import annotations

from pathlib import Path

from archbuild.build.link_edge import LinkWords, linked_files, with_link
from archbuild.model.build import BuildPlan, Step


def test_objects_then_libraries_then_the_output(tmp_path: Path) -> None:
    (tmp_path / "own.a").touch()
    plan = BuildPlan("m", str(tmp_path), str(tmp_path / "o"), (), ("o/a.o", "o/b.o"))
    words = LinkWords(("c++", "-shared"), ("own.a", "gone.a", "-L.", "-lx.a", "own.a"))
    linked = with_link(plan, words, "o/m.so")
    (edge,) = linked.edges
    assert edge.step is Step.LINK
    objects, after = ("o/a.o", "o/b.o"), ("own.a", "gone.a", "-L.", "-lx.a", "own.a")
    assert edge.commands == (("c++", "-shared", *objects, *after, "-o", "o/m.so"),)
    # A library that is named by its path is linked again when it changes.
    assert edge.inputs == ("o/a.o", "o/b.o", "own.a")
    assert (edge.outputs, edge.label) == (("o/m.so",), "link m.so")
    assert linked_files(linked) == ["own.a"]
    assert plan.edges == ()
