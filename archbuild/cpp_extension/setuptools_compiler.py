"""What setuptools' compilers say of themselves."""

from __future__ import annotations

from typing import Any


def compiler_words(compiler: Any, *, debug: bool) -> tuple[str, ...]:
    """The program that compiles, with the flags that setuptools gives it always.

    Args:
        compiler: A UnixCCompiler, or setuptools' compiler for Microsoft's tools. The latter
            looks for them here, if it has not yet: its folders of headers are known after.
        debug: Whether ``build_ext --debug`` was said.
    """
    if getattr(compiler, "compiler_type", "unix") != "msvc":
        return tuple(compiler.compiler_so)
    if not compiler.initialized:
        compiler.initialize()
    options = compiler.compile_options_debug if debug else compiler.compile_options
    return (compiler.cc, *options)
