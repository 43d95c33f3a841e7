// Elementwise work on rows: scaling, normalising, rotating, the running sum, and copies past the caches.
#include "backends/cpu/rows/level.hpp"

namespace mx::cpu::rows::MX_LEVEL {

void scale(float *out, const float *in, size_t n, float factor) {
  for (size_t i = 0; i < n; i++) out[i] = in[i] * factor;
}

void stream(float *out, const float *in, size_t n) {
  size_t i = 0;
#if defined(__SSE2__)
  for (; i < n && reinterpret_cast<uintptr_t>(out + i) % sizeof(F) != 0; i++) out[i] = in[i];
  for (; i + width <= n; i += width) {
    const F x = load(in + i);
#if defined(__AVX512F__)
    _mm512_stream_ps(out + i, x);
#elif defined(__AVX2__)
    _mm256_stream_ps(out + i, x);
#else
    _mm_stream_ps(out + i, x);
#endif
  }
#endif
  for (; i < n; i++) out[i] = in[i];
}

void normalize(float *out, const float *in, size_t n, float centre, float factor, const float *weight,
               const float *bias) {
  if (weight && bias) {
    for (size_t i = 0; i < n; i++) out[i] = (in[i] - centre) * factor * weight[i] + bias[i];
  } else if (weight) {
    for (size_t i = 0; i < n; i++) out[i] = (in[i] - centre) * factor * weight[i];
  } else if (bias) {
    for (size_t i = 0; i < n; i++) out[i] = (in[i] - centre) * factor + bias[i];
  } else {
    for (size_t i = 0; i < n; i++) out[i] = (in[i] - centre) * factor;
  }
}

void rotate(float *out_first, float *out_second, const float *first, const float *second, const float *cosine,
            const float *sine, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const float a = first[i], b = second[i];
    out_first[i] = a * cosine[i] - b * sine[i];
    out_second[i] = a * sine[i] + b * cosine[i];
  }
}

void rotate_neighbours(float *out, const float *in, const float *cosine, const float *sine, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const float a = in[2 * i], b = in[2 * i + 1];
    out[2 * i] = a * cosine[i] - b * sine[i];
    out[2 * i + 1] = a * sine[i] + b * cosine[i];
  }
}

namespace {

// Lane i becomes lane i - k, the first k lanes 0.
template <int k>
MX_INLINE F shift_lanes(F x) {
  I index;
  for (int i = 0; i < width; i++) index[i] = i < k ? width : i - k;
  return MX_SHUFFLE(x, F{}, index);
}

MX_INLINE F prefix(F x) {
  x += shift_lanes<1>(x);
  x += shift_lanes<2>(x);
  if constexpr (width > 4) x += shift_lanes<4>(x);
  if constexpr (width > 8) x += shift_lanes<8>(x);
  return x;
}

}  // namespace

// Prefix sums inside each vector do not wait for each other; only adding the carry does.
float cumulative_sum(float *out, const float *in, size_t n, float carry) {
  size_t i = 0;
  for (; i + width <= n; i += width) {
    const F inside = prefix(load(in + i));
    store(out + i, inside + carry);
    carry += inside[width - 1];
  }
  for (; i < n; i++) out[i] = carry += in[i];
  return carry;
}

}  // namespace mx::cpu::rows::MX_LEVEL
