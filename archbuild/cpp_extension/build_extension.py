"""torch's BuildExtension, planned, with explicit architectures and a check of the result."""

from __future__ import annotations

import gc
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archbuild.build.extension_plan import is_cuda_source
from archbuild.build.torch_module import put_ninja_on_path, variables
from archbuild.cpp_extension.building import Builder, find_libraries, prepare
from archbuild.cpp_extension.forcing import WithForce
from archbuild.cpp_extension.guarding import write_guards
from archbuild.cpp_extension.manifests import WithManifests
from archbuild.cpp_extension.plain import build_plain
from archbuild.cpp_extension.plain_extension import is_plain
from archbuild.cpp_extension.setup_errors import setup_errors
from archbuild.cpp_extension.torchs import MACHINE, TORCH, torch_flavour
from archbuild.rules.checking.wheel_tag import check_wheel_tag, tag_of_version
from archbuild.rules.selecting.torch_match import check_torch_match

_log = logging.getLogger(__name__)


if TYPE_CHECKING:

    class _TorchBuildExtension:  # torch has no types that setuptools' ones would fit
        extensions: list[Any]

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def build_extensions(self) -> None: ...
        def build_extension(self, ext: Any) -> None: ...
else:
    _TorchBuildExtension = TORCH.BuildExtension


class BuildExtension(WithForce, WithManifests, _TorchBuildExtension):
    """torch's BuildExtension with explicit architectures, and a check of the result.

    It takes torch's options (``use_ninja``, ``no_python_abi_suffix``) and, by
    ``BuildExtension.with_options(archs=..., guard=True)``, an architecture list, and
    whether the package gets a file that says why its code does not run, where it does
    not. Extensions without CUDA sources, and those for ROCm, are built as torch builds
    them.
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
        self._builder: Builder | None = None
        self._build_one_by_one()
        everything = self.extensions
        self.extensions = [extension for extension in everything if not is_plain(extension)]
        try:
            with setup_errors():  # these first: torch leaves its marks on the compiler
                build_plain(self, [extension for extension in everything if is_plain(extension)])
            if self.extensions:
                self._build_torchs()
        finally:
            self.extensions = everything
        with setup_errors():
            write_guards(self)
        # torch lives until the process ends, which need not look through all of it then.
        gc.freeze()

    def _build_one_by_one(self) -> None:
        """Do without setuptools' threads: ninja runs the passes of an extension side by side."""
        if getattr(self, "parallel", None):
            _log.info("archbuild: extensions are built one by one, their passes side by side")
            self.parallel = None

    def _build_torchs(self) -> None:
        cuda = [e for e in self.extensions if any(map(is_cuda_source, e.sources))]
        if TORCH.IS_HIP_EXTENSION:
            super().build_extensions()
            return
        with setup_errors():
            others = [extension for extension in self.extensions if extension not in cuda]
            if MACHINE.toolkit is not None:  # torch links CUDA's runtime to any CUDAExtension
                find_libraries(self, others, MACHINE.toolkit)
            if cuda:
                self._prepare(cuda)
            # The host compiler was held against this very toolkit; torch's table is of 2025.
            with variables({"TORCH_DONT_CHECK_COMPILER_ABI": "1"} if cuda else {}):
                super().build_extensions()

    def build_extension(self, ext: Any) -> None:
        """Build one extension; a library that lacks a target is not left behind."""
        build = partial(super().build_extension, ext)
        if self._builder is None or ext.name not in self._builder.plans:
            build()
            return
        with setup_errors():  # here, since setuptools lets an optional extension fail
            self._builder.build(self, ext, build)

    def _prepare(self, extensions: Sequence[Any]) -> None:
        warning = check_torch_match(MACHINE)
        if warning:
            _log.warning("archbuild: %s", warning)
        import torch  # noqa: PLC0415  (loaded already by TORCH; only its version is wanted)

        self._builder = prepare(
            self,
            extensions,
            torch_flavour(),
            toolkit=TORCH.CUDA_HOME,
            torch=torch.__version__,
            torch_folder=str(Path(torch.__file__).parent),
            machine=MACHINE,
        )
        for extension in extensions:
            self._check_tag(extension)
        self._warn_of_replaced_parts()

    def _warn_of_replaced_parts(self) -> None:
        """Warn where a setup.py has put a function of its own into torch's module.

        Some do so to give single sources their own -gencode flags, which only torch's own
        build would see.
        """
        writer = getattr(TORCH, "_write_ninja_file", None)
        if writer is not None and writer.__module__ != TORCH.__name__:
            _log.warning(
                "archbuild: this setup.py replaces torch's _write_ninja_file, which is not called "
                "here: whatever it does for single sources is not done. Say it with "
                'Source("x_sm80.cu", archs="8.0")'
            )

    def _check_tag(self, extension: Any) -> None:
        """Warn where the wheel's tag and the limited API of the extension don't fit."""
        if "bdist_wheel" not in self.distribution.commands:
            return
        option = self.distribution.get_option_dict("bdist_wheel").get("py_limited_api")
        oldest = tag_of_version(TORCH.min_supported_cpython)
        limited = bool(getattr(extension, "py_limited_api", False))
        said = check_wheel_tag(limited, option[1] if option else None, oldest)
        if said:
            _log.warning("archbuild: %s: %s", extension.name, said)
