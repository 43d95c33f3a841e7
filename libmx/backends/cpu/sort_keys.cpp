// Sorting and selecting 32- and 64-bit keys. Long arrays are divided by all threads together until there are parts
// enough for everybody, which are then sorted one by one: see P. Tsigas and Y. Zhang, "A simple, fast parallel
// implementation of quicksort", PDP 2003. Here every thread divides whole chunks in place, and what lies on the wrong
// side afterwards changes places. Relies on sorting/table.hpp for the work of one thread.
#include <algorithm>
#include <limits>

#include "backends/cpu/sort.hpp"
#include "backends/cpu/sorting/table.hpp"
#include "backends/cpu/strided.hpp"

namespace mx::cpu {
namespace {

using sorting::Keys;

template <class T>
const Keys<T> *kernels() noexcept {
  const sorting::Table *table = sorting::table();
  if (!table) return nullptr;
  if constexpr (sizeof(T) == 4) {
    return &table->of32;
  } else {
    return &table->of64;
  }
}

constexpr int64_t division_chunk = 1 << 13;
static_assert(division_chunk >= sorting::min_partition);

// A stretch of keys on the wrong side of a division, and how many are so in the stretches before it.
struct Stretch {
  int64_t begin, end, before;
};
using Stretches = SmallVector<Stretch, 16>;

void add(Stretches &list, int64_t begin, int64_t end) {
  if (begin >= end) return;
  list.push_back({begin, end, list.empty() ? 0 : list.back().before + list.back().end - list.back().begin});
}
int64_t total(const Stretches &list) noexcept {
  return list.empty() ? 0 : list.back().before + list.back().end - list.back().begin;
}
const Stretch *find(const Stretches &list, int64_t number) noexcept {
  return std::upper_bound(list.begin(), list.end(), number, [](int64_t n, const Stretch &s) { return n < s.before; }) -
         1;
}

// Exchanges the keys of both lists with the numbers [begin, end).
template <class T>
void exchange(T *keys, const Stretches &a, const Stretches &b, int64_t begin, int64_t end) {
  const Stretch *from = find(a, begin), *to = find(b, begin);
  while (begin < end) {
    const int64_t x = from->begin + begin - from->before, y = to->begin + begin - to->before;
    const int64_t n = std::min({end - begin, from->end - x, to->end - y});
    std::swap_ranges(keys + x, keys + x + n, keys + y);
    begin += n;
    if (x + n == from->end) from++;
    if (y + n == to->end) to++;
  }
}

// As Keys::partition, by all threads.
template <class T>
int64_t divide(const Keys<T> &kernel, T *keys, int64_t n, T pivot) {
  const int64_t n_chunks = n / division_chunk;  // the last one is longer
  const auto begin_of = [&](int64_t c) { return c == n_chunks ? n : c * division_chunk; };
  SmallVector<int64_t, 64> below(static_cast<size_t>(n_chunks), 0);
  parallel_for(n_chunks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c++)
      below[static_cast<size_t>(c)] = kernel.partition(keys + begin_of(c), begin_of(c + 1) - begin_of(c), pivot);
  });
  int64_t left = 0;
  for (int64_t count : below) left += count;
  Stretches high, low;
  for (int64_t c = 0; c < n_chunks; c++) {
    const int64_t middle = begin_of(c) + below[static_cast<size_t>(c)];
    add(high, middle, std::min(begin_of(c + 1), left));
    add(low, std::max(begin_of(c), left), middle);
  }
  parallel_for(total(high), 4 * division_chunk,
               [&](int64_t begin, int64_t end) { exchange(keys, high, low, begin, end); });
  return left;
}

template <class T>
constexpr T largest = std::numeric_limits<T>::max();

// Divides by one of the keys. True: keys [0, *left) are below the others. False: they are all equal, and none of the
// others is as small.
template <class T>
bool divide(const Keys<T> &kernel, T *keys, int64_t n, int64_t *left) {
  const T p = kernel.pivot(keys, n);
  *left = divide(kernel, keys, n, p);
  if (*left != 0) return true;
  *left = p == largest<T> ? n : divide(kernel, keys, n, static_cast<T>(p + 1));
  return false;
}

