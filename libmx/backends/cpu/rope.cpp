// rope: rotary position embedding (Su et al., RoFormer, 2021). The last axis' first `dims` elements are rotated in
// pairs (2 i, 2 i + 1) if traditional, else (i, i + dims / 2), by the angle position * scale * frequency_i; the rest is
// copied. The frequency is base^(-2 i / dims), or 1 / freqs[i]. Positions run along the second to last axis, from
// `offset`. Angles are rounded to float32 as other implementations do; their sines and cosines are exact to float32.
#include <optional>

#include "backends/cpu/float_rows.hpp"
#include "backends/cpu/kernels.hpp"

namespace mx::cpu {
namespace {

struct Rotation {
  int64_t half;
  bool traditional;
  double scale;
  SmallVector<float, 64> frequencies;
  SmallVector<int64_t, 4> offsets;  // one, or one per index of the first axis
};

Rotation read_rotation(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  Rotation r;
  r.half = attrs.integer() / 2;
  r.traditional = attrs.boolean();
  const double base = attrs.real();
  r.scale = attrs.real();
  if (attrs.boolean()) {
    const RowMajor freqs(call.inputs[2], DType::float32);
    for (int64_t i = 0; i < r.half; i++) r.frequencies.push_back(1.0f / freqs.as<float>()[i]);
  } else {
    for (int64_t i = 0; i < r.half; i++) {
      const double exponent = -static_cast<double>(i) / static_cast<double>(r.half);
      r.frequencies.push_back(static_cast<float>(std::pow(base, exponent)));
    }
  }
  const RowMajor offset(call.inputs[1], DType::int64);
  const int64_t *first = offset.as<int64_t>();
  r.offsets = SmallVector<int64_t, 4>(first, first + size_of(call.inputs[1]));
  return r;
}

void angles(const Rotation &r, int64_t position, float *cosine, float *sine) {
  const auto scaled = static_cast<float>(static_cast<double>(position) * r.scale);
  for (int64_t i = 0; i < r.half; i++) {
    const float angle = scaled * r.frequencies[static_cast<size_t>(i)];
    cosine[i] = std::cos(angle);
    sine[i] = std::sin(angle);
  }
}

void rotate_row(const Rotation &r, float *out, const float *x, const float *cosine, const float *sine) {
  const auto n = static_cast<size_t>(r.half);
  if (r.traditional) {
    rows::table().rotate_neighbours(out, x, cosine, sine, n);
  } else {
    rows::table().rotate(out, out + r.half, x, x + r.half, cosine, sine, n);
  }
}

void rotate_row(const Rotation &r, double *out, const double *x, const float *cosine, const float *sine) {
  for (int64_t i = 0; i < r.half; i++) {
    const int64_t a = r.traditional ? 2 * i : i, b = r.traditional ? 2 * i + 1 : i + r.half;
    const double first = x[a], second = x[b];
    out[a] = first * cosine[i] - second * sine[i];
    out[b] = first * sine[i] + second * cosine[i];
  }
}

// x as (batch, middle, positions, depth), where `middle` are the heads, with a contiguous last axis; strides in bytes.
struct Source {
  int64_t batch = 1, middle = 1, positions = 1, depth = 1;
  int64_t batch_stride = 0, middle_stride = 0, position_stride = 0;
  const char *data;
};

Source source_of(const Tensor &x) {
  const size_t n = x.shape.size();
  Source s;
  s.data = x.data;
  s.depth = x.shape[n - 1];
  if (n >= 2) s.positions = x.shape[n - 2], s.position_stride = x.strides[n - 2];
  if (n >= 3) s.batch = x.shape[0], s.batch_stride = x.strides[0];
  for (size_t d = 1; d + 2 < n; d++) s.middle *= x.shape[d];
  if (n >= 4) s.middle_stride = x.strides[n - 3];
  return s;
}

// One row. `angle` holds the cosines, then the sines.
template <class T>
void rotate_element_row(const Rotation &r, T *y, const T *x, float *scratch, const float *angle, int64_t depth) {
  const int64_t rotated = 2 * r.half;
  if constexpr (std::is_same_v<T, Wide<T>>) {
    rotate_row(r, y, x, angle, angle + r.half);
  } else {
    constexpr DType dtype = std::is_same_v<T, Float16> ? DType::float16 : DType::bfloat16;
    to_floats(scratch, reinterpret_cast<const char *>(x), dtype, rotated);
    rotate_row(r, scratch, scratch, angle, angle + r.half);
    from_floats(reinterpret_cast<char *>(y), scratch, dtype, rotated);
  }
  std::memcpy(static_cast<void *>(y + rotated), x + rotated, static_cast<size_t>(depth - rotated) * sizeof(T));
}

template <class T>
void run(const Rotation &r, const Source &s, T *out) {
  const bool shared = r.offsets.size() <= 1;  // the batches then share their angles
  const int64_t groups = shared ? 1 : s.batch, batches = shared ? s.batch : 1;
  const double cost = static_cast<double>(r.half) * 30 + static_cast<double>(batches * s.middle * s.depth);
  parallel_for(groups * s.positions, Cost{cost}, [&](int64_t begin, int64_t end) {
    FloatScratch angle(2 * r.half), scratch(2 * r.half);
    for (int64_t i = begin; i < end; i++) {
      const int64_t group = i / s.positions, position = i % s.positions;
      angles(r, r.offsets[static_cast<size_t>(group)] + position, angle.data(), angle.data() + r.half);
      for (int64_t row = group * s.middle; row < (group + batches) * s.middle; row++) {
        const int64_t b = row / s.middle, m = row % s.middle;
        const char *x = s.data + b * s.batch_stride + m * s.middle_stride + position * s.position_stride;
        T *y = out + (row * s.positions + position) * s.depth;
        rotate_element_row(r, y, reinterpret_cast<const T *>(x), scratch.data(), angle.data(), s.depth);
      }
    }
  });
}

// Whether source_of can describe the layout: at most one axis of heads, or axes that are one in memory.
bool has_simple_layout(const Tensor &x) {
  const size_t n = x.shape.size();
  if (x.strides[n - 1] != itemsize(x.dtype)) return false;
  for (size_t d = 1; d + 3 < n; d++) {
    if (x.strides[d] != x.strides[d + 1] * x.shape[d + 1]) return false;
  }
  return true;
}

}  // namespace

void rope(const KernelCall &call) {
  const Tensor &in = call.inputs[0], &out = call.outputs[0];
  if (size_of(in) == 0) return;
  const Rotation r = read_rotation(call);
  std::optional<RowMajor> copied;
  if (!has_simple_layout(in)) copied.emplace(in);
  const Source source = source_of(copied ? copied->tensor() : in);
  visit(in.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_floating_point_v<Wide<T>>) run(r, source, reinterpret_cast<T *>(out.data));
  });
}

}  // namespace mx::cpu
