// x = factor * x on the GPU, as a plain C library: no torch, no Python headers.
#include <cuda_runtime.h>

namespace {

__global__ void scale_kernel(int n, float factor, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    x[i] *= factor;
  }
}

cudaError_t scale_on_device(int n, float factor, float* x, float* device) {
  const size_t bytes = static_cast<size_t>(n) * sizeof(float);
  cudaError_t error = cudaMemcpy(device, x, bytes, cudaMemcpyHostToDevice);
  if (error != cudaSuccess) {
    return error;
  }
  constexpr int threads = 256;
  scale_kernel<<<(n + threads - 1) / threads, threads>>>(n, factor, device);
  error = cudaGetLastError();
  if (error != cudaSuccess) {
    return error;
  }
  return cudaMemcpy(x, device, bytes, cudaMemcpyDeviceToHost);
}

}  // namespace

// Returns a cudaError_t, 0 where all went well.
extern "C" int scale(int n, float factor, float* x) {
  if (n <= 0) {
    return cudaSuccess;
  }
  float* device = nullptr;
  const cudaError_t error = cudaMalloc(&device, static_cast<size_t>(n) * sizeof(float));
  if (error != cudaSuccess) {
    return error;
  }
  const cudaError_t outcome = scale_on_device(n, factor, x, device);
  cudaFree(device);
  return outcome;
}

extern "C" const char* scale_error(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}
