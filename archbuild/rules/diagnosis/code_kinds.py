"""Kinds of findings about code on a machine: torch and packages, D340 to D359.

``docs/findings/`` has the page of each code under its name in lower case.
"""

from __future__ import annotations

from archbuild.model.finding import Severity
from archbuild.rules.diagnosis.kind import Kind
from archbuild.rules.diagnosis.loading_kinds import LOADING_KINDS, NO_CUDA

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

# --- torch ----------------------------------------------------------------------------------------

TORCH_NOTHING = Kind(
    "D340",
    _ERROR,
    "torch holds nothing for a GPU",
    "torch {version} holds nothing that runs on {devices}[: it holds {holds}].",
    "Install a torch[ of {tag}] that holds code for it.",
    rank=32,
    after=("D342",),
)
TORCH_REFUSED = Kind(
    "D341",
    _ERROR,
    "torch is newer than the driver",
    "torch {version} is of CUDA {cuda}, which driver {driver} does not take[: {floor} is the "
    "oldest].",
    "Update the driver[ to {floor} or newer][, but not beyond branch {last}, the last one for "
    "such a GPU]; or install a torch of an older CUDA.",
    rank=30,
    either=True,
)
NO_TORCH = Kind(
    "D342",
    _ERROR,
    "no official torch serves all GPUs",
    "No one official build of torch serves {devices}.",
    "[No toolkit newer than CUDA {oldest} builds for {lost}. ]What is left:[ the torch for {best}, "
    "with the others hidden from it;][ a build from source with CUDA {toolkit} and "
    "TORCH_CUDA_ARCH_LIST={archs};] the CPU.",
    rank=31,
)
TORCH_JIT = Kind(
    "D343",
    _WARNING,
    "torch runs by JIT alone",
    "torch {version} holds only PTX for {devices}: the driver compiles it at the first launches.",
    "Install a torch with code for this GPU, or keep the compile cache: CUDA_CACHE_MAXSIZE.",
    rank=33,
    after=("D395",),
)
TORCH_LIBRARY = Kind(
    "D344",
    _WARNING,
    "one library of torch holds nothing for a GPU",
    "{library} of torch {version} holds nothing that runs on {devices}[ in {share} of its "
    "regions], though torch itself does: the operations in it fail.",
    "Install a torch whose library holds it, or run those operations on the CPU.",
    rank=34,
    after=("D342", "D340"),
)
TORCH_DIFFERS = Kind(
    "D345",
    _NOTE,
    "libraries of one package differ",
    "{library} of {name} {version} holds nothing for {archs}, which {main} serves.",
    "On a GPU of that kind the operations of that library fail with error 209.",
    errors=(209, 98),
    rank=36,
    after=NO_CUDA,
)
TORCH_UNKNOWN = Kind(
    "D346",
    _NOTE,
    "not known whether torch runs",
    "Whether torch {version} runs on {devices} is not known[: NVIDIA documents nothing for {holds} "
    "there].",
    "Try it on the GPU[, or take NVIDIA's own build for {board}].",
    rank=35,
)
TORCH_CPU = Kind(
    "D347",
    _ERROR,
    "torch without CUDA",
    "torch {version} is built without CUDA, and this machine has {devices}.",
    "Install a torch of CUDA[: NVIDIA's own build for {board}].",
    rank=31,
)
TORCH_HIP = Kind(
    "D348",
    _ERROR,
    "torch for AMD's GPUs",
    "torch {version} is built for ROCm {hip}, and this machine has {devices}.",
    "Install a torch of CUDA.",
    rank=31,
)
CUDNN = Kind(
    "D349",
    _ERROR,
    "cuDNN no longer has this GPU",
    "cuDNN {version} has no code for {devices}: {generation} ended with {below}.",
    "Install a cuDNN below {below}, which means a torch or runtime that was built with one.",
    rank=37,
    after=("D342", "D340"),
)

# --- packages -------------------------------------------------------------------------------------

PACKAGE_NOTHING = Kind(
    "D350",
    _ERROR,
    "a package holds nothing for a GPU",
    "{name} {version} holds nothing that runs on {devices}[: {library} holds {holds}].",
    "Build it for this GPU, or install a release that holds it.",
    rank=42,
)
PACKAGE_PTX = Kind(
    "D351",
    _ERROR,
    "a package's PTX is newer than the driver",
    "{library} of {name} {version} has only PTX for {devices}[ in {share} of its regions], too new "
    "for driver {driver}[: {floor} is the oldest].",
    "Build it for this GPU, which needs no JIT; or update the driver[ to {floor} or newer].",
    rank=40,
    either=True,
)
PACKAGE_REFUSED = Kind(
    "D352",
    _ERROR,
    "a package is newer than the driver",
    "{library} of {name} {version} was built with a CUDA that driver {driver} does not take on "
    "{devices}[: {floor} is the oldest].",
    "Update the driver[ to {floor} or newer], or install a build of an older CUDA.",
    rank=41,
    after=("D341",),
    either=True,
)
PACKAGE_JIT = Kind(
    "D353",
    _WARNING,
    "a package runs by JIT alone",
    "{name} {version} holds only PTX for {devices}: the driver compiles it at the first launches.",
    "Build it for this GPU, or install a release that holds it.",
    rank=43,
    after=("D395",),
)
PACKAGE_LIBRARY = Kind(
    "D354",
    _WARNING,
    "one library of a package holds nothing for a GPU",
    "{library} of {name} {version} holds nothing that runs on {devices}, though the rest does.",
    "Build the package for this GPU, or do without what that library does.",
    rank=44,
    after=("D350",),
)
PACKAGE_PART = Kind(
    "D355",
    _NOTE,
    "a part of a library holds nothing for a GPU",
    "{library} of {name} {version} holds nothing for {devices} in {share} of its regions.",
    "If a kernel of it fails with error 209, build the package for this GPU.",
    rank=46,
    after=("D350",),
)
OTHER_TORCH = Kind(
    "D356",
    _WARNING,
    "a package was built for another torch",
    "{name} {version} was built for torch {built}, and torch {torch} is installed.",
    "Build it again for this torch; the sign is an undefined symbol at import.",
    rank=45,
)
PACKAGE_UNKNOWN = Kind(
    "D357",
    _NOTE,
    "not known whether a package runs",
    "Whether {name} {version} runs on {devices} is not known[: {library} holds {holds}].",
    "Try it on the GPU, or build it for this GPU.",
    rank=47,
)
PACKAGE_HIP = Kind(
    "D358",
    _ERROR,
    "a package for AMD's GPUs",
    "{name} {version} holds code for AMD's GPUs alone, and this machine has {devices}.",
    "Install its build for CUDA.",
    rank=44,
    after=("D348",),
)
UNREADABLE = Kind(
    "D359",
    _NOTE,
    "a library cannot be read",
    "{library} of {name} {version} cannot be read: {trouble}.",
    "Install the package again.",
    rank=48,
)

#: Every kind about code.
CODE_KINDS = (
    TORCH_NOTHING,
    TORCH_REFUSED,
    NO_TORCH,
    TORCH_JIT,
    TORCH_LIBRARY,
    TORCH_DIFFERS,
    TORCH_UNKNOWN,
    TORCH_CPU,
    TORCH_HIP,
    CUDNN,
    PACKAGE_NOTHING,
    PACKAGE_PTX,
    PACKAGE_REFUSED,
    PACKAGE_JIT,
    PACKAGE_LIBRARY,
    PACKAGE_PART,
    OTHER_TORCH,
    PACKAGE_UNKNOWN,
    PACKAGE_HIP,
    UNREADABLE,
    *LOADING_KINDS,
)
