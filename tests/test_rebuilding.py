"""From an installed package to the commands that build it again."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest

from archbuild.errors import NotKnownError, UsageError
from archbuild.model.arch import sass
from archbuild.model.build import Resources
from archbuild.model.installed import CodePackage
from archbuild.rules.rebuilding.plan import MEMORY_PER_JOB, RebuildPlan, plan_rebuild
from archbuild.rules.rebuilding.variables import PACKAGES, find_package_row
from tests.machines import choose, machine, torch_build

PLENTY = Resources(8, 64 << 30)


def plan_of(package: CodePackage, *capabilities: str, resources: Resources = PLENTY) -> RebuildPlan:
    subject = machine("13.0", *capabilities, torch=torch_build())
    return plan_rebuild(package, subject, choose(subject), resources)


def installed(name: str, **fields: object) -> CodePackage:
    return CodePackage(name, "1.2.3", requires_torch=True, **fields)  # type: ignore[arg-type]


def variables(plan: RebuildPlan) -> dict[str, str]:
    return dict(plan.environment)


def test_every_gpu_of_the_machine_is_in_the_list_once() -> None:
    plan = plan_of(installed("kernels"), "8.6", "12.0", "8.6")
    assert variables(plan)["TORCH_CUDA_ARCH_LIST"] == "8.6;12.0"
    assert variables(plan)["CUDA_HOME"] == "/opt/cuda-13.0"


@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [
        ("flash-attn", "FLASH_ATTN_CUDA_ARCHS", "86;120"),
        ("flash_attn", "FLASH_ATTENTION_FORCE_BUILD", "TRUE"),
        ("transformer-engine", "NVTE_CUDA_ARCHS", "86;120"),
        ("transformer_engine_torch", "NVTE_CUDA_ARCHS", "86;120"),
        ("tinycudann", "TCNN_CUDA_ARCHITECTURES", "86,120"),
        ("natten", "NATTEN_CUDA_ARCH", "8.6;12.0"),
        ("causal_conv1d", "CAUSAL_CONV1D_FORCE_BUILD", "TRUE"),
        ("mamba-ssm", "MAMBA_FORCE_BUILD", "TRUE"),
        ("torch_scatter", "FORCE_CUDA", "1"),
        ("xformers", "FORCE_CUDA", "1"),
        ("deepspeed", "DS_BUILD_OPS", "1"),
        (
            "llama_cpp_python",
            "CMAKE_ARGS",
            '-DGGML_CUDA=on "-DCMAKE_CUDA_ARCHITECTURES=86-real;120-real"',
        ),
        ("bitsandbytes", "CMAKE_ARGS", '-DCOMPUTE_BACKEND=cuda "-DCOMPUTE_CAPABILITY=86;120"'),
        (
            "cupy-cuda13x",
            "CUPY_NVCC_GENERATE_CODE",
            "arch=compute_86,code=sm_86;arch=compute_120,code=sm_120",
        ),
    ],
)
def test_the_variables_that_packages_have(name: str, variable: str, value: str) -> None:
    plan = plan_of(installed(name), "8.6", "12.0")
    assert variables(plan)[variable] == value
    assert variables(plan)["TORCH_CUDA_ARCH_LIST"] == "8.6;12.0"


def test_suffixes_go_where_they_are_understood() -> None:
    subject = machine("13.0", torch=torch_build())
    selection = choose(subject, "9.0a")
    for name, variable, value in (
        ("flash-attn", "FLASH_ATTN_CUDA_ARCHS", "90"),
        ("cupy", "CUPY_NVCC_GENERATE_CODE", "arch=compute_90a,code=sm_90a"),
    ):
        plan = plan_rebuild(installed(name), subject, selection, PLENTY)
        assert variables(plan)[variable] == value
        assert plan.archs == (sass("90a"),)


def test_gpus_that_a_package_does_not_serve_are_left_out() -> None:
    plan = plan_of(installed("flash-attn"), "7.5", "8.6")
    assert variables(plan)["FLASH_ATTN_CUDA_ARCHS"] == "86"
    with pytest.raises(UsageError, match=r"serves GPUs of 8\.0 and newer, and here is 7\.5"):
        plan_of(installed("flash-attn"), "7.5")


@pytest.mark.parametrize("name", ["tensorflow", "jaxlib", "torch", "onnxruntime-gpu"])
def test_what_pip_cannot_build(name: str) -> None:
    with pytest.raises(UsageError, match="can't be built again by pip") as caught:
        plan_of(installed(name), "8.6")
    assert "archbuild recommend" in caught.value.advice


def test_no_toolkit() -> None:
    there = machine("13.0", "8.6", torch=torch_build())
    without = replace(there, toolkits=())
    with pytest.raises(NotKnownError, match="can't be built again here") as caught:
        plan_rebuild(installed("kernels"), without, choose(there), PLENTY)
    assert 'pip install "archbuild[cu130]"' in caught.value.advice


@pytest.mark.parametrize(
    ("processors", "memory", "jobs"),
    [(8, 64 << 30, 8), (8, 9 << 30, 2), (8, 1 << 30, 1), (4, None, 4), (1, MEMORY_PER_JOB, 1)],
)
def test_jobs_fit_the_memory(processors: int, memory: int | None, jobs: int) -> None:
    plan = plan_of(installed("kernels"), "8.6", resources=Resources(processors, memory))
    assert variables(plan)["MAX_JOBS"] == str(jobs)


def git(commit: str | None, **more: object) -> str:
    info = {"vcs": "git"} | ({"commit_id": commit} if commit else {})
    return json.dumps({"url": "https://example.org/a/b.git", "vcs_info": info} | more)


@pytest.mark.parametrize(
    ("direct", "source"),
    [
        (None, "kernels==1.2.3"),
        (git("c0ffee"), "git+https://example.org/a/b.git@c0ffee"),
        (
            git("c0ffee", subdirectory="py"),
            "git+https://example.org/a/b.git@c0ffee#subdirectory=py",
        ),
        (git(None), "git+https://example.org/a/b.git"),
        ('{"url": "file:///home/me/my%20kernels", "dir_info": {}}', "/home/me/my kernels"),
        ('{"url": "file:///C:/src/k", "dir_info": {}}', "C:\\src\\k"),
        ('{"url": "https://example.org/k-1.tar.gz"}', "https://example.org/k-1.tar.gz"),
        ("/home/me/kernels", "/home/me/kernels"),
    ],
)
def test_where_it_came_from(direct: str | None, source: str) -> None:
    plan = plan_of(installed("kernels", direct_url=direct), "8.6")
    assert plan.source == source
    assert ("--no-binary" in plan.pip) == (direct is None)
    assert plan.build_words("out")[-1] == source


@pytest.mark.parametrize("direct", ["[]", "{}", "nonsense", '{"url": 3}'])
def test_an_unreadable_origin(direct: str) -> None:
    with pytest.raises(NotKnownError, match="Where kernels was installed from"):
        plan_of(installed("kernels", direct_url=direct), "8.6")


def test_a_wheel_is_no_source() -> None:
    direct = '{"url": "file:///tmp/k-1-cp311-cp311-linux_x86_64.whl", "archive_info": {}}'
    with pytest.raises(NotKnownError, match="installed from a wheel") as caught:
        plan_of(installed("kernels", direct_url=direct), "8.6")
    assert "archbuild rebuild kernels --source FOLDER" in caught.value.advice


def test_no_index_knows_a_local_version() -> None:
    package = replace(installed("flash-attn"), version="2.7.4.post1+cu12torch2.6")
    assert plan_of(package, "8.6").source == "flash-attn==2.7.4.post1"


def test_isolation_only_where_torch_is_not_needed() -> None:
    assert "--no-build-isolation" in plan_of(installed("kernels"), "8.6").pip
    plain = CodePackage("kernels", "1", requires_torch=False)
    assert "--no-build-isolation" not in plan_of(plain, "8.6").pip
    hidden = CodePackage("tinycudann", "1", requires_torch=False)
    assert "--no-build-isolation" in plan_of(hidden, "8.6").pip


def test_the_commands_can_be_pasted() -> None:
    package = installed("llama-cpp-python", direct_url="/home/me/it's here")
    build, verify, install = plan_of(package, "8.6", "12.0").commands("my wheels")
    words = shlex.split(build)
    assert words[-1] == "/home/me/it's here"
    assert words[words.index("-w") + 1] == "my wheels"
    assert 'CMAKE_ARGS=-DGGML_CUDA=on "-DCMAKE_CUDA_ARCHITECTURES=86-real;120-real"' in words
    assert shlex.split(verify)[-2:] == ["--runs-on", "8.6, 12.0"]
    words = shlex.split(install)
    assert words[words.index("--find-links") + 1] == "my wheels"
    assert words[-1] == "llama-cpp-python"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"installer": "conda"}, "conda remove --force kernels"),
        ({"editable": True, "direct_url": "/src"}, "takes its place"),
        ({}, "without isolation"),
        ({"direct_url": git(None)}, "from a branch"),
    ],
)
def test_what_a_person_should_know(fields: dict[str, object], said: str) -> None:
    assert said in " ".join(plan_of(installed("kernels", **fields), "8.6").notes)


def test_the_table_is_sound() -> None:
    names = [name for row in PACKAGES for name in row.names]
    assert len(names) == len(set(names))
    for row in PACKAGES:
        assert row.source
        assert row.refused or row.lists or row.fixed
        assert all(name == name.lower() and "_" not in name for name in row.names)
        assert find_package_row(row.names[0].upper().replace("-", "_")) is row
    assert find_package_row("numpy") is None
