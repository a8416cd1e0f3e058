// Stands for torch's <torch/extension.h> in CUDA sources built with lean_headers.
#pragma once
#pragma GCC system_header
#include <archbuild/kernels.h>
