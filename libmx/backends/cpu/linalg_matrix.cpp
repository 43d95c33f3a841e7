// Reading and writing matrices for the linalg kernels.
#include "backends/cpu/linalg_matrix.hpp"

#include <cstring>

namespace mx::cpu {
namespace {

template <class T>
T load(const char *p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

template <class T>
void store(char *p, T x) {
  std::memcpy(p, &x, sizeof x);
}

// out[j * rows + i] = element (i, j) by `widen`.
template <class Out, class F>
std::vector<Out> read(const MatrixRef &x, F widen) {
  std::vector<Out> out(static_cast<size_t>(x.rows * x.columns));
  for (int64_t j = 0; j < x.columns; j++)
    for (int64_t i = 0; i < x.rows; i++)
      out[static_cast<size_t>(j * x.rows + i)] = widen(x.data + i * x.row + j * x.column);
  return out;
}

template <class In, class F>
void write_each(const MatrixRef &x, const In *from, int64_t ld, F put) {
  for (int64_t i = 0; i < x.rows; i++)
    for (int64_t j = 0; j < x.columns; j++) put(x.data + i * x.row + j * x.column, from[j * ld + i]);
}

}  // namespace

MatrixRef matrix_at(const Tensor &x, int64_t index, size_t n_dims) {
  const size_t n_batch = x.shape.size() - n_dims;
  char *data = x.data;
  for (size_t d = n_batch; d-- > 0; index /= x.shape[d]) data += index % x.shape[d] * x.strides[d];
  if (n_dims == 1) return {x.dtype, data, x.shape[n_batch], 1, x.strides[n_batch], 0};
  return {x.dtype, data, x.shape[n_batch], x.shape[n_batch + 1], x.strides[n_batch], x.strides[n_batch + 1]};
}

std::vector<double> read_real(const MatrixRef &x) {
  if (x.dtype == DType::float32) return read<double>(x, [](const char *p) { return double{load<float>(p)}; });
  return read<double>(x, load<double>);
}

std::vector<Complex> read_complex(const MatrixRef &x) {
  if (x.dtype == DType::complex128) return read<Complex>(x, load<Complex>);
  return read<Complex>(x, [](const char *p) {
    const auto z = load<Complex64>(p);
    return Complex(z.re, z.im);
  });
}

void write(const MatrixRef &x, const double *from, int64_t ld) {
  if (x.dtype == DType::float32)
    write_each(x, from, ld, [](char *p, double v) { store(p, static_cast<float>(v)); });
  else
    write_each(x, from, ld, [](char *p, double v) { store(p, v); });
}

void write(const MatrixRef &x, const Complex *from, int64_t ld) {
  if (x.dtype == DType::complex128) return write_each(x, from, ld, [](char *p, const Complex &z) { store(p, z); });
  write_each(x, from, ld, [](char *p, const Complex &z) {
    store(p, Complex64{static_cast<float>(z.real()), static_cast<float>(z.imag())});
  });
}

}  // namespace mx::cpu
