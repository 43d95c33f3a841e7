#include "backends/cpu/quantize/format.hpp"

#include <cstring>

namespace mx::cpu {
namespace {

packed::CodeKind codes_of(QuantMode mode, int64_t bits) noexcept {
  if (mode == QuantMode::mxfp8) return packed::fp8;
  if (mode != QuantMode::affine) return packed::fp4;
  switch (bits) {
    case 2:
      return packed::uint2;
    case 3:
      return packed::uint3;
    case 4:
      return packed::uint4;
    case 5:
      return packed::uint5;
    case 6:
      return packed::uint6;
    default:
      return packed::uint8;
  }
}

// The offset in bytes of a row-major index into `batch`, to which the batch dimensions of t are broadcast.
int64_t batch_offset(const Tensor &t, int64_t index, std::span<const int64_t> batch) noexcept {
  const size_t own = t.shape.size() - 2;
  int64_t offset = 0;
  for (size_t d = batch.size(); d-- > 0; index /= batch[d]) {
    if (own + d < batch.size()) break;
    const size_t at = own + d - batch.size();
    if (t.shape[at] != 1) offset += index % batch[d] * t.strides[at];
  }
  return offset;
}

std::span<const int64_t> batch_of(const Tensor &t) noexcept { return std::span(t.shape).first(t.shape.size() - 2); }

int64_t row_step(const Tensor &t) noexcept { return t.strides[t.shape.size() - 2]; }

}  // namespace

PackedFormat::PackedFormat(AttrReader &attrs) noexcept
    : mode(static_cast<QuantMode>(attrs.integer())),
      group(attrs.integer()),
      bits(attrs.integer()),
      scaled(attrs.boolean()),
      codes(codes_of(mode, bits)),
      scales(mode == QuantMode::nvfp4 ? packed::e4m3 : packed::e8m0) {}

packed::ScaleKind PackedFormat::scale_kind(DType scale_dtype) const noexcept {
  if (!has_biases()) return scales;
  return scale_dtype == DType::float16 ? packed::f16 : scale_dtype == DType::bfloat16 ? packed::bf16 : packed::f32;
}

PackedMatrices::Pieces::Pieces(const Tensor &t) : tensor_(t) {
  if (t.shape.back() > 1 && t.strides.back() != itemsize(t.dtype)) copy_.emplace(t);
}

PackedMatrices::PackedMatrices(const PackedFormat &format, std::span<const Tensor> inputs, size_t first)
    : codes_(inputs[first]), scales_(inputs[first + 1]), format_(format), inputs_(2) {
  if (format.has_biases()) biases_.emplace(inputs[first + inputs_++]);
  if (!format.scaled) return;
  std::memcpy(&factor_, inputs[first + inputs_++].data, sizeof factor_);
  factor_ /= nvfp4_largest;
}

int64_t PackedMatrices::count() const noexcept {
  int64_t n = 1;
  for (int64_t size : batch_of(codes())) n *= size;
  return n;
}

packed::Rows PackedMatrices::first() const noexcept {
  const Tensor &s = scales_.tensor();
  return {codes().data,
          s.data,
          biases_ ? biases_->tensor().data : nullptr,
          row_step(codes()),
          row_step(s),
          biases_ ? row_step(biases_->tensor()) : 0,
          format_.scale_kind(s.dtype),
          factor_,
          format_.group,
          s.shape.back()};
}

packed::Rows PackedMatrices::at(int64_t index) const noexcept { return at(index, batch_of(codes())); }

packed::Rows PackedMatrices::at(int64_t index, std::span<const int64_t> batch) const noexcept {
  packed::Rows rows = first();
  rows.codes += batch_offset(codes(), index, batch);
  rows.scales += batch_offset(scales_.tensor(), index, batch);
  if (rows.biases) rows.biases += batch_offset(biases_->tensor(), index, batch);
  return rows;
}

}  // namespace mx::cpu
