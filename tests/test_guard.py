"""The guard: what a person without archbuild reads, on machines that are faked."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from archbuild.binary.reader import read
from archbuild.facts.architectures import CAPABILITIES
from archbuild.model.arch import Arch
from archbuild.model.coverage import Destination, Outcome
from archbuild.model.image import DeviceFile, Image, ImageKind, Region
from archbuild.model.manifest import Manifest, SourceManifest
from archbuild.rules.checking.guard_table import GuardRow, guard_row, render_guard
from archbuild.rules.covering.coverage import cover_file
from tests.fakes import CRASH, MIXED, FakeDriver, FakeGpu
from tests.projects import Light

ROOT = Path(__file__).parents[1]
DATA = Path(__file__).parent / "data"
TEMPLATE = (ROOT / "archbuild" / "guard.py").read_text()
REBUILD = 'TORCH_CUDA_ARCH_LIST="{archs}" pip install it'


def row_of(name: str) -> GuardRow:
    (file,) = read(DATA / name, kernels=True)
    return guard_row(name, sorted(file.targets), file)


def package(folder: Path, *rows: GuardRow, body: str = "from . import _archbuild_guard") -> Path:
    """A package with a guard, and nothing else."""
    home = folder / "guarded"
    home.mkdir()
    (home / "__init__.py").write_text(body)
    (home / "_archbuild_guard.py").write_text(render_guard(TEMPLATE, rows, REBUILD))
    return folder


def ask(folder: Path, env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-S", *(words or ("-m", "guarded._archbuild_guard"))]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_table_says_what_the_rule_says() -> None:
    (file,) = read(DATA / "classic.so", kernels=True)
    row = row_of("classic.so")
    assert [capability for capability, _, _ in row.served] == [r.capability for r in CAPABILITIES]
    for capability, outcome, _ in row.served:
        expected = cover_file(file, Destination(capability)).outcomes
        assert Outcome(outcome) in expected
        assert (outcome == "no") == (Outcome.NO in expected)


def test_sources_meant_for_others_raise_no_alarm() -> None:
    """As verify has it: a region that no source meant for a GPU takes nothing from it."""
    regions = (
        Region((Image(ImageKind.SASS, Arch.parse("sm_75"), kernels=("a",)),), offset=0),
        Region((Image(ImageKind.SASS, Arch.parse("sm_86"), kernels=("b",)),), offset=1),
    )
    file = DeviceFile("_C.so", regions, "archbuild")
    everywhere = SourceManifest("a.cu", (Arch.parse("sm_75"),), meant_for="7.5")
    newer = SourceManifest("b.cu", (Arch.parse("sm_86"),), meant_for="8.0+")
    targets = (Arch.parse("sm_75"), Arch.parse("sm_86"))
    manifest = Manifest(
        *("_C.so", targets, (everywhere, newer), "13.0.88", None, None, None, "cp311", "g++ 12"),
        *((), False, False, False, (), "0"),
    )
    without = {str(c): o for c, o, _ in guard_row("_C.so", targets, file).served}
    told = {str(c): o for c, o, _ in guard_row("_C.so", targets, file, manifest).served}
    assert (without["7.5"], told["7.5"]) == ("part", "native")
    assert told["6.1"] == "no"


@pytest.mark.parametrize(
    ("name", "newer"),
    [("classic.so", "jit"), ("unregistered.so", "no"), ("only_specific.so", "no")],
)
def test_gpus_that_nobody_knows_yet(name: str, newer: str) -> None:
    assert row_of(name).newer[0] == newer


def test_a_gpu_that_is_not_served(fake_driver: FakeDriver, tmp_path: Path) -> None:
    folder = package(tmp_path, row_of("unregistered.so"))
    targets = ", ".join(map(str, row_of("unregistered.so").targets))
    said = ask(folder, fake_driver([FakeGpu("6.1", "NVIDIA GeForce GTX 1080")])).stdout
    assert (
        f"unregistered.so was built for {targets}; this GPU is 6.1 (NVIDIA GeForce GTX 1080)"
        in said
    )
    assert "error 209" in said
    assert 'Rebuild with: TORCH_CUDA_ARCH_LIST="6.1" pip install it' in said


def test_the_list_of_the_cure_has_every_gpu_once(fake_driver: FakeDriver, tmp_path: Path) -> None:
    folder = package(tmp_path, row_of("unregistered.so"))
    said = ask(folder, fake_driver([*MIXED[:2], MIXED[0]])).stdout
    assert 'TORCH_CUDA_ARCH_LIST="6.1;8.6"' in said


def test_a_gpu_that_is_served(fake_driver: FakeDriver, tmp_path: Path) -> None:
    folder = package(tmp_path, row_of("classic.so"))
    done = ask(folder, fake_driver([FakeGpu("8.9", "NVIDIA GeForce RTX 4090")]))
    assert done.stdout == "Nothing is known to be wrong.\n"


@pytest.mark.parametrize(
    ("capability", "error"), [("8.6", "error 35"), ("12.0", "error 222"), ("12.1", "error 222")]
)
def test_a_driver_that_is_too_old(
    fake_driver: FakeDriver, tmp_path: Path, capability: str, error: str
) -> None:
    # Native for 8.6; PTX of a newer CUDA than the driver's for the others.
    row = GuardRow(
        "_C.so",
        (Arch.parse("sm_86"), Arch.parse("compute_86")),
        tuple((r.capability, *_served(str(r.capability))) for r in CAPABILITIES),
        ("jit", 13000),
    )
    folder = package(tmp_path, row)
    said = ask(folder, fake_driver([FakeGpu(capability)], cuda=11080)).stdout
    assert error in said
    assert "this one is of 11.8" in said


def _served(capability: str) -> tuple[str, int]:
    return ("native", 12000) if capability == "8.6" else ("jit", 13000)


def test_no_driver(tmp_path: Path) -> None:
    folder = package(tmp_path, row_of("classic.so"))
    body = (
        "import ctypes\n"
        "def missing(name):\n    raise OSError('no such file')\n"
        "ctypes.CDLL = missing\n"
        "import guarded._archbuild_guard as guard\n"
        "print(guard.explain())\n"
    )
    said = ask(folder, {}, "-c", body).stdout
    assert "there is no NVIDIA driver, libcuda.so.1 was not found" in said


def test_a_driver_that_fails(fake_driver: FakeDriver, tmp_path: Path) -> None:
    folder = package(tmp_path, row_of("classic.so"))
    said = ask(folder, fake_driver(MIXED, cuda_init=804)).stdout
    assert "cuInit of the NVIDIA driver gives error 804" in said


def test_an_import_asks_nothing(fake_driver: FakeDriver, tmp_path: Path) -> None:
    """Not even a driver that would crash the process; nor does it load ctypes."""
    folder = package(tmp_path, row_of("unregistered.so"))
    code = "import sys, guarded; print('ctypes' in sys.modules)"
    done = ask(folder, fake_driver(MIXED, cuda_init=CRASH), "-c", code)
    assert (done.returncode, done.stdout) == (0, "False\n")


def test_the_variable_asks_on_import(fake_driver: FakeDriver, tmp_path: Path) -> None:
    folder = package(tmp_path, row_of("unregistered.so"))
    env = fake_driver([FakeGpu("6.1")]) | {"ARCHBUILD_GUARD": "1"}
    done = ask(folder, env, "-c", "import guarded")
    assert done.returncode == 1
    assert "GuardError: unregistered.so was built for" in done.stderr


def test_an_empty_table_is_no_error(tmp_path: Path) -> None:
    assert ask(package(tmp_path), {}).stdout == "Nothing is known to be wrong.\n"


def test_the_file_is_valid_for_any_name(tmp_path: Path) -> None:
    row = GuardRow("""it's "quoted"\\.so""", (), (), ("no", 0))
    text = render_guard(TEMPLATE, [row], 'pip "x"')
    space: dict[str, object] = {"__name__": "guard"}
    exec(compile(text, "guard", "exec"), space)
    assert space["TABLE"] == ((row.library, (), {}, ("no", 0)),)
    assert space["REBUILD"] == 'pip "x"'


