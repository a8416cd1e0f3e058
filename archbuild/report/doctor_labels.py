"""The words around findings about machines, in one language each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Labels:
    """Everything that is said around the findings themselves.

    Those with places in braces are templates. The dictionaries go by the values of
    the enumerations that they are for.

    Args:
        language: ``en`` or ``zh``.
        severities: Error, warning, note.
        confidences: Certain, likely, possible.
        cells: What a package does on a GPU.
        topics: What a change is about.
        error_count: One, and several.
        warning_count: One, and several.
    """

    language: str
    severities: dict[str, str]
    confidences: dict[str, str]
    cells: dict[str, str]
    topics: dict[str, str]
    colon: str
    comma: str
    root_cause: str
    others: str
    follows: str
    seen: str
    more_seen: str
    met: str
    page: str
    gpus: str
    not_known: str
    unknown: str
    not_asked: str
    machine: str
    system: str
    driver: str
    no_driver: str
    torch: str
    no_torch: str
    toolkit: str
    toolkits: str
    no_toolkit: str
    no_gpu: str
    container: str
    by_bus: str
    package: str
    library: str
    gpu: str
    capability: str
    in_cuda: str
    hidden: str
    legend: str
    well: str
    undecided: str
    found: str
    error_count: tuple[str, str]
    warning_count: tuple[str, str]
    checked: str
    check_well: str
    check_failed: str
    check_unknown: str
    changed: str
    changed_on: str
    unchanged: str
    came: str
    went: str
    before: str
    after: str
    what: str
    nothing: str
    incomparable: str
    left_out: str


ENGLISH = Labels(
    language="en",
    severities={"error": "error", "warning": "warning", "note": "note"},
    confidences={"certain": "certain", "likely": "likely", "possible": "possible"},
    cells={
        "native": "native",
        "JIT": "JIT",
        "part JIT": "part JIT",
        "part": "part",
        "none": "none",
        "?": "?",
    },
    topics={
        "gpu": "GPU",
        "driver": "driver",
        "driver files": "driver's files",
        "container": "container",
        "system": "system",
        "python": "Python",
        "torch": "torch",
        "package": "package",
        "library": "library",
        "toolkit": "toolkit",
        "variable": "variable",
        "trial": "trial",
    },
    colon=": ",
    comma=", ",
    root_cause="Root cause",
    others="Other findings",
    follows="What follows from it",
    seen="seen",
    more_seen="and {count} more; --verbose shows all",
    met="you meet",
    page="page",
    gpus="on",
    not_known="Not known",
    unknown="{what}: {why}",
    not_asked="Packages and libraries were not looked at.",
    machine="The machine",
    system="{system} {processor}, Python {python}[, {distribution}][, kernel {kernel}]",
    driver="driver {release}[, for CUDA up to {cuda}]",
    no_driver="driver: none",
    torch="torch {version}[ of CUDA {cuda}][, cuDNN {cudnn}]",
    no_torch="torch: none",
    toolkit="toolkit of CUDA {version} ({root})",
    toolkits="toolkit of CUDA {version} ({root}), and {count} more",
    no_toolkit="toolkit: none",
    no_gpu="GPU: none found",
    container="in a container ({kind})",
    by_bus="by the PCI bus alone",
    package="package",
    library="library",
    gpu="GPU",
    capability="capability",
    in_cuda="CUDA",
    hidden="no",
    legend=(
        "native: runs as it is; JIT: the driver compiles it first; part: some of it has nothing "
        "for this GPU; none: nothing runs; ?: not known."
    ),
    well="doctor: all well",
    undecided="doctor: not enough is known to say that all is well",
    found="doctor: {counts}",
    error_count=("{count} error", "{count} errors"),
    warning_count=("{count} warning", "{count} warnings"),
    checked="checked: {what}",
    check_well="well",
    check_failed="failed",
    check_unknown="not known",
    changed="What changed since the old record",
    changed_on="What changed since the record of {day}",
    unchanged="Nothing that both records tell of has changed.",
    came="new",
    went="gone",
    before="before",
    after="now",
    what="what",
    nothing="-",
    incomparable="Only one of the two tells of this, so that it is not compared: {topics}.",
    left_out="Names of people and hosts, paths of homes, UUIDs and serial numbers are left out.",
)
