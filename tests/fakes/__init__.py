"""A machine that is not there: fake driver libraries under the real pynvml and ctypes.

``fake_driver`` is the fixture; another test module gets it through conftest.py.
Give the environment it returns to a child process; in this process nothing is
changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent

#: In place of an NVML or CUDA error code.
HANG, CRASH, CHATTER = -1, -2, -3


@dataclass(frozen=True)
class FakeGpu:
    """One GPU; ``fails`` names the NVML call about it that returns ``code``.

    ``mode`` is its virtualization mode as NVML counts them, 2 for a share of a GPU.
    """

    capability: str = "9.0"
    name: str = "NVIDIA Fake"
    number: int = 0
    mebibytes: int = 8192
    slices: int = 0
    fails: str = "none"
    code: int = 0
    mode: int = 0
    integrated: bool = False

    @property
    def uuid(self) -> str:
        return f"GPU-{self.number + 1:08x}-1111-2222-3333-444444444444"

    @property
    def pci(self) -> str:
        return f"00000000:{self.number + 1:02X}:00.0"

    def slice_uuid(self, number: int) -> str:
        return f"MIG-{self.number + 1:08x}-aaaa-bbbb-cccc-{number:012x}"

    def lines(self) -> Iterator[str]:
        major, minor = self.capability.split(".")
        about = f"{major} {minor} {self.pci}"
        mig = int(bool(self.slices))
        rest = f"{self.fails} {self.code} {self.name}"
        yield f"gpu {self.uuid} {about} {self.mebibytes} {mig} {rest}"
        yield f"mode {self.mode}"
        yield f"integrated {int(self.integrated)}"
        for number in range(self.slices):
            name = f"{self.name} MIG 1g.10gb"
            yield f"slice {self.slice_uuid(number)} {about} 10240 1 none 0 {name}"

    def smi_row(self) -> str:
        mig = "Enabled" if self.slices else "[N/A]"
        cells = (self.number, self.uuid, self.pci, self.mebibytes, "580.65.06", mig)
        return ", ".join(map(str, (*cells, self.capability, self.name)))


#: The mixed machine of many examples, the oldest GPU first.
MIXED = (
    FakeGpu("6.1", "NVIDIA GeForce GTX 1080", 0, 8192),
    FakeGpu("8.6", "NVIDIA GeForce RTX 3090", 1, 24576),
    FakeGpu("12.0", "NVIDIA GeForce RTX 5090", 2, 32607),
)

FakeDriver = Callable[..., dict[str, str]]


@pytest.fixture(scope="session")
def fake_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the two libraries, built by this machine's C compiler."""
    if os.name != "posix" or not Path("/proc").is_dir():
        pytest.skip("the fake driver libraries are for Linux")
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        pytest.skip("no C compiler to build the fake driver libraries with")
    folder = tmp_path_factory.mktemp("fake_driver")
    for source, library in (("nvml", "libnvidia-ml.so.1"), ("cuda", "libcuda.so.1")):
        command = [compiler, "-shared", "-fPIC", f"-Wl,-soname,{library}"]
        command += ["-o", str(folder / library), str(HERE / f"fake_{source}.c")]
        subprocess.run(command, check=True, timeout=120)
    return folder


@pytest.fixture
def fake_driver(fake_libraries: Path, tmp_path: Path) -> FakeDriver:
    """A function from GPUs to the environment in which a child process sees them.

    Its keywords are lines of the machine (see fake.h): ``nvml_init=9``,
    ``order="2 0 1"``; ``smi`` is the text of a shell script to stand for
    nvidia-smi. Variables that would hide GPUs are not handed on.
    """

    def make(
        gpus: tuple[FakeGpu, ...] | list[FakeGpu] = (), *, smi: str | None = None, **lines: object
    ) -> dict[str, str]:
        folder = tmp_path / "fake_driver"
        folder.mkdir(exist_ok=True)
        settings = [f"{key} {value}" for key, value in lines.items()]
        text = "\n".join([*settings, *(line for gpu in gpus for line in gpu.lines())])
        (folder / "machine.txt").write_text(text + "\n")
        rows = "\n".join(gpu.smi_row() for gpu in gpus) or "No devices were found"
        script = f"cat <<'END'\n{rows}\nEND\n" if smi is None else smi
        write_script(folder / "nvidia-smi", script)
        env = {k: v for k, v in os.environ.items() if k not in _HIDING}
        env["PATH"] = f"{folder}{os.pathsep}{env.get('PATH', '')}"
        env["LD_LIBRARY_PATH"] = str(fake_libraries)
        env["ARCHBUILD_FAKE_GPUS"] = str(folder / "machine.txt")
        return env

    return make


_HIDING = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "LD_PRELOAD")


def write_script(path: Path, body: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}")
    path.chmod(0o755)
    return path
