"""Whether the tag of a wheel says what its extension is: for one Python, or for many.

Two switches have to agree, and nobody checks it: ``py_limited_api=True`` of the
extension, which compiles it, and the option of the same name of bdist_wheel,
which names the wheel.
"""

from __future__ import annotations

import re

#: The oldest Python that torch compiles for with ``py_limited_api=True``: its
#: ``min_supported_cpython``, 0x030A0000 in torch 2.14.1, read 2026-11-30.
OLDEST = "cp310"

_TAG = re.compile(r"cp3(\d+)")


def check_wheel_tag(
    ext_limited: bool, wheel_option: str | bool | None, oldest: str = OLDEST
) -> str | None:
    """What is wrong between an extension and the tag of its wheel.

    Args:
        ext_limited: Whether the extension has ``py_limited_api=True``.
        wheel_option: The option ``py_limited_api`` of bdist_wheel, as it was
            given; None or False where it wasn't.
        oldest: The tag of the oldest Python that the extension is compiled for.

    Returns:
        A sentence or two that follow the extension's name; None: they agree.
    """
    if not ext_limited and not wheel_option:
        return None
    cure = f'options={{"bdist_wheel": {{"py_limited_api": "{oldest}"}}}} in setup()'
    if not wheel_option:
        return (
            "py_limited_api=True makes a library for many Pythons, but its wheel would be "
            f"tagged for this one alone. Add {cure}."
        )
    match = _TAG.fullmatch(wheel_option) if isinstance(wheel_option, str) else None
    if match is None:
        return (
            f"py_limited_api={wheel_option!r} of bdist_wheel is no tag of a Python. Write {cure}."
        )
    if not ext_limited:
        return (
            f"the wheel would be tagged {wheel_option}-abi3, for many Pythons, but the library "
            "loads into this one alone. Pass py_limited_api=True to the extension, or take the "
            "option away from bdist_wheel."
        )
    if int(match[1]) < int(oldest.removeprefix("cp3")):
        return (
            f"the wheel would be tagged {wheel_option}-abi3, but the library is compiled for "
            f"{oldest} and newer. Write {cure}."
        )
    return None


def tag_of_version(number: str) -> str:
    """The tag of a Python version as its C macro has it.

    Args:
        number: ``0x030A0000``, torch's ``min_supported_cpython``.

    Returns:
        ``cp310``.
    """
    value = int(number, 16)
    return f"cp{value >> 24}{value >> 16 & 0xFF}"
