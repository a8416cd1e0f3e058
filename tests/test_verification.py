"""What a build lacks, in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from archbuild.build import verification
from archbuild.build.verification import Lack, find_lack, refuse
from archbuild.errors import BuildError
from archbuild.model.arch import Arch
from archbuild.model.image import DeviceFile, Image, ImageKind, Linkage, Region


def _archs(text: str) -> tuple[Arch, ...]:
    return tuple(map(Arch.parse, text.split()))


def _image(text: str, linkage: Linkage) -> Image:
    """``sm_86`` with a kernel, ``sm_86:`` with none, ``sm_86?`` unread."""
    arch = Arch.parse(text.rstrip(":?"))
    kinds = {"sm": ImageKind.SASS, "compute": ImageKind.PTX, "lto": ImageKind.LTOIR}
    kernels = {":": (), "?": None}.get(text[-1], ("k",))
    return Image(kinds[arch.stage.value], arch, linkage, kernels=kernels)


def _file(*executable: str, relocatable: str = "") -> DeviceFile:
    regions = tuple(
        Region(tuple(_image(one, linkage) for one in text.split()), None, linkage)
        for text, linkage in (
            *((text, Linkage.EXECUTABLE) for text in executable),
            (relocatable, Linkage.RELOCATABLE),
        )
        if text
    )
    return DeviceFile("x.o", regions, "archbuild")


@pytest.mark.parametrize(
    ("held", "how", "targets", "missing", "present"),
    [
        (_file("sm_86 compute_86"), "", "sm_86 compute_86", None, ""),
        (_file("sm_86 sm_90"), "", "sm_86", None, ""),
        (_file("sm_86"), "", "sm_86 compute_86", "compute_86", "sm_86"),
        # Plain, a and f are different; SASS is no PTX.
        (_file("sm_90 compute_90"), "", "sm_90a", "sm_90a", "sm_90 compute_90"),
        (_file(), "", "sm_86 sm_90", "sm_86 sm_90", ""),
        # What a device link has to complete counts in an object, not in a library.
        (_file(relocatable="sm_86 lto_90?"), "relocatable object", "sm_86 lto_90", None, ""),
        (_file("sm_75", relocatable="sm_86"), "", "sm_86", "sm_86", "sm_75"),
        # A device link hides a lost target behind an empty image.
        (_file("sm_86 sm_90:"), "device_linked", "sm_86 sm_90", "sm_90", "sm_86"),
        (_file("sm_86: sm_90:"), "device_linked", "sm_86 sm_90", None, ""),
        # A compile loses none: there a guard on __CUDA_ARCH__ leaves images empty.
        (_file("sm_86 sm_90:"), "object", "sm_86 sm_90", None, ""),
        (_file("sm_86 sm_90:"), "", "sm_86 sm_90", None, ""),
        (_file("sm_86: sm_90:"), "object", "sm_86 sm_90", None, ""),
        (_file("sm_86? sm_90?"), "object", "sm_86 sm_90", None, ""),
        # The link's own empty image is no region that could lack something.
        (_file("sm_75:", "sm_86 sm_90"), "", "sm_86 sm_90", None, ""),
        # In an object every region counts.
        (_file("sm_86 sm_90", "sm_90"), "object", "sm_86 sm_90", "sm_86", "sm_90"),
    ],
)
def test_what_a_file_lacks(  # noqa: PLR0917  (pytest gives them by name)
    held: DeviceFile,
    how: str,
    targets: str,
    missing: str | None,
    present: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    asked: list[tuple[str, str, bool]] = []

    def read(path: str, cuobjdump: str, *, everything: bool) -> DeviceFile:
        asked.append((path, cuobjdump, everything))
        return replace(held, reader="cuobjdump 13.5.37")

    monkeypatch.setattr(verification, "read_with_cuobjdump", read)
    monkeypatch.setattr(verification, "read", lambda path, kernels: (held,))
    file = tmp_path / "x.o"
    more = {
        "relocatable": "relocatable" in how,
        "is_object": "object" in how,
        "device_linked": "device_linked" in how,
    }
    lack = find_lack(file, "x.cu", _archs(targets), "the-tool", **more)
    assert asked == [(str(file), "the-tool", True)]
    if missing is None:
        assert lack is None
    else:
        assert lack == Lack(str(file), "x.cu", _archs(missing), _archs(present))
    assert find_lack(file, "x.cu", _archs(targets), None, **more) == lack
    assert len(asked) == 1


def test_readers_that_disagree_fail_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(_file("sm_86"), reader="cuobjdump 13.5.37")
    monkeypatch.setattr(verification, "read_with_cuobjdump", lambda *_, **__: other)
    monkeypatch.setattr(verification, "read", lambda path, kernels: (_file("sm_86 sm_90"),))
    with pytest.raises(BuildError, match=r"see other images in x\.o\. 1 more sass sm_90 by arch"):
        find_lack(Path("x.o"), "x.cu", _archs("sm_86 sm_90"), "the-tool")


DATA = Path(__file__).parent / "data"


@pytest.mark.toolkit
@pytest.mark.parametrize(
    ("name", "targets", "missing"),
    [
        ("classic.o", "sm_86 sm_120 compute_120", None),
        ("host_only.o", "sm_86 sm_120 compute_120", None),
        ("classic.o", "sm_86 sm_90", "sm_90"),
        ("rdc.o", "sm_86 sm_120 compute_120", None),
        ("lto.o", "lto_90", None),
    ],
)
def test_real_objects_by_both_readers(
    name: str, targets: str, missing: str | None, packaged_tool: Callable[[str], Path]
) -> None:
    tool = str(packaged_tool("cuobjdump"))
    wanted = _archs(targets)
    lack = find_lack(DATA / name, "x.cu", wanted, tool, relocatable=True, is_object=True)
    assert (lack and lack.missing) == (missing and _archs(missing))


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
