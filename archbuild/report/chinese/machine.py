"""GPUs, driver, container and system: title, sentence and advice in Chinese.

The places for values are those of :mod:`archbuild.rules.diagnosis.machine_kinds`, and what
stands in brackets is left out where one of its values is missing.
"""

from __future__ import annotations

# The punctuation is meant: it is that of Chinese.

#: By code: title, sentence, advice.
TEXTS: dict[str, tuple[str, str, str]] = {
    "D300": (
        "没有 NVIDIA 驱动",
        "没有 NVIDIA 驱动[（{container} 容器的宿主机上）][，{bus} 上也没有 NVIDIA GPU]"
        "[：{apple} 没有这种驱动]。",
        "运行 CUDA 代码需要 NVIDIA GPU 及其驱动[；{bus} 上没有这样的 GPU，本机只能编译，不能运行]"
        "[；{apple} 上两者都没有]。[驱动应装在宿主机上，而不是 {container} 容器的镜像里。]",
    ),
    "D301": (
        "有 NVIDIA 显卡，没有驱动",
        "{cards}：显卡在，但没有安装 NVIDIA 驱动[（{container} 容器的宿主机上）]。",
        "请安装驱动[（分支 {window}）]，然后重启。"
        "[驱动应装在宿主机上，而不是 {container} 容器的镜像里。]",
    ),
    "D302": (
        "nouveau 占用了显卡",
        "内核模块 nouveau 占用了 {cards}，而 CUDA 需要 NVIDIA 的驱动"
        "[：驱动 {driver} 已安装，但无法接管显卡]。",
        "[请安装 {window} 分支的 NVIDIA 驱动，它会阻止加载 nouveau，然后重启。]"
        "[请禁止加载 nouveau，让驱动 {driver} 接管显卡，然后重启。]",
    ),
    "D303": (
        "显卡留给了虚拟机",
        "{cards} 绑定在 {module} 上：它留给了虚拟机，本系统无法使用。",
        "如果这是有意的，保持即可；否则请把它还给驱动。",
    ),
    "D304": (
        "GPU 从总线上掉线",
        "{devices} 已掉线：它在总线上不再响应。",
        "请重启。如果再次出现，请检查供电、散热和显卡的安装。",
    ),
    "D305": (
        "驱动不认识这块 GPU",
        "驱动 {driver} 不认识 {cards}[：从 {floor} 起才支持]。",
        "请升级驱动[到 {floor} 或更新][，但不要超过 {last} 分支，它是支持本机某块显卡的最后一个"
        "分支]；换一个 torch 没有用。",
    ),
    "D306": (
        "驱动已不再支持这块 GPU",
        "驱动 {driver} 已不再支持 {cards}：{last} 是支持它的最后一个分支。",
        "请安装 {last} 分支的驱动；这里不能用最新的驱动。",
    ),
    "D307": (
        "驱动库与内核模块版本不一致",
        "驱动的库[（{library}）]与已加载的内核模块[（{loaded}）]版本不一致。",
        "请重启，以便加载磁盘上的模块[（{fits}）]。[但磁盘上的模块是 {disk}，重启也无济于事："
        "请从同一个来源重新安装驱动。]",
    ),
    "D308": (
        "驱动库挂起或崩溃",
        "{sources} 没有给出回答：{said}。",
        "请在内核日志中查找 Xid 消息，并查找卡在 GPU 上的进程；挂起的 GPU 往往只有重启才能恢复。",
    ),
    "D309": (
        "当前用户无权访问设备节点",
        "当前用户无权打开 {nodes}。",
        "在物理机上请加入拥有这些节点的用户组并重新登录[；在 {container} 容器中是 SELinux "
        "或设备规则禁止访问，可用选项解除]。",
    ),
    "D310": (
        "fabric manager 没有运行",
        "CUDA 在等待系统就绪：管理 GPU 间交换芯片的 fabric manager 没有运行"
        "[（在 {container} 容器的宿主机上）]。",
        "请启动它，其版本必须与驱动完全一致[（{release}）]"
        "[；这要在 {container} 容器的宿主机上做]。",
    ),
    "D311": (
        "加载的是桩库而不是驱动",
        "{library} 是只供链接使用的桩库，却代替驱动被加载[（来自 {found_by}）]。",
        "请把它所在的目录移出搜索路径[（{found_by}）]。",
    ),
    "D312": (
        "cuda-compat 库不支持这块 GPU",
        "加载了 cuda-compat 软件包的 {library}[（来自 {found_by}）]；它只用于数据中心 GPU 和某些"
        "驱动版本[：这里是 {cards} 和 {release}]。",
        "请把它所在的目录移出搜索路径：应当使用驱动自己的库[ {expected}]。",
    ),
    "D313": (
        "没有一个驱动能支持所有显卡",
        "没有一个驱动能同时支持本机的所有显卡：{first} 需要驱动 {need}，{second} 需要驱动 "
        "{other}。",
        "请取下其中一块，或把它交给装有另一驱动的虚拟机。目前能用的那块可以继续使用。",
    ),
    "D314": (
        "CUDA 看到的 GPU 比 NVML 少",
        "NVML 看到 {count} 块 GPU，CUDA 只看到 {seen} 块：少了 {hidden}，而没有环境变量隐藏它。",
        "请查询该 GPU 的状态：它可能已被排除，出了错，或者没有启动。",
    ),
    "D315": (
        "内核模块的类型不对",
        "驱动 {driver} 的 {loaded} 内核模块不支持 {cards}，它需要 {needed} 内核模块。",
        "请安装同一驱动的 {needed} 内核模块，然后重启。",
    ),
    "D316": (
        "内核模块没有加载",
        "驱动[ {driver} ]已安装，但它的内核模块没有加载[：没有找到内核 {kernel} 的模块]。",
        "请加载该模块[；需要先为内核 {kernel} 编译][（{disk}）；如果被拒绝，内核日志会说明原因："
        "开启 Secure Boot 时不接受未签名的模块]。",
    ),
    "D317": (
        "驱动没有启动显卡",
        "{cards} 在总线上，但驱动 {driver} 没有启动它。",
        "请看内核日志怎么说。常见原因：固件没有开启 Above 4G Decoding，供电线没有插好，"
        "或者虚拟 GPU（vGPU）装了公版驱动而不是客户机驱动。",
    ),
    "D318": (
        "有驱动，没有 NVIDIA GPU",
        "已安装 NVIDIA 驱动[ {driver}]，但 {bus} 上没有 NVIDIA GPU。",
        "可能是笔记本关闭了它，虚拟机没有分配到 GPU，或者显卡没有插好：请打开它，"
        "或换一台有 GPU 的机器。",
    ),
    "D319": (
        "nvidia_uvm 缺失或状态异常",
        "CUDA 无法启动：[缺少设备节点 {missing}][{module} 状态异常，挂起后常会如此]。",
        "请重新加载该模块[；在宿主机上进行，然后重新启动 {container} 容器]。",
    ),
    "D320": (
        "容器里没有 GPU",
        "没有 GPU 映射到这个 {container} 容器[，而宿主机有驱动 {release}][ 和 {cards}]。",
        "请在启动容器时带上 GPU；宿主机需要 NVIDIA Container Toolkit，镜像里不需要驱动。",
    ),
    "D321": (
        "容器缺少 compute 能力",
        "这个 {container} 容器中 NVIDIA_DRIVER_CAPABILITIES 为 {value}：没有 compute 就不会映射 "
        "libcuda，尽管 nvidia-smi 可能正常。",
        "请同时要求 compute。",
    ),
    "D322": (
        "环境变量把 GPU 挡在外面",
        "这个 {container} 容器中 NVIDIA_VISIBLE_DEVICES 为 {value}，所有 GPU 都被挡在外面。",
        "启动容器时请设为 all，并从镜像及其脚本中去掉原来的设置。",
    ),
    "D323": (
        "容器失去了设备权限",
        "这个 {container} 容器已不能打开 GPU 的设备节点：设备规则已丢失，"
        "宿主机执行 systemctl daemon-reload 后就会这样。",
        "请重新启动容器。要避免再次发生，请改用 CDI 映射 GPU。",
    ),
    "D324": (
        "分配了 GPU 却没有映射",
        "这个 {container} 容器分配到了 {allotted}，但运行时没有映射任何设备。",
        "请用 NVIDIA 的运行时来运行它：指定 runtimeClass，或把它设为该节点的默认运行时。",
    ),
    "D325": (
        "有设备节点，没有驱动库",
        "这个 {container} 容器里有 GPU 的设备节点，却没有驱动的库。",
        "请让 NVIDIA Container Toolkit 把两者都映射进来，而不是只映射设备节点。",
    ),
    "D326": (
        "镜像自带了驱动",
        "{library} 在这个 {container} 容器的镜像里，排在宿主机的库之前，而宿主机的驱动是 "
        "{release}。",
        "请从镜像中删除该软件包：宿主机的库会自动映射进来。",
    ),
    "D327": (
        "另一个 libcuda 排在驱动的库之前",
        "加载的是 {library}[（版本 {version}）][（来自 {found_by}）]，而不是驱动 {release} 的库"
        "[ {expected}]。",
        "请把它所在的目录移出搜索路径。",
    ),
    "D328": (
        "缺少驱动的 CUDA 库",
        "驱动 {driver} 已加载，但没有安装它的 CUDA 库 libcuda.so.1。",
        "请安装含有该库的软件包；有些发行版把它与图形驱动分开。",
    ),
    "D329": (
        "Jetson 上装了桌面驱动",
        "桌面驱动的 {library} 排在 {board} 的库 {expected} 之前。",
        "请删除该驱动，并重新安装 Jetson 系统自带的驱动。",
    ),
    "D330": (
        "在 WSL 里安装了 Linux 驱动",
        "Linux 驱动的 {library} 排在 WSL 的库 {expected} 之前。",
        "请删除该软件包：WSL 使用 Windows 的驱动，Linux 中不要安装驱动。",
    ),
    "D331": (
        "WSL 没有 GPU",
        "WSL 没有可用的 GPU：缺少 {missing}。",
        "请在 Windows 中（而不是在 Linux 中）安装或更新 NVIDIA 驱动，然后更新并重启 WSL；"
        "必须是 WSL 2。",
    ),
    "D332": (
        "CUDA 无法启动",
        "CUDA 无法启动：cuInit 返回错误 {error}[（{meaning}）]。",
        "请看内核日志怎么说。",
    ),
    "D333": (
        "CUDA_VISIBLE_DEVICES 隐藏了所有 GPU",
        'CUDA_VISIBLE_DEVICES="{value}" 隐藏了所有 GPU[：{entry} 不是现有 {count} 块中的任何一块]'
        "[：{twice} 重复出现]。",
        "请取消该变量，或写上确实存在的 GPU：编号从 0 开始，容器内也是如此。",
    ),
    "D334": (
        "CUDA_VISIBLE_DEVICES 隐藏了部分 GPU",
        'CUDA_VISIBLE_DEVICES="{value}" 隐藏了 {hidden}：CUDA 看到 {count} 块中的 {seen} 块。',
        "如果不是有意的，请取消该变量。",
    ),
    "D335": (
        "CUDA_VISIBLE_DEVICES 被截断",
        'CUDA 读 CUDA_VISIBLE_DEVICES="{value}" 时在 {entry} 处停止，因为本机没有这块 GPU；'
        "后面的各项都不算。",
        "请写上确实存在的 GPU。",
    ),
    "D336": (
        "开启了 MIG，却没有实例",
        "{devices} 开启了 MIG，但没有创建实例，CUDA 无法使用它。",
        "请创建实例，或关闭 MIG。",
    ),
    "D337": (
        "一个进程只能看到一个 MIG 实例",
        "{devices} 分成了 {count} 个 MIG 实例，一个进程只能看到其中一个[，这里是 {slice}]。",
        "请用 MIG-UUID 指定所要的实例；要用多个，请为每个实例启动一个进程。",
    ),
    "D338": (
        "CUDA 与 NVML 的 GPU 编号不同",
        "CUDA 与 NVML 的 GPU 编号不同：{pairs}。",
        "请用 UUID 指定 GPU，或让 CUDA 与 NVML、nvidia-smi 一样按总线顺序编号。",
    ),
    "D339": (
        "无法完整读取 GPU",
        "驱动查询 {devices} 时出错[：{said}]。",
        "请在内核日志中查找它的 Xid 消息，然后复位该 GPU 或重启；在此之前可用 "
        "CUDA_VISIBLE_DEVICES 把它隐藏。",
    ),
}
