// Sorting and selecting 32- and 64-bit keys, relying on sorting/table.hpp for the work of one thread.
//
// Long arrays are sorted by way of buckets (W. D. Frazer and A. C. McKellar, "Samplesort", J. ACM 17, 1970): a sample
// tells where to cut, all threads divide chunks in place by the same keys, the pieces are brought together, and each
// bucket is sorted by one thread. A selection divides all of the array by one key at a time: every thread divides whole
// chunks, and what lies on the wrong side afterwards changes places, as in P. Tsigas and Y. Zhang, "A simple, fast
// parallel implementation of quicksort", PDP 2003.
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/cpu/sort.hpp"
#include "backends/cpu/sorting/table.hpp"
#include "backends/cpu/strided.hpp"
#include "runtime/memory.hpp"

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

// ---- dividing

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

// ---- sorting

constexpr int64_t sort_chunk = 1 << 15;
constexpr int64_t most_buckets = 64, sampled = 16;

// The sizes of `count` buckets after their keys were put in the order of the buckets. The splitter before a bucket is
// its least possible key.
template <class T>
void divide_chunk(const Keys<T> &kernel, T *keys, int64_t n, const T *splitters, int64_t count, int64_t *sizes) {
  if (count == 1) {
    *sizes = n;
    return;
  }
  const int64_t half = count / 2;
  const T splitter = splitters[half - 1];
  const int64_t left = n >= sorting::min_partition
                           ? kernel.partition(keys, n, splitter)
                           : std::partition(keys, keys + n, [&](T key) { return key < splitter; }) - keys;
  divide_chunk(kernel, keys, left, splitters, half, sizes);
  divide_chunk(kernel, keys + left, n - left, splitters + half, count - half, sizes + half);
}

template <class T>
class Buckets {
 public:
  Buckets(const Keys<T> &kernel, T *keys, int64_t n, int64_t count)
      : kernel_(kernel), keys_(keys), n_(n), count_(count), scratch_(allocate(static_cast<size_t>(n) * sizeof(T))) {
    bounds_.resize(static_cast<size_t>(count + 1), n);
    fill();
  }
  int64_t begin(int64_t bucket) const noexcept { return bounds_[static_cast<size_t>(bucket)]; }
  int64_t size(int64_t bucket) const noexcept { return begin(bucket + 1) - begin(bucket); }
  T *scratch() const noexcept { return reinterpret_cast<T *>(scratch_->data()); }

 private:
  std::vector<T> splitters() const {
    std::vector<T> sample, found;
    for (int64_t i = 0; i < count_ * sampled; i++) sample.push_back(keys_[n_ / (count_ * sampled) * i]);
    kernel_.sort(sample.data(), count_ * sampled);
    for (int64_t b = 1; b < count_; b++) found.push_back(sample[static_cast<size_t>(b * sampled)]);
    return found;
  }

  void fill() {
    const std::vector<T> cuts = splitters();
    const int64_t n_chunks = (n_ + sort_chunk - 1) / sort_chunk;
    std::vector<int64_t> sizes(static_cast<size_t>(n_chunks * count_));
    const auto size = [&](int64_t chunk, int64_t bucket) -> int64_t & {
      return sizes[static_cast<size_t>(chunk * count_ + bucket)];
    };
    parallel_for(n_chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c++)
        divide_chunk(kernel_, keys_ + c * sort_chunk, std::min(sort_chunk, n_ - c * sort_chunk), cuts.data(), count_,
                     &size(c, 0));
    });
    std::vector<int64_t> places = sizes;  // where a chunk's share of a bucket goes
    int64_t sum = 0;
    for (int64_t b = 0; b < count_; b++) {
      bounds_[static_cast<size_t>(b)] = sum;
      for (int64_t c = 0; c < n_chunks; c++)
        places[static_cast<size_t>(c * count_ + b)] = std::exchange(sum, sum + size(c, b));
    }
    parallel_for(n_chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c++) {
        const T *from = keys_ + c * sort_chunk;
        for (int64_t b = 0; b < count_; from += size(c, b++))
          std::copy_n(from, size(c, b), scratch() + places[static_cast<size_t>(c * count_ + b)]);
      }
    });
  }

  const Keys<T> &kernel_;
  T *keys_;
  int64_t n_, count_;
  Ref<Buffer> scratch_;
  std::vector<int64_t> bounds_;
};

template <class T>
void sort_long(const Keys<T> &kernel, T *keys, int64_t n) {
  constexpr int64_t longest = (int64_t{4} << 20) / sizeof(T);  // what one thread may take on, because of cancel
  const int64_t wanted = std::max<int64_t>(8 * num_threads(), n / longest);
  const auto count = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::min(wanted, most_buckets))));
  if (num_threads() < 2 && n <= longest) return kernel.sort(keys, n);
  const Buckets<T> buckets(kernel, keys, n, count);
  // Most of the keys in one bucket are equal ones, which are sorted in no time.
  const auto is_long = [&](int64_t b) { return buckets.size(b) > longest && buckets.size(b) <= n / 2; };
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return buckets.size(a) > buckets.size(b); });
  for (int64_t b : order)
    if (is_long(b)) sort_long(kernel, buckets.scratch() + buckets.begin(b), buckets.size(b));
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t b = order[static_cast<size_t>(i)];
      T *const bucket = buckets.scratch() + buckets.begin(b);
      if (!is_long(b)) kernel.sort(bucket, buckets.size(b));
      std::copy_n(bucket, buckets.size(b), keys + buckets.begin(b));
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
