#include "softmax.cuh"

template void attention::launch<float, 64, false>(const void*, void*, int, cudaStream_t);
