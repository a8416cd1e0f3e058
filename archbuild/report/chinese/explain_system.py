"""What nvidia-smi, containers and other packages say, in Chinese."""

from __future__ import annotations

# Chinese has punctuation of its own.

_TOOLKIT = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit"

#: Sentence and advice, with the same places for values as the English ones.
TEXTS: dict[str, tuple[str, str]] = {
    "nvml-mismatch": (
        "驱动的库和内核模块版本不一致：驱动在系统运行时被更新了。",
        "重启，或卸下旧的内核模块并加载新的。在容器中要重启的是宿主机。",
    ),
    "nvml-unknown": (
        "NVML 不能再使用 GPU：在容器里，这发生在宿主机的 systemd 重新加载之后，设备的权限因此被收回。",
        "重新启动容器；要彻底解决，让工具包使用 CDI，或用 --device 给出设备。",
    ),
    "nvml-other": (
        "NVML 无法启动：{why}。",
        "看驱动怎么说。",
    ),
    "smi-no-driver": (
        "驱动的内核模块没有加载。",
        "加载它；如果失败，说明它不是为这个内核编译的、被安全启动拒绝，或 nouveau 占用了 GPU。",
    ),
    "smi-no-library": (
        "nvidia-smi 找不到 libnvidia-ml：驱动没有完整安装，或没有映射进容器。",
        "安装驱动，或完整映射：NVIDIA_DRIVER_CAPABILITIES=compute,utility。",
    ),
    "smi-no-devices": (
        "驱动在运行，却没有任何可用的 GPU：机器里没有，它对这个驱动来说太旧或太新，或已失效。",
        "看内核日志。",
    ),
    "kernel-xid": (
        "内核日志里有 GPU 故障：Xid {xid}。",
        "NVIDIA 的 Xid 列表说明是谁的问题：13、31、43、45 是程序的，48、63、64、74、79、94 是硬件的。",
    ),
    "docker-no-gpu-driver": (
        "Docker 没有把 GPU 交给容器的组件：NVIDIA 容器工具包没有安装，或没有注册。",
        f"安装工具包（{_TOOLKIT}），注册它，并重启 docker。",
    ),
    "docker-no-runtime": (
        "Docker 不认识名为 nvidia 的运行时。",
        f"安装并注册 NVIDIA 容器工具包（{_TOOLKIT}），或去掉 --runtime=nvidia，改用 --gpus all。",
    ),
    "container-requirement": (
        "镜像要求支持 CUDA {cuda} 的驱动[，即 {driver} 或更新]，而宿主机的更旧。",
        "升级宿主机的驱动，或使用更旧 CUDA 的镜像。镜像自己的工具包不需要与宿主机一致，只有驱动重要。",
    ),
    "container-requirement-other": (
        "镜像要求宿主机没有的东西：{what}。",
        "升级宿主机的驱动，或使用要求更少的镜像。",
    ),
    "container-no-host-driver": (
        "宿主机没有驱动，或内核模块没有加载，因此没有 GPU 可以交给容器。",
        "在宿主机上安装或加载驱动；nvidia-smi 必须先在那里能用。",
    ),
    "container-wsl-no-adapter": (
        "WSL 里看不到 GPU：这是 WSL 1，或 Windows 没有它的驱动。",
        "使用 WSL 2，并在 Windows 里安装 NVIDIA 驱动，WSL 里不要装。",
    ),
    "container-driver-in-image": (
        "镜像里有驱动的文件，而这里应该映射宿主机的。",
        "从镜像中去掉驱动的软件包（libnvidia-compute、cuda-drivers）。",
    ),
    "container-cdi": (
        "没有描述（CDI）告诉容器运行时 {device} 是什么。",
        "生成一个，每次更新驱动之后都要重新生成。",
    ),
    "container-driver-too-old": (
        "镜像是为驱动 {wanted} 或更新制作的，宿主机是 {found}；兼容软件包不支持这块 GPU。",
        "升级宿主机的驱动，或使用更旧的镜像。同一 CUDA 主版本的机器码，宿主机的驱动也许仍然能运行。",
    ),
    "triton-ptxas": (
        "triton 自带的 ptxas 不认识这块 GPU：{arch}。",
        "安装更新的 triton 和对应的 torch，或用 TRITON_PTXAS_PATH 指定更新的 ptxas；CUDA 13.0 的 ptxas 认识 12.1 和 11.0。",
    ),
    "triton-llvm": (
        "triton 里的编译器不认识这块 GPU：{arch}。",
        "安装更新的 triton 和对应的 torch。",
    ),
    "nvrtc-arch": (
        "程序加载的 NVRTC 不认识这块 GPU 的架构：它属于更旧的 CUDA。",
        "安装更新 CUDA 的 torch 或 CuPy，要认识这块 GPU。",
    ),
    "jit-ptx-version": (
        "交给驱动或链接器的 PTX 版本是 {isa}，而它最多读到 {known}[，即 CUDA {cuda}]。",
        "升级驱动，或使用与驱动的 CUDA 对应的编译器：numba 可用 pip install pynvjitlink-cu12。",
    ),
    "cudnn-arch": (
        "cuDNN 不支持这块 GPU：9.11 及更新的版本没有 Maxwell、Pascal 和 Volta，每个版本也各有认识的最新 GPU。",
        "旧的 GPU 使用带 cuDNN 9.10 或更旧的 torch，新的 GPU 使用更新的 torch。",
    ),
    "cublas-arch": (
        "cuBLAS 在这块 GPU 上没有所要求的代码：GPU 太旧。",
        "使用支持这块 GPU 的 CUDA，或别的数据类型。",
    ),
    "cublas-not-initialized": (
        "cuBLAS 无法启动：多半是显存已满，或先前的核函数已失败，例如下标越界。",
        "用 CUDA_LAUNCH_BLOCKING=1 运行一次，并检查显存。",
    ),
    "cudnn-sublibrary": (
        "加载了两个版本的 cuDNN 的部件：一些来自这个环境，一些来自系统。",
        "从 LD_LIBRARY_PATH 和加载器的目录中去掉系统的 cuDNN。",
    ),
    "xla-wrong-gpu": (
        "XLA 生成了这块 GPU 或这个驱动不接受的代码[：{name}]。",
        "升级驱动，或安装更旧 CUDA 的 jaxlib；PATH 中比驱动新的 ptxas 也会造成这个问题。",
    ),
    "tensorflow-jit": (
        "TensorFlow 没有 {capability} 的机器码：驱动在第一次启动时编译它的 PTX，可能要半小时。",
        "等一次，并设置 CUDA_CACHE_MAXSIZE=4294967296 以保留结果；或安装带有这块 GPU 代码的版本。",
    ),
    "paddle-arch": (
        "Paddle 没有这块 GPU（{generation}）的代码；它有 {has}。",
        "安装它的网页为这块 GPU 指明的 wheel。",
    ),
    "onnxruntime-provider": (
        "ONNX Runtime 没能加载它的 CUDA 部分，改用 CPU 计算。",
        "上一行说明缺少哪个库；先导入 torch 会加载它们。",
    ),
    "bitsandbytes-setup": (
        "bitsandbytes 没有与这个 torch 的 CUDA 对应的库，或没能加载它。",
        "安装最新的版本：它带有各个 CUDA 的库。",
    ),
    "bitsandbytes-kernel": (
        "bitsandbytes 没有这块 GPU 的代码。",
        "安装最新的版本；低于 5.0 的 GPU，或比它的版本更新的 GPU，用 -DCOMPUTE_CAPABILITY 从源码编译。",
    ),
    "flash-attention-gpu": (
        "FlashAttention 2 没有早于 8.0（Ampere）的 GPU 的核函数，重新编译也不会有。",
        '使用别的注意力实现：attn_implementation="sdpa"，或 xformers。',
    ),
    "xformers-gpu": (
        "xFormers 的这个算子需要 {least} 或更新的 GPU，而你的是 {capability}。",
        "使用别的算子，或 torch 自己的 scaled_dot_product_attention。",
    ),
    "xformers-cuda": (
        "这个 xFormers 没有 CUDA，或属于另一个 torch。",
        "从 torch 所在的索引安装与这个 torch 对应的版本。",
    ),
    "ggml-no-kernel": (
        "这个 llama.cpp 没有这块 GPU 的代码。",
        "为这块 GPU 重新编译。",
    ),
    "ggml-arch": (
        "llama.cpp 的一个核函数没有计算能力 {arch} 的代码，编译时的架构是 {built}。",
        "关掉这个功能（7.0 之前的 GPU 上的 flash attention），或为这块 GPU 重新编译。",
    ),
    "package-unsupported-arch": (
        "某个库[（{function}）]没有这块 GPU 的核函数，拒绝运行。",
        "只要作者没有写，重新编译也没有用：选择程序的另一个后端。",
    ),
    "no-module-with-code": (
        "{package} 的编译部分没有安装：{module}。",
        "为这个 torch 和这块 GPU 编译它。",
    ),
}
