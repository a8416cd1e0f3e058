#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>
#include <vector>

const char* norm_cuda(const std::vector<float>& x, float* out);

float norm(const std::vector<float>& x) {
  float out = 0.0f;
  if (const char* error = norm_cuda(x, &out)) {
    throw std::runtime_error(error);
  }
  return out;
}

PYBIND11_MODULE(_C, m) {
  m.def("norm", &norm, "The length of a vector; RuntimeError with CUDA's words on failure.");
}
