"""Finding toolkits: every place, every way in which one can be broken, and the order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from archbuild.errors import ToolError, UsageError
from archbuild.model.arch import Arch
from archbuild.model.machine import Absence, Toolkit, TorchBuild
from archbuild.model.version import CudaVersion
from archbuild.probe.places import Places
from archbuild.probe.toolkits import find_toolkits, misfit, rank_toolkits
from tests.fake_nvcc import write_cuobjdump, write_nvcc, write_wrapper
from tests.fakes import write_script

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake nvcc is a shell script")

PATIENCE = 60.0
ARCHS = ("sm_75", "compute_75", "sm_80", "compute_80", "sm_90a", "compute_90a")


def surroundings(tmp_path: Path, *sys_path: Path, system: str = "linux", **env: object) -> Places:
    """A machine with nothing on it but what is below tmp_path."""
    environ = {"PATH": str(tmp_path / "nothing")} | {k: str(v) for k, v in env.items()}
    folders = tuple(map(str, sys_path))
    return Places(environ, folders, system, "x86_64", tmp_path / "local")


def torch(cuda: str | None) -> TorchBuild:
    return TorchBuild("2.14.1", "/torch", CudaVersion.parse(cuda) if cuda else None)


def find(
    places: Places,
    torch: TorchBuild | None = None,
    explicit: Path | None = None,
    timeout: float = PATIENCE,
) -> tuple[tuple[Toolkit, ...], dict[str, str]]:
    given = str(explicit) if explicit else None
    found, absences = find_toolkits(places=places, torch=torch, explicit=given, timeout=timeout)
    assert all(isinstance(absence, Absence) for absence in absences)
    return found, {absence.what: absence.reason for absence in absences}


def test_a_toolkit_whole(tmp_path: Path) -> None:
    root = tmp_path / "cuda"
    nvcc = write_nvcc(root / "bin" / "nvcc")
    write_cuobjdump(root / "bin" / "cuobjdump")
    (root / "include" / "cccl").mkdir(parents=True)
    (root / "include" / "cuda_runtime.h").touch()
    (root / "lib64").mkdir()
    (root / "lib64" / "libcudart.so").touch()
    found, reasons = find(surroundings(tmp_path, CUDA_HOME=root))
    assert found == (
        Toolkit(
            root=str(root),
            nvcc=str(nvcc),
            version=CudaVersion(13, 0),
            release="13.0.88",
            archs=tuple(map(Arch.parse, ARCHS)),
            found_by=("CUDA_HOME",),
            cuobjdump=str(root / "bin" / "cuobjdump"),
            include=(str(root / "include"), str(root / "include" / "cccl")),
            lib=(str(root / "lib64"),),
        ),
    )
    assert reasons == {}


def test_nothing_says_where_it_looked_and_the_cure(tmp_path: Path) -> None:
    found, reasons = find(surroundings(tmp_path), torch("13.0"))
    assert found == ()
    for piece in (
        "CUDA_HOME (not set)",
        "CONDA_PREFIX not set",
        "PATH",
        "cuda*",
        "archbuild[cu130]",
    ):
        assert piece in reasons["toolkit"]


def test_for_a_torch_of_cuda_12_there_is_no_package(tmp_path: Path) -> None:
    _, reasons = find(surroundings(tmp_path), torch("12.8"))
    assert "no package brings an nvcc for CUDA 12" in reasons["toolkit"]
    assert "conda" in reasons["toolkit"]


@pytest.mark.parametrize("folder", ["site-packages", "target"])
def test_the_packages_of_this_environment(tmp_path: Path, folder: str) -> None:
    packages = tmp_path / folder
    write_nvcc(packages / "nvidia" / "cu13" / "bin" / "nvcc", "13.5")
    write_nvcc(packages / "nvidia" / "cu9" / "bin" / "nvcc", "9.0")
    (packages / "nvidia" / "cudnn").mkdir()
    found, _ = find(surroundings(tmp_path, Path(), tmp_path / "missing", packages))
    assert [(t.root, t.found_by) for t in found] == [
        (str(packages / "nvidia" / "cu13"), ("environment",)),
        (str(packages / "nvidia" / "cu9"), ("environment",)),
    ]


def test_conda_with_its_targets_folder(tmp_path: Path) -> None:
    prefix = tmp_path / "conda"
    write_nvcc(prefix / "bin" / "nvcc", "12.9")
    target = prefix / "targets" / "x86_64-linux"
    other = prefix / "targets" / "sbsa-linux"
    for folder in (target, other):
        (folder / "include").mkdir(parents=True)
        (folder / "include" / "cuda_runtime.h").touch()
        (folder / "lib").mkdir()
        (folder / "lib" / "libcudart.so").touch()
    found, _ = find(surroundings(tmp_path, CONDA_PREFIX=prefix))
    assert found[0].found_by == ("conda",)
    assert found[0].include == (str(target / "include"),)
    assert found[0].lib == (str(target / "lib"),)


def test_every_nvcc_on_path_counts(tmp_path: Path) -> None:
    for name, version in (("a", "12.4"), ("b", "13.0")):
        write_nvcc(tmp_path / name / "bin" / "nvcc", version)
    path = f"{tmp_path}/a/bin{os.pathsep}{os.pathsep}{tmp_path}/b/bin"
    found, _ = find(surroundings(tmp_path, PATH=path), torch("13.0"))
    assert [str(t.version) for t in found] == ["13.0", "12.4"]


def test_usr_local_by_the_links_choice_then_by_number(tmp_path: Path) -> None:
    for version in ("13.0", "12.9", "12.10"):
        write_nvcc(tmp_path / "local" / f"cuda-{version}" / "bin" / "nvcc", version)
    (tmp_path / "local" / "cuda").symlink_to("cuda-12.9")
    found, _ = find(surroundings(tmp_path))
    assert [str(t.version) for t in found] == ["12.9", "13.0", "12.10"]
    assert found[0].root == str(tmp_path / "local" / "cuda-12.9")


def test_program_files_on_windows(tmp_path: Path) -> None:
    base = tmp_path / "Programs" / "NVIDIA GPU Computing Toolkit" / "CUDA"
    for version in ("v12.9", "v13.0"):
        write_nvcc(base / version / "bin" / "nvcc.exe", version[1:])
    (base / "v13.0" / "lib" / "x64").mkdir(parents=True)
    (base / "v13.0" / "lib" / "x64" / "cudart.lib").touch()
    places = surroundings(tmp_path, system="win32", ProgramFiles=tmp_path / "Programs")
    found, _ = find(places)
    assert [t.root for t in found] == [str(base / "v13.0"), str(base / "v12.9")]
    assert found[0].found_by == ("Program Files",)
    assert found[0].lib == (str(base / "v13.0" / "lib" / "x64"),)


def test_a_wrapper_gives_the_true_root(tmp_path: Path) -> None:
    nvcc = write_nvcc(tmp_path / "local" / "cuda-13.0" / "bin" / "nvcc")
    write_wrapper(tmp_path / "local" / "bin" / "nvcc", nvcc)
    found, reasons = find(surroundings(tmp_path, PATH=tmp_path / "local" / "bin"))
    assert [(t.root, t.nvcc, t.found_by) for t in found] == [
        (str(tmp_path / "local" / "cuda-13.0"), str(nvcc), ("PATH", "/usr/local"))
    ]
    assert reasons == {}


def test_debians_nvcc_states_no_top(tmp_path: Path) -> None:
    lib = tmp_path / "usr" / "lib" / "nvidia-cuda-toolkit"
    nvcc = write_nvcc(lib / "bin" / "nvcc", "12.4")
    nvcc.write_text(nvcc.read_text().replace("#$ TOP=", "#$ NVVMIR_LIBRARY_DIR="))
    write_wrapper(tmp_path / "usr" / "bin" / "nvcc", nvcc)
    found, _ = find(surroundings(tmp_path, PATH=tmp_path / "usr" / "bin"))
    assert [(t.root, t.nvcc) for t in found] == [(str(lib), str(nvcc))]
    assert (found[0].include, found[0].lib) == ((), ())


def test_all_that_led_to_one_toolkit_the_strongest_first(tmp_path: Path) -> None:
    root = tmp_path / "local" / "cuda-13.0"
    write_nvcc(root / "bin" / "nvcc")
    (tmp_path / "link").symlink_to(root)
    env = {"CUDA_HOME": tmp_path / "link", "CUDA_PATH": root, "PATH": tmp_path / "link" / "bin"}
    found, _ = find(surroundings(tmp_path, **env))
    assert [t.found_by for t in found] == [("CUDA_HOME", "CUDA_PATH", "PATH", "/usr/local")]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('exec /no/such/nvcc "$@"', "exit code 127"),
        ("echo Hello, world", "is no working nvcc: it says 'Hello, world'"),
        ("", "is no working nvcc: it says nothing"),
        ("printf '\\377\\376\\000'; exit 3", "exit code 3"),
        ("kill -SEGV $$", "was ended by SIGSEGV"),
    ],
)
def test_a_broken_nvcc_is_an_absence(tmp_path: Path, script: str, reason: str) -> None:
    nvcc = write_script(tmp_path / "broken" / "bin" / "nvcc", script)
    found, reasons = find(surroundings(tmp_path, CUDA_HOME=tmp_path / "broken"))
    assert found == ()
    assert reasons["CUDA_HOME"].startswith(str(nvcc))
    assert reason in reasons["CUDA_HOME"]
    assert "no nvcc that works" in reasons["toolkit"]


@pytest.mark.parametrize("option", ["--version", "--help"])
@pytest.mark.parametrize("instead", ["echo garbage", "exit 1"])
def test_an_nvcc_that_answers_only_in_part(tmp_path: Path, option: str, instead: str) -> None:
    nvcc = write_nvcc(tmp_path / "cuda" / "bin" / "nvcc")
    head, rest = nvcc.read_text().split("\n", 1)
    guard = f'if [ "$1" = {option} ]; then {instead}; exit; fi'
    nvcc.write_text(f"{head}\n{guard}\n{rest}")
    found, reasons = find(surroundings(tmp_path, CUDA_HOME=tmp_path / "cuda"))
    assert found == ()
    assert str(nvcc) in reasons["CUDA_HOME"]


def test_a_hang_ends_by_the_limit_and_hides_no_other(tmp_path: Path) -> None:
    write_script(tmp_path / "slow" / "bin" / "nvcc", "while :; do :; done")
    write_nvcc(tmp_path / "local" / "cuda" / "bin" / "nvcc")
    found, reasons = find(surroundings(tmp_path, CUDA_HOME=tmp_path / "slow"), timeout=2)
    assert [t.found_by for t in found] == [("/usr/local",)]
    assert "did not answer in time" in reasons["CUDA_HOME"]


def test_a_file_without_the_right_to_run(tmp_path: Path) -> None:
    write_nvcc(tmp_path / "cuda" / "bin" / "nvcc").chmod(0o644)
    _, reasons = find(surroundings(tmp_path, CUDA_HOME=tmp_path / "cuda"))
    assert "cannot be executed" in reasons["CUDA_HOME"]


def test_a_link_that_leads_nowhere_or_round(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for number, target in enumerate((tmp_path / "gone", tmp_path / "bin" / "nvcc")):
        (tmp_path / "bin" / "nvcc").unlink(missing_ok=True)
        (tmp_path / "bin" / "nvcc").symlink_to(target)
        found, reasons = find(surroundings(tmp_path, PATH=tmp_path / "bin"))
        assert (number, found) == (number, ())
        assert "cannot be executed" in reasons["PATH"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("{tmp}/gone", "CUDA_HOME={tmp}/gone does not exist"),
        ("{tmp}/a:{tmp}/b", "CUDA_HOME={tmp}/a:{tmp}/b holds several paths"),
        ("{tmp}/empty", "CUDA_HOME={tmp}/empty holds no bin/nvcc"),
        ("{tmp}/file", "CUDA_HOME={tmp}/file is a file, not the folder of a toolkit"),
    ],
)
def test_a_variable_that_leads_nowhere(tmp_path: Path, value: str, reason: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    write_nvcc(tmp_path / "local" / "cuda" / "bin" / "nvcc")
    places = surroundings(tmp_path, CUDA_HOME=value.format(tmp=tmp_path))
    found, reasons = find(places)
    assert [t.found_by for t in found] == [("/usr/local",)]
    assert reasons["CUDA_HOME"].startswith(reason.format(tmp=tmp_path))


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Access rights count for root as well."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder with a toolkit into which nobody may look."""
    write_nvcc(tmp_path / "closed" / "bin" / "nvcc")
    (tmp_path / "closed").chmod(0)
    yield tmp_path / "closed"
    (tmp_path / "closed").chmod(0o700)


