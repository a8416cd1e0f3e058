"""nvcc's dry run: what it would run, understood or refused, and a real source in its place."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.build.dryrun import PLACEHOLDER, Script, _split, fill, parse_dryrun
from archbuild.build.engine import Running, build, plan
from archbuild.build.plan import BuildRequest, CudaUnit, no_estimate
from archbuild.model.build import Resources, Step

DRYRUN = Path(__file__).parent / "data" / "dryrun"


def found(name: str, _path: str) -> str | None:
    return name if name.startswith("/") else f"/tools/{name}"


def script(name: str) -> Script:
    parsed = parse_dryrun((DRYRUN / f"{name}.txt").read_text(), found)
    assert parsed is not None
    return parsed


def test_the_passes_of_several_architectures() -> None:
    told = [(one.step.value, str(one.arch or "")) for one in script("two").passes]
    assert told == [
        ("preprocess", ""),
        ("split", ""),
        ("preprocess", "compute_80"),
        ("device", "compute_80"),
        ("assemble", "sm_80"),
        ("preprocess", "compute_100f"),
        ("device", "compute_100f"),
        ("assemble", "sm_100f"),
        ("assemble", "sm_103f"),
        ("preprocess", "compute_120"),
        ("device", "compute_120"),
        ("assemble", "compute_120"),
        ("fatbin", ""),
        ("host", ""),
    ]


def test_every_input_is_the_source_or_made_before() -> None:
    for name in ("one", "two", "lto"):
        made = {PLACEHOLDER}
        for one in script(name).passes:
            assert made.issuperset(one.inputs), one
            made.update(one.outputs)


def test_the_host_pass_reads_what_its_text_includes() -> None:
    host = script("two").passes[-1]
    assert [Path(file).name.partition(".")[2] for file in host.inputs] == [
        "compute_120.cudafe1.cpp",
        "fatbin.c",
        "compute_120.cudafe1.stub.c",
    ]


def test_ptx_that_stays_ptx_is_only_looked_at() -> None:
    (check,) = [p for p in script("two").passes if str(p.arch) == "compute_120" and not p.outputs]
    assert check.step is Step.ASSEMBLE


def test_a_quoted_word_stays_one_word() -> None:
    assert 'NAME="a b"' in script("two").passes[0].command


def test_lto_has_no_assembler() -> None:
    assert Step.ASSEMBLE not in {one.step for one in script("lto").passes}


LINES = (DRYRUN / "one.txt").read_text().splitlines()


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:-1],
        lambda lines: [*lines, "#$ strange --tool -o x"],
        lambda lines: [line + " > /tmp/out" if "ptxas" in line else line for line in lines],
        lambda lines: [line + " $HOME" if "ptxas" in line else line for line in lines],
        lambda lines: [line.replace('"', "", 1) if "cudafe++" in line else line for line in lines],
        lambda lines: [line.replace("-arch sm_90a", "") for line in lines if "cicc" not in line],
        lambda lines: [line.replace("-arch=sm_90a", "-arch=strange") for line in lines],
        lambda _: [],
    ],
    ids=[
        "cut",
        "unknown-program",
        "redirected",
        "variable",
        "unbalanced",
        "pass-missing",
        "arch",
        "nothing",
    ],
)
def test_what_is_not_understood_is_left_to_nvcc(change: object) -> None:
    assert callable(change)
    assert parse_dryrun("\n".join(change(LINES)), found) is None


def test_a_tool_that_is_not_there_leaves_it_to_nvcc() -> None:
    text = "\n".join(LINES)
    assert parse_dryrun(text, lambda name, _: None if name == "ptxas" else name) is None


def test_warnings_are_kept() -> None:
    parsed = parse_dryrun("nvcc warning : old\n" + "\n".join(LINES), found)
    assert parsed is not None
    assert parsed.warnings == ("nvcc warning : old",)


@given(
    st.sampled_from(["k", "my kernel", "a.b", "größe", "archbuild-source", "archbuild-object.o"]),
    st.sampled_from(["", "csrc/", "archbuild-keep/", "../up/", "a b/"]),
)
def test_a_real_source_takes_the_placeholders_place(stem: str, folder: str) -> None:
    source, keep = f"{folder}{stem}.cu", "build/obj/x.o.passes"
    filled = fill(script("two"), source, f"/abs/{source}", keep, "build/obj/x.o")
    first, last = filled.passes[0], filled.passes[-1]
    assert first.inputs == (source,)
    assert first.outputs == (f"{keep}/{stem}.cpp4.ii",)
    assert last.outputs == ("build/obj/x.o",)
    split = filled.passes[1].command
    assert split[split.index("--orig_src_path_name") + 1] == f"/abs/{source}"
    assert split[split.index("--stub_file_name") + 1] == f"{stem}.compute_120.cudafe1.stub.c"


@pytest.mark.toolkit
@pytest.mark.parametrize(
    "flags",
    [
        "-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90]",
        "-gencode=arch=compute_75,code=sm_75 -gencode=arch=compute_75,code=sm_120 -use_fast_math",
        "-rdc=true -gencode=arch=compute_90a,code=sm_90a -O1 -lineinfo -Xcompiler -fPIC,-Wall",
        "-std=c++20 -gencode=arch=compute_100f,code=sm_103f --expt-relaxed-constexpr -Xptxas -v",
        "-rdc=true -gencode=arch=compute_90,code=lto_90",
        "-G -g -gencode=arch=compute_120,code=compute_120",
    ],
)
def test_the_passes_make_nvccs_own_object(tmp_path: Path, nvcc: Path, flags: str) -> None:
    """Byte for byte what one call of nvcc makes, by every edge of the plan."""
    words = tuple(flags.split())
    (tmp_path / "k.cu").write_text(
        "#include <cstdio>\nnamespace { __global__ void k(float* x) { *x *= 2; } }\n"
        "template <class T> __global__ void t(T* x) { *x += 1; printf(__FILE__); }\n"
        "void go(float* x) { k<<<1, 1>>>(x); t<<<1, 1>>>(x); }\n"
    )
    asked = BuildRequest("x", str(tmp_path), "b", str(nvcc), (CudaUnit("k.cu", words),))
    planned = plan(asked, os.environ, no_estimate)
    assert Step.NVCC not in {edge.step for edge in planned.edges}
    done = build(planned, Running(Resources(2, 1 << 40)))
    assert not done.failed, done.failed
    made = tmp_path / planned.objects[0]
    mine = made.read_bytes()
    keep = ("--keep", "--keep-dir", f"{planned.objects[0]}.passes")
    _run(tmp_path, str(nvcc), *keep, *words, "-c", "k.cu", "-o", planned.objects[0])
    assert made.read_bytes() == mine


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('gcc -I"in \\\'q" x', ["gcc", "-Iin 'q", "x"]),
        ('gcc -isystem "in \\\'q" x', ["gcc", "-isystem", "in 'q", "x"]),
        ("""gcc -D "W='\\\\n'" x""", ["gcc", "-D", "W='\\n'", "x"]),
    ],
    ids=["include", "system", "macro"],
)
def test_an_apostrophe_in_a_folder_is_one(line: str, words: list[str]) -> None:
    """nvcc 13.0 writes a backslash before it, which a shell leaves where it is."""
    assert _split(line, {}) == words
