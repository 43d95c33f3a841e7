// sort, argsort, partition and argpartition along an axis: stable, NaN last (all NaN become one), complex by (re, im),
// -0 equal to +0 (sort and partition put -0 first). Lines are brought together, turned into integer keys and sorted.
// A partition puts the element of rank kth in its place, no larger one before and no smaller one behind it.
#include "backends/cpu/sort.hpp"

#include <algorithm>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/sort_key.hpp"
#include "backends/cpu/strided.hpp"
#include "backends/cpu/strided_copy.hpp"

namespace mx::cpu {
namespace {

constexpr int64_t whole = -1;  // kth: sort everything

template <class Key>
void order_keys(Key *keys, int64_t n, int64_t kth) {
  kth == whole ? sort_keys(keys, n) : select_key(keys, n, kth);
}

// Calls f(begin, end) so that long loops over a line look at cancel and run in parallel.
template <class F>
void for_line(int64_t n, F &&f) {
  if (n < long_line) return f(int64_t{0}, n);
  parallel_for(n, long_line / 2, f);
}

// ---- values, as the bits of their type

// Few keys of 8 or 16 bits are sorted as wider ones: counts would take longer to clear. So are those of 16 bits of
// which only one is to come to its place.
template <class T>
bool should_count(int64_t n, int64_t kth) noexcept {
  return sizeof(T) == 1 ? n >= 64 : n >= 1 << 16 && kth == whole;
}

template <class T>
void sort_narrow(KeyOf<T> *out, const KeyOf<T> *in, int64_t n, int64_t kth) {
  const auto key = [&](int64_t i) { return value_key(std::bit_cast<T>(in[i])); };
  if (should_count<T>(n, kth)) {
    for_line(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) out[i] = key(i);
    });
    sort_by_counting(out, out, n);
    return for_line(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) out[i] = std::bit_cast<KeyOf<T>>(from_value_key<T>(out[i]));
    });
  }
  SmallVector<int32_t, 256> wide(static_cast<size_t>(n));
  int32_t *const keys = wide.data();
  for_line(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) keys[i] = key(i);
  });
  order_keys(keys, n, kth);
  for_line(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      out[i] = std::bit_cast<KeyOf<T>>(from_value_key<T>(static_cast<KeyOf<T>>(keys[i])));
  });
}

// The keys are sorted where the results go.
template <class T>
void sort_wide(KeyOf<T> *out, const KeyOf<T> *in, int64_t n, int64_t kth) {
  using Key = std::make_signed_t<KeyOf<T>>;
  constexpr KeyOf<T> flip = std::is_signed_v<T> ? 0 : KeyOf<T>{1} << (8 * sizeof(T) - 1);
  Key *keys = reinterpret_cast<Key *>(out);
  const Key *bits = reinterpret_cast<const Key *>(in);
  for_line(n, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_floating_point_v<T>) {
      keys_from_floats(keys + begin, bits + begin, end - begin);
    } else {
      for (int64_t i = begin; i < end; i++) out[i] = in[i] ^ flip;
    }
  });
  order_keys(keys, n, kth);
  if constexpr (std::is_floating_point_v<T>) {
    for_line(n, [&](int64_t begin, int64_t end) { floats_from_keys(keys + begin, keys + begin, end - begin); });
  } else if constexpr (flip != 0) {
    for_line(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) out[i] ^= flip;
    });
  }
}

// ---- indices: sorted as items that hold a key, or its higher half, above the index

constexpr uint64_t sign_bit = uint64_t{1} << 63;

template <class T>
int64_t make_item(T x, int64_t i) noexcept {
  const uint64_t key = sizeof(T) == 8 ? uint64_t{order_key(x)} & ~uint64_t{UINT32_MAX}
                                      : uint64_t{order_key(x)} << (64 - 8 * sizeof(T)) % 64;
  return static_cast<int64_t>((key ^ sign_bit) | static_cast<uint64_t>(i));
}
uint32_t index_of(int64_t item) noexcept { return static_cast<uint32_t>(item); }
bool same_key(int64_t a, int64_t b) noexcept { return (a ^ b) >> 32 == 0; }

// The item of an element's lower half.
template <class T>
int64_t lower_item(const T *in, uint32_t index) noexcept {
  return static_cast<int64_t>((uint64_t{order_key(in[index])} << 32 ^ sign_bit) | index);
}

