// What kernel files use of <torch/extension.h>: tensors, their methods and factories, the common
// functions of at::, dispatch, checks. It is made of torch's own headers, so every type is torch's.
//
// What is not here (pybind11, autograd, nn, jit, TORCH_LIBRARY) does not compile; no call changes
// its meaning. See docs/lean-headers.md of archbuild.
#pragma once
#pragma GCC system_header

// From torch/extension.h people get these, too.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

// Without it torch's headers include the functions of at:: all at once.
#ifndef AT_PER_OPERATOR_HEADERS
#define AT_PER_OPERATOR_HEADERS
#define ARCHBUILD_LEAN_PER_OPERATOR
#endif
#define ARCHBUILD_LEAN_INCLUDES_FUNCTIONS

#include <ATen/Context.h>
#include <ATen/Device.h>
#include <ATen/DimVector.h>
#include <ATen/Dispatch.h>
#include <ATen/Formatting.h>
#include <ATen/OpMathType.h>
#include <ATen/ScalarOps.h>
#include <ATen/Tensor.h>
#include <ATen/TensorAccessor.h>
#include <ATen/TensorGeometry.h>
#include <ATen/TensorOperators.h>
#include <ATen/TensorUtils.h>
#include <ATen/TracerMode.h>
#include <ATen/Version.h>
#include <ATen/core/ATenGeneral.h>
#include <ATen/core/Generator.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Scalar.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/Layout.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorOptions.h>
#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <c10/util/irange.h>

#include <archbuild/functions.h>
#include <torch/csrc/api/include/torch/detail/TensorDataContainer.h>

#undef ARCHBUILD_LEAN_INCLUDES_FUNCTIONS
#ifdef ARCHBUILD_LEAN_PER_OPERATOR
#undef AT_PER_OPERATOR_HEADERS
#undef ARCHBUILD_LEAN_PER_OPERATOR
#endif

#include <torch/cuda.h>
#include <torch/version.h>

#include <archbuild/names.h>
