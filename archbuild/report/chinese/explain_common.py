"""What people paste most, in Chinese."""

from __future__ import annotations

# Chinese has punctuation of its own.

#: Sentence and advice, with the same places for values as the English ones.
TEXTS: dict[str, tuple[str, str]] = {
    "no-kernel-image": (
        "启动的二进制文件里没有这块 GPU 能运行的代码。",
        "把这块 GPU 的架构加入列表重新编译，或安装更新的版本。",
    ),
    "cudnn-mixed": (
        "加载的 cuDNN 不是编译 torch 时用的那个：某个变量或系统把它排在了前面。",
        "去掉它再启动程序。",
    ),
    "torchvision-operator": (
        "torchvision 是为另一个 torch 编译的。",
        "从同一个源一起安装两者。",
    ),
    "cuda-fork": (
        "CUDA 在进程 fork 之前已经启动，子进程不能使用它。",
        "用 spawn 启动子进程，并且在此之前不要使用 CUDA。",
    ),
    "bfloat16": (
        "这块 GPU 低于 8.0，没有 bfloat16。",
        "改用半精度：--dtype half。",
    ),
    "library-execution": (
        "{library} 无法运行它的核函数：多半是显存用完了，或之前的核函数已经失败。",
        "让每次启动各自报错，看第一个错误；再看还剩多少显存。",
    ),
    "nccl": (
        "NCCL 无法继续；打开它的日志就会说明原因。",
        "打开日志再运行一次，看第一条警告。",
    ),
    "smi-not-found": (
        "这里没有 nvidia-smi：没有安装驱动，或容器里没有它的工具。",
        "让机器说明是哪一种：驱动自带 nvidia-smi。",
    ),
    "nvrm-mismatch": (
        "驱动的库和内核模块版本不一致：驱动在系统运行时被更新了。",
        "重启机器。",
    ),
    "module-refused": (
        "安全启动拒绝了驱动的内核模块：它没有用这台机器信任的密钥签名。",
        "登记驱动安装包生成的密钥，或关闭安全启动。",
    ),
    "module-missing": (
        "驱动的内核模块没有为当前内核编译。",
        "安装当前内核的头文件，然后重新编译模块。",
    ),
    "header-missing": (
        "找不到头文件 {header}。",
        "cuda_runtime.h 和 nv/target 属于 CUDA 工具包及其 cccl，Python.h 属于 Python 的开发包（python3-dev）。",
    ),
    "nvcc-missing": (
        "编译要用的位置没有 nvcc：{path}。",
        "安装与 torch 匹配的工具包；archbuild 会自己找到它。",
    ),
    "c-compiler-missing": (
        "没有 C 编译器，而 triton 运行时需要它。",
        "安装一个，或用 CC 指定。",
    ),
    "cmake-nvcc": (
        "CMake 找不到 nvcc。",
        "指定它：这些变量说明这个环境的工具包在哪里。",
    ),
    "own-device-link": (
        "目标文件里是可重定位的设备代码，之后还需要一次设备链接。",
        "让扩展来做：CUDAExtension(..., dlink=True)。",
    ),
    "own-smoke": (
        "nvcc 连 archbuild 自己的小核函数都编译不了：问题在工具链，不在你的源文件。",
        "看 nvcc 自己怎么说。",
    ),
    "own-missing": (
        "编译结果缺少要求的架构：中途有什么改变了选项。",
        "在环境变量和扩展自己的选项里查找。",
    ),
    "tensorflow-no-gpu": (
        "TensorFlow 找不到驱动，或找不到编译它时所用的 CUDA 库。",
        "连同它的库一起安装；版本必须是它要求的。",
    ),
    "jax-ptxas": (
        "JAX 调用的 ptxas 失败了：常见原因是 PATH 中先找到了另一个 CUDA 的 ptxas，或 GPU 比它更新。",
        "安装带有对应 CUDA 包的 JAX，并把其他版本移出 PATH。",
    ),
}
