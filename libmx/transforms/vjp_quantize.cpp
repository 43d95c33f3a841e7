// Derivatives of products with packed matrices, and of unpacking: with respect to what is floating, thus of scales and
// biases in affine mode only.
#include "ops/index.hpp"
#include "ops/matmul.hpp"
#include "ops/quantize.hpp"
#include "ops/reduce.hpp"
#include "ops/shape.hpp"
#include "transforms/rule.hpp"

namespace mx::transforms {
namespace {

using ops::List;

// The packed operand of a step, from input `first` on.
struct Packed {
  ops::Quantization q;
  bool scaled;
  size_t first;
  Value codes, scales, biases, global;

  Packed(const Step &t, AttrReader &attrs, size_t at)
      : q{static_cast<QuantMode>(attrs.integer()), attrs.integer(), attrs.integer()},
        scaled(attrs.boolean()),
        first(at),
        codes(t.x(at)),
        scales(t.x(at + 1)) {
    if (affine()) biases = t.x(at + 2);
    if (scaled) global = t.x(at + 2 + affine());
  }
  bool affine() const noexcept { return q.mode == QuantMode::affine; }
  size_t end() const noexcept { return first + 2 + affine() + scaled; }
  ops::PackedMatrix matrix(bool transpose) const {
    return {codes, scales, affine() ? &biases : nullptr, scaled ? &global : nullptr, transpose};
  }
  bool parameters_wanted(const Step &t) const noexcept {
    return affine() && (t.wants(first + 1) || t.wants(first + 2));
  }
  // Throws if a derivative with respect to the codes or to a global scale is wanted, or to scales in other modes.
  void need_differentiable(const Step &t) const {
    t.need_no_indices(first, first + 1 + !affine());
    t.need_no_indices(end() - scaled, end());
  }
};

Term summed(const Term &x) { return x.with(ops::sum(x, List(Dims{-1}), false, *x.stream)); }

// What scales and biases get, given the cotangent of the unpacked matrix.
void give_parameters(Step &t, const Packed &w, const Term &matrix) {
  if (!w.parameters_wanted(t)) return;
  const Ref<Stream> &s = t.stream;
  const auto grouped = [&](const Value &x) { return t.term(ops::unflatten(x, -1, Dims{-1, w.q.group}, s)); };
  const Term g = grouped(matrix);
  if (t.wants(w.first + 2)) t.give(w.first + 2, summed(g));
  if (!t.wants(w.first + 1)) return;
  const DType dtype = spec_of(w.scales).dtype;
  const Value ones = ops::ones_like(w.scales, dtype, s), zeros = ops::zeros_like(w.scales, dtype, s);
  const Value codes = ops::dequantize({w.codes, ones, &zeros}, w.q, matrix.dtype(), s);
  t.give(w.first + 1, summed(g * grouped(codes)));
}

Term swapped(const Term &x) { return x.with(ops::swapaxes(x, -1, -2, *x.stream)); }

// The cotangent of the unpacked matrix of a product, given that of the product.
Term of_matrix(const Term &g, const Term &x, bool transpose) {
  return transpose ? g.with(ops::matmul(swapped(g), x, *g.stream)) : g.with(ops::matmul(swapped(x), g, *g.stream));
}

// Adds matrices (batch..., rows, columns) to zeros of `shape`, at indices into its flattened batch.
Term added_at(const Dims &shape, const Value &indices, const Term &matrices) {
  const Ref<Stream> &s = *matrices.stream;
  const Dims &from = matrices.shape();
  const Value zeros = ops::zeros(shape, matrices.dtype(), s);
  const Value flat = shape.size() == 2 ? ops::expand_dims(zeros, Dims{0}, s) : ops::flatten(zeros, 0, -3, s);
  const Value index[] = {ops::broadcast_to(indices, List(from).first(from.size() - 2), s)};
  const Value updates = ops::expand_dims(matrices, Dims{static_cast<int64_t>(from.size()) - 2}, s);
  const Value sum = ops::scatter(flat, index, updates, Dims{0}, ScatterMode::add, s);
  return matrices.with(ops::reshape(sum, shape, s));
}

Dims unpacked_shape(const Packed &w) {
  Dims shape = spec_of(w.codes).shape;
  shape.back() = spec_of(w.scales).shape.back() * w.q.group;
  return shape;
}

// Sums what a batch of products gives one matrix, or matrices that were broadcast.
Term summed_to_matrix(const Term &gradient, const Packed &w) {
  return gradient.with(summed_to(gradient, unpacked_shape(w), *gradient.stream));
}

}  // namespace

MX_VJP(dequantize) {
  AttrReader attrs(t.attrs);
  const Packed w(t, attrs, 0);
  w.need_differentiable(t);
  give_parameters(t, w, t.g());
}

MX_VJP(quantized_matmul) {
  AttrReader attrs(t.attrs);
  const Packed w(t, attrs, 1);
  const bool transpose = attrs.boolean();
  w.need_differentiable(t);
  if (t.wants(0)) t.give(0, t.term(ops::quantized_matmul(t.g(), w.matrix(!transpose), w.q, t.stream)));
  if (w.parameters_wanted(t)) give_parameters(t, w, summed_to_matrix(of_matrix(t.g(), t.x(0), transpose), w));
}

MX_VJP(gather_qmm) {
  AttrReader attrs(t.attrs);
  const Packed w(t, attrs, 1);
  const bool transpose = attrs.boolean(), has_lhs = attrs.boolean(), has_rhs = attrs.boolean();
  w.need_differentiable(t);
  t.need_no_indices(w.end(), t.n_inputs());
  const Ref<Stream> &s = t.stream;
  const Value lhs = has_lhs ? t.x(w.end()).value : Value(), rhs = has_rhs ? t.x(w.end() + has_lhs).value : Value();
  if (t.wants(0)) {
    const Term each = t.term(ops::gather_qmm(t.g(), w.matrix(!transpose), w.q, {nullptr, has_rhs ? &rhs : nullptr}, s));
    t.give(0, has_lhs ? added_at(t.x(0).shape(), lhs, each) : each);
  }
  if (!w.parameters_wanted(t)) return;
  Term x = t.x(0);
  if (has_lhs) {
    const Value flat = x.shape().size() == 2 ? ops::expand_dims(x, Dims{0}, s) : ops::flatten(x, 0, -3, s);
    x = t.term(ops::take(flat, lhs, 0, s));
  }
  const Term each = of_matrix(t.g(), x, transpose);
  give_parameters(t, w, has_rhs ? added_at(unpacked_shape(w), rhs, each) : summed_to_matrix(each, w));
}

}  // namespace mx::transforms
