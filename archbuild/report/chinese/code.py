"""Torch, packages, libraries, toolkits and trials: title, sentence and advice in Chinese.

The places for values are those of :mod:`archbuild.rules.diagnosis.code_kinds`, and what
stands in brackets is left out where one of its values is missing.
"""

from __future__ import annotations

# The punctuation is meant: it is that of Chinese.

#: By code: title, sentence, advice.
TEXTS: dict[str, tuple[str, str, str]] = {
    "D340": (
        "torch 不含该 GPU 的代码",
        "torch {version} 中没有能在 {devices} 上运行的代码[：其中只有 {holds}]。",
        "请安装含有其代码的 torch[：{tag}]。",
    ),
    "D341": (
        "torch 比驱动新",
        "torch {version} 基于 CUDA {cuda}，驱动 {driver} 不支持[：最低需要 {floor}]。",
        "请升级驱动[到 {floor} 或更新][，但不要超过 {last} 分支，它是支持这类 GPU 的最后一个分支]；"
        "或安装基于较旧 CUDA 的 torch。",
    ),
    "D342": (
        "没有能支持全部 GPU 的官方 torch",
        "没有任何一个官方 torch 能支持 {devices}。",
        "[比 CUDA {oldest} 更新的工具包已不能为 {lost} 编译。]可行的办法："
        "[为 {best} 安装 torch，并对它隐藏其余 GPU；][用 CUDA {toolkit} 和 "
        "TORCH_CUDA_ARCH_LIST={archs} 从源码编译；]使用 CPU。",
    ),
    "D343": (
        "torch 只能靠 JIT 运行",
        "torch {version} 对 {devices} 只有 PTX：首次启动时由驱动编译。",
        "请安装含有该 GPU 代码的 torch，或保留编译缓存：CUDA_CACHE_MAXSIZE。",
    ),
    "D344": (
        "torch 的某个库不含该 GPU 的代码",
        "torch {version} 的 {library} 中[有 {share} 的区域]没有能在 {devices} 上运行的代码，"
        "而 torch 本身可以运行：用到该库的运算会失败。",
        "请安装该库包含此 GPU 的 torch，或在 CPU 上做这些运算。",
    ),
    "D345": (
        "同一软件包的库不一致",
        "{name} {version} 的 {library} 不含 {archs} 的代码，而 {main} 支持它。",
        "在这类 GPU 上，用到该库的运算会报错误 209。",
    ),
    "D346": (
        "不知道 torch 能否运行",
        "torch {version} 能否在 {devices} 上运行尚不清楚[：NVIDIA 没有说明 {holds} 在那里的情况]。",
        "请在该 GPU 上实际试一下[，或使用 NVIDIA 为 {board} 提供的版本]。",
    ),
    "D347": (
        "torch 不带 CUDA",
        "torch {version} 编译时没有 CUDA，而本机有 {devices}。",
        "请安装带 CUDA 的 torch[：使用 NVIDIA 为 {board} 提供的版本]。",
    ),
    "D348": (
        "torch 是为 AMD GPU 编译的",
        "torch {version} 是为 ROCm {hip} 编译的，而本机有 {devices}。",
        "请安装带 CUDA 的 torch。",
    ),
    "D349": (
        "cuDNN 已不再支持该 GPU",
        "cuDNN {version} 没有 {devices} 的代码：从 {below} 起不再支持 {generation}。",
        "请安装低于 {below} 的 cuDNN，也就是用它编译的 torch 或运行时。",
    ),
    "D350": (
        "软件包不含该 GPU 的代码",
        "{name} {version} 中没有能在 {devices} 上运行的代码[：{library} 中只有 {holds}]。",
        "请为此 GPU 重新编译，或安装包含它的版本。",
    ),
    "D351": (
        "软件包的 PTX 比驱动新",
        "{name} {version} 的 {library} [有 {share} 的区域]对 {devices} 只有 PTX，而驱动 {driver} "
        "太旧[：最低需要 {floor}]。",
        "请为此 GPU 重新编译，这样就不需要 JIT；或升级驱动[到 {floor} 或更新]。",
    ),
    "D352": (
        "软件包比驱动新",
        "{name} {version} 的 {library} 所用的 CUDA 在 {devices} 上不受驱动 {driver} 支持"
        "[：最低需要 {floor}]。",
        "请升级驱动[到 {floor} 或更新]，或安装用较旧 CUDA 编译的版本。",
    ),
    "D353": (
        "软件包只能靠 JIT 运行",
        "{name} {version} 对 {devices} 只有 PTX：首次启动时由驱动编译。",
        "请为此 GPU 重新编译，或安装包含它的版本。",
    ),
    "D354": (
        "软件包的某个库不含该 GPU 的代码",
        "{name} {version} 的 {library} 中没有能在 {devices} 上运行的代码，其余的库可以运行。",
        "请为此 GPU 重新编译该软件包，或不使用该库的功能。",
    ),
    "D355": (
        "库的一部分不含该 GPU 的代码",
        "{name} {version} 的 {library} 有 {share} 的区域不含 {devices} 的代码。",
        "如果其中的内核报错误 209，请为此 GPU 重新编译该软件包。",
    ),
    "D356": (
        "软件包是为另一个 torch 编译的",
        "{name} {version} 是为 torch {built} 编译的，而安装的是 torch {torch}。",
        "请为当前的 torch 重新编译；其表现是导入时出现 undefined symbol。",
    ),
    "D357": (
        "不知道软件包能否运行",
        "{name} {version} 能否在 {devices} 上运行尚不清楚[：{library} 中有 {holds}]。",
        "请在该 GPU 上实际试一下，或为此 GPU 重新编译。",
    ),
    "D358": (
        "软件包是为 AMD GPU 编译的",
        "{name} {version} 只含 AMD GPU 的代码，而本机有 {devices}。",
        "请安装它的 CUDA 版本。",
    ),
    "D359": (
        "某个库无法读取",
        "{name} {version} 的 {library} 无法读取：{trouble}。",
        "请重新安装该软件包。",
    ),
    "D360": (
        "先加载了错误的 CUDA 库",
        "加载的是 {path}，而不是 {expected}[（由 {found_by} 引起）]，两者不兼容。",
        "请把前者所在的目录从搜索路径中去掉；后者才是正确的。",
    ),
    "D361": (
        "某个 CUDA 库无法加载",
        "{soname} 无法加载：{trouble}。",
        "请重新安装提供该库的软件包。",
    ),
    "D362": (
        "多个软件包拥有相同的文件",
        "{names} 拥有相同的文件：现有的是最后安装的那一份。",
        "请删除 torch 不需要的软件包，然后重新安装其余的。",
    ),
    "D363": (
        "同一软件包安装了多次",
        "{name} 安装了 {count} 次：{places}。路径上的第一个生效。",
        "请全部卸载，再安装需要的那一个。",
    ),
    "D364": (
        "CUDA 库不是来自它的软件包",
        "{soname} {version} 从 {path} 加载[（由 {found_by} 引起）]，而环境中有自己的：{expected}。",
        "如果这不是有意的，请把该目录从搜索路径中去掉。",
    ),
    "D380": (
        "没有可用的 nvcc",
        "没有 nvcc，而 {names} 需要重新编译。",
        "请安装与 torch 的 CUDA 相同的工具包[：{cuda}]。",
    ),
    "D381": (
        "工具包不能为该 GPU 生成原生代码",
        "nvcc {version}（{nvcc}）不能为 {devices} 生成原生代码[；{ptx} 的 PTX 可以通过 JIT 运行]。",
        "请使用其他工具包：CUDA {first}[ 到 {last}] 可以为 {archs} 编译。",
    ),
    "D382": (
        "工具包与 torch 的 CUDA 不同",
        "nvcc 属于 CUDA {version}（{nvcc}），而 torch {torch} 属于 CUDA {cuda}："
        "用它编译的扩展无法加载。",
        "请使用 CUDA {cuda} 的工具包编译。",
    ),
    "D383": (
        "没有合适的主机编译器",
        "没有适合 nvcc {version} 的主机编译器[，它最高支持 {most}][；现有 {others}]。",
        "请安装合适的编译器，并用 CXX 或 NVCC_CCBIN 指定它。",
    ),
    "D384": (
        "工具包编译的程序需要更新的驱动",
        "nvcc {version} 编译的程序最低需要驱动 {floor}，而现有驱动是 {driver}。",
        "请升级驱动，或使用与驱动的 CUDA 相应的工具包编译。",
    ),
    "D390": (
        "缺少该 GPU 的映像",
        "在 {devices} 上，试运行 {trials} 失败，错误 {error}：缺少该 GPU 的映像"
        "[；在 {others} 上可以运行]。这不是驱动的问题。",
        "请编译或安装含有 {archs} 代码的版本。",
    ),
    "D391": (
        "试运行使进程崩溃",
        "在 {devices} 上，试运行 {trials} 使进程崩溃[：{said}]。",
        "请在内核日志中查找该 GPU 的 Xid 信息。",
    ),
    "D392": (
        "试运行没有结束",
        "在 {devices} 上，试运行 {trials} 没有结束[：{said}]。",
        "请先查找占用该 GPU 的进程，再在内核日志中查找 Xid 信息。",
    ),
    "D393": (
        "试运行失败",
        "在 {devices} 上，试运行 {trials} 失败[，错误 {error}][：{said}]。",
        "请查询该错误在本机上的含义。",
    ),
    "D394": (
        "驱动不能编译 PTX",
        "在 {devices} 上不能编译 PTX[：错误 {error}]：只有 PTX 的代码会失败。",
        "请补上驱动的编译器：libnvidia-ptxjitcompiler.so.1 属于驱动，在容器中属于 compute 能力。",
    ),
    "D395": (
        "JIT 被关闭而又需要它",
        "设置了 CUDA_DISABLE_PTX_JIT，而对 {devices}，{names} 中只有 PTX。",
        "请取消该变量，或为此 GPU 重新编译。",
    ),
    "D396": (
        "强制 JIT 而没有 PTX",
        "设置了 CUDA_FORCE_PTX_JIT，而对 {devices}，{names} 中没有 PTX。",
        "请取消该变量：它只用于测试 PTX。",
    ),
    "D397": (
        "试运行与读取结果不一致",
        "torch {version} 能在 {devices} 上运行，而按其内容本不应能运行[：其中有 {holds}]。",
        "请附上本机的记录报告此问题。",
    ),
}
