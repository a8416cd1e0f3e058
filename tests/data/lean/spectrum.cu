// Complex numbers, shared memory and a reduction over warps.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/Exceptions.h>
#include <c10/util/complex.h>

#include "launch.cuh"

namespace {

__constant__ float window[8] = {0.1f, 0.2f, 0.4f, 0.8f, 0.8f, 0.4f, 0.2f, 0.1f};

template <typename T>
struct Power {
  __device__ static float of(const T& x) { return static_cast<float>(x) * static_cast<float>(x); }
};

template <typename T>
struct Power<c10::complex<T>> {
  __device__ static float of(const c10::complex<T>& x) {
    const c10::complex<T> square = x * std::conj(x);
    return static_cast<float>(square.real() + std::abs(x - x));
  }
};

template <typename scalar_t>
__global__ void power_kernel(const scalar_t* in, float* out, int64_t width) {
  __shared__ float partial[lean_test::kThreads / 32];
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    sum += window[i & 7] * Power<scalar_t>::of(in[blockIdx.x * width + i]);
  }
  sum = lean_test::warp_sum(sum);
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    const bool there = threadIdx.x < lean_test::kThreads / 32;
    const float total = lean_test::warp_sum(there ? partial[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) {
      out[blockIdx.x] = total;
    }
  }
}

}  // namespace

at::Tensor power_spectrum(const at::Tensor& in) {
  TORCH_CHECK(in.dim() == 2 && in.is_contiguous(), "two dimensions, contiguous: ", in.sizes());
  auto out = torch::empty({in.size(0)}, in.options().dtype(torch::kFloat32));
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(at::kHalf, in.scalar_type(), "power", [&] {
    power_kernel<scalar_t><<<in.size(0), lean_test::kThreads, 0, stream>>>(
        in.const_data_ptr<scalar_t>(), out.mutable_data_ptr<float>(), in.size(1));
  });
  AT_CUDA_CHECK(cudaGetLastError());
  float host[2] = {1.0f, 2.0f};
  auto factors = torch::from_blob(host, {2}, torch::kFloat).to(out.device());
  return at::where(out > 0, out, torch::zeros_like(out)) * factors.max();
}
