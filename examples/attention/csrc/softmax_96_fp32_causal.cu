#include "softmax.cuh"

template void attention::launch<float, 96, true>(const void*, void*, int, cudaStream_t);
