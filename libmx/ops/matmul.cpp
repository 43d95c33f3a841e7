// Products and contractions: builders and inference rules.
#include "ops/matmul.hpp"

#include <algorithm>

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/reduce.hpp"
#include "ops/rules.hpp"
#include "ops/shape.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

DType product_dtype(const Value &a, const Value &b, const char *op) {
  const DType d = promote(dtype_of(a), dtype_of(b));
  if (!is_inexact(d)) bad_dtype(op, d, "floating and complex dtypes");
  return d;
}

// The operands of a matrix product: a vector becomes a row on the left, a column on the right.
struct Factors {
  Value a, b;
  Dims vanishing;  // axes of the product that the operands did not have
};

Factors factors(const Value &a, const Value &b, DType d, const char *op, const StreamRef &s) {
  if (rank_of(a) == 0 || rank_of(b) == 0)
    fail(MX_ERROR_SHAPE, "%s: shapes %s and %s, but 0-d arrays have no matrix product", op,
         to_string(shape_of(a)).c_str(), to_string(shape_of(b)).c_str());
  Factors f{astype(a, d, s), astype(b, d, s), {}};
  if (rank_of(a) == 1) f.a = expand_dims(f.a, Dims{0}, s), f.vanishing.push_back(-2);
  if (rank_of(b) == 1) f.b = expand_dims(f.b, Dims{1}, s), f.vanishing.push_back(-1);
  return f;
}

// The axes that are not in `list`.
Dims others(List list, size_t rank) {
  Dims out;
  for (int64_t i = 0; i < static_cast<int64_t>(rank); i++)
    if (std::find(list.begin(), list.end(), i) == list.end()) out.push_back(i);
  return out;
}

Dims joined(List first, List second) {
  Dims out(first.begin(), first.end());
  for (int64_t x : second) out.push_back(x);
  return out;
}

// Merges `count` axes from `start` on into one; none become an axis of size 1.
Value merged(const Value &x, size_t start, size_t count, const StreamRef &s) {
  const int64_t first = static_cast<int64_t>(start);
  if (count == 0) return expand_dims(x, Dims{first}, s);
  return flatten(x, first, first + static_cast<int64_t>(count) - 1, s);
}

void need_pairs(const Value &a, const Value &b, List axes_a, List axes_b, const char *op) {
  bool fit = axes_a.size() == axes_b.size();
  for (size_t i = 0; fit && i < axes_a.size(); i++)
    fit = shape_of(a)[static_cast<size_t>(axes_a[i])] == shape_of(b)[static_cast<size_t>(axes_b[i])];
  if (!fit)
    fail(MX_ERROR_SHAPE, "%s: axes %s of shape %s do not fit axes %s of shape %s", op, to_string(axes_a).c_str(),
         to_string(shape_of(a)).c_str(), to_string(axes_b).c_str(), to_string(shape_of(b)).c_str());
}

}  // namespace

Value matmul(const Value &a, const Value &b, const StreamRef &s) {
  const Factors f = factors(a, b, product_dtype(a, b, "matmul"), "matmul", s);
  const Value out = make(OpCode::matmul, {}, {f.a, f.b}, s);
  return squeeze(out, List(f.vanishing), s);
}

Value addmm(const Value &c, const Value &a, const Value &b, double alpha, double beta, const StreamRef &s) {
  const DType d = promote(product_dtype(a, b, "addmm"), dtype_of(c));
  const Factors f = factors(a, b, d, "addmm", s);
  const Value term = astype(c, d, s);
  if (f.vanishing.empty()) return make(OpCode::addmm, Attrs().put(alpha).put(beta), {term, f.a, f.b}, s);
  const Value product = squeeze(make(OpCode::matmul, {}, {f.a, f.b}, s), List(f.vanishing), s);
  rules::need_broadcastable(shape_of(c), shape_of(product), "addmm");
  return add(multiply(product, scalar(alpha, d), s), multiply(term, scalar(beta, d), s), s);
}

