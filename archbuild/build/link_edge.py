"""The edge that links a library or a program, where no setuptools does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from archbuild.model.build import BuildPlan, Edge, Step


@dataclass(frozen=True)
class LinkWords:
    """How a linker is called.

    Args:
        command: The compiler that links, with the flags that come first.
        after: What comes after the objects: libraries and where they are.
    """

    command: tuple[str, ...]
    after: tuple[str, ...]


def with_link(plan: BuildPlan, words: LinkWords, made: str) -> BuildPlan:
    """The plan and, at its end, the link of its objects.

    Args:
        plan: Everything up to the objects.
        words: How they are linked.
        made: The file to make, relative to the plan's root.
    """
    files = tuple(word for word in words.after if _is_file(word, plan.root))
    edge = Edge(
        step=Step.LINK,
        outputs=(made,),
        inputs=(*plan.objects, *dict.fromkeys(files)),
        commands=((*words.command, *plan.objects, *words.after, "-o", made),),
        label=f"link {PurePath(made).name}",
    )
    return replace(plan, edges=(*plan.edges, edge))


def _is_file(word: str, root: str) -> bool:
    """Whether a word for the linker is a library or an object by its path."""
    return bool(PurePath(word).suffix) and word[0] != "-" and Path(root, word).is_file()


def linked_files(plan: BuildPlan) -> Sequence[str]:
    """What the link of such a plan reads besides the plan's own objects."""
    own = set(plan.objects)
    links = [edge for edge in plan.edges if edge.step is Step.LINK]
    return [file for edge in links for file in edge.inputs if file not in own]
