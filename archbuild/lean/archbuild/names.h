// torch's names for at::'s things, and factories that heed requires_grad as torch's do.
//
// Everything must bear torch's own definitions beside it, whichever header comes first. So
// constants live in a namespace that torch:: only looks into (torch's own hide them), and
// functions are templates: between equals, C++ takes torch's, which are none.
#pragma once
#pragma GCC system_header

namespace archbuild_lean {

constexpr auto kUInt8 = at::kByte;
constexpr auto kInt8 = at::kChar;
constexpr auto kInt16 = at::kShort;
constexpr auto kInt32 = at::kInt;
constexpr auto kInt64 = at::kLong;
constexpr auto kFloat16 = at::kHalf;
constexpr auto kFloat32 = at::kFloat;
constexpr auto kFloat64 = at::kDouble;
constexpr auto kU8 = at::kByte;
constexpr auto kU16 = at::kUInt16;
constexpr auto kU32 = at::kUInt32;
constexpr auto kU64 = at::kUInt64;
constexpr auto kI8 = at::kChar;
constexpr auto kI16 = at::kShort;
constexpr auto kI32 = at::kInt;
constexpr auto kI64 = at::kLong;
constexpr auto kF16 = at::kHalf;
constexpr auto kF32 = at::kFloat;
constexpr auto kF64 = at::kDouble;

// at::'s factories take no requires_grad, so a torch:: one asks without and sets it afterwards.
inline at::TensorOptions without_grad(const at::TensorOptions& options) {
  return options.requires_grad(std::nullopt);
}

inline at::Tensor leaf(at::Tensor tensor, const at::TensorOptions& options) {
  if (options.requires_grad()) {
    tensor.set_requires_grad(true);
  }
  return tensor;
}

// Nobody can make one: it is the parameter of functions that can't be called.
class NotInLeanHeaders {
  NotInLeanHeaders() = delete;
};

}  // namespace archbuild_lean

namespace at {

// torch's own come with <ATen/DeviceGuard.h>.
template <typename = void>
inline std::optional<Device> device_of(const Tensor& tensor) {
  return tensor.defined() ? std::optional<Device>(tensor.device()) : std::nullopt;
}

template <typename = void>
inline std::optional<Device> device_of(const std::optional<Tensor>& tensor) {
  return tensor.has_value() && tensor->defined() ? std::optional<Device>(tensor->device())
                                                 : std::nullopt;
}

// torch's own, of <ATen/ops/cat.h>, wants an ITensorListRef; concat is another name of cat.
template <typename = void>
inline Tensor cat(TensorList tensors, int64_t dim = 0) {
  return at::concat(tensors, dim);
}

}  // namespace at

