"""What changed since it worked: facts of two records, and the findings they bring or take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archbuild.model.installed import Distribution, Installed, LoadedLibrary, Trial, TrialOutcome
from archbuild.model.machine import Machine
from archbuild.model.surroundings import Container, ContainerKind, DriverFiles, Surroundings
from archbuild.model.version import DriverRelease
from archbuild.rules.diagnosis.changes import Change, Changes, Topic, compare_machines
from tests.doctors import (
    GTX_1080,
    RTX_5090,
    SICK,
    code_package,
    desk,
    driver_of,
    follower,
    note,
    report_of,
    root,
    toolkit,
    torch_of,
    warning,
)


def facts(old: Machine, new: Machine) -> list[tuple[str, str, str | None, str | None]]:
    changes = compare_machines(old, new)
    return [(c.topic.value, c.name, c.before, c.after) for c in changes.facts]


def test_nothing_changes_by_itself() -> None:
    changes = compare_machines(SICK, SICK, report_of(root()), report_of(root()))
    assert changes.is_empty
    assert changes.unasked == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            {"driver": driver_of("550.54.14")},
            {"driver": driver_of("570.124.06")},
            [("driver", "driver", "550.54.14", "570.124.06"), ("driver", "CUDA", "12.4", "12.8")],
        ),
        (
            {"driver": driver_of("570.124.06")},
            {"driver": None},
            [("driver", "driver", "570.124.06", None), ("driver", "CUDA", "12.8", None)],
        ),
        (
            {"gpus": (RTX_5090,)},
            {"gpus": (GTX_1080,)},
            [
                ("gpu", f"{RTX_5090.name} {RTX_5090.uuid}", "12.0, visible", None),
                ("gpu", f"{GTX_1080.name} {GTX_1080.uuid}", None, "6.1, visible"),
            ],
        ),
        (
            {"gpus": (RTX_5090,)},
            {"gpus": (replace(RTX_5090, visible=False, mig=True),)},
            [("gpu", f"{RTX_5090.name} {RTX_5090.uuid}", "12.0, visible", "12.0, hidden, MIG")],
        ),
        (
            {"torch": torch_of("2.5.0", "12.1")},
            {"torch": torch_of("2.6.0", "12.4")},
            [("torch", "torch", "2.5.0", "2.6.0"), ("torch", "CUDA of torch", "12.1", "12.4")],
        ),
        (
            {"variables": (("LD_LIBRARY_PATH", "/a"), ("CUDA_HOME", "/c"))},
            {"variables": (("LD_LIBRARY_PATH", "/b:/a"),)},
            [
                ("variable", "LD_LIBRARY_PATH", "/a", "/b:/a"),
                ("variable", "CUDA_HOME", "/c", None),
            ],
        ),
        (
            {"toolkits": (toolkit("/usr/local/cuda-12.4", "12.4"),)},
            {"toolkits": (toolkit("/usr/local/cuda-13.0", "13.0"),)},
            [
                ("toolkit", "/usr/local/cuda-12.4", "12.4.88", None),
                ("toolkit", "/usr/local/cuda-13.0", None, "13.0.88"),
            ],
        ),
        (
            {"installed": Installed(packages=(code_package("torch", "1"), code_package("a", "1")))},
            {"installed": Installed(distributions=(Distribution("a", "2"),))},
            [("package", "a", "1", "2")],
        ),
        (
            {"installed": Installed(loaded=(LoadedLibrary("libcudart.so.12", "/x", "12.4"),))},
            {
                "installed": Installed(
                    loaded=(LoadedLibrary("libcudart.so.12", None, trouble="not found"),),
                    cudnn="9.1.0",
                )
            },
            [
                ("library", "libcudart.so.12", "/x 12.4", "not found"),
                ("library", "cuDNN", None, "9.1.0"),
            ],
        ),
        (
            {"surroundings": Surroundings()},
            {
                "surroundings": Surroundings(
                    driver_files=DriverFiles(kernel_release=DriverRelease.parse("570.124.06")),
                    container=Container(ContainerKind.DOCKER, gpu_mapped=True),
                    wsl=True,
                )
            },
            [
                ("driver files", "kernel module", None, "570.124.06"),
                ("container", "container", None, "docker"),
                ("container", "GPU mapped", None, "True"),
                ("container", "driver mapped", None, "False"),
                ("system", "WSL", None, "WSL"),
            ],
        ),
        (
            {"installed": Installed(trials=(Trial("kernel", "GPU-1", TrialOutcome.PASSED),))},
            {"installed": Installed(trials=(Trial("kernel", "GPU-1", TrialOutcome.FAILED, 209),))},
            [("trial", "kernel GPU-1", "passed", "failed 209")],
        ),
    ],
)
def test_facts(
    before: dict[str, object],
    after: dict[str, object],
    expected: list[tuple[str, str, str | None, str | None]],
) -> None:
    base = desk(installed=Installed(), surroundings=Surroundings())
    old, new = (replace(base, **values) for values in (before, after))  # type: ignore[arg-type]
    assert facts(old, new) == expected


def test_what_one_record_does_not_tell_is_not_compared() -> None:
    old = replace(SICK, surroundings=None, installed=None, taken=None)
    changes = compare_machines(old, SICK)
    assert changes.facts == ()
    assert [topic.value for topic in changes.unasked] == [
        "driver files",
        "container",
        "system",
        "package",
        "library",
    ]
    assert compare_machines(SICK, old).unasked == changes.unasked
    assert compare_machines(old, old) == Changes()


def test_findings_are_compared_by_what_they_are_about_and_not_by_their_words() -> None:
    before = report_of(root(), warning(), follower())
    after = report_of(root(message="Other words."), note(), follower())
    changes = compare_machines(SICK, SICK, before, after)
    assert [finding.code for finding in changes.new] == ["D396"]
    assert [finding.code for finding in changes.gone] == ["D397"]


def test_one_code_about_another_file_or_gpu_is_new() -> None:
    before = report_of(root(file="a.so"))
    for other in (root(file="b.so"), root(file="a.so", gpus=(GTX_1080.uuid,))):
        changes = compare_machines(SICK, SICK, before, report_of(other))
        assert (changes.new, changes.gone) == ((other,), before.findings)


def test_the_day_is_that_of_the_old_record() -> None:
    assert compare_machines(replace(SICK, taken="2025-01-02"), SICK).taken == "2025-01-02"


def test_topics_come_from_the_root_outwards() -> None:
    old = desk(driver="550.54.14", variables=(("CUDA_HOME", "/a"),))
    new = desk(RTX_5090, driver="570.124.06")
    topics = [change.topic for change in compare_machines(old, new).facts]
    assert topics == [Topic.GPU, Topic.DRIVER, Topic.DRIVER, Topic.VARIABLE]


def test_a_change_is_a_value() -> None:
    assert Change(Topic.GPU, "a", None, "1") == Change(Topic.GPU, "a", None, "1")
