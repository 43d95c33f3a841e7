// Sorting 8- and 16-bit keys by counting how often each value occurs (H. H. Seward, 1954). Long lines are counted in
// parts, one for each thread, and written in parts of the values.
#include <algorithm>
#include <numeric>
#include <vector>

#include "backends/cpu/sort.hpp"
#include "backends/cpu/strided.hpp"

namespace mx::cpu {
namespace {

constexpr int64_t part_keys = 1 << 17, look = 1 << 20;

// Neighbours that are equal would wait for each other's count: two tables take turns.
template <class Key>
void count(uint32_t *even, uint32_t *odd, const Key *in, int64_t n) {
  for (int64_t at = 0; at < n; at += look) {
    check_cancel();
    const int64_t end = std::min(n, at + look);
    int64_t i = at;
    for (; i + 2 <= end; i += 2) {
      even[in[i]]++;
      odd[in[i + 1]]++;
    }
    if (i < end) even[in[i]]++;
  }
}

template <class Key>
void sort(Key *out, const Key *in, int64_t n) {
  constexpr size_t n_values = size_t{1} << (8 * sizeof(Key)), slice = 256;
  const int64_t parts = std::clamp<int64_t>(n / part_keys, 1, std::max(1, num_threads()));
  std::vector<uint32_t> counts(2 * n_values * static_cast<size_t>(parts), 0);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      uint32_t *table = counts.data() + 2 * n_values * static_cast<size_t>(p);
      const int64_t first = n / parts * p, last = p + 1 == parts ? n : first + n / parts;
      count(table, table + n_values, in + first, last - first);
    }
  });
  std::vector<int64_t> totals(n_values, 0), starts{0};
  for (size_t table = 0; table < 2 * static_cast<size_t>(parts); table++)
    for (size_t v = 0; v < n_values; v++) totals[v] += counts[table * n_values + v];
  for (size_t v = 0; v < n_values; v += slice) {
    const auto first = totals.begin() + static_cast<ptrdiff_t>(v);
    starts.push_back(std::accumulate(first, first + slice, starts.back()));
  }
  const auto slices = static_cast<int64_t>(n_values / slice);
  parallel_for(slices, parts == 1 ? slices : 16, [&](int64_t begin, int64_t end) {
    Key *to = out + starts[static_cast<size_t>(begin)];
    for (size_t v = static_cast<size_t>(begin) * slice; v < static_cast<size_t>(end) * slice; v++)
      to = std::fill_n(to, totals[v], static_cast<Key>(v));
  });
}

}  // namespace

void sort_by_counting(uint8_t *out, const uint8_t *in, int64_t n) { sort(out, in, n); }
void sort_by_counting(uint16_t *out, const uint16_t *in, int64_t n) { sort(out, in, n); }

}  // namespace mx::cpu
