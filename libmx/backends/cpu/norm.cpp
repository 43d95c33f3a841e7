// layer_norm and rms_norm along the last axis, in float32 (float64 for float64): (x - mean) / sqrt(variance + eps), or
// x / sqrt(mean of squares + eps), times the weight plus the bias. The variance is that of the centred row.
#include "backends/cpu/float_rows.hpp"
#include "backends/cpu/kernels.hpp"

namespace mx::cpu {
namespace {

struct Scale {
  const float *weight = nullptr, *bias = nullptr;
};

void normalize_row(float *out, const float *x, int64_t length, bool centred, double eps, const Scale &scale) {
  const rows::Table &table = rows::table();
  const auto count = static_cast<double>(length);
  double mean = 0;
  if (centred) {
    mean = sum_pieces(length, [&](int64_t at, int64_t n) { return table.sum(x + at, static_cast<size_t>(n)); }) / count;
  }
  const auto centre = static_cast<float>(mean);
  const double squares = sum_pieces(
      length, [&](int64_t at, int64_t n) { return table.sum_squares(x + at, static_cast<size_t>(n), centre); });
  const auto factor = static_cast<float>(1.0 / std::sqrt(squares / count + eps));
  for_pieces(length, [&](int64_t at, int64_t n, int64_t) {
    table.normalize(out + at, x + at, static_cast<size_t>(n), centre, factor,
                    scale.weight ? scale.weight + at : nullptr, scale.bias ? scale.bias + at : nullptr);
  });
}

void normalize_row(double *out, const double *x, int64_t length, bool centred, double eps, const double *weight,
                   const double *bias) {
  const auto count = static_cast<double>(length);
  double mean = 0, squares = 0;
  if (centred) {
    for (int64_t i = 0; i < length; i++) mean += x[i];
    mean /= count;
  }
  for (int64_t i = 0; i < length; i++) squares += (x[i] - mean) * (x[i] - mean);
  const double factor = 1.0 / std::sqrt(squares / count + eps);
  for (int64_t i = 0; i < length; i++) {
    out[i] = (x[i] - mean) * factor * (weight ? weight[i] : 1.0) + (bias ? bias[i] : 0.0);
  }
}

// The weight or bias of the next input, broadcast to a row, if there is one.
class RowParameter {
 public:
  RowParameter(const Tensor *t, int64_t length, DType dtype) {
    if (!t) return;
    Tensor row{dtype, {length}, {itemsize(dtype)}, nullptr};
    buffer_ = allocate(static_cast<size_t>(length * itemsize(dtype)));
    row.data = reinterpret_cast<char *>(buffer_->data());
    copy(row, *t);
  }
  template <class T>
  const T *as() const noexcept {
    return buffer_ ? reinterpret_cast<const T *>(buffer_->data()) : nullptr;
  }

 private:
  Ref<Buffer> buffer_;
};

void normalize(const KernelCall &call, bool centred, double eps, const Tensor *weight, const Tensor *bias) {
  const Tensor &in = call.inputs[0], &out = call.outputs[0];
  if (size_of(in) == 0) return;
  const int64_t length = in.shape.empty() ? 1 : in.shape.back();
  const DType dtype = in.dtype == DType::float64 ? DType::float64 : DType::float32;
  const RowParameter w(weight, length, dtype), b(bias, length, dtype);
  if (dtype == DType::float64) {
    const RowMajor x(in);
    double *to = reinterpret_cast<double *>(out.data);
    return parallel_for(size_of(in) / length, Cost{static_cast<double>(length) * 2}, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        const int64_t at = i * length;
        normalize_row(to + at, x.as<double>() + at, length, centred, eps, w.as<double>(), b.as<double>());
      }
    });
  }
  const FloatRows x(in);
  const Scale scale{w.as<float>(), b.as<float>()};
  for_rows(x.n_rows(), length, 0.3, [&](int64_t begin, int64_t end) {
    RowCursor cursor(x, out, begin);
    for (int64_t i = begin; i < end; i++) {
      const float *row = cursor.read();
      normalize_row(cursor.target(), row, length, centred, eps, scale);
      cursor.commit();
    }
  });
}

}  // namespace

void layer_norm(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const double eps = attrs.real();
  const bool has_weight = attrs.boolean(), has_bias = attrs.boolean();
  const Tensor *weight = has_weight ? &call.inputs[1] : nullptr;
  const Tensor *bias = has_bias ? &call.inputs[1 + has_weight] : nullptr;
  normalize(call, true, eps, weight, bias);
}

void rms_norm(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const double eps = attrs.real();
  normalize(call, false, eps, attrs.boolean() ? &call.inputs[1] : nullptr, nullptr);
}

}  // namespace mx::cpu
