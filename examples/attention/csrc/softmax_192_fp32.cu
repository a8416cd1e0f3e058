#include "softmax.cuh"

template void attention::launch<float, 192, false>(const void*, void*, int, cudaStream_t);
