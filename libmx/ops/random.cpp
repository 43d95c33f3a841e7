// Random draws: all are compositions over random_bits, with the formulas of MLX, so that the same key gives the same
// float32 numbers.
#include "ops/random.hpp"

#include <cmath>
#include <limits>

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/index.hpp"
#include "ops/linalg.hpp"
#include "ops/matmul.hpp"
#include "ops/reduce.hpp"
#include "ops/rules.hpp"
#include "ops/shape.hpp"
#include "ops/sort.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

void need_floating(DType d, const char *op) {
  if (!is_floating(d)) bad_dtype(op, d, "floating dtypes");
}

// Throws SHAPE unless the parameter broadcasts to the shape of the draw.
void need_fit(const Value &parameter, List shape, const char *op) {
  rules::need_broadcastable(shape_of(parameter), shape, op);
}

// Draws are made in float32, float64 if that is asked for.
DType working(DType d) noexcept { return d == DType::float64 ? DType::float64 : DType::float32; }

// The largest number below 1.
double below_one(DType d) noexcept {
  switch (d) {
    case DType::float16:
      return 1 - 0x1p-11;
    case DType::bfloat16:
      return 1 - 0x1p-8;
    case DType::float64:
      return 1 - 0x1p-53;
    default:
      return 1 - 0x1p-24;
  }
}

// Uniform in [0, 1): 32 random bits, 64 for float64.
Value unit(List shape, DType d, const Value *key, const StreamRef &s) {
  if (d != DType::float64) {
    const Value bits = astype(random_bits(shape, 4, key, s), DType::float32, s);
    const Value fraction = multiply(bits, scalar(0x1p-32, DType::float32), s);
    return minimum(astype(fraction, d, s), scalar(below_one(d), d), s);
  }
  Dims wide(shape.begin(), shape.end());
  wide.push_back(2);
  const Value words = astype(random_bits(wide, 4, key, s), d, s);
  const auto word = [&](int64_t i) {
    return squeeze(slice_axis(words, wide.size() - 1, i, i + 1, 1, s), List(Dims{-1}), s);
  };
  const Value low = multiply(word(1), scalar(0x1p-64, d), s);
  return minimum(add(multiply(word(0), scalar(0x1p-32, d), s), low, s), scalar(below_one(d), d), s);
}

// From `low` to below `high`, all of one dtype.
Value between(const Value &low, const Value &high, List shape, const Value *key, const StreamRef &s) {
  const Value u = unit(shape, dtype_of(low), key, s);
  return add(multiply(subtract(high, low, s), u, s), low, s);
}

// Standard normal by the inverse of the distribution function.
Value standard_normal(List shape, DType d, const Value *key, const StreamRef &s) {
  const Value low = scalar(-below_one(d), d), one = scalar(1, d);
  return multiply(scalar(M_SQRT2, d), erfinv(between(low, one, shape, key, s), s), s);
}

Value complex_normal(List shape, DType d, const Value *key, const StreamRef &s) {
  Dims wide(shape.begin(), shape.end());
  wide.push_back(2);
  const DType part = part_dtype(d);
  const Value parts = multiply(standard_normal(wide, part, key, s), scalar(M_SQRT1_2, part), s);
  return squeeze(view_dtype(parts, d, s), List(Dims{-1}), s);
}

Dims without(const Dims &shape, size_t axis) {
  Dims out = shape;
  out.erase(axis);
  return out;
}

// Draws from one distribution: where uniform numbers fall among the running sums of its weights. As in MLX; noise would
// take a number per category and draw.
Value inverse_draw(const Value &logits, List shape, const Value *key, const StreamRef &s) {
  const DType d = promote(dtype_of(logits), DType::float32);
  const Value x = flatten(astype(logits, d, s), 0, -1, s), top = max(x, {}, false, s);
  // an infinite maximum takes all: x - top would be NaN
  const Value weights = where(isinf(top, s), astype(equal(x, top, s), d, s), exp(subtract(x, top, s), s), s);
  const Value before = scan(ScanKind::sum, weights, 0, false, false, s);
  const Value u = multiply(unit(shape, DType::float32, key, s), sum(weights, {}, false, s), s);
  return subtract(searchsorted(before, u, true, s), scalar(1, DType::uint32), s);
}

// The index of the largest of logits + Gumbel noise is distributed as softmax(logits). The noise has `shape` with the
// axis of the logits put in where it is counted from the end.
Value categorical_draw(const Value &logits, size_t axis, List shape, const Value *key, const StreamRef &s) {
  const int64_t n = shape_of(logits)[axis];
  if (n > 0 && n == element_count(shape_of(logits)) && !shape.empty() && !is_complex(dtype_of(logits)))
    return inverse_draw(logits, shape, key, s);
  Dims noise(shape.begin(), shape.end());
  const size_t at = axis + shape.size() + 1 - rank_of(logits);
  noise.insert(at, n);
  const Value x = add(logits, gumbel(noise, DType::float32, key, s), s);
  return arg_reduce(true, x, static_cast<int64_t>(at), false, s);
}

}  // namespace

