"""Manifests: made of a library, written whole, read again, found beside libraries."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
import zipfile
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary import limits
from archbuild.binary.contents import Depth
from archbuild.binary.manifests import Manifests, beside
from archbuild.binary.reader import iter_files, read_digested
from archbuild.binary.recognize import read_source
from archbuild.binary.source import BytesSource, StreamSource
from archbuild.build.beside import manifest_path
from archbuild.build.manifest import (
    flags_without_places,
    make_manifest,
    path_in_project,
    source_manifest,
    write_manifest,
)
from archbuild.errors import ArchbuildError, BinaryError, RecordError, UnreadableError
from archbuild.model.arch import Arch, ptx, sass
from archbuild.model.gencode import Gencode
from archbuild.model.manifest import ImageDigest, Manifest, SourceManifest, manifest_name
from archbuild.model.manifest_record import parse_manifest, render_manifest
from archbuild.model.source import Source
from archbuild.rules.selecting.sources import serve_source
from tests.fatbins import elf, entry, region

DATA = Path(__file__).parent / "data"
SCHEMA = json.loads(
    resources.files("archbuild.report").joinpath("schemas/manifest.json").read_text()
)
MANIFEST = Manifest(
    library="_C.abi3.so",
    targets=(sass("86"), sass("90a"), ptx("120")),
    sources=(
        SourceManifest("csrc/a.cu", (sass("86"), ptx("120"))),
        SourceManifest("csrc/größe.cu", (sass("90a"),), "9.0a", define="WITH_HOPPER"),
        SourceManifest("csrc/b.cu", (), "10.0f", "it is meant for 10.0f"),
    ),
    toolkit="13.0.88",
    torch="2.14.1+cu130",
    torch_cuda="13.0",
    cxx11_abi=True,
    python="abi3",
    host_compiler="g++ 12.2.0",
    flags=("-O3", "--use_fast_math"),
    relocatable=False,
    lean_headers=False,
    development=False,
    images=(ImageDigest(sass("86"), "0" * 64, 3),),
    archbuild="1.0",
)


def _make(library: Path) -> Manifest:
    return make_manifest(
        library,
        targets=(sass("86"), sass("120"), ptx("120")),
        sources=(SourceManifest("scale.cu", (sass("86"), sass("120"), ptx("120"))),),
        toolkit="13.0.88",
        python="cp311",
        host_compiler="g++ 12.2.0",
        flags=("-O3", "-I", "/somewhere", "-I/there", "-DX=1", "-ccbin", "g++"),
    )


# The text.


def test_there_and_back() -> None:
    text = render_manifest(MANIFEST)
    assert parse_manifest(text, "x") == MANIFEST
    assert text.isascii()
    assert text.endswith("}\n")
    jsonschema.validate(json.loads(text), SCHEMA)


def test_what_a_newer_archbuild_adds_is_passed_over() -> None:
    document = json.loads(render_manifest(MANIFEST)) | {"colour": "green"}
    assert parse_manifest(json.dumps(document), "x") == MANIFEST


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"schema": "archbuild.manifest/2"}, ["archbuild.manifest/2", "pip install -U"]),
        ({"schema": "archbuild.machine/1"}, ["no manifest of archbuild"]),
        ({"schema": 1}, ["no manifest of archbuild"]),
        ({"targets": ["sm_9"]}, ["x.json.targets[0]", "Build the library again"]),
        ({"targets": "sm_90"}, ["x.json.targets"]),
        ({"development": "no"}, ["x.json.development"]),
        ({"sources": [{"path": "a.cu"}]}, ["x.json.sources[0]", "'targets'"]),
        ({"images": [[]]}, ["x.json.images[0]"]),
        ({"library": None}, ["x.json.library"]),
    ],
)
def test_damage_is_told(change: dict[str, object], parts: list[str]) -> None:
    document = json.loads(render_manifest(MANIFEST)) | change
    with pytest.raises(RecordError) as caught:
        parse_manifest(json.dumps(document), "x.json")
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, b"\xff\xfe\xff", "3"])
def test_what_is_none(text: str | bytes) -> None:
    with pytest.raises(RecordError, match=r"x\.json is no manifest"):
        parse_manifest(text, "x.json")


@given(st.data())
def test_no_damage_ends_in_anything_else(data: st.DataObject) -> None:
    document = json.loads(render_manifest(MANIFEST))
    key = data.draw(st.sampled_from(sorted(document)))
    document[key] = data.draw(
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists)
    )
    try:
        parse_manifest(json.dumps(document), "x")
    except RecordError as error:
        assert error.exit_code == 3


# The record of a library.


def test_of_a_library(tmp_path: Path) -> None:
    library = tmp_path / "_C.cpython-311-x86_64-linux-gnu.so"
    shutil.copyfile(DATA / "classic.so", library)
    manifest = _make(library)
    assert manifest.library == library.name
    assert manifest.flags == ("-O3", "-DX=1")
    assert [(i.arch, i.kernels) for i in manifest.images] == [
        (sass("86"), 1),
        (ptx("120"), 1),
        (sass("120"), 1),
    ]
    data = library.read_bytes()
    for image, digest in zip(read_digested(library).images, manifest.images, strict=True):
        assert image.offset is not None
        assert image.stored is not None
        start = image.offset + int.from_bytes(data[image.offset + 4 : image.offset + 8], "little")
        assert hashlib.sha256(data[start : start + image.stored]).hexdigest() == digest.sha256
    jsonschema.validate(json.loads(render_manifest(manifest)), SCHEMA)


def test_it_is_reproducible_and_tells_no_place(tmp_path: Path) -> None:
    texts = set()
    for place in ("one", "the other"):
        (tmp_path / place).mkdir()
        library = tmp_path / place / "_C.so"
        shutil.copyfile(DATA / "classic.so", library)
        texts.add(render_manifest(_make(library)))
    (text,) = texts
    assert str(tmp_path) not in text
    assert "/somewhere" not in text
    assert "there" not in text


def test_of_a_source() -> None:
    wanted = [Gencode.for_target(Arch.parse(name)) for name in ("sm_80", "sm_90", "compute_90")]
    source = Source("csrc/hopper.cu", archs="9.0a", define="WITH_HOPPER")
    made = source_manifest(source, serve_source(source.archs, wanted), Path("project"))
    expected = SourceManifest("csrc/hopper.cu", (sass("90a"),), "9.0a", define="WITH_HOPPER")
    assert made == expected
    left = source_manifest(source, serve_source(source.archs, wanted[:1]), Path("project"))
    assert left.targets == ()
    assert left.left_out.startswith("it is meant for 9.0a")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("csrc/a.cu", "csrc/a.cu"),
        ("./csrc/../a.cu", "a.cu"),
        ("../jo/a.cu", "a.cu"),
    ],
)
def test_paths(path: str, expected: str, tmp_path: Path) -> None:
    assert path_in_project(path, tmp_path) == expected
    assert path_in_project(str(tmp_path / "a.cu"), tmp_path) == "a.cu"


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        ("-O3 -std=c++17 --expt-relaxed-constexpr", "-O3 -std=c++17 --expt-relaxed-constexpr"),
        ("-I inc -L lib -isystem sys -o x -O2", "-O2"),
        ("-Iinc -Llib --compiler-bindir=/x/g++ -O2", "-O2"),
        ("-Xcompiler -ffile-prefix-map=/a=. -Xptxas -v", "-Xptxas -v"),
        ("-DROOT=C:\\x -DN=3", "-DN=3"),
        ("-o", ""),
    ],
)
def test_flags(flags: str, kept: str) -> None:
    assert flags_without_places(flags.split()) == tuple(kept.split())


def test_writing(tmp_path: Path) -> None:
    path = manifest_path(tmp_path / "_C.cpython-311-x86_64-linux-gnu.so")
    assert path == tmp_path / "_C.archbuild.json"
    path.write_text("before")
    write_manifest(path, MANIFEST)
    assert parse_manifest(path.read_bytes(), "x") == MANIFEST
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with pytest.raises(UnreadableError, match="cannot be written"):
        write_manifest(tmp_path / "absent" / "x.json", MANIFEST)


def test_a_write_that_fails_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "_C.archbuild.json"
    write_manifest(path, MANIFEST)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UnreadableError, match="No space left"):
        write_manifest(path, replace(MANIFEST, library="other.so"))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


# Digests, in whatever way a file is read.


def _stored(data: bytes, depth: Depth, chunk: int = 97) -> list[str | None]:
    pieces = [data[i : i + chunk] for i in range(0, len(data), chunk)]
    source = StreamSource("x.so", len(data), lambda: iter(pieces))
    found = read_source(source, "x.so", depth, digests=True)
    assert found is not None
    return [image.digest for image in found.images]


@pytest.mark.parametrize("depth", list(Depth))
@pytest.mark.parametrize(
    "name", ["classic.so", "rdc.so", "classic.fatbin", "units.a", "rodata.so", "reader/windows.dll"]
)
def test_a_stream_and_a_file_give_the_same_digests(name: str, depth: Depth) -> None:
    data = (DATA / name).read_bytes()
    found = read_source(BytesSource("x.so", data), name, depth, digests=True)
    assert found is not None
    digests = [image.digest for image in found.images]
    assert digests
    assert None not in digests
    assert _stored(data, depth, 4096) == digests
    plain = read_source(BytesSource("x.so", data), name, depth)
    assert plain is not None
    assert all(image.digest is None for image in plain.images)
    assert [replace(image, digest=None) for image in found.images] == list(plain.images)


def test_a_digest_is_of_the_stored_bytes_alone() -> None:
    payload = b"not really PTX"
    data = elf([(".nv_fatbin", region(entry(payload, kind=0x77, compressed=len(payload))))])
    assert _stored(data, Depth.HEADERS) == [hashlib.sha256(payload).hexdigest()]


# Found beside libraries.


@pytest.mark.parametrize(
    ("library", "name"),
    [
        ("_C.cpython-311-x86_64-linux-gnu.so", "_C.archbuild.json"),
        ("_C.abi3.so", "_C.archbuild.json"),
        ("_C.cp311-win_amd64.pyd", "_C.archbuild.json"),
        ("libx.so.1.2", "libx.archbuild.json"),
        ("plain", "plain.archbuild.json"),
        (".so", ".so.archbuild.json"),
    ],
)
def test_names(library: str, name: str) -> None:
    assert manifest_name(library) == name
    assert beside(f"a.b/c/{library}") == f"a.b/c/{name}"
    assert beside(f"a.b\\{library}") == f"a.b\\{name}"


def _members() -> dict[str, bytes]:
    return {
        "pkg/_C.so": (DATA / "classic.so").read_bytes(),
        "pkg/_C.archbuild.json": render_manifest(MANIFEST).encode(),
        "pkg/_other.so": (DATA / "rdc.so").read_bytes(),
        "pkg/notes.json": b"{}",
    }


def _folder(tmp_path: Path, members: dict[str, bytes]) -> Path:
    for name, data in members.items():
        path = tmp_path / "x" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "x"


def _wheel(tmp_path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(tmp_path / "x.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return tmp_path / "x.whl"


def _tar(tmp_path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return tmp_path / "x.tar.gz"


def _nested(tmp_path: Path, members: dict[str, bytes]) -> Path:
    wheel = _wheel(tmp_path, members)
    with zipfile.ZipFile(tmp_path / "artifact.zip", "w") as archive:
        archive.write(wheel, "x.whl")
    return tmp_path / "artifact.zip"


@pytest.mark.parametrize("pack", [_folder, _wheel, _tar, _nested])
@pytest.mark.parametrize("first", [True, False])
def test_a_manifest_is_found_wherever_it_lies(pack, first: bool, tmp_path: Path) -> None:
    members = _members() if not first else dict(reversed(_members().items()))
    manifests = Manifests()
    files = {f.path: f for f in iter_files(str(pack(tmp_path, members)), manifests=manifests)}
    (one,) = [path for path in files if path.endswith("_C.so")]
    (other,) = [path for path in files if path.endswith("_other.so")]
    found = manifests.text_for(one)
    assert found is not None
    assert parse_manifest(found[1], found[0]) == MANIFEST
    assert all(image.digest for image in files[one].images)
    assert manifests.text_for(other) is None
    if pack is not _tar:
        assert not any(image.digest for image in files[other].images)


def test_a_file_by_itself(tmp_path: Path) -> None:
    path = _folder(tmp_path, _members()) / "pkg" / "_C.so"
    manifests = Manifests()
    list(iter_files(str(path), manifests=manifests))
    assert manifests.text_for(str(path)) is not None


@pytest.mark.parametrize("pack", [_folder, _wheel, _tar])
def test_one_that_is_too_large_is_told_and_the_library_is_read(pack, tmp_path: Path) -> None:
    members = _members() | {"pkg/_C.archbuild.json": b" " * (limits.MANIFEST + 1)}
    errors: list[ArchbuildError] = []
    path = str(pack(tmp_path, members))
    files = list(iter_files(path, errors=errors, manifests=Manifests()))
    assert len(files) == 2
    assert [error.message.partition(" is too large")[1] for error in errors] == [" is too large"]
    with pytest.raises(BinaryError, match="too large for a manifest"):
        list(iter_files(path, manifests=Manifests()))


def test_many_of_them_are_refused(tmp_path: Path) -> None:
    blank = b" " * limits.MANIFEST
    members = {f"{i}/x.archbuild.json": blank for i in range(limits.MANIFESTS // len(blank) + 2)}
    errors: list[ArchbuildError] = []
    list(iter_files(str(_wheel(tmp_path, members)), errors=errors, manifests=Manifests()))
    assert len(errors) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_of_that_name_is_not_waited_for(tmp_path: Path) -> None:
    folder = _folder(tmp_path, {"_C.so": (DATA / "classic.so").read_bytes()})
    os.mkfifo(folder / "_C.archbuild.json")
    manifests = Manifests()
    assert len(list(iter_files(str(folder), manifests=manifests))) == 1
    assert manifests.text_for(str(folder / "_C.so")) is None
