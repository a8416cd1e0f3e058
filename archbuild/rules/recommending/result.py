"""What is wished for, and what is recommended, as data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum

from archbuild.facts.torch_releases import Python, TorchRelease
from archbuild.facts.torch_wheels import Standing
from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.coverage import DriverFloor
from archbuild.model.image import Region
from archbuild.model.machine import Driver
from archbuild.model.version import CudaVersion
from archbuild.rules.recommending.said import Said


@dataclass(frozen=True)
class Card:
    """One GPU that has to be served.

    Args:
        name: As it was named, or as the driver names it.
        capability: None where it is not known.
        uuid: By which it can be hidden or shown; None: it is not here.
    """

    name: str
    capability: ComputeCapability | None
    uuid: str | None = None


@dataclass(frozen=True)
class Library:
    """One library of a torch, as the rule of coverage takes it.

    Args:
        name: ``libtorch_cuda``.
        regions: What it holds.
        inferred: Whether that is taken over from other wheels.
    """

    name: str
    regions: tuple[Region, ...]
    inferred: bool = False

    @property
    def held(self) -> tuple[Arch, ...]:
        """Every architecture in it, upwards."""
        images = (image for region in self.regions for image in region.images)
        return tuple(sorted({image.arch for image in images if image.arch is not None}))


@dataclass(frozen=True)
class InstalledTorch:
    """The torch that is installed, whose own words win over the table.

    Args:
        version: ``2.14.1``.
        torch: Its release.
        cuda: The CUDA it was built with.
        libraries: What it holds, the main one first; empty where nobody asked.
        cudnn: The cuDNN that it would load; None: unknown.
    """

    version: str
    torch: TorchRelease
    cuda: CudaVersion
    libraries: tuple[Library, ...] = ()
    cudnn: str | None = None


@dataclass(frozen=True)
class Nvcc:
    """An nvcc that is here, whose own list wins over the table.

    Args:
        version: Its CUDA.
        archs: What it builds.
    """

    version: CudaVersion
    archs: tuple[Arch, ...]


@dataclass(frozen=True)
class Wish:
    """Everything that decides.

    Args:
        cards: All of them have to be served.
        system: ``linux``, ``windows`` or what Python calls another one.
        processor: ``x86_64`` or ``aarch64``.
        python: ``(3, 12)``.
        driver: None: one is assumed.
        windows_driver: Whether the driver is one for Windows, as it is in WSL.
        cuda: Only wheels of this CUDA; None: of any.
        torch: Only this torch; None: any.
        installed: The torch that is here.
        nvcc: The nvcc that is here.
    """

    cards: tuple[Card, ...]
    system: str
    processor: str
    python: Python
    driver: Driver | None = None
    windows_driver: bool = False
    cuda: CudaVersion | None = None
    torch: TorchRelease | None = None
    installed: InstalledTorch | None = None
    nvcc: Nvcc | None = None

    @property
    def capabilities(self) -> tuple[ComputeCapability, ...]:
        """Of the GPUs, those that are known."""
        return tuple(c.capability for c in self.cards if c.capability is not None)


class Grade(Enum):
    """How well a wheel serves a GPU, or all of them, the best first.

    Args:
        SERVES: Every library does, by facts that are known.
        UNSURE: As far as is known; something that decides is not.
        PARTLY: The main library does, another one has nothing for it.
        NOT: It does not.
    """

    SERVES = "serves"
    UNSURE = "unsure"
    PARTLY = "partly"
    NOT = "not"


_ORDER = tuple(Grade)


def worst(grades: tuple[Grade, ...]) -> Grade:
    """The worst of several grades; SERVES of none."""
    return max(grades, key=_ORDER.index, default=Grade.SERVES)


@dataclass(frozen=True)
class CardVerdict:
    """What a wheel is to one GPU.

    Args:
        card: The GPU.
        grade: How well it is served.
        reasons: Why not better, clauses.
    """

    card: Card
    grade: Grade
    reasons: tuple[Said, ...] = ()


@dataclass(frozen=True)
class Combination:
    """A torch and a CUDA, judged.

    Args:
        torch: The release.
        cuda: The CUDA of the wheel.
        standing: How sure it is that there is such a wheel.
        wheel: The grade that all GPUs share: there is a wheel for this Python, or not.
        reasons: Why that is not better.
        cards: Of each GPU in the order of the wish.
        cudnn: The cuDNN that it brings; None: unknown.
        floor: The oldest driver for all of it; None: not known.
        last: The last driver branch for the GPUs; None: none is announced.
        plain: Whether it is what the package index hands out unasked.
        installed: Whether it is installed here.
        tried: Whether its wheels for this Python are experimental.
    """

    torch: TorchRelease
    cuda: CudaVersion
    standing: Standing
    wheel: Grade
    reasons: tuple[Said, ...]
    cards: tuple[CardVerdict, ...]
    cudnn: str | None = None
    floor: DriverFloor | None = None
    last: int | None = None
    plain: bool = False
    installed: bool = False
    tried: bool = False

    @property
    def grade(self) -> Grade:
        """The worst of all."""
        return worst((self.wheel, *(verdict.grade for verdict in self.cards)))

    @property
    def tag(self) -> str:
        """The folder of PyTorch's index, ``cu130``."""
        return f"cu{self.cuda.major}{self.cuda.minor}"

    @property
    def why(self) -> tuple[Said, ...]:
        """The reasons against it, each once: those that made it as bad as it is."""
        if self.wheel is Grade.NOT:
            return self.reasons
        bad = (r for v in self.cards if v.grade is self.grade for r in v.reasons)
        shared = self.reasons if self.wheel is self.grade else ()
        return tuple(dict.fromkeys((*shared, *bad)))


