// Three inputs in one maximum: for the 10.0 family and newer.
#include <cuda_runtime.h>

__global__ void scale_100f(int n, float a, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float most;
  asm("max.f32 %0, %1, %2, %3;" : "=f"(most) : "f"(x[i] * a), "f"(-3.0e38f), "f"(-2.0e38f));
  x[i] = most;
}

cudaError_t scale_blackwell(int n, float a, float* x) {
  scale_100f<<<(n + 255) / 256, 256>>>(n, a, x);
  return cudaGetLastError();
}
