"""The edges of one CUDA source: nvcc's passes side by side, or nvcc in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePath

from archbuild.build.dryrun import DATA, Pass, Script
from archbuild.model.build import Cost, Edge, Response, Scratch, Step

#: What a step will take for a source: of nvcc's whole call, with so many passes.
CostOf = Callable[[str, Step, int], Cost]

_SAID = {Step.PREPROCESS: "preprocessed", Step.SPLIT: "host code"}


def pass_edges(
    script: Script, source: str, more_inputs: Sequence[str], cost_of: CostOf
) -> tuple[Edge, ...]:
    """One edge for each pass.

    A pass that makes nothing goes with the one that made what it looks at. The host
    compiler stops at assembly, which needs no fatbin, so that it runs beside the device
    passes; the fatbin goes with the assembler, and neither takes any time.

    Args:
        script: The passes of this source.
        source: The source, as the plan names it.
        more_inputs: Files whose change runs everything again: the compilers.
        cost_of: What a pass will take.
    """
    fatbin = next(one for one in script.passes if one.step is Step.FATBIN)
    makers = {file: one for one in script.passes for file in one.outputs}
    edges: list[Edge] = []
    for one in script.passes:
        if not one.outputs:
            _add(edges, one)
        elif one is not fatbin:
            made = (
                _host_edges(one, fatbin, script.wrapper) if one.step is Step.HOST else [_edge(one)]
            )
            edges += [_finished(edge, source, more_inputs, makers, cost_of) for edge in made]
    return _stub_first(edges)


def _finished(
    edge: Edge,
    source: str,
    more_inputs: Sequence[str],
    makers: Mapping[str, Pass],
    cost_of: CostOf,
) -> Edge:
    return replace(
        edge,
        inputs=(*edge.inputs, *more_inputs),
        label=_label(edge, source),
        source=source,
        scratch=tuple(_scratch(edge.inputs, makers)),
        cost=cost_of(source, edge.step, 1),
    )


def _stub_first(edges: Sequence[Edge]) -> tuple[Edge, ...]:
    """The edges, those first that the host compiler waits for: ninja begins with them."""
    host = next(edge for edge in edges if edge.step is Step.HOST)
    device = [edge for edge in edges if edge.step is Step.DEVICE]
    archs = {edge.arch for edge in device if not set(edge.outputs).isdisjoint(host.inputs)}
    early = [edge for edge in edges if edge.step is Step.SPLIT or edge.arch in (None, *archs)]
    first = [edge for edge in early if edge.step in (Step.PREPROCESS, Step.SPLIT, Step.DEVICE)]
    return (*first, *(edge for edge in edges if edge not in first))


def _add(edges: list[Edge], check: Pass) -> None:
    index = next(i for i, edge in enumerate(edges) if check.inputs[0] in edge.outputs)
    edges[index] = replace(edges[index], commands=(*edges[index].commands, check.command))


def _edge(one: Pass) -> Edge:
    edge = Edge(
        step=one.step,
        outputs=one.outputs,
        inputs=one.inputs,
        commands=(one.command,),
        label="",
        arch=one.arch,
        emptied=_large(one),
        useless=one.useless,
    )
    if one.step is not Step.PREPROCESS:
        return edge
    depfile = f"{one.outputs[0]}.d"
    program, *words = one.command
    command = (program, "-MD", "-MF", depfile, "-MT", one.outputs[0], *words)
    return replace(edge, commands=(command,), depfile=depfile)


def _host_edges(host: Pass, fatbin: Pass, wrapper: str | None) -> list[Edge]:
    data, included = fatbin.outputs
    others = tuple(file for file in host.inputs if file not in fatbin.outputs)
    # With debug information the object would tell that the wrapper was another.
    if wrapper is None or not _is_plain(data) or any(w.startswith("-g") for w in host.command):
        inputs = (*fatbin.inputs, *others)
        return [replace(_edge(host), inputs=inputs, commands=(fatbin.command, host.command))]
    (obj,) = host.outputs
    assembly = f"{included.removesuffix('.fatbin.c')}.s"
    compiled = replace(
        _edge(host),
        inputs=others,
        outputs=(assembly,),
        commands=(_to_assembly(host.command, obj, assembly),),
        responses=(Response(included, wrapper.replace(DATA, data), "utf-8"),),
    )
    order = _order_edges(assembly)
    words = tuple(word for word in fatbin.command if not word.startswith("--embedded-fatbin="))
    assembled = Edge(
        step=Step.FATBIN,
        outputs=(obj,),
        inputs=(*fatbin.inputs, assembly, order[-1].outputs[0]),
        commands=(words, _from_assembly(host.command, assembly)),
        label="",
    )
    return [compiled, *order, assembled]


def _order_edges(file: str) -> list[Edge]:
    """Edges that run nothing, behind one that should begin before the device passes.

    A device pass has two edges behind it, the assembler's and the fatbin's. The host
    compiler takes as long as one of them, and alone at the end would leave all but one
    processor idle.
    """
    names = [file, *(f"{file}.order{number}" for number in (1, 2))]
    return [Edge(Step.ORDER, (later,), (earlier,), (), "") for earlier, later in pairwise(names)]


def _is_plain(path: str) -> bool:
    """Whether a path can stand in a string of C that holds a string of the assembler."""
    return path.isprintable() and not set(path) & set('"\\')


def _to_assembly(command: Sequence[str], obj: str, assembly: str) -> tuple[str, ...]:
    words = ["-S" if word == "-c" else word for word in command]
    return tuple(assembly if word == obj else word for word in words)


def _from_assembly(command: Sequence[str], assembly: str) -> tuple[str, ...]:
    """The assembler by the same driver, with the same flags, but for the language."""
    words = list(command)
    at = words.index("-x")
    del words[at : at + 2]
    words[words.index("-o") - 1] = assembly
    return tuple(words)


def _large(one: Pass) -> tuple[str, ...]:
    """Of what a pass makes, that which has all the text of the headers."""
    return one.outputs[:1] if one.step in (Step.PREPROCESS, Step.SPLIT) else ()


def _scratch(inputs: Sequence[str], makers: Mapping[str, Pass]) -> Iterator[Scratch]:
    """The large files among these, and how each is made again, from the source on."""
    for file in inputs:
        maker = makers.get(file)
        if maker is None or file not in _large(maker):
            continue
        chain = [maker]
        while earlier := [makers[name] for name in chain[0].inputs if name in makers]:
            chain = [*earlier, *chain]
        made = tuple(name for link in chain for name in link.outputs)
        yield Scratch(file, tuple(link.command for link in chain), made)


def _label(one: Edge, source: str) -> str:
    said = _SAID.get(one.step, "" if one.arch is not None else "object")
    if one.step is Step.HOST and one.outputs[0].endswith(".s"):
        said = "host code compiled"
    return " ".join(filter(None, [source_name(source), str(one.arch or ""), said]))


def source_name(source: str) -> str:
    """The last part of a path, for people."""
    return PurePath(source).name


def whole_edge(
    command: Sequence[str],
    source: str,
    obj: str,
    *,
    more_inputs: Sequence[str],
    cost_of: CostOf,
    passes: int,
) -> Edge:
    """One call of nvcc for a source, behind a launcher or where its passes are not known.

    Args:
        command: nvcc with all flags but source and output, a launcher before it.
        source: The source, as the plan names it.
        obj: The object.
        more_inputs: Files whose change runs it again.
        cost_of: What a pass will take.
        passes: For how many virtual architectures it compiles, and could at once.
    """
    depfile = f"{obj}.d"
    words = (*command, "-MD", "-MF", depfile, "-c", source, "-o", obj)
    return Edge(
        step=Step.NVCC,
        outputs=(obj,),
        inputs=(source, *more_inputs),
        commands=(words,),
        label=source_name(source),
        source=source,
        depfile=depfile,
        cost=cost_of(source, Step.NVCC, passes),
        threads=passes,
    )


def host_edge(
    command: Sequence[str],
    after: Sequence[str],
    source: str,
    obj: str,
    *,
    more_inputs: Sequence[str],
    cost_of: CostOf,
) -> Edge:
    """One call of the host compiler for a source of C or C++.

    Args:
        command: The compiler with its flags.
        after: Flags that come after source and object.
        source: The source, as the plan names it.
        obj: The object.
        more_inputs: Files whose change runs it again.
        cost_of: What it will take.
    """
    depfile = f"{obj}.d"
    words = (*command, "-MD", "-MF", depfile, "-c", source, "-o", obj, *after)
    return Edge(
        step=Step.COMPILE,
        outputs=(obj,),
        inputs=(source, *more_inputs),
        commands=(words,),
        label=source_name(source),
        source=source,
        depfile=depfile,
        cost=cost_of(source, Step.COMPILE, 1),
    )


def cl_edge(
    command: Sequence[str],
    after: Sequence[str],
    source: str,
    obj: str,
    *,
    more_inputs: Sequence[str],
    cost_of: CostOf,
) -> Edge:
    """One call of Microsoft's compiler for a source of C or C++.

    It lists the headers in JSON, which the runner makes a depfile of: what
    ``/showIncludes`` prints is in the language of the compiler, and mixed with warnings.

    Args:
        command: The compiler with its flags.
        after: Flags that come after source and object.
        source: The source, as the plan names it.
        obj: The object.
        more_inputs: Files whose change runs it again.
        cost_of: What it will take.
    """
    listing = f"{obj}.json"
    language = "/Tc" if source.endswith(".c") else "/Tp"
    words = (*command, "/sourceDependencies", listing, "/c", f"{language}{source}", f"/Fo{obj}")
    edge = host_edge((), (), source, obj, more_inputs=more_inputs, cost_of=cost_of)
    return replace(edge, commands=((*words, *after),), listing=listing)


def device_link_edge(command: Sequence[str], objects: Sequence[str], made: str) -> Edge:
    """The device link of relocatable code.

    Args:
        command: nvcc with the flags of the device link.
        objects: All objects of the extension.
        made: The object that it makes.
    """
    words = (*command, *objects, "-o", made)
    return Edge(
        step=Step.DEVICE_LINK,
        outputs=(made,),
        inputs=tuple(objects),
        commands=(words,),
        label="device link",
    )
