"""``python -m archbuild``."""

from __future__ import annotations

from archbuild.cli.main import program

if __name__ == "__main__":
    program()
