"""The issue report: whole, nobody named, and no name that is markup."""

from __future__ import annotations

# Chinese has punctuation of its own.
# ruff: noqa: RUF001
import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.diagnosis import Evidence
from archbuild.model.installed import Distribution, Installed, LoadedLibrary
from archbuild.probe.person import Person, query_person
from archbuild.report.doctor_markdown import doctor_markdown
from tests.doctors import (
    HOMES,
    RTX_5090,
    SICK,
    code_package,
    desk,
    examined,
    follower,
    note,
    root,
    toolkit,
    torch_of,
    warning,
)

JANE = Person("jane", f"{HOMES}/jane", "box.example.com")


def test_everything_is_there() -> None:
    text = doctor_markdown(examined(root(), follower(), warning(), note()), JANE)
    assert text.splitlines() == [
        "### doctor: 2 errors, 1 warning",
        "",
        "**error D399** (certain): torch 2.6.0 holds nothing for the RTX 5090, which is 12.0.",
        "",
        "- seen: libtorch\\_cuda.so: sm\\_50 sm\\_80 sm\\_86 sm\\_90",
        "- you meet: 209 cudaErrorNoKernelImageForDevice: "
        '"no kernel image is available for execution on the device"',
        "- Install the wheel for CUDA 128.",
        "- page: `docs/findings/d399.md`",
        "- What follows from it: D398: flash-attn 2.7 fails as well.",
        "",
        "```console",
        "$ pip install --upgrade torch --index-url https://download.pytorch.org/whl/cu128",
        "```",
        "",
        "**warning D397** (likely): There are two of cuDNN.",
        "",
        "- Drop one.",
        "- page: `docs/findings/d397.md`",
        "",
        "**note D396** (certain): xformers is compiled by the driver.",
        "",
        "- page: `docs/findings/d396.md`",
        "",
        "**The machine**",
        "",
        "- linux x86\\_64, Python 3.12.1, ubuntu 24.04, kernel 6.8.0-45",
        "- driver 570.124.06, for CUDA up to 12.8",
        "- torch 2.6.0 of CUDA 12.4, cuDNN 9.1.0",
        "- toolkit: none",
        "- GPU: NVIDIA GeForce RTX 5090 (12.0), CUDA: 0",
        "- GPU: NVIDIA GeForce GTX 1080 (6.1), CUDA: 1",
        "- `LD_LIBRARY_PATH=.../lib64:/usr/local/cuda/lib64`",
        "",
        "| package | RTX 5090 (12.0) | GTX 1080 (6.1) |",
        "|---|---|---|",
        "| torch 2.6.0 | none (209) | none (209) |",
        "| flash-attn 2.7 | JIT >=550 | none (209) |",
        "",
        "<sub>Names of people and hosts, paths of homes, UUIDs and serial numbers are left out."
        "</sub>",
    ]


def test_nobody_is_named_wherever_a_name_hides() -> None:
    """Blanks in paths, credentials, other people's homes, commands to paste."""
    secret = "/mnt/jane doe/env/lib/python3.12/site-packages/torch"
    made = root(
        message=f"{secret} of jane is old on box.",
        advice=f"See {HOMES}/mallory/notes.txt or mail jane@corp.example.",
        commands=(f"rm {secret}/x.so", "pip install https://jane:tok@pypi.corp/x"),
        evidence=(
            Evidence(f"{secret}/lib/libtorch_cuda.so", f"loaded by {RTX_5090.uuid}"),
            Evidence("nvidia-smi -q", "Serial Number : 0324018012345"),
        ),
        values=(("path", secret),),
    )
    machine = replace(
        SICK,
        torch=torch_of("2.6.0", "12.4", secret),
        toolkits=(toolkit(f"{HOMES}/jane/cuda", "12.4"),),
        variables=(("CUDA_VISIBLE_DEVICES", RTX_5090.uuid), ("CONDA_PREFIX", f"{HOMES}/mallory/c")),
        installed=Installed(
            loaded=(LoadedLibrary("libcuda.so.1", f"{secret}/lib/libcuda.so.1"),),
            distributions=(Distribution("torch", "2.6.0", secret),),
        ),
    )
    text = doctor_markdown(examined(made, machine=machine, unknown=[("x", secret)]), JANE)
    for name in ("jane", "doe", "mallory", "box", "tok", "corp", "0324018012345", RTX_5090.uuid):
        assert name not in text, name
    assert "GPU\\#1" in text
    assert ".../site-packages/torch/x.so" in text


def test_names_are_no_markup() -> None:
    evil = "</details> **x** `y` | # @someone\n```\n"
    made = root(message=evil, advice=evil, evidence=(Evidence(evil, evil),), commands=("a```b",))
    machine = desk(packages=[code_package(evil, "1", "sm_80")], variables=(("X", "a`|\nb"),))
    text = doctor_markdown(examined(made, machine=machine))
    assert "</details>" not in text
    assert not re.search(r"(?<!\\)@someone", text)
    assert "````console\n$ a```b\n````" in text
    assert "`X=a'\\|\\x0ab`" in text


def test_chinese() -> None:
    text = doctor_markdown(examined(root()), language="zh")
    assert text.startswith("### doctor：1 个错误\n")
    assert "- 你会看到：209 cudaErrorNoKernelImageForDevice" in text


def test_this_person_is_known() -> None:
    person = query_person()
    assert isinstance(person.user, str)
    assert person.home


@given(st.text(max_size=80))
def test_any_text_is_taken(text: str) -> None:
    made = root(message=text, advice=text, evidence=(Evidence(text, text),), commands=(text,))
    assert "\x1b" not in doctor_markdown(examined(made), JANE)
