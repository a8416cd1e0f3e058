"""Machines whose variables, slices or search path keep CUDA from a GPU."""

from __future__ import annotations

from dataclasses import replace

from archbuild.model.installed import Installed, LoadedLibrary
from tests.data.code_case import Case
from tests.data.machine_parts import (
    A100,
    GTX_1080,
    RTX_3060,
    RTX_3090,
    RTX_4090,
    T4,
    V100,
    around,
    card,
    cards,
    driver,
    files,
    gpu,
    gpus,
    init_fails,
    library,
    machine,
    mig_slice,
    record,
    sources,
    uuid,
    whole,
)

_ENVIRONMENT = (
    "https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html"
)

# --- CUDA_VISIBLE_DEVICES -----------------------------------------------------------------------


def _hidden(
    name: str, value: str, title: str, source: str, count: int = 2, *, word: bool = False
) -> Case:
    """A machine whose GPUs are all hidden."""
    products = [V100] * count
    return record(
        name,
        title,
        source,
        "data centre",
        machine(
            whole("550.54.15", *products, sources=sources(None, init_fails(100), None)),
            gpus=gpus(*products, hidden=range(count)),
            driver=driver("550.54.15"),
            variables=(("CUDA_VISIBLE_DEVICES", value),),
        ),
        "D333",
        also=("D335",) if word else (),
        never=("D317", "D332", "D334", "D314"),
        errors=(100,),
        exit=1,
    )


_ALL_HIDDEN = (
    _hidden(
        "cvd-too-high", "2", "Number 2 of two GPUs, which count from 0", "examples#115", word=True
    ),
    _hidden("cvd-empty", "", "An empty string hides all of them", _ENVIRONMENT),
    _hidden("cvd-minus-one", "-1", "-1 first hides all of them", "ollama#13241", 1),
    _hidden("cvd-nonsense", "cuda:0", "A name that only torch knows", _ENVIRONMENT, word=True),
    _hidden("cvd-repeated", "0,0", "A repeated number hides all of them", "pytorch#38097"),
)

_SOME_HIDDEN = record(
    "cvd-one-of-four",
    "One of four GPUs was given to this job",
    "OpenMM#2190",
    "data centre",
    machine(
        whole("550.54.15", *[A100] * 4),
        gpus=gpus(*[A100] * 4, hidden=(0, 1, 3)),
        driver=driver("550.54.15"),
        variables=(("CUDA_VISIBLE_DEVICES", "2"), ("CUDA_DEVICE_ORDER", "PCI_BUS_ID")),
    ),
    also=("D334",),
    never=("D314", "D338", "D335"),
)

_BY_UUID = record(
    "cvd-uuid-prefix",
    "A GPU may be named by the beginning of its UUID",
    _ENVIRONMENT,
    "mixed",
    machine(
        around(replace(files("580.95.05", 2), open_module=False), cards=cards(GTX_1080, T4)),
        gpus=gpus(GTX_1080, T4, hidden=(0,)),
        driver=driver("580.95.05"),
        variables=(("CUDA_VISIBLE_DEVICES", uuid(1)[:12]),),
    ),
    also=("D334",),
    never=("D335", "D314", "D333"),
)

_CUT_SHORT = record(
    "cvd-cut-short",
    "The list ends at the first entry that is none: the third GPU is lost with it",
    _ENVIRONMENT,
    "data centre",
    machine(
        whole("550.54.15", *[A100] * 4),
        gpus=gpus(*[A100] * 4, hidden=(1, 2, 3)),
        driver=driver("550.54.15"),
        variables=(("CUDA_VISIBLE_DEVICES", "0,7,1"),),
    ),
    "D335",
    never=("D314", "D333"),
    exit=0,
)

_ORDER = record(
    "nvml-order-is-not-cuda-order",
    "CUDA counts the fastest GPU first, NVML and nvidia-smi go by the bus",
    "unsloth#6352",
    "mixed",
    machine(
        around(replace(files("580.95.05", 2), open_module=False), cards=cards(GTX_1080, RTX_4090)),
        gpus=(gpu(GTX_1080, 0, cuda=1), gpu(RTX_4090, 1, cuda=0)),
        driver=driver("580.95.05"),
    ),
    also=("D338",),
    never=("D334", "D314"),
)

