#include "softmax.cuh"

template void attention::launch<float, 192, true>(const void*, void*, int, cudaStream_t);
