#include "transforms/rule.hpp"

#include <array>

#include "ops/reduce.hpp"
#include "ops/shape.hpp"

namespace mx::transforms {
namespace {

// clang-format off
#define WITH_RULE(X)                                                                                                \
  X(astype) X(full) X(copy) X(negative) X(absolute) X(sign) X(square) X(sqrt) X(rsqrt) X(reciprocal) X(exp) X(expm1) X(log) \
  X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(arcsin) X(arccos) X(arctan) X(sinh) X(cosh) X(tanh) X(arcsinh)   \
  X(arccosh) X(arctanh) X(erf) X(erfinv) X(sigmoid) X(conjugate) X(real) X(imag)                                    \
  X(add) X(subtract) X(multiply) X(divide) X(remainder) X(power) X(maximum) X(minimum) X(arctan2) X(logaddexp)      \
  X(hypot) X(copysign) X(nextafter) X(select)                                                                       \
  X(sum) X(prod) X(min) X(max) X(softmax) X(logsumexp)                                                              \
  X(reshape) X(flatten) X(unflatten) X(squeeze) X(expand_dims) X(transpose) X(broadcast_to) X(broadcast_like)       \
  X(slice) X(diagonal) X(as_strided) X(contiguous) X(depends) X(concatenate) X(roll)                                \
  X(gather) X(gather_axis) X(scatter) X(scatter_axis) X(slice_update) X(masked_scatter) X(dynamic_slice)            \
  X(dynamic_slice_update) X(matmul) X(addmm) X(scan) X(sort) X(partition) X(layer_norm) X(rms_norm) X(rope)            \
  X(attention) X(dequantize) X(quantized_matmul) X(gather_qmm) X(cholesky) X(inverse) X(solve) X(eigh)

// Piecewise constant, or of whole numbers, or random.
#define WITHOUT_GRADIENT(X)                                                                                        \
  X(constant) X(number_of_elements) X(floor) X(ceil) X(trunc) X(round) X(logical_not) X(bitwise_invert)    \
  X(isnan) X(isinf) X(isfinite) X(stop_gradient) X(floor_divide) X(equal) X(not_equal) X(less) X(less_equal)       \
  X(greater) X(greater_equal) X(equal_nan) X(logical_and) X(logical_or) X(logical_xor) X(bitwise_and)              \
  X(bitwise_or) X(bitwise_xor) X(left_shift) X(right_shift) X(all) X(any) X(arange) X(arg_reduce) X(argsort)       \
  X(argpartition) X(searchsorted) X(thread_key) X(random_bits) X(load)
// clang-format on
}  // namespace

#define X(name) MX_VJP(name);
WITH_RULE(X)
#undef X

namespace {

constexpr size_t n_ops = static_cast<size_t>(OpCode::count_);

constexpr std::array<Rule, n_ops> make_table() {
  std::array<Rule, n_ops> table = {};
#define X(name) table[static_cast<size_t>(OpCode::name)] = &vjp_##name;
  WITH_RULE(X)
#undef X
#define X(name) table[static_cast<size_t>(OpCode::name)] = &no_gradient;
  WITHOUT_GRADIENT(X)
#undef X
  return table;
}
constexpr std::array<Rule, n_ops> table = make_table();

}  // namespace

Rule rule_of(OpCode op) noexcept { return table[static_cast<size_t>(op)]; }
void no_gradient(Step &) {}
bool is_constant(OpCode op) noexcept { return rule_of(op) == &no_gradient; }

Value summed_to(const Value &x, const Dims &shape, const Ref<Stream> &s) {
  const Dims &wide = spec_of(x).shape;
  if (wide == shape) return x;
  const size_t more = wide.size() - shape.size();
  Dims axes, leading;
  for (size_t i = 0; i < wide.size(); i++) {
    if (i < more) leading.push_back(static_cast<int64_t>(i));
    if (i < more || (shape[i - more] == 1 && wide[i] != 1)) axes.push_back(static_cast<int64_t>(i));
  }
  const Value total = ops::sum(x, ops::List(axes), true, s);
  return ops::squeeze(total, ops::List(leading), s);
}

Step::Step(const Record &record, Values cotangents, std::span<const Interest> interests)
    : op(record.outputs[0].node->op),
      attrs(record.outputs[0].node->attrs),
      stream(record.outputs[0].node->stream),
      record_(record),
      cotangents_(cotangents),
      interests_(interests),
      given_(record.inputs.size()) {}

Term Step::g(size_t k) const {
  if (arrived(k)) return term(cotangents_[k]);
  const Value &out = record_.outputs[k];
  return term(ops::zeros_like(out, spec_of(out).dtype, stream));
}

void Step::give(size_t i, const Term &gradient) {
  if (!wants(i)) return;
  const Spec &spec = spec_of(record_.inputs[i]);
  Value v = ops::astype(summed_to(gradient.value, spec.shape, stream), spec.dtype, stream);
  given_[i] = given_[i].node ? ops::add(given_[i], std::move(v), stream) : std::move(v);
}

void Step::chain(const Term &derivative) { give(0, g() * conjugate(derivative)); }

void Step::need_no_indices(size_t first, size_t last) const {
  for (size_t i = first; i < last; i++)
    if (interests_[i].derives)
      fail(MX_ERROR_INVALID_ARGUMENT,
           "%s: the derivative with respect to indices does not exist; use stop_gradient on them", info(op).name);
}

}  // namespace mx::transforms