@pytest.mark.usefixtures("closed", "unprivileged")
def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    env = {"CUDA_HOME": folder / "cuda", "CONDA_PREFIX": folder, "PATH": folder / "bin"}
    found, reasons = find(surroundings(tmp_path, folder, **env))
    assert found == ()
    assert reasons["CUDA_HOME"] == f"CUDA_HOME={folder}/cuda cannot be read: Permission denied"
    with pytest.raises(UsageError, match="Permission denied"):
        find(surroundings(tmp_path), explicit=folder / "cuda")


def test_a_variable_that_no_path_can_be(tmp_path: Path) -> None:
    _, reasons = find(surroundings(tmp_path, CUDA_HOME="x" * 10_000))
    assert reasons["CUDA_HOME"].endswith("cannot be read: File name too long")


@pytest.mark.parametrize("value", ["", "  "])
def test_a_blank_variable_is_as_none(tmp_path: Path, value: str) -> None:
    _, reasons = find(surroundings(tmp_path, CUDA_HOME=value, CUDA_PATH=value, CONDA_PREFIX=value))
    assert set(reasons) == {"toolkit"}


@pytest.mark.parametrize(
    ("below", "says"),
    [
        ("nvidia/cu13/bin", "is the toolkit's bin folder"),
        ("nvidia/cu13/bin/nvcc", "is the nvcc itself"),
        ("", "is a folder of packages"),
        ("nvidia", "is a folder of packages"),
    ],
)
def test_a_variable_that_means_a_toolkit_is_understood(
    tmp_path: Path, below: str, says: str
) -> None:
    root = tmp_path / "packages" / "nvidia" / "cu13"
    write_nvcc(root / "bin" / "nvcc")
    found, reasons = find(surroundings(tmp_path, CUDA_HOME=tmp_path / "packages" / below))
    assert [t.root for t in found] == [str(root)]
    assert says in reasons["CUDA_HOME"]
    assert reasons["CUDA_HOME"].endswith(str(root))


