// Called from another translation unit.
__device__ float polynomial(float x) { return (x * 0.5f + 1.0f) * x - 2.0f; }
