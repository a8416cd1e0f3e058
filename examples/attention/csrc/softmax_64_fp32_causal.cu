#include "softmax.cuh"

template void attention::launch<float, 64, true>(const void*, void*, int, cudaStream_t);
