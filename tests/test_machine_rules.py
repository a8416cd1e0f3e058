"""Rules about GPUs, driver, container and system: what two signs together mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archbuild.model.arch import ComputeCapability
from archbuild.model.diagnosis import Confidence, Diagnosis, Report
from archbuild.model.finding import Severity
from archbuild.model.installed import Installed, LoadedLibrary
from archbuild.model.machine import Gpu, Machine
from archbuild.model.surroundings import (
    Container,
    ContainerKind,
    DriverFiles,
    PciCard,
    SourceAnswer,
    Surroundings,
)
from archbuild.rules.diagnosis.all_rules import KINDS, LADDER, check_no_gpu, diagnose_machine
from archbuild.rules.diagnosis.kind import Kind
from archbuild.rules.diagnosis.machine_kinds import MACHINE_KINDS
from tests.data import machine_parts as parts
from tests.data.make_machine_records import MACHINE_CASES as CASES


def _codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


def _only(machine: Machine, code: str) -> Diagnosis:
    return next(f for f in diagnose_machine(machine).findings if f.code == code)


def _of(name: str, **around: object) -> Machine:
    """The machine of a record, with other surroundings."""
    machine = CASES[name].machine
    assert machine.surroundings is not None
    return replace(machine, surroundings=replace(machine.surroundings, **around))  # type: ignore[arg-type]


def test_codes_and_kinds_are_unique() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(codes) == len(set(codes))
    assert {code for kind in KINDS for code in kind.after} <= {*codes, "D300"}


# --- one reason -----------------------------------------------------------------------------------


def test_a_hang_beside_a_mismatch_follows_from_it() -> None:
    sources = parts.sources((18, "Driver/library version mismatch"), "hangs", None)
    report = diagnose_machine(_of("driver-updated-not-restarted", sources=sources))
    assert [(f.code, f.because) for f in report.findings] == [("D307", None), ("D308", "D307")]
    assert report.exit_code() == 1
    assert [what for what, _ in report.unknown] == ["gpus"]


@pytest.mark.parametrize("name", [c.name for c in CASES.values() if c.expected])
def test_the_ladder_gives_one_answer(name: str) -> None:
    assert len(list(check_no_gpu(CASES[name].machine))) <= 1


def test_the_ladder_is_silent_where_cuda_sees_a_gpu() -> None:
    for case in CASES.values():
        if any(gpu.visible for gpu in case.machine.gpus):
            assert not list(check_no_gpu(case.machine))


def test_a_container_hides_nothing_of_a_stub() -> None:
    machine = _of("stub-by-its-error", container=Container(ContainerKind.DOCKER, True, True))
    assert _codes(diagnose_machine(machine)) == ["D311"]


def test_every_rung_of_the_ladder_is_met() -> None:
    met = {rung.__name__ for rung in LADDER for case in CASES.values() if rung(case.machine)}
    assert met == {rung.__name__ for rung in LADDER}


# --- what is not known ----------------------------------------------------------------------------


def test_a_machine_that_was_not_asked_is_not_green() -> None:
    report = diagnose_machine(Machine("linux", "x86_64", "3.12.3"))
    assert report.root_cause is not None
    assert (report.root_cause.code, report.root_cause.confidence) == ("D300", Confidence.LIKELY)
    assert [what for what, _ in report.unknown] == ["surroundings"]


def test_a_machine_without_any_sign_is_known() -> None:
    assert diagnose_machine(CASES["no-card-no-driver"].machine).unknown == ()


def test_hidden_files_do_not_matter_where_cuda_answers() -> None:
    assert diagnose_machine(CASES["hidepid-well"].machine).unknown == ()


@pytest.mark.parametrize("how", ["hangs", "crashes"])
def test_what_cuda_sees_is_unknown_whatever_nvml_says(how: str) -> None:
    machine = _of("rtx4090-well", sources=parts.sources(None, how, None))
    blind = tuple(replace(gpu, visible=None, cuda_index=None) for gpu in machine.gpus)
    assert diagnose_machine(replace(machine, gpus=blind)).exit_code() == 4


def test_a_driver_under_a_hidden_proc_is_not_said_to_be_unloaded() -> None:
    files = parts.files("550.54.15", kernel_release=None, hidden=("/proc",))
    sources = parts.sources((None, "?"), parts.init_fails(999), (None, "not found"))
    report = diagnose_machine(_of("rtx4090-well", driver_files=files, sources=sources))
    assert "D316" not in _codes(report)


# --- driver and card ------------------------------------------------------------------------------


def test_a_windows_driver_that_is_too_old() -> None:
    gpu = replace(parts.gpu(parts.RTX_5090, cuda=None), visible=None, seen_by=())
    windows = parts.machine(None, system="win32", gpus=(gpu,), driver=parts.driver("551.78", None))
    finding = _only(windows, "D305")
    assert "570.65" in finding.message
    assert finding.commands == ()


def test_a_driver_that_is_new_enough_is_no_finding() -> None:
    gpu = replace(parts.gpu(parts.RTX_5090, cuda=None), visible=None, seen_by=())
    machine = parts.machine(None, gpus=(gpu,), driver=parts.driver("570.124.06"))
    assert _codes(diagnose_machine(machine)) == []


def test_an_update_goes_no_further_than_the_oldest_card_allows() -> None:
    cards = (parts.card(parts.RTX_5090, module=None), parts.card(parts.T4, 1))
    machine = _of("rtx5090-driver550", cards=cards)
    assert "beyond" not in _only(machine, "D305").advice
    volta = (parts.card(parts.RTX_5090, module=None), parts.card(parts.V100, 1))
    found = diagnose_machine(_of("rtx5090-driver550", cards=volta))
    # On Linux the one needs the open module, the other the proprietary one.
    assert _codes(found)[0] == "D313"
    assert "beyond branch 580" in next(f for f in found.findings if f.code == "D305").advice


def test_one_driver_serves_pascal_and_blackwell_on_windows_alone() -> None:
    cards = parts.cards(parts.GTX_1080, parts.RTX_5090, module=None)
    linux = _of("rtx5090-driver550", cards=cards)
    assert "D313" in _codes(diagnose_machine(linux))
    both = parts.gpus(parts.GTX_1080, parts.RTX_5090)
    windows = replace(CASES["windows-rtx4090-well"].machine, gpus=both)
    assert "D313" not in _codes(diagnose_machine(windows))


def test_cards_that_both_work_need_no_common_driver() -> None:
    machine = _of("rtx4090-well", cards=parts.cards(parts.GTX_680, parts.RTX_5090))
    both = replace(machine, gpus=parts.gpus(parts.GTX_680, parts.RTX_5090))
    # The rules about code have to say something of torch there.
    assert _codes(diagnose_machine(both)) == ["D342"]


def test_a_card_that_is_left_out_is_a_warning_where_another_works() -> None:
    machine = _of("rtx4090-well", cards=parts.cards(parts.RTX_4090, parts.RTX_3090))
    finding = _only(machine, "D317")
    assert finding.severity is Severity.WARNING
    assert finding.confidence is Confidence.LIKELY
    assert finding.gpus == ("PCI-00000000:02:00.0",)


def test_a_job_that_was_given_one_of_two_cards_is_well() -> None:
    files = replace(parts.files("580.95.05", 2), closed_nodes=("/dev/nvidia1",))
    cards = parts.cards(parts.RTX_4090, parts.RTX_4090)
    machine = _of("rtx4090-well", cards=cards, driver_files=files)
    assert _codes(diagnose_machine(machine)) == []


def test_a_card_that_the_table_lacks_is_named_by_its_number() -> None:
    unknown = PciCard("00000000:01:00.0", 0x3FFF)
    machine = _of("laptop-no-driver", cards=(unknown,))
    finding = _only(machine, "D301")
    assert "10de:3fff" in finding.message
    assert finding.commands == ()


# --- errors of GPUs -------------------------------------------------------------------------------


def test_a_field_that_a_working_gpu_lacks_is_no_finding() -> None:
    machine = CASES["gb10-well"].machine
    odd = tuple(replace(g, errors=("nvml: memory: Not Supported",)) for g in machine.gpus)
    assert _codes(diagnose_machine(replace(machine, gpus=odd))) == []


def test_a_lost_gpu_that_only_the_exit_status_tells_of() -> None:
    machine = _of(
        "cuda-does-not-start", sources=parts.sources(None, (999, ""), (15, "GPU is lost"))
    )
    assert _codes(diagnose_machine(machine)) == ["D304"]


# --- container ------------------------------------------------------------------------------------


def test_void_in_a_container_with_the_gpu_is_well() -> None:
    assert _codes(diagnose_machine(CASES["container-cdi-void-well"].machine)) == []


@pytest.mark.parametrize("value", ["void", "none", "", " "])
def test_what_keeps_a_gpu_away(value: str) -> None:
    machine = CASES["docker-void"].machine
    assert machine.surroundings is not None
    assert machine.surroundings.container is not None
    container = replace(machine.surroundings.container, visible_devices=value)
    assert _codes(diagnose_machine(_of("docker-void", container=container))) == ["D322"]


@pytest.mark.parametrize("capabilities", ["all", "compute", "utility, compute", None, ""])
def test_capabilities_with_compute_are_not_blamed(capabilities: str | None) -> None:
    machine = CASES["docker-capability-utility"].machine
    assert machine.surroundings is not None
    assert machine.surroundings.container is not None
    container = replace(machine.surroundings.container, capabilities=capabilities)
    report = diagnose_machine(_of("docker-capability-utility", container=container))
    assert _codes(report) == ["D325"]


def test_a_pod_with_all_was_allotted_none() -> None:
    machine = CASES["pod-without-runtime-class"].machine
    assert machine.surroundings is not None
    assert machine.surroundings.container is not None
    container = replace(machine.surroundings.container, visible_devices="all")
    report = diagnose_machine(_of("pod-without-runtime-class", container=container))
    assert _codes(report) == ["D320"]


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        (ContainerKind.DOCKER, "docker run --gpus all IMAGE"),
        (ContainerKind.PODMAN, "podman run --device nvidia.com/gpu=all IMAGE"),
        (ContainerKind.APPTAINER, "apptainer exec --nv IMAGE.sif COMMAND"),
        (ContainerKind.KUBERNETES, "kubectl patch deployment NAME -p "),
        (ContainerKind.LXC, "lxc config device add NAME gpu gpu"),
        (ContainerKind.OTHER, "docker run --gpus all IMAGE"),
    ],
)
def test_the_form_of_its_own_engine_comes_first(kind: ContainerKind, first: str) -> None:
    container = Container(kind, host_release=parts.release("550.54.15"))
    finding = _only(_of("docker-without-gpus", container=container), "D320")
    assert finding.commands[0].startswith(first)


@pytest.mark.parametrize("name", ["docker-without-gpus", "docker-void", "pod-asks-for-no-gpu"])
def test_docker_compose_and_kubernetes_are_told(name: str) -> None:
    root = diagnose_machine(CASES[name].machine).root_cause
    assert root is not None
    for words in ("docker run", "docker compose", "kubectl"):
        assert any(words in command for command in root.commands)


# --- the library that is loaded -------------------------------------------------------------------


def test_a_compat_library_with_a_driver_that_it_is_not_for() -> None:
    machine = CASES["geforce-cuda-compat"].machine
    sources = parts.sources(None, (803, "cuInit fails"), None)
    assert machine.surroundings is not None
    machine = replace(machine, surroundings=replace(machine.surroundings, sources=sources))
    finding = _only(machine, "D312")
    assert finding.errors == (803,)


def test_a_stub_that_was_not_called_yet() -> None:
    loaded = LoadedLibrary("libcuda.so.1", "/x/stubs/libcuda.so.1", None, "RPATH", stub=True)
    machine = _of("cuda-does-not-start", sources=())
    machine = replace(machine, gpus=(), driver=None, installed=Installed(loaded=(loaded,)))
    finding = _only(machine, "D311")
    assert finding.file == "/x/stubs/libcuda.so.1"
    assert finding.commands == ("grep -rn /x/stubs /etc/ld.so.conf*",)


def test_the_same_release_in_a_container_is_no_mismatch_of_its_image() -> None:
    machine = _of("image-with-a-driver", driver_files=parts.files("520.61.05"))
    assert "D326" not in _codes(diagnose_machine(machine))


# --- variables ------------------------------------------------------------------------------------


def test_windows_takes_a_variable_away_in_its_own_way() -> None:
    machine = CASES["windows-rtx4090-well"].machine
    assert machine.surroundings is not None
    around = replace(machine.surroundings, sources=parts.sources(None, (100, ""), None))
    blind = tuple(replace(g, visible=False, cuda_index=None) for g in machine.gpus)
    variables = (("CUDA_VISIBLE_DEVICES", "-1"),)
    machine = replace(machine, surroundings=around, gpus=blind, variables=variables)
    assert _only(machine, "D333").commands == ("Remove-Item Env:CUDA_VISIBLE_DEVICES",)


def test_a_variable_that_names_gpus_is_not_blamed_for_another_error() -> None:
    machine = CASES["cvd-minus-one"].machine
    assert machine.surroundings is not None
    around = replace(machine.surroundings, sources=parts.sources(None, (802, ""), None))
    assert "D333" not in _codes(diagnose_machine(replace(machine, surroundings=around)))


def test_a_number_that_is_another_gpu_for_nvml() -> None:
    """Of a slow and a fast GPU the variable asks for 0, which is NVML's 1."""
    gpus = (
        parts.gpu(parts.GTX_1080, 0, cuda=None),
        parts.gpu(parts.RTX_4090, 1, cuda=0),
    )
    machine = replace(
        CASES["nvml-order-is-not-cuda-order"].machine,
        gpus=gpus,
        variables=(("CUDA_VISIBLE_DEVICES", "0"),),
    )
    assert _codes(diagnose_machine(machine)) == ["D338", "D334"]


