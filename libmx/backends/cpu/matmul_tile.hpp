// The micro-kernel: a tile of the result held in registers, after Goto and van de Geijn, "Anatomy of High-Performance
// Matrix Multiplication" (2008), with the register tile of BLIS. Only for the per-level matmul sources.
#pragma once
#include "backends/cpu/matmul_pack.hpp"

namespace {

// Tile height: 2 vectors per row, two for B and one or two for A must fit the register file (16, with AVX-512 32).
#if defined(__AVX512F__)
constexpr int tile_rows = 12;
#else
constexpr int tile_rows = 6;
#endif

// A row of the tile is two vectors; for complex numbers one of real and one of imaginary parts.
template <class S>
constexpr int tile_columns = 2 * vector_bytes / static_cast<int>(sizeof(typename Element<S>::Sum));

// Where the elements of A are that are read as they lie, in elements.
template <class T>
struct Rows {
  const T *data;
  int64_t row, step;
};

// Keeps the compiler from computing the addresses of all rows of a tile before its loop: there are no registers for
// them.
template <class T>
inline void forget(T *&p) {
  asm("" : "+r"(p));
}

// What a step adds to a sum: one product; matmul_dot.hpp has another.
struct AddProduct {
  template <class T, class X>
  static inline __attribute__((always_inline)) void to(X &sum, X a, X b) {
    add_product<T>(sum, a, b);
  }
};

// V vectors of B.
template <class T, class X, int V>
inline __attribute__((always_inline)) void load_row(X (&right)[V], const T *b) {
#pragma GCC unroll 4
  for (int v = 0; v < V; v++) memcpy(&right[v], b + v * static_cast<int>(sizeof(X) / sizeof(T)), sizeof(X));
}

// One step of k: R elements of A times V vectors of B.
template <class Add, class T, class X, int R, int V>
inline __attribute__((always_inline)) void step_packed(X (&sums)[R][V], const T *a, const T *b) {
  X right[V];
  load_row<T>(right, b);
#pragma GCC unroll 12
  for (int i = 0; i < R; i++) {
    const X x = splat_to<X>(a[i]);
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) Add::template to<T>(sums[i][v], x, right[v]);
  }
}

// Both operands packed.
template <class Add, class T, class X, int R, int V>
inline __attribute__((always_inline)) void accumulate_packed(X (&sums)[R][V], const T *a, const T *b, int64_t k) {
  constexpr int b_step = 2 * width<T>;
  int64_t p = 0;
  for (; p + 2 <= k; p += 2, a += 2 * tile_rows, b += 2 * b_step) {
    step_packed<Add, T>(sums, a, b);
    step_packed<Add, T>(sums, a + tile_rows, b + b_step);
    forget(a);
    forget(b);
  }
  if (p < k) step_packed<Add, T>(sums, a, b);
}

// Lines of memory, `step` bytes apart.
struct Lines {
  const char *next;
  int64_t step;
};

// What is called for while tiles are computed: the next strip of B, whose rows are too far apart for the CPU to
// foresee, then the pieces of `ahead`.
class Calls {
 public:
  explicit Calls(const mx::cpu::Ahead *ahead) : ahead_(ahead) {}
  void add_strip(const char *strip, int64_t step, int64_t bytes) {
    strip_ = {strip, step};
    strip_lines_ = strip ? bytes / 64 : 0;
  }
  // The next `lines` lines, or nullptr if there are no more.
  Lines take(int64_t lines) {
    if (strip_lines_ > 0) {
      strip_lines_--;
      return {std::exchange(strip_.next, strip_.next + 64), strip_.step};
    }
    while (ahead_ && next_ >= end_ && piece_ < 3) {
      next_ = ahead_->pieces[piece_].begin;
      end_ = ahead_->pieces[piece_++].end;
    }
    if (next_ >= end_) return {nullptr, 0};
    return {std::exchange(next_, next_ + lines * 64), 64};
  }

 private:
  const mx::cpu::Ahead *const ahead_;
  const char *next_ = nullptr, *end_ = nullptr;
  int piece_ = 0;
  Lines strip_{};
  int64_t strip_lines_ = 0;
};

