#include "softmax.cuh"

template void attention::launch<float, 96, false>(const void*, void*, int, cudaStream_t);
