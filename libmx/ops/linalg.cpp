// Linear algebra: builders and inference rules. Norms are in norm.cpp.
#include "ops/linalg.hpp"

#include <algorithm>
#include <limits>

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/index.hpp"
#include "ops/matmul.hpp"
#include "ops/reduce.hpp"
#include "ops/rules.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

Value adjoint(const Value &a, const StreamRef &s) { return conjugate(swapaxes(a, -1, -2, s), s); }

int64_t size_from_end(const Value &a, size_t i) { return shape_of(a)[rank_of(a) - i]; }

void need_matrix(const Value &a, const char *op) {
  if (rank_of(a) < 2)
    fail(MX_ERROR_SHAPE, "%s: the array has shape %s, but it needs 2 dimensions", op, to_string(shape_of(a)).c_str());
}

// Makes the batches of a and b the same.
void join_batches(Value &a, Value &b, const char *op, const StreamRef &s) {
  const auto batch = [](const Value &x) { return List(shape_of(x)).first(rank_of(x) - 2); };
  if (std::equal(batch(a).begin(), batch(a).end(), batch(b).begin(), batch(b).end())) return;
  Dims shape = broadcast_shapes(batch(a), batch(b), op);
  shape.push_back(-1);
  shape.push_back(-1);
  a = broadcast_to(a, shape, s);
  b = broadcast_to(b, shape, s);
}

Value solved(const Value &a, const Value &b, bool triangular, bool upper, const char *op, const StreamRef &s) {
  need_matrix(a, op);
  const DType d = promote(dtype_of(a), dtype_of(b));
  Value x = astype(a, d, s), y = astype(b, d, s);
  const bool vector = rank_of(b) == 1;
  if (vector) y = expand_dims(y, Dims{1}, s);
  need_matrix(y, op);
  join_batches(x, y, op, s);
  const Value out = make(OpCode::solve, Attrs().put(triangular).put(upper), {x, y}, s);
  return vector ? squeeze(out, List(Dims{-1}), s) : out;
}

// The first `n` entries along the axis that is `from_end` from the end.
Value leading(const Value &x, size_t from_end, int64_t n, const StreamRef &s) {
  return slice_axis(x, rank_of(x) - from_end, 0, n, 1, s);
}

// The diagonal of the packed factors and whether the number of row swaps is odd.
struct Determinant {
  Value diagonal, odd;
};

Determinant determinant(const Value &a, const char *op, const StreamRef &s) {
  need_matrix(a, op);
  if (size_from_end(a, 1) != size_from_end(a, 2))
    fail(MX_ERROR_SHAPE, "%s: a matrix of shape %s is not square", op, to_string(shape_of(a)).c_str());
  const DType d = dtype_of(a), work = d == DType::float64 || is_complex(d) ? d : DType::float32;
  const ValueList factors = lu_factor(astype(a, work, s), s);
  const Value &pivots = factors[1];
  const Value moved = not_equal(pivots, axis_iota(pivots, rank_of(pivots) - 1, s), s);
  const Value swaps = count_nonzero(moved, List(Dims{-1}), false, s);
  return {diagonal(factors[0], 0, -2, -1, s), remainder(swaps, scalar(2, DType::int32), s)};
}

Value component(const Value &a, int64_t i, const StreamRef &s) {
  return squeeze(slice_axis(a, rank_of(a) - 1, i, i + 1, 1, s), List(Dims{-1}), s);
}

}  // namespace

ValueList svd(const Value &a, bool vectors, const StreamRef &s) {
  return outputs_of(make(OpCode::svd, Attrs().put(vectors), {a}, s));
}

ValueList qr(const Value &a, const StreamRef &s) { return outputs_of(make(OpCode::qr, {}, {a}, s)); }

ValueList lu_factor(const Value &a, const StreamRef &s) { return outputs_of(make(OpCode::lu, {}, {a}, s)); }

ValueList lu(const Value &a, const StreamRef &s) {
  const ValueList factors = lu_factor(a, s);
  const Value &packed = factors[0];
  const int64_t m = size_from_end(a, 2), n = size_from_end(a, 1), k = std::min(m, n);
  const Value order = make(OpCode::lu_permutation, {}, {factors[1], packed}, s);
  const Value below = tril(leading(packed, 1, k, s), -1, s);
  const Value unit = add(below, eye(m, k, 0, dtype_of(a), s), s);
  return {order, unit, triu(leading(packed, 2, k, s), 0, s)};
}

Value cholesky(const Value &a, bool upper, const StreamRef &s) {
  return make(OpCode::cholesky, Attrs().put(upper), {a}, s);
}

Value inv(const Value &a, const StreamRef &s) { return make(OpCode::inverse, Attrs().put(false).put(false), {a}, s); }

