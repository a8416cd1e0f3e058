"""Messages of many passes, each shown once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.build import Step
from archbuild.rules.building.messages import (
    diagnostics_of,
    group_failures,
    group_notices,
    split_messages,
)
from tests.builds import run_of

# nvcc 13.0
_UNDEFINED = """\
e.cu(1): error: identifier "undeclared_name" is undefined
  __attribute__((global)) void k(int*p){ int u = 3; *p=undeclared_name; }
                                                       ^

1 error detected in the compilation of "e.cu".
"""
_UNUSED = """\
w.cu(1): warning #177-D: variable "u" was declared but never referenced
  __attribute__((global)) void k(int*p){ int u = 3; *p=1; }
                                             ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

"""
# g++ 12.2
_GCC = """\
In file included from a.h:1,
                 from b.cpp:1:
x.h:5:2: error: #error C++20 or later
    5 | #error C++20 or later
      |  ^~~~~
x.h: In function 'int f()':
x.h:7:27: error: 'a' was not declared
    7 |   a();
      |   ^
x.h:7:27: note: did you mean 'b'?
x.h:8:1: warning: no return statement
compilation terminated.
"""


def _ptx(temporary: str, line: int, arch: str, what: str = "wgmma.fence") -> str:
    return (
        f"ptxas {temporary}, line {line}; error   : Instruction '{what}' not supported on "
        f".target '{arch}'\n"
    )


_ABORTED = "ptxas fatal   : Ptx assembly aborted due to errors\n"


@pytest.mark.parametrize(
    ("output", "firsts"),
    [
        (_UNDEFINED, ["e.cu(1): error"]),
        (_UNUSED + _UNDEFINED, ["w.cu(1): warning", "e.cu(1): error"]),
        (_GCC, ["In file included", "x.h: In function", "x.h:8:1: warning"]),
        (
            _ptx("a.ptx", 3, "sm_90") + _ptx("a.ptx", 4, "sm_90") + _ABORTED,
            ["ptxas a.ptx, line 3", "ptxas a.ptx, line 4"],
        ),
        ("Killed\n", ["Killed"]),
        ("one\ntwo\n", ["one"]),
        ("one\n\ntwo\n", ["one", "two"]),
        (_ABORTED, ["ptxas fatal"]),  # nothing else is left to show
        ("", []),
        (" \n\n", []),
        ("C:\\a b\\x.cu(3): error C2065: 'y'\nC:\\a b\\x.cu(4): error C2065: 'z'", ["C:", "C:"]),
        (
            "/usr/bin/ld: cannot find -lcuda: No such\n/usr/bin/ld: cannot find -lx: No",
            ["/u", "/u"],
        ),
        (
            "ptxas info    : 0 bytes gmem\n"
            "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
            "    0 bytes stack frame\nptxas info    : Used 8 registers\n"
            "a.cu(1): warning: x\n",
            ["ptxas info    : 0 bytes", "a.cu(1)"],
        ),
    ],
)
def test_messages_of_one_output(output: str, firsts: list[str]) -> None:
    messages = list(split_messages(output))
    assert len(messages) == len(firsts), messages
    for message, first in zip(messages, firsts, strict=True):
        assert message.startswith(first)


def test_a_message_is_whole() -> None:
    included, function, _ = split_messages(_GCC)
    assert included.endswith("      |  ^~~~~")
    assert "did you mean 'b'?" in function


def test_colours_and_tabs_are_gone() -> None:
    (message,) = split_messages("\x1b[1ma.cpp:1:1: \x1b[31merror: \x1b[mx\r\n\ty\r\n")
    assert message == "a.cpp:1:1: error: x\n        y"


@given(st.text(alphabet=st.sampled_from("ab: |^\n\t\r(1)\x1berror:")))
def test_no_word_is_lost(output: str) -> None:
    shown = " ".join(split_messages(output)).split()
    assert shown == output.replace("\r\n", "\n").split() or "\x1b" in output


@given(st.text())
def test_any_output_is_split(output: str) -> None:
    assert all(message.strip() for message in split_messages(output))


# --- one error in several passes ---------------------------------------------------------------


def test_one_error_in_six_passes_and_the_host_is_told_once() -> None:
    archs = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
    runs = [run_of("e.cu", arch, status=2, output=_UNUSED + _UNDEFINED) for arch in archs]
    runs.append(run_of("e.cu", step=Step.SPLIT, status=2, output=_UNDEFINED))
    (failure,) = group_failures(runs)
    assert failure.source == "e.cu"
    assert failure.passes == tuple(run.label for run in runs)
    unused, undefined = failure.diagnostics
    assert (len(unused.passes), unused.times) == (6, 1)
    assert undefined.passes == failure.passes
    assert failure.explanation is None


def test_temporary_names_lines_of_ptx_and_architectures_make_no_difference() -> None:
    first = _ptx("/t/tmpxft_00006fa5_00000000-6_w.compute_90.ptx", 23, "sm_90")
    runs = [
        run_of("w.cu", "sm_90", status=255, output=first + _ABORTED),
        run_of(
            "w.cu",
            "sm_120",
            status=255,
            output=_ptx("/t/tmpxft_0000786d_00000000-7_w.compute_120.ptx", 22, "sm_120") * 3
            + _ABORTED,
        ),
    ]
    (failure,) = group_failures(runs)
    (told,) = failure.diagnostics
    assert told.text + "\n" == first
    assert told.passes == ("w.cu sm_90", "w.cu sm_120")
    assert told.times == 3
    assert failure.explanation is not None
    assert 'Source("w.cu", archs="9.0a")' in failure.explanation.cure


def test_files_of_passes_in_their_folders_make_no_difference() -> None:
    text = "build/{0}/w.{0}.cudafe1.stub.c:3:1: error: x\n"
    runs = [
        run_of("w.cu", name.replace("compute", "sm"), status=1, output=text.format(name))
        for name in ("compute_80", "compute_90a")
    ]
    assert len(diagnostics_of(runs)) == 1


def test_different_errors_stay_apart() -> None:
    runs = [
        run_of("w.cu", "sm_80", status=2, output=_UNDEFINED),
        run_of("w.cu", "sm_90", status=2, output=_UNDEFINED.replace("undeclared", "other")),
        run_of("v.cu", "sm_90", status=2, output=_UNDEFINED),
        run_of("w.cu", "sm_86", output=_UNUSED),
    ]
    failures = group_failures(runs)
    assert [failure.source for failure in failures] == ["w.cu", "v.cu"]
    assert [told.passes for told in failures[0].diagnostics] == [("w.cu sm_80",), ("w.cu sm_90",)]


def test_causes_of_one_source_stay_apart() -> None:
    runs = [
        run_of("w.cu", "sm_80", status=-9, retried=True),
        run_of("w.cu", "sm_90", status=2, output=_UNDEFINED),
        run_of("w.cu", "sm_120", status=-9),
    ]
    killed, undefined = group_failures(runs, memory_free=2_000_000_000)
    assert killed.explanation is not None
    assert "2.0 GB are free" in killed.explanation.cure
    assert killed.passes == ("w.cu sm_80", "w.cu sm_120")
    assert (killed.retried, killed.status, killed.diagnostics) == (True, -9, ())
    assert (undefined.retried, undefined.explanation) == (False, None)


def test_a_device_link_has_no_source() -> None:
    output = "nvlink error   : Undefined reference to '_Z3exti' in 'u.o'\n"
    (failure,) = group_failures([run_of(None, step=Step.DEVICE_LINK, status=255, output=output)])
    assert failure.source is None
    assert failure.explanation is not None


def test_warnings_of_passes_that_ended_well() -> None:
    runs = [run_of("w.cu", arch, output=_UNUSED) for arch in ("sm_80", "sm_90")]
    runs += [
        run_of("v.cu", "sm_80", output="\n"),
        run_of("x.cu", "sm_80", status=1, output=_UNUSED),
    ]
    (notice,) = group_notices(runs)
    assert notice.source == "w.cu"
    (told,) = notice.diagnostics
    assert told.passes == ("w.cu sm_80", "w.cu sm_90")
    assert "Remark" not in told.text


def test_nothing_to_tell() -> None:
    assert group_failures([run_of("a.cu", "sm_80")]) == ()
    assert group_notices([run_of("a.cu", "sm_80")]) == ()


# --- the tools here ----------------------------------------------------------------------------


@pytest.mark.toolkit
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++ here")
@pytest.mark.parametrize(
    ("source", "archs"),
    [
        ('__global__ void k(int* p) { asm volatile("wgmma.fence.sync.aligned;"); }\n', (90, 100)),
        ("__global__ void k(int* p) { int unused = 3; *p = undeclared; }\n", (80, 90)),
        (
            'template <class T> __global__ void k(T* p) { static_assert(sizeof(T) == 3, "x"); }\n'
            "template __global__ void k<int>(int*);\n",
            (80, 120),
        ),
    ],
)
def test_real_passes(source: str, archs: tuple[int, ...], nvcc: Path, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(source)
    runs = []
    for arch in archs:
        command = [str(nvcc), "-c", "a.cu", "-o", f"{arch}.o", f"-arch=sm_{arch}"]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )
        runs.append(
            run_of("a.cu", f"sm_{arch}", status=done.returncode, output=done.stderr + done.stdout)
        )
    (failure,) = group_failures(runs)
    assert len(failure.passes) == 2
    # On sm_100 ptxas has one line more to say of wgmma; what both say stands once.
    assert failure.diagnostics[0].passes == failure.passes
    assert len({told.text for told in failure.diagnostics}) == len(failure.diagnostics) <= 2


@pytest.mark.parametrize("piece", ["x", " ", "/a.ptx", "  |", ":1", "error ", "\n ^"])
def test_lines_without_an_end_are_borne(piece: str) -> None:
    """Names of templates go on for thousands of letters; each pattern reads them once."""
    output = piece * (200_000 // len(piece))
    (failure,) = group_failures([run_of("a.cu", status=1, output=output)])
    assert failure.explanation is None
