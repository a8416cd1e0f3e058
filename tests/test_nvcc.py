"""What an nvcc says of itself, from captured text and from the real one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import Arch
from archbuild.model.version import CudaVersion
from archbuild.probe.nvcc import (
    Location,
    dryrun_command,
    locate_by_files,
    parse_archs,
    parse_dryrun,
    parse_version,
    question_env,
)
from archbuild.probe.places import Places
from archbuild.probe.process import run_limited
from archbuild.probe.toolkits import find_toolkits
from tests.fakes import write_script

HELP = """\
Usage  : nvcc [options] <inputfile>

--gpu-architecture <arch>                           (-arch)
        For example, 'nvcc --gpu-architecture=sm_100' is equivalent to more.
        Allowed values for this option:  'all','all-major','compute_100','compute_100a',
        'compute_100f','compute_90','lto_90','native','sm_100','sm_100a','sm_100f','sm_90'.

--gpu-code <code>,...                               (-code)
        For instance, '--gpu-architecture=compute_61' is not compatible with more.
        Allowed values for this option:  'compute_90','sm_90','sm_90a'.

--generate-code <specification>,...                 (-gencode)
        Allowed values for this option:  'sm_35'.
"""


def names(archs: tuple[Arch, ...]) -> list[str]:
    return [str(arch) for arch in archs]


def test_only_the_allowed_values_of_two_options_count_in_numeric_order() -> None:
    assert names(parse_archs(HELP)) == [
        "sm_90",
        "sm_90a",
        "compute_90",
        "sm_100",
        "sm_100f",
        "sm_100a",
        "compute_100",
        "compute_100f",
        "compute_100a",
    ]


def test_names_of_a_future_kind_are_passed_by() -> None:
    text = HELP.replace("'sm_90a'", "'sm_90z','sm_1000','sm_0','sm_075','sm_200'")
    assert "sm_200" in names(parse_archs(text))
    assert not {"sm_90z", "sm_1000", "sm_0", "sm_075"} & set(names(parse_archs(text)))


@pytest.mark.parametrize("text", ["", "garbage", "--gpu-code\n", "--gpu-code\nAllowed values: 'x'"])
def test_no_help_names_nothing(text: str) -> None:
    assert parse_archs(text) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cuda compilation tools, release 13.0, V13.0.88\n", (CudaVersion(13, 0), "13.0.88")),
        ("x\nCuda compilation tools, release 9.1, V9.1.85", (CudaVersion(9, 1), "9.1.85")),
        ("release 13, V13", None),
        ("prerelease 13.0, V13.0.88", None),
        ("", None),
    ],
)
def test_the_version(text: str, expected: tuple[CudaVersion, str] | None) -> None:
    assert parse_version(text) == expected


def test_top_is_the_root_and_here_has_the_program(tmp_path: Path) -> None:
    nvcc = write_script(tmp_path / "cuda" / "bin" / "nvcc", "")
    text = f"#$ _SPACE_= \n#$ _HERE_={nvcc.parent}\n#$ TOP={nvcc.parent}/..\n#$ PATH=/x\n"
    assert parse_dryrun("/usr/bin/nvcc", text) == Location(str(tmp_path / "cuda"), str(nvcc))


def test_a_program_that_is_not_where_it_says_is_called_as_it_was() -> None:
    text = "#$ _HERE_=/no/such/bin\n#$ TOP=/no/such\n"
    assert parse_dryrun("/usr/bin/nvcc", text) == Location("/no/such", "/usr/bin/nvcc")


@pytest.mark.parametrize("text", ["", "#$ TOP=/x\n", "TOP=/x\n_HERE_=/x/bin\n"])
def test_a_dryrun_that_tells_nothing(text: str) -> None:
    assert parse_dryrun("nvcc", text) is None


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    parse_version(text)
    parse_archs(f"--gpu-code {text}")
    parse_archs(text)


@given(st.text(st.sampled_from("#$ TOP_HERE=/x.\n"), max_size=60))
def test_no_dryrun_is_too_odd(text: str) -> None:
    parse_dryrun("nvcc", text)


def test_the_variables_that_reach_every_nvcc_are_kept_from_it() -> None:
    env = {"NVCC_PREPEND_FLAGS": "-g", "NVCC_APPEND_FLAGS": "-G", "NVCC_CCBIN": "g++", "A": "b"}
    assert question_env(env) == {"NVCC_CCBIN": "g++", "A": "b"}


def test_a_script_beside_a_profile_is_not_the_program(tmp_path: Path) -> None:
    nvcc = write_script(tmp_path / "bin" / "nvcc", "")
    assert locate_by_files(nvcc) is None
    (tmp_path / "bin" / "nvcc.profile").touch()
    assert locate_by_files(nvcc) is None
    nvcc.write_bytes(b"\x7fELF\x02")
    assert locate_by_files(nvcc) == Location(str(tmp_path), str(nvcc))
    nvcc.unlink()
    assert locate_by_files(nvcc) is None


def test_links_round_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "nvcc").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "nvcc")
    assert locate_by_files(tmp_path / "nvcc") is None


def ask(*command: str) -> str:
    outcome = run_limited(command, timeout=60)
    return outcome.stdout + outcome.stderr


@pytest.mark.toolkit
def test_the_files_and_the_real_nvcc_agree_on_its_root(nvcc: Path) -> None:
    by_files = locate_by_files(nvcc)
    assert by_files is not None
    assert parse_dryrun(str(nvcc), ask(*dryrun_command(str(nvcc)))) == by_files
    assert by_files.root == str(nvcc.parent.parent.resolve())


@pytest.mark.toolkit
def test_the_real_nvcc_names_all_that_it_lists_and_suffixes(nvcc: Path) -> None:
    found = set(names(parse_archs(ask(str(nvcc), "--help"))))
    listed = {
        name for kind in ("code", "arch") for name in ask(str(nvcc), f"--list-gpu-{kind}").split()
    }
    assert listed <= found
    assert {name.rstrip("af") for name in found} == listed
    assert "sm_90a" in found


@pytest.mark.toolkit
@pytest.mark.skipif(os.name != "posix", reason="links and shell scripts")
@pytest.mark.parametrize(
    "kind", ["itself", "link", "link of the folder", "wrapper", "links of all"]
)
def test_every_way_to_the_real_nvcc_leads_to_one_root(
    nvcc: Path, kind: str, tmp_path: Path
) -> None:
    folder = tmp_path / "way" / "bin"
    folder.parent.mkdir()
    if kind == "itself":
        folder = nvcc.parent
    elif kind == "link of the folder":
        folder.symlink_to(nvcc.parent)
    elif kind == "wrapper":
        write_script(folder / "nvcc", f'exec {nvcc} "$@"')
    else:
        folder.mkdir()
        targets = [nvcc] if kind == "link" else nvcc.parent.iterdir()
        for target in targets:
            (folder / target.name).symlink_to(target)
    env = {"PATH": f"{folder}{os.pathsep}{os.defpath}"}
    places = Places(env, (), "linux", os.uname().machine, tmp_path)
    found, absences = find_toolkits(places=places, timeout=60)
    # A folder of links to every program is, to nvcc, a root of its own.
    root = nvcc.parent.parent if kind != "links of all" else folder.parent
    first = next(toolkit for toolkit in found if toolkit.root == str(root.resolve()))
    assert first.release
    assert (first.include == ()) == (kind == "links of all")
    assert (first.lib == ()) == (kind == "links of all")
    assert absences == ()
