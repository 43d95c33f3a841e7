#include "backends/cpu/quantize/product.hpp"

#include <algorithm>
#include <cstring>

#include "backends/cpu/float_rows.hpp"
#include "backends/cpu/matmul_driver.hpp"
#include "runtime/pool.hpp"

namespace mx::cpu {
namespace {

packed::Rows rows_from(packed::Rows w, int64_t row) noexcept {
  w.codes += row * w.code_step;
  w.scales += row * w.scale_step;
  if (w.biases) w.biases += row * w.bias_step;
  return w;
}

// ---- few rows

constexpr int64_t few_rows = 8;

// The left operand as the kernels read it.
class OrderedRows {
 public:
  explicit OrderedRows(const PackedProduct &p)
      : k_(p.k), groups_(p.w.groups), memory_((p.m * (p.k + groups_) + p.k) * static_cast<int64_t>(sizeof(float))) {
    float *const one = vectors() + p.m * (k_ + groups_);
    for (int64_t i = 0; i < p.m; i++) {
      const char *row = p.x + i * p.k * itemsize(p.dtype);
      to_floats(one, row, p.dtype, p.k);
      p.format.kernels().order(vectors() + i * k_, one, k_);
      if (p.w.biases) packed::table().group_sums(sums(p.m) + i * groups_, one, p.w.group, groups_);
    }
  }
  float *vectors() const noexcept { return reinterpret_cast<float *>(memory_.get()); }
  float *sums(int64_t m) const noexcept { return vectors() + m * k_; }

 private:
  int64_t k_, groups_;
  Scratch memory_;
};

// Rows [begin, end) of the packed matrix with all vectors.
void multiply_range(const PackedProduct &p, const OrderedRows &x, int64_t begin, int64_t end) {
  constexpr int64_t at_once = 64;  // their codes stay in the cache for the next vectors
  float found[few_rows * at_once];
  FloatScratch scratch(packed::scratch_floats(p.w.groups));
  const bool direct = p.dtype == DType::float32;
  for (int64_t row = begin; row < end; row += at_once) {
    const int64_t rows = std::min(at_once, end - row);
    float *const to = direct ? reinterpret_cast<float *>(p.out) + row : found;
    const int64_t step = direct ? p.n : at_once;
    for (int64_t i = 0; i < p.m; i += packed::most_vectors)
      p.format.kernels().dot(to + i * step, step, rows_from(p.w, row), rows, x.vectors() + i * p.k, p.k,
                             x.sums(p.m) + i * p.w.groups, std::min<int64_t>(packed::most_vectors, p.m - i),
                             scratch.data());
    for (int64_t i = 0; i < p.m && !direct; i++)
      from_floats(p.out + (i * p.n + row) * itemsize(p.dtype), found + i * at_once, p.dtype, rows);
  }
}

void multiply_few(const PackedProduct &p) {
  const OrderedRows x(p);
  const double row_ns = static_cast<double>(p.k) * (0.035 + 0.015 * static_cast<double>(p.m)) + 10;
  parallel_for(p.n, Cost{row_ns}, [&](int64_t begin, int64_t end) {
    constexpr int64_t stretch = int64_t{1} << 24;  // numbers between two looks at cancel
    const int64_t most = std::max<int64_t>(64, stretch / p.k / p.m);
    for (int64_t row = begin; row < end; row += most) {
      if (row > begin) check_cancel();
      multiply_range(p, x, row, std::min(row + most, end));
    }
  });
}

// ---- many rows

// Parts of the matrix, unpacked.
class UnpackedPanels final : public PanelSource {
 public:
  explicit UnpackedPanels(const PackedProduct &p) : p_(p) {}
  void pack(const Product &p, void *to, int64_t k, int64_t depth, int64_t column, int64_t columns) const override {
    if (!p_.transposed) return pack_tile(p, to, k, depth, column, columns);
    const int64_t nr = p.kernels->nr, strip = nr * round_up(depth, p.kernels->k_unit) * p.kernels->packed_item;
    for (int64_t at = 0; at < columns; at += nr)
      pack_tile(p, static_cast<char *>(to) + at / nr * strip, k, depth, column + at, std::min(nr, columns - at));
  }

 private:
  // The packed matrix's own rows are the product's columns if it is transposed, and k runs along them.
  void pack_tile(const Product &p, void *to, int64_t k, int64_t depth, int64_t column, int64_t columns) const {
    const bool across = p_.transposed;
    const int64_t row = across ? column : k, rows = across ? columns : depth, first = across ? k : column,
                  length = across ? depth : columns, group = p_.w.group, from = first / group,
                  groups = ceil_div(first + length, group) - from, step = groups * group;
    const bool halves = p.kernels->packed_item == 2;
    const int64_t tile_bytes = round_up(rows * step * static_cast<int64_t>(sizeof(float)), 64);
    const int64_t scratch_bytes = round_up(packed::scratch_floats(groups) * static_cast<int64_t>(sizeof(float)), 64);
    const Scratch memory(tile_bytes + scratch_bytes + (halves ? rows * step * 2 : 0));
    float *const tile = reinterpret_cast<float *>(memory.get());
    p_.format.kernels().unpack(tile, step, rows_from(p_.w, row), rows, from, groups,
                               reinterpret_cast<float *>(memory.get() + tile_bytes));
    // Panels of float16 and bfloat16 hold floats, but for those that the dot products and the tile unit read.
    const char *data = memory.get();
    if (halves) {
      char *const rounded = memory.get() + tile_bytes + scratch_bytes;
      from_floats(rounded, tile, DType::bfloat16, rows * step);
      data = rounded;
    }
    const int64_t item = halves ? 2 : 4;
    data += (first - from * group) * item;
    const MatrixView b = across ? MatrixView{data, item, step * item} : MatrixView{data, step * item, item};
    (halves ? *p.kernels : matmul_level().float32).pack_b(to, b, depth, columns);
  }
  const PackedProduct &p_;
};

void multiply_many(const PackedProduct &p) {
  const UnpackedPanels panels(p);
  const int64_t item = itemsize(p.dtype);
  Product product{matmul_kernels(p.dtype, p.m, p.n, p.k),
                  p.m,
                  p.n,
                  p.k,
                  item,
                  {p.x, p.k * item, item},
                  {nullptr, 0, 0},
                  p.out,
                  {nullptr, 0, 0},
                  1,
                  0,
                  nullptr,
                  false,
                  nullptr,
                  nullptr,
                  0,
                  &panels};
  multiply_grouped(product);
}

}  // namespace

void multiply(const PackedProduct &p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) {
    std::memset(p.out, 0, static_cast<size_t>(p.m * p.n * itemsize(p.dtype)));
    return;
  }
  if (p.transposed && p.m <= few_rows) return multiply_few(p);
  multiply_many(p);
}

}  // namespace mx::cpu
