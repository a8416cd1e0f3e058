"""verify from end to end with the manifest beside a library, wherever both lie."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from archbuild.binary.manifests import Manifests
from archbuild.binary.reader import iter_files, read
from archbuild.build.beside import manifest_path
from archbuild.build.manifest import (
    image_digests,
    make_manifest,
    source_manifest,
    write_manifest,
)
from archbuild.cli.main import main
from archbuild.model.arch import Arch, ptx, sass
from archbuild.model.gencode import Gencode, render_gencodes
from archbuild.model.machine import TorchBuild
from archbuild.model.manifest import Manifest, SourceManifest
from archbuild.model.manifest_record import render_manifest
from archbuild.model.source import Source
from archbuild.model.version import CudaVersion
from archbuild.report.verify import render_verify
from archbuild.report.verify_json import verify_document
from archbuild.report.verify_markdown import verify_markdown
from archbuild.rules.checking.verify_outcome import VerifyReport
from archbuild.rules.selecting.sources import serve_source
from archbuild.services.verify import verify
from tests.fatbins import DATA as READER_DATA
from tests.fatbins import elf, entry
from tests.fatbins import region as fatbin
from tests.test_intent import manifest

ALL = (sass("80"), sass("90"), ptx("90"))
HOPPER = (sass("90a"),)
LIBRARY = "_C.cpython-311-x86_64-linux-gnu.so"
_ARCH_SPECIFIC = 0x100000


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ARCHBUILD_ARCHS", "TORCH_CUDA_ARCH_LIST"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")


def image(arch: Arch) -> bytes:
    """An image whose content nobody reads: verify goes by the headers here."""
    payload = f"code for {arch}".encode()
    flags = 0x11 | (_ARCH_SPECIFIC if arch.suffix.value else 0)
    kind = 0x1 if arch.is_virtual else 0x2
    return entry(payload, kind=kind, sm=arch.capability.number, flags=flags)


def library(*regions: tuple[Arch, ...]) -> bytes:
    return elf([(".nv_fatbin", b"".join(fatbin(*map(image, archs)) for archs in regions))])


def told(tmp_path: Path, data: bytes, **more: object) -> Manifest:
    """The manifest of a library of these bytes, for a.cu and hopper.cu."""
    path = tmp_path / LIBRARY
    path.write_bytes(data)
    manifests = Manifests()
    manifests.may_follow = True
    (file,) = iter_files(str(path), manifests=manifests)
    path.unlink()
    made = manifest(
        SourceManifest("a.cu", ALL),
        SourceManifest("hopper.cu", HOPPER, "9.0a", define="WITH_HOPPER"),
        library=LIBRARY,
        images=image_digests(file),
    )
    return replace(made, **more)  # type: ignore[arg-type]


Pack = Callable[[Path, dict[str, bytes]], Path]


def folder(tmp_path: Path, members: dict[str, bytes]) -> Path:
    for name, data in members.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "site"


def lone(tmp_path: Path, members: dict[str, bytes]) -> Path:
    return folder(tmp_path, members) / "pkg" / LIBRARY


def wheel(tmp_path: Path, members: dict[str, bytes]) -> Path:
    path = tmp_path / "pkg-1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("pkg-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
    return path


def tar(tmp_path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return tmp_path / "x.tar.gz"


PACKS = [folder, lone, wheel, tar]


def pair(data: bytes, told: Manifest) -> dict[str, bytes]:
    return {
        f"pkg/{LIBRARY}": data,
        "pkg/_C.archbuild.json": render_manifest(told).encode(),
    }


def look(path: Path, **asked: object) -> VerifyReport:
    return verify(path, **{"reader": "native", "kernels": False, **asked})  # type: ignore[arg-type]


def codes(report: VerifyReport) -> list[str]:
    return [finding.code for finding in report.findings]


WHOLE = library(ALL, HOPPER)


@pytest.mark.parametrize("pack", PACKS)
def test_the_manifest_is_what_it_is_held_against(pack: Pack, tmp_path: Path) -> None:
    report = look(pack(tmp_path, pair(WHOLE, told(tmp_path, WHOLE))))
    assert (report.exit_code, codes(report)) == (0, [])
    assert report.demand.expected.source == "the manifest"
    assert report.demand.targets == (sass("80"), sass("90"), sass("90a"), ptx("90"))
    (verdict,) = report.files
    assert verdict.targets.present == (sass("80"), sass("90"), sass("90a"), ptx("90"))


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize(
    ("built", "missing"),
    [
        (library(ALL[1:], HOPPER), "sm_80"),
        (library(ALL[:2], HOPPER), "compute_90"),
        (library(ALL), "sm_90a"),
    ],
)
def test_a_region_that_lost_an_architecture(
    pack: Pack, built: bytes, missing: str, tmp_path: Path
) -> None:
    """The build lost it, so that the digests are those of what is there."""
    report = look(pack(tmp_path, pair(built, told(tmp_path, built))))
    assert report.exit_code == 1
    assert [f.arch for f in report.findings if f.code == "V201" and f.arch] == [missing]
    assert "V270" not in codes(report)


@pytest.mark.parametrize("pack", PACKS)
def test_a_library_that_was_changed_after_its_build(pack: Pack, tmp_path: Path) -> None:
    built = told(tmp_path, WHOLE)
    changed = WHOLE.replace(b"code for sm_80", b"evil for sm_80")
    assert changed != WHOLE
    report = look(pack(tmp_path, pair(changed, built)))
    assert (report.exit_code, codes(report)) == (1, ["V270"])
    (finding,) = report.findings
    assert [line.partition(":")[0] for line in finding.evidence] == ["sm_80", "sm_80"]


@pytest.mark.parametrize("pack", PACKS)
def test_a_development_build_fails_unless_it_is_allowed(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path, pair(WHOLE, told(tmp_path, WHOLE, development=True)))
    assert (look(path).exit_code, codes(look(path))) == (1, ["V271"])
    assert look(path, allow_dev=True, strict=True).exit_code == 0
    # Whatever else is asked.
    assert "V271" in codes(look(path, targets="8.0"))
    assert "V271" in codes(look(path, runs_on="8.0"))


def test_what_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = wheel(tmp_path, pair(WHOLE, told(tmp_path, WHOLE)))
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "7.5")
    assert look(path).ok
    typed = look(path, targets="7.5")
    assert typed.demand.expected.source == "--targets"
    assert "V201" in codes(typed)
    devices = look(path, runs_on="9.0")
    assert (devices.demand.targets, devices.exit_code) == ((), 0)
    bare = wheel(tmp_path, {f"pkg/{LIBRARY}": WHOLE})
    assert look(bare).demand.expected.source == "TORCH_CUDA_ARCH_LIST"


def test_the_policy_is_checked_besides(tmp_path: Path) -> None:
    path = wheel(tmp_path, pair(WHOLE, told(tmp_path, WHOLE)))
    policy = tmp_path / "policy.toml"
    policy.write_text("[tool.archbuild.verify]\nruns-on = '7.5'\n")
    report = look(path, config=policy)
    assert report.demand.expected.source == "the manifest"
    assert "V210" in codes(report) or "V217" in codes(report)


def test_beside_one_without_a_manifest(tmp_path: Path) -> None:
    members = pair(WHOLE, told(tmp_path, WHOLE)) | {"pkg/_other.so": library((sass("75"),))}
    report = look(wheel(tmp_path, members))
    assert [v.targets.note for v in report.files] == ["", "held against nothing: no manifest"]
    assert report.demand.expected.source == "the manifest"
    text = render_verify(report, 120)
    assert "_other.so: held against nothing" in text
    table = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line[:3] == "pkg"}
    assert table[f"pkg/{LIBRARY}"] == ["yes"] * 4
    assert table["pkg/_other.so"] == ["-"] * 4
    assert "| `pkg/_other.so` |  |  |  |  |" in verify_markdown(report)
    assert "asked for by the manifest" in text


def test_and_variables_speak_for_that_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCHBUILD_ARCHS", "8.6")
    members = pair(WHOLE, told(tmp_path, WHOLE)) | {"pkg/_other.so": library((sass("75"),))}
    report = look(wheel(tmp_path, members))
    assert [(f.code, f.file, f.arch) for f in report.findings if f.code == "V201"] == [
        ("V201", "pkg/_other.so", "sm_86")
    ]
    assert report.demand.expected.source == "the manifest and ARCHBUILD_ARCHS"


def test_the_manifest_of_another_library(tmp_path: Path) -> None:
    built = told(tmp_path, WHOLE, library="_C.cpython-310-x86_64-linux-gnu.so")
    report = look(folder(tmp_path, pair(WHOLE, built)))
    assert "V273" in codes(report)
    assert report.exit_code == 4


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize(
    "text", [b"{", b"\xff", b'{"schema": "archbuild.manifest/9"}', b"[" * 100_000]
)
def test_a_damaged_manifest_is_one_sentence(pack: Pack, text: bytes, tmp_path: Path) -> None:
    members = {f"pkg/{LIBRARY}": WHOLE, "pkg/_C.archbuild.json": text}
    report = look(pack(tmp_path, members), targets="8.0")
    assert report.exit_code == 3
    (finding,) = [f for f in report.findings if f.code == "V206"]
    assert "_C.archbuild.json" in finding.message
    assert len(report.files) == 1


def test_a_source_that_was_left_out_is_a_note(tmp_path: Path) -> None:
    built = told(tmp_path, WHOLE)
    left = SourceManifest("b.cu", (), "12.0a", "it is meant for 12.0a")
    built = replace(built, sources=(*built.sources, left))
    report = look(wheel(tmp_path, pair(WHOLE, built)))
    assert (report.ok, codes(report)) == (True, ["V274"])


def test_a_waiver_lets_these_pass_too(tmp_path: Path) -> None:
    path = wheel(tmp_path, pair(WHOLE, told(tmp_path, WHOLE, development=True)))
    policy = tmp_path / "policy.toml"
    policy.write_text("[[tool.archbuild.waivers]]\ncode = 'V271'\nreason = 'a nightly'\n")
    assert look(path, config=policy).exit_code == 0


def test_several_paths(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    good = wheel(tmp_path / "one", pair(WHOLE, told(tmp_path, WHOLE)))
    bad = wheel(tmp_path / "two", pair(WHOLE, told(tmp_path, WHOLE, development=True)))
    report = verify([good, bad], reader="native", kernels=False)
    assert [(f.code, f.file) for f in report.findings] == [("V271", f"{bad}/pkg/{LIBRARY}")]
    assert {v.expected.source for v in report.files} == {"the manifest"}


def test_the_json_says_who_asked(tmp_path: Path) -> None:
    import archbuild.report

    schema = Path(archbuild.report.__file__).parent / "schemas" / "verify.json"
    report = look(wheel(tmp_path, pair(WHOLE, told(tmp_path, WHOLE))))
    document = verify_document(report)
    jsonschema.validate(json.loads(json.dumps(document)), json.loads(schema.read_text()))
    assert (document["asked_by"], document["files"][0]["asked_by"]) == ("the manifest",) * 2


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(wheel(tmp_path, pair(WHOLE, told(tmp_path, WHOLE, development=True))))
    options = ["verify", path, "--reader", "native", "--no-kernels"]
    assert main(options) == 1
    shown = capsys.readouterr()
    assert "Held against the manifest" in shown.err
    assert "error V271" in shown.out
    assert main([*options, "--allow-dev"]) == 0


# The torch in the environment.


def _torch(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    build = None if version is None else TorchBuild(version, "nowhere", CudaVersion(13, 0))
    monkeypatch.setattr("archbuild.probe.torch_build.find_torch", lambda: (build, ()))


BUILT_FOR = {"torch": "2.14.1+cu130", "torch_cuda": "13.0", "cxx11_abi": True}


@pytest.mark.parametrize("pack", [folder, lone])
@pytest.mark.parametrize(("version", "found"), [("2.14.0", []), ("2.13.0", ["V272"]), (None, [])])
def test_another_torch(
    pack: Pack,
    version: str | None,
    found: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _torch(monkeypatch, version)
    report = look(pack(tmp_path, pair(WHOLE, told(tmp_path, WHOLE, **BUILT_FOR))))
    assert (codes(report), report.exit_code) == (found, 0)


@pytest.mark.parametrize("pack", [wheel, tar])
def test_an_archive_is_loaded_by_no_torch(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _torch(monkeypatch, "2.13.0")
    report = look(pack(tmp_path, pair(WHOLE, told(tmp_path, WHOLE, **BUILT_FOR))))
    assert codes(report) == []


def test_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = pair(WHOLE, told(tmp_path, WHOLE, **BUILT_FOR))
    info = "pkg_of_test-1.0.dist-info"
    members[f"{info}/METADATA"] = b"Metadata-Version: 2.1\nName: pkg-of-test\nVersion: 1.0\n"
    members[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in members).encode()
    monkeypatch.syspath_prepend(str(folder(tmp_path, members)))
    _torch(monkeypatch, "2.13.0")
    report = verify("pkg-of-test", reader="native", kernels=False)
    assert codes(report) == ["V272"]
    assert report.demand.expected.source == "the manifest"


def test_torch_is_not_looked_for_without_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise AssertionError

    monkeypatch.setattr("archbuild.probe.torch_build.find_torch", fail)
    assert look(folder(tmp_path, pair(WHOLE, told(tmp_path, WHOLE)))).ok


# Memory.


def test_a_large_member_is_not_held_for_its_digest(tmp_path: Path) -> None:
    """An image of 48 MB, which compresses well, goes by: digested, and never held."""
    big = fatbin(entry(bytes(48 << 20), kind=0x2, sm=80))
    data = elf([(".nv_fatbin", big)])
    built = told(tmp_path, WHOLE, library=LIBRARY)
    path = wheel(tmp_path, pair(data, built))
    del data, big
    tracemalloc.start()
    try:
        report = look(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "V270" in codes(report)
    assert peak < 24 << 20


# Real libraries.


def test_a_library_that_nvcc_made(tmp_path: Path) -> None:
    library = tmp_path / "_C.so"
    library.write_bytes((READER_DATA / "two_units.so").read_bytes())
    sources = (SourceManifest("fill.cu", ALL), SourceManifest("anonymous.cu", ALL))
    made = make_manifest(
        library, targets=ALL, sources=sources, toolkit="13.0", python="abi3", host_compiler="g++"
    )
    write_manifest(manifest_path(library), made)
    report = verify(library, reader="native")
    assert (report.exit_code, codes(report)) == (0, [])
    assert [image.kernels for image in made.images] == [2, 2, 2, 1, 1, 1]
    lacking = replace(made, sources=(*sources, SourceManifest("c.cu", HOPPER, "9.0a")))
    write_manifest(manifest_path(library), lacking)
    assert codes(verify(library, reader="native")) == ["V201"]


@pytest.mark.toolkit
@pytest.mark.parametrize("pack", [folder, lone, wheel])
def test_cuobjdump_alone_tells_no_regions(
    pack: Pack, packaged_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    packaged_tool("cuobjdump")
    data = (READER_DATA / "two_units.so").read_bytes()
    sources = (SourceManifest("a.cu", ALL), SourceManifest("b.cu", ALL[:1], "8.0"))
    made = replace(manifest(*sources, targets="80 90 c90", library=LIBRARY), development=True)
    path = pack(tmp_path, pair(data, made))
    for asked in ([path], [path, path]):
        report = verify(asked, reader="cuobjdump")
        # It takes both regions for one, in which kernels seem to be missing (V223).
        assert set(codes(report)) == {"V271", "V223"}
        assert report.demand.expected.source == "the manifest"
    # No digest is compared, which the native reader does.
    assert "V270" in codes(verify(path, reader="both"))


KERNEL = """
extern "C" __global__ void %s(float* x) { x[threadIdx.x] += 1.0f; }
extern "C" void launch_%s(float* x) { %s<<<1, 32>>>(x); }
"""


@pytest.mark.toolkit
def test_per_source_architectures_from_the_compiler_to_the_verdict(
    nvcc: Path, tmp_path: Path
) -> None:
    wanted = [Gencode.for_target(target) for target in ALL]
    sources, objects = [], []
    for name, archs in (("plain", None), ("hopper", "9.0a")):
        (tmp_path / f"{name}.cu").write_text(KERNEL.replace("%s", name))
        served = serve_source(archs, wanted)
        flags = render_gencodes(served.gencodes)
        objects.append(f"{name}.o")
        command = [str(nvcc), *flags, "-Xcompiler", "-fPIC", "-c", f"{name}.cu", "-o", objects[-1]]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
        sources.append(source_manifest(Source(f"{name}.cu", archs), served, tmp_path))
    library = tmp_path / "_C.so"
    command = ["g++", "-shared", *objects, "-o", str(library)]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    targets = sorted({target for source in sources for target in source.targets})
    made = make_manifest(
        library,
        targets=targets,
        sources=sources,
        toolkit="13.0",
        python="cp311",
        host_compiler="g++",
    )
    write_manifest(manifest_path(library), made)
    assert [len(region.images) for region in read(library)[0].regions] == [3, 1]
    report = verify(library)
    assert (report.exit_code, codes(report)) == (0, [])
    assert codes(verify(library, runs_on="8.0, 9.0", reader="native")) == ["V212"]
    manifest_path(library).unlink()
    assert "V201" in codes(verify(library, targets="8.0;9.0+PTX", reader="native"))
