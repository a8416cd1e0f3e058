"""``torch.utils.cpp_extension`` with the right architectures, checked.

Change the module's name in a setup.py and nothing else::

    from archbuild.cpp_extension import BuildExtension, CUDAExtension

Every public name of torch's module is here. Those that archbuild does not
improve are torch's own; ``CUDA_HOME`` is the toolkit that archbuild chose.
"""

from __future__ import annotations

import errno
import functools
import inspect
import logging
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archbuild.build.extension_plan import (
    DLINK_CURE,
    ExtensionPlan,
    is_cuda_source,
    plan_extension,
)
from archbuild.build.link_folder import make_link_folder
from archbuild.build.memory import cache_folder, fingerprint, is_remembered, remember
from archbuild.build.torch_module import load_torch_module, put_ninja_on_path, variables
from archbuild.build.verification import VerifyMode, find_lack, parse_verify_mode, refuse
from archbuild.errors import ArchbuildError, BuildError
from archbuild.model.gencode import render_gencodes
from archbuild.model.machine import Machine, Toolkit
from archbuild.probe.host_compiler import query_host_compiler, read_host_limits
from archbuild.probe.machine import query_machine
from archbuild.probe.project import read_config
from archbuild.rules.host_compiler import (
    allows_any_host,
    check_host_compiler,
    named_host_compiler,
)
from archbuild.rules.nvcc_flags import NvccFlags, parse_nvcc_flags
from archbuild.rules.request import unheeded
from archbuild.rules.selection import Selection
from archbuild.rules.torch_match import check_torch_match
from archbuild.services.select import Selected, select_archs
from archbuild.services.smoke import smoke

_log = logging.getLogger(__name__)

_NO_CUDA_HOME = "no-cuda-toolkit-was-found"
_GET_CUOBJDUMP = 'Get it with: pip install "nvidia-cuda-cuobjdump>=13.2"'


def _import_torch_module() -> tuple[Any, Machine]:
    machine = query_machine(gpus=False)
    toolkit = machine.toolkit
    try:
        return load_torch_module(toolkit.root if toolkit else None), machine
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in ("torch", "setuptools"):
            raise
        raise ImportError(
            f"archbuild.cpp_extension needs {name}, which this environment lacks. Inside "
            f"build isolation a package has to list it ([build-system] requires = "
            f'["setuptools", "torch", "archbuild[build]"]); with pip install --no-build-isolation '
            "the one of the outer environment is used."
        ) from None


_torch, _MACHINE = _import_torch_module()

#: The root of the toolkit that archbuild chose; None where there is none.
CUDA_HOME: str | None = _torch.CUDA_HOME


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return list(_torch.__all__)
    return getattr(_torch, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_torch)})


def CUDAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:  # noqa: N802
    """torch's CUDAExtension, with the toolkit that archbuild chose.

    Without a toolkit it is made all the same, so that a source distribution
    and metadata need none; building it then says what is missing.

    Args:
        name: The module's full name.
        sources: C++ and CUDA sources.
        *args: As ``setuptools.Extension`` takes them.
        **kwargs: As torch takes them, and ``archs``: an architecture list for
            this extension alone.

    Returns:
        A ``setuptools.Extension``.
    """
    archs = kwargs.pop("archs", None)
    if _torch.CUDA_HOME is None and not _torch.IS_HIP_EXTENSION:
        _torch.CUDA_HOME = _NO_CUDA_HOME
        try:
            extension = _torch.CUDAExtension(name, sources, *args, **kwargs)
        finally:
            _torch.CUDA_HOME = None
    else:
        extension = _torch.CUDAExtension(name, sources, *args, **kwargs)
    extension.archs = archs
    return extension


