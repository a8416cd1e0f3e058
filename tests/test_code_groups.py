"""Regions that hold the same kinds of images are one group, with their number."""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.binary.reader import read
from archbuild.model.arch import Arch
from archbuild.model.image import DeviceFile, Image, ImageKind, Linkage, Region
from archbuild.model.version import CudaVersion
from archbuild.probe.code_groups import dated_groups, group_regions
from tests.sites import DATA


def sass(name: str, toolkit: CudaVersion | None = None) -> Image:
    return Image(ImageKind.SASS, Arch.parse(name), toolkit=toolkit)


def test_many_regions_of_one_kind_are_one_group() -> None:
    newer, older = sass("sm_90"), sass("sm_80")
    regions = (Region((newer,)), Region((sass("sm_90"), newer)), Region((older,)), Region(()))
    groups = group_regions(DeviceFile("_C.so", regions, "archbuild"))
    assert [(len(group.images), group.regions, group.empty) for group in groups] == [
        (1, 2, None),
        (1, 1, None),
    ]


@pytest.mark.parametrize(
    "other",
    [
        Image(ImageKind.PTX, Arch.parse("compute_90"), isa=(8, 7)),
        Image(ImageKind.SASS, None),
        sass("sm_90a"),
        sass("sm_90", CudaVersion(12, 8)),
        Image(ImageKind.SASS, Arch.parse("sm_90"), Linkage.RELOCATABLE),
        Image(ImageKind.SASS, Arch.parse("sm_90"), kernels=("k",)),
        Image(ImageKind.SASS, Arch.parse("sm_90"), kernels=(), variables=0),
    ],
)
def test_what_tells_two_groups_apart(other: Image) -> None:
    regions = (Region((sass("sm_90"),)), Region((other,)), Region((sass("sm_90"),)))
    groups = group_regions(DeviceFile("_C.so", regions, "archbuild"))
    assert [group.regions for group in groups] == [2, 1]


def test_the_section_says_that_a_link_must_come_first() -> None:
    region = Region((sass("sm_90"),), linkage=Linkage.RELOCATABLE)
    (group,) = group_regions(DeviceFile("_C.o", (region,), "archbuild"))
    assert group.images[0].linkage is Linkage.RELOCATABLE


def test_the_cuda_that_made_it_is_looked_for() -> None:
    path = DATA / "classic.so"
    (file,) = read(path)
    assert {i.toolkit for group in group_regions(file) for i in group.images} == {None}
    told = {i.toolkit for group in dated_groups(path, file) for i in group.images}
    assert told == {CudaVersion(13, 0)}


def test_a_cuda_that_is_known_stays() -> None:
    region = Region((sass("sm_90", CudaVersion(12, 8)), sass("sm_80")), offset=0)
    file = DeviceFile("_C.so", (region,), "archbuild")
    (group,) = dated_groups(Path("there is no such file"), file)
    assert [image.toolkit for image in group.images] == [CudaVersion(12, 8), None]


def test_a_file_that_is_gone_meanwhile() -> None:
    file = DeviceFile("_C.so", (Region((sass("sm_90"),), offset=0),), "archbuild")
    (group,) = dated_groups(Path("there is no such file"), file)
    assert group.images[0].toolkit is None
