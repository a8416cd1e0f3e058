"""A recommendation as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from archbuild.facts.torch_releases import RELEASES, TorchRelease
from archbuild.model.machine import Driver
from archbuild.model.version import CudaVersion
from archbuild.report.chinese.recommend import TEXTS as CHINESE
from archbuild.report.recommend_words import ENGLISH
from archbuild.report.text import Ink, escape, paint, wrap
from archbuild.rules.recommending.judging import python_words
from archbuild.rules.recommending.result import (
    Card,
    Combination,
    Loss,
    Outcome,
    Recommendation,
    SourceBuild,
    Wish,
)
from archbuild.rules.recommending.said import Said, said, spell
from archbuild.rules.recommending.torch_choice import pip_command
from archbuild.rules.recommending.window import Window, release_words
from archbuild.rules.selecting.archlist import render_arch_list

_LANGUAGES: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "zh": CHINESE}
_INKS = {Outcome.ALL: Ink.GREEN, Outcome.PARTLY: Ink.YELLOW, Outcome.UNSURE: Ink.YELLOW}
_Groups = dict[tuple[Said, ...], dict[CudaVersion, list[TorchRelease]]]


def render_recommend(
    answer: Recommendation, width: int, *, language: str = "en", color: bool = False
) -> str:
    """The recommendation for people, without a newline at the end.

    Args:
        answer: What was found.
        width: No line has more columns than this, commands excepted; at least 40 are taken.
        language: ``en`` or ``zh``.
        color: Whether to colour it for a terminal.
    """
    page = _Page(_LANGUAGES[language], max(width, 40))
    blocks = (
        page.head(answer.wish),
        page.verdict(answer, color=color),
        page.losses(answer),
        page.notes(answer.notes),
        page.newer(answer),
        page.source(answer.source),
        page.facts(answer),
    )
    return "\n\n".join("\n".join(lines) for block in blocks if (lines := list(block)))


def remarks(answer: Recommendation, style: str = "", *, language: str = "en") -> tuple[str, ...]:
    """What has to be known besides what is pasted: sentences in one language.

    Args:
        answer: What was found.
        style: What is pasted; conda's packages are not the wheels that were judged.
        language: ``en`` or ``zh``.
    """
    page = _Page(_LANGUAGES[language], 80)
    own = () if answer.outcome is Outcome.ALL else (page.headline(answer), *page.doubts(answer))
    notes = (*((said("conda"),) if style == "conda" else ()), *answer.notes)
    return (*own, *(page.spell(note) for note in dict.fromkeys(notes)))


class _Page:
    """One language and one width."""

    def __init__(self, texts: Mapping[str, str], width: int) -> None:
        self._texts = texts
        self._width = width

    def say(self, key: str, **values: object) -> str:
        """A text of this language with its values."""
        return self.spell(said(key, **values))

    def spell(self, sentence: Said) -> str:
        """A sentence in this language."""
        return spell(sentence, self._texts)

    def _wrap(self, text: str, indent: str = "") -> list[str]:
        return wrap(text, self._width, indent)

    def _item(self, text: str) -> list[str]:
        return [f"  {line}" for line in wrap(text, self._width - 2, "  ")]

    def _join(self, words: Iterable[str]) -> str:
        return self._texts["comma"].join(dict.fromkeys(words))

    def _gpu(self, card: Card) -> str:
        if card.capability is None:
            return self.say("gpu_unknown", name=card.name)
        if card.name == str(card.capability):
            return card.name
        return self.say("gpu", name=card.name, capability=card.capability)

    def _driver(self, driver: Driver | None) -> str:
        if driver is None:
            return self.say("head_no_driver")
        if driver.release is None:
            return self.say("head_driver_cuda", cuda=driver.cuda)
        return self.say("head_driver", release=driver.release)

    def head(self, wish: Wish) -> Iterator[str]:
        """What was asked."""
        yield from self._wrap(self.say("head_gpus", gpus=self._join(map(self._gpu, wish.cards))))
        yield from self._wrap(
            self.say(
                "head_place",
                system=_system_name(wish),
                processor=wish.processor,
                python=python_words(wish.python),
                driver=self._driver(wish.driver),
            )
        )

    def headline(self, answer: Recommendation) -> str:
        """The answer in one sentence."""
        best, cards = answer.best, answer.wish.cards
        if best is None:
            known = answer.outcome is not Outcome.UNSURE
            names = self._join(card.name for card in cards)
            return self.say("none", gpus=names) if known else self.say("unsure_none")
        key = answer.outcome.value
        if answer.outcome is Outcome.ALL:
            key = "all_one" if len(cards) == 1 else "all_of_them"
        lost = [loss.card for loss in answer.lost]
        return self.say(
            key,
            torch=best.torch,
            cuda=best.cuda,
            served=self._join(card.name for card in cards if card not in lost),
            lost=self._join(card.name for card in lost),
        )

    def doubts(self, answer: Recommendation) -> Iterator[str]:
        """Why the best is no better, where it is not all that was asked for."""
        if answer.best is not None and answer.outcome in (Outcome.PARTLY, Outcome.UNSURE):
            yield from map(self.spell, answer.best.why)

    def verdict(self, answer: Recommendation, *, color: bool) -> Iterator[str]:
        """The answer, the command, what it needs."""
        ink = _INKS.get(answer.outcome, Ink.RED)
        for line in self._wrap(self.headline(answer)):
            yield paint(line, ink, color=color)
        for doubt in self.doubts(answer):
            yield from self._item(doubt)
        if answer.best is not None:
            yield ""
            yield f"  {pip_command(answer.best, answer.wish)}"
            yield ""
            yield from self._needs(answer.best)

    def _needs(self, best: Combination) -> Iterator[str]:
        if best.floor is not None:
            floor = release_words(best.floor)
            yield from self._wrap(self.say("needs", floor=floor, cudnn=best.cudnn))
        if best.plain:
            yield from self._wrap(self.say("plain"))

    def losses(self, answer: Recommendation) -> Iterator[str]:
        """The GPUs that the best does not serve, and how to hide them."""
        if not answer.lost:
            return
        for loss in answer.lost:
            yield from self._lost(loss, answer.wish)
        visible = answer.visible
        yield from self._wrap(self.say("hide" if visible else "hide_by_name"))
        yield f"  {_hiding(visible or 'GPU-...', answer.wish)}"

    def _lost(self, loss: Loss, wish: Wish) -> Iterator[str]:
        reasons = self._texts["semicolon"].join(map(self.spell, loss.reasons))
        yield from self._wrap(self.say("lost", gpu=loss.card.name, reasons=reasons), "  ")
        if loss.alone is not None:
            yield from self._wrap(self.say("alone", gpu=loss.card.name))
            yield f"  {pip_command(loss.alone, replace(wish, installed=None))}"

    def notes(self, notes: Iterable[Said]) -> Iterator[str]:
        """What has to be said besides."""
        for note in notes:
            yield from self._wrap(self.spell(note), "  ")

    def newer(self, answer: Recommendation) -> Iterator[str]:
        """What was preferred and won't do, wheels with the same reasons together."""
        if not answer.newer:
            return
        part = "why_part" if answer.outcome is Outcome.PART else "newer"
        yield self.say("why_none" if answer.best is None else part)
        for reasons, wheels in _grouped(answer.newer).items():
            said_of = self._texts["semicolon"].join(map(self.spell, reasons))
            yield from self._item(self._wheels(wheels) + self._texts["colon"] + said_of)

    def _wheels(self, wheels: Mapping[CudaVersion, list[TorchRelease]]) -> str:
        """Wheels by their CUDA, where several share it as a range."""
        named: dict[str, list[str]] = {}
        for cuda, torches in sorted(wheels.items()):
            named.setdefault(self._range(torches), []).append(str(cuda))
        return self._texts["semicolon"].join(
            self.say("wheel", torches=torches, cuda=self._join(cudas))
            for torches, cudas in named.items()
        )

    def _range(self, torches: list[TorchRelease]) -> str:
        known = sorted(row.torch for row in RELEASES)
        first, last = min(torches), max(torches)
        between = [torch for torch in known if first <= torch <= last]
        if len(torches) > 2 and sorted(torches) == between:
            return self.say("range", first=first, last=last)
        return self._join(map(str, sorted(torches)))

    def source(self, build: SourceBuild | None) -> Iterator[str]:
        """What a build from source would take."""
        if build is None:
            return
        if build.cuda is None:
            yield from self._wrap(self.say("source_nothing"))
            return
        yield self.say("source")
        for line in self._source_lines(build, build.cuda):
            yield from self._item(line)
        if build.torch is not None:
            yield ""
            yield from (f"  {line}" for line in source_commands(build))
            yield ""
        yield from self._wrap(self.say("source_untried"))

    def _source_lines(self, build: SourceBuild, cuda: CudaVersion) -> Iterator[str]:
        here = self.say("source_here") if build.here else None
        names = self._join(arch.dotted for arch in build.archs)
        yield self.say("source_cuda", cuda=cuda, archs=names, here=here)
        if build.torch is not None:
            pythons = None
            if build.pythons is not None:
                first, last = map(python_words, build.pythons)
                pythons = self.say("range", first=first, last=last)
            yield self.say("source_torch", torch=build.torch, pythons=pythons)
        if build.floor is not None:
            clash = Window(build.floor, build.last).is_empty
            key = "source_clash" if clash else "source_driver"
            yield self.say(key, floor=release_words(build.floor), last=build.last)

    def facts(self, answer: Recommendation) -> Iterator[str]:
        """The day of the facts."""
        if answer.facts is not None:
            yield self.say("facts", date=answer.facts)


def _system_name(wish: Wish) -> str:
    if wish.system == "linux" and wish.windows_driver:
        return "WSL"
    return {"linux": "Linux", "windows": "Windows", "darwin": "macOS"}.get(wish.system, wish.system)


def _grouped(combinations: Iterable[Combination]) -> _Groups:
    found: _Groups = {}
    for combination in combinations:
        wheels = found.setdefault(combination.why, {})
        wheels.setdefault(combination.cuda, []).append(combination.torch)
    return found


def _hiding(visible: str, wish: Wish) -> str:
    command = "set" if wish.system == "windows" else "export"
    return escape(f"{command} CUDA_VISIBLE_DEVICES={visible}")


def source_commands(build: SourceBuild) -> tuple[str, ...]:
    """The lines that fetch and build torch.

    Args:
        build: With a torch.
    """
    archs = render_arch_list(build.archs)
    return (
        f"git clone --recursive --branch v{build.torch}.0 https://github.com/pytorch/pytorch",
        "cd pytorch && pip install -r requirements.txt",
        f'TORCH_CUDA_ARCH_LIST="{archs}" pip install --no-build-isolation -v .',
    )
