"""What torch and the dynamic loader say, in Chinese."""

from __future__ import annotations

# Chinese has punctuation of its own.

_NEWER = "安装带有这块 GPU 代码的 torch。新的 GPU 需要更新的 torch，绝不是更旧的。"

#: Sentence and advice, with the same places for values as the English ones.
TEXTS: dict[str, tuple[str, str]] = {
    "torch-gpu-not-in-build": (
        "torch 说它编译时没有 {gpu}（sm_{sm}）的代码[；它列出的是 {has}]。",
        _NEWER,
    ),
    "torch-gpu-not-in-list": (
        "torch 说它编译时没有 {gpu}（{capability}）的代码。",
        _NEWER,
    ),
    "torch-gpu-too-old": (
        "{gpu} 是 {capability}，这个 torch 没有它的代码[；它从 {least} 开始]。",
        "使用仍然支持它的最新 torch，以及仍然支持这块 GPU 的驱动；低于 5.0 的 GPU 在现在的 Python 上两者都没有。",
    ),
    "torch-no-mig": (
        "torch 向 NVML 询问 GPU，被 NVML 拒绝：GPU 处于 MIG 模式、驱动的库与内核模块不一致，或容器隐藏了 NVML。",
        "MIG 模式下要指定一个切片：CUDA_VISIBLE_DEVICES=MIG-...；nvidia-smi -L 会列出它们。"
        "常常是显存已用完，torch 在报告时失败。",
    ),
    "torch-mig-ordinal": (
        "torch 与 CUDA 数 GPU 的方法不同：NVML 列出全部，而 MIG 模式的 GPU，CUDA 只看得到一个切片。",
        "在程序启动之前指定一个切片：CUDA_VISIBLE_DEVICES=MIG-...",
    ),
    "torch-driver-too-old": (
        "驱动最高支持 CUDA {cuda}，torch 把它写作 {found}；这个 torch 需要更高的。",
        "升级驱动，或安装与驱动的 CUDA 对应的 torch。",
    ),
    "torch-no-driver": (
        "torch 没有找到 NVIDIA 驱动：没有安装，或容器里没有 GPU。",
        "安装驱动，或把 GPU 映射进容器。",
    ),
    "torch-no-gpus": (
        "CUDA 没有给 torch 任何 GPU：CUDA_VISIBLE_DEVICES 隐藏了它们，或驱动不支持它们。",
        "先看 CUDA_VISIBLE_DEVICES，再看驱动。",
    ),
    "torch-unknown-error": (
        "驱动返回了未知错误 999：多半是内核模块 nvidia_uvm 没有加载或已卡住，例如机器睡眠之后。",
        "重新加载 nvidia_uvm，或重启。问题很少出在 CUDA_VISIBLE_DEVICES。",
    ),
    "torch-count-failed": (
        "torch 没能数出 GPU[：错误 {number}]。",
        "看这个错误是什么。",
    ),
    "torch-cpu-only": (
        "安装的 torch 没有 CUDA。",
        "安装带 CUDA 的 torch。",
    ),
    "torch-deserialize": (
        "文件里保存着 GPU 上的张量，而 torch 在这里看不到 GPU。",
        "用 map_location='cpu' 加载；或查明 torch 为什么看不到 GPU：它没有 CUDA，或没有驱动。",
    ),
    "torchvision-other-cuda": (
        "torch 是 CUDA {torch} 的，torchvision 是 CUDA {vision} 的。",
        "两者都从同一个索引安装。",
    ),
    "torch-operator-without-cuda": (
        "软件包 {package} 安装的版本没有 CUDA，或属于另一个 torch：它的算子 {operator} 没有 GPU 版本。",
        "从 torch 所在的索引重新安装 {package}。",
    ),
    "cudnn-other-version": (
        "torch 用 cuDNN {built} 编译，却找到了 {found}：LD_LIBRARY_PATH 或另一个软件包让它排在前面。",
        "从 LD_LIBRARY_PATH 中去掉那个 cuDNN：torch 自带一个。",
    ),
    "torch-unknown-arch": (
        "torch 自己的架构表里没有 {arch}；nvcc 却可能支持。",
        "用 archbuild 编译，它会问 nvcc：在 setup.py 里把 torch.utils.cpp_extension 改成 "
        "archbuild.cpp_extension。10.1 和 11.0 是同一种芯片。",
    ),
    "torch-cuda-mismatch": (
        "nvcc 与 torch 的 CUDA 版本不同[：nvcc 是 {nvcc}，torch 是 {torch}]；这样编译的扩展无法加载。",
        "使用与 torch 的 CUDA 一致的 nvcc，或与 nvcc 一致的 torch。",
    ),
    "torch-no-toolkit": (
        "编译时找不到 CUDA 工具包：没有 nvcc，也没有设置 CUDA_HOME。",
        "在 torch 旁边安装一个。",
    ),
    "torch-no-arch-to-build-for": (
        "torch 的编译既没有找到 GPU，也没有架构列表。",
        "设置 TORCH_CUDA_ARCH_LIST，或把 torch.utils.cpp_extension 改成 archbuild.cpp_extension。",
    ),
    "loader-no-driver": (
        "没有驱动的库 {library}：没有安装驱动，或容器里没有 GPU。",
        "安装驱动，或把 GPU 映射进容器；绝不要单独安装这个库。",
    ),
    "loader-no-cuda-library": (
        "加载器找不到 CUDA {major} 的 {library}：需要它的软件包是为 CUDA {major} 编译的，而这个环境里是另一个 CUDA，或没有。",
        "安装与现有 CUDA 对应的版本，或安装这个库的软件包。",
    ),
    "loader-no-math-library": (
        "加载器找不到 CUDA 的 {library}：需要它的软件包是为另一个 CUDA 编译的，或没有装这个库。",
        "安装与现有 CUDA 对应的版本，或安装这个库的软件包。",
    ),
    "loader-no-cudnn": (
        "加载器找不到 {library}。",
        "安装这个版本，或安装与现有版本对应的软件包；装有 torch 时，先导入 torch 就会加载它自带的。",
    ),
    "loader-no-torch-library": (
        "torch 的 {library} 没有加载：扩展先于 torch 导入，或 torch 已不在。",
        "在扩展之前导入 torch。",
    ),
    "loader-windows": (
        "Windows 无法加载 {library}：它需要的某个 DLL 缺失，或版本不对。",
        "从同一个索引重新安装 torch 和这个软件包；PATH 中的 CUDA 可能排在前面。",
    ),
    "loader-other-cuda-library": (
        "[{asking} 需要 {symbol}，而]先加载到的 {library} 里没有它：版本太旧。",
        "LD_LIBRARY_PATH 或系统里的 CUDA 排在这个环境的软件包之前：把它去掉。",
    ),
    "loader-other-torch": (
        "{library} 是为另一个 torch 编译的：这个 torch 没有 {symbol}。",
        "为这里的 torch 重新编译或安装它。",
    ),
    "loader-missing-link": (
        "{library} 里的可重定位设备代码从未链接：缺少设备链接。",
        "用 dlink=True 编译。",
    ),
    "loader-cuda-symbol": (
        "{library} 需要 {symbol}：提供它的 CUDA 库没有加载，或比编译时的旧。",
        "安装与这里的 CUDA 对应的版本；调用 cuBLAS 或 cuSPARSE 的扩展必须与它链接。",
    ),
    "loader-python-symbol": (
        "{library} 是为另一个 Python 编译的：这个 Python 没有 {symbol}。",
        "为这个 Python 安装它。",
    ),
    "loader-glibc": (
        "库[ {library}] 是在更新的系统上编译的：它需要 glibc {glibc}，这里的更旧。",
        "在这里从源码编译，或使用为旧系统编译的版本：不要替换 glibc。",
    ),
    "loader-libstdcxx": (
        "库[ {library}] 需要比加载到的更新的 libstdc++（{version}）。",
        "在 conda 中安装 libstdcxx-ng，并确认没有更旧的 libstdc++ 排在前面；否则使用更新的 gcc 的 libstdc++。",
    ),
    "loader-wrong-machine": (
        "{library} 属于另一种处理器，或根本不是库。",
        "安装这种处理器的版本。",
    ),
}
