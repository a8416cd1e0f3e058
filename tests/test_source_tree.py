"""The source of a package in a folder, and the package behind a binary."""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.errors import UsageError
from archbuild.probe.package_origin import find_distribution, find_origin, with_source
from archbuild.probe.source_tree import find_source_tree
from archbuild.rules.explaining.circumstances import Builder, Origin

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("files", "name", "builder"),
    [
        ({"pyproject.toml": '[project]\nname = "axpy"'}, "axpy", Builder.TORCH),
        ({"setup.py": 'setup(\n    name="a_b",\n)'}, "a_b", Builder.TORCH),
        ({"setup.py": "setup()", "setup.cfg": "[metadata]\nname = x\n"}, "x", Builder.TORCH),
        ({"setup.py": "setup(name=NAME)"}, None, Builder.TORCH),
        (
            {
                "pyproject.toml": '[build-system]\nbuild-backend = "scikit_build_core.build"\n'
                '[project]\nname = "norms"'
            },
            "norms",
            Builder.CMAKE,
        ),
        ({"pyproject.toml": "no TOML ["}, None, Builder.TORCH),
        ({"pyproject.toml": "project = 3"}, None, Builder.TORCH),
        ({"pyproject.toml": "\x00\xff"}, None, Builder.TORCH),
    ],
)
def test_what_a_folder_says_of_itself(
    tmp_path: Path, files: dict[str, str], name: str | None, builder: Builder
) -> None:
    for file, text in files.items():
        (tmp_path / file).write_text(text, encoding="latin-1")
    tree = find_source_tree(tmp_path)
    assert tree is not None
    assert (tree.name, tree.builder) == (name, builder)


def test_a_folder_without_a_project(tmp_path: Path) -> None:
    assert find_source_tree(tmp_path) is None
    assert find_source_tree(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("example", "builder"), [("axpy", Builder.TORCH), ("scikit", Builder.CMAKE)]
)
def test_the_examples(example: str, builder: Builder) -> None:
    tree = find_source_tree(EXAMPLES / example)
    assert tree is not None
    assert tree.builder is builder
    assert tree.name


def test_nothing_of_a_project_is_executed(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("open('ran', 'w'); name = 'x'")
    assert find_source_tree(tmp_path) is not None
    assert not (tmp_path / "ran").exists()


def test_the_source_that_was_named(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("setup(name='other')")
    found = with_source(Origin("axpy", "1.0"), tmp_path)
    assert (found.name, found.source) == ("axpy", str(tmp_path))
    assert with_source(Origin(), tmp_path).name == "other"


def test_a_source_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no pyproject.toml or setup.py"):
        with_source(Origin(), tmp_path)


@pytest.mark.parametrize(
    ("name", "source"), [("axpy", "."), ("AXPY", "."), ("other", None), (None, None)]
)
def test_the_current_folder_where_it_is_the_source_of_that_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | None, source: str | None
) -> None:
    (tmp_path / "setup.py").write_text("setup(name='axpy')")
    monkeypatch.chdir(tmp_path)
    assert with_source(Origin(name), None).source == source


def test_the_package_of_a_binary(tmp_path: Path) -> None:
    wheel = tmp_path / "axpy-1.0-cp311-cp311-linux_x86_64.whl"
    wheel.touch()
    assert find_origin(str(wheel)) == Origin("axpy", "1.0")
    installed = find_origin("pytest")
    assert (installed.name, installed.installed) == ("pytest", True)
    assert installed.version
    assert find_origin("no-such-package-at-all") == Origin("no-such-package-at-all")


def test_the_package_of_a_module() -> None:
    assert find_distribution("_pytest") == "pytest"
    assert find_distribution("no_such_module") == "no_such_module"
