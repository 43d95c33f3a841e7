// Rows along the last axis as contiguous float32, whatever the dtype and layout, and loops over long rows in pieces.
// Relies on rows/rows.hpp for the conversions and on strided_copy.hpp.
#pragma once
#include "backends/cpu/element.hpp"
#include "backends/cpu/rows/rows.hpp"
#include "backends/cpu/strided.hpp"
#include "backends/cpu/strided_copy.hpp"

namespace mx::cpu {

// Floats for one thread's use: inside the object if they are few, else from the pool.
class FloatScratch {
 public:
  explicit FloatScratch(int64_t n);
  float *data() noexcept { return data_; }

 private:
  static constexpr int64_t inside = 1024;
  alignas(64) float few_[inside];
  Ref<Buffer> many_;
  float *data_ = few_;
};

// Reads and writes n elements of dtype float16, bfloat16 or float32 as float32.
void to_floats(float *out, const char *in, DType dtype, int64_t n) noexcept;
void from_floats(char *out, const float *in, DType dtype, int64_t n) noexcept;

// A tensor of float16, bfloat16 or float32 whose last axis lies contiguously, copied if it does not.
class FloatRows {
 public:
  explicit FloatRows(const Tensor &t);
  int64_t n_rows() const noexcept { return n_rows_; }
  int64_t length() const noexcept { return length_; }
  const Tensor &tensor() const noexcept { return tensor_; }

 private:
  Ref<Buffer> buffer_;
  Tensor tensor_;
  int64_t length_, n_rows_;
};

// Walks rows [begin, ...) of an input together with those of a row-major output of the same shape, in one thread.
class RowCursor {
 public:
  RowCursor(const FloatRows &in, const Tensor &out, int64_t begin);
  ~RowCursor();
  RowCursor(const RowCursor &) = delete;
  RowCursor &operator=(const RowCursor &) = delete;
  const float *read();       // the row
  float *target() noexcept;  // where its result goes
  void commit();             // converts the result if need be and goes to the next row
  void next() noexcept;      // goes to the next row, nothing is written

 private:
  char *out_row() const noexcept { return out_.data + index_ * in_.length() * itemsize(out_.dtype); }
  const FloatRows &in_;
  const Tensor &out_;
  Walker<1> walker_;
  int64_t index_;
  // Results of float32 that are larger than what the caches keep, and rows that fit the first level, go past them.
  bool streams_;
  FloatScratch scratch_;
};

// The longest piece that is handled without looking at cancel; sums of pieces are added in double, in order.
constexpr int64_t piece_length = 1 << 16;

// Calls f(begin, n, piece) for the pieces of a row, in parallel if the caller is not.
template <class F>
void for_pieces(int64_t length, F &&f) {
  if (length <= piece_length) return f(int64_t{0}, length, int64_t{0});
  parallel_for((length + piece_length - 1) / piece_length, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      f(p * piece_length, std::min(piece_length, length - p * piece_length), p);
    }
  });
}

// The sum of f(begin, n) over the pieces of a row.
template <class F>
double sum_pieces(int64_t length, F &&f) {
  if (length <= piece_length) return static_cast<double>(f(int64_t{0}, length));
  SmallVector<double, 16> parts(static_cast<size_t>((length + piece_length - 1) / piece_length));
  for_pieces(length, [&](int64_t begin, int64_t n, int64_t p) { parts[static_cast<size_t>(p)] = f(begin, n); });
  double sum = 0;
  for (double part : parts) sum += part;
  return sum;
}

// The largest of a row, NaN if there is one.
float max_of_row(const float *x, int64_t length);

// Calls f(begin, end) for ranges of rows: in parallel, or one by one if each row is long enough to be parallel itself.
template <class F>
void for_rows(int64_t n_rows, int64_t length, double ns_per_element, F &&f) {
  if (length > 4 * piece_length) {
    for (int64_t i = 0; i < n_rows; i++) f(i, i + 1);
  } else {
    parallel_for(n_rows, Cost{20 + static_cast<double>(length) * ns_per_element}, f);
  }
}

}  // namespace mx::cpu