namespace torch {

using namespace at;
using namespace archbuild_lean;

using std::nullopt;
using std::optional;

using Dtype = at::ScalarType;
using Deleter = std::function<void(void*)>;
using at::MemoryFormat;

// One overload of a factory: its parameters, then what at::'s one of that name is called with.
#define ARCHBUILD_FACTORY(name, parameters, ...)                          \
  template <typename = void>                                              \
  inline at::Tensor name parameters {                                     \
    const at::AutoDispatchBelowADInplaceOrView below;                     \
    const at::TensorOptions plain = archbuild_lean::without_grad(options); \
    return archbuild_lean::leaf(at::name(__VA_ARGS__), options);          \
  }
#define ARCHBUILD_OPTIONS at::TensorOptions options = {}
#define ARCHBUILD_INTEGERS at::TensorOptions options = at::kLong
#define ARCHBUILD_FORMAT std::optional<at::MemoryFormat> format = std::nullopt
#define ARCHBUILD_GENERATOR std::optional<at::Generator> generator

ARCHBUILD_FACTORY(arange, (const at::Scalar& end, ARCHBUILD_OPTIONS), end, plain)
ARCHBUILD_FACTORY(arange, (const at::Scalar& start, const at::Scalar& end, ARCHBUILD_OPTIONS),
                  start, end, plain)
ARCHBUILD_FACTORY(arange,
                  (const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                   ARCHBUILD_OPTIONS),
                  start, end, step, plain)
ARCHBUILD_FACTORY(empty, (at::IntArrayRef size, ARCHBUILD_OPTIONS, ARCHBUILD_FORMAT), size, plain,
                  format)
ARCHBUILD_FACTORY(empty_like, (const at::Tensor& self, ARCHBUILD_OPTIONS, ARCHBUILD_FORMAT), self,
                  plain, format)
ARCHBUILD_FACTORY(empty_strided, (at::IntArrayRef size, at::IntArrayRef stride, ARCHBUILD_OPTIONS),
                  size, stride, plain)
ARCHBUILD_FACTORY(eye, (int64_t n, ARCHBUILD_OPTIONS), n, plain)
ARCHBUILD_FACTORY(eye, (int64_t n, int64_t m, ARCHBUILD_OPTIONS), n, m, plain)
ARCHBUILD_FACTORY(full, (at::IntArrayRef size, const at::Scalar& value, ARCHBUILD_OPTIONS), size,
                  value, plain)
ARCHBUILD_FACTORY(full_like,
                  (const at::Tensor& self, const at::Scalar& value, ARCHBUILD_OPTIONS,
                   ARCHBUILD_FORMAT),
                  self, value, plain, format)
ARCHBUILD_FACTORY(linspace,
                  (const at::Scalar& start, const at::Scalar& end, int64_t steps,
                   ARCHBUILD_OPTIONS),
                  start, end, steps, plain)
ARCHBUILD_FACTORY(linspace,
                  (const at::Tensor& start, const at::Tensor& end, int64_t steps,
                   ARCHBUILD_OPTIONS),
                  start, end, steps, plain)
ARCHBUILD_FACTORY(linspace,
                  (const at::Tensor& start, const at::Scalar& end, int64_t steps,
                   ARCHBUILD_OPTIONS),
                  start, end, steps, plain)
ARCHBUILD_FACTORY(linspace,
                  (const at::Scalar& start, const at::Tensor& end, int64_t steps,
                   ARCHBUILD_OPTIONS),
                  start, end, steps, plain)
ARCHBUILD_FACTORY(ones, (at::IntArrayRef size, ARCHBUILD_OPTIONS), size, plain)
ARCHBUILD_FACTORY(ones_like, (const at::Tensor& self, ARCHBUILD_OPTIONS, ARCHBUILD_FORMAT), self,
                  plain, format)
ARCHBUILD_FACTORY(rand, (at::IntArrayRef size, ARCHBUILD_OPTIONS), size, plain)
ARCHBUILD_FACTORY(rand, (at::IntArrayRef size, ARCHBUILD_GENERATOR, ARCHBUILD_OPTIONS), size,
                  generator, plain)
ARCHBUILD_FACTORY(rand_like, (const at::Tensor& self, ARCHBUILD_OPTIONS, ARCHBUILD_FORMAT), self,
                  plain, format)
ARCHBUILD_FACTORY(randint, (int64_t high, at::IntArrayRef size, ARCHBUILD_INTEGERS), high, size,
                  plain)
ARCHBUILD_FACTORY(randint, (int64_t low, int64_t high, at::IntArrayRef size, ARCHBUILD_INTEGERS),
                  low, high, size, plain)
ARCHBUILD_FACTORY(randint,
                  (int64_t high, at::IntArrayRef size, ARCHBUILD_GENERATOR, ARCHBUILD_INTEGERS),
                  high, size, generator, plain)
ARCHBUILD_FACTORY(randint,
                  (int64_t low, int64_t high, at::IntArrayRef size, ARCHBUILD_GENERATOR,
                   ARCHBUILD_INTEGERS),
                  low, high, size, generator, plain)
ARCHBUILD_FACTORY(randn, (at::IntArrayRef size, ARCHBUILD_OPTIONS), size, plain)
ARCHBUILD_FACTORY(randn, (at::IntArrayRef size, ARCHBUILD_GENERATOR, ARCHBUILD_OPTIONS), size,
                  generator, plain)
ARCHBUILD_FACTORY(randn_like, (const at::Tensor& self, ARCHBUILD_OPTIONS, ARCHBUILD_FORMAT), self,
                  plain, format)
ARCHBUILD_FACTORY(randperm, (int64_t n, ARCHBUILD_INTEGERS), n, plain)
ARCHBUILD_FACTORY(randperm, (int64_t n, ARCHBUILD_GENERATOR, ARCHBUILD_INTEGERS), n, generator,
                  plain)
ARCHBUILD_FACTORY(scalar_tensor, (const at::Scalar& value, ARCHBUILD_OPTIONS), value, plain)
ARCHBUILD_FACTORY(zeros, (at::IntArrayRef size, ARCHBUILD_OPTIONS), size, plain)
ARCHBUILD_FACTORY(zeros_like, (const at::Tensor& self, ARCHBUILD_OPTIONS, ARCHBUILD_FORMAT), self,
                  plain, format)

#undef ARCHBUILD_GENERATOR
#undef ARCHBUILD_FORMAT
#undef ARCHBUILD_INTEGERS
#undef ARCHBUILD_OPTIONS
#undef ARCHBUILD_FACTORY

template <typename = void>
inline at::Tensor tensor(detail::TensorDataContainer data, const at::TensorOptions& options = {}) {
  return archbuild_lean::leaf(data.convert_to_tensor(archbuild_lean::without_grad(options)),
                              options);
}

#define ARCHBUILD_FROM_BLOB(parameters, ...)                                          \
  template <typename = void>                                                          \
  inline at::Tensor from_blob parameters {                                            \
    const at::AutoDispatchBelowAutograd below;                                        \
    const at::tracer::impl::NoTracerDispatchMode untraced;                            \
    const at::TensorOptions plain = archbuild_lean::without_grad(options);            \
    return archbuild_lean::leaf(at::from_blob(data, sizes, __VA_ARGS__), options);    \
  }

ARCHBUILD_FROM_BLOB((void* data, at::IntArrayRef sizes, at::IntArrayRef strides,
                     const Deleter& deleter, const at::TensorOptions& options = {}),
                    strides, deleter, plain)
ARCHBUILD_FROM_BLOB((void* data, at::IntArrayRef sizes, at::IntArrayRef strides,
                     const at::TensorOptions& options = {}),
                    strides, plain)
ARCHBUILD_FROM_BLOB((void* data, at::IntArrayRef sizes, const Deleter& deleter,
                     const at::TensorOptions& options = {}),
                    deleter, plain)
ARCHBUILD_FROM_BLOB((void* data, at::IntArrayRef sizes, const at::TensorOptions& options = {}),
                    plain)

#undef ARCHBUILD_FROM_BLOB

// torch::'s other factories. Without these lines a call would find at::'s one, where another
// header brings it, and lose requires_grad in silence.
#define ARCHBUILD_MISSING(name) \
  template <typename = void>    \
  void name(archbuild_lean::NotInLeanHeaders);

ARCHBUILD_MISSING(bartlett_window)
ARCHBUILD_MISSING(blackman_window)
ARCHBUILD_MISSING(empty_permuted)
ARCHBUILD_MISSING(empty_permuted_symint)
ARCHBUILD_MISSING(empty_quantized)
ARCHBUILD_MISSING(empty_strided_symint)
ARCHBUILD_MISSING(empty_symint)
ARCHBUILD_MISSING(eye_symint)
ARCHBUILD_MISSING(fft_fftfreq)
ARCHBUILD_MISSING(fft_rfftfreq)
ARCHBUILD_MISSING(from_file)
ARCHBUILD_MISSING(full_symint)
ARCHBUILD_MISSING(hamming_window)
ARCHBUILD_MISSING(hann_window)
ARCHBUILD_MISSING(kaiser_window)
ARCHBUILD_MISSING(logspace)
ARCHBUILD_MISSING(normal)
ARCHBUILD_MISSING(normal_symint)
ARCHBUILD_MISSING(ones_symint)
ARCHBUILD_MISSING(rand_symint)
ARCHBUILD_MISSING(randint_like)
ARCHBUILD_MISSING(randint_like_symint)
ARCHBUILD_MISSING(randint_symint)
ARCHBUILD_MISSING(randn_symint)
ARCHBUILD_MISSING(randperm_symint)
ARCHBUILD_MISSING(range)
ARCHBUILD_MISSING(sparse_bsc_tensor)
ARCHBUILD_MISSING(sparse_bsr_tensor)
ARCHBUILD_MISSING(sparse_compressed_tensor)
ARCHBUILD_MISSING(sparse_compressed_tensor_symint)
ARCHBUILD_MISSING(sparse_coo_tensor)
ARCHBUILD_MISSING(sparse_csc_tensor)
ARCHBUILD_MISSING(sparse_csr_tensor)
ARCHBUILD_MISSING(tril_indices)
ARCHBUILD_MISSING(triu_indices)
ARCHBUILD_MISSING(zeros_symint)
ARCHBUILD_MISSING(_cudnn_init_dropout_state)
ARCHBUILD_MISSING(_efficientzerotensor)
ARCHBUILD_MISSING(_efficientzerotensor_symint)
ARCHBUILD_MISSING(_empty_affine_quantized)
ARCHBUILD_MISSING(_empty_affine_quantized_symint)
ARCHBUILD_MISSING(_empty_per_channel_affine_quantized)
ARCHBUILD_MISSING(_empty_per_channel_affine_quantized_symint)
ARCHBUILD_MISSING(_make_dep_token)
ARCHBUILD_MISSING(_sparse_bsc_tensor_unsafe)
ARCHBUILD_MISSING(_sparse_bsr_tensor_unsafe)
ARCHBUILD_MISSING(_sparse_compressed_tensor_unsafe)
ARCHBUILD_MISSING(_sparse_compressed_tensor_unsafe_symint)
ARCHBUILD_MISSING(_sparse_compressed_tensor_with_dims)
ARCHBUILD_MISSING(_sparse_coo_tensor_unsafe)
ARCHBUILD_MISSING(_sparse_coo_tensor_unsafe_symint)
ARCHBUILD_MISSING(_sparse_coo_tensor_with_dims)
ARCHBUILD_MISSING(_sparse_coo_tensor_with_dims_and_tensors)
ARCHBUILD_MISSING(_sparse_coo_tensor_with_dims_and_tensors_symint)
ARCHBUILD_MISSING(_sparse_csc_tensor_unsafe)
ARCHBUILD_MISSING(_sparse_csr_tensor_unsafe)
ARCHBUILD_MISSING(_to_copy)
#undef ARCHBUILD_MISSING

}  // namespace torch
