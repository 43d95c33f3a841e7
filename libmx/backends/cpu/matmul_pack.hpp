// Packing: copies a block of a matrix of any strides into the order in which the micro-kernel reads it. Only for the
// per-level matmul sources.
#pragma once
#include "backends/cpu/matmul_level.hpp"
#include "backends/cpu/matmul_vector.hpp"

namespace {

using mx::cpu::MatrixView;

// to[p * Size + i] = element (i, p) for `lanes` <= Size lanes, else 0. `lane` and `step` are byte strides.
template <class S, int Size, class Sum = typename Element<S>::Sum>
void pack_scalar(Sum *to, const char *from, int64_t lane, int64_t step, int64_t lanes, int64_t begin, int64_t k) {
  if (lanes == Size) {
    for (int64_t p = begin; p < k; p++)
      for (int64_t i = 0; i < Size; i++) to[p * Size + i] = Element<S>::widen(from + i * lane + p * step);
    return;
  }
  for (int64_t p = begin; p < k; p++) {
    for (int64_t i = 0; i < lanes; i++) to[p * Size + i] = Element<S>::widen(from + i * lane + p * step);
    for (int64_t i = lanes; i < Size; i++) to[p * Size + i] = 0;
  }
}

// width lanes and width elements of k from `from` on: transposed into to[0], to[Size] ...
template <class S, int Size, class Sum = typename Element<S>::Sum>
inline void pack_square(Sum *to, const char *from, int64_t lane, int64_t lanes) {
  constexpr int w = width<Sum>;
  Vec<Sum> rows[w];
  for (int i = 0; i < w; i++) rows[i] = i < lanes ? Element<S>::widen_vector(from + i * lane) : Vec<Sum>{};
  transpose<Sum>(rows);
  for (int i = 0; i < w; i++) store<Sum>(to + i * Size, rows[i]);
}

// Lanes whose k elements lie side by side, when Size is a multiple of the width.
template <class S, int Size, class Sum = typename Element<S>::Sum>
void pack_transposed(Sum *to, const char *from, int64_t lane, int64_t lanes, int64_t k) {
  constexpr int w = width<Sum>, item = sizeof(S);
  int64_t p = 0;
  for (; p + line_vectors * w <= k; p += line_vectors * w)
    for (int g = 0; g < Size; g += w)
      for (int64_t q = p; q < p + line_vectors * w; q += w)
        pack_square<S, Size>(to + q * Size + g, from + g * lane + q * item, lane, lanes - g);
  for (; p + w <= k; p += w)
    for (int g = 0; g < Size; g += w)
      pack_square<S, Size>(to + p * Size + g, from + g * lane + p * item, lane, lanes - g);
  pack_scalar<S, Size>(to, from, lane, item, lanes, p, k);
}

// The same when it is not: a vector spills over the end of its row, where the next row is written later; the last rows
// go one by one, because the next panel has another writer.
template <class S, int Size, class Sum = typename Element<S>::Sum>
void pack_transposed_spilling(Sum *to, const char *from, int64_t lane, int64_t lanes, int64_t k) {
  constexpr int w = width<Sum>, item = sizeof(S), groups = (Size + w - 1) / w;
  int64_t p = 0;
  for (; p + w < k; p += w) {
    Vec<Sum> rows[groups][w];
    for (int g = 0; g < groups; g++) {
      for (int i = 0; i < w; i++)
        rows[g][i] = g * w + i < lanes ? Element<S>::widen_vector(from + (g * w + i) * lane + p * item) : Vec<Sum>{};
      transpose<Sum>(rows[g]);
    }
    for (int i = 0; i < w; i++)
      for (int g = 0; g < groups; g++) store<Sum>(to + (p + i) * Size + g * w, rows[g][i]);
  }
  pack_scalar<S, Size>(to, from, lane, item, lanes, p, k);
}

// Lanes that lie side by side, in `count` panels: several at a time, because a row's next cache lines come for free.
template <class S, int Size, class Sum = typename Element<S>::Sum>
void pack_copied(Sum *to, const char *from, int64_t step, int64_t k, int count) {
  constexpr int w = width<Sum>, item = sizeof(S), ahead = 8;
  for (int64_t p = 0; p < k; p++, to += Size, from += step)
    for (int c = 0; c < count; c++) {
      const char *lanes = from + c * Size * item;
      Sum *panel = to + c * k * Size;
      if (p + ahead < k) __builtin_prefetch(lanes + ahead * step);
      if constexpr (Size % w == 0) {
        for (int i = 0; i < Size; i += w) store<Sum>(panel + i, Element<S>::widen_vector(lanes + i * item));
      } else if constexpr (std::is_same_v<S, Sum>) {
        memcpy(panel, lanes, Size * sizeof(S));
      } else {
        for (int i = 0; i < Size; i++) panel[i] = Element<S>::widen(lanes + i * item);
      }
    }
}

#if defined(__AVX512F__)
constexpr bool has_masks = true;
#else
constexpr bool has_masks = false;
#endif

// The last panel of lanes that lie side by side.
template <class S, int Size>
void pack_some(S *to, const char *from, int64_t step, int64_t lanes, int64_t k) {
  constexpr int w = width<S>;
  for (int64_t p = 0; p < k; p++, to += Size, from += step)
    for (int i = 0; i < Size; i += w) {
      const int64_t some = lanes - i < 0 ? 0 : lanes - i < w ? lanes - i : w;
      const Vec<S> x = load_some<S>(from + i * static_cast<int>(sizeof(S)), some);
      if (i + w <= Size)
        store<S>(to + i, x);
      else
        store_some<S>(to + i, x, Size - i);
    }
}

// All panels of a matrix of `n` lanes.
template <class S, int Size>
void pack(void *to, const char *from, int64_t lane, int64_t step, int64_t n, int64_t k) {
  using Sum = typename Element<S>::Sum;
  for (int64_t i = 0; i < n;) {
    const int64_t lanes = n - i < Size ? n - i : Size;
    const char *panel = from + i * lane;
    Sum *out = static_cast<Sum *>(to) + i * k;
    if (step == sizeof(S)) {
      if constexpr (Size % width<Sum> == 0)
        pack_transposed<S, Size>(out, panel, lane, lanes, k);
      else
        pack_transposed_spilling<S, Size>(out, panel, lane, lanes, k);
    } else if (lane == sizeof(S) && lanes == Size) {
      const int count = n - i >= 4 * Size ? 4 : 1;
      pack_copied<S, Size>(out, panel, step, k, count);
      i += (count - 1) * Size;
    } else if (has_masks && std::is_same_v<S, Sum> && lane == sizeof(S)) {
      if constexpr (has_masks && std::is_same_v<S, Sum>) pack_some<S, Size>(out, panel, step, lanes, k);
    } else {
      pack_scalar<S, Size>(out, panel, lane, step, lanes, 0, k);
    }
    i += Size;
  }
}

// The real parts and the imaginary parts of two vectors of complex numbers.
template <int... I>
inline std::pair<Vec<float>, Vec<float>> parts_of(const void *complex, std::integer_sequence<int, I...>) {
  const Vec<float> a = load<float>(complex), b = load<float>(static_cast<const float *>(complex) + sizeof...(I));
  return {__builtin_shufflevector(a, b, (2 * I)...), __builtin_shufflevector(a, b, (2 * I + 1)...)};
}

// Complex panels hold, for every p, the real parts of all lanes and then the imaginary parts. A complex number moves
// as one of 64 bits at first. A vector may spill over the end of a row, where the next row is written later.
template <int Size>
void pack_complex(void *to, const char *from, int64_t lane, int64_t step, int64_t n, int64_t k) {
  constexpr int64_t at_once = 32;
  constexpr int w = width<float>, groups = (Size + w - 1) / w;
  double rows[at_once * Size + 2 * w] = {};
  float *out = static_cast<float *>(to);
  for (int64_t i = 0; i < n; i += Size)
    for (int64_t p = 0; p < k; p += at_once) {
      const int64_t lanes = n - i < Size ? n - i : Size, depth = k - p < at_once ? k - p : at_once;
      pack<double, Size>(rows, from + i * lane + p * step, lane, step, lanes, depth);
      for (int64_t q = 0; q < depth; q++, out += 2 * Size) {
        const double *row = rows + q * Size;
        float spilt[2 * Size + w];
        float *const both = Size % w == 0 || q + 1 < depth ? out : spilt;
        std::pair<Vec<float>, Vec<float>> parts[groups];
        for (int g = 0; g < groups; g++) parts[g] = parts_of(row + g * w, std::make_integer_sequence<int, w>());
        for (int g = 0; g < groups; g++) store<float>(both + g * w, parts[g].first);
        for (int g = 0; g < groups; g++) store<float>(both + Size + g * w, parts[g].second);
        if (both != out) memcpy(out, spilt, 2 * Size * sizeof *out);
      }
    }
}

// All panels for the product of two matrices of S.
template <class S, int Size>
void pack_panels(void *to, const char *from, int64_t lane, int64_t step, int64_t n, int64_t k) {
  if constexpr (std::is_same_v<S, mx::Complex64>)
    pack_complex<Size>(to, from, lane, step, n, k);
  else
    pack<S, Size>(to, from, lane, step, n, k);
}

}  // namespace
