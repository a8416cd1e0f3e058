// The operator, its CPU kernel, and an empty Python module by which it is loaded.
#include <Python.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <cmath>

using torch::stable::Tensor;

static Tensor swish_cpu(Tensor x) {
  STD_TORCH_CHECK(x.scalar_type() == torch::headeronly::ScalarType::Float, "swish takes floats");
  Tensor in = torch::stable::contiguous(x);
  Tensor out = torch::stable::empty_like(in);
  const float* from = in.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < in.numel(); ++i) {
    to[i] = from[i] / (1.0f + std::exp(-from[i]));
  }
  return out;
}

STABLE_TORCH_LIBRARY(swish, library) {
  library.def("swish(Tensor x) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(swish, CPU, library) {
  library.impl("swish", TORCH_BOX(&swish_cpu));
}

static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr};

PyMODINIT_FUNC PyInit__C(void) { return PyModule_Create(&module); }
