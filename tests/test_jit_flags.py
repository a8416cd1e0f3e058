"""The flags with which torch's ``load`` compiles and links."""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.build.jit_flags import (
    JitFlags,
    TorchSide,
    compile_words,
    link_words,
    split_flags,
    split_folders,
)
from archbuild.errors import UsageError

TORCH = TorchSide(("c++",), "c++20", ("-DT",), ("/t/include", "/py"), "/t/lib", ("/cuda/lib",))


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (None, ()),
        (["-O2 -g", " -w "], ("-O2", "-g", "-w")),
        (["-I'a b'"], ("-Ia b",)),
        (['-DNAME=\\"x\\"'], ('-DNAME="x"',)),
    ],
)
def test_flags_are_split_as_a_shell_does(flags: list[str] | None, words: tuple[str, ...]) -> None:
    assert split_flags(flags, "extra_cflags") == words


def test_one_text_is_no_list_of_flags() -> None:
    with pytest.raises(UsageError, match="extra_ldflags"):
        split_flags("-O2", "extra_ldflags")


def test_folders_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert split_folders(["a b ", "/c"]) == (str(tmp_path / "a b"), "/c")


def test_the_callers_standard_wins_for_each_compiler() -> None:
    flags = JitFlags(("-std=c++23",), ("-std=c++17", "-gencode"), (), ("/own",))
    cxx, nvcc = compile_words("m", flags, TORCH, standalone=False)
    assert cxx[-3:] == ("-fPIC", "-std=c++20", "-std=c++23")
    assert [word for word in nvcc if word.startswith("-std")] == ["-std=c++17"]
    plain = compile_words("m", JitFlags(), TORCH, standalone=False)[1]
    assert plain[-3:] == ("--compiler-options", "-fPIC", "-std=c++20")


def test_own_headers_come_before_torchs() -> None:
    for words in compile_words("m", JitFlags(include=("/own",)), TORCH, standalone=False):
        start = words.index("-DTORCH_EXTENSION_NAME=m")
        assert words[start : start + 7] == (
            "-DTORCH_EXTENSION_NAME=m",
            "-DTORCH_API_INCLUDE_EXTENSION_H",
            "-I/own",
            "-isystem",
            "/t/include",
            "-isystem",
            "/py",
        )


def test_a_program_is_no_module_and_finds_its_libraries() -> None:
    cxx, _ = compile_words("m", JitFlags(), TORCH, standalone=True)
    assert "-DTORCH_EXTENSION_NAME=m" not in cxx
    words = link_words(JitFlags(link=("-lx",)), TORCH, standalone=True)
    assert "-shared" not in words.command
    assert "-ltorch_python" not in words.after
    assert {"-Wl,-rpath,/t/lib", "-Wl,-rpath,/cuda/lib"} <= set(words.after)


def test_a_module_is_linked_with_the_callers_libraries_first() -> None:
    words = link_words(JitFlags(link=("-lx",)), TORCH, standalone=False)
    assert words.command == ("c++", "-shared")
    assert words.after[:3] == ("-lx", "-L/t/lib", "-lc10")
    assert words.after[-3:] == ("-ltorch_python", "-L/cuda/lib", "-lcudart")
