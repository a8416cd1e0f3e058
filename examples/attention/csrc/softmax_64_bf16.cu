#include "softmax.cuh"

template void attention::launch<unsigned short, 64, false>(const void*, void*, int, cudaStream_t);
