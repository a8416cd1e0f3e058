"""Feed the native reader with damaged files and watch that it keeps its head.

Every kind of fixture is drawn equally often, bare and inside of each kind of
container, and changed in one of many ways. Whatever comes out, only archbuild's own
errors may be raised, and each reading has to end within bounds of time and memory::

    python tests/fuzz.py --count 200000 --seed 1
"""

from __future__ import annotations

import argparse
import gzip
import io
import random
import resource
import struct
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from archbuild.binary.contents import Depth
from archbuild.binary.reader import iter_files
from archbuild.binary.recognize import read_source
from archbuild.binary.source import BytesSource, StreamSource
from archbuild.errors import ArchbuildError

DATA = Path(__file__).parent / "data" / "reader"
SECONDS = 10.0
MEGABYTES = 1024
INTERESTING = (
    0,
    1,
    7,
    8,
    16,
    24,
    63,
    64,
    0x7F,
    0xFF,
    0xFFFF,
    0x7FFFFFFF,
    0xFFFFFFFF,
    1 << 40,
    (1 << 64) - 1,
)


def _zip(method: int) -> Callable[[str, bytes], bytes]:
    def pack(name: str, data: bytes) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            archive.writestr(f"pkg/{name}", data)
            archive.writestr("pkg/other.so", data[: len(data) // 2])
        return buffer.getvalue()

    return pack


def _tar(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo(f"pkg/{name}")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


WRAPPERS: dict[str, Callable[[str, bytes], bytes]] = {
    "stored.whl": _zip(zipfile.ZIP_STORED),
    "deflated.whl": _zip(zipfile.ZIP_DEFLATED),
    "plain.tar": _tar,
    "packed.tar.gz": lambda name, data: gzip.compress(_tar(name, data), 1),
}


def mutate(rng: random.Random, data: bytes) -> bytes:
    """The data, changed in one to five places."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        _change(rng, changed)
        if not changed:
            break
    return bytes(changed)


def _change(rng: random.Random, data: bytearray) -> None:
    place = _place(rng, data)
    match rng.randrange(8):
        case 0:
            data[place] ^= 1 << rng.randrange(8)
        case 1:
            data[place] = rng.randrange(256)
        case 2 | 3:
            form = rng.choice("BHIQ")
            size = struct.calcsize(form)
            value = rng.choice(INTERESTING) & ((1 << 8 * size) - 1)
            data[place : place + size] = struct.pack("<" + form, value)
        case 4:
            del data[place:]
        case 5:
            del data[place : place + rng.choice((1, 8, 16, 64, 500))]
        case 6:
            other = rng.randrange(len(data))
            data[place:place] = data[other : other + rng.choice((8, 64, 300))]
        case 7:
            other = rng.randrange(len(data))
            size = rng.choice((4, 8, 64))
            data[place : place + size] = data[other : other + size]


def _place(rng: random.Random, data: bytearray) -> int:
    """Anywhere, or close to one of the marks of a structure, where damage matters more."""
    if rng.random() < 0.5:
        mark = rng.choice(
            (b"\x50\xed\x55\xba", b"\x7fELF", b"PK", b"`\n", b"\x28\xb5\x2f\xfd", b"MZ")
        )
        found = data.find(mark, rng.randrange(len(data)))
        if found >= 0:
            return min(found + rng.randrange(160), len(data) - 1)
    return min(rng.choice((64, 600, len(data), len(data))), rng.randrange(len(data)) + 1) - 1


def read_all(rng: random.Random, folder: Path, name: str, data: bytes, wrapped: bool) -> str:
    """Read it in one of the ways there are; what came of it."""
    depth = rng.choice(list(Depth))
    way = "file" if wrapped else rng.choice(("file", "stream", "memory"))
    try:
        if way == "file":
            path = folder / name
            path.write_bytes(data)
            errors: list[ArchbuildError] | None = rng.choice(([], None))
            for file in iter_files(str(path), kernels=depth > 0, details=depth > 1, errors=errors):
                _check(file)
        else:
            chunk = rng.choice((50, 1000, 1 << 16))
            pieces = [data[i : i + chunk] for i in range(0, len(data), chunk)]
            stream = StreamSource(name, len(data), lambda: iter(pieces))
            source = stream if way == "stream" else BytesSource(name, data)
            read_source(source, name, depth)
    except ArchbuildError as error:
        assert error.exit_code == 3, error
        assert len(str(error)) < 1000
        return "refused"
    return "read"


def _check(file: object) -> None:
    repr(file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    fixtures = {path.name: path.read_bytes() for path in sorted(DATA.iterdir()) if path.is_file()}
    plain = {"": dict(fixtures)}
    wrapped = {
        wrapper: {name: pack(name, data) for name, data in fixtures.items()}
        for wrapper, pack in WRAPPERS.items()
    }
    kinds = [(form, name) for form in (*plain, *wrapped) for name in fixtures]
    outcomes: Counter[str] = Counter()
    drawn: Counter[str] = Counter()
    slowest = (0.0, "")
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.count):
            form, name = kinds[turn % len(kinds)]
            data = mutate(rng, (plain | wrapped)[form][name])
            start = time.monotonic()
            try:
                outcome = read_all(rng, Path(folder), form or name, data, bool(form))
            except BaseException:
                bad = Path(tempfile.gettempdir()) / f"archbuild-fuzz-{turn}-{form or name}"
                bad.write_bytes(data)
                print(f"turn {turn}, {form or 'bare'} {name}: kept as {bad}", file=sys.stderr)
                raise
            spent = time.monotonic() - start
            slowest = max(slowest, (spent, f"{form or 'bare'} {name}, turn {turn}"))
            assert spent < SECONDS, f"turn {turn} took {spent:.1f} s"
            outcomes[outcome] += 1
            drawn[name] += 1
            drawn[f"({form or 'bare'})"] += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    for name, count in sorted(drawn.items()):
        print(f"{count:8}  {name}")
    print(f"{options.count} inputs, seed {options.seed}: {dict(outcomes)}")
    print(f"slowest {slowest[0]:.2f} s ({slowest[1]}); peak memory {peak} MB")
    assert peak < MEGABYTES, "more memory than any of these files deserves"
    return 0


if __name__ == "__main__":
    sys.exit(main())
