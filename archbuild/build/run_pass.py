"""Runs one edge of a build, as a program of its own: time, memory, and a second try.

ninja calls it with a file that says what to run. It needs nothing but the standard
library and imports little of it, since it starts once for each pass.

An output that comes out as it was keeps its time, so that nothing after it runs again.
Large files between two passes are emptied once they were used, and made again where they
are wanted after all. A command that was killed, as the system does when memory runs out,
is tried once more while nothing else runs. Words of a command too long for Windows are
written to a file, and the list of headers that Microsoft's compiler makes becomes a depfile.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

try:
    import fcntl
    import resource
except ImportError:  # Windows has neither
    fcntl = None  # type: ignore[assignment]

# How compiler drivers say that one of the programs they called was killed; Microsoft's
# compiler, that its heap is at its end.
_KILLED = (
    b"Killed signal terminated program",
    b"died due to signal 9",
    b"signal 9 (Kill signal)",
    b" C1060",
)
_SIGKILL = 9  # Windows has no name for it
# Bytes; a compiler says more only where there is more room.
_ROOM = 1 << 13
_BEFORE = ".before"
#: Behind the name of a record: the edge has begun, and ninja may not know yet how it ended.
BEGUN = ".begun"
_DIGEST = ".sha256"


def main(spec_file: str) -> int:
    """Run what the file says; the status for ninja."""
    # pathlib is slow to load. A path may hold bytes that are no UTF-8.
    with open(spec_file, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        spec: dict[str, Any] = json.load(file)
    with open(spec["aside"], encoding="utf-8") as file:  # noqa: PTH123
        spec.update(json.load(file))
    spec["commands"][-1] += spec["tuning"]
    os.environ.update(spec["environ"])
    spec["about"]["began"] = time.time()
    turn = _Turn(spec["lock"], holds=spec["holds"])
    turn.shared()
    _mark(spec)
    status, output, command = _attempt(spec)
    retried = _was_killed(status, output)
    if retried:
        turn.alone()
        status, output, command = _attempt(spec)
    turn.over()
    spec["about"].update(status=status, retried=retried, command=command)
    _record(spec, output)
    sys.stdout.buffer.write(output)
    # ninja knows the status of signals by what shells make of them.
    return 128 - status if status < 0 else status


def _mark(spec: dict[str, Any]) -> None:
    """Note what is about to be made: a build that is killed leaves the note behind."""
    try:
        _make_folder(spec["record"])
        with open(spec["record"] + BEGUN, "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(spec["outputs"], file)
    except OSError:  # a full disk: the compiler will say so
        return


class _Turn:
    """A place among the edges that run, or the only one.

    Two locks: the second is for waiting, so that one that wants to be alone is not
    passed by all that come after it.
    """

    def __init__(self, path: str, *, holds: bool) -> None:
        self._files = [os.open(path + end, os.O_RDWR | os.O_CREAT, 0o666) for end in ("", ".wait")]
        # A compiler whose parents were killed still writes, and the next build must wait for it.
        os.set_inheritable(self._files[0], holds)

    def shared(self) -> None:
        if fcntl is not None:
            fcntl.flock(self._files[1], fcntl.LOCK_SH)
            fcntl.flock(self._files[0], fcntl.LOCK_SH)
            fcntl.flock(self._files[1], fcntl.LOCK_UN)

    def alone(self) -> None:
        if fcntl is not None:
            fcntl.flock(self._files[0], fcntl.LOCK_UN)
            fcntl.flock(self._files[1], fcntl.LOCK_EX)
            fcntl.flock(self._files[0], fcntl.LOCK_EX)

    def over(self) -> None:
        for file in self._files:
            os.close(file)


def _attempt(spec: dict[str, Any]) -> tuple[int, bytes, list[str]]:
    """Run the commands once; outputs that did not change keep their times."""
    outputs = spec["outputs"]
    for path in outputs:
        _make_folder(path)
        _move(path, path + _BEFORE)
    _write_responses(spec["responses"])
    status, said, command = _restore(spec)
    if status == 0:
        status, output, command = _run_all(spec["commands"], spec["log"])
        said += output
    if status == 0 and spec["listing"]:
        status, output = _make_depfile(outputs[0], *spec["listing"])
        said += output
    for path in outputs:
        _settle(path, good=status == 0, by_digest=path in spec["emptied"])
    if status == 0:
        for scratch in spec["scratch"]:
            _empty(scratch["made"])
        for path in spec["useless"]:
            _remove(path)
    return status, said, command


def _write_responses(responses: list[dict[str, str]]) -> None:
    for one in responses:
        with open(one["file"], "wb") as file:  # noqa: PTH123
            # A path may hold bytes that are no UTF-8; UTF-16 has no such thing.
            errors = "surrogateescape" if one["encoding"] == "utf-8" else "surrogatepass"
            file.write(one["text"].encode(one["encoding"], errors))


def _make_depfile(target: str, listing: str, depfile: str) -> tuple[int, bytes]:
    """Write the headers that cl has listed as ninja reads them; a status, and what is wrong.

    ninja would take a missing file for a source without headers, and never compile it again.
    """
    try:
        with open(listing, encoding="utf-8-sig") as file:  # noqa: PTH123
            headers = json.load(file)["Data"]["Includes"]
        text = " ".join(map(_escaped, headers))
    except (OSError, ValueError, LookupError, TypeError):
        said = f"{listing}: no list of headers. cl writes it since Visual Studio 2019 16.7.\n"
        return 1, said.encode()
    with open(depfile, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f"{_escaped(target)}: {text}\n")
    _remove(listing)  # what stands there the next time was written then
    return 0, b""


def _escaped(path: str) -> str:
    """A path of Windows in a depfile, where a backslash could be an escape."""
    path = path.replace("\\", "/")
    return path.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")


def _restore(spec: dict[str, Any]) -> tuple[int, bytes, list[str]]:
    """Make the files again that were emptied after an earlier run."""
    for scratch in spec["scratch"]:
        if os.path.getsize(scratch["file"]) > 0:  # noqa: PTH202
            continue
        times = {path: os.stat(path) for path in scratch["made"]}  # noqa: PTH116
        status, said, command = _run_all(scratch["restore"], spec["log"])
        for path, before in times.items():
            if os.path.exists(path):  # noqa: PTH110
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        if status != 0:
            return status, said, command
    return 0, b"", []


def _run_all(commands: list[list[str]], log: str) -> tuple[int, bytes, list[str]]:
    """Run commands up to the first that fails."""
    said = b""
    for command in commands:
        status, output = _run(command, log)
        said += output
        if status != 0:
            return status, said, command
    return 0, said, commands[-1]


def _empty(paths: list[str]) -> None:
    """Take what is in large files away; their times stay."""
    for path in paths:
        if not os.path.exists(path + _DIGEST):  # noqa: PTH110  (small, and read by others)
            continue
        before = os.stat(path)  # noqa: PTH116
        os.truncate(path, 0)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _remove(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return


def _make_folder(path: str) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)  # noqa: PTH103, PTH120


def _move(old: str, new: str) -> None:
    try:
        os.replace(old, new)  # noqa: PTH105
    except OSError:
        return


def _settle(path: str, *, good: bool, by_digest: bool) -> None:
    """Keep what was there if it is the same as what was made; remove what a failure left."""
    before = path + _BEFORE
    if not good:
        _remove(path)
    elif _is_as_before(path) if by_digest else _same(path, before):
        _move(before, path)
    _remove(before)


def _is_as_before(path: str) -> bool:
    """Whether a file has the digest of the one that it replaces; its own is noted."""
    import hashlib  # noqa: PLC0415  (slow to load, and needed by few edges)

    with open(path, "rb") as file:  # noqa: PTH123
        digest = hashlib.sha256(file.read()).hexdigest()
    try:
        with open(path + _DIGEST, encoding="ascii") as file:  # noqa: PTH123
            known = file.read()
    except (OSError, ValueError):
        known = ""
    if known == digest and os.path.exists(path + _BEFORE):  # noqa: PTH110
        return True
    with open(path + _DIGEST, "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(digest)
    return False


def _same(one: str, other: str) -> bool:
    try:
        with open(one, "rb") as first, open(other, "rb") as second:  # noqa: PTH123
            if os.fstat(first.fileno()).st_size != os.fstat(second.fileno()).st_size:
                return False
            while piece := first.read(1 << 20):
                if piece != second.read(1 << 20):
                    return False
    except OSError:
        return False
    return True


def _run(command: list[str], log: str) -> tuple[int, bytes]:
    """One command: its status, minus a signal's number if one ended it, and what it said."""
    with open(log, "wb+") as file:  # noqa: PTH123
        if os.name == "nt":
            return _run_on_windows(command, file)
        if full := _reserve(file.fileno()):
            return 1, full
        streams = [(os.POSIX_SPAWN_DUP2, file.fileno(), number) for number in (1, 2)]
        try:
            child = os.posix_spawnp(command[0], command, os.environ, file_actions=streams)
        except OSError as error:
            return 127, f"{command[0]}: {error.strerror}\n".encode()
        try:
            _, status = os.waitpid(child, 0)
        except BaseException:
            os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)
            raise
        file.seek(0)
        return os.waitstatus_to_exitcode(status), file.read().rstrip(b"\0")


