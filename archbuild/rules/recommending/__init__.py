"""Which torch and CUDA serve these GPUs: pure decisions over a wish."""