# --- anything at all ------------------------------------------------------------------------------

_RELEASES = st.sampled_from([None, *map(parts.release, ("470.82.01", "550.54.15", "595.58.03"))])
_CAPABILITIES = st.sampled_from([None, "3.0", "6.1", "8.7", "9.0", "12.0", "12.1", "19.3"])
_CARDS = st.builds(
    PciCard,
    st.sampled_from(["00000000:01:00.0", "00000000:02:00.0", "0001:01:00.0"]),
    st.integers(0, 0xFFFF),
    st.none(),
    st.sampled_from([None, "GeForce RTX 5090"]),
    _CAPABILITIES.map(lambda text: ComputeCapability.parse(text) if text else None),
    st.sampled_from([None, "nvidia", "nouveau", "vfio-pci", "odd"]),
)
_SOURCES = st.builds(
    SourceAnswer,
    st.sampled_from(["nvml", "cuda driver", "nvidia-smi"]),
    st.booleans(),
    st.sampled_from([None, 2, 4, 9, 15, 18, 34, 100, 802, 803, 804, 999, 12345]),
    st.sampled_from(["", "Unknown Error", "cuInit of /a/stubs/libcuda.so fails"]),
    st.booleans(),
    st.booleans(),
)
_LIBRARIES = st.sampled_from(
    [
        (),
        (parts.library("550.54.15"),),
        ("/usr/lib/wsl/lib/libcuda.so.1.1",),
        ("/usr/local/cuda/compat/libcuda.so.570.26", parts.library("535.54.03")),
    ]
)
_NODES = st.sampled_from([(), parts.nodes(2), ("/dev/dxg",), ("/dev/nvidia0",)])
_FILES = st.builds(
    DriverFiles,
    *(_RELEASES, _RELEASES, _LIBRARIES, _RELEASES, _NODES, _NODES, st.booleans()),
    st.sampled_from([(), ("/proc",)]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, True, False]),
)
_TEXTS = st.sampled_from([None, "", "all", "void", "GPU-1", "utility", "\x00?"])
_CONTAINERS = st.none() | st.builds(
    Container,
    *(st.sampled_from(ContainerKind), st.booleans(), st.booleans(), _TEXTS, _TEXTS, _TEXTS),
    st.none(),
    _RELEASES,
)
_AROUND = st.none() | st.builds(
    Surroundings,
    *(st.lists(_CARDS, max_size=3).map(tuple), st.booleans()),
    *(st.lists(_SOURCES, max_size=3).map(tuple), _FILES, _CONTAINERS, st.booleans(), st.none()),
    *(st.sampled_from([None, "Jetson"]), st.sampled_from([None, "36.4", "x"])),
    st.sampled_from([None, "ubuntu 24.04", "fedora 42", "?"]),
)
_GPUS = st.builds(
    Gpu,
    st.sampled_from(["", "GPU-1", "GPU-2", "MIG-1", "MIG-2"]),
    st.just("NVIDIA H100"),
    _CAPABILITIES.map(lambda text: ComputeCapability.parse(text) if text else None),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, "00000000:01:00.0"]),
    st.none(),
    st.booleans(),
    errors=st.sampled_from([(), ("nvml: anything: GPU is lost",), ("odd",)]),
)
_MACHINES = st.builds(
    Machine,
    st.sampled_from(["linux", "win32", "darwin"]),
    st.just("x86_64"),
    st.just("3.12.3"),
    st.lists(_GPUS, max_size=3).map(tuple),
    st.sampled_from([None, parts.driver("550.54.15"), parts.driver(None, "13.0")]),
    surroundings=_AROUND,
    variables=st.sampled_from(
        [(), (("CUDA_VISIBLE_DEVICES", ""),), (("CUDA_VISIBLE_DEVICES", "0,x\x00"),)]
    ),
)


@settings(deadline=None)
@given(_MACHINES)
def test_any_machine_gets_an_answer(machine: Machine) -> None:
    report = diagnose_machine(machine)
    for finding in report.findings:
        assert "{" not in finding.message
        assert finding.message.endswith(".")
        assert finding.severity is Severity.NOTE or finding.evidence
    if report.root_cause is None:
        assert report.exit_code() in (0, 4)
    if machine.surroundings is None:
        assert report.exit_code() != 0


# --- pages ----------------------------------------------------------------------------------------

_PAGES = Path(__file__).parents[1] / "docs" / "findings"


@pytest.mark.parametrize("kind", MACHINE_KINDS, ids=lambda kind: kind.code)
def test_every_code_has_a_page_and_a_row(kind: Kind) -> None:
    name = f"{kind.code.lower()}.md"
    text = (_PAGES / name).read_text("utf-8")
    assert text.startswith(f"# {kind.code}: {kind.title}\n\n```console\n$ ")
    assert f"Severity: {kind.severity.value}." in " ".join(text.split())
    assert len(text.splitlines()) < 40
    row = f"| [{kind.code}]({name}) | {kind.severity.value} | {kind.title} |"
    assert row in (_PAGES / "README.md").read_text("utf-8").splitlines()
