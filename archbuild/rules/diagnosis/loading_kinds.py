"""Kinds of findings about libraries, toolkits and trials on GPUs: D360 to D399.

``docs/findings/`` has the page of each code under its name in lower case.
"""

from __future__ import annotations

from archbuild.model.finding import Severity
from archbuild.rules.diagnosis.kind import Kind

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
#: Whatever of the driver, the card, the container or a variable keeps CUDA from its GPUs.
NO_CUDA = tuple(
    f"D{number}"
    for number in (
        *(300, 301, 302, 303, 304, 305, 306, 307, 309, 310, 311, 312, 316),
        *(320, 321, 322, 323, 325, 330, 331, 333, 336),
    )
)

# --- libraries that would be loaded ---------------------------------------------------------------

SHADOWED = Kind(
    "D360",
    _ERROR,
    "a wrong CUDA library is loaded first",
    "{path} is loaded in place of {expected}[, by {found_by}], and does not fit.",
    "Take the folder of the first out of the search path; the second is the right one.",
    rank=38,
)
MISSING = Kind(
    "D361",
    _ERROR,
    "a CUDA library cannot be loaded",
    "{soname} cannot be loaded: {trouble}.",
    "Install the package that brings it again.",
    rank=39,
)
SAME_FILES = Kind(
    "D362",
    _WARNING,
    "packages own the same files",
    "{names} own the same files: what is there is of the one that was installed last.",
    "Remove those that torch does not need, then install the others again.",
    rank=50,
)
TWICE = Kind(
    "D363",
    _WARNING,
    "a package is installed more than once",
    "{name} is installed {count} times: {places}. The first one on the path wins.",
    "Remove all of them, then install the one that is meant.",
    rank=51,
)
ELSEWHERE = Kind(
    "D364",
    _WARNING,
    "a CUDA library comes from elsewhere than its package",
    "{soname} {version} is loaded from {path}[, by {found_by}], and the environment has its own: "
    "{expected}.",
    "Take that folder out of the search path, unless it is meant.",
    rank=52,
)

# --- toolkit and host compiler --------------------------------------------------------------------

NO_TOOLKIT = Kind(
    "D380",
    _NOTE,
    "no nvcc to build with",
    "There is no nvcc, and {names} must be built again.",
    "Install the toolkit of torch's CUDA[, {cuda}].",
    rank=60,
)
TOOLKIT_TOO_OLD = Kind(
    "D381",
    _WARNING,
    "the toolkit builds nothing native for a GPU",
    "nvcc {version} ({nvcc}) builds nothing native for {devices}[; PTX of {ptx} would run by JIT].",
    "Build with another toolkit: CUDA {first}[ to {last}] builds for {archs}.",
    rank=61,
)
TOOLKIT_MISFIT = Kind(
    "D382",
    _WARNING,
    "toolkit and torch are of different CUDA",
    "nvcc is of CUDA {version} ({nvcc}), and torch {torch} of CUDA {cuda}: no extension that it "
    "builds would load.",
    "Build with a toolkit of CUDA {cuda}.",
    rank=60,
)
NO_HOST = Kind(
    "D383",
    _WARNING,
    "no host compiler fits",
    "No host compiler fits nvcc {version}[, which takes {most} at most][; there is {others}].",
    "Install one that fits, and name it: CXX, or NVCC_CCBIN.",
    rank=62,
)
TOOLKIT_TOO_NEW = Kind(
    "D384",
    _WARNING,
    "what the toolkit builds needs a newer driver",
    "What nvcc {version} builds runs on no driver older than {floor}, and this one is {driver}.",
    "Update the driver, or build with a toolkit of the driver's CUDA.",
    rank=61,
    after=("D382",),
)

# --- trials on GPUs -------------------------------------------------------------------------------

IMAGE_MISSING = Kind(
    "D390",
    _ERROR,
    "an image for this GPU is missing",
    "On {devices} the trial of {trials} fails with error {error}: the image for that GPU is "
    "missing[; on {others} it runs]. It is no fault of the driver.",
    "Build or install what holds code for {archs}.",
    rank=70,
    after=("D396", "D340", "D341", "D344", "D350"),
)
CRASHED = Kind(
    "D391",
    _ERROR,
    "a trial ended its process",
    "On {devices} the trial of {trials} ends its process[: {said}].",
    "Look into the kernel's log for Xid messages of this GPU.",
    ("sudo dmesg | grep -i xid",),
    rank=71,
    after=NO_CUDA,
)
TIMED_OUT = Kind(
    "D392",
    _ERROR,
    "a trial never ended",
    "On {devices} the trial of {trials} does not end[: {said}].",
    "Look for a process that holds the GPU, then into the kernel's log for Xid messages.",
    ("nvidia-smi", "sudo dmesg | grep -i xid"),
    rank=72,
    after=NO_CUDA,
)
FAILED = Kind(
    "D393",
    _ERROR,
    "a trial failed",
    "On {devices} the trial of {trials} fails[ with error {error}][: {said}].",
    "Ask what that error means here.",
    rank=73,
    after=(*NO_CUDA, "D341"),
)
NO_JIT = Kind(
    "D394",
    _WARNING,
    "the driver cannot compile PTX",
    "PTX cannot be compiled on {devices}[: error {error}]: code that has only PTX will fail.",
    "Give the driver its compiler: libnvidia-ptxjitcompiler.so.1 belongs to the driver, and in "
    "a container to the capability compute.",
    rank=74,
)
JIT_DISABLED = Kind(
    "D395",
    _ERROR,
    "JIT is switched off and needed",
    "CUDA_DISABLE_PTX_JIT is set, and for {devices} there is nothing but PTX in {names}.",
    "Unset the variable, or build for this GPU.",
    ("unset CUDA_DISABLE_PTX_JIT",),
    errors=(223,),
    rank=28,
)
JIT_FORCED = Kind(
    "D396",
    _ERROR,
    "JIT is forced and there is no PTX",
    "CUDA_FORCE_PTX_JIT is set, and for {devices} there is no PTX in {names}.",
    "Unset the variable: it is for tests of PTX.",
    ("unset CUDA_FORCE_PTX_JIT",),
    errors=(209, 98),
    rank=28,
)
DISAGREES = Kind(
    "D397",
    _NOTE,
    "a trial and the reading disagree",
    "torch {version} runs on {devices}, though nothing in it should[: it holds {holds}].",
    "Please report this with the record of the machine.",
    ("archbuild doctor --save machine.json",),
    rank=75,
)

#: Every one of them.
LOADING_KINDS = (
    SHADOWED,
    MISSING,
    SAME_FILES,
    TWICE,
    ELSEWHERE,
    NO_TOOLKIT,
    TOOLKIT_TOO_OLD,
    TOOLKIT_MISFIT,
    NO_HOST,
    TOOLKIT_TOO_NEW,
    IMAGE_MISSING,
    CRASHED,
    TIMED_OUT,
    FAILED,
    NO_JIT,
    JIT_DISABLED,
    JIT_FORCED,
    DISAGREES,
)
