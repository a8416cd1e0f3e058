"""A planned build, and what came of it: edges, their costs, and a record of each run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from archbuild.model.arch import Arch


class Step(Enum):
    """What one edge of a build does.

    The first seven are the passes that nvcc runs for one source; ``NVCC`` is the
    whole call of nvcc in one. ``ORDER`` runs nothing: ninja begins with what has most
    edges behind it, and such an edge is one more.
    """

    PREPROCESS = "preprocess"
    SPLIT = "split"
    DEVICE = "device"
    ASSEMBLE = "assemble"
    FATBIN = "fatbin"
    HOST = "host"
    COMPILE = "compile"
    NVCC = "nvcc"
    DEVICE_LINK = "device-link"
    ORDER = "order"
    LINK = "link"


@dataclass(frozen=True)
class Cost:
    """What an edge is expected to take.

    Args:
        seconds: Of one processor.
        memory: Bytes, at its peak.
    """

    seconds: float
    memory: int


@dataclass(frozen=True)
class Scratch:
    """A large file between two edges, emptied once it has been used.

    What nvcc keeps for one source that includes torch/extension.h has 18 MB for each
    pass. An emptied file is made again where the edge that uses it has to run once more.

    Args:
        file: Emptied after use; its time stays.
        restore: The commands that make it again.
        made: Every file that those write, itself among them; all keep their times.
    """

    file: str
    restore: tuple[tuple[str, ...], ...]
    made: tuple[str, ...]


@dataclass(frozen=True)
class Response:
    """A file that holds the words of a command, where the line would be too long.

    Args:
        file: Its name; it is written before the command runs.
        text: What is in it.
        encoding: As Python names it; ``utf-16`` begins with a byte order mark.
    """

    file: str
    text: str
    encoding: str


@dataclass(frozen=True)
class Edge:
    """One thing that ninja runs.

    Args:
        step: What it does.
        outputs: Files that it makes, relative to the root of the plan, or absolute.
        inputs: Files that it reads; a change of one runs it again.
        commands: Run one after the other, each a program and its words.
        label: For people, ``hopper.cu sm_90a``.
        source: The source that it serves; None for a link.
        arch: What it compiles for or assembles; None for host passes.
        depfile: Where the compiler writes which headers it read.
        cost: What it is expected to take.
        threads: Processors that it can use at once.
        tuning: Words for the last command that change how fast it is and not what it
            makes: another build may give others and need not run it again.
        environ: Variables for its commands beside the build's, in the same way.
        scratch: Inputs that are emptied when it has ended well.
        made_with: Tells this state of the compilers, and of the headers of others, from
            any other: with another one it runs again.
        emptied: Outputs that another edge empties: to be compared by a digest.
        useless: Files that its commands leave and nothing reads.
        responses: Files that hold words of its commands.
        listing: Where cl lists the headers that it read, in JSON; the depfile is made of it.
    """

    step: Step
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    label: str
    source: str | None = None
    arch: Arch | None = None
    depfile: str | None = None
    cost: Cost = Cost(1.0, 256 << 20)
    threads: int = 1
    tuning: tuple[str, ...] = ()
    environ: tuple[tuple[str, str], ...] = ()
    scratch: tuple[Scratch, ...] = ()
    made_with: str = ""
    emptied: tuple[str, ...] = ()
    useless: tuple[str, ...] = ()
    responses: tuple[Response, ...] = ()
    listing: str | None = None


@dataclass(frozen=True)
class BuildPlan:
    """All edges of one extension up to its objects; the linker comes after them.

    Args:
        name: The extension's.
        root: The folder that commands run in, absolute.
        folder: Where objects are kept from one build to the next, absolute.
        edges: In an order in which they could run one by one.
        objects: What the linker takes, in order.
        cached: Whether a compiler cache may answer in a compiler's place.
    """

    name: str
    root: str
    folder: str
    edges: tuple[Edge, ...]
    objects: tuple[str, ...]
    cached: bool = False


@dataclass(frozen=True)
class EdgeRun:
    """What one edge did, as its runner recorded it.

    Args:
        label: The edge's.
        step: What it did.
        source: The source that it served.
        arch: What it compiled for, ``sm_90a``; None for host passes.
        start: Seconds since the build began.
        seconds: How long it took.
        memory: Bytes at the peak of its largest process.
        status: 0, the exit status of what failed, or minus a signal's number.
        output: What its commands printed.
        retried: Whether it was killed and then run once more alone.
        command: The command that failed, or the last one.
    """

    label: str
    step: Step
    source: str | None
    arch: str | None
    start: float
    seconds: float
    memory: int
    status: int
    output: str = ""
    retried: bool = False
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class BuildRun:
    """What a build did.

    Args:
        plan: What was planned.
        runs: Each edge that ran, in the order in which they ended.
        seconds: From its start to its end.
        cache_hits: Compiles that the launcher answered; None without a launcher.
        cache_misses: Compiles that it had to run; None without a launcher.
        launcher: ``ccache``, ``sccache``; None where there was none.
    """

    plan: BuildPlan
    runs: tuple[EdgeRun, ...]
    seconds: float
    cache_hits: int | None = None
    cache_misses: int | None = None
    launcher: str | None = None

    @property
    def failed(self) -> tuple[EdgeRun, ...]:
        """Those that did not end well."""
        return tuple(run for run in self.runs if run.status != 0)


@dataclass(frozen=True)
class Resources:
    """What a build may use of a machine.

    Args:
        processors: Those that this process may run on, limits of containers included.
        memory: Bytes that are free now within every limit; None where nobody says.
        why_processors: What set the number, for people: ``"affinity"``, ``"cgroup cpu.max"``.
        why_memory: What set the number, for people.
    """

    processors: int
    memory: int | None
    why_processors: str = ""
    why_memory: str = ""
