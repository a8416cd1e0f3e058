"""Images of one fatbin, which mostly hold the same kernels.

They are made from one source, for several architectures. The kernels of one are proved
by its symbols (:mod:`archbuild.binary.beginning`). Of another that names the same
constant banks in the same order, these names are enough: they stand before the symbols,
so that only half as much has to be inflated, and nothing has to be looked up.
"""

from __future__ import annotations

from collections import deque

from archbuild.binary.beginning import Beginning, FirstSymbols
from archbuild.binary.contents import Depth

# So many different lists of kernels are remembered of one fatbin: mostly there is one.
_MOST = 4


def siblings(depth: Depth) -> Siblings | None:
    """What a fatbin's images share at this depth; None where each is read by itself."""
    return Siblings() if depth is Depth.NAMES else None


class Siblings:
    """The kernels of the images of one fatbin that were proved so far."""

    def __init__(self) -> None:
        self._proved: deque[tuple[list[bytes], FirstSymbols]] = deque(maxlen=_MOST)

    def symbols(self, beginning: Beginning) -> FirstSymbols | None:
        """The kernels of one more image, None where they cannot be told.

        Args:
            beginning: Of an image of this fatbin.
        """
        banks = beginning.banks()
        for known, symbols in self._proved:
            if known == banks:
                return symbols
        own = beginning.symbols()
        if banks and own is not None:
            self._proved.append((banks, own))
        return own
