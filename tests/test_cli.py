"""The command line as a person meets it: exit codes, one sentence, the right stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import archbuild
from archbuild.cli.main import main
from archbuild.model.arch import Arch
from tests.fakes import MIXED, FakeDriver, FakeGpu
from tests.machines import machine, torch_build
from tests.projects import clean_environment

DATA = Path(__file__).parent / "data"
SCHEMAS = Path(archbuild.__file__).parent / "report" / "schemas"


def run(
    *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Archbuild in a child, with nothing in its environment that decides anything."""
    return subprocess.run(
        [sys.executable, "-m", "archbuild", *arguments],
        cwd=cwd,
        env={**clean_environment(**variables), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def assert_one_sentence(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith("archbuild: error: ")
    for word in words:
        assert word in said


# --- in general ---------------------------------------------------------------------------


def test_version_is_the_packages() -> None:
    assert run("--version").stdout.strip() == f"archbuild {archbuild.__version__}"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["flags", "--format", "yaml"]])
def test_wrong_usage_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: archbuild" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["gpus", "flags", "smoke", "verify"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert command in capsys.readouterr().out


def test_a_reader_that_has_enough_is_no_fault() -> None:
    command = f"{sys.executable} -m archbuild flags --cuda 13.0 --arch all | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


# --- flags --------------------------------------------------------------------------------


@pytest.mark.toolkit
def test_the_mixed_machine_is_served_as_far_as_nvcc_can(fake_driver: FakeDriver) -> None:
    done = run("flags", env=fake_driver(MIXED))
    assert done.returncode == 0
    assert done.stdout.split() == [
        "-gencode=arch=compute_86,code=sm_86",
        "-gencode=arch=compute_120,code=sm_120",
        "-gencode=arch=compute_120,code=compute_120",
    ]
    assert "6.1 needs CUDA 12.9 or older" in done.stderr
    assert "will not run on GPUs older than 8.6" in done.stderr


@pytest.mark.toolkit
def test_suffixes_commas_and_a_renamed_chip() -> None:
    done = run("flags", "--arch", "9.0a, sm_120f;10.1", "--format", "json")
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads((SCHEMAS / "flags.json").read_text()))
    assert document["targets"] == ["sm_90a", "sm_110", "sm_120f"]
    assert "calls this chip 11.0" in done.stderr


@pytest.mark.toolkit
@pytest.mark.parametrize("link", [False, True])
def test_the_flags_fit_the_packaged_nvcc(tmp_path: Path, nvcc: Path, link: bool) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k(float* x) { *x = 1; }")
    options = ["-shared", "-o", "k.so"] if link else ["-c", "-o", "k.o"]
    flags = run("flags", "--arch", "8.6;9.0+PTX", *(["--link"] if link else [])).stdout.split()
    subprocess.run([nvcc, *options, *flags, "k.cu"], cwd=tmp_path, check=True, timeout=300)
    made = tmp_path / options[-1]
    done = run("verify", str(made), "--targets", "8.6;9.0+PTX", "--strict")
    assert done.returncode == 0, done.stdout


@pytest.mark.toolkit
def test_the_environment_can_be_evaluated(nvcc: Path) -> None:
    script = (
        f'eval "$({sys.executable} -m archbuild flags --arch 8.6,12.0+PTX --format env)"\n'
        'printf "%s\\n" "$TORCH_CUDA_ARCH_LIST" "$CUDAARCHS" "$CUDA_HOME" "$CUDACXX"'
    )
    done = subprocess.run(
        ["sh", "-c", script], env=clean_environment(), capture_output=True, text=True, check=True
    )
    archs, cmake, home, compiler = done.stdout.splitlines()
    assert (archs, cmake) == ("8.6;12.0+PTX", "86-real;120-real;120-virtual")
    assert Path(compiler).samefile(nvcc)
    assert Path(home).samefile(nvcc.parents[1])


def test_what_older_cmakes_refuse_is_said() -> None:
    asked = ("flags", "--arch", "9.0a;10.0f", "--cuda", "13.0", "--format")
    assert "CMake takes 100f-real from" in run(*asked, "cmake").stderr
    assert "CMake takes" not in run(*asked, "nvcc").stderr


