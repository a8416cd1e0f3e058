"""Names of a package's files that are the same in all its versions and builds."""

from __future__ import annotations

import re

# The folder of a wheel that installs elsewhere: package-1.0.data/purelib/
_DATA = re.compile(r"^[^/]+\.data/(?:purelib|platlib|data)/")
# What comes before the package where it is installed.
_SITE = re.compile(r"^.*/(?:site|dist)-packages/")
# The interpreter and platform in the name of an extension module.
_TAG = re.compile(
    r"\.(?:cpython-\d+[a-z]*(?:-[\w-]+)?|pypy\d+-pp\d+(?:-[\w-]+)?|cp\d+[a-z]*-\w+|abi\d+)"
    r"(?=\.(?:so|pyd)$)"
)
# A tool that repairs wheels puts a piece of a hash between name and suffix.
_HASH = re.compile(r"-[0-9a-f]{8,64}(?=\.(?:so|dll)\b)")
_SO_VERSION = re.compile(r"(?<=\.so)(?:\.\d+)+$")
# The same library for Windows; its name there has no "lib" in front.
_SUFFIXES = {".pyd": ".so", ".dll": ".so", ".lib": ".a", ".obj": ".o"}


def normalize_member(name: str) -> str:
    """The name of a file without version, interpreter, platform and hash.

    Args:
        name: A path in a wheel or below a folder.

    Examples:
        >>> normalize_member("pkg/_C.cpython-311-x86_64-linux-gnu.so")
        'pkg/_C.so'
        >>> normalize_member("pkg/_C.cp312-win_amd64.pyd")
        'pkg/_C.so'
        >>> normalize_member("pkg.libs/libcore-0f1e2d3c.so.1.2")
        'pkg.libs/core.so'
    """
    name = _SITE.sub("", name.replace("\\", "/"))
    name = _SO_VERSION.sub("", _TAG.sub("", _DATA.sub("", name)))
    name = _HASH.sub("", name)
    folder, slash, own = name.rpartition("/")
    stem, dot, suffix = own.rpartition(".")
    if not dot:
        return name
    suffix = _SUFFIXES.get(f".{suffix.lower()}", f".{suffix}")
    if suffix in (".so", ".a") and stem.startswith("lib"):
        stem = stem[len("lib") :]
    return f"{folder}{slash}{stem}{suffix}"
