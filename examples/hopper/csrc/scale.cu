// For every GPU. What was built besides is known by its macro.
#include <cuda_runtime.h>

__global__ void scale(int n, float a, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}

#ifdef WITH_HOPPER
cudaError_t scale_hopper(int n, float a, float* x);
#endif
#ifdef WITH_BLACKWELL
cudaError_t scale_blackwell(int n, float a, float* x);
#endif

extern "C" cudaError_t scale_any(int n, float a, float* x) {
  int device = 0, major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
#ifdef WITH_HOPPER
  if (major == 9) return scale_hopper(n, a, x);
#endif
#ifdef WITH_BLACKWELL
  if (major == 10) return scale_blackwell(n, a, x);
#endif
  scale<<<(n + 255) / 256, 256>>>(n, a, x);
  return cudaGetLastError();
}
