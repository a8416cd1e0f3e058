"""Sources of pyproject.toml joined with those of setup.py."""

from __future__ import annotations

import pytest

from archbuild.errors import ConfigError
from archbuild.model.source import Source
from archbuild.rules.selecting.source_table import matches_path, merge_sources, unmatched_sources


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a.cu", "a.cu", True),
        ("./a.cu", "a.cu", True),
        ("csrc\\a.cu", "csrc/a.cu", True),
        ("*.cu", "a.cu", True),
        ("*.cu", "csrc/a.cu", False),
        ("csrc/*.cu", "csrc/deep/a.cu", False),
        ("csrc/*/a.cu", "csrc/deep/a.cu", True),
        ("csrc/**/*.cu", "csrc/a.cu", True),
        ("csrc/**/*.cu", "csrc/one/two/a.cu", True),
        ("**/*.cu", "a.cu", True),
        ("**/**/a.cu", "x/a.cu", True),
        ("csrc/**", "csrc/x/a.cu", True),
        ("csrc/**/x/*.cu", "csrc/y/a.cu", False),
        ("csrc/w[1].cu", "csrc/w[1].cu", True),
        ("csrc/w[1].cu", "csrc/w1.cu", True),
        ("A.cu", "a.cu", False),
        ("größe/*.cu", "größe/ä b.cu", True),
        ("/".join(["**", "a"] * 40), "/".join(["a"] * 79 + ["b"]), False),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert matches_path(pattern, path) is expected


HOPPER = Source("hopper/*.cu", archs="9.0a", define="WITH_HOPPER")


def test_a_table_speaks_for_what_setup_py_says_nothing_of() -> None:
    own = Source("hopper/two.cu", archs="9.0+")
    merged = merge_sources((Source("a.cu"), Source("hopper/one.cu"), own), (HOPPER,))
    assert merged == (
        Source("a.cu"),
        Source("hopper/one.cu", archs="9.0a", define="WITH_HOPPER"),
        own,
    )


@pytest.mark.parametrize(
    "own",
    [Source("a.cu", archs="8.0"), Source("a.cu", define="X"), Source("a.cu", required=True)],
)
def test_setup_py_wins_as_a_whole(own: Source) -> None:
    assert merge_sources((own,), (Source("*.cu", "9.0a", "Y", required=True),)) == (own,)


def test_the_very_path_goes_before_patterns() -> None:
    tables = (HOPPER, Source("hopper/one.cu", archs="10.0f"))
    assert merge_sources((Source("hopper/one.cu"),), tables) == (tables[1],)


def test_two_patterns_for_one_source() -> None:
    tables = (HOPPER, Source("**/one.cu", archs="8.0+"))
    with pytest.raises(ConfigError, match=r"hopper/one\.cu is matched by two") as caught:
        merge_sources((Source("hopper/one.cu"),), tables)
    assert "'hopper/*.cu' and '**/one.cu'" in caught.value.message


def test_a_table_for_nothing() -> None:
    tables = (HOPPER, Source("moe/*.cu"))
    assert unmatched_sources(["a.cu", "hopper/x.cu"], tables) == ("moe/*.cu",)
    assert unmatched_sources([], ()) == ()
