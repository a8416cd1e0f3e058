// x * sigmoid(x) on the GPU, by torch's stable headers alone.
#include <cuda_runtime.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>

using torch::stable::Tensor;

namespace {

__global__ void swish_kernel(int64_t n, const float* __restrict__ from, float* __restrict__ to) {
  const int64_t step = static_cast<int64_t>(blockDim.x) * gridDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    to[i] = from[i] / (1.0f + __expf(-from[i]));
  }
}

Tensor swish_cuda(Tensor x) {
  STD_TORCH_CHECK(x.scalar_type() == torch::headeronly::ScalarType::Float, "swish takes floats");
  const torch::stable::accelerator::DeviceGuard guard(x.get_device_index());
  Tensor in = torch::stable::contiguous(x);
  Tensor out = torch::stable::empty_like(in);
  const int64_t n = in.numel();
  if (n == 0) {
    return out;
  }
  void* stream = nullptr;
  STABLE_TORCH_ERROR_CODE_CHECK(
      aoti_torch_get_current_cuda_stream(x.get_device_index(), &stream));
  constexpr int threads = 256;
  const int blocks = static_cast<int>(std::min<int64_t>((n + threads - 1) / threads, 4096));
  swish_kernel<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(
      n, in.const_data_ptr<float>(), out.mutable_data_ptr<float>());
  STD_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(swish, CUDA, library) {
  library.impl("swish", TORCH_BOX(&swish_cuda));
}
