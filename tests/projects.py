"""Small projects for the tests that really build: light headers, two or three seconds each."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

KERNEL = """
#include <cuda_runtime.h>
__global__ void {name}(int n, float* x) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1.0f;
}}
extern "C" void launch_{name}(int n, float* x) {{ {name}<<<1, 32>>>(n, x); }}
"""

MODULE = """
#include <Python.h>
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr};
PyMODINIT_FUNC PyInit__C(void) { return PyModule_Create(&module); }
"""

SETUP = """
from setuptools import setup
from {module} import BuildExtension, CUDAExtension
{before}
setup(
    name="light",
    version="1.0",
    packages=["light"],
    ext_modules=[CUDAExtension("light._C", {sources!r}, {options})],
    cmdclass={{"build_ext": {command}}},
)
"""


@dataclass(frozen=True)
class Project:
    """A project on disk.

    Args:
        folder: Where it lies.
    """

    folder: Path

    def run(self, *command: str, **variables: str | None) -> subprocess.CompletedProcess[str]:
        """Run a Python command in it, with nothing that says where nvcc is."""
        env = clean_environment(**variables)
        return subprocess.run(
            [sys.executable, *command],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=1200,
        )

    def wheel(self, **variables: str | None) -> Path:
        """Build its wheel, which has to go well."""
        options = ("--no-build-isolation", "--no-deps", "-v", "-w", "dist")
        done = self.run("-m", "pip", "wheel", ".", *options, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return next((self.folder / "dist").glob("*.whl"))

    def build(self, **variables: str | None) -> subprocess.CompletedProcess[str]:
        """Build its extension beside its sources, for better or worse."""
        return self.run("setup.py", "build_ext", "--inplace", **variables)

    @property
    def library(self) -> Path | None:
        """The extension beside the sources, None where there is none."""
        return next((self.folder / "light").glob("_C*.so"), None)


@dataclass
class Light:
    """What a project is made of.

    Args:
        options: Further arguments of CUDAExtension, as source text.
        command: The build_ext command, as source text.
        before: Lines before ``setup()``.
        module: Where BuildExtension comes from.
        kernels: Names of kernels; each gets a source of its own.
        pyproject: Further lines of pyproject.toml.
    """

    options: str = ""
    command: str = "BuildExtension"
    before: str = ""
    module: str = "archbuild.cpp_extension"
    kernels: tuple[str, ...] = ("bump",)
    pyproject: str = ""
    sources: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> Project:
        """Write the project into a folder, which must be empty or not there."""
        (folder / "light").mkdir(parents=True)
        (folder / "light" / "__init__.py").touch()
        sources = {"module.cpp": MODULE} | self.sources
        sources |= {f"{name}.cu": KERNEL.format(name=name) for name in self.kernels}
        for name, text in sources.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        setup = SETUP.format(
            module=self.module,
            before=self.before,
            sources=sorted(name for name in sources if name.endswith((".cu", ".cpp"))),
            options=self.options,
            command=self.command,
        )
        (folder / "setup.py").write_text(setup)
        (folder / "pyproject.toml").write_text(self.pyproject)
        return Project(folder)


def clean_environment(**variables: str | None) -> dict[str, str]:
    """The environment without any word about toolkits and architectures, and with no nvcc.

    Args:
        **variables: What to set; None removes one.
    """
    own = Path(sys.executable).parent
    decided = ("ARCHBUILD_", "CUDA", "NVCC_", "TORCH_CUDA", "TORCH_EXTENSIONS")
    env = {k: v for k, v in os.environ.items() if not k.startswith(decided)}
    folders = [f for f in env.get("PATH", "").split(os.pathsep) if f and Path(f) != own]
    kept = [f for f in folders if not (Path(f) / "nvcc").exists()]
    env["PATH"] = os.pathsep.join([str(own), *kept])
    # No launcher, neither torch's own nor archbuild's: what is tested has to be compiled.
    env["CCACHE_DISABLE"] = env["TORCH_NO_COMPILER_WRAPPER"] = "1"
    env |= {name: value for name, value in variables.items() if value is not None}
    return env
