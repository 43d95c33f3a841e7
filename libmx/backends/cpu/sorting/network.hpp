// Sorting up to 16 vectors of keys without a branch. The keys stand in a matrix of `rows` vectors. Its columns are
// sorted by a network of whole vectors (K. E. Batcher, "Sorting networks and their applications", 1968); neighbouring
// columns are then merged by bitonic merges, where the order runs down one column after the other, so that half of a
// merge's steps compare whole vectors too. A transposition brings the keys into memory order.
#pragma once
#include "backends/cpu/shuffle.hpp"
#include "backends/cpu/sorting/level.hpp"

namespace mx::cpu::sorting::MX_LEVEL {

constexpr int log2_of(int n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }

template <class Vector>
MX_INLINE void order(Vector &a, Vector &b) {
  const Vector low = lower(a, b);
  b = higher(a, b);
  a = low;
}

// Lane l of the result is lane (l ^ bits) of x.
template <class T, int bits>
MX_INLINE V<T> cross(V<T> x) {
  V<T> from;
  for (int l = 0; l < width<T>; l++) from[l] = l ^ bits;
  return MX_SHUFFLE(x, from);
}

// Batcher's odd-even merge sort, in the iterative form of Knuth (The Art of Computer Programming 3, algorithm 5.2.2M).
template <class T, int rows>
MX_INLINE void sort_columns(V<T> (&m)[rows]) {
  constexpr int t = log2_of(rows);
  unroll<0, t>([&](auto up) __attribute__((always_inline)) {
    constexpr int p = 1 << (t - 1 - decltype(up)::value);
    unroll<0, t>([&](auto down) __attribute__((always_inline)) {
      // The first round compares at the distance p, the others at q - p with q falling to 2 p.
      constexpr int round = decltype(down)::value, q = round == 0 ? p : rows >> round;
      constexpr int distance = round == 0 ? p : q - p, wanted = round == 0 ? 0 : p;
      if constexpr (round == 0 || q > p) {
        unroll<0, rows>([&](auto row) __attribute__((always_inline)) {
          constexpr int i = decltype(row)::value;
          if constexpr (i + distance < rows && (i & p) == wanted) order(m[i], m[i + distance]);
        });
      }
    });
  });
}

// Merges columns in groups of `group` into groups of twice as many.
template <class T, int rows, int group>
MX_INLINE void merge_columns(V<T> (&m)[rows]) {
  // A group against its neighbour in reverse: the last rows of the last column meet the first of the first.
  unroll<0, rows / 2>([&](auto row) __attribute__((always_inline)) {
    V<T> &a = m[decltype(row)::value], &b = m[rows - 1 - decltype(row)::value];
    const V<T> mirrored = cross<T, 2 * group - 1>(b);
    b = cross<T, 2 * group - 1>(higher_then_lower<group>(a, mirrored));
    a = lower_then_higher<group>(a, mirrored);
  });
  unroll<0, log2_of(group)>([&](auto step) __attribute__((always_inline)) {
    constexpr int distance = group >> (1 + decltype(step)::value);
    unroll<0, rows>([&](auto row) __attribute__((always_inline)) {
      V<T> &x = m[decltype(row)::value];
      x = lower_then_higher<distance>(x, cross<T, distance>(x));
    });
  });
  unroll<0, log2_of(rows)>([&](auto step) __attribute__((always_inline)) {
    constexpr int distance = rows >> (1 + decltype(step)::value);
    unroll<0, rows>([&](auto row) __attribute__((always_inline)) {
      constexpr int i = decltype(row)::value;
      if constexpr ((i & distance) == 0) order(m[i], m[i + distance]);
    });
  });
}

// Exchanges a bit of the row's number with a bit of the lane's.
template <class T, int row_bit, int lane_bit>
MX_INLINE void exchange_bits(V<T> &a, V<T> &b) {
  constexpr int w = width<T>;
  V<T> first, second;
  for (int l = 0; l < w; l++) {
    first[l] = l & lane_bit ? w + (l ^ lane_bit) : l;
    second[l] = l & lane_bit ? w + l : l ^ lane_bit;
  }
  const V<T> x = MX_SHUFFLE(a, b, first);
  b = MX_SHUFFLE(a, b, second);
  a = x;
}

// Lets the order run along rows instead of columns, in blocks of `block` rows.
template <class T, int rows>
MX_INLINE void transpose(V<T> (&m)[rows]) {
  constexpr int w = width<T>, block = rows < w ? rows : w, bits = log2_of(block);
  unroll<0, bits>([&](auto bit) __attribute__((always_inline)) {
    constexpr int row_bit = 1 << decltype(bit)::value, lane_bit = row_bit * (w / block);
    unroll<0, rows>([&](auto row) __attribute__((always_inline)) {
      constexpr int i = decltype(row)::value;
      if constexpr ((i & row_bit) == 0) exchange_bits<T, row_bit, lane_bit>(m[i], m[i + row_bit]);
    });
  });
  if constexpr (block < w) {
    V<T> from;
    for (int l = 0; l < w; l++) from[l] = l % block * (w / block) + l / block;
    unroll<0, rows>([&](auto row) __attribute__((always_inline)) {
      V<T> &x = m[decltype(row)::value];
      x = MX_SHUFFLE(x, from);
    });
  }
}

// Sorts n <= rows * width keys.
template <class T, int rows>
__attribute__((noinline)) static void sort_rows(T *keys, int64_t n) {
  constexpr int w = width<T>, block = rows < w ? rows : w;
  V<T> m[rows];
  unroll<0, rows>([&](auto row) __attribute__((always_inline)) {
    m[decltype(row)::value] = load_part(keys + decltype(row)::value * w, n - decltype(row)::value * w);
  });
  sort_columns<T, rows>(m);
  unroll<0, log2_of(w)>([&](auto step)
                            __attribute__((always_inline)) { merge_columns<T, rows, 1 << decltype(step)::value>(m); });
  transpose<T, rows>(m);
  unroll<0, rows>([&](auto row) __attribute__((always_inline)) {
    constexpr int i = decltype(row)::value, at = i % block * rows + i / block * block;
    constexpr int place = block < w ? i * w : at;
    store_part(keys + place, m[i], n - place);
  });
}

constexpr int most_rows = 16;

template <class T>
MX_INLINE void sort_few(T *keys, int64_t n) {
  constexpr int64_t w = width<T>;
  if (n <= 2 * w) return sort_rows<T, 2>(keys, n);
  if (n <= 4 * w) return sort_rows<T, 4>(keys, n);
  if (n <= 8 * w) return sort_rows<T, 8>(keys, n);
  return sort_rows<T, most_rows>(keys, n);
}

}  // namespace mx::cpu::sorting::MX_LEVEL
