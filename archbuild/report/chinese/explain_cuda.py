"""What CUDA's own errors mean, in Chinese."""

from __future__ import annotations

# Chinese has punctuation of its own.

#: Sentence and advice, with the same places for values as the English ones.
TEXTS: dict[str, tuple[str, str]] = {
    "cuda-no-image": (
        "启动的程序里没有这块 GPU 能运行的代码。",
        "把这块 GPU 的架构加进列表重新编译，或安装更新的版本。",
    ),
    "cuda-kernel-absent": (
        "为这块 GPU 加载的代码里没有这个核函数：编译时没有为它生成，或者主机端从未向运行时注册它。",
        "把这块 GPU 的架构加进列表重新编译。",
    ),
    "cuda-ptx-too-new": (
        "程序里只有 PTX 适合这块 GPU，而生成它的 CUDA 比驱动新。",
        "升级驱动，或重新编译，加入这块 GPU 的机器码（SASS）。",
    ),
    "cuda-ptx-failed": (
        "驱动没能编译交给它的 PTX。",
        "这段 PTX 属于别的架构，或比驱动新：为这块 GPU 编译机器码（SASS），或升级驱动。",
    ),
    "cuda-no-jit-library": (
        "缺少驱动中编译 PTX 的库 libnvidia-ptxjitcompiler。",
        "完整安装驱动；在容器中完整映射：NVIDIA_DRIVER_CAPABILITIES=compute,utility。"
        "有这块 GPU 的机器码（SASS）时不需要编译。",
    ),
    "cuda-jit-disabled": (
        "程序里只有 PTX 适合这块 GPU，而有一个环境变量禁止驱动编译它。",
        "去掉 CUDA_DISABLE_PTX_JIT，或重新编译，加入这块 GPU 的机器码（SASS）。",
    ),
    "cuda-bad-image": (
        "驱动读不懂这段设备代码：它已损坏、被截断，或需要更新的驱动。",
        "重新安装这个软件包；程序在运行时编译的代码需要更新的驱动，或者用更旧的 CUDA 来编译。",
    ),
    "cuda-loader-too-old": (
        "驱动太旧，读不了这个 fat binary。",
        "升级驱动，或用与驱动一样旧的工具包编译。",
    ),
    "cuda-driver-insufficient": (
        "没有能支持这个 CUDA 运行时的驱动：根本没有驱动，或驱动太旧。",
        "升级驱动，或安装更旧 CUDA 的软件包；在容器中要映射 GPU。",
    ),
    "cuda-newer-driver-needed": (
        "有一个调用驱动不认识：驱动比程序所期望的旧。",
        "升级驱动，或安装与驱动的 CUDA 对应的软件包。",
    ),
    "cuda-stub": (
        "加载到的 libcuda 是只供链接用的桩库。",
        "从 LD_LIBRARY_PATH 和程序的 RPATH 中去掉名为 stubs 的目录。",
    ),
    "cuda-driver-mismatch": (
        "驱动的库和内核模块版本不一致，通常是更新之后没有重启。",
        "重启，或加载新的内核模块。",
    ),
    "cuda-compat": (
        "在不支持的 GPU（例如 GeForce）上使用了 cuda-compat 软件包。",
        "从 LD_LIBRARY_PATH 中去掉名为 compat 的目录，并升级宿主机的驱动。",
    ),
    "cuda-fabric": (
        "GPU 之间的交换机没有准备好：fabric manager 没有运行。",
        "启动它；它的版本必须与驱动完全一致。",
    ),
    "cuda-no-device": (
        "CUDA 看不到 GPU：没有 GPU、被隐藏、没有映射进容器，或驱动不支持它。",
        "检查 CUDA_VISIBLE_DEVICES，再看驱动怎么说。",
    ),
    "cuda-no-such-device": (
        "程序用了一个 CUDA 没有的 GPU 编号。",
        "CUDA 只给 CUDA_VISIBLE_DEVICES 允许看到的 GPU 编号，从 0 开始；MIG 模式的 GPU 只看得到一个切片。",
    ),
    "cuda-busy": (
        "GPU 被占用：另一个程序独占了它，或不允许使用它。",
        "看看谁在用它，以及它的计算模式是否为独占或禁止。",
    ),
    "cuda-licence": (
        "这份 GPU（vGPU）没有许可证，或驱动文件的检查没有通过。",
        "向管理虚拟化平台的人申请计算用的许可证。",
    ),
    "cuda-unknown": (
        "驱动出了问题，却没有对应的编号。",
        "常见原因：内核模块 nvidia_uvm 没有加载、机器从睡眠中醒来，或 GPU 已失效；在内核日志里找 NVRM 和 Xid。",
    ),
    "cuda-start-failed": (
        "CUDA 无法启动，或系统拒绝了它所需要的东西。",
        "看驱动怎么说。fork 之后不能再使用 CUDA：用 spawn 启动工作进程。",
    ),
    "cuda-not-supported": (
        "这块 GPU、这个驱动或它的这种模式不允许程序所要求的操作。",
        "看程序要求什么：对等访问、IPC、性能分析和统一内存都有条件，在 WSL 和容器中尤其如此。",
    ),
    "cuda-hardware": (
        "GPU 或 GPU 之间的连接有硬件故障。",
        "重置 GPU 或重启；如果再次出现，请把 GPU 交给卖家处理。",
    ),
    "cuda-mps": (
        "程序经由多进程服务（MPS）使用 GPU，而这个服务出了问题。",
        "重新启动它的守护进程，或不用它：unset CUDA_MPS_PIPE_DIRECTORY。",
    ),
    "cuda-memory": (
        "GPU 的显存用完了。",
        "看看谁在用；减小批量。这与架构无关。",
    ),
    "cuda-memory-fault": (
        "核函数做了不允许的事，例如越界访问内存：是程序的错误，不是编译的错误。它报告得晚，报告处的调用往往与它无关。",
        "用 CUDA_LAUNCH_BLOCKING=1 找到调用，用 compute-sanitizer 找到位置。",
    ),
    "cuda-assert": (
        "核函数里的断言不成立：多半是下标越界，例如模型没有的标签或词元。",
        "在 CPU 上运行一次，它会说明问题；或使用 CUDA_LAUNCH_BLOCKING=1。",
    ),
    "cuda-launch-size": (
        "核函数要求的线程、寄存器、共享内存或线程块超过了这块 GPU 一次启动的上限。",
        "减少线程，或用 __launch_bounds__ 为这块 GPU 编译；为更大的 GPU 调优的核函数在这里需要别的分块大小。",
    ),
    "cuda-timeout": (
        "核函数或等待的时间超过了系统允许的上限。",
        "接着显示器的 GPU 上，系统会终止太长的核函数：把它们变短，或在另一块 GPU 上计算。",
    ),
    "cuda-external": (
        "程序所等待的 CUDA 之外的东西（例如网卡）出了故障。",
        "看对方的日志。",
    ),
    "cuda-peer": (
        "一块 GPU 不能直接访问另一块，或请求的方式不对。",
        "看哪些 GPU 能互相访问；NCCL_P2P_DISABLE=1 可以不用它。",
    ),
    "cuda-capture": (
        "程序在捕获 CUDA graph 时做了不允许的事。",
        "不要在捕获中同步、分配内存或使用默认流；torch.compile 的 default 模式不用 graph。",
    ),
    "cuda-graph": (
        "CUDA graph 或它的流已经不是创建时的样子。",
        "重新捕获这个 graph。",
    ),
    "cuda-dynamic-parallelism": (
        "启动其他核函数的核函数碰到了上限，或用了两个版本的机制。",
        "所有设备代码都用同一个 CUDA 12 或更新的版本编译，核函数里不要用 cudaDeviceSynchronize。",
    ),
    "cuda-profiler": (
        "在错误的时刻调用了性能分析器。",
        "去掉这些调用，或同一时间只用一个性能分析器。",
    ),
    "cuda-tensor-memory": (
        "核函数结束时没有归还张量内存。",
        "每个 tcgen05.alloc 都要有对应的 tcgen05.dealloc。",
    ),
    "cuda-limit": (
        "这块 GPU 或这个驱动没有程序所设置的东西，或调用得太早。",
        "只要求 GPU 具备的：用 cudaDeviceGetAttribute 查询。",
    ),
    "cuda-files": (
        "找不到设备代码的文件或库，或无法启动它。",
        "重新安装这个软件包，检查程序提到的路径。",
    ),
    "cuda-handle": (
        "程序使用的上下文、流或句柄无效：常常是先前的错误、或某个核函数从未加载的后果。",
        "在日志里找更早的错误。",
    ),
    "cuda-ending": (
        "程序结束时还在使用 CUDA。",
        "在程序结束之前释放 GPU 上的东西；除此之外没有影响。",
    ),
    "cuda-waiting": (
        "GPU 上的工作还没有结束：这是回答，不是错误。",
        "用同步操作等待。",
    ),
    "cuda-key-rotation": (
        "机密计算的密钥正在更换。",
        "让程序等一等再试。",
    ),
    "cuda-success": (
        "这不是错误：调用成功了。",
        "看日志里的其他行。",
    ),
    "cuda-wrong-call": (
        "程序调用 CUDA 的方式不对：参数无效，或顺序错误。这是程序的错误，或两个版本不匹配。",
        "看失败的那个调用：CUDA_LAUNCH_BLOCKING=1 会指出它。",
    ),
}
