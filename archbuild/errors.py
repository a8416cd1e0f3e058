"""Every error that archbuild raises on purpose, as one tree.

::

    ArchbuildError                  base; carries an exit code and an advice
    |-- UsageError            (2)   what was asked for makes no sense
    |   |-- ArchListError           a piece of an architecture list
    |   |-- UnsupportedTargetError  this nvcc cannot build that target
    |   `-- ConfigError             [tool.archbuild] in a pyproject.toml
    |-- UnreadableError       (3)   a file, a tool or a record cannot be read
    |   |-- BinaryError             a library, object, wheel or fatbin
    |   |   `-- BlindReaderError    sound, but not for this reader to judge
    |   |-- RecordError             a saved machine
    |   `-- ToolError               nvcc, cuobjdump and their kind
    |-- FailedError           (1)   it was read, and it is wrong
    |   `-- BuildError              a build that must not be shipped
    `-- NotKnownError         (4)   not enough is known to say
        |-- NoGpuError
        |-- NoToolkitError
        `-- NoTorchError

The faces turn any of them into one sentence and its exit code; nothing else
in the package prints or exits.
"""

from __future__ import annotations


class ArchbuildError(Exception):
    """An error with one clear sentence, a cure and an exit code.

    Args:
        message: One sentence that names the thing and the place.
        advice: What the person can do about it; may be empty.
    """

    exit_code = 1

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message} {self.advice}" if self.advice else self.message


class UsageError(ArchbuildError):
    """What was asked for makes no sense."""

    exit_code = 2


class ArchListError(UsageError):
    """A piece of an architecture list that nobody can read."""


class UnsupportedTargetError(UsageError):
    """A target that was asked for and that this nvcc cannot build."""


class ConfigError(UsageError):
    """A ``[tool.archbuild]`` table that cannot be used."""


class UnreadableError(ArchbuildError):
    """A file or a machine that cannot be read."""

    exit_code = 3


class BinaryError(UnreadableError):
    """A library, object, wheel or fatbin that cannot be read."""


class BlindReaderError(BinaryError):
    """A sound file whose device code this reader cannot see: no verdict."""


class RecordError(UnreadableError):
    """A saved machine that is damaged, or newer than this archbuild."""


class ToolError(UnreadableError):
    """A tool (nvcc, cuobjdump) that fails, hangs or prints garbage."""


class FailedError(ArchbuildError):
    """Something was read, and it is wrong."""

    exit_code = 1


class BuildError(FailedError, RuntimeError):
    """A build whose result must not be shipped.

    A RuntimeError as well: callers of torch's ``load`` catch that.
    """


class NotKnownError(ArchbuildError):
    """Not enough is known to say."""

    exit_code = 4


class NoGpuError(NotKnownError):
    """A GPU is needed for the answer, and there is none."""


class NoToolkitError(NotKnownError):
    """A CUDA Toolkit is needed for the answer, and there is none."""


class NoTorchError(NotKnownError):
    """A torch built with CUDA is needed for the answer, and there is none."""
