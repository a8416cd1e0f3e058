"""Dataclasses of the model to JSON and back, with a version."""

from __future__ import annotations

import json
import types
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from archbuild.errors import RecordError
from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.installed import Installed
from archbuild.model.machine import Machine
from archbuild.model.surroundings import Surroundings
from archbuild.model.version import CudaVersion, DriverRelease

MACHINE_SCHEMA = "archbuild.machine/1"

# These have one well-known spelling, which reads better in JSON than their parts.
_SPELLED = (Arch, ComputeCapability, CudaVersion, DriverRelease)

# Types that modules of the model name without importing them.
_LATE = {"Installed": Installed, "Surroundings": Surroundings}


def encode(value: object) -> Any:
    """A value of the model as what ``json`` can write."""
    if isinstance(value, _SPELLED):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return [encode(item) for item in sorted(value)]
    return value


def decode(kind: Any, data: Any, place: str = "record") -> Any:
    """What :func:`encode` wrote, as a value of ``kind``.

    Args:
        kind: A dataclass or the type of one of its fields.
        data: What ``json`` read.
        place: Where in the record this is, for the message.

    Raises:
        RecordError: If the data does not fit the type.
    """
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(kind, data, place)
    if origin is tuple:
        return _decode_tuple(kind, data, place)
    if kind in _SPELLED or (isinstance(kind, type) and issubclass(kind, Enum)):
        return _decode_spelled(kind, data, place)
    if is_dataclass(kind) and isinstance(kind, type):
        return _decode_dataclass(kind, data, place)
    if not isinstance(kind, type) or type(data) is not kind:
        raise RecordError(f"{place} holds {data!r:.60}, which does not belong there.")
    return data


def _decode_union(kind: Any, data: Any, place: str) -> Any:
    options = [option for option in get_args(kind) if option is not type(None)]
    if data is None and len(options) < len(get_args(kind)):
        return None
    return decode(options[0], data, place)


def _decode_tuple(kind: Any, data: Any, place: str) -> Any:
    if not isinstance(data, list):
        raise RecordError(f"{place} should be a list, not {data!r:.60}.")
    inner = get_args(kind)
    if len(inner) == 2 and inner[1] is Ellipsis:
        inner = (inner[0],) * len(data)
    if len(inner) != len(data):
        raise RecordError(f"{place} should hold {len(inner)} values, not {len(data)}.")
    pairs = enumerate(zip(inner, data, strict=True))
    return tuple(decode(item, value, f"{place}[{i}]") for i, (item, value) in pairs)


def _decode_spelled(kind: Any, data: Any, place: str) -> Any:
    try:
        return kind(data) if issubclass(kind, Enum) else kind.parse(data)
    except (ValueError, TypeError, AttributeError):
        message = f"{place} holds {data!r:.60}, which is no {kind.__name__}."
        raise RecordError(message) from None


def _decode_dataclass(kind: Any, data: Any, place: str) -> Any:
    if not isinstance(data, dict):
        raise RecordError(f"{place} should be an object, not {data!r:.60}.")
    hints = get_type_hints(kind, localns=_LATE)
    values: dict[str, Any] = {}
    for field in fields(kind):
        if field.name in data:
            values[field.name] = decode(
                hints[field.name], data[field.name], f"{place}.{field.name}"
            )
        elif field.default is MISSING and field.default_factory is MISSING:
            raise RecordError(f"{place} lacks {field.name!r}.")
    return kind(**values)


def render_machine(machine: Machine) -> str:
    """The machine as JSON text, stable in order, ending in a newline.

    The text is ASCII: a path or a variable may hold bytes that are no UTF-8,
    and what Python makes of them could not be written to a file otherwise.
    """
    document = {"schema": MACHINE_SCHEMA, "machine": encode(machine)}
    return json.dumps(document, indent=2) + "\n"


def parse_machine(text: str, name: str) -> Machine:
    """A machine from the JSON text that :func:`render_machine` wrote.

    Args:
        text: The JSON.
        name: The file it came from, for messages.

    Raises:
        RecordError: If it is damaged, not a machine, or of a newer schema.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{name} is no machine record: {error}.", _ADVICE) from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or not schema.startswith("archbuild.machine/"):
        raise RecordError(f"{name} is no machine record of archbuild.", _ADVICE)
    if schema != MACHINE_SCHEMA:
        raise RecordError(
            f"{name} is of schema {schema}; this archbuild reads {MACHINE_SCHEMA}.",
            "Update archbuild: pip install -U archbuild",
        )
    machine = decode(Machine, document.get("machine"), f"{name}: machine")
    assert isinstance(machine, Machine)
    return machine


_ADVICE = "Write one with: archbuild gpus --save FILE"
