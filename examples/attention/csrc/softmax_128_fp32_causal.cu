#include "softmax.cuh"

template void attention::launch<float, 128, true>(const void*, void*, int, cudaStream_t);
