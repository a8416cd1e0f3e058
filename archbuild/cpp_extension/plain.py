"""Builds extensions without torch, in an environment that has it or has not."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError

from archbuild.build.flavour import plain_flavour
from archbuild.cpp_extension.building import find_libraries, prepare
from archbuild.cpp_extension.forcing import WithForce
from archbuild.cpp_extension.guarding import write_guards
from archbuild.cpp_extension.manifests import WithManifests
from archbuild.cpp_extension.plain_extension import add_toolkit, has_cuda, is_plain
from archbuild.cpp_extension.setup_errors import setup_errors
from archbuild.probe.machine import query_machine

_log = logging.getLogger(__name__)

if TYPE_CHECKING:

    class _BuildExt:  # setuptools' types would want its own of everything that is passed on
        extensions: list[Any]

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...
        def build_extensions(self) -> None: ...
        def get_ext_filename(self, ext_name: str) -> str: ...
else:
    _BuildExt = build_ext


class PlainBuildExtension(WithForce, WithManifests, _BuildExt):
    """setuptools' build_ext with nvcc, explicit architectures, and a check of the result.

    What ``archbuild.BuildExtension`` is where torch is not installed. It takes the options
    ``archs``, ``guard`` and ``no_python_abi_suffix`` by :meth:`with_options`.
    """

    archs: str | None = None

    @classmethod
    def with_options(cls, **options: Any) -> type[PlainBuildExtension]:
        """A subclass with these options, as torch's BuildExtension makes one."""

        class WithOptions(cls):  # type: ignore[valid-type,misc]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                kwargs.update(options)
                super().__init__(*args, **kwargs)

        return WithOptions

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.archs = kwargs.pop("archs", self.archs)
        self.guard = kwargs.pop("guard", self.guard)
        self._short_names = kwargs.pop("no_python_abi_suffix", False)
        kwargs.pop("use_ninja", None)  # torch's; here there is nothing else
        super().__init__(*args, **kwargs)

    def build_extensions(self) -> None:
        """Build those with CUDA by archbuild's engine, the others as setuptools does.

        Raises:
            setuptools.errors.BaseError: With one sentence and the cure.
        """
        self.parallel = None  # ninja runs the passes of an extension side by side
        everything = self.extensions
        ours = [extension for extension in everything if has_cuda(extension) or is_plain(extension)]
        self.extensions = [extension for extension in everything if extension not in ours]
        try:
            with setup_errors():
                super().build_extensions()
                build_plain(self, ours)
        finally:
            self.extensions = everything
        with setup_errors():
            write_guards(self)

    def get_ext_filename(self, ext_name: str) -> str:
        """The library's file; without Python's tag where ``no_python_abi_suffix`` is set."""
        name = super().get_ext_filename(ext_name)
        if not self._short_names:
            return name
        parts = name.split(".")
        return ".".join([*parts[:-2], parts[-1]]) if len(parts) > 2 else name


def build_plain(command: Any, extensions: Sequence[Any]) -> None:
    """Build extensions with nothing of torch's.

    Args:
        command: A ``build_ext`` command, torch's own or setuptools'.
        extensions: Those to build; where one has no CUDA sources setuptools compiles it.

    Raises:
        BaseError: If one cannot be built, or is not good.
    """
    cuda = [extension for extension in extensions if has_cuda(extension)]
    builder = prepare(command, cuda, plain_flavour()) if cuda else None
    for extension in extensions:
        with _may_fail(extension):
            if builder is None or extension not in cuda:
                _let_setuptools(command, extension)
                continue
            add_toolkit(extension, builder.setting.toolkit)
            builder.build(command, extension, partial(command.build_extension, extension))


@contextmanager
def _may_fail(extension: Any) -> Iterator[None]:
    """Go on without an extension that is optional, as setuptools does."""
    try:
        with setup_errors():
            yield
    except BaseError as error:
        if not getattr(extension, "optional", False):
            raise
        _log.warning("archbuild: %s is optional, and was not built: %s", extension.name, error)


def _let_setuptools(command: Any, extension: Any) -> None:
    """Build one in which nothing is for nvcc: it may call CUDA's runtime all the same."""
    args = extension.extra_compile_args
    if isinstance(args, dict):
        extension.extra_compile_args = list(args.get("cxx", ()))
    toolkit = query_machine(gpus=False).toolkit
    if toolkit is not None:
        find_libraries(command, [extension], toolkit)
        add_toolkit(extension, toolkit)
    command.build_extension(extension)