_FEWER = record(
    "cuda-sees-fewer",
    "CUDA sees one GPU less than NVML, and no variable says why",
    "https://docs.nvidia.com/deploy/nvml-api/",
    "data centre",
    machine(
        whole("550.54.15", A100, A100),
        gpus=gpus(A100, A100, hidden=(1,)),
        driver=driver("550.54.15"),
    ),
    "D314",
    never=("D334", "D317"),
    exit=0,
)

# --- MIG ----------------------------------------------------------------------------------------

_MIG_ONE = record(
    "mig-one-of-seven",
    "Of seven slices a process sees one, whatever is done",
    "pytorch#95784",
    "mig",
    machine(
        whole("525.85.12", A100),
        gpus=(
            replace(gpu(A100, cuda=None), mig=True),
            *(mig_slice(A100, n, "1g.5gb", cuda=None if n else 0) for n in range(7)),
        ),
        driver=driver("525.85.12"),
    ),
    also=("D337",),
    never=("D336", "D314", "D334"),
)

_MIG_NONE = record(
    "mig-without-slices",
    "MIG was switched on, and no slice was made",
    "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
    "mig",
    machine(
        whole("550.54.15", A100, sources=sources(None, init_fails(100), None)),
        gpus=(replace(gpu(A100, cuda=None), mig=True),),
        driver=driver("550.54.15"),
    ),
    "D336",
    never=("D317", "D332", "D314"),
    errors=(100,),
    exit=1,
)

# --- the library that is loaded -----------------------------------------------------------------

_STUBS = "/usr/local/cuda-12.4/targets/x86_64-linux/lib/stubs/libcuda.so"
_STUB = record(
    "stub-on-ld-library-path",
    "A folder of stubs stands on LD_LIBRARY_PATH",
    "warp#219",
    "desktop",
    machine(
        whole(
            "550.54.15", RTX_3090, sources=sources(None, (34, f"cuInit of {_STUBS} fails"), None)
        ),
        gpus=(replace(gpu(RTX_3090, cuda=None), visible=None),),
        driver=driver("550.54.15"),
        variables=(("LD_LIBRARY_PATH", "/usr/local/cuda/lib64/stubs:/usr/local/cuda/lib64"),),
        installed=Installed(
            loaded=(
                LoadedLibrary(
                    *("libcuda.so.1", _STUBS, None, "LD_LIBRARY_PATH"),
                    expected=library("550.54.15"),
                    stub=True,
                ),
            )
        ),
    ),
    "D311",
    never=("D332", "D307"),
    errors=(34,),
    exit=1,
)

_STUB_SHALLOW = record(
    "stub-by-its-error",
    "A stub, known by its error and its place alone",
    "warp#219",
    "container",
    machine(
        around(
            files("535.183.06"),
            cards=(card(T4),),
            sources=sources(None, (34, f"cuInit of {_STUBS} fails"), None),
        ),
        gpus=(replace(gpu(T4, cuda=None), visible=None),),
        driver=driver("535.183.06"),
        variables=(("LD_LIBRARY_PATH", "/usr/local/cuda-12.4/targets/x86_64-linux/lib/stubs"),),
    ),
    "D311",
    never=("D332",),
    errors=(34,),
    exit=1,
)

_COPY = "/opt/render/lib/libcuda.so.515.48.07"
_SHADOWED = record(
    "old-libcuda-on-ld-library-path",
    "A program brought a copy of an old libcuda, and its folder comes first",
    "vot-toolkit#56",
    "desktop",
    machine(
        around(
            files("535.183.01"),
            cards=(card(RTX_3060),),
            sources=sources(None, (803, f"cuInit of {_COPY} fails"), None),
        ),
        gpus=(replace(gpu(RTX_3060, cuda=None), visible=None),),
        driver=driver("535.183.01"),
        variables=(("LD_LIBRARY_PATH", "/opt/render/lib:/opt/render/plugins"),),
        installed=Installed(
            loaded=(
                LoadedLibrary(
                    *("libcuda.so.1", _COPY, "515.48.07", "LD_LIBRARY_PATH"),
                    expected=library("535.183.01"),
                ),
            )
        ),
    ),
    "D327",
    never=("D307", "D332", "D312"),
    errors=(803,),
    exit=1,
)

VIEWS = (
    *_ALL_HIDDEN,
    *(_SOME_HIDDEN, _BY_UUID, _CUT_SHORT, _ORDER, _FEWER, _MIG_ONE, _MIG_NONE),
    *(_STUB, _STUB_SHALLOW, _SHADOWED),
)
