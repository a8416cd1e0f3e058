#include "softmax.cuh"

template void attention::launch<unsigned short, 32, true>(const void*, void*, int, cudaStream_t);
