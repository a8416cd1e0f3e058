#include "softmax.cuh"

template void attention::launch<float, 128, false>(const void*, void*, int, cudaStream_t);
