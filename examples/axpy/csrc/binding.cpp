#include <torch/extension.h>

void axpy_cuda(double a, const at::Tensor& x, at::Tensor& y);

at::Tensor axpy(double a, const at::Tensor& x, const at::Tensor& y) {
  TORCH_CHECK(x.is_cuda() && y.is_cuda(), "axpy wants CUDA tensors");
  TORCH_CHECK(x.device() == y.device(), "axpy wants both tensors on one device");
  TORCH_CHECK(x.scalar_type() == y.scalar_type(), "axpy wants both tensors of one type");
  TORCH_CHECK(x.sizes() == y.sizes(), "axpy wants both tensors of one shape");
  at::Tensor out = y.contiguous().clone();
  axpy_cuda(a, x.contiguous(), out);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("axpy", &axpy, "a * x + y");
}
