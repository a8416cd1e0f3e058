"""One call of ``load`` or ``load_inline`` as data, and what it is built for."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from archbuild._version import __version__
from archbuild.build.extension_plan import ExtensionPlan, is_cuda_source, plan_extension
from archbuild.build.jit_build import Job, source_digests
from archbuild.build.jit_flags import (
    JitFlags,
    TorchSide,
    compile_words,
    link_words,
    split_flags,
    split_folders,
)
from archbuild.build.jit_stamp import Wanted
from archbuild.build.link_folder import make_link_folder
from archbuild.build.memory import cache_folder, fingerprint
from archbuild.build.plan import BuildRequest, CudaUnit, HostUnit
from archbuild.build.torch_flags import standard_of
from archbuild.cpp_extension.checks import checked_host_compiler
from archbuild.cpp_extension.torchs import MACHINE, TORCH
from archbuild.model.machine import Toolkit
from archbuild.probe.project import read_config
from archbuild.rules.selecting.nvcc_flags import parse_nvcc_flags
from archbuild.rules.selecting.request import unheeded
from archbuild.rules.selecting.torch_match import check_torch_match
from archbuild.services.select import Selected, select_archs

_log = logging.getLogger(__name__)

#: Variables that compilers read: they decide what is built, as flags do.
_VARIABLES = (
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH", "C_INCLUDE_PATH"),
    *("CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "PYTORCH_NVCC"),
)
RDC_CURE = "A module built by load has no device link; build it with CUDAExtension(dlink=True)."


@dataclass(frozen=True)
class JitCall:
    """What a caller asks for.

    Args:
        name: The module's.
        sources: Paths, absolute.
        texts: Sources that are passed as texts, by their files' names.
        flags: The flags.
        build_directory: Where to build, where the caller says so.
        verbose: Whether the caller wants to see what happens.
        module: Whether it is imported as a Python module.
        standalone: Whether it is a program.
        archs: An architecture list for it.
    """

    name: str
    sources: tuple[str, ...]
    texts: Mapping[str, str]
    flags: JitFlags
    build_directory: str | None = None
    verbose: bool = False
    module: bool = True
    standalone: bool = False
    archs: str | None = None

    @staticmethod
    def of(
        given: Mapping[str, Any],
        sources: tuple[str, ...],
        texts: Mapping[str, str],
        archs: str | None,
    ) -> JitCall:
        """The call with these arguments of torch's functions.

        Raises:
            UsageError: If flags cannot be split into words.
        """
        words = {
            name: split_flags(given.get(name), name)
            for name in ("extra_cflags", "extra_cuda_cflags", "extra_ldflags")
        }
        directory = given.get("build_directory")
        return JitCall(
            name=given["name"],
            sources=tuple(os.path.abspath(source) for source in sources),  # noqa: PTH100
            texts=texts,
            flags=JitFlags(
                words["extra_cflags"],
                words["extra_cuda_cflags"],
                words["extra_ldflags"],
                split_folders(given.get("extra_include_paths")),
            ),
            build_directory=None if directory is None else str(directory),
            verbose=bool(given.get("verbose")),
            module=bool(given.get("is_python_module", True)),
            standalone=bool(given.get("is_standalone")),
            archs=archs,
        )


@dataclass(frozen=True)
class PlannedCall:
    """A call, and what will be built for it.

    Args:
        call: The call; its flags hold the architectures.
        plan: What its objects and library must hold.
        chosen: The selection and the machine.
        digests: Of its sources.
        host: nvcc's host compiler, where it is not nvcc's own choice.
    """

    call: JitCall
    plan: ExtensionPlan
    chosen: Selected
    digests: Mapping[str, str]
    host: str | None = None

    @property
    def toolkit(self) -> Toolkit:
        """The toolkit that builds it."""
        toolkit = self.chosen.selection.compiler.toolkit
        assert toolkit is not None
        return toolkit


def jit_selection(archs: str | None, *, only_best: bool = False, has_own: bool = False) -> Selected:
    """What is built where the caller's flags don't say it, and what to know about it.

    Args:
        archs: The ``archs`` of the call.
        only_best: Whether no cuobjdump is wanted.
        has_own: Whether the caller's flags say it: then the rest is no news.
    """
    warning = check_torch_match(MACHINE)
    if warning:
        _log.warning("archbuild: %s", warning)
    chosen = select_archs(
        archs,
        toolkit=TORCH.CUDA_HOME,
        config=read_config(),
        name="archs of load",
        only_best=only_best,
    )
    for text in (*unheeded(MACHINE), *(() if has_own else chosen.selection.warnings)):
        _log.warning("archbuild: %s", text)
    return chosen


def jit_links() -> Path | None:
    """The folder of links through which ``-lcudart`` finds the packages' libraries."""
    toolkit = MACHINE.toolkit
    if toolkit is None:
        return None
    return make_link_folder(toolkit.lib, cache_folder() / "lib" / fingerprint([toolkit.nvcc], []))


