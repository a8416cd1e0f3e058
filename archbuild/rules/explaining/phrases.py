"""The sentences of answers, in English: known errors' own, and what is true here.

Whoever adds one adds it in report/chinese/explain.py as well; a test sees to it.
"""

from __future__ import annotations

from collections.abc import Mapping

from archbuild.rules.explaining.answer import Explained, Phrase
from archbuild.rules.explaining.cuda_meanings import CUDA_MEANINGS
from archbuild.rules.explaining.recognize import KNOWN_ERRORS
from archbuild.rules.filling import fill

#: What stands behind an error here.
SENTENCES = {
    "raw": "{text}",
    # GPUs, and what a file holds.
    "place-named": "{gpu} is {capability}",
    "place-number": "The GPU is {capability}",
    "held-both": "SASS {sass} and PTX {ptx}",
    "held-sass": "SASS {sass} and no PTX",
    "held-ptx": "PTX {ptx} and no SASS",
    "held-nothing": "nothing that a driver could load",
    # What a file does on a GPU.
    "code-none": "{place}; {file} holds {held}: every launch gives {error}[, and {other} where a "
    "library asks for the kernel first].",
    "code-part": "{place}; {part} of the {all} parts of {file} hold nothing for it (in all: "
    "{held}): their kernels give {error}[, and {other} where a library asks for them first].",
    "code-absent": "{place}; the code in {file} that it takes lacks {count} kernels which code for "
    "other architectures has: they give {error}[, through the driver API {other}].",
    "code-unregistered": "The host code of {file} does not name {count} of its kernels, so that "
    "the runtime never learns of them: they give {error} on every GPU.",
    "code-purpose": "{place}; {part} of the {all} parts of {file} are made for other architectures "
    "alone: a launch of their kernels gives {error}, the others run.",
    "code-ptx": "{place}; {file} holds {held}: only its PTX fits, and it is too new for driver "
    "{driver}, which gives {error}[. Driver {floor} is the oldest that will do].",
    "code-driver": "{place}; {file} holds {held}, made with a CUDA that driver {driver} does not "
    "serve: {error}[. Driver {floor} is the oldest that will do].",
    "code-device": "Driver {driver} does not know this GPU: {gpu}, {capability}[, needs driver "
    "{floor} or newer]. CUDA does not see it: {error}.",
    "code-retired": "Driver {driver} no longer serves this GPU: {gpu}, {capability}. CUDA does not "
    "see it: {error}.",
    "code-tegra": "{place}; {file} holds {held}: NVIDIA does not say whether code for other chips "
    "runs on a Tegra, or the other way round.",
    "code-unknown": "{place}; {file} holds {held}: it is not known whether that runs there.",
    "code-jit": "{place}; {file} holds {held}: it runs there once the driver has compiled the "
    "PTX[, which driver {floor} or newer does].",
    "code-native": "{place}; {file} holds {held}: it runs there as it is.",
    "code-more": "{count} more files fail in the same way.",
    "code-no-code": "{file} holds no CUDA code at all: nothing of it could be launched.",
    "code-hip": "{file} holds code for AMD's GPUs (HIP), not for CUDA.",
    "code-relocatable": "{file} holds relocatable code only, which no driver loads: its device "
    "link is missing.",
    "code-unread": "{text}",
    "code-not-it": "So {binary} is not what failed.",
    "code-other-error": "That gives {errors}, and the text says {number}: another library may have "
    "failed, too.",
    "list-true": "{place}; code for {has} does not run there: what torch says is true.",
    "list-false": "{place}; code for {has} runs there: torch's warning is a false alarm.",
    "list-unknown": "{place}; it is not known whether code for {has} runs there.",
    "old-number": "Before CUDA 10.1 this error had the number {old}; today {old} is {now}.",
    "old-number-alone": "Before CUDA 10.1 this error had the number {old}.",
    "number-only": "A number alone is taken as CUDA 10.1 and newer count; before, {old} meant "
    "what is {number} today, {name}.",
    "driver-needed": "torch {version} is of CUDA {cuda}, which needs driver {floor} or newer; the "
    "driver here serves CUDA {found} at most.",
    # What cures it.
    "cure-rebuild": "Build it again for {archs}.",
    "cure-registered": "Build it again from one list of architectures; __CUDA_ARCH__ in host code "
    "is what makes host and device disagree.",
    "cure-device": "Install driver {floor} or newer: this GPU is newer than the driver. [A driver "
    "of CUDA {floor_cuda} knows it.]",
    "cure-retired": "Go back to the last driver that serves this GPU: branch 580 for Maxwell, "
    "Pascal and Volta.",
    "cure-ptx": "Update the driver[ to {floor} or newer], or build it again with machine code for "
    "{archs}.",
    "cure-driver": "Update the driver[ to {floor} or newer], or install a build of the driver's "
    "CUDA.",
    "cure-link": "Build it again with dlink=True.",
    "cure-upgrade": "Install a build of {name} that has code for this GPU.",
    "cure-other": "Look at another library: --file or --package names it, and doctor looks at "
    "every package.",
    "cure-false-alarm": "Leave it: the code runs.",
    "toolkit-needed": "To build it, an nvcc is needed first: {how}",
    # What would decide more.
    "want-file": "--file WHEEL or --package NAME: the binary that failed tells what it holds.",
    "want-package": "--package {name}: the traceback ends there; what it holds decides.",
    "want-gpu": '--gpu "RTX 3090, 12.0" or --machine FILE: the GPUs decide; this machine shows '
    "none.",
    "want-driver": "--driver 570.124: the driver's release decides.",
    "want-source": "--source DIR: the folder of its source, for a command that builds it again.",
    "want-text": "The whole message, with the lines around it: pipe the log into archbuild "
    "explain.",
}

#: Every template in English, by its key; the advice of a known error ends in ``/cure``.
ENGLISH: Mapping[str, str] = {
    **SENTENCES,
    **{row.key: row.sentence for row in (*CUDA_MEANINGS, *KNOWN_ERRORS)},
    **{f"{row.key}/cure": row.advice for row in (*CUDA_MEANINGS, *KNOWN_ERRORS)},
}


def say(phrase: Phrase, templates: Mapping[str, str] = ENGLISH) -> str:
    """A phrase as a sentence.

    Args:
        phrase: With its values.
        templates: Of one language; what it lacks is said in English.
    """
    values = {
        name: value if isinstance(value, str) else say(value, templates)
        for name, value in phrase.values
    }
    template = templates.get(phrase.key) or ENGLISH[phrase.key]
    said = fill(template, values)
    # What stood before it was left out.
    return f"The{said[3:]}" if said.startswith("the ") else said


def note_text(answer: Explained) -> str:
    """An answer in a few lines, to stand below the error itself."""
    lines = [] if answer.meaning is None else [say(answer.meaning)]
    lines += [say(part) for part in answer.here]
    lines += [finding.message for finding in answer.findings]
    if answer.cure is not None:
        lines.append(f"Cure: {say(answer.cure)}")
    lines += [f"  {command}" for command in answer.commands]
    return "\n".join(["archbuild:", *(f"  {line}" for line in lines)])
