"""The house: who may import whom, who prints, and what the repository does not say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "archbuild"

#: Where each room or module stands; a module imports only from lower floors.
FLOORS = {
    "_version": 1,
    "errors": 1,
    "model": 1,
    "facts": 2,
    "rules": 3,
    "binary": 3,
    "probe": 4,
    "build": 5,
    "services": 6,
    "report": 7,
    "cli": 8,
    "__main__": 8,
    "cpp_extension": 8,
    "": 9,  # archbuild/__init__.py
}
#: The rooms inside rules, each with those that it builds on; filling is for all.
THEMES = {
    "filling": set(),
    "covering": set(),
    "selecting": {"covering"},
    "comparing": {"covering"},
    "checking": {"covering", "selecting"},
    "building": {"covering", "selecting"},
    "recommending": {"covering", "selecting"},
    "rebuilding": {"covering", "selecting"},
    "diagnosis": {"covering", "selecting", "recommending"},
    "explaining": {"covering", "selecting", "building", "diagnosis", "rebuilding"},
}
#: Rooms whose modules each answer one question and know nothing of each other.
APART = ("services",)
#: Neighbours of one floor that may all the same.
ALLOWED = {("model", "errors"), ("__main__", "cli")}
FACES_THAT_PRINT = ("cli", "__main__", "guard")
#: Stands alone: it can be copied into a wheel.
ALONE = ("guard",)


def _sources() -> dict[str, str]:
    """Every module of the package by its name, ``archbuild.rules.covering.reach``."""
    return {_name(path): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(module: str, text: str, known: Mapping[str, str]) -> Iterator[str]:
    """What a module imports, wherever the import stands; of archbuild whole module names."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module if _is_package(module, known) else module.rpartition(".")[0]
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *filter(None, [node.module])])
            deeper = [f"{base}.{alias.name}" for alias in node.names]
            yield from (name if name in known else base for name in deeper)
        elif isinstance(node, ast.Call) and _is_import_by_name(node):
            (name,) = (arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant))
            yield str(name)


def _is_package(module: str, known: Mapping[str, str]) -> bool:
    return any(name.startswith(f"{module}.") for name in known)


def _is_import_by_name(node: ast.Call) -> bool:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    literal = bool(node.args) and isinstance(node.args[0], ast.Constant)
    return name in ("import_module", "__import__") and literal


def room(module: str) -> str:
    """``rules`` of ``archbuild.rules.covering.reach``, ``cli`` of ``archbuild.cli``."""
    return module.split(".")[1] if "." in module else ""