struct Part {
  int64_t begin, n;
};

template <class T>
void sort_long(const Keys<T> &kernel, T *keys, int64_t n) {
  // Some parts for every thread, none of which takes longer than a cancel may.
  const int64_t limit =
      std::clamp(n / (4 * std::max(1, num_threads())), division_chunk, (int64_t{1} << 20) / int64_t{sizeof(T)});
  int divisions = static_cast<int>(8 * (n / limit + 1));  // pivots can be bad only so often
  SmallVector<Part, 64> parts, open{{0, n}};
  while (!open.empty()) {
    const Part part = open.back();
    open.pop_back();
    if (part.n <= limit || divisions == 0) {
      parts.push_back(part);
      continue;
    }
    divisions--;
    int64_t left;
    if (divide(kernel, keys + part.begin, part.n, &left)) open.push_back({part.begin, left});
    open.push_back({part.begin + left, part.n - left});
  }
  std::sort(parts.begin(), parts.end(), [](const Part &a, const Part &b) { return a.n > b.n; });
  parallel_for(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const Part &part = parts[static_cast<size_t>(i)];
      kernel.sort(keys + part.begin, part.n);
    }
  });
}

template <class T>
void sort_all(T *keys, int64_t n) {
  const Keys<T> *kernel = kernels<T>();
  if (!kernel) return radix_sort(keys, n);
  if (n < long_line) return kernel->sort(keys, n);
  sort_long(*kernel, keys, n);
}

template <class T>
void select(T *keys, int64_t n, int64_t kth) {
  const Keys<T> *kernel = kernels<T>();
  if (!kernel) return std::nth_element(keys, keys + kth, keys + n);
  for (int divisions = 64; n >= long_line && divisions > 0; divisions--) {
    int64_t left;
    const bool both = divide(*kernel, keys, n, &left);
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
  kernel->select(keys, n, kth);
}

// Bit patterns of floats are signed integers in the right order but for the negative ones, which run backwards.
template <class T>
void turn_negative(T *to, const T *from, int64_t n) noexcept {
  for (int64_t i = 0; i < n; i++) to[i] = from[i] ^ ((from[i] >> (8 * sizeof(T) - 1)) & largest<T>);
}

template <class T>
void from_floats(T *keys, const T *bits, int64_t n) noexcept {
  if (const Keys<T> *kernel = kernels<T>()) return kernel->from_floats(keys, bits, n);
  constexpr T infinity = sizeof(T) == 4 ? T{0x7f800000} : static_cast<T>(0x7ff0000000000000);
  turn_negative(keys, bits, n);
  for (int64_t i = 0; i < n; i++) keys[i] = keys[i] > infinity || keys[i] < ~infinity ? largest<T> : keys[i];
}

template <class T>
void to_floats(T *bits, const T *keys, int64_t n) noexcept {
  if (const Keys<T> *kernel = kernels<T>()) return kernel->to_floats(bits, keys, n);
  turn_negative(bits, keys, n);
}

}  // namespace

void sort_keys(int32_t *keys, int64_t n) { sort_all(keys, n); }
void sort_keys(int64_t *keys, int64_t n) { sort_all(keys, n); }
void select_key(int32_t *keys, int64_t n, int64_t kth) { select(keys, n, kth); }
void select_key(int64_t *keys, int64_t n, int64_t kth) { select(keys, n, kth); }
void keys_from_floats(int32_t *keys, const int32_t *bits, int64_t n) noexcept { from_floats(keys, bits, n); }
void keys_from_floats(int64_t *keys, const int64_t *bits, int64_t n) noexcept { from_floats(keys, bits, n); }
void floats_from_keys(int32_t *bits, const int32_t *keys, int64_t n) noexcept { to_floats(bits, keys, n); }
void floats_from_keys(int64_t *bits, const int64_t *keys, int64_t n) noexcept { to_floats(bits, keys, n); }

}  // namespace mx::cpu