if TYPE_CHECKING:

    class _TorchBuildExtension:  # torch has no types that setuptools' ones would fit
        def __init__(self, *args: Any, **kwargs: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def build_extensions(self) -> None: ...
        def build_extension(self, ext: Any) -> None: ...
else:
    _TorchBuildExtension = _torch.BuildExtension


class BuildExtension(_TorchBuildExtension):
    """torch's BuildExtension with explicit architectures, and a check of the result.

    It takes torch's options (``use_ninja``, ``no_python_abi_suffix``) and, by
    ``BuildExtension.with_options(archs=...)``, an architecture list. Extensions
    without CUDA sources, and those for ROCm, are built as torch builds them.
    """

    archs: str | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        put_ninja_on_path()
        super().__init__(*args, **kwargs)

    def build_extensions(self) -> None:
        """Plan every CUDA extension, prove the toolchain, then let torch build.

        Raises:
            setuptools.errors.BaseError: With one sentence and the cure.
        """
        self._plans: dict[str, ExtensionPlan] = {}
        cuda = [e for e in self.extensions if any(map(is_cuda_source, e.sources))]
        if _torch.IS_HIP_EXTENSION:
            super().build_extensions()
            return
        with _setup_errors():
            self._add_links()
            with self._toolchain(cuda) if cuda else nullcontext():
                super().build_extensions()

    def build_extension(self, ext: Any) -> None:
        """Build one extension; a library that lacks a target is not left behind."""
        super().build_extension(ext)
        plan = self._plans.get(ext.name)
        if plan is None or self._cuobjdump is None:
            return
        try:
            self._verify(ext, plan, self._cuobjdump)
        except ArchbuildError:
            Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)
            raise

    def _add_links(self) -> None:
        """Let the linker find the toolkit's libraries, which a CUDAExtension links always."""
        toolkit = _MACHINE.toolkit
        if toolkit is None:
            return
        links = make_link_folder(toolkit.lib, Path(self.build_temp).absolute() / "archbuild-lib")
        for extension in self.extensions if links is not None else ():
            extension.library_dirs.append(str(links))

    @contextmanager
    def _toolchain(self, extensions: Sequence[Any]) -> Iterator[None]:
        warning = check_torch_match(_MACHINE)
        if warning:
            _log.warning("archbuild: %s", warning)
        for text in unheeded(_MACHINE):
            _log.warning("archbuild: %s", text)
        gpus = any(map(_says_native, extensions))
        chosen = select_archs(
            self.archs,
            toolkit=CUDA_HOME,
            config=read_config(),
            gpus=gpus,
            name="archs of BuildExtension",
        )
        toolkit = chosen.selection.compiler.toolkit
        assert toolkit is not None
        _tell(chosen.selection)
        for extension in extensions:
            self._plans[extension.name] = self._plan(extension, chosen)
        self._cuobjdump = _require_cuobjdump(chosen.machine)
        if self._cuobjdump is not None:
            _prove(toolkit, list(self._plans.values()), self._cuobjdump, chosen.machine)
        # The host compiler was held against this very toolkit; torch's table is of 2025.
        with variables({"TORCH_DONT_CHECK_COMPILER_ABI": "1"}):
            yield

    def _plan(self, extension: Any, chosen: Selected) -> ExtensionPlan:
        _refuse_same_object(extension)
        wanted = chosen.selection
        archs = getattr(extension, "archs", None)
        if archs is not None:
            machine = chosen.machine
            name = f"archs of {extension.name}"
            wanted = select_archs(archs, machine=machine, name=name).selection
        nvcc = _nvcc_flags(extension)
        host = _checked_host(nvcc, chosen)
        args = extension.extra_compile_args
        plan = plan_extension(extension.name, args, wanted, chosen.machine, host=host)
        for note in (
            (*plan.selection.notes, *plan.notes) if plan.selection != wanted else plan.notes
        ):
            _log.warning("archbuild: %s", note)
        if plan.selection != chosen.selection:
            built = ", ".join(map(str, plan.selection.targets))
            _log.info("archbuild: %s: %s  (%s)", extension.name, built, plan.selection.source)
        extension.extra_compile_args = {name: list(flags) for name, flags in plan.args.items()}
        return plan

    def _verify(self, ext: Any, plan: ExtensionPlan, cuobjdump: str) -> None:
        objects = _objects(ext.sources, self.compiler, self.build_temp)
        pairs = [(s, o) for s, o in zip(ext.sources, objects, strict=True) if is_cuda_source(s)]
        lacks = [
            find_lack(obj, src, plan.object_targets, cuobjdump, relocatable=plan.relocatable)
            for src, obj in pairs
            if obj.exists()
        ]
        refuse([lack for lack in lacks if lack], f"{ext.name}, compiled")
        library = Path(self.get_ext_fullpath(ext.name))
        lack = find_lack(library, library.name, plan.library_targets, cuobjdump)
        unlinked = plan.relocatable and "nvcc_dlink" not in plan.args
        cure = {"advice": DLINK_CURE} if unlinked else {}
        refuse([lack] if lack else [], f"{ext.name}, linked", **cure)
        _log.info("archbuild: %s holds %s", library.name, ", ".join(map(str, plan.library_targets)))


@contextmanager
def _setup_errors() -> Iterator[None]:
    """Hand an error to setuptools in the form that it prints as one line."""
    from setuptools.errors import BaseError  # noqa: PLC0415

    try:
        yield
    except ArchbuildError as error:
        raise BaseError(f"archbuild: {error}") from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = error.filename or "the build folder"
        raise BaseError(
            f"archbuild: {where} cannot be written: {error.strerror}. Make room, or build "
            "elsewhere: TMPDIR, or build_ext --build-temp."
        ) from None
    except RuntimeError as error:
        # torch wraps what ninja said in a RuntimeError; ninja has printed it already.
        if not isinstance(error.__cause__, subprocess.CalledProcessError):
            raise
        raise BaseError(
            f"archbuild: {error}: the compiler's own words stand above, after FAILED."
        ) from None


def _tell(selection: Selection) -> None:
    compiler = selection.compiler
    _log.info("archbuild: %s, asked for by %s", compiler.origin, selection.source)
    for choice in selection.choices:
        _log.info("archbuild:   %s  (%s)", choice.gencode.target, choice.reason)
    for note in selection.notes:
        _log.info("archbuild: note: %s", note)
    for warning in selection.warnings:
        _log.warning("archbuild: %s", warning)


