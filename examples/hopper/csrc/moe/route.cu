// Asynchronous copies came with 8.0.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

__global__ void route(int n, const float* from, float* to) {
  __shared__ float piece[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) __pipeline_memcpy_async(&piece[threadIdx.x], &from[i], sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  if (i < n) to[i] = piece[threadIdx.x];
}

extern "C" cudaError_t route_tokens(int n, const float* from, float* to) {
  route<<<(n + 255) / 256, 256>>>(n, from, to);
  return cudaGetLastError();
}