class Outcome(Enum):
    """What came of it.

    Args:
        ALL: A combination serves every GPU.
        PARTLY: One does, but for a library that has nothing for one of them.
        UNSURE: One may: something that decides is not known.
        PART: None serves all of them; the best serves some.
        NONE: None serves any of them.
    """

    ALL = "all"
    PARTLY = "partly"
    UNSURE = "unsure"
    PART = "part"
    NONE = "none"

    @property
    def exit_code(self) -> int:
        """0 a combination, 1 none for all of them, 4 it can't be said."""
        return {Outcome.ALL: 0, Outcome.PARTLY: 0, Outcome.UNSURE: 4}.get(self, 1)


@dataclass(frozen=True)
class Loss:
    """A GPU that the recommended combination does not serve.

    Args:
        card: The GPU.
        reasons: Why not.
        alone: The combination that it would have by itself; None: there is none.
    """

    card: Card
    reasons: tuple[Said, ...]
    alone: Combination | None = None


@dataclass(frozen=True)
class SourceBuild:
    """What it would take to build torch from source for all GPUs.

    Args:
        archs: For TORCH_CUDA_ARCH_LIST.
        cuda: The newest CUDA that builds them all; None: no CUDA builds them all.
        torch: The newest torch that is known to build with that CUDA; None: none is.
        pythons: The Pythons of that torch; None: not known.
        floor: The oldest driver for it.
        last: The last driver branch for these GPUs.
        here: Whether the nvcc that is here can do it.
    """

    archs: tuple[Arch, ...]
    cuda: CudaVersion | None = None
    torch: TorchRelease | None = None
    pythons: tuple[Python, Python] | None = None
    floor: DriverFloor | None = None
    last: int | None = None
    here: bool = False


@dataclass(frozen=True)
class Recommendation:
    """The answer.

    Args:
        wish: What was asked.
        outcome: What came of it.
        best: What to install; None: nothing.
        newer: Combinations that were preferred and won't do, the most preferred first;
            where none serves all, every other one.
        lost: The GPUs that ``best`` does not serve.
        better: What another driver would allow; None: nothing more.
        python: Another Python that would allow more, and what; None: none would.
        source: What a source build would need; None: there is no need.
        notes: Sentences besides.
        facts: The day of the table's youngest row.
    """

    wish: Wish
    outcome: Outcome
    best: Combination | None
    newer: tuple[Combination, ...] = ()
    lost: tuple[Loss, ...] = ()
    better: Combination | None = None
    python: tuple[Python, Combination] | None = None
    source: SourceBuild | None = None
    notes: tuple[Said, ...] = ()
    facts: date | None = None

    @property
    def visible(self) -> str | None:
        """The value of CUDA_VISIBLE_DEVICES that hides the lost GPUs; None: no need."""
        if not self.lost or self.best is None:
            return None
        gone = {loss.card for loss in self.lost}
        kept = [card.uuid for card in self.wish.cards if card not in gone and card.uuid]
        return ",".join(kept) or None