def _nvcc_flags(extension: Any) -> NvccFlags:
    args = extension.extra_compile_args
    flags = args.get("nvcc", ()) if isinstance(args, dict) else args
    return parse_nvcc_flags(flags, f"the nvcc flags of {extension.name}")


def _says_native(extension: Any) -> bool:
    """Whether this extension alone asks for the GPUs of this machine."""
    archs = getattr(extension, "archs", None) or ""
    return "native" in archs.lower() or "native" in _nvcc_flags(extension).words


def _checked_host(flags: NvccFlags, chosen: Selected) -> str | None:
    host = named_host_compiler(flags, chosen.machine)
    toolkit = chosen.selection.compiler.toolkit
    if os.name != "nt" and toolkit is not None:
        any_version = allows_any_host(flags, chosen.machine)
        compiler = query_host_compiler(host or "g++")
        limits = read_host_limits(toolkit)
        check_host_compiler(compiler, limits, f"CUDA {toolkit.version}", any_version=any_version)
    return host


def _refuse_same_object(extension: Any) -> None:
    """Two sources of one name and folder would overwrite each other's object."""
    seen: dict[str, str] = {}
    for source in extension.sources:
        stem = os.path.splitext(source)[0]  # noqa: PTH122
        if stem in seen:
            raise BuildError(
                f"{seen[stem]} and {source} of {extension.name} would both be compiled to "
                f"{stem}.o.",
                "Rename one of them.",
            )
        seen[stem] = source


def _objects(sources: Sequence[str], compiler: Any, folder: str) -> list[Path]:
    return [Path(name) for name in compiler.object_filenames(sources, output_dir=folder)]


def _require_cuobjdump(machine: Machine) -> str | None:
    """The cuobjdump for the check, as far as ARCHBUILD_VERIFY wants one."""
    mode = parse_verify_mode(machine.variable("ARCHBUILD_VERIFY"))
    if mode is VerifyMode.OFF:
        _log.warning("archbuild: ARCHBUILD_VERIFY=off: nothing proves what is in this build.")
        return None
    if machine.cuobjdump is not None:
        return machine.cuobjdump
    said = "there is no cuobjdump here, so nothing proves what is in this build."
    if mode is VerifyMode.REQUIRE:
        raise BuildError(f"ARCHBUILD_VERIFY=require: {said}", _GET_CUOBJDUMP)
    _log.warning("archbuild: %s %s", said, _GET_CUOBJDUMP)
    return None


def _prove(
    toolkit: Toolkit, plans: Sequence[ExtensionPlan], cuobjdump: str, machine: Machine
) -> None:
    """Build and check the smoke kernel for these targets, unless that was done before."""
    for gencodes in dict.fromkeys(plan.selection.gencodes for plan in plans):
        words = [toolkit.release, *render_gencodes(gencodes), *map(repr, machine.variables)]
        name = fingerprint([toolkit.nvcc, cuobjdump], words)
        if is_remembered("smoke", name):
            continue
        report = smoke(toolkit, gencodes, cuobjdump=cuobjdump, gpus=(), run=False)
        if not report.ok:
            raise BuildError(
                "The smoke kernel could not be built and checked, so nothing else was tried: "
                f"{report.reason}",
                "Try it by itself: archbuild smoke",
            )
        remember("smoke", name)
        _log.info("archbuild: the smoke kernel holds every target")


def _with_archs(function: Callable[..., Any]) -> Callable[..., Any]:
    """torch's JIT functions, given explicit architectures and the packages' libraries."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        if not _is_cuda_call(bound.arguments) or _torch.IS_HIP_EXTENSION:
            return function(*args, **kwargs)
        given = bound.arguments
        given["extra_cuda_cflags"] = _jit_flags(list(given.get("extra_cuda_cflags") or []))
        links = _jit_links()
        if links is not None:
            given["extra_ldflags"] = [*(given.get("extra_ldflags") or []), f"-L{links}"]
        return function(*bound.args, **bound.kwargs)

    return wrapped


def _is_cuda_call(given: dict[str, Any]) -> bool:
    with_cuda = given.get("with_cuda")
    if with_cuda is not None:
        return bool(with_cuda)
    sources = given.get("sources") or []
    sources = [sources] if isinstance(sources, str) else sources
    return bool(given.get("cuda_sources")) or any(map(is_cuda_source, map(str, sources)))


def _jit_flags(flags: list[str]) -> list[str]:
    if parse_nvcc_flags(flags, "extra_cuda_cflags").names_archs:
        return flags
    warning = check_torch_match(_MACHINE)
    if warning:
        _log.warning("archbuild: %s", warning)
    selection = select_archs(toolkit=CUDA_HOME, config=read_config()).selection
    for text in (*unheeded(_MACHINE), *selection.warnings):
        _log.warning("archbuild: %s", text)
    return flags + render_gencodes(selection.gencodes)


def _jit_links() -> Path | None:
    toolkit = _MACHINE.toolkit
    if toolkit is None:
        return None
    return make_link_folder(toolkit.lib, cache_folder() / "lib" / fingerprint([toolkit.nvcc], []))


load = _with_archs(_torch.load)
load_inline = _with_archs(_torch.load_inline)
