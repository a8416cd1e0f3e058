"""What is added to the flags of an extension: torch's part, or none."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass

from archbuild.build.msvc import PLAIN_MSVC, MsvcFlags, cl_words, msvc_link_words, msvc_nvcc_words
from archbuild.build.plan import CudaUnit, HostUnit
from archbuild.build.platform import POSIX, Platform, platform_of
from archbuild.build.torch_flags import CompileCall, host_words, link_words, nvcc_words

_C_SUFFIX = ".c"


@dataclass(frozen=True)
class Flavour:
    """How the compilers of an extension are called.

    Args:
        cxx: The words that call the C++ compiler; on Windows setuptools' cl is called.
        standard: The C++ standard for an extension that names none; empty: the compiler's.
        nvcc: Flags that nvcc gets always.
        plain_c: Whether sources of C are compiled as C, by setuptools' own compiler;
            torch compiles them as C++. On Windows they always are.
        platform: What the compilers are called on.
        msvc: What every compile gets on Windows.
    """

    cxx: tuple[str, ...]
    standard: str = ""
    nvcc: tuple[str, ...] = ()
    plain_c: bool = False
    platform: Platform = POSIX
    msvc: MsvcFlags = PLAIN_MSVC

    def unit(self, source: str, call: CompileCall, *, is_cuda: bool) -> CudaUnit | HostUnit:
        """One source with its compiler and flags."""
        if self.platform.is_windows:
            return self._windows_unit(source, call, is_cuda=is_cuda)
        if is_cuda:
            return CudaUnit(source, nvcc_words(call, self.nvcc, self.standard))
        if self.plain_c and source.endswith(_C_SUFFIX):
            command, after = host_words(call, call.compiler[:1], "")
            return HostUnit(source, command, tuple(w for w in after if not _is_standard(w)))
        return HostUnit(source, *host_words(call, self.cxx, self.standard))

    def _windows_unit(
        self, source: str, call: CompileCall, *, is_cuda: bool
    ) -> CudaUnit | HostUnit:
        if is_cuda:
            return CudaUnit(source, msvc_nvcc_words(call, self.nvcc, self.msvc, self.standard))
        plain_c = source.endswith(_C_SUFFIX)
        return HostUnit(source, *cl_words(call, self.msvc, self.standard, plain_c=plain_c))

    def device_link(self, call: CompileCall) -> tuple[str, ...] | None:
        """nvcc's flags for the device link; None where the extension has none."""
        if self.platform.is_windows:
            return msvc_link_words(call, self.nvcc, self.msvc)
        return link_words(call, self.nvcc)

    def host(self, call: CompileCall) -> str:
        """The program that compiles C++."""
        return call.compiler[0] if self.platform.is_windows else self.cxx[0]


def _is_standard(word: str) -> bool:
    """Whether a flag names a standard of C++, which a C compiler would not take."""
    return word.startswith(("-std=c++", "-std=gnu++"))


def plain_flavour() -> Flavour:
    """That of an extension without torch."""
    cxx = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    return Flavour(tuple(cxx), plain_c=True, platform=platform_of(os.name))