// Items whose higher halves are equal, put in the order of the lower ones.
template <class T>
void write_run(uint32_t *out, const T *in, const int64_t *items, int64_t n) {
  if (n == 1) {
    *out = index_of(*items);
    return;
  }
  SmallVector<int64_t, 64> lower(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; i++) lower[static_cast<size_t>(i)] = lower_item(in, index_of(items[i]));
  sort_keys(lower.data(), n);
  for (int64_t i = 0; i < n; i++) out[i] = index_of(lower[static_cast<size_t>(i)]);
}

// Sorted items of keys in halves to indices. Long runs of equal halves are sorted by all threads, one after the other.
template <class T>
void write_runs(uint32_t *out, const T *in, const int64_t *items, int64_t n) {
  constexpr int64_t step = long_line / 2;  // a long run goes over two multiples of it
  for (int64_t i = 0; i + step < n;) {
    if (!same_key(items[i], items[i + step])) {
      i += step;
      continue;
    }
    const auto [begin, end] =
        std::equal_range(items, items + n, items[i], [](int64_t a, int64_t b) { return a >> 32 < b >> 32; });
    if (end - begin >= long_line) write_run(out + (begin - items), in, begin, end - begin);
    i = (end - items + step - 1) / step * step;
  }
  parallel_for(n, long_line / 4, [&](int64_t first, int64_t last) {
    int64_t i = first;
    while (i > 0 && i < last && same_key(items[i - 1], items[i])) i++;
    for (int64_t end; i < last; i = end) {
      for (end = i + 1; end < n && same_key(items[i], items[end]);) end++;
      if (end - i < long_line) write_run(out + i, in, items + i, end - i);
    }
  });
}

// After a selection by the higher halves: the same by whole keys. Only items with the half of the one in question may
// be in the wrong place.
template <class T>
void select_lower(const T *in, int64_t *items, int64_t n, int64_t kth) {
  const int64_t half = items[kth];
  const auto differs = [&](int64_t item) { return !same_key(item, half); };
  const auto equals = [&](int64_t item) { return same_key(item, half); };
  int64_t *const begin = std::partition(items, items + kth, differs);
  int64_t *const end = std::partition(items + kth + 1, items + n, equals);
  if (end - begin == 1) return;
  for (int64_t *item = begin; item < end; item++) *item = lower_item(in, index_of(*item));
  select_key(begin, end - begin, items + kth - begin);
}

template <class T>
void argsort_line(uint32_t *out, const T *in, int64_t *items, int64_t n, int64_t kth) {
  for_line(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) items[i] = make_item(in[i], i);
  });
  order_keys(items, n, kth);
  if constexpr (sizeof(T) == 8) {
    if (kth == whole) return write_runs(out, in, items, n);
    select_lower(in, items, n, kth);
  }
  for_line(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) out[i] = index_of(items[i]);
  });
}

// By the imaginary parts and then, because that is stable, by the real ones. A partition is a whole sort here.
void argsort_line(uint32_t *out, const Complex128 *in, int64_t *items, int64_t n, int64_t) {
  SmallVector<double, 64> keys(static_cast<size_t>(n));
  SmallVector<uint32_t, 64> order(static_cast<size_t>(n));
  double *const part = keys.data();
  uint32_t *const by_imaginary = order.data();
  for_line(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) part[i] = in[i].im;
  });
  argsort_line<double>(by_imaginary, part, items, n, whole);
  for_line(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) part[i] = in[by_imaginary[i]].re;
  });
  argsort_line<double>(out, part, items, n, whole);
  for_line(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) out[i] = by_imaginary[out[i]];
  });
}

// ---- lines

// What a thread needs beside the line itself.
class Scratch {
 public:
  explicit Scratch(int64_t bytes) : buffer_(allocate(static_cast<size_t>(std::max<int64_t>(bytes, 1)))) {}
  int64_t *items() const noexcept { return reinterpret_cast<int64_t *>(buffer_->data()); }

 private:
  Ref<Buffer> buffer_;
};

struct Indices {
  template <class T>
  static constexpr int64_t scratch_bytes = sizeof(int64_t);  // per element

  template <class T>
  static void run(char *out, const char *in, const Scratch &scratch, int64_t n, int64_t kth) {
    argsort_line(reinterpret_cast<uint32_t *>(out), reinterpret_cast<const T *>(in), scratch.items(), n, kth);
  }
};

