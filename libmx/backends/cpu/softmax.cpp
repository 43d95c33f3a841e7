// softmax and logsumexp along the last axis: exp(x - max) / sum, computed in float32 (float64 for float64), so
// `precise` asks for nothing more. A row of only -inf, or with NaN or +inf, gives NaN; logsumexp of only -inf is -inf.
#include "backends/cpu/float_rows.hpp"
#include "backends/cpu/kernels.hpp"

namespace mx::cpu {
namespace {

void softmax_row(float *out, const float *x, int64_t length) {
  const rows::Table &table = rows::table();
  const float max = max_of_row(x, length);
  const double sum = sum_pieces(
      length, [&](int64_t at, int64_t n) { return table.exp_rows(out + at, x + at, static_cast<size_t>(n), max); });
  const auto factor = static_cast<float>(1.0 / sum);
  for_pieces(length,
             [&](int64_t at, int64_t n, int64_t) { table.scale(out + at, out + at, static_cast<size_t>(n), factor); });
}

double max_of_row(const double *x, int64_t length) {
  double max = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < length; i++) max = Maximum()(max, x[i]);
  return max;
}

void softmax_row(double *out, const double *x, int64_t length) {
  const double max = max_of_row(x, length);
  double sum = 0;
  for (int64_t i = 0; i < length; i++) sum += out[i] = std::exp(x[i] - max);
  for (int64_t i = 0; i < length; i++) out[i] /= sum;
}

float logsumexp_row(const float *x, int64_t length) {
  const float max = cpu::max_of_row(x, length);
  if (std::isinf(max)) return max;
  const double sum = sum_pieces(
      length, [&](int64_t at, int64_t n) { return rows::table().sum_exp(x + at, static_cast<size_t>(n), max); });
  return static_cast<float>(max + std::log(sum));
}

double logsumexp_row(const double *x, int64_t length) {
  const double max = max_of_row(x, length);
  if (std::isinf(max)) return max;
  double sum = 0;
  for (int64_t i = 0; i < length; i++) sum += std::exp(x[i] - max);
  return max + std::log(sum);
}

// Rows of float64, row-major: f(row, index).
template <class F>
void for_double_rows(const Tensor &in, F &&f) {
  const int64_t length = in.shape.empty() ? 1 : in.shape.back();
  if (size_of(in) == 0) return;
  const RowMajor x(in);
  parallel_for(size_of(in) / length, Cost{static_cast<double>(length) * 8}, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) f(x.as<double>() + i * length, i, length);
  });
}

}  // namespace

void softmax(const KernelCall &call) {
  const Tensor &in = call.inputs[0], &out = call.outputs[0];
  if (size_of(in) == 0) return;
  if (in.dtype == DType::float64) {
    double *to = reinterpret_cast<double *>(out.data);
    return for_double_rows(
        in, [&](const double *x, int64_t i, int64_t length) { softmax_row(to + i * length, x, length); });
  }
  const FloatRows x(in);
  for_rows(x.n_rows(), x.length(), 0.5, [&](int64_t begin, int64_t end) {
    RowCursor cursor(x, out, begin);
    for (int64_t i = begin; i < end; i++) {
      const float *row = cursor.read();
      softmax_row(cursor.target(), row, x.length());
      cursor.commit();
    }
  });
}

void logsumexp(const KernelCall &call) {
  const Tensor &in = call.inputs[0], &out = call.outputs[0];
  if (in.dtype == DType::float64 && size_of(in) != 0) {
    double *to = reinterpret_cast<double *>(out.data);
    return for_double_rows(in, [&](const double *x, int64_t i, int64_t length) { to[i] = logsumexp_row(x, length); });
  }
  if (in.dtype == DType::float64) {
    std::fill_n(reinterpret_cast<double *>(out.data), size_of(out), -std::numeric_limits<double>::infinity());
    return;
  }
  const FloatRows x(in);
  const int64_t size = itemsize(out.dtype);
  for_rows(x.n_rows(), x.length(), 0.4, [&](int64_t begin, int64_t end) {
    RowCursor cursor(x, out, begin);
    for (int64_t i = begin; i < end; i++, cursor.next()) {
      const float value = logsumexp_row(cursor.read(), x.length());
      from_floats(out.data + i * size, &value, out.dtype, 1);
    }
  });
}

}  // namespace mx::cpu
