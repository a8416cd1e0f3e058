"""The project's sessions: ``python3 noxfile.py -s demo``, ``python3 noxfile.py -s tests``.

Needs nothing but Python with its venv module: where nox is missing, it is put
into a virtual environment of its own first. In the sessions that use torch it
is installed by name, since unpinned beside a toolkit pip may take one for the
CPU.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent
TORCH = ("torch==2.14.1", "numpy")
DEMO_ARCHS = "7.5;8.0;8.6;9.0;10.0;12.0+PTX"
# What people have, from Turing on; none of it needs to be here.
DEMO_GPUS = "RTX 2080, A100, RTX 3090, RTX 4090, H100, B200, RTX 5090"

if __name__ == "__main__":
    python = sys.executable
    if find_spec("nox") is None:
        home = ROOT / ".nox" / "nox-itself"
        python = str(home / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
        if not Path(python).exists():
            subprocess.check_call([sys.executable, "-m", "venv", str(home)])
        check = [python, "-c", "import nox"]
        if subprocess.call(check, stderr=subprocess.DEVNULL):
            subprocess.check_call([python, "-m", "pip", "install", "--quiet", "nox"])
    raise SystemExit(subprocess.call([python, "-m", "nox", "-f", __file__, *sys.argv[1:]]))

import nox

nox.needs_version = ">=2024.4.15"
nox.options.sessions = ["lint", "tests"]
nox.options.error_on_external_run = True

GROUPS = nox.project.load_toml("pyproject.toml")["dependency-groups"]

# What the caller's shell says about toolkits and architectures must not decide here.
CLEAN: dict[str, str | None] = dict.fromkeys(
    (
        "ARCHBUILD_ARCHS",
        "ARCHBUILD_LAUNCHER",
        "ARCHBUILD_VERIFY",
        "CUDACXX",
        "CUDA_HOME",
        "CUDA_PATH",
        "NVCC_APPEND_FLAGS",
        "NVCC_PREPEND_FLAGS",
        "PYTHONPATH",
        "TORCH_CUDA_ARCH_LIST",
    )
)


def tool_folders() -> Path:
    """Toolkits of other versions, each in a folder of its own, of tests/tools.json."""
    home = ROOT / ".nox" / "tools"
    wanted = json.loads((ROOT / "tests" / "tools.json").read_text())
    for name, requirements in wanted.items():
        stamp = home / name / ".requirements.json"
        if stamp.exists() and json.loads(stamp.read_text()) == requirements:
            continue
        target = ["--target", str(home / name), "--upgrade"]
        subprocess.check_call(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *target, *requirements]
            if name.startswith("ptxas")
            else [sys.executable, "-m", "pip", "install", "--quiet", *target, *requirements]
        )
        stamp.write_text(json.dumps(requirements))
    return home


def wheel_folder() -> Path:
    """Published wheels to read, of tests/wheels.json; 400 MB, fetched once."""
    home = ROOT / ".nox" / "wheels"
    stamp = home / ".wheels.json"
    wanted = json.loads((ROOT / "tests" / "wheels.json").read_text())
    if stamp.exists() and json.loads(stamp.read_text()) == wanted:
        return home
    for requirement, platforms in wanted.items():
        for platform in platforms:
            kind = ["--platform", platform, "--python-version", "3.11", "--implementation", "cp"]
            options = ["--quiet", "--no-deps", "--only-binary=:all:", *kind, "-d", str(home)]
            subprocess.check_call([sys.executable, "-m", "pip", "download", *options, requirement])
    stamp.write_text(json.dumps(wanted))
    return home


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff and mypy, strict."""
    session.install(*GROUPS["lint"], ".[build]")
    run_lint(session)


def run_lint(session: nox.Session) -> None:
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """Everything but what needs a GPU: lint, types, and all tests on the real tools."""
    session.install(
        *TORCH, ".[build,cache,cu130]", *GROUPS["test"], *GROUPS["test-caches"], *GROUPS["lint"]
    )
    run_lint(session)
    session.install(*GROUPS["examples"])
    brought = {
        "ARCHBUILD_TEST_TOOLS": str(tool_folders()),
        "ARCHBUILD_TEST_WHEELS": str(wheel_folder()),
    }
    # Two at a time, whatever the machine: a test that builds takes gigabytes.
    workers = () if session.posargs else ("-n", "2", "--dist", "loadfile")
    session.run("pytest", "-m", "not gpu", *workers, *session.posargs, env={**CLEAN, **brought})


