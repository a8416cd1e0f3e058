// A recurrent cell with packed accessors, in the style of a research project.
#include <torch/extension.h>

#include <cuda.h>
#include <cuda_runtime.h>

#include <vector>

namespace {

template <typename scalar_t>
__device__ __forceinline__ scalar_t sigmoid(scalar_t z) {
  return scalar_t(1) / (scalar_t(1) + exp(-z));
}

template <typename scalar_t>
using Rows = torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits>;
template <typename scalar_t>
using Gates = torch::PackedTensorAccessor64<scalar_t, 3>;

template <typename scalar_t>
__global__ void forward_kernel(const Gates<scalar_t> gates, const Rows<scalar_t> old_cell,
                               Rows<scalar_t> new_hidden, Rows<scalar_t> new_cell) {
  const int n = blockIdx.y;
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < gates.size(2)) {
    const scalar_t in = sigmoid(gates[n][0][c]);
    const scalar_t out = sigmoid(gates[n][1][c]);
    const scalar_t candidate = tanh(gates[n][2][c]);
    new_cell[n][c] = old_cell[n][c] + candidate * in;
    new_hidden[n][c] = tanh(new_cell[n][c]) * out;
  }
}

// The same in plain pointers, for one row.
__global__ void scale_row(float* row, int width, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width) {
    row[i] = row[i] * by + static_cast<float>(i & 1);
  }
}

}  // namespace

std::vector<torch::Tensor> cell_forward(torch::Tensor input, torch::Tensor weights,
                                        torch::Tensor bias, torch::Tensor old_hidden,
                                        torch::Tensor old_cell) {
  auto x = torch::cat({old_hidden, input}, /*dim=*/1);
  auto flat = torch::addmm(bias, x, weights.transpose(0, 1));
  const auto batch = old_cell.size(0);
  const auto width = old_cell.size(1);
  auto gates = flat.reshape({batch, 3, width});
  auto hidden = torch::zeros_like(old_cell);
  auto cell = torch::zeros({batch, width}, torch::dtype(old_cell.dtype()).device(torch::kCUDA));
  const dim3 blocks((width + 1023) / 1024, batch);
  AT_DISPATCH_FLOATING_TYPES(gates.type().scalarType(), "cell_forward", ([&] {
    forward_kernel<scalar_t><<<blocks, 1024>>>(
        gates.packed_accessor64<scalar_t, 3>(),
        old_cell.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
        hidden.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
        cell.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
  }));
  auto mean = (hidden + cell * 0.5).sum() / static_cast<double>(batch);
  scale_row<<<1, 256>>>(cell[0].data_ptr<float>(), static_cast<int>(width), mean.item<float>());
  return {hidden, cell, gates, torch::full({1}, 2.0, torch::kFloat32)};
}
