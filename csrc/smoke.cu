// The smoke kernel of archbuild: small, but a real computation, so that a
// toolchain that is broken in any stage shows it here first.
//
// It needs nothing but the CUDA runtime, compiles for 5.2 to 12.1 with every
// nvcc from 12.0 on, and gives the same numbers on every GPU: each operation
// below is either exact or rounded as IEEE 754 says (the intrinsics _rn forbid
// the compiler to contract them). Every branch on __CUDA_ARCH__ computes the
// same value by other instructions; which one ran is part of the result.
// archbuild/rules/smoke_numbers.py computes the same in Python.

#include <cuda_runtime.h>

#if defined(_WIN32)
#define SMOKE_API extern "C" __declspec(dllexport)
#else
#define SMOKE_API extern "C" __attribute__((visibility("default")))
#endif

namespace {

constexpr unsigned kBlock = 128;

// What the image that ran was compiled for: __CUDA_ARCH__, and in the two lowest
// bits whether it is specific to one architecture (1) or to a family (2).
__device__ unsigned compiled_for() {
#if defined(__CUDA_ARCH_SPECIFIC__) || defined(__CUDA_ARCH_FEAT_SM90_ALL) ||        \
    defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM101_ALL) ||   \
    defined(__CUDA_ARCH_FEAT_SM103_ALL) || defined(__CUDA_ARCH_FEAT_SM110_ALL) ||   \
    defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM121_ALL)
    return __CUDA_ARCH__ * 4u + 1u;
#elif defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
    return __CUDA_ARCH__ * 4u + 2u;
#elif defined(__CUDA_ARCH__)
    return __CUDA_ARCH__ * 4u;
#else
    return 0u;
#endif
}

// Four products of bytes and their sum: one instruction from 6.1 on.
__device__ unsigned dot_bytes(unsigned a, unsigned b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 610
    return __dp4a(a, b, 0u);
#else
    unsigned sum = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        sum += ((a >> shift) & 0xffu) * ((b >> shift) & 0xffu);
    }
    return sum;
#endif
}

// The sum over a warp: one instruction from 8.0 on.
__device__ unsigned sum_over_warp(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffffu, value);
#else
    for (unsigned lane = 16; lane > 0; lane /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, lane);
    }
    return value;
#endif
}

// A xorshift generator: exact in unsigned arithmetic.
__device__ unsigned scramble(unsigned x) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

}  // namespace

// A plain name outside the namespace: the same in every folder and build.
extern "C" __global__ void archbuild_smoke_kernel(unsigned n, unsigned seed, unsigned *words,
                                                  float *singles, double *doubles,
                                                  unsigned *arch) {
    __shared__ unsigned shared[kBlock];
    const unsigned i = blockIdx.x * kBlock + threadIdx.x;
    const unsigned word = scramble(seed + i * 2654435761u + 1u);
    shared[threadIdx.x] = dot_bytes(word, word >> 3);
    __syncthreads();
    const unsigned neighbour = shared[(threadIdx.x + 1) % kBlock];
    const unsigned sum = sum_over_warp(neighbour);
    if (i >= n) {
        return;
    }
    words[i] = sum ^ word;

    const float x = static_cast<float>(word >> 8);
    const float y = static_cast<float>((neighbour & 0xffffu) + 1u);
    singles[i] = __fsqrt_rn(__fadd_rn(__fmul_rn(x, y), __fdiv_rn(x, y)));

    const double u = static_cast<double>(word);
    const double v = static_cast<double>(neighbour + 1u);
    doubles[i] = __dadd_rn(__dmul_rn(__ddiv_rn(u, v), 0.1), __dsqrt_rn(u));
    if (i == 0) {
        *arch = compiled_for();
    }
}

namespace {

// Memory on the device that is given back on every way out.
template <typename T>
class Buffer {
public:
    explicit Buffer(unsigned count) : bytes_(sizeof(T) * (count ? count : 1u)) {
        error_ = cudaMalloc(reinterpret_cast<void **>(&data_), bytes_);
        if (error_ == cudaSuccess) {
            error_ = cudaMemset(data_, 0, bytes_);
        }
    }
    ~Buffer() { cudaFree(data_); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    cudaError_t error() const { return error_; }
    T *get() const { return data_; }
    cudaError_t copy_to(T *host) const {
        return cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost);
    }

private:
    T *data_ = nullptr;
    size_t bytes_;
    cudaError_t error_;
};

}  // namespace

// Runs the kernel on a device. Returns the number of the first CUDA error, 0 for none.
// Each of words, singles and doubles has room for n values; arch for one.
SMOKE_API int archbuild_smoke(int device, unsigned n, unsigned seed, unsigned *words,
                              float *singles, double *doubles, unsigned *arch) {
    if (n == 0) {
        return static_cast<int>(cudaErrorInvalidValue);
    }
    cudaError_t error = cudaSetDevice(device);
    if (error != cudaSuccess) {
        return static_cast<int>(error);
    }
    Buffer<unsigned> device_words(n), device_arch(1);
    Buffer<float> device_singles(n);
    Buffer<double> device_doubles(n);
    error = device_words.error();
    if (error == cudaSuccess) error = device_singles.error();
    if (error == cudaSuccess) error = device_doubles.error();
    if (error == cudaSuccess) error = device_arch.error();
    if (error != cudaSuccess) {
        return static_cast<int>(error);
    }
    archbuild_smoke_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(
        n, seed, device_words.get(), device_singles.get(), device_doubles.get(),
        device_arch.get());
    error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    if (error == cudaSuccess) error = device_words.copy_to(words);
    if (error == cudaSuccess) error = device_singles.copy_to(singles);
    if (error == cudaSuccess) error = device_doubles.copy_to(doubles);
    if (error == cudaSuccess) error = device_arch.copy_to(arch);
    return static_cast<int>(error);
}
