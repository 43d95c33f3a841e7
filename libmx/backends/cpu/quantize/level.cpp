// The table of one level. Compiled once per level with its -march and -DMX_LEVEL=<level>; the objects are joined so
// that only the table stays global.
#include "backends/cpu/quantize/level.hpp"

#include "backends/cpu/quantize/codes.hpp"
#include "backends/cpu/quantize/encode.hpp"

#define MX_JOIN_(a, b) a##b
#define MX_JOIN(a, b) MX_JOIN_(a, b)
#define MX_STRING_(a) #a
#define MX_STRING(a) MX_STRING_(a)

namespace {

using namespace mx::cpu::packed;

template <int S, int... I>
inline Vec<float> add_rotated(Vec<float> v, std::integer_sequence<int, I...>) {
  return v + __builtin_shufflevector(v, v, ((I + S) % lanes)...);
}

inline float sum_of(Vec<float> v) {
  constexpr auto all = std::make_integer_sequence<int, lanes>();
  if constexpr (lanes > 8) v = add_rotated<8>(v, all);
  if constexpr (lanes > 4) v = add_rotated<4>(v, all);
  return add_rotated<1>(add_rotated<2>(v, all), all)[0];
}

// ---- scales

template <class S>
void widen_row(float *to, const char *from, int64_t n) {
  constexpr int64_t item = sizeof(S);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store<float>(to + i, Element<S>::widen_vector(from + i * item));
  for (; i < n; i++) to[i] = Element<S>::widen(from + i * item);
}

void e8m0_row(float *to, const char *from, int64_t n) {
  const auto *codes = reinterpret_cast<const uint8_t *>(from);
  for (int64_t i = 0; i < n; i++) {
    const uint32_t code = codes[i];  // 2^-127 and NaN are those whose exponent alone would not do
    const uint32_t bits = code << 23 | (code == 0 || code == 255 ? 1u << 22 : 0u);
    memcpy(to + i, &bits, sizeof bits);
  }
}

void e4m3_row(float *to, const char *from, int64_t n) {
  const auto *codes = reinterpret_cast<const uint8_t *>(from);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    Vec<float> v[vectors];
    Fp8::decode(v, codes + i);
    for (int j = 0; j < vectors; j++) store<float>(to + i + j * lanes, v[j]);
  }
  for (; i < n; i++) to[i] = e4m3_table.at[codes[i]];
}

// n scales or biases as floats: where they lie, if they are that already, else in `to`.
const float *numbers(float *to, const char *from, int64_t n, int kind, float factor) {
  if (kind == f32 && factor == 1 && reinterpret_cast<uintptr_t>(from) % alignof(float) == 0)
    return reinterpret_cast<const float *>(from);
  if (kind == f32) memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
  if (kind == f16) widen_row<mx::Float16>(to, from, n);
  if (kind == bf16) widen_row<mx::BFloat16>(to, from, n);
  if (kind == e8m0) e8m0_row(to, from, n);
  if (kind == e4m3) e4m3_row(to, from, n);
  if (factor != 1)
    for (int64_t i = 0; i < n; i++) to[i] *= factor;
  return to;
}

// ---- products

template <class F>
void order(float *to, const float *from, int64_t n) {
  if (!F::interleaved) {
    memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < n; i += 16)
    for (int j = 0; j < 8; j++) {
      to[i + 2 * j] = from[i + j];
      to[i + 2 * j + 1] = from[i + 8 + j];
    }
}

// What `dot` computes at once.
template <int R>
struct RowSet {
  const uint8_t *codes[R];
  const float *scales[R];
};

// Adds sixteen products to each sum.
template <class F, int M, int R>
inline __attribute__((always_inline)) void add_sixteen(Vec<float> (&sums)[R][M], const RowSet<R> &rows, int64_t at,
                                                       const float *x, int64_t x_step) {
  Vec<float> codes[R][vectors];
#pragma GCC unroll 4
  for (int r = 0; r < R; r++) F::decode(codes[r], rows.codes[r] + at / 8 * F::bits);
#pragma GCC unroll 4
  for (int v = 0; v < vectors; v++)
#pragma GCC unroll 4
    for (int m = 0; m < M; m++) {
      const Vec<float> right = load<float>(x + m * x_step + at + v * lanes);
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) sums[r][m] = fma(codes[r][v], right, sums[r][m]);
    }
}

// R rows times M vectors, without biases: the sum over groups of scale times the group's sum of codes times x.
template <class F, int M, int R>
inline __attribute__((always_inline)) void dot_set(float (&out)[R][M], const RowSet<R> &rows, int64_t group,
                                                   int64_t groups, const float *x, int64_t x_step) {
  Vec<float> totals[R][M] = {};
  for (int64_t g = 0; g < groups; g++) {
    Vec<float> sums[R][M] = {};
    const int64_t first = g * group;
    add_sixteen<F>(sums, rows, first, x, x_step);
    for (int64_t at = first + 16; at < first + group; at += 16) add_sixteen<F>(sums, rows, at, x, x_step);
#pragma GCC unroll 4
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
      for (int m = 0; m < M; m++) totals[r][m] = fma(sums[r][m], splat(rows.scales[r][g]), totals[r][m]);
  }
  for (int r = 0; r < R; r++)
    for (int m = 0; m < M; m++) out[r][m] = sum_of(totals[r][m]);
}

