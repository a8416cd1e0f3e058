"""What an error means here: the text, the machine and the binary joined into one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from archbuild.facts.cuda_errors import find_cuda_error
from archbuild.facts.drivers import CUDA_VERSIONS, first_driver
from archbuild.model.diagnosis import Diagnosis
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.drivers import sass_floor
from archbuild.rules.explaining.answer import Explained, Named, Phrase, phrase
from archbuild.rules.explaining.circumstances import Circumstances
from archbuild.rules.explaining.code_answer import (
    CodeAnswer,
    answer_code,
    answer_list,
    build_again,
)
from archbuild.rules.explaining.known import Join, KnownError
from archbuild.rules.explaining.loader_errors import package_of
from archbuild.rules.explaining.recognize import Hit, Recognized
from archbuild.rules.filling import fill

#: How many other known errors of a text are named.
_OTHERS = 5


def explain_text(recognized: Recognized, circumstances: Circumstances) -> Explained:
    """The answer for a text, or for a binary where there is no text.

    Args:
        recognized: What of the text is known.
        circumstances: What is known beside it.
    """
    if recognized.build is not None:
        told = recognized.build
        return Explained(
            told.code,
            meaning=phrase("raw", text=told.sentence),
            cure=phrase("raw", text=told.cure),
            others=_others(recognized.hits),
            page=told.page,
        )
    hit = recognized.first
    if hit is None:
        return _without_text(circumstances)
    return _explain_hit(hit, recognized, circumstances)


def _without_text(circumstances: Circumstances) -> Explained:
    """The binary alone: which errors it gives on these GPUs."""
    if circumstances.files is None:
        return Explained(None, wanted=(phrase("want-text"),))
    code = answer_code(circumstances, ())
    answer = _with_code(Explained(None), code)
    return replace(answer, decided=code.decided)


def _explain_hit(hit: Hit, recognized: Recognized, circumstances: Circumstances) -> Explained:
    values = {**hit.values, **_more(hit)}
    known = hit.known
    answer = Explained(
        known.key,
        hit.line,
        _named(hit),
        _errors(hit),
        phrase(known.key, **values),
        tuple(_about_numbers(hit, recognized.hits)),
        cure=phrase(f"{known.key}/cure", **values),
        commands=tuple(_commands(known.commands, values)),
        others=_others(other for other in recognized.hits[1:] if not _is_same_number(hit, other)),
    )
    joined = _JOINS[known.join](answer, hit, circumstances)
    return replace(joined, findings=_findings(joined.errors, circumstances))


def _errors(hit: Hit) -> tuple[int, ...]:
    """The errors that a text stands for; the one that it names itself goes first."""
    named = [int(hit.values["number"])] if "number" in hit.values else []
    return tuple(dict.fromkeys((*named, *hit.errors)))


def _named(hit: Hit) -> Named | None:
    if hit.known.pattern or "number" not in hit.values:
        return None
    name, text = hit.values.get("name", ""), hit.values.get("text", "")
    return Named(int(hit.values["number"]), name, text, hit.old_number)


def _about_numbers(hit: Hit, hits: Iterable[Hit]) -> Iterator[Phrase]:
    """What the number meant before CUDA 10.1, where it was counted otherwise."""
    if hit.known.pattern:
        return
    if hit.old_number is not None:
        now = find_cuda_error(hit.old_number)
        if now is None:
            yield phrase("old-number-alone", old=str(hit.old_number))
        else:
            yield phrase("old-number", old=str(hit.old_number), now=now.name)
    for other in hits:
        if _is_same_number(hit, other):
            old, values = str(other.old_number), other.values
            yield phrase("number-only", old=old, number=values["number"], name=values["name"])


def _is_same_number(hit: Hit, other: Hit) -> bool:
    """Whether two hits are two meanings of one number in the text."""
    return other is not hit and other.place == hit.place and other.old_number is not None


def _others(hits: Iterable[Hit]) -> tuple[Phrase, ...]:
    told = [phrase(hit.known.key, **{**hit.values, **_more(hit)}) for hit in hits]
    return tuple(told[:_OTHERS])


def _commands(templates: Iterable[str], values: Mapping[str, str]) -> Iterator[str]:
    """The commands whose values are all there."""
    for template in templates:
        command = fill(template, values)
        if "?" not in command or "?" in template:
            yield command


def _findings(errors: tuple[int, ...], circumstances: Circumstances) -> tuple[Diagnosis, ...]:
    """What is wrong with the machine and gives one of these errors, causes only."""
    if circumstances.findings is None or not errors:
        return ()
    met = [found for found in circumstances.findings if set(found.errors) & set(errors)]
    codes = {found.code for found in met}
    return tuple(found for found in met if found.because not in codes)


# --- values that follow from others ------------------------------------------------------------


def _more(hit: Hit) -> dict[str, str]:
    make = _MORE.get(hit.known.key)
    return make(hit.values) if make is not None else {}


def _encoded_cuda(values: Mapping[str, str]) -> dict[str, str]:
    return {"cuda": str(CudaVersion.from_encoded(int(values["found"])))}


def _library_package(values: Mapping[str, str]) -> dict[str, str]:
    package = package_of(values["stem"], int(values["major"]))
    return {"pip": package} if package is not None else {}


def _driver_of_cuda(values: Mapping[str, str]) -> dict[str, str]:
    driver = first_driver(CudaVersion.parse(values["cuda"]))
    return {"driver": str(driver)} if driver is not None else {}


def _cuda_of_isa(values: Mapping[str, str]) -> dict[str, str]:
    known = [
        str(row.cuda)
        for row in CUDA_VERSIONS
        if f"{row.isa[0]}.{row.isa[1]}" == values.get("known")
    ]
    return {"cuda": known[-1]} if known else {}


_MORE: dict[str, Callable[[Mapping[str, str]], dict[str, str]]] = {
    "torch-driver-too-old": _encoded_cuda,
    "loader-no-cuda-library": _library_package,
    "container-requirement": _driver_of_cuda,
    "jit-ptx-version": _cuda_of_isa,
}


# --- joins ---------------------------------------------------------------------------------------


def _as_it_is(answer: Explained, _hit: Hit, _circumstances: Circumstances) -> Explained:
    return answer


def _with_machine(answer: Explained, hit: Hit, circumstances: Circumstances) -> Explained:
    here = tuple(_about_driver(answer, hit.known, circumstances))
    return replace(answer, here=(*answer.here, *here))


def _about_driver(
    answer: Explained, known: KnownError, circumstances: Circumstances
) -> Iterator[Phrase]:
    """The driver against torch, where the text says what the driver serves."""
    machine = circumstances.machine
    found = dict(answer.meaning.values).get("cuda") if answer.meaning is not None else None
    if machine is None or not isinstance(found, str) or known.key != "torch-driver-too-old":
        return
    torch = machine.torch
    floor = sass_floor(torch.cuda) if torch is not None and torch.cuda is not None else None
    if (
        torch is None
        or floor is None
        or floor.release is None
        or CudaVersion.parse(found) >= (floor.cuda)
    ):
        return
    yield phrase(
        "driver-needed",
        version=torch.version,
        cuda=str(torch.cuda),
        floor=str(floor.release),
        found=found,
    )


def _with_binary(answer: Explained, hit: Hit, circumstances: Circumstances) -> Explained:
    listed = answer_list(hit.values)
    if listed is not None and circumstances.files is None:
        return _with_code(answer, listed)
    return _with_code(answer, answer_code(circumstances, answer.errors))


def _with_code(answer: Explained, code: CodeAnswer) -> Explained:
    return replace(
        answer,
        errors=tuple(dict.fromkeys((*answer.errors, *code.errors))),
        here=(*answer.here, *code.here),
        kernels=code.kernels,
        cure=code.cure or answer.cure,
        commands=answer.commands if code.commands is None else code.commands,
        wanted=code.wanted,
        decided=code.decided,
    )


def _with_build(answer: Explained, _hit: Hit, circumstances: Circumstances) -> Explained:
    """To build it again cures it, whatever it holds."""
    code = build_again(circumstances)
    return replace(
        answer,
        commands=(*code.commands, *answer.commands) if code.commands else answer.commands,
        wanted=code.wanted,
    )


_JOINS: dict[Join, Callable[[Explained, Hit, Circumstances], Explained]] = {
    Join.NOTHING: _as_it_is,
    Join.CODE: _with_binary,
    Join.BUILD: _with_build,
    Join.MACHINE: _with_machine,
}
