// Rows as contiguous float32; see the header.
#include "backends/cpu/float_rows.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mx::cpu {
namespace {

constexpr int64_t fewest_streamed = int64_t{16} << 18;  // 16 MiB
constexpr int64_t longest_streamed = 1 << 13;           // a row and its result in half of the smallest first level

}  // namespace

FloatScratch::FloatScratch(int64_t n) {
  if (n <= inside) return;
  many_ = allocate(static_cast<size_t>(n) * sizeof(float));
  data_ = reinterpret_cast<float *>(many_->data());
}

void to_floats(float *out, const char *in, DType dtype, int64_t n) noexcept {
  const auto count = static_cast<size_t>(n);
  if (dtype == DType::float16) {
    rows::table().half_to_float(out, reinterpret_cast<const uint16_t *>(in), count);
  } else if (dtype == DType::bfloat16) {
    rows::table().bfloat_to_float(out, reinterpret_cast<const uint16_t *>(in), count);
  } else {
    std::memcpy(out, in, count * sizeof(float));
  }
}

void from_floats(char *out, const float *in, DType dtype, int64_t n) noexcept {
  const auto count = static_cast<size_t>(n);
  if (dtype == DType::float16) {
    rows::table().float_to_half(reinterpret_cast<uint16_t *>(out), in, count);
  } else if (dtype == DType::bfloat16) {
    rows::table().float_to_bfloat(reinterpret_cast<uint16_t *>(out), in, count);
  } else {
    std::memcpy(out, in, count * sizeof(float));
  }
}

FloatRows::FloatRows(const Tensor &t) : tensor_(t), length_(t.shape.empty() ? 1 : t.shape.back()) {
  const int64_t size = itemsize(t.dtype);
  if (tensor_.shape.empty()) {
    tensor_.shape = {1};
    tensor_.strides = {size};
  }
  n_rows_ = product(std::span(tensor_.shape).first(tensor_.shape.size() - 1));
  if (tensor_.strides.back() == size || length_ <= 1 || n_rows_ == 0) return;
  tensor_.strides = row_major(tensor_.shape, size);
  buffer_ = allocate(static_cast<size_t>(n_rows_ * length_ * size));
  tensor_.data = reinterpret_cast<char *>(buffer_->data());
  copy(tensor_, t);
}

RowCursor::RowCursor(const FloatRows &in, const Tensor &out, int64_t begin)
    : in_(in),
      out_(out),
      walker_(std::span(in.tensor().shape).first(in.tensor().shape.size() - 1)),
      index_(begin),
      streams_(in.tensor().dtype == DType::float32 && out.dtype == DType::float32 && in.length() <= longest_streamed &&
               in.n_rows() * in.length() >= fewest_streamed),
      scratch_(in.tensor().dtype == DType::float32 && out.dtype == DType::float32 && !streams_ ? 0 : in.length()) {
  walker_.operand(0, in.tensor().strides);
  walker_.seek(begin);
}

RowCursor::~RowCursor() {
#if defined(__SSE2__)
  if (streams_) _mm_sfence();
#endif
}

const float *RowCursor::read() {
  const char *row = in_.tensor().data + walker_.offset[0];
  if (in_.tensor().dtype == DType::float32) return reinterpret_cast<const float *>(row);
  to_floats(scratch_.data(), row, in_.tensor().dtype, in_.length());
  return scratch_.data();
}

float *RowCursor::target() noexcept {
  return out_.dtype == DType::float32 && !streams_ ? reinterpret_cast<float *>(out_row()) : scratch_.data();
}

void RowCursor::commit() {
  if (streams_)
    rows::table().stream(reinterpret_cast<float *>(out_row()), scratch_.data(), static_cast<size_t>(in_.length()));
  else if (out_.dtype != DType::float32)
    from_floats(out_row(), scratch_.data(), out_.dtype, in_.length());
  next();
}

void RowCursor::next() noexcept {
  index_++;
  walker_.next();
}

float max_of_row(const float *x, int64_t length) {
  if (length <= piece_length) return rows::table().maximum(x, static_cast<size_t>(length));
  SmallVector<float, 16> parts(static_cast<size_t>((length + piece_length - 1) / piece_length));
  for_pieces(length, [&](int64_t begin, int64_t n, int64_t p) {
    parts[static_cast<size_t>(p)] = rows::table().maximum(x + begin, static_cast<size_t>(n));
  });
  return rows::table().maximum(parts.data(), parts.size());
}

}  // namespace mx::cpu