def _edges(sources: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for module, text in sources.items():
        for name in imports_of(module, text, sources):
            if name.partition(".")[0] == "archbuild":
                yield module, name


def broken_rules(sources: Mapping[str, str]) -> list[str]:
    """Every import that the floors forbid."""
    found = []
    for module, name in sorted(set(_edges(sources))):
        here, there = room(module), room(name)
        if here in ALONE:
            found.append(f"{module} stands alone, and imports {name}")
        elif not there:
            found.append(f"{module} imports from archbuild/__init__.py")
        elif here == there:
            if here in APART and module != name:
                found.append(f"{module} and {name} of one room should not know each other")
        elif FLOORS[there] >= FLOORS[here] and (here, there) not in ALLOWED:
            found.append(f"{module} (floor {FLOORS[here]}) imports {name} (floor {FLOORS[there]})")
    return found


def circles(sources: Mapping[str, str]) -> list[str]:
    """Modules that import themselves by way of others."""
    graph: dict[str, set[str]] = {module: set() for module in sources}
    for module, name in _edges(sources):
        if name in graph and name != module:
            graph[module].add(name)
    while True:
        leaves = [module for module, names in graph.items() if not names]
        if not leaves:
            return sorted(graph)
        for leaf in leaves:
            del graph[leaf]
        for names in graph.values():
            names.difference_update(leaves)


def test_every_room_has_a_floor() -> None:
    rooms = {room(module) for module in _sources()}
    assert rooms - set(FLOORS) - set(ALONE) == set()


def test_imports_go_down_only() -> None:
    assert broken_rules(_sources()) == []


def test_the_themes_of_rules_build_on_each_other_one_way() -> None:
    found = {
        (here, there)
        for module, name in _edges(_sources())
        if module.startswith("archbuild.rules.") and name.startswith("archbuild.rules.")
        for here, there in [(module.split(".")[2], name.split(".")[2])]
        if there not in (here, "filling")
    }
    assert {here for here, _ in found} <= set(THEMES)
    assert not [(a, b) for a, b in sorted(found) if b not in THEMES[a]]
    assert [path.name for path in sorted((PACKAGE / "rules").glob("*.py"))] == [
        "__init__.py",
        "filling.py",
    ]
    order = list(THEMES)
    pairs = [(below, theme) for theme in THEMES for below in THEMES[theme]]
    assert all(order.index(below) < order.index(theme) for below, theme in pairs)


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circles(_sources()) == []


_HERE = {
    "archbuild": "",
    "archbuild.errors": "",
    "archbuild.cli": "",
    "archbuild.model": "",
    "archbuild.model.arch": "",
    "archbuild.facts": "",
    "archbuild.rules": "",
    "archbuild.rules.covering.reach": "",
    "archbuild.binary": "",
    "archbuild.binary.elf": "",
    "archbuild.services": "",
    "archbuild.services.one": "",
    "archbuild.services.two": "",
}


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("archbuild.model.arch", "from archbuild.facts import x"),
        ("archbuild.facts", "from archbuild.rules.covering.reach import reach"),
        ("archbuild.rules.covering.reach", "def f():\n    import archbuild.binary.elf"),
        ("archbuild.rules.covering.reach", "from archbuild.binary import elf"),
        ("archbuild.binary.elf", "from ..rules import reach"),
        ("archbuild.rules.covering.reach", "if TYPE_CHECKING:\n    from archbuild.cli import main"),
        ("archbuild.rules.covering.reach", "import_module('archbuild.cli')"),
        ("archbuild.services.one", "from archbuild.services.two import x"),
        ("archbuild.services.one", "from archbuild.services import two"),
        ("archbuild.services.one", "from . import two"),
        ("archbuild.cli", "from archbuild import __version__"),
        ("archbuild.cli", "import archbuild"),
        ("archbuild.guard", "from archbuild.errors import x"),
        ("archbuild.errors", "from archbuild.model.arch import Arch"),
    ],
)
def test_the_test_of_the_floors_can_fail(module: str, text: str) -> None:
    assert len(broken_rules({**_HERE, module: text})) == 1


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("archbuild.cli", "from archbuild.services.one import x"),
        ("archbuild.rules.covering.reach", "from archbuild.model import arch\nimport os"),
        ("archbuild.rules.covering.reach", "from ..model.arch import Arch"),
        ("archbuild.model.arch", "from archbuild.errors import x"),
        ("archbuild", "from archbuild.cli import main"),
    ],
)
def test_the_test_of_the_floors_lets_pass(module: str, text: str) -> None:
    assert broken_rules({**_HERE, module: text}) == []


def test_the_test_of_circles_can_fail() -> None:
    one, two = "archbuild.services.one", "archbuild.services.two"
    text = {one: "from archbuild.services import two", two: "def f():\n    from . import one"}
    assert circles({**_HERE, **text}) == [one, two]
    assert circles({**_HERE, one: text[one]}) == []


# --- what the rooms may use -------------------------------------------------------------------

_PURE = ("model", "errors", "rules")
_IMPURE = {"os", "subprocess", "pathlib", "socket", "shutil", "tempfile", "threading", "time"}


def test_rules_and_model_touch_no_machine() -> None:
    sources = _sources()
    for module, text in sources.items():
        if room(module) in _PURE:
            roots = {name.partition(".")[0] for name in imports_of(module, text, sources)}
            assert roots - sys.stdlib_module_names == roots & {"archbuild"}, module
            assert not roots & _IMPURE, module


def test_children_run_by_their_path_import_nothing_of_archbuild() -> None:
    """Python puts their own folder on the path, not the one that holds the package."""
    sources = _sources()
    children = [m for m in sources if m.rpartition(".")[2].startswith(("ask_", "run_"))]
    assert children
    for module in children:
        names = set(imports_of(module, sources[module], sources))
        assert not [name for name in names if name.partition(".")[0] == "archbuild"], module


