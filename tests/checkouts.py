"""A project checked out somewhere, built as the engine builds with a launcher in front."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from archbuild.build.launcher import prepare_launcher, read_counts
from archbuild.model.launcher import CacheCounts, LauncherChoice

#: Each branch is seen by one pass only: two device passes, and the host's.
KERNEL = """
#include <cuda_runtime.h>
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#include "new.h"
#define EDITED {new}
#elif defined(__CUDA_ARCH__)
#include "old.h"
#define EDITED {old}
#else
#include "host.h"
#define EDITED {host}
#endif
namespace {{ __device__ int counter; }}
__global__ void bump(float* x) {{ x[threadIdx.x] += VALUE + EDITED; counter++; }}
int host_value() {{ return VALUE + EDITED; }}
"""
TORCH_KERNEL = """
#include <torch/extension.h>
__global__ void bump(float* x) { x[threadIdx.x] += 1.0f; }
torch::Tensor run(torch::Tensor x) { bump<<<1, 32>>>(x.data_ptr<float>()); return x; }
"""
BINDING = """
#include "host.h"
int binding() { return VALUE; }
"""
GENCODES = ("-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90")
BRANCHES = ("new", "old", "host")


def machine(folder: Path, *programs: Path, **variables: str) -> dict[str, str]:
    """The environment of a machine of its own: another home, other caches, no other settings.

    Args:
        folder: Its home, made where it isn't there.
        *programs: What is to be on its PATH.
        **variables: What else is set.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folders = [str(program.parent) for program in programs]
    env = {
        "PATH": os.pathsep.join([*folders, "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": str(folder),
        "CCACHE_DIR": str(folder / "ccache"),
        "SCCACHE_DIR": str(folder / "sccache"),
        # One compile of torch's headers on a busy machine is idle time to its server.
        "SCCACHE_IDLE_TIMEOUT": "1800",
        "TMPDIR": str(folder),
    }
    return {**env, **variables}


def toolkit_tools(nvcc: Path) -> tuple[str, ...]:
    """What decides what this nvcc makes."""
    root = nvcc.parents[1]
    names = ("nvvm/bin/cicc", "bin/ptxas", "bin/cudafe++", "bin/fatbinary")
    return tuple(str(root / name) for name in names)


@dataclass(frozen=True)
class Checkout:
    """A project in a folder.

    Args:
        folder: Where it lies.
        nvcc: The nvcc that builds it.
    """

    folder: Path
    nvcc: Path

    def write(self, kernel: str | None = None) -> Checkout:
        """Lay its files; gives itself."""
        for name in ("src", "include", "build"):
            (self.folder / name).mkdir(parents=True)
        for branch, value in zip(BRANCHES, (2, 3, 5), strict=True):
            self.header(branch, value)
        self.source(kernel)
        (self.folder / "src" / "binding.cpp").write_text(BINDING)
        return self

    def header(self, branch: str, value: int) -> None:
        """Write the header that one pass includes."""
        (self.folder / "include" / f"{branch}.h").write_text(f"#define VALUE {value}\n")

    def source(self, text: str | None = None, **edited: int) -> None:
        """Write the kernel, one branch of it edited."""
        values = {**dict.fromkeys(BRANCHES, 7), **edited}
        (self.folder / "src" / "kernel.cu").write_text(text or KERNEL.format(**values))

    def move(self, folder: Path) -> None:
        """Put it away, so that another can stand at its path."""
        shutil.move(self.folder, folder)

    def prepare(self, value: str | None, environ: Mapping[str, str]) -> LauncherChoice:
        """The launcher as a build would choose it."""
        tools = toolkit_tools(self.nvcc)
        return prepare_launcher(value, environ=environ, root=str(self.folder), tools=tools)

    def build(
        self,
        choice: LauncherChoice,
        environ: Mapping[str, str],
        *,
        flags: Sequence[str] = (),
        gencodes: Sequence[str] = GENCODES,
        binding: bool = True,
    ) -> CacheCounts:
        """Compile, and say what the launcher answered; nothing where there is none."""
        launcher = choice.launcher
        env = launcher.environment(environ) if launcher else dict(environ)
        before = read_counts(launcher, environ) if launcher else CacheCounts(0, 0)
        self._compile(launcher.prefix if launcher else (), env, gencodes, flags, binding=binding)
        after = read_counts(launcher, environ) if launcher else CacheCounts(0, 0)
        assert before is not None
        assert after is not None
        return after - before

    def _compile(
        self,
        prefix: Sequence[str],
        env: Mapping[str, str],
        gencodes: Sequence[str],
        flags: Sequence[str],
        *,
        binding: bool,
    ) -> None:
        shutil.rmtree(self.folder / "build")
        (self.folder / "build").mkdir()
        host = ["-Xcompiler=-fPIC", "-std=c++20"]
        self._run([*prefix, str(self.nvcc), *gencodes, *host, *flags], "kernel.cu", env)
        if binding:
            self._run([*prefix, "g++", "-fPIC"], "binding.cpp", env)

    def _run(self, command: Sequence[str], source: str, env: Mapping[str, str]) -> None:
        # ccache makes paths below its base directory relative, and nvcc hashes the path
        # into names: what nvcc makes alone is the same only if it is called so as well.
        base = self.folder if "ccache" in command[0] else Path()
        made = base / "build" / source
        words = [f"-I{base / 'include'}", "-MD", "-MF", f"{made}.d"]
        words += ["-c", str(base / "src" / source), "-o", f"{made}.o"]
        done = subprocess.run(
            [*command, *words],
            cwd=self.folder,
            env=dict(env),
            capture_output=True,
            text=True,
            check=False,
            timeout=1800,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert (self.folder / "build" / f"{source}.d").exists(), "ninja would miss its headers"

    @property
    def object(self) -> bytes:
        """What became of the kernel, without the process number that nvcc leaves in it."""
        made = (self.folder / "build" / "kernel.cu.o").read_bytes()
        return re.sub(rb"tmpxft_[0-9a-f]{8}_", b"tmpxft_", made)

    @property
    def headers(self) -> str:
        """The kernel's dependency file."""
        return (self.folder / "build" / "kernel.cu.d").read_text()


def torch_flags() -> list[str]:
    """What torch/extension.h needs; the torch of this environment has to be there."""
    code = "from torch.utils.cpp_extension import include_paths;print(*include_paths(), sep='\\n')"
    asked = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=120)
    folders = [*done.stdout.split("\n"), sysconfig.get_path("include")]
    includes = [f"-isystem={folder}" for folder in folders if folder]
    return [*includes, "-DTORCH_EXTENSION_NAME=_C", "--expt-relaxed-constexpr"]
