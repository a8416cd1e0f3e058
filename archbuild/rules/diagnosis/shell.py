"""Commands that set a variable, for the shell of the machine's system; pure."""

from __future__ import annotations

import shlex

from archbuild.model.machine import Machine


def set_variable(machine: Machine, name: str, value: str) -> str:
    """The command that sets a variable in the shell that people have there.

    Args:
        machine: With its system.
        name: The variable.
        value: Its value.
    """
    if machine.system == "win32":
        return f"$env:{name} = '{value}'"
    return f"export {name}={shlex.quote(value)}"


def unset_variable(machine: Machine, name: str) -> str:
    """The command that takes a variable away."""
    return f"Remove-Item Env:{name}" if machine.system == "win32" else f"unset {name}"
