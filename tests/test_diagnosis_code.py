"""How libraries and packages stand on GPUs, and what cures what they lack."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from archbuild.facts.cudnn import CUDNN, cudnn_floor
from archbuild.model.arch import ComputeCapability
from archbuild.model.image import ImageKind, Linkage
from archbuild.model.installed import CodeFile, CodeGroup, CodeImage, CodePackage
from archbuild.model.machine import Gpu, Machine
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.code import (
    ANY_KERNEL,
    GpuKind,
    Standing,
    destination_of,
    gpu_kinds,
    regions_of,
    stand,
)
from archbuild.rules.covering.coverage import is_empty
from archbuild.rules.covering.drivers import ptx_floor
from archbuild.rules.diagnosis.code_packages import (
    built_with,
    cover,
    evidence_of,
    files_in_use,
    name_gpus,
    packages_to_judge,
    torch_package,
)
from archbuild.rules.diagnosis.cures import (
    driver_commands,
    package_commands,
    reinstall,
    toolkit_command,
    toolkits_for,
    torch_command,
)
from archbuild.rules.diagnosis.no_torch import best_part
from tests.data.code_parts import (
    CU124,
    CU128,
    GB10,
    GTX_680,
    GTX_1080,
    H100,
    ORIN,
    RTX_3090,
    RTX_5090,
    T4,
    TESLA_K40,
    Product,
    cards,
    desktop,
    driver,
    images,
    library,
    machine,
    package,
    torch_build,
    wsl,
)
from tests.data.code_parts import (
    torch_package as package_of_torch,
)


def on(release: str | None, cuda: str | None, *products: Product, **more: Any) -> Machine:
    """A machine with a driver and GPUs."""
    around = more.pop("surroundings", None) or desktop(release or "580.95.05", *products)
    driven = driver(release, cuda) if release or cuda else None
    return machine(*products, surroundings=around, driver=driven, **more)


def kind_of(product: Product) -> GpuKind:
    capability = ComputeCapability.parse(product.capability)
    return GpuKind(capability, (Gpu("GPU-0", product.name, capability),))


# --- regions --------------------------------------------------------------------------------------


def test_a_region_for_each_group_in_order() -> None:
    file = library("a.so", 1, ("sm_80 compute_80", 414), ("sm_90a", 2), isa="8.0")
    first, second = regions_of(file, CudaVersion(12, 0))
    assert [str(image.arch) for image in first.images] == ["sm_80", "compute_80"]
    assert first.images[1].isa == (8, 0)
    assert {image.toolkit for image in first.images} == {CudaVersion(12, 0)}
    assert second.images[0].kernels == (ANY_KERNEL,)


def test_what_an_image_tells_of_its_toolkit_wins() -> None:
    file = library("a.so", 1, ("sm_80", 1), cuda="12.8")
    assert regions_of(file, CudaVersion(12, 0))[0].images[0].toolkit == CudaVersion(12, 8)


@pytest.mark.parametrize(
    ("arch", "regions", "empty", "expected"),
    [
        ("sm_75", 1, None, None),
        ("sm_52", 1, None, None),
        ("sm_75", 1, False, False),
        ("sm_75", 1, True, True),
        ("sm_75", 2, None, False),
        ("sm_80", 1, None, False),
        ("sm_75 compute_75", 1, None, False),
    ],
)
def test_what_nvcc_adds_by_itself_may_be_empty(
    arch: str, regions: int, empty: bool | None, expected: bool | None
) -> None:
    file = CodeFile("a.so", 1, (CodeGroup(images(arch, "7.0"), regions, empty),))
    (region,) = regions_of(file)
    assert is_empty(region) is expected


def test_relocatable_images_are_a_relocatable_region() -> None:
    image = replace(images("sm_80")[0], linkage=Linkage.RELOCATABLE)
    (region,) = regions_of(CodeFile("a.so", 1, (CodeGroup((image,)),)))
    assert region.linkage is Linkage.RELOCATABLE


# --- libraries ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "product", "expected"),
    [
        ([("sm_86", 4)], RTX_3090, Standing.SERVED),
        ([("sm_60", 4)], GTX_1080, Standing.SERVED),
        ([("sm_120", 4)], GB10, Standing.SERVED),
        ([("compute_80", 4)], RTX_3090, Standing.JIT),
        ([("sm_86", 1), ("compute_80", 4)], RTX_3090, Standing.SERVED),
        ([("sm_80 sm_90", 4)], RTX_5090, Standing.NOTHING),
        ([("sm_86", 4), ("sm_90", 1)], RTX_3090, Standing.PART),
        ([("sm_86", 4), ("sm_90a", 9)], RTX_3090, Standing.SERVED),
        ([("sm_90a", 9)], RTX_3090, Standing.ELSEWHERE),
        ([("sm_80", 4)], ORIN, Standing.UNKNOWN),
        ([("sm_80", 4), ("sm_87", 9)], ORIN, Standing.UNKNOWN),
        ([("sm_75", 1)], RTX_3090, Standing.EMPTY),
        ([("sm_75", 1), ("sm_80", 1)], RTX_3090, Standing.SERVED),
        ([("sm_75", 1)], T4, Standing.SERVED),
        ([], T4, Standing.EMPTY),
    ],
)
def test_how_a_library_stands(
    groups: list[tuple[str, int]], product: Product, expected: Standing
) -> None:
    file = library("a.so", 1, *groups, isa="8.0")
    stood = stand(file, kind_of(product), on("580.95.05", "13.0", product), CudaVersion(12, 0))
    assert stood.standing is expected


def test_a_share_of_the_regions() -> None:
    file = library("a.so", 1, ("sm_86", 20), ("sm_90", 3), ("sm_90a", 2))
    stood = stand(file, kind_of(RTX_3090), on("550.120", "12.4", RTX_3090), CudaVersion(12, 0))
    assert (stood.standing, stood.regions, stood.of) == (Standing.PART, 3, 25)


@pytest.mark.parametrize(
    ("release", "cuda", "isa", "expected"),
    [
        ("550.54.15", "12.4", "8.4", Standing.JIT),
        ("550.54.15", "12.4", "8.7", Standing.REFUSED),
        ("570.26", "12.8", "8.7", Standing.JIT),
        (None, None, "8.7", Standing.JIT),
    ],
)
def test_ptx_against_the_driver(
    release: str | None, cuda: str | None, isa: str, expected: Standing
) -> None:
    file = library("a.so", 1, ("compute_80", 4), isa=isa)
    stood = stand(file, kind_of(RTX_3090), on(release, cuda, RTX_3090))
    assert stood.standing is expected


def test_the_column_of_windows_counts_in_wsl() -> None:
    file = library("a.so", 1, ("sm_86", 4), cuda="12.0")
    linux = on("527.41", None, RTX_3090)
    inside = on("527.41", None, RTX_3090, surroundings=wsl(RTX_3090))
    assert destination_of(ComputeCapability(8, 6), inside).windows
    assert destination_of(ComputeCapability(8, 6), replace(linux, system="win32")).windows
    assert stand(file, kind_of(RTX_3090), inside).standing is Standing.SERVED


@pytest.mark.parametrize(
    ("release", "cuda", "product"),
    [("550.120", "12.4", RTX_5090), ("590.48.01", "13.1", GTX_1080)],
)
def test_a_driver_that_does_not_serve_the_gpu_is_left_to_its_own_finding(
    release: str, cuda: str, product: Product
) -> None:
    capability = ComputeCapability.parse(product.capability)
    assert destination_of(capability, on(release, cuda, product)).driver is None


# --- GPUs -----------------------------------------------------------------------------------------


def test_gpus_of_one_capability_are_one_kind() -> None:
    kinds = gpu_kinds(on("580.95.05", "13.0", H100, T4, H100))
    assert [(str(kind.capability), len(kind.gpus)) for kind in kinds] == [("9.0", 2), ("7.5", 1)]
    assert name_gpus(kinds[0].gpus) == "2 x NVIDIA H100 80GB HBM3 (9.0)"


def test_a_hidden_gpu_is_left_out_where_another_is_seen() -> None:
    hidden = on("580.95.05", "13.0", GTX_1080, RTX_5090, hidden=(0,))
    assert [str(kind.capability) for kind in gpu_kinds(hidden)] == ["12.0"]
    all_hidden = on("580.95.05", "13.0", GTX_1080, hidden=(0,))
    assert [str(kind.capability) for kind in gpu_kinds(all_hidden)] == ["6.1"]


def test_with_no_driver_the_cards_on_the_bus_count() -> None:
    around = replace(desktop("580.95.05"), cards=cards(RTX_5090, module=None))
    bare = machine(surroundings=around)
    assert [str(kind.capability) for kind in gpu_kinds(bare)] == ["12.0"]
    assert gpu_kinds(replace(bare, surroundings=None)) == ()


def test_a_gpu_of_unknown_capability_is_judged_nowhere() -> None:
    assert gpu_kinds(replace(on(None, None), gpus=(Gpu("GPU-0", "?", None),))) == ()


# --- packages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "version", "torch", "expected"),
    [
        ("vllm", "0.11.0+cu129", True, "12.9"),
        ("gsplat", "1.5.2+pt27cu124", True, "12.4"),
        ("flash-attn", "2.7.4", True, "12.8"),
        ("cupy-cuda11x", "11.0.0", False, "11.1"),
        ("jax-cuda13-plugin", "0.8.1", False, "13.0"),
        ("nvidia-cublas-cu12", "12.4.5.8", False, "12.0"),
        ("tensorflow", "2.18.0", False, None),
        ("accuracy", "1.0", False, None),
    ],
)
def test_the_cuda_that_made_a_package(
    name: str, version: str, torch: bool, expected: str | None
) -> None:
    here = on("580.95.05", "13.0", torch=torch_build("2.9.1", "12.8", CU128))
    built = built_with(CodePackage(name, version, requires_torch=torch), here)
    assert (str(built) if built else None) == expected


def test_of_variants_that_of_torchs_cuda_is_loaded() -> None:
    files = [library(f"b/libb_cuda{tag}.so", 1, ("sm_80", 1)) for tag in ("118", "126", "128")]
    common = library("b/libcommon.so", 1, ("sm_80", 1))
    bundle = package("b", "1.0", *files, common)
    here = on("580.95.05", "13.0", torch=torch_build("2.7.1", "12.6", CU124))
    assert [file.path[-6:] for file in files_in_use(bundle, here)] == ["126.so", "mon.so"]
    other = replace(here, torch=torch_build("2.9.1", "13.0"))
    assert len(files_in_use(bundle, other)) == 4


def test_nvidias_helpers_are_not_judged() -> None:
    names = ("torch", "nvidia-cusparselt-cu12", "nvidia-cublas-cu12", "nvidia-cublas", "gsplat")
    here = on("580.95.05", "13.0", packages=tuple(package(name, "1.0") for name in names))
    assert [p.name for p in packages_to_judge(here)] == [
        "nvidia-cublas-cu12",
        "nvidia-cublas",
        "gsplat",
    ]


def test_the_main_library_of_torch_is_libtorch_cuda() -> None:
    read = package_of_torch("2.9.1", CU128)
    larger = replace(read.files[1], size=9 << 30)
    stood = cover(
        replace(read, files=(larger, read.files[0])), kind_of(T4), on("580.95.05", "13.0", T4)
    )
    assert stood.main is not None
    assert stood.main.file.path.endswith("libtorch_cuda.so")


def test_vendor_libraries_inside_torch_are_left_out() -> None:
    read = package_of_torch("1.12.1", CU124)
    bundled = library("torch/lib/libcublasLt.so.11", 500, ("sm_90", 1))
    assert len(files_in_use(replace(read, files=(*read.files, bundled)), on(None, None))) == 2


def test_torch_by_its_own_list_where_its_libraries_were_not_read() -> None:
    here = on("580.95.05", "13.0", T4, torch=torch_build("2.6.0", "12.4", CU124))
    listed = torch_package(here)
    assert listed is not None
    assert cover(listed, kind_of(T4), here).standing is Standing.SERVED
    assert torch_package(replace(here, installed=None)) is None


def test_evidence_needs_no_language() -> None:
    file = library("a.so", 1, ("sm_86", 20), ("sm_90", 3))
    stood = stand(file, kind_of(RTX_3090), on("550.120", "12.4", RTX_3090), CudaVersion(12, 0))
    (line,) = evidence_of([stood])
    assert (line.source, line.said) == ("a.so", "sm_86 sm_90 -> 8.6: no (209, 98) [3/23]")


def test_an_image_of_unknown_kind_is_unknown() -> None:
    image = CodeImage(ImageKind.UNKNOWN, None)
    file = CodeFile("a.so", 1, (CodeGroup((image, *images("sm_90"))),))
    stood = stand(file, kind_of(RTX_3090), on("580.95.05", "13.0", RTX_3090))
    assert stood.standing is Standing.UNKNOWN


# --- cures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "cuda", "products", "expected"),
    [
        ("570.124.06", "12.8", [RTX_5090], "cu128"),
        ("580.95.05", "13.0", [GTX_1080], "cu126"),
        ("580.95.05", "13.0", [GTX_1080, RTX_3090], "cu126"),
        ("580.95.05", "13.0", [GTX_1080, RTX_5090], None),
        ("470.256.02", "11.4", [GTX_1080], "cu118"),
        ("470.256.02", "11.4", [GTX_680], None),
        # The driver is cured first: the oldest that knows the one, the last that has the other.
        ("550.120", "12.4", [RTX_5090], "cu128"),
        ("590.48.01", "13.1", [GTX_1080], "cu126"),
    ],
)
def test_which_torch_serves(
    release: str | None, cuda: str | None, products: list[Product], expected: str | None
) -> None:
    command = torch_command(on(release, cuda, *products))
    assert (command is not None) is (expected is not None)
    assert command is None or f"https://download.pytorch.org/whl/{expected}" in command


def test_cards_on_the_bus_are_served_like_gpus() -> None:
    around = replace(desktop("580.95.05"), cards=cards(GTX_1080, module=None))
    assert "/cu126" in str(torch_command(machine(surroundings=around)))


def test_a_torch_that_is_there_is_put_aside() -> None:
    here = on("580.95.05", "13.0", GTX_1080, torch=torch_build("2.9.1+cu130", "13.0"))
    assert str(torch_command(here)).endswith("/cu126 --force-reinstall")
    assert str(torch_command(replace(here, torch=None))).endswith("/cu126")


def test_the_part_that_one_torch_serves() -> None:
    best = best_part(on("580.95.05", "13.0", GTX_1080, RTX_5090))
    assert [str(kind.capability) for kind in best] == ["12.0"]
    most = best_part(on("580.95.05", "13.0", GTX_1080, GTX_1080, RTX_5090))
    assert [str(kind.capability) for kind in most] == ["6.1"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"requires_torch": True}, "archbuild rebuild k"),
        ({}, "pip install --upgrade k"),
        (
            {"editable": True, "direct_url": "file:///srv/my%20src"},
            'TORCH_CUDA_ARCH_LIST="12.0+PTX" pip install --no-build-isolation --no-deps '
            "-e '/srv/my src'",
        ),
        ({"editable": True, "requires_torch": True}, "archbuild rebuild k"),
    ],
)
def test_how_a_package_comes_to_hold_a_gpu(fields: dict[str, object], expected: str) -> None:
    held = package("k", "1.0", library("k.so", 1, ("sm_90", 1)), **fields)
    assert package_commands(held, [kind_of(RTX_5090)], on(None, None)) == (expected,)


def test_an_old_gpu_needs_an_older_release() -> None:
    held = package("k", "1.0+x", library("k.so", 1, ("sm_75 sm_90", 1)))
    assert package_commands(held, [kind_of(GTX_1080)], on(None, None)) == ('pip install "k<1.0"',)


@pytest.mark.parametrize(
    ("products", "isa", "distribution", "expected"),
    [
        ([RTX_3090], (8, 7), "ubuntu 24.04", "nvidia-driver-580"),
        ([RTX_5090], (8, 8), "ubuntu 24.04", "nvidia-driver-580-open"),
        ([TESLA_K40], (7, 4), "ubuntu 22.04", "nvidia-driver-470"),
        ([TESLA_K40], (8, 0), "ubuntu 22.04", None),
        ([GTX_1080], (9, 1), "ubuntu 24.04", None),
        ([RTX_3090], (8, 7), "fedora 43", None),
    ],
)
def test_a_driver_for_the_oldest_gpu(
    products: list[Product], isa: tuple[int, int], distribution: str, expected: str | None
) -> None:
    around = desktop("470.256.02", *products, distribution=distribution)
    here = on("470.256.02", "11.4", *products, surroundings=around)
    commands = driver_commands(ptx_floor(isa), here)
    assert commands == ((f"sudo apt install {expected}",) if expected else ())


def test_toolkits() -> None:
    both = toolkits_for([kind_of(GTX_1080), kind_of(RTX_5090)])
    assert [str(version) for version in both] == ["12.8", "12.9"]
    assert toolkits_for([kind_of(TESLA_K40), kind_of(RTX_5090)]) == ()
    assert toolkits_for([]) == ()
    assert toolkit_command(CudaVersion(13, 0)) == 'pip install "archbuild[cu130]"'
    assert toolkit_command(CudaVersion(12, 8)) == "conda install -c nvidia cuda-toolkit=12.8"
    assert "cuda-toolkit[nvcc,cccl]==13.4.*" in toolkit_command(CudaVersion(13, 4))


def test_a_torch_of_an_index_comes_from_there_again() -> None:
    assert reinstall("torch", "2.6.0+cu124").endswith(
        '"torch==2.6.0+cu124" --index-url https://download.pytorch.org/whl/cu124'
    )
    assert reinstall("gsplat", "1.5.2+pt27cu124").endswith('"gsplat==1.5.2+pt27cu124"')


@pytest.mark.parametrize(
    ("version", "generation", "gone"),
    [
        ("9.11.0", "Pascal", True),
        ("9.11.0.98", "Volta", True),
        ("9.10.2.21", "Pascal", False),
        ("10.0", "Maxwell", True),
        ("9.13.0", "Turing", False),
        ("8.9.2", "Kepler", False),
        ("9.1.0", "Kepler", True),
        ("", "Pascal", False),
    ],
)
def test_the_floor_of_cudnn(version: str, generation: str, gone: bool) -> None:
    assert (cudnn_floor(version, generation) is not None) is gone


def test_rows_tell_their_source() -> None:
    assert all(row.source and row.date.year >= 2026 for row in CUDNN)
