// What the attributes of an op on packed matrices say, and its packed operand as the level's kernels take it.
#pragma once
#include <optional>

#include "backends/cpu/kernel.hpp"
#include "backends/cpu/quantize/level.hpp"
#include "backends/cpu/strided_copy.hpp"
#include "ops/kinds.hpp"

namespace mx::cpu {

struct PackedFormat {
  QuantMode mode;
  int64_t group, bits;
  bool scaled;  // by a global scale
  packed::CodeKind codes;
  packed::ScaleKind scales;  // of the float formats

  explicit PackedFormat(AttrReader &attrs) noexcept;
  const packed::Codes &kernels() const noexcept { return packed::table().codes[codes]; }
  bool has_biases() const noexcept { return mode == QuantMode::affine; }
  // Of `scales`, where the mode leaves the choice.
  packed::ScaleKind scale_kind(DType scale_dtype) const noexcept;
};

// The tensors of a packed matrix or a batch of them, each row of which lies in one piece.
class PackedMatrices {
 public:
  // The operands of a call from `first` on: codes, scales, biases if the format has them, a global scale if it has one.
  PackedMatrices(const PackedFormat &format, std::span<const Tensor> inputs, size_t first);
  size_t inputs() const noexcept { return inputs_; }
  const Tensor &codes() const noexcept { return codes_.tensor(); }
  int64_t count() const noexcept;  // of matrices in the batch
  // The one at an index into the flattened batch.
  packed::Rows at(int64_t index) const noexcept;
  // The one at a row-major index into `batch`, to which the batch of these is broadcast.
  packed::Rows at(int64_t index, std::span<const int64_t> batch) const noexcept;

 private:
  class Pieces {
   public:
    explicit Pieces(const Tensor &t);
    const Tensor &tensor() const noexcept { return copy_ ? copy_->tensor() : tensor_; }

   private:
    Tensor tensor_;
    std::optional<RowMajor> copy_;
  };
  packed::Rows first() const noexcept;
  Pieces codes_, scales_;
  std::optional<Pieces> biases_;
  PackedFormat format_;
  size_t inputs_;
  float factor_ = 1;
};

// The largest number that nvfp4 holds without a global scale: of e4m3 times that of e2m1. A global scale stands for it.
constexpr float nvfp4_largest = 448.f * 6.f;

}  // namespace mx::cpu
