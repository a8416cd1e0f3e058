"""Errors in the form that setuptools prints as one line."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from archbuild.errors import ArchbuildError


@contextmanager
def setup_errors() -> Iterator[None]:
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
