"""Tells a person's ``--force`` from torch's own, which it sets for every build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    class _Command:
        force: Any

        def get_finalized_command(self, name: str) -> Any: ...
        def finalize_options(self) -> None: ...
else:
    _Command = object


class WithForce(_Command):
    """A ``build_ext`` that knows whether everything is to be built again."""

    #: Whether a person asked for it, by ``build_ext --force`` or ``build --force``.
    from_scratch: bool = False

    def finalize_options(self) -> None:
        """Look at ``--force`` before torch sets it: ninja is to be asked in every build."""
        asked = self.force
        super().finalize_options()
        self.from_scratch = bool(asked or self.get_finalized_command("build").force)
