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

template <class Item>
void order_items(Item *items, Item *scratch, int64_t n, int key_bytes, int64_t kth) {
  if (kth == whole || n > sort_chunk) return sort_items(items, scratch, n, key_bytes);
  std::nth_element(items, items + kth, items + n);
}

template <class Item>
class Items {
 public:
  explicit Items(int64_t n) : buffer_(allocate(static_cast<size_t>(2 * n) * sizeof(Item))), n_(n) {}
  Item *items() const noexcept { return reinterpret_cast<Item *>(buffer_->data()); }
  Item *scratch() const noexcept { return items() + n_; }

 private:
  Ref<Buffer> buffer_;
  int64_t n_;
};

// Calls f(begin, end) so that long loops over a line look at cancel and run in parallel.
template <class F>
void for_line(int64_t n, F &&f) {
  if (n <= sort_chunk) return f(int64_t{0}, n);
  parallel_for(n, grain(2), f);
}

// The item for key and index; the index of an item.
template <class T>
using ArgItem = std::conditional_t<sizeof(T) <= 4, uint64_t, IndexedKey>;

template <class T>
ArgItem<T> make_item(T x, int64_t i) noexcept {
  if constexpr (sizeof(T) <= 4) {
    return uint64_t{order_key(x)} << (64 - 8 * sizeof(T)) | static_cast<uint64_t>(i);
  } else {
    return {order_key(x), static_cast<uint32_t>(i)};
  }
}
inline uint32_t index_of(uint64_t item) noexcept { return static_cast<uint32_t>(item); }
inline uint32_t index_of(const IndexedKey &item) noexcept { return item.index; }

template <class T>
struct ArgLine {
  using Item = ArgItem<T>;
  using Out = uint32_t;
  static void run(uint32_t *out, const T *in, const Items<Item> &space, int64_t n, int64_t kth) {
    Item *items = space.items();
    for_line(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) items[i] = make_item(in[i], i);
    });
    order_items(items, space.scratch(), n, sizeof(T), kth);
    for_line(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) out[i] = index_of(items[i]);
    });
  }
};

template <class T>
struct ValueLine {
  using Item = KeyOf<T>;
  using Out = T;
  static void run(T *out, const T *in, const Items<Item> &space, int64_t n, int64_t kth) {
    Item *items = space.items();
    for_line(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) items[i] = value_key(in[i]);
    });
    order_items(items, space.scratch(), n, sizeof(T), kth);
    for_line(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) out[i] = from_value_key<T>(items[i]);
    });
  }
};

// Keys of complex numbers do not tell the zeros apart, so values are fetched by index.
template <>
struct ValueLine<Complex64> {
  using Item = IndexedKey;
  using Out = Complex64;
  static void run(Complex64 *out, const Complex64 *in, const Items<Item> &space, int64_t n, int64_t kth) {
    Item *items = space.items();
    for_line(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) items[i] = make_item(in[i], i);
    });
    order_items(items, space.scratch(), n, sizeof(Complex64), kth);
    for_line(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) out[i] = in[items[i].index];
    });
  }
};

// Sorts row-major lines of n.
template <class T, class Line>
void sort_lines(const char *in, char *out, int64_t n_lines, int64_t n, int64_t kth) {
  const T *from = reinterpret_cast<const T *>(in);
  auto *to = reinterpret_cast<typename Line::Out *>(out);
  if (n > sort_chunk) {
    const Items<typename Line::Item> space(n);
    for (int64_t i = 0; i < n_lines; i++) Line::run(to + i * n, from + i * n, space, n, kth);
    return;
  }
  parallel_for(n_lines, grain(static_cast<double>(n) * 8 + 20), [&](int64_t begin, int64_t end) {
    const Items<typename Line::Item> space(n);
    for (int64_t i = begin; i < end; i++) Line::run(to + i * n, from + i * n, space, n, kth);
  });
}

Tensor with_axis_last(Tensor t, int64_t axis) {
  const auto a = static_cast<size_t>(axis);
  std::rotate(t.shape.begin() + a, t.shape.begin() + a + 1, t.shape.end());
  std::rotate(t.strides.begin() + a, t.strides.begin() + a + 1, t.strides.end());
  return t;
}

template <template <class> class Line>
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
    sort_lines<T, Line<T>>(in.tensor().data, lines.data, size_of(out) / n, n, kth);
  });
  if (!direct) copy(target, lines);
}

template <template <class> class Line>
void run_sort(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  run<Line>(call, normalize_axis(attrs.integer(), call.outputs[0].shape.size(), "sort"), whole);
}

template <template <class> class Line>
void run_partition(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const int64_t kth = attrs.integer(), axis = attrs.integer();
  const auto n_axis = normalize_axis(axis, call.outputs[0].shape.size(), "partition");
  const int64_t n = call.outputs[0].shape[static_cast<size_t>(n_axis)];
  run<Line>(call, n_axis, std::clamp<int64_t>(kth < 0 ? kth + n : kth, 0, std::max<int64_t>(n - 1, 0)));
}

}  // namespace

void sort(const KernelCall &call) { run_sort<ValueLine>(call); }
void argsort(const KernelCall &call) { run_sort<ArgLine>(call); }
void partition(const KernelCall &call) { run_partition<ValueLine>(call); }
void argpartition(const KernelCall &call) { run_partition<ArgLine>(call); }

}  // namespace mx::cpu
