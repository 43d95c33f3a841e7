// Vectorised quicksort: keys are divided in place by a pivot, a vector at a time, until few enough are left for a
// sorting network. See S. Gueron and V. Krasnov, "Fast quicksort implementation using AVX instructions", Comput. J. 59
// (2016), and B. Bramas, "A novel hybrid quicksort algorithm vectorized using AVX-512 on Intel Skylake", IJACSA 8
// (2017). Equal keys cost nothing: those equal to the least key are set aside as soon as it becomes a pivot. Should
// pivots be bad again and again, a heap sort ends it.
#include "backends/cpu/sorting/network.hpp"

namespace mx::cpu::sorting::MX_LEVEL {
namespace {

template <class T>
constexpr int64_t few = most_rows * width<T>;
template <class T>
constexpr int step_vectors = 8;
template <class T>
constexpr int64_t step_keys = step_vectors<T> * width<T>;

// Divides whole vectors from `from` on; the room is the caller's care.
template <class T>
MX_INLINE void divide_step(const T *from, V<T> pivot, T *&left, T *&right) {
  V<T> x[step_vectors<T>];
  unroll<0, step_vectors<T>>([&](auto i) __attribute__((always_inline)) {
    x[decltype(i)::value] = load(from + decltype(i)::value * width<T>);
  });
  unroll<0, step_vectors<T>>([&](auto i) __attribute__((always_inline)) {
    const uint32_t lanes = below(x[decltype(i)::value], pivot);
    const int count = __builtin_popcount(lanes);
    divide<T>(x[decltype(i)::value], lanes, count, left, right);
    left += count;
    right -= width<T> - count;
  });
}

// Divides n keys at `from` into exactly the room between left and right.
template <class T>
MX_INLINE T *divide_rest(const T *from, int64_t n, V<T> pivot, T *left, T *right) {
  for (int64_t i = 0; i < n; i += width<T>) {
    const int64_t here = n - i < width<T> ? n - i : width<T>;
    const V<T> x = load(from + i);
    const uint32_t valid = (1u << here) - 1, lanes = below(x, pivot) & valid;
    const int count = __builtin_popcount(lanes);
    store_part(left, compress(lanes, x), count);
    store_part(right - (here - count), compress(~lanes & valid, x), here - count);
    left += count;
    right -= here - count;
  }
  return left;
}

template <class T>
int64_t partition(T *keys, int64_t n, T pivot) {
  // The first keys and the last ones are set aside: so there is room to write on both sides. Then the side that has
  // less room is read next, which leaves enough of it on both.
  constexpr int64_t step = step_keys<T>;
  const V<T> p = splat(pivot);
  alignas(64) T aside[3 * step];
  const int64_t last = step + n % step;
  for (int64_t i = 0; i < step; i += width<T>) store(aside + i, load(keys + i));
  for (int64_t i = 0; i < last; i += width<T>)
    store_part(aside + step + i, load_part(keys + n - last + i, last - i), last - i);
  T *left = keys, *right = keys + n;
  const T *begin = keys + step, *end = keys + n - last;
  while (begin != end) {
    const bool from_left = begin - left <= right - end;
    const T *const from = from_left ? begin : end - step;
    begin += from_left ? step : 0;
    end -= from_left ? 0 : step;
    divide_step<T>(from, p, left, right);
  }
  return divide_rest<T>(aside, step + last, p, left, right) - keys;
}

template <class T>
MX_INLINE V<T> middle(V<T> a, V<T> b, V<T> c) {
  return higher(lower(a, b), lower(higher(a, b), c));
}

// The median of medians of three, or of nine, in every lane.
template <class T>
T pivot(const T *keys, int64_t n) {
  constexpr int w = width<T>;
  const auto at = [&](int64_t ninths) __attribute__((always_inline)) { return load(keys + (n - w) / 8 * ninths); };
  V<T> m = middle<T>(at(0), at(4), at(8));
  if (n > 16 * few<T>) m = middle<T>(m, middle<T>(at(1), at(3), at(6)), middle<T>(at(2), at(5), at(7)));
  alignas(64) T sample[w];
  store(sample, m);
  sort_few(sample, w);
  return sample[w / 2];
}

// Heap sort (J. W. J. Williams, 1964).
template <class T>
void sift(T *keys, int64_t at, int64_t n) {
  const T key = keys[at];
  for (int64_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && keys[child + 1] > keys[child]) child++;
    if (keys[child] <= key) break;
    keys[at] = keys[child];
  }
  keys[at] = key;
}
template <class T>
void heap_sort(T *keys, int64_t n) {
  for (int64_t i = n / 2; i-- > 0;) sift(keys, i, n);
  while (n-- > 1) {
    const T top = keys[0];
    keys[0] = keys[n];
    keys[n] = top;
    sift(keys, 0, n);
  }
}

int most_divisions(int64_t n) { return 8 + 2 * (64 - __builtin_clzll(static_cast<uint64_t>(n))); }

// Divides keys by one of them. True: keys [0, *left) are below the others. False: they are all equal, and none of the
// others is as small.
template <class T>
bool divide_keys(T *keys, int64_t n, int64_t *left) {
  const T p = pivot(keys, n);
  *left = partition(keys, n, p);
  if (*left != 0) return true;
  *left = p == largest<T> ? n : partition(keys, n, static_cast<T>(p + 1));
  return false;
}

template <class T>
void sort_within(T *keys, int64_t n, int divisions) {
  while (n > few<T>) {
    if (divisions-- == 0) return heap_sort(keys, n);
    int64_t left;
    const bool both = divide_keys(keys, n, &left);
    // The longer part is left to this loop, so that the stack stays low.
    if (both && left > n - left) {
      sort_within(keys + left, n - left, divisions);
      n = left;
    } else {
      if (both) sort_within(keys, left, divisions);
      keys += left;
      n -= left;
    }
  }
  if (n > 1) sort_few(keys, n);
}

template <class T>
void sort(T *keys, int64_t n) {
  sort_within(keys, n, n > 0 ? most_divisions(n) : 0);
}

template <class T>
void select(T *keys, int64_t n, int64_t kth) {
  for (int divisions = most_divisions(n); n > few<T>; divisions--) {
    if (divisions == 0) return heap_sort(keys, n);
    int64_t left;
    const bool both = divide_keys(keys, n, &left);
    if (kth >= left) {
      keys += left;
      n -= left;
      kth -= left;
    } else if (both) {
      n = left;
    } else {
      return;
    }
  }
  if (n > 1) sort_few(keys, n);
}

// Bits of a float without its sign, from which on it is a NaN.
template <class T>
constexpr T infinity = sizeof(T) == 4 ? T{0x7f800000} : static_cast<T>(0x7ff0000000000000);

template <class T>
void from_floats(T *keys, const T *bits, int64_t n) {
  constexpr int sign = 8 * sizeof(T) - 1;
  for (int64_t i = 0; i < n; i++) {
    const T magnitude = bits[i] & largest<T>;
    const T key = bits[i] ^ ((bits[i] >> sign) & largest<T>);
    keys[i] = magnitude > infinity<T> ? largest<T> : key;
  }
}
template <class T>
void to_floats(T *bits, const T *keys, int64_t n) {
  constexpr int sign = 8 * sizeof(T) - 1;
  for (int64_t i = 0; i < n; i++) bits[i] = keys[i] ^ ((keys[i] >> sign) & largest<T>);
}

static_assert(few<int32_t> >= 2 * step_keys<int32_t> && few<int64_t> >= 2 * step_keys<int64_t>);
static_assert(min_partition > 2 * step_keys<int32_t> && min_pivot >= 9 * width<int32_t>);

}  // namespace
}  // namespace mx::cpu::sorting::MX_LEVEL

#define MX_JOIN_(a, b) a##b
#define MX_JOIN(a, b) MX_JOIN_(a, b)
#define MX_KEYS(T) \
  {level::sort<T>, level::select<T>, level::pivot<T>, level::partition<T>, level::from_floats<T>, level::to_floats<T>}

namespace level = mx::cpu::sorting::MX_LEVEL;

extern "C" const mx::cpu::sorting::Table MX_JOIN(sorting_, MX_LEVEL);
extern "C" const mx::cpu::sorting::Table MX_JOIN(sorting_, MX_LEVEL) = {MX_KEYS(int32_t), MX_KEYS(int64_t)};
