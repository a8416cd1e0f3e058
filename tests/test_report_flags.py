"""A selection as words for nvcc, torch, CMake and a shell."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from importlib.resources import files
from typing import Any, cast

import jsonschema
import pytest

from archbuild.model.machine import Machine
from archbuild.report.flags import (
    FORMATS,
    cmake_list,
    flags_document,
    link_words,
    new_to_cmake,
    nvcc_words,
    render_flags,
    render_reasons,
    torch_list,
    torch_refuses,
)
from archbuild.rules.covering.places import Member
from archbuild.rules.selecting.archlist import parse_arch_list, targets_of
from archbuild.rules.selecting.selection import Selection
from archbuild.services.select import select_archs
from tests.doctors import desk, gpu
from tests.machines import choose, machine, toolkit, torch_build


def _at(root: str, archs: str = "8.6;12.0+PTX", **fields: Any) -> Selection:
    subject = machine("13.0")
    kit = toolkit("13.0", root=root, nvcc=f"{root}/bin/nvcc", **fields)
    return choose(Machine("linux", "x86_64", "3.12", toolkits=(kit,)) if root else subject, archs)


_SCHEMA = json.loads(files("archbuild.report").joinpath("schemas/flags.json").read_text())

SELECTIONS = [
    choose(machine("13.0"), "8.6;12.0+PTX"),
    choose(machine("13.0"), "9.0a;12.0f;compute_80"),
    choose(machine("13.0", "6.1", "8.6")),
    choose(machine("12.4"), "all-major"),
    choose(machine(None, torch=torch_build("12.9")), "6.1"),
    choose(machine("13.0", NVCC_APPEND_FLAGS="-arch=sm_80"), "9.0"),
    choose(machine("13.0", NVCC_APPEND_FLAGS="-gencode arch=compute_80,code=lto_80"), "9.0"),
]


def test_words_for_nvcc() -> None:
    assert render_flags(SELECTIONS[0], "nvcc") == (
        "-gencode=arch=compute_86,code=sm_86 -gencode=arch=compute_120,code=sm_120 "
        "-gencode=arch=compute_120,code=compute_120"
    )


def test_what_linking_needs() -> None:
    selection = _at("/cuda", lib=("/cuda/lib", "/cuda/lib/stubs"))
    plain, linking = nvcc_words(selection), nvcc_words(selection, link=True)
    assert linking[: len(plain)] == plain
    added = ["-L/cuda/lib", "-L/cuda/lib/stubs"]
    assert linking[len(plain) :] == (added if os.name == "nt" else ["-Xcompiler=-fPIC", *added])
    assert render_flags(selection, "nvcc", link=True).split() == linking


def test_linking_without_a_toolkit() -> None:
    assert not [word for word in link_words(None) if word.startswith("-L")]


@pytest.mark.parametrize(
    ("archs", "torch", "cmake"),
    [
        ("8.6;12.0+PTX", "8.6;12.0+PTX", "86-real;120-real;120-virtual"),
        ("9.0a;12.0f", "9.0a;12.0f", "90a-real;120f-real"),
        ("8.0+PTX;9.0", "8.0+PTX;9.0", "80-real;90-real;80-virtual"),
        ("compute_90", "compute_90", "90-virtual"),
        ("10.1", "11.0", "110-real"),
    ],
)
def test_lists_for_torch_and_cmake(archs: str, torch: str, cmake: str) -> None:
    selection = choose(machine("13.0"), archs)
    assert render_flags(selection, "torch") == torch
    assert render_flags(selection, "cmake") == (
        f"-DCMAKE_CUDA_ARCHITECTURES={cmake} -DTORCH_CUDA_ARCH_LIST={torch}"
    )


@pytest.mark.parametrize("selection", SELECTIONS)
def test_every_item_for_cmake_says_real_or_virtual(selection: Selection) -> None:
    """A bare 90 would be both."""
    assert all(i.endswith(("-real", "-virtual")) for i in cmake_list(selection).split(";"))


@pytest.mark.parametrize("selection", SELECTIONS)
def test_torchs_list_read_again_is_the_same(selection: Selection) -> None:
    again = targets_of(parse_arch_list(torch_list(selection)))
    assert set(again) == {t for t in selection.targets if t.is_real or t.is_virtual}


@pytest.mark.parametrize(
    ("archs", "expected"),
    [("9.0a;10.0a;12.0+PTX", ()), ("9.0a;10.0f;12.0f", ("100f-real", "120f-real"))],
)
def test_what_older_cmakes_refuse(archs: str, expected: tuple[str, ...]) -> None:
    assert new_to_cmake(choose(machine("13.0"), archs)) == expected


def test_what_a_variable_adds_is_in_the_lists_and_not_in_the_words() -> None:
    """nvcc adds it by itself; torch and CMake have to know."""
    selection = SELECTIONS[5]
    assert render_flags(selection, "nvcc") == "-gencode=arch=compute_90,code=sm_90"
    assert torch_list(selection) == "8.0+PTX;9.0"
    assert cmake_list(selection) == "80-real;90-real;80-virtual"


@pytest.mark.skipif(os.name == "nt", reason="there is no sh")
@pytest.mark.parametrize(
    ("lib", "before", "expected"),
    [
        (("/my cu13/lib",), None, "/my cu13/lib"),
        (("/my cu13/lib",), "", "/my cu13/lib"),
        (("/my cu13/lib",), "/own one:/two", "/my cu13/lib:/own one:/two"),
        (("/cuda/lib64", "/cuda/targets/lib"), "/own", "/cuda/targets/lib:/own"),
        (("/cuda/lib64",), "/own", "/own"),
        ((), None, None),
    ],
)
def test_a_linker_finds_the_packages_libraries(
    lib: tuple[str, ...], before: str | None, expected: str | None
) -> None:
    """CMake links a program with nvcc alone, before it has read any flag."""
    text = render_flags(_at("/cuda", lib=lib), "env")
    environment = {"PATH": os.environ["PATH"]}
    environment |= {"LIBRARY_PATH": before} if before is not None else {}
    script = 'eval "$1"; env -0 | grep -z "^LIBRARY_PATH=" || true'
    done = subprocess.run(
        ["sh", "-euc", script, "sh", text],
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    found = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
    assert found.get("LIBRARY_PATH") == expected


@pytest.mark.skipif(os.name == "nt", reason="there is no sh")
@pytest.mark.parametrize(
    "root",
    ["/opt/cuda", "/opt/my cuda", "/opt/it's $HOME", '/opt/"x"; exit 3 #', "/opt/`id`\n/new line"],
)
def test_a_shell_takes_the_variables_as_they_are(root: str) -> None:
    text = render_flags(_at(root), "env")
    names = ["TORCH_CUDA_ARCH_LIST", "CUDAARCHS", "CUDA_HOME", "CUDACXX"]
    script = f'eval "$1"; env -0 | grep -zE "^({"|".join(names)})="'
    done = subprocess.run(
        ["sh", "-c", script, "sh", text],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
        text=True,
    )
    found = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
    assert found == {
        "TORCH_CUDA_ARCH_LIST": "8.6;12.0+PTX",
        "CUDAARCHS": "86-real;120-real;120-virtual",
        "CUDA_HOME": root,
        "CUDACXX": f"{root}/bin/nvcc",
    }


@pytest.mark.skipif(os.name == "nt", reason="there is no sh")
@pytest.mark.parametrize("style", ["nvcc", "torch", "cmake"])
def test_a_shell_splits_the_words_and_nothing_else(style: str) -> None:
    text = render_flags(SELECTIONS[0], style)
    script = 'for word in $(printf %s "$1"); do printf "%s\\n" "$word"; done'
    done = subprocess.run(
        ["sh", "-c", script, "sh", text], capture_output=True, check=True, text=True
    )
    assert done.stdout.splitlines() == text.split(" ")


def test_without_a_toolkit_no_variable_names_one() -> None:
    text = render_flags(SELECTIONS[4], "env")
    assert [line.split("=")[0] for line in text.splitlines()] == [
        "export TORCH_CUDA_ARCH_LIST",
        "export CUDAARCHS",
    ]
    assert shlex.split(text) == [
        "export",
        "TORCH_CUDA_ARCH_LIST=6.1",
        "export",
        "CUDAARCHS=61-real",
    ]


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("link", [False, True])
def test_json_is_as_the_schema_says(selection: Selection, *, link: bool) -> None:
    document = json.loads(render_flags(selection, "json", link=link))
    jsonschema.Draft202012Validator.check_schema(_SCHEMA)
    jsonschema.validate(document, _SCHEMA, cls=jsonschema.Draft202012Validator)
    assert document["nvcc"] == render_flags(selection, "nvcc", link=link)
    assert document["torch"] == torch_list(selection)
    assert [c["flag"] for c in document["gencodes"]] == nvcc_words(selection)
    assert document["warnings"] == list(selection.warnings)
    assert document["notes"] == list(selection.notes)


@pytest.mark.parametrize("spoilt", ["schema", "gencodes", "targets", "cuda", "toolkit"])
def test_the_schema_can_fail(spoilt: str) -> None:
    document = {**flags_document(SELECTIONS[0]), spoilt: "x"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, _SCHEMA)
    del document[spoilt]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, _SCHEMA)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_reasons_for_every_image(selection: Selection) -> None:
    head, *lines = render_reasons(selection).splitlines()
    assert selection.source in head
    assert selection.compiler.origin in head
    assert len(lines) == len(selection.choices) + len(selection.inherited)
    for choice, line in zip(selection.choices, lines, strict=False):
        target, reason = line.split(maxsplit=1)
        assert (target, reason) == (str(choice.gencode.target), choice.reason)
    for gencode, line in zip(selection.inherited, lines[len(selection.choices) :], strict=True):
        assert line.startswith(f"{gencode.target} ")
        assert "NVCC_APPEND_FLAGS" in line


@pytest.mark.parametrize("style", FORMATS)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_no_format_ends_in_a_newline(selection: Selection, style: str) -> None:
    text = render_flags(selection, style)
    assert text
    assert text == text.strip()


_ODD = [
    ("8.6;12.0+PTX", ()),
    ("8.8;9.0", ("8.8",)),
    ("12.0f;9.0a", ("12.0f",)),
    ("compute_90;8.0", ("compute_90",)),
    ("7.5+PTX;8.8+PTX", ("8.8+PTX",)),
]


@pytest.mark.parametrize(("archs", "expected"), _ODD)
def test_what_torch_does_not_take(archs: str, expected: tuple[str, ...]) -> None:
    assert torch_refuses(choose(machine("13.0"), archs)) == expected


@pytest.mark.torch
def test_torch_agrees_about_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    from torch.utils.cpp_extension import _get_cuda_arch_flags

    for version in ("11.8", "12.9", "13.5"):
        for target in toolkit(version).archs:
            selection = choose(machine(version), f"{target}")
            monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", torch_list(selection))
            try:
                taken = bool(_get_cuda_arch_flags())
            except (ValueError, IndexError):
                taken = False
            assert taken is not bool(torch_refuses(selection)), str(target)


def test_json_for_a_fleet_is_by_its_schema() -> None:
    members = (
        Member("lab", desk(gpu("NVIDIA H100", "9.0"), driver="535.183.01")),
        Member("odd", desk(gpu("NVIDIA Thing", None))),
    )
    selected = select_archs(machine=machine("13.0"), machines=members)
    document = flags_document(selected.selection, outlooks=selected.outlooks)
    jsonschema.validate(document, _SCHEMA)
    told = cast("list[dict[str, object]]", document["machines"])
    assert [(one["machine"], one["runs"], one["errors"]) for one in told] == [
        ("lab", "none", [35, 36]),
        ("odd", "unknown", []),
    ]
    assert "machines" not in flags_document(selected.selection)
