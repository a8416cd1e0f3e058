#include "softmax.cuh"

template void attention::launch<unsigned short, 96, true>(const void*, void*, int, cudaStream_t);
