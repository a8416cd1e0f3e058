"""The words of each compiler, as torch's BuildExtension would have them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from archbuild.build.torch_flags import (
    CompileCall,
    host_words,
    link_words,
    nvcc_words,
    preprocessor_words,
    standard_of,
    with_standard,
)


def call(*, debug: bool = False, **args: tuple[str, ...]) -> CompileCall:
    return CompileCall(
        sources=("a.cu",),
        macros=(("A", None), ("B", "1"), ("C",)),
        include_dirs=("inc", "/torch/include"),
        debug=debug,
        args=args,
        compiler=("gcc", "-pthread", "-O2"),
    )


def test_macros_and_folders() -> None:
    macros = [("A", None), ("N", '"text"'), ("U",)]
    words = preprocessor_words(macros, ["a b"])
    assert words == ("-DA", '-DN="text"', "-UU", "-Ia b")


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        (["-O3"], ("-O3", "-std=c++20")),
        (["-std=c++17"], ("-std=c++17",)),
        (["-std", "c++17"], ("-std", "c++17")),
        (["--std=c++17"], ("--std=c++17",)),
        (["-stdlib=libc++"], ("-stdlib=libc++", "-std=c++20")),
    ],
)
def test_a_standard_is_added_where_none_is_named(flags: list[str], wanted: tuple[str, ...]) -> None:
    assert with_standard(flags, "c++20") == wanted


def test_the_host_compiler_gets_setuptools_flags_but_not_its_program() -> None:
    command, after = host_words(call(cxx=("-Wall",)), ("c++",), "c++20")
    assert command == (
        *("c++", "-pthread", "-O2"),
        *("-DA", "-DB=1", "-UC", "-Iinc", "-I/torch/include"),
    )
    assert after == ("-Wall", "-std=c++20")


def test_nvcc_gets_torchs_flags_and_leaves_threads_to_the_schedule() -> None:
    words = nvcc_words(call(nvcc=("-O3", "--threads", "4")), ("-DTORCH",), "c++20")
    assert "-pthread" not in words
    assert words[-5:] == ("-DTORCH", "--compiler-options", "-fPIC", "-O3", "-std=c++20")
    assert "--threads" not in words


def test_debug_reaches_both_compilers() -> None:
    assert "-g" in host_words(call(debug=True), ("c++",), "c++20")[0]
    assert "-g" in nvcc_words(call(debug=True), (), "c++20")


def test_a_device_link_only_where_there_is_one() -> None:
    assert link_words(call(), ("-DTORCH",)) is None
    words = link_words(call(nvcc_dlink=("-dlink",)), ("-DTORCH",))
    assert words == ("-DTORCH", "--compiler-options", "-fPIC", "-dlink")


def test_the_standard_is_torchs_own(tmp_path: Path) -> None:
    module = tmp_path / "cpp_extension.py"
    module.write_text("flag = prefix + 'c++17'\nother = prefix + 'c++20'\n")
    assert standard_of(SimpleNamespace(__file__=str(module))) == "c++20"
    module.write_text("nothing")
    assert standard_of(SimpleNamespace(__file__=str(module))) == "c++17"
    assert standard_of(SimpleNamespace(__file__=str(tmp_path / "gone.py"))) == "c++17"
