"""Request, machine and toolkit to gencodes, each with its reason. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from archbuild.errors import NoGpuError, UnsupportedTargetError
from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix
from archbuild.model.gencode import Gencode
from archbuild.model.machine import Gpu, Machine
from archbuild.rules.covering.reach import nearest_real, nearest_virtual
from archbuild.rules.selecting.archlist import ArchItem, Word, parse_arch_list
from archbuild.rules.selecting.buildable import (
    current_name,
    require_all_buildable,
    require_buildable,
    toolkit_cure,
)
from archbuild.rules.selecting.expectation import images_of_word
from archbuild.rules.selecting.left_out import left_out
from archbuild.rules.selecting.nvcc_flags import NvccFlags, parse_nvcc_variable
from archbuild.rules.selecting.request import DETECTED, NVCC, TORCH, Compiler, Request, unheeded


@dataclass(frozen=True)
class Choice:
    """One gencode, and why it is there.

    Args:
        gencode: For nvcc.
        reason: One clause.
    """

    gencode: Gencode
    reason: str


@dataclass(frozen=True)
class Selection:
    """What will be built.

    Args:
        choices: SASS upwards, then PTX upwards; never empty.
        source: What asked for it.
        compiler: What decided whether it can be built.
        inherited: What NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS add to every
            call, whatever is passed.
        warnings: What a person should look at, one sentence each.
        notes: What was decided on the way, one sentence each.
    """

    choices: tuple[Choice, ...]
    source: str
    compiler: Compiler
    inherited: tuple[Gencode, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def gencodes(self) -> tuple[Gencode, ...]:
        """What to pass to nvcc."""
        return tuple(choice.gencode for choice in self.choices)

    @property
    def targets(self) -> tuple[Arch, ...]:
        """Every image that a compile leaves, inherited ones included, ordered."""
        found = {g.target for g in (*self.gencodes, *self.inherited)}
        return tuple(sorted(found, key=_order))


@dataclass(frozen=True)
class _Draft:
    """Targets with reasons, and what was said while they were found."""

    reasons: tuple[tuple[Arch, str], ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def plus(self, *others: _Draft) -> _Draft:
        every = (self, *others)
        return _Draft(
            tuple(pair for draft in every for pair in draft.reasons),
            tuple(text for draft in every for text in draft.warnings),
            tuple(text for draft in every for text in draft.notes),
        )


def select(request: Request, machine: Machine, compiler: Compiler) -> Selection:
    """Decide what nvcc has to build.

    Args:
        request: What was asked for, of :func:`choose_request`.
        machine: For its GPUs, its torch and its variables.
        compiler: Of :func:`choose_compiler`.

    Returns:
        At least one gencode, each with its reason.

    Raises:
        ArchListError: If the list cannot be read.
        UnsupportedTargetError: If a target that was asked for cannot be built,
            or nothing that serves these GPUs can.
        NoGpuError: If ``native`` was asked for and there is no GPU.
    """
    if request.text is not None:
        draft = _typed(request, machine, compiler)
    elif request.source == DETECTED or request.homes:
        draft = _detected(request, machine, compiler)
    elif request.source == TORCH:
        draft = _held_by_torch(machine, compiler)
    else:
        note = (
            f"No list was given, and there is neither a GPU nor a torch to ask: built for {NVCC}."
        )
        draft = _word(Word.ALL_MAJOR, NVCC, machine, compiler).plus(_Draft(notes=(note,)))
    return _finish(draft, request, machine, compiler)


def select_own(flags: NvccFlags, machine: Machine, compiler: Compiler, where: str) -> Selection:
    """The selection which an extension's own ``-gencode`` or ``-arch`` flags make.

    Args:
        flags: With at least one gencode or word.
        machine: For ``-arch=native``.
        compiler: Has to know every architecture in the flags.
        where: What the flags belong to, for the log.

    Raises:
        UnsupportedTargetError: If this nvcc cannot build one of them.
        NoGpuError: If they say ``native`` and there is no GPU.
    """
    words = [_word(Word(word), f"-arch={word}", machine, compiler) for word in flags.words]
    draft = _Draft().plus(*words)
    for gencode in flags.gencodes:
        for arch in (gencode.virtual, gencode.code):
            require_buildable(arch, f"{gencode.flag} in {where}", compiler)
    own = [Choice(gencode, "in the extension's own flags") for gencode in flags.gencodes]
    request = Request(where, passed_over=_typed_variables(machine))
    selection = _finish(draft, request, machine, compiler, own)
    return replace(selection, source=where)


def _typed_variables(machine: Machine) -> tuple[str, ...]:
    names = ("ARCHBUILD_ARCHS", "TORCH_CUDA_ARCH_LIST")
    return tuple(f"{name}={machine.variable(name)}" for name in names if machine.variable(name))


# --- a typed list ------------------------------------------------------------------


def _typed(request: Request, machine: Machine, compiler: Compiler) -> _Draft:
    items = parse_arch_list(request.text or "", request.source)
    require_all_buildable(_wished(items, compiler), request.source, compiler)
    draft = _Draft().plus(*(_item(item, request, machine, compiler) for item in items))
    words = any(item.word for item in items)
    return draft if words else draft.plus(_note_low_ptx(draft))


def _wished(items: Sequence[ArchItem], compiler: Compiler) -> list[Arch]:
    return [current_name(target, compiler) for item in items for target in item.targets]


def _item(item: ArchItem, request: Request, machine: Machine, compiler: Compiler) -> _Draft:
    reason = f"{item.text} in {request.source}"
    if item.word is not None:
        draft = _word(item.word, reason, machine, compiler)
        return draft.plus(_tail(draft)) if item.ptx and item.word is Word.NATIVE else draft
    drafts = [_target(target, item.text, reason, compiler) for target in item.targets]
    return _Draft().plus(*drafts)


def _target(target: Arch, text: str, reason: str, compiler: Compiler) -> _Draft:
    renamed = current_name(target, compiler)
    if renamed != target:
        note = (
            f"{text}: CUDA {compiler.version} calls this chip {renamed.capability}, "
            f"so {renamed} is built for {target}."
        )
        return _Draft(((renamed, f"{reason}, which is {renamed.dotted} now"),), (), (note,))
    require_buildable(target, reason, compiler)
    return _Draft(((target, reason),))


def _note_low_ptx(draft: _Draft) -> _Draft:
    ptx = [a for a, _ in draft.reasons if a.is_virtual and a.suffix is Suffix.PLAIN]
    real = [a for a, _ in draft.reasons if a.is_real]
    if not ptx or not real or max(ptx).capability >= max(real).capability:
        return _Draft()
    return _Draft(
        notes=(
            f"The PTX is of {max(ptx).capability}, not of the highest architecture: newer GPUs "
            "are served all the same, with code that knows nothing of what came after it.",
        )
    )


# --- words, GPUs and torch ------------------------------------------------------------


def _word(word: Word, reason: str, machine: Machine, compiler: Compiler) -> _Draft:
    if word is Word.NATIVE:
        if not any(gpu.capability for gpu in machine.gpus):
            why = machine.absence("gpu") or machine.absence("nvml") or "no GPU was found"
            raise NoGpuError(
                f"native needs a GPU, and this machine shows none: {why}.",
                'Name the architectures instead, such as --arch "8.6;9.0+PTX"',
            )
        return _gpus(machine.gpus, compiler)
    *real, tail = images_of_word(word, compiler.archs)
    return _Draft((*((arch, reason) for arch in real), (tail, f"{reason}: PTX for newer GPUs")))


def _detected(request: Request, machine: Machine, compiler: Compiler) -> _Draft:
    draft = _gpus(machine.gpus, compiler, dict(request.homes))
    if not draft.reasons:
        return draft
    draft = draft.plus(_tail(draft))
    note = left_out([arch for arch, _ in draft.reasons], request.source)
    return draft.plus(_Draft(notes=(note,)))


def _held_by_torch(machine: Machine, compiler: Compiler) -> _Draft:
    assert machine.torch is not None
    assert machine.torch.archs is not None
    origin = f"torch {machine.torch.version} holds it"
    archs = machine.torch.archs
    held = [arch for arch in archs if arch.is_real] or archs
    drafts = [_wanted(arch, origin, str(arch), compiler) for arch in held]
    draft = _Draft().plus(*drafts)
    note = f"No list was given and there is no GPU here: built for {TORCH}."
    return draft.plus(_tail(draft), _Draft(notes=(note,)))


def _gpus(
    gpus: Sequence[Gpu], compiler: Compiler, homes: Mapping[ComputeCapability, str] | None = None
) -> _Draft:
    drafts = []
    seen: dict[ComputeCapability, list[str]] = {}
    for gpu in gpus:
        if gpu.capability is not None:
            seen.setdefault(gpu.capability, []).append(gpu.name)
    for capability, names in sorted(seen.items()):
        label = f"{' and '.join(dict.fromkeys(names))} ({capability})"
        target = Arch(Stage.REAL, capability)
        where = (homes or {}).get(capability, "this machine")
        drafts.append(_wanted(target, f"{label} is in {where}", label, compiler))
    unknown = [gpu.name for gpu in gpus if gpu.capability is None]
    said = tuple(f"The capability of {name} could not be read; it is left out." for name in unknown)
    return _Draft(warnings=said).plus(*drafts)


def _wanted(target: Arch, reason: str, label: str, compiler: Compiler) -> _Draft:
    """A target that nobody typed: the nearest is built where it can't be."""
    target = current_name(target, compiler)
    if target in compiler.archs:
        return _Draft(((target, reason),))
    cure = toolkit_cure(target)
    device = target.capability
    near = nearest_real(compiler.archs, device)
    if near is not None:
        said = f"{compiler.origin} cannot build {target} for {label}; {near} serves it. {cure}"
        return _Draft(((near, f"{reason}; {near} runs there"),), (said,))
    below = nearest_virtual(compiler.archs, device)
    if below is not None:
        said = (
            f"{compiler.origin} cannot build {target} for {label}; its PTX of "
            f"{below.capability} serves it, compiled by the driver at first use. {cure}"
        )
        return _Draft(((below, f"{reason}; the driver compiles PTX there"),), (said,))
    return _Draft(
        warnings=(f"{compiler.origin} builds nothing that runs on {label}: left out. {cure}",)
    )


