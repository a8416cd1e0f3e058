"""What CUDA's errors of programs that run mean: memory, launches, streams, wrong calls."""

from __future__ import annotations

from archbuild.rules.explaining.known import Join, cuda_group

_SANITIZE = "compute-sanitizer python your_program.py"

#: Groups of errors that are no fault of a build or of a machine, the one for all others last.
RUNNING = (
    cuda_group(
        "cuda-memory",
        "2",
        "The memory of the GPU is used up.",
        "Look who uses it; take smaller batches. This is not about architectures.",
        ("nvidia-smi --query-compute-apps=pid,used_memory,name --format=csv",),
    ),
    cuda_group(
        "cuda-memory-fault",
        "700 714-719 53",
        "A kernel did what it must not, such as leaving its memory: a fault of the program, not "
        "of the build. It is told late, at a call that has nothing to do with it.",
        "Find the call with CUDA_LAUNCH_BLOCKING=1, and the place with compute-sanitizer.",
        (_SANITIZE, "CUDA_LAUNCH_BLOCKING=1 python your_program.py"),
    ),
    cuda_group(
        "cuda-assert",
        "710",
        "An assert in a kernel does not hold: mostly an index out of range, such as a label or a "
        "token that the model does not have.",
        "Run it on the CPU once, which says what is wrong, or with CUDA_LAUNCH_BLOCKING=1.",
        ("CUDA_LAUNCH_BLOCKING=1 python your_program.py",),
    ),
    cuda_group(
        "cuda-launch-size",
        "701 720 9 912",
        "The kernel asks for more threads, registers, shared memory or blocks than this GPU has "
        "for one launch.",
        "Launch fewer threads, or compile for this GPU with __launch_bounds__; a kernel tuned for "
        "a larger GPU needs other tile sizes here.",
        ("archbuild show FILE --kernels --sizes",),
    ),
    cuda_group(
        "cuda-timeout",
        "702 909",
        "A kernel or a wait took longer than the system allows.",
        "On a GPU with a screen the system ends long kernels: make them shorter, or compute on "
        "another GPU.",
    ),
    cuda_group(
        "cuda-external",
        "911",
        "A fault in something outside CUDA that this program waits for, such as a network card.",
        "Look at the other party's log.",
    ),
    cuda_group(
        "cuda-peer",
        "217 704 705 711",
        "Direct access from one GPU to another is not possible, or was asked for wrongly.",
        "See which GPUs reach each other; NCCL_P2P_DISABLE=1 does without.",
        ("nvidia-smi topo -p2p r",),
    ),
    cuda_group(
        "cuda-capture",
        "900-908",
        "The program does what is not allowed while it captures a CUDA graph.",
        "Keep synchronisation, allocation and the legacy stream out of the capture; "
        "torch.compile does without graphs in mode default.",
    ),
    cuda_group(
        "cuda-graph",
        "910 917 918",
        "A CUDA graph or its stream is no longer what it was when it was made.",
        "Capture the graph again.",
    ),
    cuda_group(
        "cuda-dynamic-parallelism",
        "65 68 69 811 812",
        "Kernels that launch kernels meet a limit, or two versions of that mechanism.",
        "Build all device code with one CUDA 12 or newer, without cudaDeviceSynchronize in "
        "kernels.",
    ),
    cuda_group(
        "cuda-profiler",
        "5-8",
        "A call to the profiler at a wrong time.",
        "Take the calls to the profiler out, or let one profiler at a time look.",
    ),
    cuda_group(
        "cuda-tensor-memory",
        "721",
        "A kernel ended without giving its tensor memory back.",
        "Every tcgen05.alloc needs its tcgen05.dealloc.",
    ),
    cuda_group(
        "cuda-limit",
        "215 224 402 913-915",
        "This GPU or this driver lacks what the program sets, or the call comes too early.",
        "Ask for what the GPU has: cudaDeviceGetAttribute says.",
    ),
    cuda_group(
        "cuda-files",
        "301-303",
        "A file or library of device code could not be found, or not be started.",
        "Install the package again, and look at the paths that the program names.",
    ),
    cuda_group(
        "cuda-handle",
        "400 401 201 202 49 708 709 219",
        "The program uses a context, stream or handle that is none, or no longer one: often what "
        "follows from an earlier error, or from a kernel that was never loaded.",
        "Look for an earlier error in the log.",
        join=Join.CODE,
    ),
    cuda_group(
        "cuda-ending",
        "4",
        "CUDA was used while the program was ending.",
        "Free what lives on the GPU before the program ends; no harm is done otherwise.",
    ),
    cuda_group(
        "cuda-waiting",
        "600",
        "Work on the GPU has not ended yet: an answer, not a fault.",
        "Wait for it, with a synchronize.",
    ),
    cuda_group(
        "cuda-key-rotation",
        "916",
        "The keys of confidential computing are being changed.",
        "Let the program wait and try again.",
    ),
    cuda_group(
        "cuda-success",
        "0",
        "This is no error: the call went well.",
        "Look for another line in the log.",
    ),
    cuda_group(
        "cuda-wrong-call",
        "1 12 13 16-28 31 32 37 43-45 52 66 67 205-208 210-213 703 712 713",
        "The program calls CUDA wrongly: with an argument that is none, or in a wrong order. "
        "It is a fault of the program, or of two versions that don't go together.",
        "Look at the call that failed: CUDA_LAUNCH_BLOCKING=1 names it.",
        ("CUDA_LAUNCH_BLOCKING=1 python your_program.py",),
    ),
)
