// Enough of CUDA to run csrc/smoke.cu on the CPU: every thread of a block is a
// thread of the system, so that barriers and warp sums mean what they say.
// SMOKE_FAULT=N makes it misbehave: 1 a CUDA error, 2 wrong numbers, 3 a crash,
// 4 a hang. __CUDA_ARCH__ is set by the compiler's command line.

#pragma once

#include <pthread.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#ifndef SMOKE_FAULT
#define SMOKE_FAULT 0
#endif

#define __global__
#define __device__
#define __shared__ static

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorNoKernelImage = 209 };
enum cudaMemcpyKind { cudaMemcpyDeviceToHost = 2 };

struct Index {
    unsigned x;
};

static thread_local Index threadIdx;
static Index blockIdx;
static pthread_barrier_t at_barrier;
static std::vector<unsigned> slots;

inline void __syncthreads() { pthread_barrier_wait(&at_barrier); }

inline unsigned read_slot(unsigned value, unsigned which) {
    slots[threadIdx.x] = value;
    __syncthreads();
    const unsigned result = slots[which];
    __syncthreads();
    return result;
}

inline unsigned __shfl_xor_sync(unsigned, unsigned value, unsigned lane) {
    return read_slot(value, threadIdx.x ^ lane);
}

inline unsigned __reduce_add_sync(unsigned, unsigned value) {
    slots[threadIdx.x] = value;
    __syncthreads();
    unsigned sum = 0;
    for (unsigned lane = 0; lane < 32; ++lane) sum += slots[threadIdx.x / 32 * 32 + lane];
    __syncthreads();
    return sum;
}

inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    unsigned char x[4], y[4];
    std::memcpy(x, &a, 4);
    std::memcpy(y, &b, 4);
    for (int i = 0; i < 4; ++i) c += unsigned(x[i]) * y[i];
    return c;
}

inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }

inline cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : cudaErrorInvalidValue;
}
inline cudaError_t cudaMalloc(void **at, size_t bytes) {
    *at = std::malloc(bytes);
    return *at ? cudaSuccess : cudaErrorInvalidValue;
}
inline cudaError_t cudaFree(void *at) { return std::free(at), cudaSuccess; }
inline cudaError_t cudaMemset(void *at, int value, size_t bytes) {
    return std::memset(at, value, bytes), cudaSuccess;
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    std::memcpy(to, from, bytes);
    if (SMOKE_FAULT == 2 && bytes > 100) static_cast<char *>(to)[bytes / 2] ^= 1;
    return cudaSuccess;
}
inline cudaError_t cudaGetLastError() {
    return SMOKE_FAULT == 1 ? cudaErrorNoKernelImage : cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() {
    if (SMOKE_FAULT == 3) std::raise(SIGSEGV);
    if (SMOKE_FAULT == 4) sleep(600);
    return cudaSuccess;
}

// Stands where kernel<<<blocks, threads>>>(...) was.
template <typename Kernel, typename... Arguments>
void launch(Kernel kernel, unsigned blocks, unsigned threads, Arguments... arguments) {
    slots.assign(threads, 0);
    pthread_barrier_init(&at_barrier, nullptr, threads);
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        std::vector<std::thread> running;
        for (unsigned i = 0; i < threads; ++i) {
            running.emplace_back([=] {
                threadIdx.x = i;
                kernel(arguments...);
            });
        }
        for (std::thread &one : running) one.join();
    }
    pthread_barrier_destroy(&at_barrier);
}
