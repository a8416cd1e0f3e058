"""What a build lacks, in words; and ARCHBUILD_VERIFY."""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.build import verification
from archbuild.build.verification import Lack, VerifyMode, find_lack, parse_verify_mode, refuse
from archbuild.errors import BuildError, UsageError
from archbuild.model.arch import Arch
from archbuild.model.image import DeviceFile, Image, ImageKind, Linkage, Region


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, VerifyMode.AUTO),
        ("", VerifyMode.AUTO),
        ("  ", VerifyMode.AUTO),
        ("auto", VerifyMode.AUTO),
        (" Require\n", VerifyMode.REQUIRE),
        ("OFF", VerifyMode.OFF),
    ],
)
def test_the_mode(text: str | None, expected: VerifyMode) -> None:
    assert parse_verify_mode(text) is expected


@pytest.mark.parametrize("text", ["0", "no", "requires", "require off"])
def test_a_mode_that_is_none_is_never_taken_for_off(text: str) -> None:
    with pytest.raises(UsageError, match=f"ARCHBUILD_VERIFY is '{text}'.*require, auto or off"):
        parse_verify_mode(text)


def _archs(text: str) -> tuple[Arch, ...]:
    return tuple(map(Arch.parse, text.split()))


def _file(executable: str = "", relocatable: str = "") -> DeviceFile:
    kinds = {"sm": ImageKind.SASS, "compute": ImageKind.PTX, "lto": ImageKind.LTOIR}
    regions = tuple(
        Region(tuple(Image(kinds[a.stage.value], a, linkage) for a in _archs(text)), None, linkage)
        for text, linkage in (
            (executable, Linkage.EXECUTABLE),
            (relocatable, Linkage.RELOCATABLE),
        )
        if text
    )
    return DeviceFile("x.o", regions, "cuobjdump 13.5.37")


@pytest.mark.parametrize(
    ("held", "relocatable", "targets", "missing", "present"),
    [
        (_file("sm_86 compute_86"), False, "sm_86 compute_86", None, ""),
        (_file("sm_86 sm_90"), False, "sm_86", None, ""),
        (_file("sm_86"), False, "sm_86 compute_86", "compute_86", "sm_86"),
        # Plain, a and f are different; SASS is no PTX.
        (_file("sm_90 compute_90"), False, "sm_90a", "sm_90a", "sm_90 compute_90"),
        (_file(), False, "sm_86 sm_90", "sm_86 sm_90", ""),
        # What a device link has to complete counts in an object, not in a library.
        (_file(relocatable="sm_86 lto_90"), True, "sm_86 lto_90", None, ""),
        (_file("sm_75", "sm_86"), False, "sm_86", "sm_86", "sm_75"),
    ],
)
def test_what_a_file_lacks(
    *,
    held: DeviceFile,
    relocatable: bool,
    targets: str,
    missing: str | None,
    present: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    asked: list[tuple[str, str, bool]] = []

    def read(path: str, cuobjdump: str, *, everything: bool) -> DeviceFile:
        asked.append((path, cuobjdump, everything))
        return held

    monkeypatch.setattr(verification, "read_with_cuobjdump", read)
    file = tmp_path / "x.o"
    lack = find_lack(file, "x.cu", _archs(targets), "the-tool", relocatable=relocatable)
    assert asked == [(str(file), "the-tool", relocatable)]
    if missing is None:
        assert lack is None
    else:
        assert lack == Lack(str(file), "x.cu", _archs(missing), _archs(present))


def test_nothing_missing_passes() -> None:
    refuse([], "axpy._C, linked")


def test_each_file_is_named_with_what_is_missing_and_what_is_there() -> None:
    lacks = [
        Lack("/b/a.o", "a.cu", _archs("sm_90 compute_90"), _archs("sm_75")),
        Lack("/b/b.o", "b.cu", _archs("sm_86"), ()),
    ]
    with pytest.raises(BuildError) as caught:
        refuse(lacks, "axpy._C, compiled")
    assert caught.value.message == (
        "axpy._C, compiled: a.cu: sm_90, compute_90 missing (there: sm_75); "
        "b.cu: sm_86 missing (there: no device code at all)."
    )
    assert "NVCC_PREPEND_FLAGS" in caught.value.advice
    assert caught.value.exit_code == 1