// A as it lies; every third row has a pointer, the others are one and two strides away. `soon`: lines to call for, or
// none; then those of B are called for, whose rows may lie far apart.
template <class T, class X, int R, int V>
inline __attribute__((always_inline)) void accumulate_rows(X (&sums)[R][V], const Rows<T> &a, const T *b,
                                                           int64_t b_step, int64_t k, Lines soon) {
  constexpr int bases = (R + 2) / 3;
  if (!soon.next) soon = {reinterpret_cast<const char *>(b + 12 * b_step), b_step * static_cast<int64_t>(sizeof(T))};
  const T *base[bases];
  for (int i = 0; i < bases; i++) base[i] = a.data + 3 * i * a.row;
  const int64_t row = a.row, row2 = 2 * a.row;
  for (int64_t p = 0; p < k; p++) {
    X right[V];
    load_row<T>(right, b);
    __builtin_prefetch(soon.next, 0, 2);
    soon.next += soon.step;
    b += b_step;
#pragma GCC unroll 12
    for (int i = 0; i < R; i++) {
      const T *q = i % 3 == 0 ? base[i / 3] : base[i / 3] + (i % 3 == 1 ? row : row2);
      const X x = splat_to<X>(*q);
      for (int v = 0; v < V; v++) add_product<T>(sums[i][v], x, right[v]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < bases; i++) base[i] += a.step;
  }
}

// Stores or adds the m x n corner of the tile.
template <class T, int R, int V>
inline __attribute__((always_inline)) void put(T *c, int64_t ld, const Vec<T> (&sums)[R][V], int64_t m, int64_t n,
                                               bool add) {
  constexpr int w = width<T>;
  if (m == R && n == V * w) {
#pragma GCC unroll 12
    for (int i = 0; i < R; i++, c += ld) {
      for (int v = 0; v < V; v++) store<T>(c + v * w, add ? load<T>(c + v * w) + sums[i][v] : sums[i][v]);
      forget(c);
    }
    return;
  }
#if defined(__AVX512F__)
#pragma GCC unroll 12
  for (int i = 0; i < R; i++) {
    if (i == m) return;
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) {
      const int64_t some = n - v * w < w ? n - v * w : w;
      if (some <= 0) break;
      const Vec<T> sum = add ? load_some<T>(c + v * w, some) + sums[i][v] : sums[i][v];
      store_some<T>(c + v * w, sum, some);
    }
    c += ld;
    forget(c);
  }
#else
  T edge[R * V * w];
#pragma GCC unroll 12
  for (int i = 0; i < R; i++)
    for (int v = 0; v < V; v++) store<T>(edge + (i * V + v) * w, sums[i][v]);
  for (int64_t i = 0; i < m; i++, c += ld)
    for (int64_t j = 0; j < n; j++) c[j] = add ? c[j] + edge[i * V * w + j] : edge[i * V * w + j];
#endif
}

// Rounds the m x n corner of the tile to elements of the output.
template <class Rounded, class T, int R, int V>
inline __attribute__((always_inline)) void put_rounded(typename Rounded::Stored *c, int64_t ld,
                                                       const Vec<T> (&sums)[R][V], int64_t m, int64_t n) {
  constexpr int w = width<T>;
#pragma GCC unroll 12
  for (int i = 0; i < R; i++) {
    if (i == m) return;
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) {
      if (n >= (v + 1) * w) {
        Rounded::round_vector(reinterpret_cast<char *>(c + v * w), sums[i][v]);
      } else if (n > v * w) {
        typename Rounded::Stored edge[w];
        Rounded::round_vector(reinterpret_cast<char *>(edge), sums[i][v]);
        memcpy(c + v * w, edge, static_cast<size_t>(n - v * w) * sizeof *c);
      }
    }
    c += ld;
    forget(c);
  }
}

// What a tile gives: sums, or elements of S.
struct Sums {};
template <class S>
struct Elements : Element<S> {
  using Stored = S;
};
template <class Out, class T>
struct Destination {
  using Type = typename Out::Stored;
};
template <class T>
struct Destination<Sums, T> {
  using Type = T;
};

template <class X, int R, int V>
inline __attribute__((always_inline)) void clear(X (&sums)[R][V]) {
#pragma GCC unroll 12
  for (int i = 0; i < R; i++)
    for (int v = 0; v < V; v++) sums[i][v] = X{};
}

#if defined(__AVX512F__)
// Two halves, or one and nothing, as a vector.
template <class T, class X, int V, int... I>
inline __attribute__((always_inline)) Vec<T> join(const X (&halves)[V], std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(halves[0], V == 2 ? halves[V - 1] : X{}, I...);
}
#endif

// The sums that `add` adds up for n columns. A single vector for each row leaves the time to the loads; then halves do.
template <class T, int R, int V, class F>
inline __attribute__((always_inline)) void add_up(Vec<T> (&sums)[R][V], [[maybe_unused]] int64_t n, const F &add) {
#if defined(__AVX512F__)
  if constexpr (V == 1) {
    using Half = typename HalfOf<T>::type;
    constexpr auto lanes = std::make_integer_sequence<int, width<T>>();
    const auto run = [&]<int H>(std::integral_constant<int, H>) __attribute__((always_inline)) {
      Half halves[R][H];
      clear(halves);
      add(halves);
#pragma GCC unroll 12
      for (int i = 0; i < R; i++) sums[i][0] = join<T>(halves[i], lanes);
    };
    if (n > width<T> / 2)
      run(std::integral_constant<int, 2>());
    else
      run(std::integral_constant<int, 1>());
    return;
  }
#endif
  clear(sums);
  add(sums);
}