def plan_call(call: JitCall, *, only_best: bool) -> PlannedCall:
    """Decide what is built.

    Args:
        call: The call.
        only_best: Whether no cuobjdump is wanted.

    Raises:
        ArchbuildError: If it cannot be built.
    """
    digests = source_digests(call.sources, call.texts)
    own = parse_nvcc_flags(call.flags.nvcc, "extra_cuda_cflags")
    chosen = jit_selection(call.archs, only_best=only_best, has_own=own.names_archs)
    host = checked_host_compiler(own, chosen)
    args = {"cxx": call.flags.cxx, "nvcc": call.flags.nvcc}
    plan = plan_extension(call.name, args, chosen.selection, chosen.machine, host=host)
    flags = replace(call.flags, nvcc=tuple(plan.args["nvcc"]))
    return PlannedCall(replace(call, flags=flags), plan, chosen, digests, host)


def key_of(planned: PlannedCall) -> str:
    """One name for all that decides what is built, but for the content of files.

    Texts count: their files are written here.
    """
    call, torch = planned.call, torch_side()
    decided = [
        *(call.name, __version__, planned.toolkit.release, TORCH.torch.__version__),
        *(sysconfig.get_config_var("SOABI") or "", str(call.module), str(call.standalone)),
        *map(repr, compile_words(call.name, call.flags, torch, standalone=call.standalone)),
        repr(link_words(call.flags, torch, standalone=call.standalone)),
        *(f"{name}={os.environ.get(name)}" for name in _VARIABLES),
        *call.sources,
        *(f"{name} {planned.digests[name]}" for name in call.texts),
    ]
    return fingerprint([planned.toolkit.nvcc, *_tools(planned, torch)], decided)


def job_of(planned: PlannedCall, name: str, folder: Path, key: str) -> Job:
    """The call as a build.

    Args:
        planned: The call.
        name: The module's name with its version in this process.
        folder: Where it is built.
        key: As :func:`key_of` gives it, with whatever else has to be true of it.
    """
    call, torch = planned.call, torch_side()
    cxx, nvcc = compile_words(name, call.flags, torch, standalone=call.standalone)
    sources = call.sources or tuple(call.texts)
    request = BuildRequest(
        name=call.name,
        root=str(folder),
        folder="",
        nvcc=planned.toolkit.nvcc,
        units=tuple(
            CudaUnit(source, nvcc) if is_cuda_source(source) else HostUnit(source, cxx)
            for source in sources
        ),
        tools=tuple(_tools(planned, torch)),
        named_nvcc=tuple(shlex.split(os.environ.get("PYTORCH_NVCC", ""))),
    )
    link = link_words(call.flags, torch, standalone=call.standalone)
    library = name + (TORCH.EXEC_EXT if call.standalone else TORCH.LIB_EXT)
    include = (*call.flags.include, *torch.include)
    return Job(request, link, library, Wanted(key, planned.digests), include, call.texts)


def torch_side() -> TorchSide:
    """What torch brings, by its public names."""
    libraries = TORCH.library_paths("cuda")
    python = sysconfig.get_path("include", scheme="posix_prefix")
    return TorchSide(
        cxx=tuple(shlex.split(TORCH.get_cxx_compiler())),
        standard=standard_of(TORCH),
        nvcc=tuple(TORCH.COMMON_NVCC_FLAGS),
        include=(*TORCH.include_paths("cuda"), python),
        lib=TORCH.TORCH_LIB_PATH,
        cuda_lib=tuple(folder for folder in libraries if folder != TORCH.TORCH_LIB_PATH),
    )


def _tools(planned: PlannedCall, torch: TorchSide) -> Iterator[str]:
    """The host compilers' files: another one in its place builds everything again."""
    for name in dict.fromkeys((torch.cxx[0], planned.host or "g++")):
        found = shutil.which(name)
        if found is not None:
            yield found