Value random_bits(List shape, int64_t width, const Value *key, const StreamRef &s) {
  const Value from = key ? *key : next_key();
  return make(OpCode::random_bits, Attrs().put(shape).put(width), {from}, s);
}

Value random_split(const Value &key, int64_t n, const StreamRef &s) {
  if (n < 0) fail(MX_ERROR_INVALID_ARGUMENT, "random_split: num is %lld", static_cast<long long>(n));
  return random_bits(Dims{n, 2}, 4, &key, s);
}

Value uniform(const Value &low, const Value &high, List shape, DType d, const Value *key, const StreamRef &s) {
  need_floating(d, "uniform");
  need_fit(low, shape, "uniform"), need_fit(high, shape, "uniform");
  const Value from = astype(low, d, s), to = astype(high, d, s);
  const Value x = between(from, to, shape, key, s);
  // rounding may have reached the bound, which does not belong to the range
  return where(equal(x, to, s), from, x, s);
}

Value normal(List shape, DType d, const Value *loc, const Value *scale, const Value *key, const StreamRef &s) {
  if (!is_inexact(d)) bad_dtype("normal", d, "floating and complex dtypes");
  const Value drawn = is_complex(d) ? complex_normal(shape, d, key, s) : standard_normal(shape, working(d), key, s);
  Value x = astype(drawn, d, s);
  for (const Value *parameter : {scale, loc}) {
    if (!parameter) continue;
    need_fit(*parameter, shape, "normal");
    const Value y = astype(*parameter, d, s);
    x = parameter == scale ? multiply(x, y, s) : add(x, y, s);
  }
  return x;
}

Value multivariate_normal(const Value &mean, const Value &cov, List shape, DType d, const Value *key,
                          const StreamRef &s) {
  if (d != DType::float32) bad_dtype("multivariate_normal", d, "float32");
  const size_t m = rank_of(mean), c = rank_of(cov);
  const bool fit =
      m >= 1 && c >= 2 && shape_of(cov)[c - 1] == shape_of(cov)[c - 2] && shape_of(cov)[c - 1] == shape_of(mean)[m - 1];
  if (!fit)
    fail(MX_ERROR_SHAPE, "multivariate_normal: a mean of shape %s and a covariance of shape %s",
         to_string(shape_of(mean)).c_str(), to_string(shape_of(cov)).c_str());
  const int64_t n = shape_of(mean)[m - 1];
  Dims batch =
      broadcast_shapes(List(shape_of(mean)).first(m - 1), List(shape_of(cov)).first(c - 2), "multivariate_normal");
  if (!shape.empty()) rules::need_broadcastable(batch, shape, "multivariate_normal");
  if (!shape.empty()) batch = Dims(shape.begin(), shape.end());
  batch.push_back(n);
  // cov = v^T diag(w) v, so rows of noise * sqrt(w) v have this covariance
  const ValueList factors = svd(astype(cov, d, s), true, s);
  const Value noise = standard_normal(batch, d, key, s);
  const Value scaled = multiply(noise, sqrt(factors[1], s), s);
  const Value rows = matmul(expand_dims(scaled, Dims{-2}, s), factors[2], s);
  return add(squeeze(rows, List(Dims{-2}), s), astype(mean, d, s), s);
}

Value randint(const Value &low, const Value &high, List shape, DType d, const Value *key, const StreamRef &s) {
  if (is_inexact(d)) bad_dtype("randint", d, "integers and bool");
  need_fit(low, shape, "randint"), need_fit(high, shape, "randint");
  const DType work = d == DType::uint64 ? DType::uint64 : DType::int64;
  const Value from = astype(low, work, s), to = astype(high, work, s);
  // read as unsigned, a difference that wrapped around is right
  const Value gap = where(less(from, to, s), subtract(to, from, s), scalar(1, work), s);
  const Value range = astype(gap, DType::uint64, s);
  Value offset;
  if (itemsize(d) == 8) {
    Dims pairs(shape.begin(), shape.end());
    pairs.push_back(2);
    const Value bits = view_dtype(random_bits(pairs, 4, key, s), DType::uint64, s);
    offset = remainder(squeeze(bits, List(Dims{-1}), s), range, s);
  } else {  // the upper half of bits * range
    const Value bits = astype(random_bits(shape, 4, key, s), DType::uint64, s);
    offset = right_shift(multiply(bits, range, s), scalar(32, DType::uint64), s);
  }
  return astype(add(astype(offset, work, s), from, s), d, s);
}

