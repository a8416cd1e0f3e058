// Stands for torch's <torch/all.h>, and so for <torch/torch.h>, in CUDA sources built with
// lean_headers.
#pragma once
#pragma GCC system_header
#include <archbuild/kernels.h>
