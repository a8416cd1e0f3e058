#include "softmax.cuh"

template void attention::launch<unsigned short, 192, true>(const void*, void*, int, cudaStream_t);