# --- in real packages -----------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.toolkit
def test_a_wheel_with_a_guard(fake_driver: FakeDriver, tmp_path: Path, nvcc: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    project = Light(command="BuildExtension.with_options(guard=True)").write(tmp_path)
    wheel = project.wheel(TORCH_CUDA_ARCH_LIST="9.0")
    home = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        assert "light/_archbuild_guard.py" in archive.namelist()
        archive.extractall(home)
    env = fake_driver([FakeGpu("12.0", "NVIDIA GeForce RTX 5090")])
    said = ask(home, env, "-m", "light._archbuild_guard").stdout
    assert "was built for sm_90; this GPU is 12.0 (NVIDIA GeForce RTX 5090)" in said
    assert said.splitlines()[-1] == (
        'Rebuild with: TORCH_CUDA_ARCH_LIST="12.0" pip install --force-reinstall --no-deps '
        "--no-cache-dir --no-build-isolation --no-binary light light==1.0"
    )
    env = fake_driver([FakeGpu("9.0", "NVIDIA H100")])
    assert ask(home, env, "-m", "light._archbuild_guard").stdout.startswith("Nothing")

    # One that --inplace left beside the sources is not taken into a wheel that wants none.
    (tmp_path / "light" / "_archbuild_guard.py").write_bytes(
        (home / "light" / "_archbuild_guard.py").read_bytes()
    )
    setup = tmp_path / "setup.py"
    setup.write_text(setup.read_text().replace("guard=True", "guard=False"))
    wheel.unlink()
    with zipfile.ZipFile(project.wheel(TORCH_CUDA_ARCH_LIST="9.0")) as archive:
        assert not [name for name in archive.namelist() if "guard" in name]


@pytest.mark.torch
@pytest.mark.toolkit
def test_an_optional_extension_may_fail(tmp_path: Path, nvcc: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    project = Light(options="optional=True").write(tmp_path)
    source = next(tmp_path.glob("**/*.cu"))
    source.write_text(source.read_text() + "\n#error no\n")
    done = project.build(TORCH_CUDA_ARCH_LIST="9.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no" in done.stdout + done.stderr
    assert project.library is None
