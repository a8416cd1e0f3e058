#include "softmax.cuh"

template void attention::launch<float, 32, true>(const void*, void*, int, cudaStream_t);