def _run_on_windows(command: list[str], file: IO[bytes]) -> tuple[int, bytes]:
    import subprocess  # noqa: PLC0415  (slow to load, and needed there only)

    try:
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        return 127, f"{command[0]}: {error.strerror}\n".encode()
    file.seek(0)
    return done.returncode, file.read()


def _reserve(file: int) -> bytes:
    """Keep room for what a compiler says of a full disk; where there is none, what to say."""
    try:
        os.posix_fallocate(file, 0, _ROOM)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"{os.strerror(error.errno)}\n".encode()
    except AttributeError:  # macOS
        pass
    return b""


def _was_killed(status: int, output: bytes) -> bool:
    """Whether the system took the process away, itself or one that it had called."""
    if status in (-_SIGKILL, 128 + _SIGKILL):
        return True
    return status != 0 and any(words in output for words in _KILLED)


def _record(spec: dict[str, Any], output: bytes) -> None:
    told = {
        **spec["about"],
        "build": os.environ.get("ARCHBUILD_BUILD", ""),
        "ended": time.time(),
        "memory": _peak(),
        "output": output.decode(errors="replace"),
    }
    _make_folder(spec["record"])
    made = f"{spec['record']}.{os.getpid()}"
    with open(made, "w", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        json.dump(told, file)
    os.replace(made, spec["record"])  # noqa: PTH105


def _peak() -> int:
    """Bytes that the largest child had at its peak; 0 where the system doesn't say."""
    if sys.platform == "win32":
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit


def _stop(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)
    try:
        sys.exit(main(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(130)