def test_an_explicit_toolkit_is_first_whatever_torch_is(tmp_path: Path) -> None:
    write_nvcc(tmp_path / "mine" / "bin" / "nvcc", "12.4")
    write_nvcc(tmp_path / "local" / "cuda" / "bin" / "nvcc", "13.0")
    found, reasons = find(surroundings(tmp_path), torch("13.0"), tmp_path / "mine")
    assert [t.found_by for t in found] == [("--toolkit",), ("/usr/local",)]
    assert reasons == {}


@pytest.mark.parametrize("name", ["gone", "empty", "a:b"])
def test_an_explicit_folder_without_a_toolkit_is_wrong_usage(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"--toolkit .*bin/nvcc") as error:
        find(surroundings(tmp_path), explicit=tmp_path / name)
    assert str(tmp_path / name) in str(error.value)


def test_an_explicit_nvcc_that_does_not_work_is_a_broken_tool(tmp_path: Path) -> None:
    nvcc = write_script(tmp_path / "mine" / "bin" / "nvcc", "echo garbage")
    write_nvcc(tmp_path / "local" / "cuda" / "bin" / "nvcc", "13.0")
    with pytest.raises(ToolError, match="is no working nvcc") as error:
        find(surroundings(tmp_path), explicit=tmp_path / "mine")
    assert str(nvcc) in str(error.value)


