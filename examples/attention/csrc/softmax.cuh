// One template for every head size and type: a row of scores becomes a row of weights.
#pragma once

#include <cuda_runtime.h>

namespace attention {

template <typename T>
struct Type;
template <>
struct Type<float> {
  __device__ static float up(float x) { return x; }
  __device__ static float down(float x) { return x; }
};
template <>
struct Type<unsigned short> {  // bfloat16 as its upper sixteen bits
  __device__ static float up(unsigned short x) { return __uint_as_float(unsigned(x) << 16); }
  __device__ static unsigned short down(float x) { return __float_as_uint(x) >> 16; }
};

template <typename T, int kSize, bool kCausal>
__global__ void softmax(const T* __restrict__ scores, T* __restrict__ weights, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int end = kCausal ? min(row + 1, kSize) : kSize;
  float most = -INFINITY, sum = 0.0f;
  for (int i = 0; i < end; ++i) most = fmaxf(most, Type<T>::up(scores[row * kSize + i]));
  for (int i = 0; i < end; ++i) sum += __expf(Type<T>::up(scores[row * kSize + i]) - most);
  for (int i = 0; i < kSize; ++i) {
    const float part = i < end ? __expf(Type<T>::up(scores[row * kSize + i]) - most) / sum : 0.0f;
    weights[row * kSize + i] = Type<T>::down(part);
  }
}

template <typename T, int kSize, bool kCausal>
void launch(const void* scores, void* weights, int rows, cudaStream_t stream) {
  softmax<T, kSize, kCausal><<<(rows + 127) / 128, 128, 0, stream>>>(
      static_cast<const T*>(scores), static_cast<T*>(weights), rows);
}

}  // namespace attention
