// The length of a vector: the square root of the sum of its squares.
#include <cuda_runtime.h>

#include <cmath>
#include <vector>

namespace {

__global__ void square_kernel(int n, const float* x, float* out) {
  float sum = 0.0f;
  const int step = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    sum += x[i] * x[i];
  }
  atomicAdd(out, sum);
}

// `device` has room for the vector, and for the sum behind it.
cudaError_t square_on_device(const std::vector<float>& x, float* device, float* out) {
  const int n = static_cast<int>(x.size());
  float* sum = device + n;
  cudaMemcpy(device, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(sum, 0, sizeof(float));
  square_kernel<<<64, 256>>>(n, device, sum);
  const cudaError_t error = cudaGetLastError();
  return error != cudaSuccess ? error
                              : cudaMemcpy(out, sum, sizeof(float), cudaMemcpyDeviceToHost);
}

}  // namespace

const char* norm_cuda(const std::vector<float>& x, float* out) {
  *out = 0.0f;
  if (x.empty()) {
    return nullptr;
  }
  float* device = nullptr;
  cudaError_t error = cudaMalloc(&device, (x.size() + 1) * sizeof(float));
  if (error == cudaSuccess) {
    error = square_on_device(x, device, out);
    *out = std::sqrt(*out);
    cudaFree(device);
  }
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
