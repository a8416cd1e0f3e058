"""A kernel as PTX text, for machines without nvcc, and what it must compute.

It is written for the oldest ISA that names a 64-bit target of its kind, so that every
driver since 2014 takes it: no compiler and no toolkit of any release is needed.
"""

from __future__ import annotations

from archbuild.model.arch import ComputeCapability

#: The kernel's name.
ENTRY = "archbuild_trial"
#: Threads of a block.
BLOCK = 128
_MASK = 0xFFFFFFFF
# Kepler has nothing lower; ptxas 13.0 still takes PTX for both (tried with it).
_OLD, _USUAL = "sm_30", "sm_50"

_TEXT = """\
.version 4.0
.target {target}
.address_size 64

.visible .entry {entry}(.param .u64 words, .param .u32 count, .param .u32 seed)
{{
    .reg .pred %outside;
    .reg .b32 %i, %block, %width, %lane, %count, %seed, %word, %high;
    .reg .b64 %base, %place;
    ld.param.u64 %base, [words];
    ld.param.u32 %count, [count];
    ld.param.u32 %seed, [seed];
    mov.u32 %block, %ctaid.x;
    mov.u32 %width, %ntid.x;
    mov.u32 %lane, %tid.x;
    mad.lo.u32 %i, %block, %width, %lane;
    setp.ge.u32 %outside, %i, %count;
    @%outside bra leave;
    mad.lo.u32 %word, %i, 1664525, %seed;
    shr.u32 %high, %word, 13;
    xor.b32 %word, %word, %high;
    cvta.to.global.u64 %base, %base;
    mad.wide.u32 %place, %i, 4, %base;
    st.global.u32 [%place], %word;
leave:
    ret;
}}
"""


def write_ptx(capability: ComputeCapability | None) -> str:
    """The kernel for a GPU.

    Args:
        capability: The GPU's; None: unknown, taken for one since Maxwell.
    """
    old = capability is not None and capability < ComputeCapability(5, 0)
    return _TEXT.format(target=_OLD if old else _USUAL, entry=ENTRY)


def compute_words(count: int, seed: int) -> list[int]:
    """What the kernel must write.

    Args:
        count: Words.
        seed: 32 bits.
    """
    words = ((i * 1664525 + seed) & _MASK for i in range(count))
    return [word ^ word >> 13 for word in words]
