"""The words around a recommendation, in English; those of other languages have the same keys."""

from __future__ import annotations

from collections.abc import Mapping

from archbuild.rules.recommending.said import SENTENCES

WORDS: Mapping[str, str] = {
    "comma": ", ",
    "semicolon": "; ",
    "colon": ": ",
    "stop": ".",
    "gpu": "{name} ({capability})",
    "gpu_unknown": "{name} (capability not known)",
    "head_gpus": "GPUs: {gpus}",
    "head_place": "For: {system} on {processor}, Python {python}, {driver}",
    "head_driver": "driver {release}",
    "head_driver_cuda": "a driver of CUDA {cuda}",
    "head_no_driver": "no driver known",
    "all_of_them": "torch {torch} of CUDA {cuda} is the newest that serves all of them.",
    "all_one": "torch {torch} of CUDA {cuda} is the newest that serves it.",
    "partly": "torch {torch} of CUDA {cuda} serves them, but for one library:",
    "unsure": "torch {torch} of CUDA {cuda} may serve them. What is not known:",
    "unsure_none": "It can't be said which torch serves them.",
    "part": "No wheel serves all. torch {torch} of CUDA {cuda} serves {served}, not {lost}.",
    "none": "No wheel of torch serves {gpus} here.",
    "needs": "It needs driver {floor} or newer[, and brings cuDNN {cudnn}].",
    "plain": "It is the one that pip takes where no index is named.",
    "lost": "{gpu}: {reasons}.",
    "alone": "By itself, in an environment of its own, {gpu} would have:",
    "hide": "Show CUDA only what is served:",
    "hide_by_name": ("Show CUDA only what is served, by UUID, which archbuild gpus tells:"),
    "newer": "Why not a newer one:",
    "why_none": "Why none:",
    "why_part": "Why none serves all:",
    "wheel": "torch {torches} of CUDA {cuda}",
    "range": "{first} to {last}",
    "source": "What a build from source would take:",
    "source_cuda": "CUDA {cuda}, the newest toolkit for {archs}[ ({here})]",
    "source_here": "the nvcc here can do it",
    "source_torch": (
        "torch {torch}[ on Python {pythons}], the newest that is known to build with such a CUDA"
    ),
    "source_driver": "driver {floor} or newer[, up to branch {last}]",
    "source_clash": "but no driver: {floor} or newer is needed, and branch {last} is the last one",
    "source_nothing": "No toolkit that archbuild knows builds code for all of them.",
    "source_untried": "Nobody here has tried that.",
    "facts": "By a table of {date}.",
}

ENGLISH: Mapping[str, str] = {**SENTENCES, **WORDS}