Value bernoulli(const Value &p, const std::optional<List> &shape, const Value *key, const StreamRef &s) {
  const Dims target = shape ? Dims(shape->begin(), shape->end()) : shape_of(p);
  need_floating(dtype_of(p), "bernoulli");  // an integer is a mistake: only 0 and 1 would be probabilities
  need_fit(p, target, "bernoulli");
  return less(unit(target, DType::float32, key, s), astype(p, DType::float32, s), s);
}

Value truncated_normal(const Value &lower, const Value &upper, const std::optional<List> &shape, DType d,
                       const Value *key, const StreamRef &s) {
  need_floating(d, "truncated_normal");
  Dims target;
  if (shape) {
    target = Dims(shape->begin(), shape->end());
    need_fit(lower, target, "truncated_normal"), need_fit(upper, target, "truncated_normal");
  } else {
    target = broadcast_shapes(shape_of(lower), shape_of(upper), "truncated_normal");
  }
  const DType work = working(d);
  const Value root = scalar(M_SQRT2, work), low = astype(lower, work, s), high = astype(upper, work, s);
  const Value from = erf(divide(low, root, s), s), to = erf(divide(high, root, s), s);
  const Value x = multiply(root, erfinv(between(from, to, target, key, s), s), s);
  return astype(maximum(minimum(x, high, s), low, s), d, s);  // rounding may have left the range; of an empty one: low
}

Value gumbel(List shape, DType d, const Value *key, const StreamRef &s) {
  need_floating(d, "gumbel");
  const DType work = working(d);
  // log(0) would be an infinite draw
  const double least = work == DType::float64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const Value u = maximum(unit(shape, work, key, s), scalar(least, work), s);
  return astype(negative(log(negative(log(u, s), s), s), s), d, s);
}

Value laplace(List shape, DType d, double loc, double scale, const Value *key, const StreamRef &s) {
  need_floating(d, "laplace");
  const DType work = working(d);
  const Value u = between(scalar(-below_one(work), work), scalar(1, work), shape, key, s);
  const Value x = astype(multiply(sign(u, s), log1p(negative(absolute(u, s), s), s), s), d, s);
  const Value scaled = multiply(x, scalar(scale, d), s);
  return loc == 0 ? scaled : add(scaled, scalar(loc, d), s);
}

Value categorical(const Value &logits, int64_t axis, const std::optional<List> &shape, const Value *key,
                  const StreamRef &s) {
  const size_t at = axis_at(axis, rank_of(logits), "categorical");
  const Dims own = without(shape_of(logits), at);
  if (!shape) return categorical_draw(logits, at, own, key, s);
  rules::need_broadcastable(own, *shape, "categorical");
  return categorical_draw(logits, at, *shape, key, s);
}

Value categorical_n(const Value &logits, int64_t axis, int64_t n, const Value *key, const StreamRef &s) {
  if (n < 0) fail(MX_ERROR_INVALID_ARGUMENT, "categorical: num_samples is %lld", static_cast<long long>(n));
  const size_t at = axis_at(axis, rank_of(logits), "categorical");
  Dims shape = without(shape_of(logits), at);
  shape.push_back(n);
  return categorical_draw(expand_dims(logits, Dims{-1}, s), at, shape, key, s);
}

Value permutation(const Value &x, int64_t axis, const Value *key, const StreamRef &s) {
  const size_t at = axis_at(axis, rank_of(x), "permutation");
  return take(x, permutation_n(shape_of(x)[at], key, s), static_cast<int64_t>(at), s);
}

Value permutation_n(int64_t n, const Value *key, const StreamRef &s) {
  if (n < 0) fail(MX_ERROR_INVALID_ARGUMENT, "permutation: n is %lld", static_cast<long long>(n));
  return argsort(random_bits(Dims{n}, 4, key, s), -1, false, s);
}

}  // namespace mx::ops

namespace mx::rules {

void infer_thread_key(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 0, 0, "thread_key");
  put_spec(out, DType::uint32, Dims{2}, "thread_key");
}

void infer_random_bits(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "random_bits");
  const Spec &key = *in[0];
  need_dtype(key.dtype == DType::uint32, key.dtype, "random_bits", "uint32 as a key");
  if (key.shape.empty() || key.shape.back() != 2)
    fail(MX_ERROR_SHAPE, "random_bits: a key of shape %s, but the last axis must be 2", to_string(key.shape).c_str());
  AttrReader reader(attrs);
  const std::span<const int64_t> sizes = reader.list();
  const int64_t width = reader.integer();
  if (width != 1 && width != 2 && width != 4)
    fail(MX_ERROR_INVALID_ARGUMENT, "random_bits: width %lld is not 1, 2 or 4 bytes", static_cast<long long>(width));
  Dims shape(key.shape.begin(), key.shape.end() - 1);
  for (int64_t size : sizes) shape.push_back(size);
  put_spec(out,
           width == 1   ? DType::uint8
           : width == 2 ? DType::uint16
                        : DType::uint32,
           std::move(shape), "random_bits");
}

}  // namespace mx::rules