Value tri_inv(const Value &a, bool upper, const StreamRef &s) {
  return make(OpCode::inverse, Attrs().put(true).put(upper), {a}, s);
}

Value cholesky_inv(const Value &a, bool upper, const StreamRef &s) {
  const Value x = tri_inv(a, upper, s);
  return upper ? matmul(x, adjoint(x, s), s) : matmul(adjoint(x, s), x, s);
}

Value pinv(const Value &a, const StreamRef &s) {
  need_matrix(a, "pinv");
  const ValueList factors = svd(a, true, s);
  const Value &values = factors[1];
  const int64_t m = size_from_end(a, 2), n = size_from_end(a, 1), k = std::min(m, n);
  if (k == 0) return zeros_like(swapaxes(a, -1, -2, s), dtype_of(a), s);
  const DType d = dtype_of(values);
  const double eps =
      d == DType::float64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const Value largest = max(values, List(Dims{-1}), true, s);
  const Value cutoff = multiply(largest, scalar(eps * static_cast<double>(std::max(m, n)), d), s);
  const Value inverted = where(greater(values, cutoff, s), reciprocal(values, s), scalar(0, d), s);
  const Value v = multiply(adjoint(leading(factors[2], 2, k, s), s), expand_dims(inverted, Dims{-2}, s), s);
  return matmul(v, adjoint(leading(factors[0], 1, k, s), s), s);
}

Value solve(const Value &a, const Value &b, const StreamRef &s) { return solved(a, b, false, false, "solve", s); }

Value solve_triangular(const Value &a, const Value &b, bool upper, const StreamRef &s) {
  return solved(a, b, true, upper, "solve_triangular", s);
}

ValueList eigh(const Value &a, bool upper, bool vectors, const StreamRef &s) {
  return outputs_of(make(OpCode::eigh, Attrs().put(upper).put(vectors), {a}, s));
}

ValueList eig(const Value &a, bool vectors, const StreamRef &s) {
  return outputs_of(make(OpCode::eig, Attrs().put(vectors), {a}, s));
}

Value cross(const Value &a, const Value &b, int64_t axis, const StreamRef &s) {
  const size_t rank = std::max(rank_of(a), rank_of(b));
  const int64_t at = normalize_axis(axis, rank, "cross"), from_end = at - static_cast<int64_t>(rank);
  const auto last = [&](const Value &x) {
    const size_t place = axis_at(from_end, rank_of(x), "cross");
    const int64_t n = shape_of(x)[place];
    if (n != 2 && n != 3)
      fail(MX_ERROR_SHAPE, "cross: axis %zu of shape %s is not of size 2 or 3", place, to_string(shape_of(x)).c_str());
    return moveaxis(x, static_cast<int64_t>(place), -1, s);
  };
  const Value x = last(a), y = last(b);
  const bool flat_x = shape_of(x).back() == 2, flat_y = shape_of(y).back() == 2;
  const Value x0 = component(x, 0, s), x1 = component(x, 1, s), y0 = component(y, 0, s), y1 = component(y, 1, s);
  const Value zero = scalar(0, promote(dtype_of(a), dtype_of(b)));
  const Value x2 = flat_x ? zero : component(x, 2, s), y2 = flat_y ? zero : component(y, 2, s);
  const auto minor = [&](const Value &p, const Value &q, const Value &r, const Value &t) {
    return subtract(multiply(p, t, s), multiply(q, r, s), s);
  };
  const Value parts[] = {minor(x1, x2, y1, y2), minor(x2, x0, y2, y0), minor(x0, x1, y0, y1)};
  const ValueList wide = broadcast_arrays(parts, s);
  return moveaxis(stack(Values(wide.data(), wide.size()), -1, s), -1, at, s);
}

Value det(const Value &a, const StreamRef &s) {
  const Determinant parts = determinant(a, "det", s);
  const Value magnitude = prod(parts.diagonal, List(Dims{-1}), false, s);
  return astype(where(parts.odd, negative(magnitude, s), magnitude, s), inexact(dtype_of(a)), s);
}

ValueList slogdet(const Value &a, const StreamRef &s) {
  const Determinant parts = determinant(a, "slogdet", s);
  const DType d = inexact(dtype_of(a));
  const Value signs = prod(sign(parts.diagonal, s), List(Dims{-1}), false, s);
  const Value logs = sum(log(absolute(parts.diagonal, s), s), List(Dims{-1}), false, s);
  return {astype(where(parts.odd, negative(signs, s), signs, s), d, s), astype(logs, part_dtype(d), s)};
}

}  // namespace mx::ops

