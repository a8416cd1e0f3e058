"""What an error means here: the answer as phrases, which every language can fill."""

from __future__ import annotations

from dataclasses import dataclass

from archbuild.model.diagnosis import Diagnosis


@dataclass(frozen=True)
class Phrase:
    """A template by its key, with its values.

    Args:
        key: ``code-none``, or the key of a known error with ``/cure`` for its advice.
        values: Texts, numbers and names, or phrases of their own.
    """

    key: str
    values: tuple[tuple[str, str | Phrase], ...] = ()


def phrase(key: str, **values: str | Phrase | None) -> Phrase:
    """A phrase; values that are None are left out."""
    return Phrase(key, tuple((name, value) for name, value in values.items() if value is not None))


@dataclass(frozen=True)
class Named:
    """The CUDA error that a text names.

    Args:
        number: Since CUDA 10.1.
        name: Of the runtime, ``cudaErrorNoDevice``; of the driver where it alone has it.
        text: What programs print; empty where the runtime has no such error.
        old_number: The number before CUDA 10.1, where the text has that one.
    """

    number: int
    name: str
    text: str = ""
    old_number: int | None = None


@dataclass(frozen=True)
class Explained:
    """The answer.

    Args:
        key: The known error's, or the code of a failed build, ``A120``; None: the text
            is not known, or there was none.
        line: Where it stands in the text.
        named: The CUDA error that the text names.
        errors: The CUDA errors that it stands for, the likeliest first.
        meaning: What it means anywhere.
        here: What stands behind it here, the worst first.
        kernels: Mangled names of the kernels that are missing.
        findings: What is wrong with the machine and gives this very error.
        cure: What to do.
        commands: As commands to paste, the first one first.
        wanted: What would decide more, as phrases that name options.
        others: What else of known errors stands in the text.
        page: Where the documentation tells of it; empty: docs/explain.md.
        decided: Whether the cause here is proved by the binary or the machine.
    """

    key: str | None
    line: str = ""
    named: Named | None = None
    errors: tuple[int, ...] = ()
    meaning: Phrase | None = None
    here: tuple[Phrase, ...] = ()
    kernels: tuple[str, ...] = ()
    findings: tuple[Diagnosis, ...] = ()
    cure: Phrase | None = None
    commands: tuple[str, ...] = ()
    wanted: tuple[Phrase, ...] = ()
    others: tuple[Phrase, ...] = ()
    page: str = ""
    decided: bool = False

    @property
    def exit_code(self) -> int:
        """0 where it can be explained, 4 where not."""
        return 0 if self.key is not None or self.decided else 4
