// quantized_matmul and gather_qmm: batches of products with packed matrices.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/matmul_driver.hpp"
#include "backends/cpu/quantize/product.hpp"
#include "backends/cpu/strided.hpp"
#include "base/status.hpp"

namespace mx::cpu {
namespace {

// What all products of a call have in common.
struct Batch {
  AttrReader attrs;
  PackedFormat format;
  bool transposed;
  RowMajor x;
  PackedMatrices w;
  int64_t m, n, k;
  DType dtype;

  explicit Batch(const KernelCall &call)
      : attrs(call.attrs),
        format(attrs),
        transposed(attrs.boolean()),
        x(call.inputs[0]),
        w(format, call.inputs, 1),
        m(call.outputs[0].shape[call.outputs[0].shape.size() - 2]),
        n(call.outputs[0].shape.back()),
        k(x.tensor().shape.back()),
        dtype(call.outputs[0].dtype) {}
  int64_t x_bytes() const noexcept { return m * k * itemsize(dtype); }
  int64_t out_bytes() const noexcept { return m * n * itemsize(dtype); }
  PackedProduct product(const char *from, const packed::Rows &rows, char *to, int64_t count = 1) const noexcept {
    return {format, dtype, m * count, n, k, transposed, from, rows, to};
  }
};

std::span<const int64_t> batch_of(const Tensor &t) noexcept { return std::span(t.shape).first(t.shape.size() - 2); }

// Whole products over the pool where there are enough of them and each is short, else each over the pool.
template <class F>
void for_products(int64_t count, const Batch &b, F &&f) {
  const double ns = static_cast<double>(b.n) * static_cast<double>(b.k) * static_cast<double>(b.m) / 16;
  if (ns < 1e6 && count >= 2 * std::max(1, num_threads())) {
    parallel_for(count, Cost{ns}, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) f(i);
    });
    return;
  }
  for (int64_t i = 0; i < count; i++) f(i);
}

// Indices into a flattened batch of `size`, as positions: negative ones count from the end, others are clipped. Without
// an index array the batch as it is.
std::vector<int64_t> positions(const Tensor *indices, const Tensor &of, std::span<const int64_t> shape) {
  const int64_t size = product(batch_of(of)), count = product(shape);
  if (count > 0 && size == 0)
    fail(MX_ERROR_INDEX, "gather_qmm: cannot take matrices from an array of shape %s", to_string(of.shape).c_str());
  std::vector<int64_t> out(static_cast<size_t>(count));
  Tensor own{DType::int64, Dims(batch_of(of).begin(), batch_of(of).end()), {}, nullptr};
  std::optional<RowMajor> wide;
  std::vector<int64_t> all;
  if (indices) {
    own = wide.emplace(*indices, DType::int64).tensor();
  } else {
    all.resize(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    own.strides = row_major(own.shape, sizeof(int64_t));
    own.data = reinterpret_cast<char *>(all.data());
  }
  Walker<1> walker(shape);
  walker.operand(0, broadcast_strides(own, shape));
  walker.seek(0);
  for (int64_t &at : out) {
    const int64_t raw = *reinterpret_cast<const int64_t *>(own.data + walker.offset[0]);
    at = std::clamp<int64_t>(raw < 0 ? raw + size : raw, 0, size - 1);
    walker.next();
  }
  return out;
}

// Products with the same packed matrix, as one: their rows are brought together, and those of the result spread again.
void multiply_together(const Batch &b, const std::vector<int64_t> &lhs, const int64_t *which, int64_t count,
                       const packed::Rows &w, char *out) {
  if (count == 1)
    return multiply(
        b.product(b.x.tensor().data + lhs[static_cast<size_t>(*which)] * b.x_bytes(), w, out + *which * b.out_bytes()));
  const Scratch rows(count * b.x_bytes()), results(count * b.out_bytes());
  for (int64_t i = 0; i < count; i++)
    std::memcpy(rows.get() + i * b.x_bytes(), b.x.tensor().data + lhs[static_cast<size_t>(which[i])] * b.x_bytes(),
                static_cast<size_t>(b.x_bytes()));
  multiply(b.product(rows.get(), w, results.get(), count));
  for (int64_t i = 0; i < count; i++)
    std::memcpy(out + which[i] * b.out_bytes(), results.get() + i * b.out_bytes(), static_cast<size_t>(b.out_bytes()));
}

}  // namespace

void quantized_matmul(const KernelCall &call) {
  const Batch b(call);
  const Tensor &out = call.outputs[0];
  if (size_of(out) == 0) return;
  if (b.w.count() == 1) return multiply(b.product(b.x.tensor().data, b.w.at(0), out.data, product(batch_of(out))));
  const std::span<const int64_t> batch = batch_of(out);
  Dims strides = broadcast_strides(b.x.tensor(), out.shape);
  for_products(product(batch), b, [&](int64_t i) {
    int64_t offset = 0;
    for (size_t d = batch.size(), rest = static_cast<size_t>(i); d-- > 0; rest /= static_cast<size_t>(batch[d]))
      offset += static_cast<int64_t>(rest % static_cast<size_t>(batch[d])) * strides[d];
    multiply(b.product(b.x.tensor().data + offset, b.w.at(i, batch), out.data + i * b.out_bytes()));
  });
}

void gather_qmm(const KernelCall &call) {
  Batch b(call);
  const bool has_lhs = b.attrs.boolean(), has_rhs = b.attrs.boolean();
  const Tensor &out = call.outputs[0];
  if (size_of(out) == 0) return;
  size_t next = 1 + b.w.inputs();
  const Tensor *const lhs_tensor = has_lhs ? &call.inputs[next++] : nullptr;
  const Tensor *const rhs_tensor = has_rhs ? &call.inputs[next] : nullptr;
  const std::span<const int64_t> batch = batch_of(out);
  const std::vector<int64_t> lhs = positions(lhs_tensor, b.x.tensor(), batch),
                             rhs = positions(rhs_tensor, b.w.codes(), batch);
  std::vector<int64_t> order(rhs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return rhs[static_cast<size_t>(i)] < rhs[static_cast<size_t>(j)]; });
  std::vector<size_t> starts;  // of runs with the same matrix
  for (size_t i = 0; i < order.size(); i++)
    if (i == 0 || rhs[static_cast<size_t>(order[i])] != rhs[static_cast<size_t>(order[i - 1])]) starts.push_back(i);
  starts.push_back(order.size());
  for_products(static_cast<int64_t>(starts.size()) - 1, b, [&](int64_t run) {
    const size_t begin = starts[static_cast<size_t>(run)], end = starts[static_cast<size_t>(run) + 1];
    const packed::Rows w = b.w.at(rhs[static_cast<size_t>(order[begin])]);
    multiply_together(b, lhs, order.data() + begin, static_cast<int64_t>(end - begin), w, out.data);
  });
}

}  // namespace mx::cpu