def _prints(text: str) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]


def test_only_the_faces_print() -> None:
    found = {m: lines for m, text in _sources().items() if (lines := _prints(text))}
    assert {module for module in found if room(module) not in FACES_THAT_PRINT} == set()
    assert _prints("print('x')") == [1]


@pytest.mark.parametrize("statement", ["import archbuild", "from archbuild import __version__"])
def test_importing_archbuild_is_light(statement: str) -> None:
    heavy = ("torch", "setuptools", "rich", "pynvml", "archbuild.cpp_extension", "archbuild.cli")
    code = f"import sys; {statement}; print(sorted(sys.modules.keys() & set({heavy!r})))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]"


def test_the_command_line_starts_without_torch() -> None:
    if not (PACKAGE / "cli").exists():
        pytest.skip("there is no command line yet")
    heavy = ("torch", "setuptools", "pynvml")
    code = f"import sys, archbuild.cli.main; print(sorted(sys.modules.keys() & set({heavy!r})))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


# --- the repository -------------------------------------------------------------------------------


def test_the_packages_of_pyproject_are_the_folders() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    moved = settings["package-dir"]
    folders = {_name(path) for path in PACKAGE.rglob("__init__.py")}
    pages = {"archbuild.docs.findings"}  # below one that is moved
    assert sorted(settings["packages"]) == sorted(folders | set(moved) | pages)
    assert len(settings["packages"]) == len(set(settings["packages"]))
    assert all((ROOT / folder).is_dir() for folder in moved.values())


def _tracked() -> list[Path]:
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no git checkout, or there is no git")
    paths = [ROOT / name for name in done.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_no_module_is_named_for_nothing() -> None:
    stems = {path.stem for path in _tracked() if path.suffix == ".py"}
    assert stems & {"util", "utils", "helpers", "common", "misc"} == set()


# Broken up, so that these lines are not found themselves.
_PLACES = re.compile(
    r"/(?:ro)ot/|/(?:wo)rk/|/(?:Use)rs/|[A-Z]:\\(?:Use)rs|/(?:ho)me/(?!me\b)\w|/(?:tm)p/\w+/"
)
_HOSTS = re.compile(
    r"(?:py)pi\.org/simple|files\.(?:pyt)honhosted|(?:artif)actory|(?:nex)us\.|(?:dev)pi"
    r"|proxy\.(?:gol)ang|registry\.(?:np)mjs|(?:trusted)-host|\b\d+(?:\.\d+){3}:\d{2,5}/"
    # torch's own index is what a person needs to get a torch of another CUDA.
    r"|index-(?:ur)l[= ]+https?://(?!download\.pytorch\.org/)",
    re.IGNORECASE,
)


def _betrayals(text: str) -> list[str]:
    return [m[0] for pattern in (_PLACES, _HOSTS) for m in pattern.finditer(text)]


def test_the_repository_speaks_of_the_project_alone() -> None:
    found = {}
    for path in _tracked():
        data = path.read_bytes()
        if b"\0" not in data and (betrayals := _betrayals(data.decode("utf-8", "replace"))):
            found[str(path.relative_to(ROOT))] = betrayals
    assert found == {}


@pytest.mark.parametrize(
    "parts",
    [
        ("/ro", "ot/x"),
        ("see /wo", "rk/main"),
        ("/Use", "rs/jo"),
        ("C:\\Use", "rs\\jo"),
        ("/ho", "me/jo/x"),
        ("/tm", "p/w/env"),
        ("https://py", "pi.org/simple"),
        ("https://art", "ifactory.example.org"),
        ("--index-u", "rl https://mirror.example.org/x"),
        ("http://10.0.", "0.1:8080/simple"),
    ],
)
def test_the_search_can_find(parts: tuple[str, str]) -> None:
    assert _betrayals("".join(parts))


@pytest.mark.parametrize(
    "text",
    [
        "/home/me/search/include",
        "--index-url https://download.pytorch.org/whl/cu130",
        "/opt/cuda/bin/nvcc",
        "https://semver.org",
        "driver 580.65.06",
        "a framework/library",
    ],
)
def test_the_search_lets_pass(text: str) -> None:
    assert _betrayals(text) == []
