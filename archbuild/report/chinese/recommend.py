"""The sentences and words of a recommendation, in Chinese."""

from __future__ import annotations

from collections.abc import Mapping

# Chinese has punctuation of its own.

TEXTS: Mapping[str, str] = {
    # Why a wheel won't do.
    "python": "它只有适用于 Python {pythons} 的 wheel，没有 {python} 的",
    "python_unknown": "它有哪些 Python 版本的 wheel，尚不清楚",
    "held": "{library} 中没有 {capability} 可用的代码（有 {held}）",
    "library": "{library} 中没有 {capability} 可用的代码（有 {held}）：它负责的运算会报错误 209",
    "library_inferred": (
        "在读过的同一 CUDA 的 wheel 中，{library} 都没有 {capability} 可用的代码："
        "它负责的运算会报错误 209"
    ),
    "driver": "这个 CUDA 的机器码需要 {floor} 或更新的驱动",
    "device": "{capability} 需要 {floor} 或更新的驱动",
    "retired": "驱动分支 {branch} 是支持 {capability} 的最后一个",
    "ptx": "它给 {capability} 的 PTX 需要 {floor} 或更新的驱动",
    "promised": "只有 PTX 能用于 {capability}：构建脚本里写了，但读过的库里都没有",
    "tegra": "{capability} 属于 Tegra，NVIDIA 没有说明这些代码能否在其上运行",
    "jetson": "这个索引的 wheel 不是为 Thor 之前的 Jetson 模块准备的",
    "cudnn": "它带的 cuDNN {cudnn} 已不支持 {capability}",
    "cudnn_unknown": "它带哪个 cuDNN 尚不清楚，而较新的 cuDNN 已不支持 {capability}",
    "scripts": "只有 PyTorch 的构建脚本提到它：没有人在索引上见过",
    "unclear": "用这个驱动能否在 {capability} 上运行，尚不清楚",
    "capability": "{gpu} 的计算能力未知",
    "no_driver": (
        "没有驱动能支持全部 GPU：分支 {branch} 是支持 {capability} 的最后一个，"
        "而这里需要 {floor} 或更新的"
    ),
    # About the whole.
    "facts_old": "wheel 表的日期是 {date}，已超过半年：可能有更新的 wheel。",
    "assumed": "不知道这里的驱动：假定它是 {floor} 或更新的。",
    "last_driver": "分支 {branch} 是支持 {gpus} 的最后一个驱动：不要安装更新的。",
    "minor": "CUDA {cuda} 比驱动的 {driver} 新：机器码照样能运行，但驱动不能编译它的 PTX。",
    "tried": "torch {torch} 为 Python {python} 提供的 wheel 是实验性的。",
    "cudnn_keep": "{package} 请保持在随它安装的 {cudnn}：更新的版本不支持 {gpus}。",
    "cudnn_here": (
        '这里装的 cuDNN {here} 不支持 {gpus}：请退回旧版：pip install "{package}=={cudnn}"'
    ),
    "installed": "这里装的正是 CUDA {cuda} 的 torch {version}：不用做什么。",
    "better": "用驱动 {floor} 或更新[，但不超过分支 {last}]：CUDA {cuda} 的 torch {torch}。",
    "wsl": "在 WSL 里用的是 Windows 的驱动：请在 Windows 中更新，不要在里面安装。",
    "jetson_own": (
        "Thor 之前的 Jetson 请用 NVIDIA 自己的 wheel："
        "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/"
    ),
    "macos": "macOS 上没有 CUDA。",
    "no_rows": "表中没有适用于 {processor} 上 {system} 的 CUDA wheel。",
    "python_better": "用 Python {python}：CUDA {cuda} 的 torch {torch}。",
    "cpu": "不用 GPU：pip install torch --index-url https://download.pytorch.org/whl/cpu",
    "conda": (
        "conda-forge 自己构建 torch，版本和架构与这些 wheel 不同，表中没有："
        "可以另外安装，再问它：archbuild verify torch --runs-on native"
    ),
    "asked_for": "表中没有适用于这个系统的[ torch {torch} 的][ CUDA {cuda} 的] wheel。",
    # Around them.
    "comma": "、",
    "semicolon": "；",
    "colon": "：",
    "stop": "。",
    "gpu": "{name}（{capability}）",
    "gpu_unknown": "{name}（计算能力未知）",
    "head_gpus": "GPU：{gpus}",
    "head_place": "环境：{processor} 上的 {system}，Python {python}，{driver}",
    "head_driver": "驱动 {release}",
    "head_driver_cuda": "CUDA {cuda} 的驱动",
    "head_no_driver": "驱动未知",
    "all_of_them": "CUDA {cuda} 的 torch {torch} 是支持全部 GPU 的最新版本。",
    "all_one": "CUDA {cuda} 的 torch {torch} 是支持它的最新版本。",
    "partly": "CUDA {cuda} 的 torch {torch} 支持它们，只有一个库例外：",
    "unsure": "CUDA {cuda} 的 torch {torch} 也许支持它们。尚不清楚的是：",
    "unsure_none": "哪个 torch 支持它们，无法断定。",
    "part": (
        "没有支持全部 GPU 的 wheel。CUDA {cuda} 的 torch {torch} 支持 {served}，不支持 {lost}。"
    ),
    "none": "这里没有支持 {gpus} 的 torch wheel。",
    "needs": "需要 {floor} 或更新的驱动[，自带 cuDNN {cudnn}]。",
    "plain": "不指定索引时，pip 装的就是它。",
    "lost": "{gpu}：{reasons}。",
    "alone": "{gpu} 单独用一个环境时，可以装：",
    "hide": "让 CUDA 只看到受支持的 GPU：",
    "hide_by_name": "让 CUDA 只看到受支持的 GPU，按 UUID，用 archbuild gpus 查看：",
    "newer": "为什么不用更新的：",
    "why_none": "原因：",
    "why_part": "为什么没有支持全部的：",
    "wheel": "CUDA {cuda} 的 torch {torches}",
    "range": "{first} 到 {last}",
    "source": "从源代码构建需要：",
    "source_cuda": "CUDA {cuda}，能构建 {archs} 的最新工具包[（{here}）]",
    "source_here": "这里的 nvcc 就可以",
    "source_torch": "torch {torch}[，Python {pythons}]，已知能用这样的 CUDA 构建的最新版本",
    "source_driver": "驱动 {floor} 或更新[，但不超过分支 {last}]",
    "source_clash": "但没有合适的驱动：需要 {floor} 或更新的，而分支 {last} 已是最后一个",
    "source_nothing": "archbuild 所知的工具包都不能为它们全部构建代码。",
    "source_untried": "我们没有试过。",
    "facts": "依据 {date} 的表。",
}