@nox.session
def fuzz(session: nox.Session) -> None:
    """Two hundred thousand damaged files for the native reader."""
    session.install(".")
    session.run("python", "tests/fuzz.py", "--count", "200000", *session.posargs, env=CLEAN)


@nox.session
def gpu(session: nox.Session) -> None:
    """What needs a real GPU and its driver."""
    session.install(*TORCH, ".[build,cu130]", *GROUPS["test"])
    session.run("pytest", "-m", "gpu", *session.posargs, env=CLEAN)


@nox.session
def demo(session: nox.Session) -> None:
    """The main job: build a torch extension for six architectures and PTX, and prove it."""
    session.install(*TORCH, ".[build,cu130]")
    require_own_tools(session)
    work = Path(session.create_tmp()).resolve()
    shutil.rmtree(work)
    shutil.copytree(ROOT / "examples" / "axpy", work / "axpy")
    wheel = build_wheel(session, work / "axpy", work / "dist")
    import_in_fresh_environment(session, work / "fresh", wheel)
    kernel = work / "smoke"
    session.run("archbuild", "smoke", "--arch", DEMO_ARCHS, "--keep", str(kernel), env=CLEAN)
    files = [os.path.relpath(path) for path in (wheel, next(kernel.glob("*smoke*")))]
    session.run("archbuild", "verify", *files, "--targets", DEMO_ARCHS, env=CLEAN)
    asked = ["--runs-on", DEMO_GPUS, "--no-allow-jit", "--reader", "both"]
    session.run("archbuild", "verify", files[0], *asked, env=CLEAN)


def require_own_tools(session: nox.Session) -> None:
    """Fail unless nvcc and cuobjdump are those of this session's environment."""
    answer = session.run("archbuild", "flags", "--format", "json", silent=True, env=CLEAN)
    toolkit = json.loads(str(answer)[str(answer).index("{") :])["toolkit"]
    home = Path(session.virtualenv.location).resolve()
    for name in ("nvcc", "cuobjdump"):
        path = Path(toolkit[name] or "nowhere")
        session.log(f"{name}: {path}")
        if home not in path.resolve().parents:
            session.error(f"{name} is not the one of this session: {path}")


def build_wheel(session: nox.Session, project: Path, dist: Path) -> Path:
    env = {**CLEAN, "TORCH_CUDA_ARCH_LIST": DEMO_ARCHS}
    options = ["--no-build-isolation", "--no-deps", "--verbose", "-w", str(dist)]
    session.run("python", "-m", "pip", "wheel", str(project), *options, env=env)
    return next(dist.glob("*.whl"))


def import_in_fresh_environment(session: nox.Session, home: Path, wheel: Path) -> None:
    """Import the wheel where there is torch, and neither archbuild nor a toolkit."""
    session.run("python", "-m", "venv", "--clear", str(home))
    python = str(home / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    pip = [python, "-m", "pip", "install", "--quiet"]
    session.run(*pip, *TORCH, external=True)
    session.run(*pip, "--no-deps", str(wheel), external=True)
    said = "import axpy; print('imports beside torch alone:', axpy.__file__)"
    session.run(python, "-W", "error", "-c", said, external=True, env=CLEAN)


@nox.session
def bench(session: nox.Session) -> None:
    """Every figure of the README, measured side by side."""
    session.install(*TORCH, ".[build,cu130,cache]")
    wheels = sorted(wheel_folder().glob("*manylinux*.whl"), key=lambda path: -path.stat().st_size)
    session.run("python", "benchmarks/startup.py", env=CLEAN)
    session.run("python", "benchmarks/reader.py", "--wheel", str(wheels[0]), env=CLEAN)
    session.run("python", "benchmarks/doctor.py", env=CLEAN)
    session.run("python", "benchmarks/build.py", *session.posargs, env=CLEAN)
