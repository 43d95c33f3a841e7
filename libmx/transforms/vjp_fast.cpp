// Derivatives of norms, rotary embedding and attention.
#include <limits>

#include "ops/fast.hpp"
#include "ops/index.hpp"
#include "ops/kinds.hpp"
#include "ops/matmul.hpp"
#include "ops/reduce.hpp"
#include "ops/shape.hpp"
#include "transforms/composed.hpp"

namespace mx::transforms {
namespace {

using ops::List;

Term mean_of_row(const Term &x) {
  const Dims last{static_cast<int64_t>(x.shape().size()) - 1};
  return x.with(ops::mean(x, List(last), true, *x.stream));
}

DType working(DType d) noexcept { return d == DType::float64 ? d : DType::float32; }

// y = r z w, where z is x or its distance from the mean, and r one over the root of the mean of z^2 plus eps.
void norm(Step &t, bool centred, double eps, bool has_weight, bool has_bias) {
  const DType d = working(t.x().dtype());
  const Term x = cast(t.x(), d), g = cast(t.g(), d);
  const Term z = centred ? x - mean_of_row(x) : x;
  const Term r = rsqrt(mean_of_row(square(z)) + eps), unit = z * r;
  if (t.wants(0)) {
    const Term weighted = has_weight ? g * cast(t.x(1), d) : g;
    const Term along = weighted - unit * mean_of_row(weighted * unit);
    t.give(0, r * (centred ? along - mean_of_row(weighted) : along));
  }
  if (has_weight && t.wants(1)) t.give(1, g * unit);
  if (has_bias) t.give(has_weight ? 2 : 1, g);
}

// The heads as groups that share keys: (batch, groups, heads of one, ...).
Value grouped(const Value &x, int64_t groups, const Ref<Stream> &s) {
  return spec_of(x).shape[1] == 1 ? ops::expand_dims(x, Dims{1}, s) : ops::unflatten(x, 1, Dims{groups, -1}, s);
}

Value causal_mask(const Value &scores, const Ref<Stream> &s) {
  const Dims &shape = spec_of(scores).shape;
  const int64_t n = shape[shape.size() - 2], m = shape[shape.size() - 1];
  return ops::tri(n, m, m - n, DType::bool_, s);
}

Value masked(const Step &t, const Value &scores, Values inputs, MaskKind kind, int64_t groups) {
  const Ref<Stream> &s = t.stream;
  if (kind == MaskKind::none) return scores;
  const DType d = spec_of(scores).dtype;
  const Value hidden = ops::scalar(-ops::largest_finite(t.x().dtype()), d);
  if (kind == MaskKind::causal) return ops::where(causal_mask(scores, s), scores, hidden, s);
  Value mask = inputs[3];
  Dims more;
  for (size_t i = spec_of(mask).shape.size(); i < 4; i++) more.push_back(static_cast<int64_t>(more.size()));
  mask = grouped(ops::expand_dims(mask, more, s), groups, s);
  return spec_of(mask).dtype == DType::bool_ ? ops::where(mask, scores, hidden, s)
                                             : ops::add(scores, ops::astype(mask, d, s), s);
}

// One more key per head, whose score is the sink and which has no value.
Value softmax_with_sinks(const Value &scores, const Value &sinks, int64_t groups, const Ref<Stream> &s) {
  const Value logits = ops::reshape(ops::astype(sinks, spec_of(scores).dtype, s), Dims{groups, -1, 1, 1}, s);
  Dims shape = spec_of(scores).shape;
  shape[4] = 1;
  const Value both[] = {ops::broadcast_to(logits, shape, s), scores};
  const Value weights = ops::softmax(ops::concatenate(both, -1, s), List(Dims{-1}), true, s);
  Dims start(5, 0), stop(5, INT64_MAX), step(5, 1);
  return ops::slice(weights, (start[4] = 1, List(start)), stop, step, s);
}

Value compose_attention(const Step &t, Values inputs) {
  AttrReader reader(t.attrs);
  const double scale = reader.real();
  const auto kind = static_cast<MaskKind>(reader.integer());
  const bool has_sinks = reader.boolean();
  const Ref<Stream> &s = t.stream;
  const DType d = working(t.x().dtype());
  const int64_t groups = spec_of(inputs[1]).shape[1];
  const Value q = ops::unflatten(ops::astype(inputs[0], d, s), 1, Dims{groups, -1}, s);
  const Value k = ops::expand_dims(ops::astype(inputs[1], d, s), Dims{2}, s);
  const Value v = ops::expand_dims(ops::astype(inputs[2], d, s), Dims{2}, s);
  const Value scaled = ops::multiply(q, ops::scalar(scale, d), s);
  const Value scores = masked(t, ops::matmul(scaled, ops::swapaxes(k, -1, -2, s), s), inputs, kind, groups);
  const Value weights =
      has_sinks ? softmax_with_sinks(scores, inputs.back(), groups, s) : ops::softmax(scores, List(Dims{-1}), true, s);
  return ops::flatten(ops::matmul(weights, v, s), 1, 2, s);
}

}  // namespace

MX_VJP(layer_norm) {
  AttrReader reader(t.attrs);
  const double eps = reader.real();
  const bool weight = reader.boolean();
  norm(t, true, eps, weight, reader.boolean());
}

MX_VJP(rms_norm) {
  AttrReader reader(t.attrs);
  const double eps = reader.real();
  norm(t, false, eps, reader.boolean(), false);
}

// The rotation back.
MX_VJP(rope) {
  AttrReader reader(t.attrs);
  const int64_t dims = reader.integer();
  const bool traditional = reader.boolean();
  const double base = reader.real(), scale = reader.real();
  const bool freqs = reader.boolean();
  t.need_no_indices(1, 2);
  if (freqs && t.wants(2)) fail(MX_ERROR_UNSUPPORTED, "rope: there is no derivative with respect to freqs");
  ValueVector inputs;
  for (size_t i = 0; i < t.n_inputs(); i++) inputs.push_back(t.x(i));
  inputs[0] = t.g();
  Attrs back;
  back.put(dims).put(traditional).put(base).put(-scale).put(freqs);
  t.give(0, t.term(make(OpCode::rope, std::move(back), std::move(inputs), t.stream)));
}

MX_VJP(attention) {
  if (element_count(t.y().shape()) != 0) through_composition(t, compose_attention);
}

}  // namespace mx::transforms
