"""What nvcc flags say about architectures, held against nvcc itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.cuobjdump import read_with_cuobjdump
from archbuild.errors import UsageError
from archbuild.rules.selecting.nvcc_flags import NvccFlags, parse_nvcc_flags, parse_nvcc_variable


def _images(flags: NvccFlags) -> set[str]:
    return {str(gencode.target) for gencode in flags.gencodes}


# Flags, and the images that an object holds: nvcc decides it below.
ASKED = [
    (["-arch=sm_90"], "sm_90 compute_90"),
    (["-arch", "sm_90"], "sm_90 compute_90"),
    (["--gpu-architecture=sm_90"], "sm_90 compute_90"),
    (["--gpu-architecture", "sm_90"], "sm_90 compute_90"),
    (["-arch=compute_90"], "compute_90"),
    (["-arch=sm_90a"], "sm_90a compute_90a compute_90"),
    (["-arch=compute_90a"], "compute_90a compute_90"),
    (["-arch=sm_100f"], "sm_100f compute_100f compute_100"),
    (["-arch=compute_80", "-code=sm_80,sm_86"], "sm_80 sm_86"),
    (["-arch=compute_80", "-code=sm_80", "--gpu-code", "sm_86"], "sm_80 sm_86"),
    (["-arch", "compute_80", "-code", "compute_80"], "compute_80"),
    (["-arch=compute_100f", "-code=sm_103"], "sm_103f"),
    (["-gencode", "arch=compute_90,code=sm_90"], "sm_90"),
    (["-gencode=arch=compute_90,code=sm_90"], "sm_90"),
    (["--generate-code=arch=compute_90,code=sm_90"], "sm_90"),
    (["--generate-code", "arch=compute_90,code=sm_90"], "sm_90"),
    (["-gencode", "code=sm_90,arch=compute_90"], "sm_90"),
    (["-gencode", "arch=compute_80,code=[sm_80,sm_86,compute_80]"], "sm_80 sm_86 compute_80"),
    (["-gencode", 'arch=compute_80,code="sm_80,compute_80"'], "sm_80 compute_80"),
    (["-gencode=arch=compute_80,code=sm_80"] * 2, "sm_80"),
    (["-arch=sm_80", "-gencode=arch=compute_90,code=sm_90"], "sm_80 compute_80 sm_90"),
    (["-gencode=arch=lto_90,code=sm_90", "-dc"], "sm_90"),
    (["-gencode=arch=compute_90,code=[lto_90,sm_90]", "-dc"], "lto_90 sm_90"),
    (["-arch=lto_90", "-dc"], "lto_90"),
]

# Flags that only look as if they named architectures.
INNOCENT = [
    ["-Xcompiler=-march=native"],
    ["-Xcompiler", "-march=native"],
    ["-Xcompiler", "-arch=sm_90"],
    ["--compiler-options", "-march=native,-fPIC"],
    ["-Xptxas", "-arch=sm_90"],
    ["-I/home/me/search/include"],
    ["-I", "/home/me/search/include"],
    ["-isystem", "-arch"],
    ["-Darch=sm_90"],
    ["-D", "-code=sm_90"],
    ["-DCUDA_ARCH=90", "--machine=64", "-Wno-deprecated-gpu-targets", "-std=c++17", "-O3"],
    ["-o", "-arch"],
    ["-Xcompiler"],
    [],
]


@pytest.mark.parametrize(("flags", "images"), ASKED, ids=[" ".join(f) for f, _ in ASKED])
def test_what_is_asked_for(flags: list[str], images: str) -> None:
    parsed = parse_nvcc_flags(flags)
    assert _images(parsed) == set(images.split())
    assert parsed.rest == tuple(flag for flag in flags if flag == "-dc")
    assert parsed.names_archs


@pytest.mark.parametrize("flags", INNOCENT, ids=" ".join)
def test_what_says_nothing_stays_as_it_is(flags: list[str]) -> None:
    parsed = parse_nvcc_flags(flags)
    assert (parsed.gencodes, parsed.words, parsed.rest) == ((), (), tuple(flags))
    assert not parsed.names_archs


@pytest.mark.parametrize("word", ["native", "all", "all-major"])
def test_the_words_of_nvcc(word: str) -> None:
    parsed = parse_nvcc_flags(["-arch", word, "-gencode=arch=compute_80,code=sm_80"])
    assert parsed.words == (word,)
    assert _images(parsed) == {"sm_80"}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["-arch"], "-arch in the nvcc flags has no value"),
        (["-O3", "-gencode"], "-gencode in the nvcc flags has no value"),
        (["--gpu-code"], "--gpu-code in the nvcc flags has no value"),
        (["-ccbin"], "-ccbin in the nvcc flags has no value"),
        (["--threads"], "--threads in the nvcc flags has no value"),
        (["-rdc"], "-rdc in the nvcc flags has no value"),
        (["-arch="], "no architecture"),
        (["-arch=90"], "'90' is no architecture"),
        (["-arch=SM_90"], "'SM_90'"),
        (["-arch=sm_75,sm_80"], "'sm_75,sm_80'"),
        (["-code=sm_90"], "no -arch beside it"),
        (["-arch=sm_90", "-code=sm_90"], "wants a virtual architecture"),
        (["-arch=all", "-code=sm_90"], "wants a virtual architecture"),
        (["-arch=compute_80", "-code=[sm_80]"], "[sm_80]"),
        (["-gencode", "arch=compute_90"], "no -gencode value"),
        (["-gencode=arch=sm_90,code=sm_90"], "wants a virtual architecture"),
        (["-gencode=arch=compute_90,code=90"], "'90'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_nvcc_would_refuse(flags: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_nvcc_flags(flags)
    assert words in str(caught.value)
    assert caught.value.exit_code == 2


def test_the_message_says_where_the_flags_are() -> None:
    with pytest.raises(UsageError, match="the nvcc flags of axpy"):
        parse_nvcc_flags(["-arch"], "the nvcc flags of axpy")


@pytest.mark.parametrize(
    ("flags", "ccbin"),
    [
        (["-ccbin", "g++-12"], "g++-12"),
        (["-ccbin=g++-12"], "g++-12"),
        (["--compiler-bindir", "/opt/gcc/bin"], "/opt/gcc/bin"),
        (["--compiler-bindir=clang++"], "clang++"),
        (["-ccbin", "g++-12", "-ccbin=g++-13"], "g++-13"),
        (["-Xcompiler", "-ccbin=g++"], None),
    ],
)
def test_the_host_compiler_stays_among_the_flags(flags: list[str], ccbin: str | None) -> None:
    parsed = parse_nvcc_flags(flags)
    assert (parsed.ccbin, parsed.rest) == (ccbin, tuple(flags))


@pytest.mark.parametrize(
    ("flags", "threads"),
    [
        (["--threads", "4"], 4),
        (["--threads=4"], 4),
        (["-t", "4"], 4),
        (["-t=4"], 4),
        (["-t4"], 4),
        (["-t4", "-t", "0"], 0),
        (["--threads=x"], None),
        (["--threads=²"], None),
    ],
)
def test_the_number_of_threads(flags: list[str], threads: int | None) -> None:
    parsed = parse_nvcc_flags(flags)
    assert (parsed.threads, parsed.rest) == (threads, tuple(flags))


@pytest.mark.parametrize(
    ("flags", "relocatable", "lto"),
    [
        (["-dc"], True, False),
        (["--device-c"], True, False),
        (["-rdc=true"], True, False),
        (["-rdc", "true"], True, False),
        (["--relocatable-device-code", "true"], True, False),
        (["-rdc=true", "-rdc=false"], False, False),
        (["-rdc=false"], False, False),
        (["-dlto"], True, True),
        (["--dlink-time-opt"], True, True),
        (["-Xcompiler", "-dc"], False, False),
        (["-D", "-dlto"], False, False),
    ],
)
def test_what_a_device_link_has_to_complete(
    flags: list[str], *, relocatable: bool, lto: bool
) -> None:
    parsed = parse_nvcc_flags(flags)
    assert (parsed.relocatable, parsed.lto, parsed.rest) == (relocatable, lto, tuple(flags))


@pytest.mark.parametrize(
    ("text", "images", "rest"),
    [
        (None, set(), ()),
        ("  ", set(), ()),
        ("-arch=sm_80 -t 4", {"sm_80", "compute_80"}, ("-t", "4")),
        ("-gencode arch=compute_90,code=sm_90", {"sm_90"}, ()),
        ("-Xcompiler '-march=native -fPIC'", set(), ("-Xcompiler", "-march=native -fPIC")),
    ],
)
def test_a_variable(text: str | None, images: set[str], rest: tuple[str, ...]) -> None:
    parsed = parse_nvcc_variable(text, "NVCC_APPEND_FLAGS")
    assert (_images(parsed), parsed.rest) == (images, rest)


@pytest.mark.parametrize("text", ["-DX='a", "-arch", "-arch=sm_nothing"])
def test_a_bad_variable_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="NVCC_APPEND_FLAGS"):
        parse_nvcc_variable(text, "NVCC_APPEND_FLAGS")


_WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(sorted({word for flags, _ in ASKED for word in flags})),
    st.sampled_from(sorted({word for flags in INNOCENT for word in flags})),
)


@given(st.lists(_WORDS, max_size=6))
def test_any_flags_are_read_or_refused_in_words(flags: list[str]) -> None:
    try:
        parsed = parse_nvcc_flags(flags)
    except UsageError:
        return
    rest = iter(flags)
    assert all(word in rest for word in parsed.rest)  # nothing invented, the order kept
    again = parse_nvcc_flags(parsed.rest)
    assert (again.rest, again.names_archs) == (parsed.rest, False)
    assert (again.ccbin, again.threads) == (parsed.ccbin, parsed.threads)


@given(st.text(max_size=40))
def test_any_variable_is_read_or_refused_in_words(text: str) -> None:
    try:
        parse_nvcc_variable(text, "NVCC_PREPEND_FLAGS")
    except UsageError as error:
        assert "NVCC_PREPEND_FLAGS" in str(error)


# --- nvcc itself ------------------------------------------------------------------------


def _compile(nvcc: Path, flags: list[str], folder: Path) -> tuple[Path, str]:
    source = folder / "tiny.cu"
    source.write_text("__global__ void fill(int *x) { *x = 1; }\n")
    done = subprocess.run(
        [str(nvcc), "-c", str(source), "-o", str(folder / "tiny.o"), *flags],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={
            n: v
            for n, v in os.environ.items()
            if n not in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
        },
    )
    return folder / "tiny.o", done.stderr if done.returncode else ""


@pytest.mark.toolkit
@pytest.mark.parametrize(("flags", "images"), ASKED, ids=[" ".join(f) for f, _ in ASKED])
def test_nvcc_leaves_these_images(
    flags: list[str], images: str, nvcc: Path, packaged_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    cuobjdump = packaged_tool("cuobjdump")
    made, wrong = _compile(nvcc, flags, tmp_path)
    assert not wrong
    found = read_with_cuobjdump(str(made), str(cuobjdump), everything=True)
    assert {str(image.arch) for image in found.images} == set(images.split())


@pytest.mark.toolkit
@pytest.mark.parametrize(
    "flags",
    [
        ["-arch=90"],
        ["-code=sm_90"],
        ["-arch=sm_90", "-code=sm_90"],
        ["-arch=all", "-code=sm_90"],
        ["-arch=compute_80", "-code=[sm_80]"],
        ["-gencode=arch=sm_90,code=sm_90"],
        ["-arch"],
        ["-rdc"],
    ],
    ids=" ".join,
)
def test_nvcc_refuses_what_is_refused_here(flags: list[str], nvcc: Path, tmp_path: Path) -> None:
    assert "fatal" in _compile(nvcc, flags, tmp_path)[1]
    with pytest.raises(UsageError):
        parse_nvcc_flags(flags)


@pytest.mark.toolkit
def test_images_written_out_one_by_one_are_the_same(
    nvcc: Path, packaged_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """An extension's own -arch is passed on as -gencode flags: nothing may change by that."""
    parsed = parse_nvcc_flags(["-arch=sm_100f"])
    made, wrong = _compile(nvcc, [gencode.flag for gencode in parsed.gencodes], tmp_path)
    assert not wrong
    found = read_with_cuobjdump(str(made), str(packaged_tool("cuobjdump")))
    assert {str(arch) for arch in found.targets} == {"sm_100f", "compute_100f", "compute_100"}
