"""What is asked of a binary: sizes, devices, drivers, and the policy besides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archbuild.errors import NoGpuError, UsageError
from archbuild.model.arch import ptx, sass
from archbuild.model.config import Config, VerifyPolicy
from archbuild.model.coverage import Destination, Tegra
from archbuild.model.machine import Driver
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.rules.checking.demand import Options, make_demand, parse_size, parse_tegra
from archbuild.rules.selecting.expectation import expect, find_devices
from tests.images import cap, driver
from tests.machines import machine

HERE = replace(machine(None, "8.6", "12.0", "8.6"), driver=driver("580.65.06", "13.0"))
BARE = machine(None)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("100MB", 100_000_000),
        ("95MiB", 95 << 20),
        ("1.5 GB", 1_500_000_000),
        ("2k", 2000),
        ("2KiB", 2048),
        ("5000", 5000),
        ("5000B", 5000),
        ("0", 0),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text, "--size-budget") == size


@pytest.mark.parametrize("text", ["", "MB", "-5MB", "100 megabytes", "1e6", "100MB 5", "nan"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="--size-budget is"):
        parse_size(text, "--size-budget")


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("9.0", ["9.0"]),
        ("RTX 4090, 9.0, H100", ["8.9", "9.0"]),
        ("12.0; 8.6", ["8.6", "12.0"]),
        ("native", ["8.6", "12.0"]),
        ("native, 10.0", ["8.6", "10.0", "12.0"]),
        ("Hopper", ["9.0"]),
    ],
)
def test_devices(text: str, devices: list[str]) -> None:
    assert list(map(str, find_devices(text, "--runs-on", HERE))) == devices


@pytest.mark.parametrize("text", ["9.0a", "9.0+PTX", "compute_90", "all", "native+PTX", "12.0f"])
def test_code_is_no_device(text: str) -> None:
    with pytest.raises(UsageError, match="in --runs-on names code, not a device"):
        find_devices(text, "--runs-on", HERE)


def test_native_without_a_gpu() -> None:
    with pytest.raises(NoGpuError):
        find_devices("native", "--runs-on", BARE)


def at(device: str, found: Driver | None = None, tegra: Tegra = Tegra.UNDOCUMENTED) -> Destination:
    return Destination(cap(device), found, tegra=tegra)


def test_devices_of_this_machine_have_its_driver_unless_one_is_named() -> None:
    demand = make_demand(Options(runs_on="native, 9.0"), HERE, Config())
    assert demand.destinations == (at("8.6", HERE.driver), at("9.0"), at("12.0", HERE.driver))
    named = make_demand(
        Options(runs_on="native", driver="550.54", driver_cuda="12.4"), HERE, Config()
    )
    expected = Driver(DriverRelease.parse("550.54"), CudaVersion(12, 4))
    assert named.destinations == (at("8.6", expected), at("12.0", expected))


def test_the_policy_adds_devices_and_its_driver_serves_where_none_is_named() -> None:
    policy = VerifyPolicy("9.0", driver="550.54", allow_jit=False, strict=True, size_budget="1kB")
    demand = make_demand(Options(runs_on="8.0", tegra=Tegra.RUNS), BARE, Config(verify=policy))
    old = driver("550.54")
    assert demand.destinations == (at("8.0", old, Tegra.RUNS), at("9.0", old, Tegra.RUNS))
    assert (demand.allow_jit, demand.strict, demand.exact, demand.size_budget) == (
        False,
        True,
        False,
        1000,
    )
    other = make_demand(Options(driver="580.65.06", size_budget="2kB"), BARE, Config(verify=policy))
    assert other.destinations == (at("9.0", driver("580.65.06")),)
    assert other.size_budget == 2000


def test_an_option_wins_over_variables_and_the_project() -> None:
    wanted = replace(BARE, variables=(("TORCH_CUDA_ARCH_LIST", "8.0"),))
    config = Config(archs="9.0")
    assert make_demand(Options(), wanted, config).targets == (sass("80"),)
    assert make_demand(Options(targets="7.5+PTX"), wanted, config).targets == (
        sass("75"),
        ptx("75"),
    )
    devices = make_demand(Options(runs_on="8.0"), wanted, config)
    assert (devices.targets, devices.is_empty) == ((), False)
    both = make_demand(Options(targets="7.5", runs_on="8.0"), wanted, config)
    assert (both.targets, len(both.destinations)) == ((sass("75"),), 1)


def test_nothing_is_asked() -> None:
    assert make_demand(Options(), BARE, Config()).is_empty
    assert not make_demand(Options(size_budget="1"), BARE, Config()).is_empty
    assert make_demand(Options(strict=True), BARE, Config()).is_empty


def test_manifests_come_after_options_and_before_variables() -> None:
    wanted = replace(BARE, variables=(("TORCH_CUDA_ARCH_LIST", "8.0"),))
    assert expect(wanted, config="7.5").source == "TORCH_CUDA_ARCH_LIST"
    assert expect(wanted, option="8.6").source == "--targets"
    assert make_demand(Options(), wanted, Config()).heeds_manifests
    assert not make_demand(Options(targets="8.6"), wanted, Config()).heeds_manifests
    assert not make_demand(Options(runs_on="8.6"), wanted, Config()).heeds_manifests


def test_tegra() -> None:
    assert [parse_tegra(word) for word in ("yes", "no", "undocumented")] == [
        Tegra.RUNS,
        Tegra.FAILS,
        Tegra.UNDOCUMENTED,
    ]
    with pytest.raises(UsageError, match="tegra is 'perhaps'"):
        parse_tegra("perhaps")