template <class Add, class Out, class T, int R, int V>
__attribute__((noinline)) void tile_packed(typename Destination<Out, T>::Type *c, int64_t ld, const T *a, const T *b,
                                           int64_t m, int64_t n, int64_t k, bool add) {
  Vec<T> sums[R][V];
  auto *row = c;
#pragma GCC unroll 1
  for (int i = 0; i < R;
       i++, row += ld) {  // rows of the result are far apart: called for now, they are there at the end
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + V * width<T> - 1, 1);
  }
  add_up<T>(sums, n, [&](auto &to) __attribute__((always_inline)) { accumulate_packed<Add, T>(to, a, b, k); });
  if constexpr (std::is_same_v<Out, Sums>)
    put<T, R, V>(c, ld, sums, m, n, add);
  else
    put_rounded<Out, T, R, V>(c, ld, sums, m, n);
}

template <class T, int R, int V>
__attribute__((noinline)) void tile_rows_of(T *c, int64_t ld, const Rows<T> &a, const T *b, int64_t b_step, int64_t n,
                                            int64_t k, bool add, Lines soon) {
  Vec<T> sums[R][V];
  add_up<T>(sums, n, [&](auto &to) __attribute__((always_inline)) { accumulate_rows<T>(to, a, b, b_step, k, soon); });
  put<T, R, V>(c, ld, sums, R, n, add);
}

// Both operands packed as pack_complex does.
__attribute__((noinline)) void tile_complex(mx::Complex64 *c, int64_t ld, const float *a, const float *b, int64_t m,
                                            int64_t n, int64_t k, bool add) {
  constexpr int w = width<float>;
  Vec<float> sums[tile_rows][2];
#pragma GCC unroll 12
  for (int i = 0; i < tile_rows; i++) sums[i][0] = sums[i][1] = Vec<float>{};
  for (int64_t p = 0; p < k; p++, a += 2 * tile_rows, b += 2 * w) {
    const Vec<float> re = load<float>(b), im = load<float>(b + w);
#pragma GCC unroll 12
    for (int i = 0; i < tile_rows; i++) {
      const Vec<float> x = splat(a[i]), y = splat(a[tile_rows + i]);
      sums[i][0] = fma(x, re, sums[i][0]);
      sums[i][1] = fma(x, im, sums[i][1]);
      sums[i][0] = fnma(y, im, sums[i][0]);
      sums[i][1] = fma(y, re, sums[i][1]);
    }
  }
  for (int64_t i = 0; i < m; i++) {
    float re[w], im[w];
    store<float>(re, sums[i][0]);
    store<float>(im, sums[i][1]);
    mx::Complex64 *row = c + i * ld;
    for (int64_t j = 0; j < n; j++)
      row[j] = add ? mx::Complex64{row[j].re + re[j], row[j].im + im[j]} : mx::Complex64{re[j], im[j]};
  }
}

// The tile for what is left of a panel: `rows` of its tile_rows and `columns` of a strip.
template <class Add, class Out, class T>
auto packed_tile_for(int64_t rows, int64_t columns) {
  constexpr int whole = tile_rows, most = tile_rows * 2 / 3, few = tile_rows / 3;
  if (columns > width<T>)
    return rows > most  ? tile_packed<Add, Out, T, whole, 2>
           : rows > few ? tile_packed<Add, Out, T, most, 2>
                        : tile_packed<Add, Out, T, few, 2>;
  return rows > most  ? tile_packed<Add, Out, T, whole, 1>
         : rows > few ? tile_packed<Add, Out, T, most, 1>
                      : tile_packed<Add, Out, T, few, 1>;
}

// A block of packed panels times packed strips: a strip stays in the first-level cache while the panels pass by. `k`
// counts steps.
template <class Add, class Out, class T>
void multiply_panels(typename Destination<Out, T>::Type *to, int64_t ld, const T *a, const T *b, int64_t m, int64_t n,
                     int64_t k, bool add) {
  constexpr int nr = 2 * width<T>;
  for (int64_t j = 0; j < n; j += nr)
    for (int64_t i = 0; i < m; i += tile_rows) {
      const int64_t rows = m - i < tile_rows ? m - i : tile_rows, columns = n - j < nr ? n - j : nr;
      packed_tile_for<Add, Out, T>(rows, columns)(to + i * ld + j, ld, a + i * k, b + j * k, rows, columns, k, add);
    }
}

