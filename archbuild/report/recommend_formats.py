"""A recommendation as what pip, uv, conda, a project or Docker take."""

from __future__ import annotations

from collections.abc import Callable

from archbuild.errors import UsageError
from archbuild.rules.recommending.judging import python_words
from archbuild.rules.recommending.result import Combination, Recommendation, Wish
from archbuild.rules.recommending.torch_choice import (
    index_of,
    pip_command,
    requirement,
    uv_command,
)
from archbuild.rules.recommending.window import release_words


def render_format(answer: Recommendation, style: str) -> str:
    """What to paste, without a newline at the end.

    Args:
        answer: With a combination.
        style: One of :data:`FORMATS`.

    Raises:
        UsageError: If a Dockerfile is asked for Windows.
    """
    assert answer.best is not None
    return FORMATS[style](answer.best, answer.wish)


def conda_command(best: Combination, wish: Wish) -> str:
    """The line for conda: conda-forge's own build, not the wheel that was judged."""
    python = python_words(wish.python)
    return (
        f'conda install -c conda-forge "pytorch-gpu={best.torch}" "cuda-version={best.cuda}" '
        f'"python={python}"'
    )


def _requirements(best: Combination, wish: Wish) -> str:
    return "\n".join(
        (
            f"# {_headline(best, wish)}",
            "# The index holds for the whole file, so torch has one of its own:",
            "# pip install -r requirements-torch.txt",
            f"--index-url {index_of(best)}",
            requirement(best),
        )
    )


def _pyproject(best: Combination, wish: Wish) -> str:
    name = f"pytorch-{best.tag}"
    marker = "sys_platform == 'win32'" if wish.system == "windows" else "sys_platform == 'linux'"
    return "\n".join(
        (
            f"# {_headline(best, wish)}",
            "# uv reads the two tables below; pip knows no index here: give it",
            f"# --index-url {index_of(best)}",
            "[project]",
            f'dependencies = ["{requirement(best)}"]',
            "",
            "[tool.uv.sources]",
            f'torch = [{{ index = "{name}", marker = "{marker}" }}]',
            "",
            "[[tool.uv.index]]",
            f'name = "{name}"',
            f'url = "{index_of(best)}"',
            "explicit = true",
        )
    )


def _dockerfile(best: Combination, wish: Wish) -> str:
    if wish.system == "windows":
        message = "A Dockerfile makes an image for Linux, and wheels for Windows were asked for."
        raise UsageError(message, "Ask with --system wsl.")
    needs = f", driver {release_words(best.floor)} or newer there" if best.floor else ""
    return "\n".join(
        (
            f"# {_headline(best, wish)}",
            "# The wheels bring CUDA, so no CUDA image is needed. The driver is the host's:",
            f"# docker run --gpus all IMAGE (with NVIDIA's container toolkit{needs})",
            f"FROM python:{python_words(wish.python)}-slim",
            f'RUN pip install --no-cache-dir "{requirement(best)}" --index-url {index_of(best)}',
        )
    )


def _headline(best: Combination, wish: Wish) -> str:
    gpus = ", ".join(dict.fromkeys(_plain(card.name) for card in wish.cards))
    return f"torch {best.torch} of CUDA {best.cuda}, for {gpus}"


def _plain(name: str) -> str:
    """A name from outside as it can stand in a comment."""
    return "".join(char if char.isprintable() else "?" for char in name)


FORMATS: dict[str, Callable[[Combination, Wish], str]] = {
    "pip": pip_command,
    "uv": uv_command,
    "conda": conda_command,
    "requirements": _requirements,
    "pyproject": _pyproject,
    "dockerfile": _dockerfile,
}
