"""The walk over folders, wheels and zip archives; nothing of them is trusted."""

from __future__ import annotations

import io
import os
import struct
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.wheel import Limits, describe_container, iter_candidates
from archbuild.errors import ArchbuildError, BinaryError, UnreadableError

DATA = Path(__file__).parent / "data"
WHEEL = DATA / "fixture-1.0-py3-none-linux_x86_64.whl"
LIBRARY = (DATA / "plain.so").read_bytes()


def names(path: Path, limits: Limits | None = None) -> list[str]:
    return [candidate.name for candidate in iter_candidates(path, limits)]


def pack(path: Path, *members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def test_a_wheel_yields_real_files_one_at_a_time() -> None:
    seen = []
    for candidate in iter_candidates(WHEEL):
        assert list(candidate.real.parent.iterdir()) == [candidate.real]
        assert candidate.real.read_bytes() == (DATA / _source(candidate.name)).read_bytes()
        seen.append(candidate.real)
    assert len(seen) == 2
    assert not seen[-1].parent.exists()


def _source(name: str) -> str:
    return {"fixture/_C.so": "classic.so", "fixture/_host.so": "plain.so"}[name]


def test_giving_up_early_leaves_nothing_behind() -> None:
    walk = iter_candidates(WHEEL)
    folder = next(walk).real.parent
    assert folder.exists()
    walk.close()  # type: ignore[attr-defined]
    assert not folder.exists()


def test_a_file_is_its_own_candidate() -> None:
    (candidate,) = iter_candidates(DATA / "classic.so")
    assert candidate.real == DATA / "classic.so"
    assert candidate.name == str(DATA / "classic.so")


def test_a_folder_with_everything(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/x.so", "b/libx.so.1.2", "b/program", "b/x.fatbin"):
        (tmp_path / name).write_bytes(LIBRARY)
    (tmp_path / "a.py").write_text("import x\n")
    (tmp_path / "empty.py").touch()
    (tmp_path / "mesh.obj").write_text("v 0 0 0\n")
    (tmp_path / "libc.so").write_text("/* GNU ld script */\nGROUP ( libc.so.6 )\n")
    pack(tmp_path / "p.whl", ("pkg/_C.so", LIBRARY))
    found = [name.removeprefix(f"{tmp_path}{os.sep}") for name in names(tmp_path)]
    assert found == ["p.whl/pkg/_C.so", "b/libx.so.1.2", "b/program", "b/x.fatbin", "b/x.so"]


def test_a_text_named_so_is_a_candidate_so_that_the_reader_complains(tmp_path: Path) -> None:
    pack(tmp_path / "x.whl", ("pkg/_C.so", b"version https://git-lfs.github.com\n"))
    assert names(tmp_path / "x.whl") == ["pkg/_C.so"]
    (tmp_path / "_C.so").touch()
    assert names(tmp_path)[0].endswith("_C.so")


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_links_do_not_count_twice_nor_lead_in_circles(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "libx.so.1").write_bytes(LIBRARY)
    (outside / "liby.so").write_bytes(LIBRARY)
    (inside / "libx.so").symlink_to("libx.so.1")
    (inside / "gone.so").symlink_to("nowhere")
    (inside / "circle").symlink_to(inside)
    (inside / "liby.so").symlink_to(outside / "liby.so")
    os.link(inside / "libx.so.1", inside / "libz.so")
    assert [Path(name).name for name in names(inside)] == ["libx.so.1", "liby.so"]


def test_archives_in_archives(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("pkg/_C.so", LIBRARY)
    data = inner.getvalue()
    assert names(pack(tmp_path / "ci.zip", ("x.whl", data))) == ["x.whl/pkg/_C.so"]
    for depth in range(3):
        data = pack(tmp_path / f"{depth}.zip", ("deep.zip", data)).read_bytes()
    with pytest.raises(BinaryError, match="archive in an archive"):
        names(tmp_path / "2.zip")


def test_names_never_leave_the_temporary_folder(tmp_path: Path) -> None:
    evil = ("../../evil.so", "/etc/evil.so", "..\\evil.so", "a/../../e\nvil.so", "C:\\evil.so")
    path = pack(tmp_path / "x.whl", *((name, LIBRARY) for name in evil))
    reals = []
    for candidate in iter_candidates(path):
        reals.append(candidate.real)
        assert candidate.real.parent.parent == Path(tempfile.gettempdir())
        assert candidate.real.name == "member.so"
    assert len(reals) == len(evil)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["x.whl"]


def test_a_member_that_is_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("x.so")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert names(tmp_path / "x.whl") == []


@pytest.mark.parametrize("limits", [Limits(member=100), Limits(total=15_000)])
def test_limits(tmp_path: Path, limits: Limits) -> None:
    path = pack(tmp_path / "x.whl", ("a.so", LIBRARY), ("b.so", LIBRARY))
    with pytest.raises(BinaryError, match="than the limit of"):
        names(path, limits)


def test_a_bomb_is_refused_by_what_it_declares(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.whl", ("bomb.so", bytes(10_000_000)))
    assert path.stat().st_size < 20_000
    with pytest.raises(BinaryError, match="unpacks to 10000000 bytes"):
        names(path, Limits(member=1_000_000))


def patch_central(path: Path, offset: int, value: bytes) -> None:
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02") + offset
    data[at : at + len(value)] = value
    path.write_bytes(data)


@pytest.mark.parametrize("size", [100, len(LIBRARY) + 5000])
def test_a_size_that_lies(tmp_path: Path, size: int) -> None:
    path = pack(tmp_path / "x.whl", ("a.so", LIBRARY))
    patch_central(path, 24, struct.pack("<I", size))
    with pytest.raises(BinaryError, match=r"a\.so in .*x\.whl is damaged"):
        names(path)


def test_a_wrong_checksum(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.whl", ("a.so", LIBRARY))
    patch_central(path, 16, b"\0\0\0\0")
    with pytest.raises(BinaryError, match="is damaged"):
        names(path)


def test_an_encrypted_member(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.whl", ("a.so", LIBRARY))
    patch_central(path, 8, b"\x01\0")
    with pytest.raises(BinaryError, match=r"a\.so in .* is encrypted"):
        names(path)


def test_a_compression_of_another_world(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.whl", ("a.so", LIBRARY))
    patch_central(path, 10, struct.pack("<H", 98))
    with pytest.raises(BinaryError, match="method 98, which Python cannot read"):
        names(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_twins(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.whl", ("a.so", LIBRARY), ("a.so", LIBRARY))
    with pytest.raises(BinaryError, match=r"holds a\.so twice"):
        names(path)


def test_a_member_without_a_name(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.whl", ("a", LIBRARY))
    patch_central(path, 46, b"\0")  # zipfile ends a name at its first zero
    with pytest.raises(BinaryError, match="is damaged"):
        names(path)


@pytest.mark.parametrize("length", [4, 100, 5000])
def test_a_truncated_wheel(tmp_path: Path, length: int) -> None:
    path = tmp_path / "x.whl"
    path.write_bytes(WHEEL.read_bytes()[:length])
    for look in (names, describe_container):
        with pytest.raises(BinaryError, match=r"x\.whl is a truncated or damaged zip archive"):
            look(path)


def test_a_text_named_whl(tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_text("no wheel\n")
    with pytest.raises(BinaryError, match="is no zip archive"):
        names(tmp_path / "x.whl")


def test_a_zip_that_is_no_wheel_is_read_and_said_so(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.zip", ("a.so", LIBRARY))
    assert names(path) == ["a.so"]
    assert "is a zip archive but no wheel" in describe_container(path)
    assert describe_container(WHEEL) == ""
    assert describe_container(DATA / "classic.so") == ""
    assert describe_container(DATA) == ""


def test_a_zip_under_any_name_is_read(tmp_path: Path) -> None:
    assert names(pack(tmp_path / "x.egg", ("a.so", LIBRARY))) == ["a.so"]


def test_a_wheel_without_binaries(tmp_path: Path) -> None:
    assert names(pack(tmp_path / "x.whl", ("a.py", b"pass"))) == []


@pytest.mark.parametrize("look", [names, describe_container])
def test_a_missing_path(tmp_path: Path, look: object) -> None:
    assert callable(look)
    with pytest.raises(BinaryError, match="does not exist"):
        look(tmp_path / "nowhere")


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.so")
    with pytest.raises(BinaryError, match="named pipe"):
        names(tmp_path / "x.so")
    assert names(tmp_path) == []


def as_nobody(action: Callable[[], object]) -> str:
    """The error that an action meets as a user without any rights, in a child."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            text = repr(action())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("what", ["folder", "x.so", "x.whl", "inner"])
def test_without_permission(what: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        target = Path(place, what)
        target.write_bytes(WHEEL.read_bytes()) if "." in what else target.mkdir()
        target.chmod(0)
        path = Path(place) if what == "inner" else target
        error = as_nobody(lambda: names(path))
        target.chmod(0o700)
    assert error.startswith(f"BinaryError: {target} may not be read by this user."), error


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_link_into_a_forbidden_folder() -> None:
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as other:
        Path(place).chmod(0o755)
        (Path(other) / "x.so").write_bytes(LIBRARY)
        Path(place, "x.so").symlink_to(Path(other) / "x.so")
        Path(other).chmod(0)
        error = as_nobody(lambda: names(Path(place)))
        Path(other).chmod(0o700)
    assert error.startswith(f"BinaryError: {place}/x.so may not be read by this user."), error


def test_no_room_for_what_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def full(self: Path, mode: str = "r") -> object:
        if "w" in mode:
            raise OSError(28, "No space left on device")
        return opened(self, mode)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(UnreadableError, match=r"fixture/_C\.so .* no room. Set TMPDIR"):
        names(WHEEL)


def test_no_temporary_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(UnreadableError, match="No temporary folder"):
        names(WHEEL)


@given(st.lists(st.tuples(st.integers(0, 6802), st.integers(0, 255)), min_size=1, max_size=6))
def test_only_our_own_error_on_damaged_wheels(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(WHEEL.read_bytes())
    for place, value in changes:
        data[-1 - place % 900 if value % 2 else place] = value
    path = tmp_path_factory.mktemp("damaged") / "x.whl"
    path.write_bytes(data)
    with suppress(ArchbuildError):
        names(path, Limits(1 << 20, 1 << 21))
        describe_container(path)