Value tensordot(const Value &a, const Value &b, List axes_a, List axes_b, const StreamRef &s) {
  const DType d = product_dtype(a, b, "tensordot");
  const Dims summed_a = distinct_axes(axes_a, rank_of(a), "tensordot");
  const Dims summed_b = distinct_axes(axes_b, rank_of(b), "tensordot");
  need_pairs(a, b, summed_a, summed_b, "tensordot");
  const Dims free_a = others(summed_a, rank_of(a)), free_b = others(summed_b, rank_of(b));
  const size_t n = summed_a.size();
  // (free_a..., k) times (k, free_b): only the free axes of b are merged, and split again afterwards
  Value left = transpose(astype(a, d, s), List(joined(free_a, summed_a)), s);
  left = merged(left, free_a.size(), n, s);
  Value right = transpose(astype(b, d, s), List(joined(summed_b, free_b)), s);
  right = merged(merged(right, n, free_b.size(), s), 0, n, s);
  const bool row = free_a.empty();
  const Value product = make(OpCode::matmul, {}, {row ? expand_dims(left, Dims{0}, s) : left, right}, s);
  const Value out = row ? squeeze(product, List(Dims{0}), s) : product;
  if (free_b.size() == 1) return out;
  if (free_b.empty()) return squeeze(out, List(Dims{-1}), s);
  Dims sizes;
  for (int64_t axis : free_b) sizes.push_back(shape_of(b)[static_cast<size_t>(axis)]);
  if (element_count(List(sizes).subspan(1)) != 0) sizes[0] = -1;
  return unflatten(out, -1, sizes, s);
}

Value inner(const Value &a, const Value &b, const StreamRef &s) {
  if (rank_of(a) == 0 || rank_of(b) == 0) return multiply(a, b, s);
  return tensordot(a, b, Dims{-1}, Dims{-1}, s);
}

Value outer(const Value &a, const Value &b, const StreamRef &s) {
  return multiply(expand_dims(flatten(a, 0, -1, s), Dims{1}, s), flatten(b, 0, -1, s), s);
}

Value vecdot(const Value &a, const Value &b, int64_t axis, const StreamRef &s) {
  const size_t rank = std::max(rank_of(a), rank_of(b));
  const Dims place{normalize_axis(axis, rank, "vecdot")};
  const int64_t from_end = place[0] - static_cast<int64_t>(rank);
  const auto size = [&](const Value &x) { return shape_of(x)[axis_at(from_end, rank_of(x), "vecdot")]; };
  if (size(a) != size(b))
    fail(MX_ERROR_SHAPE, "vecdot: axis %lld of shapes %s and %s differs", static_cast<long long>(axis),
         to_string(shape_of(a)).c_str(), to_string(shape_of(b)).c_str());
  return sum(multiply(conjugate(a, s), b, s), List(place), false, s);
}

Value kron(const Value &a, const Value &b, const StreamRef &s) {
  const size_t rank = std::max(rank_of(a), rank_of(b));
  if (element_count(shape_of(a)) == 0 || element_count(shape_of(b)) == 0)
    fail(MX_ERROR_SHAPE, "kron: shapes %s and %s, but neither may be empty", to_string(shape_of(a)).c_str(),
         to_string(shape_of(b)).c_str());
  Dims even, odd;
  for (size_t i = 0; i < rank; i++) {
    even.push_back(static_cast<int64_t>(2 * i));
    odd.push_back(static_cast<int64_t>(2 * i + 1));
  }
  const auto widened = [&](const Value &x, List places) {
    return expand_dims(expand_dims(x, iota(rank - rank_of(x)), s), places, s);
  };
  Value out = multiply(widened(a, odd), widened(b, even), s);
  for (size_t i = 0; i < rank; i++) out = flatten(out, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1, s);
  return out;
}

Value trace(const Value &a, int64_t offset, int64_t axis1, int64_t axis2, DType dtype, const StreamRef &s) {
  return sum(astype(diagonal(a, offset, axis1, axis2, s), dtype, s), List(Dims{-1}), false, s);
}

}  // namespace mx::ops

namespace mx::rules {
namespace {

Dims product_shape(const Spec &a, const Spec &b, const char *op) {
  const size_t n = a.shape.size(), m = b.shape.size();
  need_dtype(is_inexact(a.dtype), a.dtype, op, "floating and complex dtypes");
  if (n < 2 || m < 2 || a.shape[n - 1] != b.shape[m - 2])
    fail(MX_ERROR_SHAPE, "%s: the last axis of a, of shape %s, must be the second to last of b, of shape %s", op,
         to_string(a.shape).c_str(), to_string(b.shape).c_str());
  Dims shape = broadcast_shapes({a.shape.begin(), a.shape.end() - 2}, {b.shape.begin(), b.shape.end() - 2}, op);
  shape.push_back(a.shape[n - 2]);
  shape.push_back(b.shape[m - 1]);
  return shape;
}

}  // namespace

void infer_matmul(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 2, 2, "matmul");
  need_same_dtype(in, 0, "matmul");
  put_spec(out, in[0]->dtype, product_shape(*in[0], *in[1], "matmul"), "matmul");
}

void infer_addmm(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 3, 3, "addmm");
  need_same_dtype(in, 0, "addmm");
  put_spec(out, in[0]->dtype, product_shape(*in[1], *in[2], "addmm"), "addmm");
  need_broadcastable(in[0]->shape, out[0].shape, "addmm");
}

}  // namespace mx::rules
