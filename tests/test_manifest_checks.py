"""What a manifest says against its library: each finding fires, and does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archbuild.model.arch import ptx, sass
from archbuild.model.machine import TorchBuild
from archbuild.model.manifest import ImageDigest, Manifest
from archbuild.model.version import CudaVersion
from archbuild.rules.checking.manifest_checks import (
    check_development,
    check_digests,
    check_left_out,
    check_other_library,
    check_torch,
    is_of,
)
from tests.images import codes, file, one, real, region, virtual
from tests.test_intent import manifest, source

ONE, TWO, THREE = ("1" * 64, "2" * 64, "3" * 64)
SEEN = file(region(real("80", "k", digest=ONE), real("90", "k", digest=TWO)))
BUILT = (ImageDigest(sass("80"), ONE, 1), ImageDigest(sass("90"), TWO, 1))


@pytest.mark.parametrize(
    ("images", "evidence"),
    [
        (BUILT, None),
        (BUILT[::-1], None),
        (BUILT[:1], ["sm_90: not of this build (222222222222)"]),
        (
            (BUILT[0], ImageDigest(sass("90"), THREE, 1)),
            ["sm_90: not of this build (222222222222)", "sm_90: of this build, and not here (3333"],
        ),
        ((*BUILT, BUILT[0]), ["sm_80: of this build, and not here"]),
        (
            (ImageDigest(sass("80"), TWO, 1), ImageDigest(sass("90"), ONE, 1)),
            ["sm_80: not of this build", "sm_90: not", "sm_80: of this", "sm_90: of this"],
        ),
        ((), ["sm_80: not of this build", "sm_90: not of this build"]),
    ],
)
def test_digests(images: tuple[ImageDigest, ...], evidence: list[str] | None) -> None:
    found = list(check_digests(SEEN, manifest(images=images)))
    if evidence is None:
        assert found == []
        return
    (finding,) = found
    assert (finding.code, finding.severity.value) == ("V270", "error")
    assert len(finding.evidence) == len(evidence)
    assert all(map(str.startswith, finding.evidence, evidence))


def test_many_digests_are_summed_up() -> None:
    images = tuple(ImageDigest(ptx("90"), f"{i:064x}", 1) for i in range(30))
    (finding,) = check_digests(file(), manifest(images=images))
    assert "0 are others, 30 are gone" in finding.message
    assert finding.evidence[-1] == "and 20 more"


def test_without_digests_nothing_is_said() -> None:
    assert list(check_digests(file(region(real("80"))), manifest(images=BUILT))) == []
    nameless = replace(virtual("90"), arch=None)
    assert list(check_digests(file(region(*SEEN.images, nameless)), manifest(images=BUILT))) == []


@pytest.mark.parametrize(
    ("development", "allowed", "severity"),
    [(False, False, None), (True, False, "error"), (True, True, "note"), (False, True, None)],
)
def test_development(development: bool, allowed: bool, severity: str | None) -> None:
    found = list(check_development("x.so", manifest(development=development), allow_dev=allowed))
    assert [f.severity.value for f in found] == ([severity] if severity else [])
    assert codes(found) == (["V271"] if severity else [])


def test_left_out() -> None:
    told = manifest(source("a.cu"), source("b.cu", "", "12.0a", left_out="it is meant for 12.0a"))
    finding = one(check_left_out("x.so", told), "V274")
    assert finding.message == "x.so was built without b.cu: it is meant for 12.0a."
    assert finding.severity.value == "note"
    assert list(check_left_out("x.so", manifest(source("a.cu")))) == []


@pytest.mark.parametrize(
    ("path", "own"),
    [("x.so", True), ("pkg/x.so", True), ("pkg\\x.so", True), ("y.so", False), ("xx.so", False)],
)
def test_whose_it_is(path: str, own: bool) -> None:
    assert is_of(manifest(), path) is own


def test_of_another_library() -> None:
    finding = check_other_library(manifest(), "p/y.archbuild.json", "p/y.so")
    assert (finding.code, finding.severity.value, finding.file) == ("V273", "warning", "p/y.so")
    assert "the manifest of x.so, not of p/y.so" in finding.message


def built(torch: str | None = "2.14.1+cu130", **more) -> Manifest:
    return manifest(torch=torch, **{"torch_cuda": "13.0", "cxx11_abi": True, **more})


def installed(version: str = "2.14.1+cu130", cuda: str | None = "13.0") -> TorchBuild:
    return TorchBuild(version, "somewhere", CudaVersion.parse(cuda) if cuda else None)


@pytest.mark.parametrize(
    ("told", "torch", "abi", "evidence"),
    [
        (built(), installed(), True, []),
        (built(), installed(), None, []),
        (built(), installed("2.14.0"), True, []),
        (built(), installed("2.14.9a0+git1"), None, []),
        (built(), installed("2.14.1", "13.2"), True, []),
        (built(None), installed("2.13.0"), False, []),
        (built(), installed("2.13.0"), True, ["built for 2.14, installed 2.13"]),
        (built(), installed("2.15.0"), True, ["built for 2.14, installed 2.15"]),
        (built("2.1.0"), installed("2.14.0"), True, ["built for 2.1, installed 2.14"]),
        (built(), installed(), False, ["C++ ABI"]),
        (built(cxx11_abi=None), installed(), False, []),
        (built(), installed(cuda="12.8"), True, ["CUDA of torch: built for 13.0, installed 12.8"]),
        (built(), installed("2.14.1+cpu", None), True, ["installed none"]),
        (built(torch_cuda=None), installed("2.14.1+cpu", None), True, []),
        (built("1.9.0"), installed("2.14.0", "12.0"), False, ["1.9", "C++ ABI", "CUDA"]),
        # The stable ABI is kept by newer torches, not by older ones.
        (built(flags=("-DTORCH_TARGET_VERSION=0x020a",)), installed("2.15.0"), True, []),
        (built("2.9.0", flags=("-DTORCH_STABLE_ONLY",)), installed("2.10.0"), True, []),
        (built(flags=("-DTORCH_STABLE_ONLY",)), installed("2.13.0"), True, ["installed 2.13"]),
        (built(), installed("odd"), True, ["installed odd"]),
    ],
)
def test_torch(told: Manifest, torch: TorchBuild, abi: bool | None, evidence: list[str]) -> None:
    found = list(check_torch("x.so", told, torch, abi))
    if not evidence:
        assert found == []
        return
    (finding,) = found
    assert (finding.code, finding.severity.value) == ("V272", "warning")
    assert "undefined symbol" in finding.message
    assert len(finding.evidence) == len(evidence)
    assert all(part in line for part, line in zip(evidence, finding.evidence, strict=True))
