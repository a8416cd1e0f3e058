"""cuobjdump beside the native reader: asked about the same files, or in its place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path

from archbuild.errors import ArchbuildError
from archbuild.model.image import DeviceFile, FileFormat
from archbuild.rules.checking.agreement import Agreement, Answer, compare_readers
from archbuild.rules.checking.verify_outcome import SecondReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archbuild.binary.second import Look

#: The kinds of files into which cuobjdump sees on every system.
_ELSEWHERE = (FileFormat.ELF, FileFormat.ARCHIVE, FileFormat.CUBIN, FileFormat.FATBIN)


@dataclass(frozen=True)
class OtherReader:
    """One cuobjdump.

    Args:
        cuobjdump: The tool; None: there is none.
        several: Whether several paths are read, so that the members of an archive
            bear its name.
    """

    cuobjdump: str | None
    several: bool

    @property
    def name(self) -> str:
        """``cuobjdump 13.5.37``; empty where there is none."""
        if self.cuobjdump is None:
            return ""
        from archbuild.binary.cuobjdump import read_version  # noqa: PLC0415 - slow to import

        return f"cuobjdump {read_version(self.cuobjdump)}"

    def sum_up(self, agreements: Sequence[Agreement]) -> SecondReader:
        """What came of asking it as well."""
        if self.cuobjdump is None:
            return SecondReader(note="there is no cuobjdump here")
        return SecondReader(
            self.name,
            sum(one.agreed for one in agreements),
            sum(one.images for one in agreements),
            tuple(reason for one in agreements for reason in one.unread),
            tuple(reason for one in agreements for reason in one.partly),
        )

    def compare(self, path: str, files: Sequence[DeviceFile]) -> Agreement:
        """Ask it about the same files, and hold both answers together.

        Args:
            path: What was read.
            files: What the native reader saw, by the names that people get to see.
        """
        if self.cuobjdump is None:
            return Agreement()
        kinds = _ELSEWHERE if os.name != "nt" else (*_ELSEWHERE, FileFormat.PE, FileFormat.COFF)
        names = {normpath(file.path) for file in files if file.format in kinds}
        looks: dict[str, Look] = {}
        if names:
            within = f"{path}/" if self.several and not Path(path).is_dir() else ""
            with suppress(ArchbuildError):
                for look in self.ask(path, lambda name: normpath(name) in names, prefix=within):
                    looks[normpath(look.path)] = look
        pairs = ((file, looks.get(normpath(file.path))) for file in files)
        answers = (Answer(f, k.file, k.reason, k.blind) if k else Answer(f) for f, k in pairs)
        return compare_readers(answers, self.name)

    def ask(
        self, path: str, wanted: Callable[[str], bool], *, kernels: bool = False, prefix: str = ""
    ) -> Iterator[Look]:
        """What it sees in a path, file by file.

        Args:
            path: What to read.
            wanted: Whether to ask about a file, by its name.
            kernels: Also the names of the kernels.
            prefix: What stands before the names of an archive's members.
        """
        from archbuild.binary.second import look_again  # noqa: PLC0415 - often not needed

        assert self.cuobjdump is not None
        return look_again(path, self.cuobjdump, wanted, kernels=kernels, prefix=prefix)
