#include "softmax.cuh"

template void attention::launch<unsigned short, 96, false>(const void*, void*, int, cudaStream_t);