template <class S>
void multiply(void *sums, int64_t ld, const void *a, const void *b, int64_t m, int64_t n, int64_t k, bool add) {
  using T = typename Element<S>::Sum;
  multiply_panels<AddProduct, Sums>(static_cast<T *>(sums), ld, static_cast<const T *>(a), static_cast<const T *>(b), m,
                                    n, k, add);
}

template <class S>
void multiply_rounded(void *out, int64_t ld, const void *a, const void *b, int64_t m, int64_t n, int64_t k) {
  using T = typename Element<S>::Sum;
  multiply_panels<AddProduct, Elements<S>>(static_cast<S *>(out), ld, static_cast<const T *>(a),
                                           static_cast<const T *>(b), m, n, k, false);
}

template <>
void multiply<mx::Complex64>(void *sums, int64_t ld, const void *a, const void *b, int64_t m, int64_t n, int64_t k,
                             bool add) {
  constexpr int nr = tile_columns<mx::Complex64>;
  for (int64_t j = 0; j < n; j += nr)
    for (int64_t i = 0; i < m; i += tile_rows) {
      const int64_t rows = m - i < tile_rows ? m - i : tile_rows, columns = n - j < nr ? n - j : nr;
      tile_complex(static_cast<mx::Complex64 *>(sums) + i * ld + j, ld, static_cast<const float *>(a) + i * k * 2,
                   static_cast<const float *>(b) + j * k * 2, rows, columns, k, add);
    }
}

// Rows of A as they lie, in tiles of tile_rows and then 8, 4, 2 and 1 rows. V: vectors that hold n columns.
template <class T, int V>
void multiply_rows(T *c, int64_t ld, Rows<T> a, const T *b, int64_t b_step, int64_t m, int64_t n, int64_t k, bool add,
                   Calls &calls) {
  const auto run = [&]<int R>(std::integral_constant<int, R>) {
    for (; m >= R; m -= R, a.data += R * a.row, c += R * ld)
      tile_rows_of<T, R, V>(c, ld, a, b, b_step, n, k, add, calls.take(k));
  };
  run(std::integral_constant<int, tile_rows>());
  if constexpr (tile_rows > 8) run(std::integral_constant<int, 8>());
  run(std::integral_constant<int, 4>());
  run(std::integral_constant<int, 2>());
  run(std::integral_constant<int, 1>());
}

template <class T>
bool aligned_view(const MatrixView &x) {
  constexpr int64_t item = sizeof(T);
  return reinterpret_cast<uintptr_t>(x.data) % item == 0 && x.row % item == 0 && x.col % item == 0;
}

// One block of k for matrices that fit the caches. Strips of B are packed one at a time, unless they can be read in
// place; A is read in place unless its elements must be widened.
template <class S>
void small(void *sums, int64_t ld, const MatrixView &a, const MatrixView &b, int64_t m, int64_t n, int64_t k, bool add,
           void *scratch, const mx::cpu::Ahead *ahead) {
  using Sum = typename Element<S>::Sum;
  constexpr int nr = tile_columns<S>;
  Sum *strip = static_cast<Sum *>(scratch), *panels = strip + nr * k;
  Calls calls(ahead);
  const bool in_place = std::is_same_v<S, Sum> && !std::is_same_v<S, mx::Complex64> && aligned_view<S>(a);
  if (!in_place) pack_panels<S, tile_rows>(panels, a.data, a.row, a.col, m, k);
  for (int64_t j = 0; j < n; j += nr) {
    const int64_t columns = n - j < nr ? n - j : nr;
    const char *from = b.data + j * b.col;
    const bool whole = columns == nr || 2 * columns == nr;
    const bool direct = in_place && whole && m <= 8 * tile_rows && b.col == sizeof(S) && aligned_view<S>(b);
    if (!direct && b.col == sizeof(S)) {
      const char *const next = j + nr < n ? from + nr * b.col : ahead ? ahead->strip : nullptr;
      calls.add_strip(next, b.row, nr * static_cast<int64_t>(sizeof(S)));
    }
    if (!direct) pack_panels<S, nr>(strip, from, b.col, b.row, columns, k);
    Sum *c = static_cast<Sum *>(sums) + j;
    if constexpr (std::is_same_v<S, Sum> && !std::is_same_v<S, mx::Complex64>) {
      if (in_place) {
        constexpr int64_t item = sizeof(S);
        const Rows<S> rows{reinterpret_cast<const S *>(a.data), a.row / item, a.col / item};
        const auto run = 2 * columns > nr ? multiply_rows<S, 2> : multiply_rows<S, 1>;
        run(c, ld, rows, direct ? reinterpret_cast<const S *>(from) : strip, direct ? b.row / item : nr, m, columns, k,
            add, calls);
        continue;
      }
    }
    multiply<S>(c, ld, panels, strip, m, columns, k, add);
  }
}

}  // namespace
