"""Builds planned for Windows, on any system: command lines, response files, names."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.build.engine import Running, ask_for_passes, build
from archbuild.build.flavour import Flavour
from archbuild.build.folder import module_tag
from archbuild.build.msvc import MsvcFlags
from archbuild.build.ninja import _place, _quoted, find_ninja, write_ninja
from archbuild.build.plan import BuildRequest, CudaUnit, HostUnit, object_path, plan_build
from archbuild.build.platform import POSIX, WINDOWS, platform_of
from archbuild.build.response import response_text, shortened
from archbuild.build.run_pass import _escaped, _was_killed
from archbuild.build.torch_flags import CompileCall
from archbuild.cpp_extension.setuptools_compiler import compiler_words
from archbuild.model.build import BuildPlan, Edge, Resources, Step
from archbuild.model.config import LeanHeaders
from archbuild.rules.building.schedule import Schedule
from archbuild.rules.selecting.nvcc_flags import parse_nvcc_flags
from tests.machines import toolkit

VC = r"C:\Program Files\VC\bin\Hostx64\x64"
CL = rf"{VC}\cl.exe"
NVCC = r"C:\CUDA\v13.0\bin\nvcc.exe"
GENCODES = (
    "-gencode=arch=compute_80,code=sm_80",
    "-gencode=arch=compute_90a,code=sm_90a",
    "-gencode=arch=compute_120,code=sm_120",
    "-gencode=arch=compute_120,code=compute_120",
)
FLAVOUR = Flavour(
    ("cl",),
    "c++20",
    ("-D__CUDA_NO_HALF_OPERATORS__", "--expt-relaxed-constexpr"),
    platform=WINDOWS,
    msvc=MsvcFlags(("/MD", "/wd4819", "/EHsc"), ("field_without_dll_interface",)),
)


def compiler(**fields: object) -> SimpleNamespace:
    """setuptools' compiler for Microsoft's tools, as it is before it has looked for them."""
    found = SimpleNamespace(compiler_type="msvc", initialized=False, **fields)

    def initialize() -> None:
        found.initialized, found.cc = True, CL
        found.compile_options = ["/nologo", "/O2", "/W3", "/GL", "/DNDEBUG", "/MD"]
        found.compile_options_debug = ["/nologo", "/Od", "/MDd", "/Zi", "/W3", "/D_DEBUG"]

    found.initialize = initialize
    return found


def call(*, debug: bool = False, **fields: object) -> CompileCall:
    words = {
        "sources": (r"csrc\a.cpp", r"csrc\a.cu"),
        "macros": (("TORCH_EXTENSION_NAME", "_C"), ("VERSION", '"1.0"')),
        "include_dirs": (r"C:\Program Files\torch\include",),
        "debug": debug,
        "args": {"cxx": ("/openmp",), "nvcc": ("-O3", *GENCODES)},
        "compiler": compiler_words(compiler(), debug=debug),
    }
    return CompileCall(**{**words, **fields})  # type: ignore[arg-type]


def planned(asked: CompileCall, flavour: Flavour = FLAVOUR, **fields: object) -> BuildPlan:
    request = BuildRequest(
        name="pkg._C",
        root=r"D:\my project",
        folder="build/archbuild/pkg._C-cp311-win_amd64",
        nvcc=NVCC,
        units=tuple(
            flavour.unit(source, asked, is_cuda=source.endswith(".cu")) for source in asked.sources
        ),
        device_link=flavour.device_link(asked),
        platform=WINDOWS,
    )
    request = replace(request, **fields)  # type: ignore[arg-type]
    assert ask_for_passes(request, {}) == {}  # nvcc is not asked: there is none
    return plan_build(request, {})


def command(plan: BuildPlan, step: Step) -> tuple[str, ...]:
    (edge,) = (edge for edge in plan.edges if edge.step is step)
    (words,) = edge.commands
    return words


# --- what is called ---------------------------------------------------------------------------

OBJ = "build/archbuild/pkg._C-cp311-win_amd64/obj/csrc"


def test_the_line_of_cl() -> None:
    plan = planned(call())
    assert command(plan, Step.COMPILE) == (
        CL,
        *("/nologo", "/O2", "/W3", "/GL", "/DNDEBUG", "/MD"),
        *("-DTORCH_EXTENSION_NAME=_C", '-DVERSION="1.0"', r"-IC:\Program Files\torch\include"),
        *("/MD", "/wd4819", "/EHsc"),
        *("/sourceDependencies", f"{OBJ}/a.cpp.obj.json"),
        *("/c", r"/Tpcsrc\a.cpp", f"/Fo{OBJ}/a.cpp.obj"),
        *("/openmp", "/std:c++20"),
    )
    edge = plan.edges[0]
    assert (edge.depfile, edge.listing) == (f"{OBJ}/a.cpp.obj.d", f"{OBJ}/a.cpp.obj.json")


def test_the_line_of_nvcc() -> None:
    plan = planned(call())
    assert command(plan, Step.NVCC) == (
        NVCC,
        *("-DTORCH_EXTENSION_NAME=_C", '-DVERSION="1.0"', r"-IC:\Program Files\torch\include"),
        *("-D__CUDA_NO_HALF_OPERATORS__", "--expt-relaxed-constexpr"),
        *("--use-local-env", "-ccbin", VC),
        *("-Xcompiler", "/MD", "-Xcompiler", "/wd4819", "-Xcompiler", "/EHsc"),
        *("-Xcudafe", "--diag_suppress=field_without_dll_interface"),
        *("-O3", *GENCODES, "-std=c++20"),
        *("-MD", "-MF", f"{OBJ}/a.cu.obj.d", "-c", r"csrc\a.cu", "-o", f"{OBJ}/a.cu.obj"),
    )
    assert plan.edges[1].threads == 3  # as many as there are virtual architectures


def test_the_line_of_the_device_link() -> None:
    args = {"cxx": (), "nvcc": (), "nvcc_dlink": ("-dlink", GENCODES[0])}
    plan = planned(call(args=args))
    made = "build/archbuild/pkg._C-cp311-win_amd64/device-link.obj"
    assert command(plan, Step.DEVICE_LINK) == (
        NVCC,
        *("-D__CUDA_NO_HALF_OPERATORS__", "--expt-relaxed-constexpr"),
        *("--use-local-env", "-ccbin", VC),
        *("-Xcompiler", "/MD", "-Xcompiler", "/wd4819", "-Xcompiler", "/EHsc"),
        *("-Xcudafe", "--diag_suppress=field_without_dll_interface"),
        *("-dlink", GENCODES[0]),
        *(f"{OBJ}/a.cpp.obj", f"{OBJ}/a.cu.obj", "-o", made),
    )
    assert plan.objects == (f"{OBJ}/a.cpp.obj", f"{OBJ}/a.cu.obj", made)


def test_images_stand_in_the_order_of_the_gencodes() -> None:
    words = command(planned(call()), Step.NVCC)
    images = [str(gencode.target) for gencode in parse_nvcc_flags(words[1:]).gencodes]
    assert images == ["sm_80", "sm_90a", "sm_120", "compute_120"]


@pytest.mark.parametrize("debug", [False, True])
def test_no_flag_of_posix_reaches_cl(debug: bool) -> None:
    plan = planned(call(debug=debug))
    words = command(plan, Step.COMPILE)
    assert not {"-fPIC", "-MD", "-MF", "-MT", "-o", "-c", "-g"} & set(words)
    assert not [word for word in words if word.startswith(("-std", "--"))]
    assert not [word for word in command(plan, Step.NVCC) if "fPIC" in word]


def test_the_flags_of_posix_are_as_they_were() -> None:
    fields = {"compiler": ("g++", "-fPIC"), "args": {"cxx": ("-O1",), "nvcc": ("-O3",)}}
    asked = call(sources=("a.cpp", "a.cu"), **fields)
    posix = Flavour(("g++",), "c++20", FLAVOUR.nvcc)
    host, cuda = (posix.unit(s, asked, is_cuda=s.endswith(".cu")) for s in asked.sources)
    assert isinstance(host, HostUnit) and isinstance(cuda, CudaUnit)  # noqa: PT018
    assert host.command[:2] == ("g++", "-fPIC")
    assert not [word for word in (*host.command, *host.after, *cuda.flags) if word[0] == "/"]


@pytest.mark.parametrize(
    ("own", "named"),
    [
        (("/std:c++17",), ["/std:c++17"]),
        (("-std:c++latest",), ["-std:c++latest"]),
        ((), ["/std:c++20"]),
    ],
)
def test_an_extensions_own_standard_stands(own: tuple[str, ...], named: list[str]) -> None:
    plan = planned(call(args={"cxx": own, "nvcc": ()}))
    words = command(plan, Step.COMPILE)
    assert [word for word in words if word[1:].startswith("std:")] == named


def test_an_extensions_own_host_compiler_stands() -> None:
    plan = planned(call(args={"cxx": (), "nvcc": ("-ccbin", r"D:\other", *GENCODES)}))
    words = command(plan, Step.NVCC)
    assert [words[i + 1] for i, word in enumerate(words) if word == "-ccbin"] == [r"D:\other"]


def test_c_is_compiled_as_c() -> None:
    asked = call(sources=("a.c",), args={"cxx": ("/std:c++17", "/O1"), "nvcc": ()})
    words = command(planned(asked), Step.COMPILE)
    assert "/Tca.c" in words
    assert not [word for word in words if "std:" in word]
    assert words[-1] == "/O1"


def test_parallel_debug_builds_share_no_database() -> None:
    plan = planned(call(debug=True))
    words = command(plan, Step.COMPILE)
    assert "/Z7" in words
    assert "/Zi" not in words
    assert "/FS" in command(plan, Step.NVCC)


def test_a_launcher_stands_before_both() -> None:
    plan = planned(call(), launcher=("sccache.exe",))
    assert command(plan, Step.COMPILE)[:2] == ("sccache.exe", CL)
    assert command(plan, Step.NVCC)[:2] == ("sccache.exe", NVCC)
    assert plan.cached
    assert not planned(call()).cached  # called as a whole, but by no cache


# --- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (r"csrc\a.cu", "csrc/a.cu"),
        ("csrc/a.cu", "csrc/a.cu"),
        (r"..\x y\ä.cu", "__up/x y/ä.cu"),
        (r"D:\my project\csrc\a.cu", "csrc/a.cu"),
        (r"d:\MY PROJECT\csrc\a.cu", "csrc/a.cu"),
        (r"C:\lib\a.cu", "__outside/C/lib/a.cu"),
        (r"E:\lib\a.cu", "__outside/E/lib/a.cu"),
        (r"\\server\share\a.cu", "__outside/server/share/a.cu"),
    ],
)
def test_where_an_object_lies(source: str, wanted: str) -> None:
    assert object_path("b", r"D:\my project", source, WINDOWS) == f"b/obj/{wanted}.obj"


def test_the_folder_of_a_plan_is_a_path_of_windows() -> None:
    plan = planned(call())
    assert plan.folder == r"D:\my project\build\archbuild\pkg._C-cp311-win_amd64"


@pytest.mark.parametrize(
    ("platform", "variables", "wanted"),
    [
        (WINDOWS, {"EXT_SUFFIX": ".cp311-win_amd64.pyd"}, "cp311-win_amd64"),
        (WINDOWS, {"EXT_SUFFIX": ".pyd", "SOABI": "cp314-win_arm64"}, "cp314-win_arm64"),
        (POSIX, {"EXT_SUFFIX": ".x.so", "SOABI": "cpython-311-x86_64-linux-gnu"}, "cpython-311"),
    ],
)
def test_a_folder_names_python_and_system(
    platform: object, variables: dict[str, str], wanted: str
) -> None:
    assert module_tag(platform, variables).startswith(wanted)  # type: ignore[arg-type]
    assert module_tag(platform, {"EXT_SUFFIX": ".pyd"})  # type: ignore[arg-type]


def test_the_names_of_systems() -> None:
    assert (platform_of("nt"), platform_of("posix")) == (WINDOWS, POSIX)


@pytest.mark.parametrize(
    ("platform", "text", "words"),
    [
        (WINDOWS, r'"C:\Program Files\x.exe" nvcc', (r"C:\Program Files\x.exe", "nvcc")),
        (WINDOWS, r"C:\new\o'x.exe # -a", (r"C:\new\o'x.exe", "#", "-a")),
        (POSIX, r"'a b' c\ d # e", ("a b", "c d", "#", "e")),
        (WINDOWS, "", ()),
    ],
)
def test_a_command_in_a_variable(platform: object, text: str, words: tuple[str, ...]) -> None:
    assert platform.split_words(text) == words  # type: ignore[attr-defined]


# --- response files ---------------------------------------------------------------------------


def taken_apart(text: str) -> Iterator[str]:
    """A command line by the rules of CommandLineToArgvW, for words after the program's."""
    word, quoted, started, index = "", False, False, 0
    while index < len(text):
        count = 0
        while text[index + count : index + count + 1] == "\\":
            count += 1
        if count:
            index += count
            before_quote = text[index : index + 1] == '"'
            word += "\\" * (count // 2 if before_quote else count)
            started = True
            if before_quote and count % 2:
                word += '"'
                index += 1
            continue
        letter = text[index]
        index += 1
        if letter == '"':
            quoted, started = not quoted, True
        elif letter in " \t\n" and not quoted:
            if started:
                yield word
            word, started = "", False
        else:
            word, started = word + letter, True
    if started:
        yield word


WORDS = st.lists(
    st.text(st.one_of(st.sampled_from('\\" \t/:-äß日😀'), st.characters(exclude_categories=["C"])))
)


@given(WORDS)
def test_every_word_comes_back_out_of_a_response_file(words: list[str]) -> None:
    assert list(taken_apart(response_text(words))) == words


@given(WORDS)
def test_what_ninja_is_told_comes_back(words: list[str]) -> None:
    line = " ".join(_quoted(word, "nt") for word in words)
    assert list(taken_apart(line)) == words


LONG = tuple(rf"C:\Program Files\ünï {index}\日本" + "\\" for index in range(1500))


def test_a_long_line_of_cl_goes_into_a_file() -> None:
    (short,), (long,) = (
        [edge for edge in planned(call(include_dirs=dirs)).edges if edge.step is Step.COMPILE]
        for dirs in (LONG[:1], LONG)
    )
    assert short.responses == ()
    (response,) = long.responses
    assert long.commands == ((CL, f"@{OBJ}/a.cpp.obj.rsp"),)
    assert (response.file, response.encoding) == (f"{OBJ}/a.cpp.obj.rsp", "utf-16")
    words = list(taken_apart(response.text))
    assert [word[2:] for word in words if word.startswith("-I")] == list(LONG)
    assert words[-1] == "/std:c++20"


def test_the_folders_of_a_long_line_of_nvcc_go_into_a_file() -> None:
    args = {"cxx": (), "nvcc": ("-Xcompiler", "-Ihost", *GENCODES)}
    plan = planned(call(include_dirs=LONG, args=args), launcher=("ccache",))
    (edge,) = (edge for edge in plan.edges if edge.step is Step.NVCC)
    (response,) = edge.responses
    words = command(plan, Step.NVCC)
    assert words[:4] == ("ccache", NVCC, "--options-file", f"{OBJ}/a.cu.obj.rsp")
    assert {'-DVERSION="1.0"', "-Ihost", *GENCODES} <= set(words)
    assert words[-4:] == ("-c", r"csrc\a.cu", "-o", f"{OBJ}/a.cu.obj")
    assert response.encoding == "utf-8"
    told = [f"-I{folder}".replace("\\", "/") for folder in LONG]
    assert list(taken_apart(response.text)) == told


def test_a_thousand_objects_are_linked_by_a_file() -> None:
    sources = tuple(rf"csrc\some_long_name_of_a_kernel_{index}.cu" for index in range(1000))
    args = {"cxx": (), "nvcc": (), "nvcc_dlink": ("-dlink",)}
    plan = planned(call(sources=sources, args=args))
    (response,) = plan.edges[-1].responses
    assert list(taken_apart(response.text)) == list(plan.objects[:-1])
    words = command(plan, Step.DEVICE_LINK)
    assert words[1] == "--options-file"
    assert words[-3:] == ("-dlink", "-o", plan.objects[-1])


@pytest.mark.parametrize(("program", "limit"), [("nvcc.exe", 32767), ("NVCC.BAT", 8191)])
def test_how_long_a_line_may_be(program: str, limit: int) -> None:
    def edge(length: int) -> Edge:
        words = (program, "x" * (length - len(program) - 1))
        return Edge(Step.NVCC, ("a.obj",), (), (words,), "a")

    assert shortened(edge(limit - 65), 1).responses == ()
    assert shortened(edge(limit - 64), 1).responses != ()


@pytest.mark.toolkit
def test_nvcc_reads_its_file_as_it_reads_its_words(tmp_path: Path, nvcc: Path) -> None:
    (tmp_path / "k.cu").write_text("int main() {}\n")
    folders = tuple(f"-IC:/Program Files/ünï {index}/" for index in range(1500))
    words = (*folders, '-DVERSION="1.0"', "-c", "k.cu", "-o", "a folder/k.o")
    edge = shortened(Edge(Step.NVCC, ("k.o",), ("k.cu",), (("nvcc", *words),), "k", "k.cu"), 1)
    (response,) = edge.responses
    (tmp_path / response.file).write_text(response.text, encoding=response.encoding)
    by_words, by_file = (
        subprocess.run(
            [nvcc, "--dryrun", "--keep", *given],
            cwd=tmp_path,
            capture_output=True,
            check=True,
            text=True,
        ).stderr
        for given in (words, edge.commands[0][1:])
    )
    assert "Program Files" in by_words
    assert by_file == by_words


# --- the runner and ninja ---------------------------------------------------------------------

FAKE_CL = """
import json, pathlib, sys
words = sys.argv[1:]
if words[0].startswith("@"):
    words = pathlib.Path(words[0][1:]).read_text("utf-16").split("\\n")[:-1]
    words = [word.strip('"') for word in words]
made = next(word[3:] for word in words if word.startswith("/Fo"))
source = pathlib.Path(next(word[3:] for word in words if word.startswith("/Tp")))
listing = words[words.index("/sourceDependencies") + 1]
header = source.parent.resolve() / "a header.h"
print(source.name)
pathlib.Path(made).write_text(source.read_text() + header.read_text())
if "/old" not in words:
    told = {"Version": "1.2", "Data": {"Source": str(source), "Includes": [str(header)]}}
    pathlib.Path(listing).write_text(json.dumps(told), encoding="utf-8")
"""


def windows_build(root: Path, *flags: str) -> BuildPlan:
    """A plan for Windows that can run here, with a program of Python in cl's place."""
    (root / "ü x").mkdir(exist_ok=True)
    (root / "fake_cl.py").write_text(FAKE_CL, encoding="utf-8")
    (root / "ü x" / "a.cpp").write_text("source", encoding="utf-8")
    (root / "ü x" / "a header.h").write_text("1", encoding="utf-8")
    unit = HostUnit("ü x/a.cpp", ("fake_cl.py", *flags))
    request = BuildRequest(
        *("x", str(root), "b", NVCC, (unit,)), launcher=(sys.executable,), platform=WINDOWS
    )
    return replace(plan_build(request, {}), folder=str(root / "b"))


@pytest.mark.parametrize("flags", [(), tuple(f"-Dlong{i:040}" for i in range(1000))])
def test_a_change_of_a_header_compiles_again(tmp_path: Path, flags: tuple[str, ...]) -> None:
    plan, running = windows_build(tmp_path, *flags), Running(Resources(1, 1 << 40))
    assert bool(plan.edges[0].responses) is bool(flags)
    done = build(plan, running)
    assert [run.status for run in done.runs] == [0]
    assert build(plan, running).runs == ()
    (tmp_path / "ü x" / "a header.h").write_text("22", encoding="utf-8")
    assert len(build(plan, running).runs) == 1
    assert (tmp_path / plan.objects[0]).read_text() == "source22"


def test_a_cl_that_lists_no_headers_fails(tmp_path: Path) -> None:
    running = Running(Resources(1, 1 << 40))
    assert not build(windows_build(tmp_path), running).failed
    done = build(windows_build(tmp_path, "/old"), running)
    (run,) = done.failed
    assert "no list of headers" in run.output
    assert not (tmp_path / done.plan.objects[0]).exists()


def test_paths_in_a_depfile() -> None:
    assert _escaped(r"c:\program files\a#1$.h") == r"c:/program\ files/a\#1$$.h"


def test_a_compiler_without_memory_is_tried_again() -> None:
    assert _was_killed(2, b"a.cpp: fatal error C1060: compiler is out of heap space")
    assert not _was_killed(2, b"a.cpp(1): error C2065: 'x': undeclared identifier")


def test_ninja_understands_paths_of_windows(tmp_path: Path) -> None:
    plan = planned(call(), tools=(CL,))
    file = write_ninja(plan.edges, tmp_path, tmp_path, Schedule(1, None, 1, 1))
    told = [find_ninja(), "-f", str(file), "-t"]
    for obj, inputs in ((plan.objects[0], {CL}), (plan.objects[1], {CL, NVCC})):
        words = [*told, "query", obj]
        said = subprocess.run(words, capture_output=True, check=True, text=True).stdout
        assert inputs <= {line.strip().removeprefix("| ") for line in said.splitlines()}, said


def test_a_build_folder_on_another_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    def relpath(path: object, start: object) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr("os.path.relpath", relpath)
    assert _place(Path("/d/b"), Path("/c")) == "/d/b"


# --- setuptools -------------------------------------------------------------------------------


def test_cl_is_setuptools_own() -> None:
    found = compiler()
    assert compiler_words(found, debug=False)[:2] == (CL, "/nologo")
    found.initialize = None  # not a second time: setuptools would refuse it
    assert "/Zi" in compiler_words(found, debug=True)


def test_another_compiler_says_it_as_ever() -> None:
    unix = SimpleNamespace(compiler_type="unix", compiler_so=["gcc", "-fPIC"])
    assert compiler_words(unix, debug=False) == ("gcc", "-fPIC")


class Msvc(SimpleNamespace):
    """A compiler whose class learns of the folders of headers, as setuptools' does."""

    include_dirs: ClassVar[list[str]] = []


def compiling(found: object) -> Any:
    pytest.importorskip("setuptools")
    from archbuild.cpp_extension.compiling import Compiling, Setting

    sources = SimpleNamespace(flags_of=lambda _, flags: flags)
    extension = SimpleNamespace(name="pkg._C", lean=LeanHeaders.OFF, sources=sources)
    setting = Setting(toolkit("13.0"), Path("/p"), Running(Resources(1, 1)), FLAVOUR)
    return Compiling(extension, "b", setting, found)  # type: ignore[arg-type]


def test_the_request_of_an_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_NVCC", r'sccache "C:\CUDA 13\nvcc.exe"')
    mine = compiling(compiler())
    request = mine._request(call())
    assert request.platform is WINDOWS
    assert request.named_nvcc == ("sccache", r"C:\CUDA 13\nvcc.exe")
    assert [type(unit) for unit in request.units] == [HostUnit, CudaUnit]
    assert request.units[1].flags == mine.flags != ()


def test_the_folders_that_setuptools_finds_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds them as it looks for cl: nobody may ask for them before."""
    monkeypatch.setattr(Msvc, "include_dirs", [])
    found = Msvc(**vars(compiler(macros=[("M", None)])))
    own = found.initialize

    def initialize() -> None:
        own()
        found.cc, found.compile_options, found.initialized = CL, ["/O2"], True
        Msvc.include_dirs = [r"C:\VC\include"]

    found.initialize = initialize
    vars(found)["include_dirs"] = ["mine"]
    asked: list[CompileCall] = []

    class Asked(Exception):  # noqa: N818
        pass

    def build_none(one: CompileCall) -> None:
        asked.append(one)
        raise Asked

    mine = compiling(found)
    monkeypatch.setattr(mine, "_build", build_none)
    with pytest.raises(Asked):
        mine.compile(["a.cpp"], include_dirs=["", "i"], extra_postargs={"cxx": ["/O1"]})
    assert asked[0].include_dirs == ("i", "mine", r"C:\VC\include")
    assert asked[0].compiler == (CL, "/O2")