def test_flags_for_every_nvcc_do_not_reach_the_questions(tmp_path: Path) -> None:
    nvcc = write_nvcc(tmp_path / "cuda" / "bin" / "nvcc")
    guard = '[ -z "$NVCC_PREPEND_FLAGS$NVCC_APPEND_FLAGS" ] || exit 7\n'
    nvcc.write_text(nvcc.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{guard}"))
    flags = {"NVCC_PREPEND_FLAGS": "-arch=sm_90", "NVCC_APPEND_FLAGS": "--threads 2"}
    found, _ = find(surroundings(tmp_path, CUDA_HOME=tmp_path / "cuda", **flags))
    assert len(found) == 1


def test_this_environments_packages_win_among_equals_and_it_is_said(tmp_path: Path) -> None:
    write_nvcc(tmp_path / "site" / "nvidia" / "cu13" / "bin" / "nvcc", "13.0")
    write_nvcc(tmp_path / "home" / "bin" / "nvcc", "13.0")
    places = surroundings(tmp_path, tmp_path / "site", CUDA_HOME=tmp_path / "home")
    found, reasons = find(places, torch("13.0"))
    assert [t.found_by for t in found] == [("environment",), ("CUDA_HOME",)]
    says = reasons["CUDA_HOME"]
    assert says.startswith(f"CUDA_HOME={tmp_path / 'home'} (CUDA 13.0) is passed over for ")
    assert "this environment's packages" in says
    assert "--toolkit, or, for a build, uninstall nvidia-cuda-nvcc" in says


def test_a_better_match_with_torch_wins_over_the_environment(tmp_path: Path) -> None:
    write_nvcc(tmp_path / "site" / "nvidia" / "cu13" / "bin" / "nvcc", "13.5")
    write_nvcc(tmp_path / "home" / "bin" / "nvcc", "12.4")
    write_nvcc(tmp_path / "local" / "cuda" / "bin" / "nvcc", "13.0")
    places = surroundings(tmp_path, tmp_path / "site", CUDA_HOME=tmp_path / "home")
    found, reasons = find(places, torch("13.0"))
    assert [str(t.version) for t in found] == ["13.0", "13.5", "12.4"]
    assert "which fits torch 2.14.1" in reasons["CUDA_HOME"]


def toolkit(version: str, *found_by: str) -> Toolkit:
    return Toolkit(f"/{version}", "nvcc", CudaVersion.parse(version), version, (), found_by)


RANKS = [
    toolkit("12.9", "--toolkit"),
    toolkit("13.0", "environment"),
    toolkit("13.0", "CUDA_HOME"),
    toolkit("13.0", "CUDA_PATH"),
    toolkit("13.0", "conda"),
    toolkit("13.0", "PATH"),
    toolkit("13.0", "/usr/local"),
    toolkit("13.5", "environment"),
    toolkit("13.2", "CUDA_HOME"),
    toolkit("12.9", "environment"),
    toolkit("14.0", "CUDA_HOME"),
]


def test_the_whole_order_is_that_of_the_design() -> None:
    assert rank_toolkits(reversed(RANKS), CudaVersion(13, 0)) == tuple(RANKS)


def test_without_torch_only_the_source_decides() -> None:
    ranked = rank_toolkits([toolkit("13.0", "PATH"), toolkit("11.8", "CUDA_HOME")], None)
    assert [str(t.version) for t in ranked] == ["11.8", "13.0"]


def test_equals_stay_in_the_order_in_which_they_were_found() -> None:
    pair = [toolkit("13.0", "PATH"), toolkit("13.0", "PATH", "/usr/local")]
    assert rank_toolkits(pair, CudaVersion(13, 0)) == tuple(pair)


@pytest.mark.parametrize(
    ("version", "cuda", "expected"),
    [("13.0", "13.0", 0), ("13.0", None, 0), ("13.5", "13.0", 1), ("12.9", "13.0", 2)],
)
def test_misfit(version: str, cuda: str | None, expected: int) -> None:
    assert misfit(CudaVersion.parse(version), CudaVersion.parse(cuda) if cuda else None) == expected


def test_only_the_best_is_asked_where_no_other_can_outrank_it(tmp_path: Path) -> None:
    """A toolkit that a person named has to be taken or passed over aloud, so all are asked."""
    site = tmp_path / "site"
    packaged = write_nvcc(site / "nvidia" / "cu13" / "bin" / "nvcc")
    other = write_nvcc(tmp_path / "other" / "bin" / "nvcc")

    def found(cuda: str, **env: object) -> list[str]:
        places = surroundings(tmp_path, site, **{"PATH": other.parent, **env})
        toolkits, _ = find_toolkits(
            places=places, torch=torch(cuda), timeout=PATIENCE, only_best=True
        )
        return [toolkit.nvcc for toolkit in toolkits]

    assert found("13.0") == [str(packaged)]
    assert len(found("13.0", CUDA_HOME=tmp_path / "other")) == 2
    assert len(found("12.8")) == 2