struct Values {
  template <class T>
  static constexpr int64_t scratch_bytes = is_complex_number<T> ? sizeof(int64_t) + sizeof(uint32_t) : 0;

  template <class T>
  static void run(char *out, const char *in, const Scratch &scratch, int64_t n, int64_t kth) {
    if constexpr (is_complex_number<T>) {
      // Keys of complex numbers do not tell the zeros apart, so values are fetched by index.
      T *const values = reinterpret_cast<T *>(out);
      const T *const given = reinterpret_cast<const T *>(in);
      auto *order = reinterpret_cast<uint32_t *>(scratch.items() + n);
      argsort_line(order, given, scratch.items(), n, kth);
      return for_line(n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) values[i] = given[order[i]];
      });
    }
    auto *to = reinterpret_cast<KeyOf<T> *>(out);
    const auto *from = reinterpret_cast<const KeyOf<T> *>(in);
    if constexpr (is_complex_number<T>) {
      (void)to, (void)from;
    } else if constexpr (sizeof(T) <= 2) {
      sort_narrow<T>(to, from, n, kth);
    } else {
      sort_wide<T>(to, from, n, kth);
    }
  }
};

// Sorts row-major lines of n. Every thread takes whole ones if they are many, and short enough for a cancel.
template <class T, class What>
void sort_lines(const char *in, char *out, int64_t out_size, int64_t n_lines, int64_t n, int64_t kth) {
  const auto lines = [&](int64_t begin, int64_t end) {
    const Scratch scratch(n * What::template scratch_bytes<T>);
    for (int64_t i = begin; i < end; i++)
      What::template run<T>(out + i * n * out_size, in + i * n * static_cast<int64_t>(sizeof(T)), scratch, n, kth);
  };
  if (n >= long_line && (n_lines < 4 * num_threads() || n > 4 * long_line)) return lines(0, n_lines);
  parallel_for(n_lines, Cost{static_cast<double>(n) * 4 + 20}, lines);
}

Tensor with_axis_last(Tensor t, int64_t axis) {
  const auto a = static_cast<size_t>(axis);
  std::rotate(t.shape.begin() + a, t.shape.begin() + a + 1, t.shape.end());
  std::rotate(t.strides.begin() + a, t.strides.begin() + a + 1, t.strides.end());
  return t;
}

template <class What>
void run(const KernelCall &call, int64_t axis, int64_t kth) {
  const Tensor &out = call.outputs[0];
  if (size_of(out) == 0) return;
  const int64_t n = out.shape[static_cast<size_t>(axis)];
  const Tensor target = with_axis_last(out, axis);
  const RowMajor in(with_axis_last(call.inputs[0], axis));
  // Sorted lines go straight to the output if the axis is its last one.
  Tensor lines = target;
  lines.strides = row_major(lines.shape, itemsize(out.dtype));
  const bool direct = lines.strides == target.strides;
  Ref<Buffer> buffer;
  if (!direct) {
    buffer = allocate(static_cast<size_t>(size_of(out) * itemsize(out.dtype)));
    lines.data = reinterpret_cast<char *>(buffer->data());
  }
  visit(call.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    sort_lines<T, What>(in.tensor().data, lines.data, itemsize(out.dtype), size_of(out) / n, n, kth);
  });
  if (!direct) copy(target, lines);
}

template <class What>
void run_sort(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  run<What>(call, normalize_axis(attrs.integer(), call.outputs[0].shape.size(), "sort"), whole);
}

template <class What>
void run_partition(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const int64_t kth = attrs.integer(), axis = attrs.integer();
  const auto n_axis = normalize_axis(axis, call.outputs[0].shape.size(), "partition");
  const int64_t n = call.outputs[0].shape[static_cast<size_t>(n_axis)];
  run<What>(call, n_axis, std::clamp<int64_t>(kth < 0 ? kth + n : kth, 0, std::max<int64_t>(n - 1, 0)));
}

}  // namespace

void sort(const KernelCall &call) { run_sort<Values>(call); }
void argsort(const KernelCall &call) { run_sort<Indices>(call); }
void partition(const KernelCall &call) { run_partition<Values>(call); }
void argpartition(const KernelCall &call) { run_partition<Indices>(call); }

}  // namespace mx::cpu
