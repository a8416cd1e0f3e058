"""The GPUs of a machine as plain text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from archbuild.model.machine import Driver, Gpu, Machine

# The absences which explain a missing GPU or driver; others are about building.
_SOURCES = ("nvml", "cuda driver", "nvidia-smi")
_HEAD = ("#", "GPU", "capability", "memory", "CUDA")
_GAP = 2
# Below this width a UUID has a line of its own.
_UUID_WIDTH = 40
_NAME_WIDTH = 20
_LEAST_WIDTH = 50


def render_gpus(machine: Machine, width: int = 80) -> str:
    """A table of the GPUs, which CUDA sees, the driver, and what could not be read.

    Args:
        machine: The machine.
        width: The longest line in columns; fewer than 50 count as 50.

    Returns:
        Lines, the last with its newline.
    """
    width = max(width, _LEAST_WIDTH)
    lines = [_driver_line(machine.driver), ""]
    lines += _table(machine.gpus, width) if machine.gpus else ["No NVIDIA GPU was found."]
    notes = list(_notes(machine))
    if notes:
        lines.append("")
    for note in notes:
        lines += textwrap.wrap(
            _printable(note), width, subsequent_indent="  ", break_on_hyphens=False
        )
    return "\n".join(lines) + "\n"


def _printable(text: str) -> str:
    # A record comes from another machine, and its names from there.
    return "".join(c if c.isprintable() else "?" for c in text)


def _driver_line(driver: Driver | None) -> str:
    if driver is None:
        return "Driver: none found"
    release = driver.release or "release unknown"
    return f"Driver: {release}, for CUDA up to {driver.cuda or 'an unknown version'}"


def _table(gpus: tuple[Gpu, ...], width: int) -> list[str]:
    rows = [tuple(map(_printable, _cells(gpu))) for gpu in gpus]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    others = sum(widths) - widths[1] + _GAP * (len(widths) - 1)
    beside = others + _NAME_WIDTH + _GAP + _UUID_WIDTH <= width
    room = width - others - (_GAP + _UUID_WIDTH if beside else 0)
    widths[1] = max(len(_HEAD[1]), min(widths[1], room))
    lines = [_line(_HEAD, widths) + (" " * _GAP + "UUID" if beside else "")]
    for gpu, row in zip(gpus, rows, strict=True):
        uuid = _printable(gpu.uuid) or "UUID unknown"
        line = _line(row, widths)
        lines += [line + " " * _GAP + uuid] if beside else [line, " " * (widths[0] + _GAP) + uuid]
    return [line.rstrip() for line in lines]


def _cells(gpu: Gpu) -> tuple[str, str, str, str, str]:
    is_slice = gpu.uuid.startswith("MIG-")
    index = "-" if gpu.index is None else str(gpu.index)
    name = gpu.name if is_slice or not gpu.mig else f"{gpu.name} (MIG on)"
    return (
        "" if is_slice else index,
        name,
        str(gpu.capability or "unknown"),
        _memory(gpu.memory),
        _seen(gpu),
    )


def _memory(size: int | None) -> str:
    """Gibibytes, with one digit where the first alone would mislead."""
    if size is None:
        return "unknown"
    gibibytes = size / (1 << 30)
    return f"{gibibytes:.0f} GiB" if gibibytes >= 10 else f"{gibibytes:.1f} GiB"


def _seen(gpu: Gpu) -> str:
    if gpu.visible:
        return f"as {gpu.cuda_index}"
    return "unknown" if gpu.visible is None else "no"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return (" " * _GAP).join(_cut(cell, size).ljust(size) for cell, size in pairs)


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: max(0, size - 3)]}..."[:size]


def _notes(machine: Machine) -> Iterator[str]:
    hidden = [gpu for gpu in machine.gpus if gpu.visible is False and not gpu.mig]
    wish = dict(machine.variables).get("CUDA_VISIBLE_DEVICES")
    if hidden and wish is not None:
        yield (
            f"CUDA sees {sum(g.visible is True for g in machine.gpus)} of these: "
            f"CUDA_VISIBLE_DEVICES is {wish or 'set and empty'}."
        )
    elif hidden:
        yield f"CUDA does not see {len(hidden)} of these."
    for absence in machine.absences:
        if absence.what in (*_SOURCES, "mig") or absence.what.startswith("gpu "):
            yield f"{absence.what}: {absence.reason}."
