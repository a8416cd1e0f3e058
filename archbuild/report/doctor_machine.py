"""A machine in a few lines: what it has, and what its packages do on its GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archbuild.model.machine import Machine
from archbuild.report.doctor_labels import Labels
from archbuild.report.fleet import place_words, short_name
from archbuild.report.table import Column, render_table
from archbuild.report.text import wrap
from archbuild.rules.covering.code import FileStanding, GpuKind, Standing
from archbuild.rules.covering.places import places_of
from archbuild.rules.diagnosis.serving import Served, serve
from archbuild.rules.filling import fill

#: Packages that are told one by one without ``--verbose``.
_MOST_PACKAGES = 12


def render_machine(
    machine: Machine, width: int, labels: Labels, *, verbose: bool = False
) -> list[str]:
    """The machine in lines: a summary, its GPUs, and who serves them.

    Args:
        machine: The machine.
        width: No line has more columns.
        labels: The words.
        verbose: Whether to show every library of every package.
    """
    lines = [line for text in facts_of(machine, labels) for line in wrap(text, width, "  ")]
    lines += ["", *_gpus(machine, width, labels)] if machine.gpus else []
    service = serve(machine)
    rows = service.libraries if verbose else service.packages[:_MOST_PACKAGES]
    if rows:
        head = labels.library if verbose else labels.package
        lines += ["", *_served(head, service.kinds, rows, width, labels), ""]
        lines += wrap(labels.legend, width)
    return lines


def facts_of(machine: Machine, labels: Labels) -> Iterator[str]:
    """System, driver, torch, toolkit and container, a line each."""
    around, installed = machine.surroundings, machine.installed
    values = {"system": machine.system, "processor": machine.processor, "python": machine.python}
    if around is not None:
        told = {"distribution": around.distribution, "kernel": around.kernel}
        values |= {name: value for name, value in told.items() if value}
    yield fill(labels.system, values)
    if around is not None and around.container is not None:
        yield fill(labels.container, {"kind": around.container.kind.value})
    if not machine.gpus:
        yield from _without_gpu(machine, labels)
    yield _driver(machine, labels)
    torch = machine.torch
    if torch is None:
        yield labels.no_torch
    else:
        cudnn = installed.cudnn if installed is not None else None
        yield _filled(labels.torch, version=torch.version, cuda=torch.cuda, cudnn=cudnn)
    yield _toolkit(machine, labels)


def _filled(template: str, **values: object | None) -> str:
    return fill(template, {name: str(value) for name, value in values.items() if value is not None})


def _without_gpu(machine: Machine, labels: Labels) -> Iterator[str]:
    cards = machine.surroundings.cards if machine.surroundings is not None else ()
    if not cards:
        yield labels.no_gpu
    for place in places_of(machine):
        yield f"GPU{labels.colon}{place_words(place)}, {labels.by_bus}"


def _driver(machine: Machine, labels: Labels) -> str:
    driver = machine.driver
    if driver is None:
        return labels.no_driver
    return _filled(labels.driver, release=driver.release or "?", cuda=driver.cuda)


def _toolkit(machine: Machine, labels: Labels) -> str:
    kit = machine.toolkit
    if kit is None:
        return labels.no_toolkit
    more = len(machine.toolkits) - 1
    template = labels.toolkits if more else labels.toolkit
    return _filled(template, version=kit.version, root=kit.root, count=more)


def _gpus(machine: Machine, width: int, labels: Labels) -> list[str]:
    columns = [
        Column(labels.gpu),
        Column(labels.capability),
        Column(labels.in_cuda),
        Column("PCI", rank=1),
    ]
    rows = []
    for gpu in machine.gpus:
        index = "?" if gpu.cuda_index is None else str(gpu.cuda_index)
        seen = labels.hidden if gpu.visible is False else index
        name = f"{gpu.name} (MIG)" if gpu.mig else gpu.name
        rows.append([name, str(gpu.capability or "?"), seen, gpu.pci or ""])
    return render_table(columns, rows, width)


def kind_words(kind: GpuKind) -> str:
    """GPUs of one capability: ``2 x RTX 3090 (8.6)``, ``3 x RTX 3090, ... (8.6)``."""
    names = list(dict.fromkeys(short_name(gpu.name) for gpu in kind.gpus))
    count = f"{len(kind.gpus)} x " if len(kind.gpus) > 1 else ""
    return f"{count}{names[0]}{', ...' if len(names) > 1 else ''} ({kind.capability})"


def _served(
    head: str, kinds: Sequence[GpuKind], rows: Sequence[Served], width: int, labels: Labels
) -> list[str]:
    columns = [Column(head), *(Column(kind_words(kind)) for kind in kinds)]
    cells = [
        [f"{row.name} {row.version}".strip(), *(served_words(s, labels) for s in row.standings)]
        for row in rows
    ]
    return render_table(columns, cells, width)


_WORDS = {
    Standing.NOTHING: "none",
    Standing.REFUSED: "none",
    Standing.UNKNOWN: "?",
    Standing.PART: "part",
    Standing.JIT: "JIT",
    Standing.SERVED: "native",
}


def served_words(stood: FileStanding | None, labels: Labels) -> str:
    """What a library does on a kind of GPU: a word, and the error or the driver's floor."""
    if stood is None or stood.standing not in _WORDS:
        return labels.nothing
    word = labels.cells[_WORDS[stood.standing]]
    verdict = stood.verdict
    if verdict is None:
        return word
    if stood.standing is Standing.JIT and verdict.floor and verdict.floor.release:
        return f"{word} >={verdict.floor.release.branch}"
    return f"{word} ({verdict.errors[0]})" if verdict.errors else word
