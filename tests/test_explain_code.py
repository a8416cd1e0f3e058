"""An error joined with the binary and the GPUs: what is said, what cures it, the commands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from archbuild.errors import ArchListError, UsageError
from archbuild.model.diagnosis import Confidence, Diagnosis
from archbuild.model.finding import Severity
from archbuild.model.image import DeviceFile, ImageKind
from archbuild.model.machine import Machine
from archbuild.rules.covering.drivers import parse_driver
from archbuild.rules.explaining.answer import Explained
from archbuild.rules.explaining.circumstances import (
    Builder,
    Circumstances,
    Origin,
    named_places,
    origin_of_wheel,
    places_with,
    same_name,
)
from archbuild.rules.explaining.code_verdict import State, judge_code
from archbuild.rules.explaining.explain import explain_text
from archbuild.rules.explaining.phrases import note_text, say
from archbuild.rules.explaining.rebuild_command import quoted
from archbuild.rules.explaining.recognize import recognize
from tests.images import driver, file, lto, real, region, relocatable, virtual
from tests.machines import machine, torch_build

NO_IMAGE = "CUDA error: no kernel image is available for execution on the device"
ABSENT = "CUDA error: invalid device function"
PTX = "CUDA error: the provided PTX was compiled with an unsupported toolchain."
HERE = machine("13.0", torch=torch_build())

#: What most of the tests are about: three architectures, no PTX.
KERNELS = file(region(real("80", "k"), real("86", "k"), real("90", "k")), path="mykernels/_C.so")


def explain(
    text: str,
    files: tuple[DeviceFile, ...] | None = (KERNELS,),
    gpu: str = "RTX 5090",
    release: str | None = None,
    **more: Any,
) -> Explained:
    places = named_places(gpu, parse_driver(release, None))
    values = {"binary": "x.whl", "machine": HERE, **more}
    return explain_text(recognize(text), Circumstances(places, files, **values))


def sentences(answer: Explained) -> list[str]:
    return [say(part) for part in answer.here]


# --- what is said -----------------------------------------------------------------------------


def test_the_sentence_of_the_issue() -> None:
    answer = explain(NO_IMAGE)
    assert sentences(answer) == [
        "RTX 5090 is 12.0; mykernels/_C.so holds SASS 8.0, 8.6, 9.0 and no PTX: every launch gives "
        "209, and 98 where a library asks for the kernel first."
    ]
    assert answer.errors == (209, 98)
    assert answer.decided
    assert answer.kernels == ("k",)


#: Name, regions of the file, GPUs, driver, state and words of the sentence.
CASES: list[tuple[str, DeviceFile, str, str | None, State, list[str]]] = [
    ("none", KERNELS, "12.0", None, State.NONE, ["The GPU is 12.0; ", "gives 209"]),
    (
        "part",
        file(region(real("80", "a"), virtual("80", "a")), region(real("80", "b"))),
        "9.0",
        None,
        State.PART,
        ["1 of the 2 parts", "SASS 8.0 and PTX 8.0", "209"],
    ),
    (
        "absent",
        file(region(real("86", "a"), real("90", "a b c"))),
        "RTX 3090",
        None,
        State.ABSENT,
        ["RTX 3090 is 8.6", "lacks 2 kernels", "98", "500"],
    ),
    (
        "ptx",
        file(region(real("80", "k"), virtual("80", "k", (8, 7)))),
        "RTX 4090, 9.0",
        "550.54",
        State.PTX,
        ["only its PTX fits", "driver 550.54", "222", "Driver 570.26"],
    ),
    (
        "driver",
        file(region(real("86", "k", "13.0"))),
        "8.6",
        "550.54",
        State.DRIVER,
        ["does not serve", "35", "Driver 580"],
    ),
    (
        "device",
        file(region(real("120", "k", "12.8"))),
        "RTX 5090",
        "550.54",
        State.DEVICE,
        ["does not know this GPU: RTX 5090, 12.0", "driver 570.26", "100"],
    ),
    (
        "retired",
        file(region(real("61", "k", "12.8"))),
        "GTX 1080",
        "590.44",
        State.DEVICE,
        ["no longer serves this GPU: GTX 1080, 6.1"],
    ),
    (
        "unregistered",
        file(region(real("90", "k")), unnamed=("k",)),
        "9.0",
        None,
        State.UNREGISTERED,
        ["does not name 1 of its kernels", "98 on every GPU"],
    ),
    (
        "purpose",
        file(region(real("80", "k")), region(real("90a", "h"))),
        "8.6",
        None,
        State.PURPOSE,
        ["1 of the 2 parts", "other architectures alone"],
    ),
    ("tegra", file(region(real("80", "k"))), "8.7", None, State.TEGRA, ["Tegra"]),
    (
        "unknown",
        file(region(real("90", "k"), real("90a", "k h"))),
        "9.0",
        None,
        State.UNKNOWN,
        ["not known"],
    ),
    (
        "jit",
        file(region(virtual("80", "k"))),
        "9.0",
        None,
        State.JIT,
        ["driver 525.60.13 or newer"],
    ),
    ("native", KERNELS, "8.9", None, State.NATIVE, ["runs there as it is"]),
]


@pytest.mark.parametrize(
    ("held", "gpu", "release", "state", "words"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_what_a_file_does_on_a_gpu(
    held: DeviceFile, gpu: str, release: str | None, state: State, words: list[str]
) -> None:
    places = named_places(gpu, parse_driver(release, None))
    assert judge_code([held], places)[0].state is state
    said = sentences(explain("", (held,), gpu, release))[0]
    for word in words:
        assert word in said


def test_every_state_has_a_case() -> None:
    assert {case[4] for case in CASES} == set(State)


def test_the_worst_goes_first_and_the_other_gpus_are_told() -> None:
    said = sentences(explain(NO_IMAGE, gpu="RTX 3090, RTX 5090"))
    assert [text.partition(" is ")[0] for text in said] == ["RTX 5090", "RTX 3090"]
    assert "runs there as it is" in said[1]


def test_files_that_fail_alike_are_counted() -> None:
    files = tuple(replace(KERNELS, path=f"{n}.so") for n in range(9))
    said = sentences(explain(NO_IMAGE, files))
    assert said[-1] == "3 more files fail in the same way."
    assert len(said) == 7


def test_a_file_that_serves_is_not_what_failed() -> None:
    answer = explain(NO_IMAGE, gpu="8.9")
    assert sentences(answer)[-1] == "So x.whl is not what failed."
    assert not answer.decided
    assert answer.cure is not None
    assert "another" in say(answer.cure)
    assert answer.commands == ("archbuild doctor",)


def test_an_error_that_this_file_does_not_give() -> None:
    said = sentences(explain(PTX, gpu="12.0"))
    assert said[-1].startswith("That gives 209, 98, and the text says 222")
    assert not any("That gives" in text for text in sentences(explain(ABSENT, gpu="12.0")))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ((file(path="a.so"),), "x.whl holds no CUDA code at all"),
        ((file(path="a.so", hip=True),), "a.so holds code for AMD's GPUs"),
        ((file(region(relocatable(real("80", "k"))), path="a.so"),), "relocatable code only"),
        ((file(region(lto()), path="a.so"),), "relocatable code only"),
    ],
)
def test_files_with_nothing_to_launch(files: tuple[DeviceFile, ...], words: str) -> None:
    answer = explain(NO_IMAGE, files)
    assert words in sentences(answer)[0]
    assert answer.decided


def test_what_could_not_be_read_is_told() -> None:
    answer = explain(NO_IMAGE, unread=("b.so is cut short.",))
    assert sentences(answer)[0] == "b.so is cut short."


# --- what would decide ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "files", "gpu", "suspect", "wanted"),
    [
        (NO_IMAGE, None, "12.0", None, ["want-file"]),
        (NO_IMAGE, None, "12.0", "flash-attn", ["want-package"]),
        (NO_IMAGE, None, "", None, ["want-file", "want-gpu"]),
        (PTX, (KERNELS,), "8.6", None, ["want-driver"]),
        (NO_IMAGE, (KERNELS,), "", None, ["want-gpu"]),
        (NO_IMAGE, (KERNELS,), "12.0", None, ["want-source"]),
        ("hello", None, "12.0", None, ["want-text"]),
    ],
)
def test_what_would_decide_more(
    text: str, files: Any, gpu: str, suspect: str | None, wanted: list[str]
) -> None:
    places = named_places(gpu, None) if gpu else ()
    circumstances = Circumstances(places, files, machine=HERE, suspect=suspect)
    answer = explain_text(recognize(text), circumstances)
    assert [part.key for part in answer.wanted] == wanted


@pytest.mark.parametrize(("text", "code"), [("hello", 4), (NO_IMAGE, 0), ("209", 0)])
def test_exit_codes(text: str, code: int) -> None:
    assert explain_text(recognize(text), Circumstances()).exit_code == code


def test_a_binary_without_a_text_is_explained_where_it_fails() -> None:
    assert explain("").exit_code == 0
    assert explain("", gpu="8.6").exit_code == 4


# --- cures ------------------------------------------------------------------------------------

AXPY = Origin("axpy", "1.0", source="examples/axpy")


@pytest.mark.parametrize(
    ("held", "gpu", "archs"),
    [
        (file(region(real("90", "k"))), "RTX 3090", "8.6;9.0"),
        (file(region(real("90", "k"), virtual("90", "k"))), "8.6", "8.6;9.0+PTX"),
        (file(region(virtual("90", "k"))), "8.6", "8.6;9.0+PTX"),
        (file(region(real("90a", "k"))), "8.6, 12.0", "8.6;9.0a;12.0"),
        # nvcc takes no plain architecture beside its family.
        (file(region(real("100f", "k"))), "12.1", "10.0f;12.1"),
        # CUDA 13 no longer builds 7.0.
        (file(region(real("70", "k"), real("80", "k"))), "12.0", "8.0;12.0"),
    ],
)
def test_what_is_built_again(held: DeviceFile, gpu: str, archs: str) -> None:
    answer = explain(NO_IMAGE, (held,), gpu, origin=AXPY)
    assert answer.commands[0] == (
        f'TORCH_CUDA_ARCH_LIST="{archs}" pip wheel --no-build-isolation --no-deps -w dist '
        "examples/axpy"
    )
    assert answer.commands[1].startswith("archbuild verify dist/axpy*.whl --runs-on ")
    assert say(answer.cure) == f"Build it again for {archs}." if answer.cure else False


def test_what_no_nvcc_here_can_build_is_said() -> None:
    answer = explain(NO_IMAGE, gpu="V100", origin=AXPY)
    assert "7.0;" in answer.commands[0]
    assert sentences(answer)[-1] == (
        "To build it, an nvcc is needed first: 7.0 needs CUDA 12.9 or older."
    )


def test_the_nearest_that_this_nvcc_builds_stands_in() -> None:
    old = machine("11.7", torch=torch_build("11.7"))
    answer = explain(NO_IMAGE, (file(region(real("80", "k"))),), "8.9", machine=old, origin=AXPY)
    assert not answer.decided  # 8.0 runs on 8.9
    held = file(region(real("75", "k")))
    again = explain(NO_IMAGE, (held,), "8.9", machine=old, origin=AXPY)
    assert 'LIST="7.5;8.6"' in again.commands[0]


@pytest.mark.parametrize(
    ("here", "words"),
    [
        (machine(None, torch=torch_build("13.0")), 'pip install "archbuild[cu130]"'),
        (machine(None, torch=torch_build("12.4")), "has no nvcc of CUDA 12"),
        (machine(None), 'pip install "archbuild[toolkit]"'),
    ],
)
def test_without_an_nvcc_the_command_needs_one(here: Machine, words: str) -> None:
    answer = explain(NO_IMAGE, machine=here, origin=AXPY)
    assert words in sentences(answer)[-1]


@pytest.mark.parametrize(
    ("origin", "first", "words"),
    [
        (Origin("axpy", "1.0"), "TORCH_CUDA_ARCH_LIST", ["--no-binary axpy axpy==1.0"]),
        (
            Origin("axpy", "1.0", installed=True),
            'archbuild rebuild axpy --arch "8.0;8.6;9.0;12.0"',
            [],
        ),
        (
            Origin("flash-attn", "2.8.3+cu12torch2.8"),
            "TORCH_CUDA_ARCH_LIST",
            ['FLASH_ATTN_CUDA_ARCHS="80;86;90;120"', "flash-attn==2.8.3"],
        ),
        (Origin("torch", "2.6.0", installed=True), 'archbuild recommend --gpu "RTX 5090"', []),
        (Origin("onnxruntime-gpu", installed=True), "pip install --upgrade onnxruntime-gpu", []),
        (Origin("cupy-cuda12x", installed=True), "pip install --upgrade cupy-cuda12x", []),
        (Origin("jaxlib"), "pip install --upgrade jaxlib", []),
        (
            replace(AXPY, source="my project", builder=Builder.CMAKE),
            'CUDAARCHS="80-real;86-real;90-real;120-real" pip wheel',
            ["'my project'"],
        ),
    ],
)
def test_commands_by_origin(origin: Origin, first: str, words: list[str]) -> None:
    commands = explain(NO_IMAGE, origin=origin).commands
    assert commands[0].startswith(first)
    for word in words:
        assert word in " ".join(commands)


def test_commands_for_windows() -> None:
    here = replace(HERE, system="win32")
    origin = replace(AXPY, source="C:\\my project")
    command = explain(NO_IMAGE, machine=here, origin=origin).commands[0]
    assert command.startswith('set "TORCH_CUDA_ARCH_LIST=8.0;8.6;9.0;12.0" && pip wheel')
    assert command.endswith('"C:\\my project"')


def test_an_installed_package_of_a_known_source_is_installed_again() -> None:
    commands = explain(NO_IMAGE, origin=replace(AXPY, installed=True)).commands
    assert commands[-1] == "pip install --no-deps --force-reinstall dist/axpy*.whl"


@pytest.mark.parametrize(
    ("held", "gpu", "release", "words"),
    [
        (file(region(virtual("80", "k", (8, 7)))), "RTX 3090", "550.54", "570.26 or newer"),
        (file(region(real("120", "k"))), "RTX 5090", "550.54", "Install driver 570.26"),
        (file(region(real("61", "k"))), "GTX 1080", "590.44", "branch 580"),
        (file(region(real("86", "k", "13.0"))), "8.6", "550.54", "to 580"),
        (file(region(real("90", "k")), unnamed=("k",)), "9.0", None, "one list"),
    ],
)
def test_cures_that_are_no_mere_rebuild(
    held: DeviceFile, gpu: str, release: str | None, words: str
) -> None:
    answer = explain("", (held,), gpu, release, origin=AXPY)
    assert answer.cure is not None
    assert words in say(answer.cure)


def test_an_extension_of_another_torch_is_built_again_for_what_it_holds() -> None:
    text = "ImportError: /x/axpy/_C.so: undefined symbol: _ZN3c105ErrorC2E"
    answer = explain(text, (KERNELS,), "8.6", origin=AXPY)
    assert answer.commands[0].startswith('TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0" pip wheel')
    without = explain_text(recognize(text), Circumstances(machine=HERE, suspect="axpy"))
    assert [part.key for part in without.wanted] == ["want-package"]


# --- lists that torch prints ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "sm", "has", "key"),
    [
        ("NVIDIA GeForce RTX 5090", "120", "sm_80 sm_86 sm_90", "list-true"),
        ("NVIDIA GB10", "121", "sm_80 sm_90 sm_120", "list-false"),
        ("NVIDIA GeForce GTX 1080", "61", "sm_60 sm_70", "list-false"),
        ("NVIDIA GeForce RTX 4090", "89", "sm_80 sm_86", "list-false"),
        ("NVIDIA X", "130", "sm_90 compute_120", "list-false"),
        ("Orin", "87", "sm_80", "list-unknown"),
    ],
)
def test_what_torch_says_of_itself_is_judged(gpu: str, sm: str, has: str, key: str) -> None:
    text = (
        f"{gpu} with CUDA capability sm_{sm} is not compatible with the current PyTorch "
        f"installation.\nThe current PyTorch install supports CUDA capabilities {has}.\nIf you"
    )
    answer = explain_text(recognize(text), Circumstances(machine=HERE))
    assert [part.key for part in answer.here] == [key]
    assert (answer.commands == ()) == (key == "list-false")


# --- drivers and machines ---------------------------------------------------------------------


def test_the_version_in_torchs_sentence_is_decoded() -> None:
    text = "The NVIDIA driver on your system is too old (found version 12040)."
    answer = explain_text(recognize(text), Circumstances(machine=HERE))
    assert answer.meaning is not None
    assert "CUDA up to 12.4" in say(answer.meaning)
    assert "needs driver 580" in sentences(answer)[0]
    older = explain_text(recognize(text), Circumstances(machine=machine("12.8")))
    assert older.here == ()


def finding(code: str, *errors: int, because: str | None = None) -> Diagnosis:
    return Diagnosis(
        code, Severity.ERROR, Confidence.CERTAIN, f"{code}.", errors=errors, because=because
    )


def test_findings_about_the_machine_that_give_this_error() -> None:
    found = (
        finding("D310", 803),
        finding("D300", 35, 100),
        finding("D345", 35, because="D300"),
        finding("D301", 100, because="D999"),
    )
    answer = explain_text(recognize("CUDA error 35"), Circumstances(findings=found))
    assert [one.code for one in answer.findings] == ["D300"]
    assert explain_text(recognize("CUDA error 2"), Circumstances(findings=found)).findings == ()
    none = explain_text(recognize("no CUDA-capable device is detected"), Circumstances())
    assert none.findings == ()


def test_values_that_follow_from_others() -> None:
    text = "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please"
    answer = explain_text(recognize(text), Circumstances())
    assert answer.meaning is not None
    assert "driver 570.26 or newer" in say(answer.meaning)
    missing = explain_text(
        recognize("libcudart.so.12: cannot open shared object file"), Circumstances()
    )
    assert missing.commands == ("pip install nvidia-cuda-runtime-cu12",)
    old = explain_text(
        recognize("libcudart.so.10.1: cannot open shared object file"), Circumstances()
    )
    assert old.commands == ()


def test_a_failed_build_is_told_by_the_table_of_builds() -> None:
    answer = explain_text(
        recognize("nvcc fatal   : Unsupported gpu architecture 'compute_89'"), Circumstances()
    )
    assert answer.key == "A120"
    assert answer.page == "docs/build-errors.md#a120"
    assert answer.meaning is not None
    assert "compute_89" in say(answer.meaning)


def test_the_note_of_an_answer() -> None:
    note = note_text(explain(NO_IMAGE, origin=AXPY))
    lines = note.split("\n")
    assert lines[0] == "archbuild:"
    assert any(line.startswith("  RTX 5090 is 12.0;") for line in lines)
    assert any("Cure: Build it again for" in line for line in lines)
    assert any("pip wheel" in line for line in lines)


# --- pieces -----------------------------------------------------------------------------------


def test_gpus_that_were_named() -> None:
    places = named_places("RTX 3090, 12.0; sm_90", driver("570.124"))
    assert [(p.gpu, str(p.capability)) for p in places] == [
        ("RTX 3090", "8.6"),
        ("", "12.0"),
        ("", "9.0"),
    ]
    assert all(p.driver is not None for p in places)


@pytest.mark.parametrize("text", ["9.0a", "compute_90", "9.0+PTX", "native", "all"])
def test_what_names_no_gpu(text: str) -> None:
    with pytest.raises(UsageError, match="names no device"):
        named_places(text, None)


@pytest.mark.parametrize("text", ["", "RTX 3091", "TITAN X"])
def test_gpus_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ArchListError):
        named_places(text, None)


@pytest.mark.parametrize(("release", "cuda"), [("13.0", None), (None, "x"), ("x", None)])
def test_drivers_that_cannot_be_read(release: str | None, cuda: str | None) -> None:
    with pytest.raises(UsageError, match="--driver"):
        parse_driver(release, cuda)


def test_the_machines_gpus_with_another_driver() -> None:
    here = machine("13.0", "8.6", "12.0")
    assert [place.driver for place in places_with(here, None)] == [None, None]
    assert all(place.driver for place in places_with(here, driver("570.124")))


@pytest.mark.parametrize(
    ("path", "name", "version"),
    [
        ("dist/axpy-1.0-cp311-cp311-linux_x86_64.whl", "axpy", "1.0"),
        ("flash_attn-2.8.3+cu12-1-py3-none-any.whl", "flash-attn", "2.8.3+cu12"),
        ("C:\\x\\a_b-1.0-cp311-cp311-win_amd64.whl", "a-b", "1.0"),
        ("axpy/_C.so", None, None),
        ("axpy.whl", None, None),
    ],
)
def test_the_package_of_a_wheel(path: str, name: str | None, version: str | None) -> None:
    origin = origin_of_wheel(path)
    assert (origin.name, origin.version) == (name, version)


def test_names_of_packages() -> None:
    assert same_name("Flash_Attn", "flash-attn")
    assert not same_name("flash-attn", "flash-attn-3")


@pytest.mark.parametrize(
    ("path", "plain", "windows"),
    [
        ("examples/axpy", "examples/axpy", "examples/axpy"),
        ("a b", "'a b'", '"a b"'),
        ("a$(rm x)", "'a$(rm x)'", '"a$(rm x)"'),
        ("it's", "'it'\\''s'", '"it\'s"'),
    ],
)
def test_paths_for_shells(path: str, plain: str, windows: str) -> None:
    assert quoted(path) == plain
    assert quoted(path, windows=True) == windows


def test_images_of_a_kind_nobody_knows() -> None:
    odd = replace(real("80", "k"), kind=ImageKind.UNKNOWN)
    answer = explain(NO_IMAGE, (file(region(odd)),))
    assert answer.exit_code == 0