inline float plain_dot(const float *a, const float *b, int64_t n) {
  Vec<float> sums{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) sums = fma(load<float>(a + i), load<float>(b + i), sums);
  if (i < n) sums = fma(load_some<float>(a + i, n - i), load_some<float>(b + i, n - i), sums);
  return sum_of(sums);
}

template <class F, int M, int R>
void dot_rows(float *out, int64_t out_step, const Rows &w, int64_t row, const float *x, int64_t x_step,
              const float *sums, float *scratch) {
  RowSet<R> set;
  const float *biases[R];
  for (int r = 0; r < R; r++) {
    float *const own = scratch + 2 * r * (w.groups + 16);
    set.codes[r] = reinterpret_cast<const uint8_t *>(w.codes) + (row + r) * w.code_step;
    set.scales[r] = numbers(own, w.scales + (row + r) * w.scale_step, w.groups, w.scale_kind, w.factor);
    if (w.biases)
      biases[r] = numbers(own + w.groups + 16, w.biases + (row + r) * w.bias_step, w.groups, w.scale_kind, 1);
  }
  float found[R][M];
  dot_set<F>(found, set, w.group, w.groups, x, x_step);
  for (int r = 0; r < R; r++)
    for (int m = 0; m < M; m++)
      out[m * out_step + row + r] =
          w.biases ? found[r][m] + plain_dot(biases[r], sums + m * w.groups, w.groups) : found[r][m];
}

template <class F, int M>
void dot_vectors(float *out, int64_t out_step, const Rows &w, int64_t n_rows, const float *x, int64_t x_step,
                 const float *sums, float *scratch) {
  // As many sums as there are registers for; a row's own order of additions does not depend on its neighbour.
  constexpr int at_once = M == 1 || lanes == 16 ? 2 : 1;
  int64_t row = 0;
  for (; row + at_once <= n_rows; row += at_once)
    dot_rows<F, M, at_once>(out, out_step, w, row, x, x_step, sums, scratch);
  for (; row < n_rows; row++) dot_rows<F, M, 1>(out, out_step, w, row, x, x_step, sums, scratch);
}

template <class F>
void dot(float *out, int64_t out_step, const Rows &w, int64_t n_rows, const float *x, int64_t x_step, const float *sums,
         int64_t n_vectors, float *scratch) {
  switch (n_vectors) {
    case 1:
      return dot_vectors<F, 1>(out, out_step, w, n_rows, x, x_step, sums, scratch);
    case 2:
      return dot_vectors<F, 2>(out, out_step, w, n_rows, x, x_step, sums, scratch);
    case 3:
      return dot_vectors<F, 3>(out, out_step, w, n_rows, x, x_step, sums, scratch);
    default:
      return dot_vectors<F, 4>(out, out_step, w, n_rows, x, x_step, sums, scratch);
  }
}

void group_sums(float *sums, const float *x, int64_t group, int64_t n) {
  for (int64_t g = 0; g < n; g++) {
    Vec<float> sum{};
    for (int64_t i = 0; i < group; i += lanes) sum += load<float>(x + g * group + i);
    sums[g] = sum_of(sum);
  }
}

// ---- unpacking

#if defined(__AVX512F__)
inline Vec<float> in_order(Vec<float> v) {
  return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15), v);
}
#else
inline Vec<float> in_order(Vec<float> v) { return v; }
#endif

template <class F>
void unpack(float *out, int64_t out_step, const Rows &w, int64_t n_rows, int64_t first, int64_t n, float *scratch) {
  const int64_t scale_bytes = w.scale_kind == f32 ? 4 : w.scale_kind == e8m0 || w.scale_kind == e4m3 ? 1 : 2;
  for (int64_t row = 0; row < n_rows; row++, out += out_step) {
    const auto *codes = reinterpret_cast<const uint8_t *>(w.codes) + row * w.code_step + first * w.group / 8 * F::bits;
    const float *scales =
        numbers(scratch, w.scales + row * w.scale_step + first * scale_bytes, n, w.scale_kind, w.factor);
    const float *biases = nullptr;
    if (w.biases)
      biases = numbers(scratch + n + 16, w.biases + row * w.bias_step + first * scale_bytes, n, w.scale_kind, 1);
    for (int64_t g = 0; g < n; g++) {
      const Vec<float> scale = splat(scales[g]), bias = splat(biases ? biases[g] : 0.f);
      for (int64_t i = 0; i < w.group; i += 16) {
        Vec<float> v[vectors];
        F::decode(v, codes + (g * w.group + i) / 8 * F::bits);
        for (int j = 0; j < vectors; j++) {
          Vec<float> y = (F::interleaved ? in_order(v[j]) : v[j]) * scale;
          if (biases) y = y + bias;
          store<float>(out + g * w.group + i + j * lanes, y);
        }
      }
    }
  }
}

template <class F>
constexpr Codes codes_of() {
  return {order<F>, dot<F>, unpack<F>};
}

}  // namespace

extern "C" const mx::cpu::packed::Table MX_JOIN(quantize_, MX_LEVEL);
extern "C" const mx::cpu::packed::Table MX_JOIN(quantize_, MX_LEVEL) = {
    MX_STRING(MX_LEVEL),
    {codes_of<Unsigned<2>>(), codes_of<Unsigned<3>>(), codes_of<Unsigned<4>>(), codes_of<Unsigned<5>>(),
     codes_of<Unsigned<6>>(), codes_of<Unsigned<8>>(), codes_of<Fp4>(), codes_of<Fp8>()},
    group_sums,
    encode_affine,
    encode_float};
