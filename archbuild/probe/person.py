"""Whose machine this is, so that a report can leave it out."""

from __future__ import annotations

import getpass
import os
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Person:
    """Who must not be named, as far as the system tells.

    Args:
        user: The name in this system; empty: not known.
        home: The folder.
        host: The machine's name.
    """

    user: str = ""
    home: str = ""
    host: str = ""


def query_person() -> Person:
    """Who runs this process, and on which host; what cannot be told is empty."""
    return Person(_user(), _home(), _host())


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _home() -> str:
    try:
        return str(Path.home())
    except (OSError, RuntimeError):
        return os.environ.get("HOME", "")


def _host() -> str:
    try:
        return socket.gethostname()
    except OSError:
        return ""
