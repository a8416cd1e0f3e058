"""The explanations of errors in Chinese: what is true here, and all known errors."""

from __future__ import annotations

from collections.abc import Mapping

from archbuild.report.chinese import explain_common, explain_cuda, explain_system, explain_torch

# Chinese has punctuation of its own.

#: The words around the sentences.
WORDS: Mapping[str, str] = {
    "here": "在这里",
    "kernels": "失败的核函数",
    "more": "另有 {count} 个",
    "machine": "这台机器",
    "cure": "解决办法",
    "wanted": "给出以下信息可以判断得更准",
    "others": "文本中还有",
    "page": "详见",
    "old": "CUDA 10.1 之前是 {number}",
}

_SENTENCES: Mapping[str, str] = {
    "raw": "{text}",
    "place-named": "{gpu} 是 {capability}",
    "place-number": "这块 GPU 是 {capability}",
    "held-both": "SASS {sass} 和 PTX {ptx}",
    "held-sass": "SASS {sass}，没有 PTX",
    "held-ptx": "PTX {ptx}，没有 SASS",
    "held-nothing": "没有驱动能加载的东西",
    "code-none": "{place}；{file} 含有 {held}：每次启动都得到 {error}[，而先查询核函数的库得到 {other}]。",
    "code-part": "{place}；{file} 的 {all} 个部分中有 {part} 个没有它的代码（总共：{held}）："
    "其中的核函数得到 {error}[，而先查询核函数的库得到 {other}]。",
    "code-absent": "{place}；它在 {file} 中使用的代码缺少 {count} 个别的架构才有的核函数："
    "得到 {error}[，经由驱动接口是 {other}]。",
    "code-unregistered": "{file} 的主机代码没有提到它的 {count} 个核函数，运行时因此不知道它们："
    "在任何 GPU 上都得到 {error}。",
    "code-purpose": "{place}；{file} 的 {all} 个部分中有 {part} 个只为别的架构而编译："
    "启动其中的核函数得到 {error}，其余的能运行。",
    "code-ptx": "{place}；{file} 含有 {held}：只有其中的 PTX 适合，而它对驱动 {driver} 来说太新，"
    "得到 {error}[。最旧的可用驱动是 {floor}]。",
    "code-driver": "{place}；{file} 含有 {held}，生成它的 CUDA 不被驱动 {driver} 支持："
    "{error}[。最旧的可用驱动是 {floor}]。",
    "code-device": "驱动 {driver} 不认识这块 GPU：{gpu}，{capability}[，需要驱动 {floor} 或更新]。"
    "CUDA 看不到它：{error}。",
    "code-retired": "驱动 {driver} 不再支持这块 GPU：{gpu}，{capability}。CUDA 看不到它：{error}。",
    "code-tegra": "{place}；{file} 含有 {held}：NVIDIA 没有说明别的芯片的代码能否在 Tegra 上运行，反过来也一样。",
    "code-unknown": "{place}；{file} 含有 {held}：不知道它能否在那里运行。",
    "code-jit": "{place}；{file} 含有 {held}：驱动编译 PTX 之后就能运行[，驱动 {floor} 或更新即可]。",
    "code-native": "{place}；{file} 含有 {held}：可以直接运行。",
    "code-more": "另有 {count} 个文件以同样的方式失败。",
    "code-no-code": "{file} 根本没有 CUDA 代码：没有什么可以启动。",
    "code-hip": "{file} 含有 AMD GPU 的代码（HIP），不是 CUDA 的。",
    "code-relocatable": "{file} 只有可重定位的代码，驱动不能加载：缺少设备链接。",
    "code-unread": "{text}",
    "code-not-it": "所以失败的不是 {binary}。",
    "code-other-error": "这会得到 {errors}，而文本里是 {number}：可能还有别的库失败。",
    "list-true": "{place}；{has} 的代码在那里不能运行：torch 说得对。",
    "list-false": "{place}；{has} 的代码在那里可以运行：torch 的警告是误报。",
    "list-unknown": "{place}；不知道 {has} 的代码能否在那里运行。",
    "old-number": "CUDA 10.1 之前这个错误的编号是 {old}；现在 {old} 是 {now}。",
    "old-number-alone": "CUDA 10.1 之前这个错误的编号是 {old}。",
    "number-only": "单独的编号按 CUDA 10.1 及更新的版本理解；之前 {old} 表示现在的 {number}，即 {name}。",
    "driver-needed": "torch {version} 是 CUDA {cuda} 的，需要驱动 {floor} 或更新；这里的驱动最高支持 CUDA {found}。",
    "cure-rebuild": "为 {archs} 重新编译。",
    "cure-registered": "用同一个架构列表重新编译；主机代码里的 __CUDA_ARCH__ 会使主机与设备不一致。",
    "cure-device": "安装驱动 {floor} 或更新：这块 GPU 比驱动新。[支持 CUDA {floor_cuda} 的驱动认识它。]",
    "cure-retired": "退回到最后一个支持这块 GPU 的驱动：Maxwell、Pascal 和 Volta 是 580 分支。",
    "cure-ptx": "升级驱动[到 {floor} 或更新]，或用 {archs} 的机器码重新编译。",
    "cure-driver": "升级驱动[到 {floor} 或更新]，或安装与驱动的 CUDA 对应的版本。",
    "cure-link": "用 dlink=True 重新编译。",
    "cure-upgrade": "安装带有这块 GPU 代码的 {name}。",
    "cure-other": "看别的库：用 --file 或 --package 指定，doctor 会检查所有软件包。",
    "cure-false-alarm": "不用管它：代码可以运行。",
    "toolkit-needed": "要编译它，先需要一个 nvcc：{how}",
    "want-file": "--file WHEEL 或 --package NAME：失败的文件里有什么，它自己会说明。",
    "want-package": "--package {name}：调用栈在那里结束；关键是它里面有什么。",
    "want-gpu": '--gpu "RTX 3090, 12.0" 或 --machine FILE：关键是 GPU，而这台机器没有。',
    "want-driver": "--driver 570.124：关键是驱动的版本。",
    "want-source": "--source DIR：它的源码目录，以便给出重新编译的命令。",
    "want-text": "完整的信息，连同前后几行：把日志用管道交给 archbuild explain。",
}

_KNOWN = {
    **explain_cuda.TEXTS,
    **explain_torch.TEXTS,
    **explain_system.TEXTS,
    **explain_common.TEXTS,
}

#: Every template by its key, as in rules/explaining/phrases.py.
TEMPLATES: Mapping[str, str] = {
    **_SENTENCES,
    **{key: sentence for key, (sentence, _) in _KNOWN.items()},
    **{f"{key}/cure": advice for key, (_, advice) in _KNOWN.items()},
}