def test_reasons_go_to_standard_error() -> None:
    done = run("flags", "--arch", "9.0", "--cuda", "13.0", "--why")
    assert done.stdout == "-gencode=arch=compute_90,code=sm_90\n"
    assert "9.0 in --arch" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--arch", "9"], 2, ["'9'", "9.0"]),
        (["--arch", "Hoper"], 2, ["'Hoper'", "Hopper"]),
        (["--arch", " ;, ; "], 2, ["only separators"]),
        (["--arch", "8.6\uff1b9.0"], 2, ["fullwidth semicolon"]),
        (["--arch", "10.0;10.0f"], 2, ["10.0f", "nvcc refuses"]),
        (["--arch", "3.5"], 2, ["sm_35", "CUDA 11.8 or older"]),
        (["--arch", "native"], 4, ["needs a GPU"]),
        (["--arch", "9.0", "--cuda", "thirteen"], 2, ["--cuda 13.0"]),
        (["--arch", "9.0", "--cuda", "42.0"], 4, ["42.0"]),
        (["--arch", "9.0", "--toolkit", "/nowhere"], 2, ["/nowhere"]),
        (["--machine", "/nowhere.json"], 3, ["/nowhere.json"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_bad_requests_get_one_sentence(arguments: list[str], code: int, words: list[str]) -> None:
    options = [] if "--toolkit" in arguments or "--cuda" in arguments else ["--cuda", "13.0"]
    assert_one_sentence(run("flags", *arguments, *options), code, *words)


def test_a_broken_project_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.archbuild]\nacrhs = ['9.0']\n")
    done = run("flags", "--cuda", "13.0", cwd=tmp_path)
    assert_one_sentence(done, 2, "acrhs", "archs")


def test_a_recorded_machine_is_replayed(tmp_path: Path, fake_driver: FakeDriver) -> None:
    record = tmp_path / "lab.json"
    saved = run("gpus", "--save", str(record), env=fake_driver([FakeGpu("8.9", "RTX 4090")]))
    assert saved.returncode == 0
    done = run("flags", "--machine", str(record), "--cuda", "13.0")
    assert done.stdout.split()[0] == "-gencode=arch=compute_89,code=sm_89"


def test_a_record_holds_what_torch_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Elsewhere this torch cannot be asked, and the decision has to be the same."""
    subject = machine("13.0", torch=torch_build("13.0"))
    held = (Arch.parse("sm_80"), Arch.parse("sm_90"))
    monkeypatch.setattr("archbuild.probe.machine.query_machine", lambda **_: subject)
    monkeypatch.setattr("archbuild.services.select.query_torch_archs", lambda _: held)
    monkeypatch.chdir(tmp_path)
    assert main(["gpus", "--save", "lab.json"]) == 0
    capsys.readouterr()
    assert main(["flags", "--machine", "lab.json", "--format", "torch"]) == 0
    assert capsys.readouterr().out == "8.0;9.0+PTX\n"


# --- gpus ---------------------------------------------------------------------------------


def test_gpus_shows_every_gpu_and_which_cuda_sees(fake_driver: FakeDriver) -> None:
    done = run("gpus", env={**fake_driver(MIXED), "COLUMNS": "80"}, CUDA_VISIBLE_DEVICES="1")
    assert done.returncode == 0
    for words in ("GTX 1080", "RTX 3090", "RTX 5090", "12.0"):
        assert words in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_gpus_as_json_is_the_machine(fake_driver: FakeDriver) -> None:
    document = json.loads(run("gpus", "--json", env=fake_driver(MIXED)).stdout)
    assert document["schema"] == "archbuild.machine/1"
    assert [gpu["capability"] for gpu in document["machine"]["gpus"]] == ["6.1", "8.6", "12.0"]


def test_a_machine_without_a_gpu_is_no_error() -> None:
    done = run("gpus", LD_LIBRARY_PATH="")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


# --- verify -------------------------------------------------------------------------------


@pytest.mark.toolkit
@pytest.mark.parametrize(
    ("content", "name", "code", "words"),
    [
        (None, "absent.whl", 3, ["absent.whl"]),
        (b"", "empty.so", 3, ["empty.so"]),
        (b"just words\n", "text.so", 3, ["text.so"]),
        (b"PK\x03\x04 cut off", "cut.whl", 3, ["cut.whl"]),
    ],
)
def test_what_cannot_be_read_is_3(
    tmp_path: Path, content: bytes | None, name: str, code: int, words: list[str]
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert_one_sentence(run("verify", str(path), "--targets", "9.0"), code, *words)


def test_an_empty_path_is_not_the_current_folder() -> None:
    assert_one_sentence(run("verify", "", "--targets", "9.0"), 2, "path is empty")


@pytest.mark.toolkit
def test_with_no_expectation_not_enough_is_known(tmp_path: Path) -> None:
    done = run("verify", str(DATA / "classic.so"), cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (4, 1)
    assert "--targets" in done.stderr
    assert "held against nothing" in " ".join(done.stdout.split())  # wrapped by the path


@pytest.mark.toolkit
def test_variables_are_an_expectation(tmp_path: Path) -> None:
    library = next(DATA.rglob("*.so"))
    done = run("verify", str(library), cwd=tmp_path, TORCH_CUDA_ARCH_LIST="5.2")
    assert done.returncode == 1
    assert "Held against TORCH_CUDA_ARCH_LIST" in done.stderr


@pytest.mark.parametrize("command", ["smoke", "verify x.so --targets 9.0 --reader both"])
def test_without_tools_the_cure_is_named(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from archbuild.model.machine import Machine

    bare = Machine("linux", "x86_64", "3.11.0")
    monkeypatch.setattr("archbuild.probe.machine.query_machine", lambda **_: bare)
    monkeypatch.setattr("archbuild.services.select.query_machine", lambda **_: bare)
    monkeypatch.setattr("archbuild.services.verify.query_machine", lambda **_: bare)
    assert main(command.split()) == 4
    assert "pip install" in capsys.readouterr().err


FIXTURES = sorted(p for p in DATA.rglob("*.*") if p.suffix in (".so", ".dll", ".fatbin", ".whl"))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
def test_no_line_of_verify_is_longer_than_80_columns(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    devices = "5.0 7.5 8.0 8.6 8.7 8.9 9.0 10.0 10.3 11.0 12.0 12.1"
    words = ["--targets", "8.0;8.6;9.0a;12.0+PTX", "--runs-on", devices, "--reader", "native"]
    main(["verify", str(path), *words])
    out = capsys.readouterr().out
    assert "read by archbuild alone" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("form", "start"),
    [("json", "{"), ("markdown", "### verify failed"), ("github", "::error file=")],
)
def test_the_formats_of_verify(
    form: str, start: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--targets", "9.0", "--reader", "native", "--format", form]
    assert main(["verify", str(DATA / "classic.so"), *words]) == 1
    assert capsys.readouterr().out.startswith(start)


def test_verify_on_the_gpus_of_this_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.machines import machine

    lab = machine(None, "8.6", "12.0")
    monkeypatch.setattr("archbuild.services.verify.query_machine", lambda **_: lab)
    words = ["--runs-on", "native", "--reader", "native", "--json"]
    assert main(["verify", str(DATA / "classic.so"), *words]) == 0
    devices = json.loads(capsys.readouterr().out)["devices"]
    assert [device["capability"] for device in devices] == ["8.6", "12.0"]


def test_an_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("archbuild.probe.machine.query_machine", stop)
    assert main(["gpus"]) == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["flags --arch 9.0 --cuda 13.0", "gpus"])
def test_output_that_finds_no_room_is_told(command: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "archbuild", *command.split()],
            env=clean_environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=300,
        )
    said = [line for line in done.stderr.splitlines() if not line.startswith("archbuild: note")]
    assert said == [
        "archbuild: error: The output cannot be written: No space left on device. "
        "Send it elsewhere."
    ]
    assert done.returncode == 3


@pytest.mark.skipif(os.name == "nt", reason="there is no sh")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_changes_nothing(closed: str) -> None:
    command = f'"$1" -m archbuild flags --arch 9.0 --cuda 13.0 {closed}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_an_error_of_the_system_is_not_taken_for_one_of_the_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**_: object) -> None:
        raise PermissionError(13, "Permission denied", "/some/file")

    monkeypatch.setattr("archbuild.probe.machine.query_machine", fail)
    with pytest.raises(PermissionError):
        main(["gpus"])


def test_import_archbuild_is_light() -> None:
    heavy = ("torch", "setuptools", "rich", "pynvml", "argparse", "json")
    code = f"import sys, archbuild; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONSTARTUP": ""},
    )
    assert done.stdout.strip() == "[]"
