// The table of matmul kernels of one level. Compiled once per level with its -march and -DMX_LEVEL=<level>; the objects
// are joined so that only the table stays global (see LEVELS.txt).
#include "backends/cpu/matmul_level.hpp"

#include "backends/cpu/matmul_amx.hpp"
#include "backends/cpu/matmul_dot.hpp"
#include "backends/cpu/matmul_gemv.hpp"
#include "backends/cpu/matmul_tile.hpp"

#define MX_JOIN_(a, b) a##b
#define MX_JOIN(a, b) MX_JOIN_(a, b)
#define MX_STRING_(a) #a
#define MX_STRING(a) MX_STRING_(a)

namespace {

using mx::Complex64;
using mx::cpu::MatmulKernels;

template <class S>
void pack_a(void *to, const MatrixView &a, int64_t m, int64_t k) {
  pack_panels<S, tile_rows>(to, a.data, a.row, a.col, m, k);
}

template <class S>
void pack_b(void *to, const MatrixView &b, int64_t k, int64_t n) {
  pack_panels<S, tile_columns<S>>(to, b.data, b.col, b.row, n, k);
}

template <class S>
void widen(void *to, const char *x, int64_t step, int64_t n) {
  auto *out = static_cast<typename Element<S>::Sum *>(to);
  for (int64_t i = 0; i < n; i++) out[i] = Element<S>::widen(x + i * step);
}

template <class S>
void finish(char *out, const void *from, int64_t sums_step, int64_t n, double alpha, double beta, const char *c,
            int64_t c_step) {
  using T = typename Element<S>::Sum;
  constexpr int w = width<T>;
  constexpr int64_t item = sizeof(S);
  const T *sums = static_cast<const T *>(from);
  const T al = static_cast<T>(alpha), be = static_cast<T>(beta);
  int64_t j = 0;
  if (sums_step == 1 && !c)
    for (; j + w <= n; j += w) Element<S>::round_vector(out + j * item, splat(al) * load<T>(sums + j));
  if (sums_step == 1 && c && (c_step == item || c_step == 0)) {
    const Vec<T> same = splat(T{Element<S>::widen(c)});
    for (; j + w <= n; j += w) {
      const Vec<T> added = c_step == 0 ? same : Element<S>::widen_vector(c + j * item);
      Element<S>::round_vector(out + j * item, splat(al) * load<T>(sums + j) + splat(be) * added);
    }
  }
  for (; j < n; j++) {
    const T sum = al * sums[j * sums_step];
    const S y = Element<S>::round(c ? sum + be * Element<S>::widen(c + j * c_step) : sum);
    memcpy(out + j * item, &y, sizeof y);
  }
}

template <>
void finish<Complex64>(char *out, const void *from, int64_t sums_step, int64_t n, double alpha, double beta,
                       const char *c, int64_t c_step) {
  const auto *sums = static_cast<const Complex64 *>(from);
  const float al = static_cast<float>(alpha), be = static_cast<float>(beta);
  for (int64_t j = 0; j < n; j++) {
    const Complex64 sum = sums[j * sums_step];
    Complex64 z{al * sum.re, al * sum.im};
    if (c) {
      const Complex64 added = Element<Complex64>::widen(c + j * c_step);
      z = {z.re + be * added.re, z.im + be * added.im};
    }
    memcpy(out + j * static_cast<int64_t>(sizeof z), &z, sizeof z);
  }
}

template <class S>
constexpr MatmulKernels kernels() {
  using Sum = typename Element<S>::Sum;
  MatmulKernels k{tile_rows,   tile_columns<S>,
                  sizeof(Sum), !std::is_same_v<S, Sum>,
                  sizeof(Sum), 1,
                  512,         pack_a<S>,
                  pack_b<S>,   multiply<S>,
                  nullptr,     small<S>,
                  widen<S>,    nullptr,
                  finish<S>};
  if constexpr (!std::is_same_v<S, Sum>) k.multiply_rounded = multiply_rounded<S>;
  if constexpr (!std::is_same_v<S, Complex64>) k.gemv = gemv<S>;
  return k;
}

#if defined(__AVX512BW__)
// What both kinds of products of bfloat16 pairs share; the rest is as for the other bfloat16 kernels.
constexpr MatmulKernels pair_kernels() {
  MatmulKernels k = kernels<mx::BFloat16>();
  k.packed_item = 2;
  k.small = nullptr;
  k.gemv = nullptr;
  return k;
}
#endif

// Dot products of pairs.
constexpr MatmulKernels dot_kernels() {
  MatmulKernels k{};
#if defined(__AVX512BW__)
  k = pair_kernels();
  k.k_unit = 2;
  k.max_k_block = 1024;
  k.pack_a = pack_a_dot;
  k.pack_b = pack_b_dot;
  k.multiply = multiply_dot;
  k.multiply_rounded = multiply_rounded_dot;
#endif
  return k;
}

// Products of the tile unit.
constexpr MatmulKernels amx_kernels() {
  MatmulKernels k{};
#if defined(__AVX512BW__)
  k = pair_kernels();
  k.mr = k.nr = amx_lanes;
  k.k_unit = amx_k;
  k.max_k_block = 256;
  k.pack_a = pack_a_amx;
  k.pack_b = pack_b_amx;
  k.multiply = multiply_amx;
  k.multiply_rounded = nullptr;
#endif
  return k;
}

}  // namespace

extern "C" const mx::cpu::MatmulLevel MX_JOIN(matmul_, MX_LEVEL);
extern "C" const mx::cpu::MatmulLevel MX_JOIN(matmul_, MX_LEVEL) = {
    MX_STRING(MX_LEVEL),    kernels<float>(),        kernels<double>(), kernels<Complex64>(),
    kernels<mx::Float16>(), kernels<mx::BFloat16>(), dot_kernels(),     amx_kernels()};
