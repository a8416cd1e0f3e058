// An element-wise kernel over every floating type, in the style of an inference library.
#include <torch/all.h>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include "launch.cuh"

namespace lean_test {

template <typename T>
__device__ __forceinline__ T swish(const T& x, float beta) {
  const float wide = static_cast<float>(x);
  return static_cast<T>(wide / (1.0f + expf(-beta * wide)));
}

template <typename scalar_t, bool kGated>
__global__ void __launch_bounds__(kThreads)
    swish_kernel(scalar_t* __restrict__ out, const scalar_t* __restrict__ in, int64_t width,
                 float beta) {
  const int64_t row = blockIdx.x;
  const int64_t stride = kGated ? 2 * width : width;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const scalar_t x = __ldg(&in[row * stride + i]);
    if constexpr (kGated) {
      out[row * width + i] = swish(x, beta) * __ldg(&in[row * stride + width + i]);
    } else {
      out[row * width + i] = swish(x, beta);
    }
  }
}

template <bool kGated>
torch::Tensor run(const torch::Tensor& in, double beta) {
  TORCH_CHECK(in.is_cuda(), "swish wants a CUDA tensor, not one on ", in.device());
  TORCH_CHECK_EQ(in.dim(), 2);
  const at::cuda::OptionalCUDAGuard guard(device_of(in));
  const int64_t width = kGated ? in.size(1) / 2 : in.size(1);
  torch::Tensor out = kGated ? torch::empty({in.size(0), width}, in.options()) : at::empty_like(in);
  if (out.numel() == 0) {
    return out;
  }
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::ScalarType::Half, at::ScalarType::BFloat16, in.scalar_type(), "swish", [&] {
        swish_kernel<scalar_t, kGated><<<in.size(0), kThreads, 0, stream>>>(
            out.data_ptr<scalar_t>(), in.data_ptr<scalar_t>(), width, static_cast<float>(beta));
      });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

}  // namespace lean_test

torch::Tensor swish(torch::Tensor in, double beta) { return lean_test::run<false>(in, beta); }
torch::Tensor gated_swish(torch::Tensor in, double beta) { return lean_test::run<true>(in, beta); }
