// y = a * x + y on the GPU, for float, double and half.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>

namespace {

// half is computed in float, float in float, double in double.
template <typename T>
__global__ void axpy_kernel(int64_t n, at::opmath_type<T> a, const T* __restrict__ x,
                            T* __restrict__ y) {
  using work_t = at::opmath_type<T>;
  const int64_t step = static_cast<int64_t>(blockDim.x) * gridDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    y[i] = static_cast<T>(a * static_cast<work_t>(x[i]) + static_cast<work_t>(y[i]));
  }
}

}  // namespace

void axpy_cuda(double a, const at::Tensor& x, at::Tensor& y) {
  const c10::cuda::CUDAGuard guard(x.device());
  const int64_t n = x.numel();
  if (n == 0) {
    return;
  }
  constexpr int threads = 256;
  const int blocks = static_cast<int>(std::min<int64_t>((n + threads - 1) / threads, 4096));
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "axpy", [&] {
    axpy_kernel<scalar_t><<<blocks, threads, 0, stream>>>(
        n, static_cast<at::opmath_type<scalar_t>>(a), x.const_data_ptr<scalar_t>(),
        y.mutable_data_ptr<scalar_t>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
