// Stands before torch's <ATen/DeviceGuard.h>, and is nothing but a way to it, except while
// <archbuild/kernels.h> includes torch's functions: each of them includes this header, needs
// nothing of it, and would pay for a third of the whole with the ITensorListRef it brings.
//
// No include guard, on purpose: who asks for it later gets torch's own.
#pragma GCC system_header
#ifndef ARCHBUILD_LEAN_INCLUDES_FUNCTIONS
#include_next <ATen/DeviceGuard.h>
#endif
