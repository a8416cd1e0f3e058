// What factories give and what checks say, to be the same with either headers.
#include ARCHBUILD_TEST_HEADER
void tell(const char* what, const torch::Tensor& x) {
  std::cout << what << ' ' << x.dtype() << ' ' << x.sizes() << ' ' << x.strides() << ' '
            << x.requires_grad() << x.is_leaf() << '\n';
}
int main() {
  const auto grad = torch::TensorOptions().dtype(torch::kFloat64).requires_grad(true);
  tell("zeros", torch::zeros({2, 3}, grad));
  tell("plain", torch::zeros({2, 3}, torch::kI16));
  tell("empty", torch::empty({2, 3}, grad));
  tell("format", torch::empty({1, 2, 3, 4}, grad, at::MemoryFormat::ChannelsLast));
  const auto x = torch::ones({2, 2}, grad);
  tell("like", torch::empty_like(x));
  tell("like_grad", torch::zeros_like(x, grad));
  tell("full", torch::full({2}, 7, grad));
  tell("full_long", torch::full({2}, 7, torch::dtype(torch::kInt64)));
  tell("arange", torch::arange(1, 7, 2));
  tell("strided", torch::empty_strided({2, 2}, {1, 2}, grad));
  tell("tensor", torch::tensor({{1.5, 2.5}, {3.5, 4.5}}, grad));
  tell("ints", torch::tensor({1, 2, 3}));
  tell("randint", torch::randint(9, {4}));
  tell("randperm", torch::randperm(5));
  tell("scalar", torch::scalar_tensor(2.5, grad));
  double data[4] = {1, 2, 3, 4};
  int deleted = 0;
  {
    const auto blob = torch::from_blob(data, {2, 2}, {1, 2}, [&](void*) { ++deleted; }, grad);
    tell("blob", blob);
    (blob * blob).sum().backward();
    std::cout << blob.grad() << '\n';
  }
  std::cout << deleted << '\n';
  std::cout << torch::cat({torch::ones({1, 2}), torch::zeros({1, 2})}, 1) << '\n';
  std::cout << device_of(x).has_value() << device_of(torch::optional<torch::Tensor>()).has_value();
  try {
    torch::zeros({2}, torch::dtype(torch::kInt32).requires_grad(true));
  } catch (const c10::Error& error) {
    std::cout << error.what_without_backtrace() << '\n';
  }
  try {
    TORCH_CHECK(x.dim() == 3, "dimensions: ", x.dim());
  } catch (const c10::Error& error) {
    std::cout << error.what_without_backtrace() << '\n';
  }
}
