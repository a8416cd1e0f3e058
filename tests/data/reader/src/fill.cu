// A translation unit with one kernel of each binding, and a device variable.
__device__ int table[4];
template <typename T> __global__ void fill(T *out, T value) { out[threadIdx.x] = value; }
template __global__ void fill<float>(float *, float);
static __global__ void hidden(int *out) { *out = table[1]; }
extern "C" void launch(int *out) { hidden<<<1, 1>>>(out); }