namespace mx::rules {
namespace {

struct Matrix {
  Dims batch;
  int64_t rows, columns;
};

Dims with(const Dims &batch, std::initializer_list<int64_t> sizes) {
  Dims shape = batch;
  for (int64_t size : sizes) shape.push_back(size);
  return shape;
}

Matrix matrix(const Spec &a, bool square, const char *op) {
  const bool ok = a.dtype == DType::float32 || a.dtype == DType::float64 || is_complex(a.dtype);
  need_dtype(ok, a.dtype, op, "float32, float64 and complex dtypes");
  const size_t rank = a.shape.size();
  if (rank < 2)
    fail(MX_ERROR_SHAPE, "%s: the array has shape %s, but it needs 2 dimensions", op, to_string(a.shape).c_str());
  const Matrix m{{a.shape.begin(), a.shape.end() - 2}, a.shape[rank - 2], a.shape[rank - 1]};
  if (square && m.rows != m.columns)
    fail(MX_ERROR_SHAPE, "%s: a matrix of shape %s is not square", op, to_string(a.shape).c_str());
  return m;
}

void square_to_same(Specs in, Outs &out, const char *op) {
  need_inputs(in, 1, 1, op);
  matrix(*in[0], true, op);
  out.push_back(*in[0]);
}

}  // namespace

void infer_cholesky(const Attrs &, Specs in, Outs &out) { square_to_same(in, out, "cholesky"); }

void infer_inverse(const Attrs &attrs, Specs in, Outs &out) {
  square_to_same(in, out, AttrReader(attrs).boolean() ? "tri_inv" : "inv");
}

void infer_solve(const Attrs &attrs, Specs in, Outs &out) {
  const char *op = AttrReader(attrs).boolean() ? "solve_triangular" : "solve";
  need_inputs(in, 2, 2, op);
  need_same_dtype(in, 0, op);
  const Matrix a = matrix(*in[0], true, op), b = matrix(*in[1], false, op);
  if (a.batch != b.batch || a.columns != b.rows)
    fail(MX_ERROR_SHAPE, "%s: shapes %s and %s do not fit", op, to_string(in[0]->shape).c_str(),
         to_string(in[1]->shape).c_str());
  out.push_back(*in[1]);
}

void infer_lu(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "lu");
  const Matrix m = matrix(*in[0], false, "lu");
  out.push_back(*in[0]);
  put_spec(out, DType::uint32, with(m.batch, {std::min(m.rows, m.columns)}), "lu");
}

void infer_lu_permutation(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 2, 2, "lu_permutation");
  const Matrix m = matrix(*in[1], false, "lu_permutation");
  need_dtype(in[0]->dtype == DType::uint32, in[0]->dtype, "lu_permutation", "uint32 as pivots");
  if (in[0]->shape != with(m.batch, {std::min(m.rows, m.columns)}))
    fail(MX_ERROR_SHAPE, "lu_permutation: pivots of shape %s for factors of shape %s", to_string(in[0]->shape).c_str(),
         to_string(in[1]->shape).c_str());
  put_spec(out, DType::uint32, with(m.batch, {m.rows}), "lu_permutation");
}

void infer_qr(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "qr");
  const Matrix m = matrix(*in[0], false, "qr");
  const int64_t k = std::min(m.rows, m.columns);
  put_spec(out, in[0]->dtype, with(m.batch, {m.rows, k}), "qr");
  put_spec(out, in[0]->dtype, with(m.batch, {k, m.columns}), "qr");
}

void infer_svd(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "svd");
  const Matrix m = matrix(*in[0], false, "svd");
  const bool vectors = AttrReader(attrs).boolean();
  if (vectors) put_spec(out, in[0]->dtype, with(m.batch, {m.rows, m.rows}), "svd");
  put_spec(out, part_dtype(in[0]->dtype), with(m.batch, {std::min(m.rows, m.columns)}), "svd");
  if (vectors) put_spec(out, in[0]->dtype, with(m.batch, {m.columns, m.columns}), "svd");
}

void infer_eigh(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "eigh");
  const Matrix m = matrix(*in[0], true, "eigh");
  AttrReader reader(attrs);
  reader.boolean();
  put_spec(out, part_dtype(in[0]->dtype), with(m.batch, {m.rows}), "eigh");
  if (reader.boolean()) out.push_back(*in[0]);
}

void infer_eig(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "eig");
  const Matrix m = matrix(*in[0], true, "eig");
  const DType d = in[0]->dtype == DType::complex128 ? DType::complex128 : DType::complex64;
  put_spec(out, d, with(m.batch, {m.rows}), "eig");
  if (AttrReader(attrs).boolean()) put_spec(out, d, in[0]->shape, "eig");
}

}  // namespace mx::rules
