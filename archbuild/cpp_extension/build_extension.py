"""torch's BuildExtension, planned, with explicit architectures and a check of the result."""

from __future__ import annotations

import errno
import logging
import subprocess
from collections.abc import Iterator, Sequence
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
from archbuild.build.torch_module import put_ninja_on_path, variables
from archbuild.build.verification import (
    VerifyMode,
    find_empty,
    find_lack,
    parse_verify_mode,
    refuse,
)
from archbuild.cpp_extension.checks import (
    checked_host_compiler,
    log_selection,
    object_files,
    own_flags,
    prove_toolchain,
    refuse_same_object,
    require_cuobjdump,
    says_native,
)
from archbuild.cpp_extension.torchs import MACHINE, TORCH
from archbuild.errors import ArchbuildError
from archbuild.probe.project import read_config
from archbuild.rules.request import unheeded
from archbuild.rules.torch_match import check_torch_match
from archbuild.services.select import Selected, select_archs

_log = logging.getLogger(__name__)

_EMPTY = (
    "archbuild: %s holds no kernel for %s, though it does for others (a guard on __CUDA_ARCH__?): "
    "a launch there gives error 98, invalid device function"
)


if TYPE_CHECKING:

    class _TorchBuildExtension:  # torch has no types that setuptools' ones would fit
        def __init__(self, *args: Any, **kwargs: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def build_extensions(self) -> None: ...
        def build_extension(self, ext: Any) -> None: ...
else:
    _TorchBuildExtension = TORCH.BuildExtension


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
        if TORCH.IS_HIP_EXTENSION:
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
        if plan is None or self._mode is VerifyMode.OFF:
            return
        try:
            self._verify(ext, plan, self._cuobjdump)
        except ArchbuildError:
            Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)
            raise

    def _add_links(self) -> None:
        """Let the linker find the toolkit's libraries, which a CUDAExtension links always."""
        toolkit = MACHINE.toolkit
        if toolkit is None:
            return
        links = make_link_folder(toolkit.lib, Path(self.build_temp).absolute() / "archbuild-lib")
        for extension in self.extensions if links is not None else ():
            extension.library_dirs.append(str(links))

    @contextmanager
    def _toolchain(self, extensions: Sequence[Any]) -> Iterator[None]:
        warning = check_torch_match(MACHINE)
        if warning:
            _log.warning("archbuild: %s", warning)
        for text in unheeded(MACHINE):
            _log.warning("archbuild: %s", text)
        gpus = any(map(says_native, extensions))
        chosen = select_archs(
            self.archs,
            toolkit=TORCH.CUDA_HOME,
            config=read_config(),
            gpus=gpus,
            name="archs of BuildExtension",
        )
        toolkit = chosen.selection.compiler.toolkit
        assert toolkit is not None
        log_selection(chosen.selection)
        for extension in extensions:
            self._plans[extension.name] = self._plan(extension, chosen)
        self._mode = parse_verify_mode(chosen.machine.variable("ARCHBUILD_VERIFY"))
        self._cuobjdump = require_cuobjdump(chosen.machine, self._mode)
        if self._cuobjdump is not None:
            prove_toolchain(toolkit, list(self._plans.values()), self._cuobjdump, chosen.machine)
        # The host compiler was held against this very toolkit; torch's table is of 2025.
        with variables({"TORCH_DONT_CHECK_COMPILER_ABI": "1"}):
            yield

    def _plan(self, extension: Any, chosen: Selected) -> ExtensionPlan:
        refuse_same_object(extension)
        wanted = chosen.selection
        archs = getattr(extension, "archs", None)
        if archs is not None:
            machine = chosen.machine
            name = f"archs of {extension.name}"
            wanted = select_archs(archs, machine=machine, name=name).selection
        nvcc = own_flags(extension)
        host = checked_host_compiler(nvcc, chosen)
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

    def _verify(self, ext: Any, plan: ExtensionPlan, cuobjdump: str | None) -> None:
        objects = object_files(ext.sources, self.compiler, self.build_temp)
        pairs = [(s, o) for s, o in zip(ext.sources, objects, strict=True) if is_cuda_source(s)]
        lacks = [
            find_lack(
                obj,
                src,
                plan.object_targets,
                cuobjdump,
                relocatable=plan.relocatable,
                is_object=True,
            )
            for src, obj in pairs
            if obj.exists()
        ]
        refuse([lack for lack in lacks if lack], f"{ext.name}, compiled")
        for source, empty in [(s, find_empty(o)) for s, o in pairs if o.exists()]:
            if empty:
                _log.warning(_EMPTY, source, ", ".join(map(str, empty)))
        library = Path(self.get_ext_fullpath(ext.name))
        linked = {"device_linked": plan.relocatable}
        lack = find_lack(library, library.name, plan.library_targets, cuobjdump, **linked)
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