def _tail(draft: _Draft) -> _Draft:
    plain = [arch for arch, _ in draft.reasons if arch.suffix is Suffix.PLAIN]
    if not plain:
        return _Draft()
    highest = max(plain, key=lambda arch: arch.capability).virtual
    return _Draft(((highest, "PTX for newer GPUs"),))


# --- the end of every way ---------------------------------------------------------------


def _finish(
    draft: _Draft,
    request: Request,
    machine: Machine,
    compiler: Compiler,
    own: Sequence[Choice] = (),
) -> Selection:
    choices = {choice.gencode.target: choice for choice in own}
    for target, reason in draft.reasons:
        choices.setdefault(target, Choice(Gencode.for_target(target), reason))
    if not choices:
        raise UnsupportedTargetError(
            f"Nothing that {compiler.origin} can build runs on {request.source}.",
            " ".join(draft.warnings),
        )
    inherited, said = _inherited(machine, compiler)
    everything = {*choices, *(gencode.target for gencode in inherited)}
    _refuse_plain_and_family(everything, request.source)
    ordered = tuple(choices[target] for target in sorted(choices, key=_order))
    lost = tuple(f"{other} is passed over for {request.source}." for other in request.passed_over)
    notes = (*lost, *draft.notes, *said)
    if compiler.toolkit is None:
        notes = (f"No nvcc was asked: {compiler.origin} decides what can be built.", *notes)
    passed_over = unheeded(machine) if compiler.toolkit is not None else ()
    warnings = tuple(dict.fromkeys((*passed_over, *draft.warnings)))
    return Selection(ordered, request.source, compiler, inherited, warnings, notes)


def _inherited(machine: Machine, compiler: Compiler) -> tuple[tuple[Gencode, ...], tuple[str, ...]]:
    gencodes: list[Gencode] = []
    said: list[str] = []
    for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"):
        text = machine.variable(name)
        flags = parse_nvcc_variable(text, name)
        if text:
            said.append(f"{name} adds to every call of nvcc: {text.strip()}")
        for word in flags.words:
            draft = _word(Word(word), f"-arch={word} in {name}", machine, compiler)
            gencodes += (Gencode.for_target(target) for target, _ in draft.reasons)
        for gencode in flags.gencodes:
            require_buildable(gencode.virtual, f"{gencode.flag} in {name}", compiler)
            require_buildable(gencode.code, f"{gencode.flag} in {name}", compiler)
            gencodes.append(gencode)
    return tuple(dict.fromkeys(gencodes)), tuple(said)


def _refuse_plain_and_family(targets: set[Arch], source: str) -> None:
    """Refuse what nvcc refuses: plain and ``f`` SASS of one number in one compile."""
    for target in sorted(targets):
        family = Arch(target.stage, target.capability, Suffix.FAMILY)
        if target.is_real and target.suffix is Suffix.PLAIN and family in targets:
            raise UnsupportedTargetError(
                f"{target.dotted} and {family.dotted} cannot be built together (from {source}): "
                "nvcc refuses the two in one compile.",
                f"Keep {family.dotted}: it serves every GPU that {target.dotted} serves.",
            )


def _order(arch: Arch) -> tuple[bool, Arch]:
    return arch.is_virtual, arch
