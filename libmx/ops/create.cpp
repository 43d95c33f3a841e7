// Making arrays: builders and inference rules. What depends on the shape of an array is built from ops that follow the
// shape, so that a shapeless trace can be replayed.
#include "ops/create.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/trace.hpp"
#include "ops/binary.hpp"
#include "ops/index.hpp"
#include "ops/kinds.hpp"
#include "ops/reduce.hpp"
#include "ops/rules.hpp"
#include "ops/shape.hpp"
#include "ops/traced.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

void need_size(int64_t n, const char *op) {
  if (n < 0) fail(MX_ERROR_INVALID_ARGUMENT, "%s: negative size %lld", op, static_cast<long long>(n));
}

double as_double(const Scalar &x) noexcept {
  if (x.kind == MX_SCALAR_UINT) return static_cast<double>(static_cast<uint64_t>(x.i));
  return x.kind < MX_SCALAR_UINT ? static_cast<double>(x.i) : x.re;
}

bool is_integral(const Scalar &x) noexcept { return x.kind <= MX_SCALAR_UINT; }

// The number of steps in [start, stop): exact, 128 bits hold every difference of 64-bit integers.
int64_t count_integers(const Scalar &start, const Scalar &stop, const Scalar &step) {
  const auto wide = [](const Scalar &x) -> __int128 {
    return x.kind == MX_SCALAR_UINT ? static_cast<__int128>(static_cast<uint64_t>(x.i)) : static_cast<__int128>(x.i);
  };
  __int128 gap = wide(stop) - wide(start), stride = wide(step);
  if (stride < 0) gap = -gap, stride = -stride;
  if (gap <= 0) return 0;
  const __int128 n = (gap + stride - 1) / stride;
  if (n > std::numeric_limits<int64_t>::max()) fail(MX_ERROR_OVERFLOW, "arange: too many elements");
  return static_cast<int64_t>(n);
}

int64_t count_reals(double start, double stop, double step) {
  const double gap = stop - start;
  double n = std::ceil(gap / step);
  if (n == 0 && gap != 0 && (gap > 0) == (step > 0)) n = 1;  // the step is infinite, or goes far beyond
  if (std::isnan(n) || !std::isfinite(start))
    fail(MX_ERROR_INVALID_ARGUMENT, "arange: start %g, stop %g, step %g", start, stop, step);
  if (n >= 0x1p62) fail(MX_ERROR_OVERFLOW, "arange: too many elements");
  return n > 0 ? static_cast<int64_t>(n) : 0;
}

int64_t to_int(const Scalar &x) noexcept { return is_integral(x) ? x.i : static_cast<int64_t>(x.re); }

// f(2 pi i / (n - 1)) for i = 0 ... n - 1, the form of the cosine windows.
template <class F>
Value window(int64_t n, const StreamRef &s, F f) {
  const Dims shape{std::max<int64_t>(n, 0)};
  if (n <= 1) return ones(shape, DType::float32, s);
  const Value i = arange(n, DType::float32, s);
  return f(multiply(i, scalar(2 * M_PI / static_cast<double>(n - 1), DType::float32), s));
}

Value cosine_term(const Value &angle, double factor, double amplitude, const StreamRef &s) {
  const Value x = factor == 1 ? angle : multiply(angle, scalar(factor, DType::float32), s);
  return multiply(cos(x, s), scalar(amplitude, DType::float32), s);
}

}  // namespace

Value constant(const Scalar &value, DType dtype) {
  std::byte bytes[16] = {};
  store_scalar(bytes, dtype, value);
  int64_t words[2];
  std::memcpy(words, bytes, sizeof words);
  return make(OpCode::constant, Attrs().put(words[0]).put(words[1]).put(dtype), {});
}

Value scalar(double value, DType dtype) { return constant({MX_SCALAR_FLOAT, 0, value, 0}, dtype); }

double largest_finite(DType d) noexcept {
  switch (d) {
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return 0x1.fep127;
    case DType::float64:
      return std::numeric_limits<double>::max();
    default:
      return std::numeric_limits<float>::max();
  }
}

Value arange(const Scalar &start, const Scalar &stop, const Scalar &step, DType dtype, const StreamRef &s) {
  if (dtype == DType::bool_) bad_dtype("arange", dtype, "numbers");
  if (as_double(step) == 0) fail(MX_ERROR_INVALID_ARGUMENT, "arange: step is 0");
  const bool exact = is_integral(start) && is_integral(stop) && is_integral(step);
  const int64_t n =
      exact ? count_integers(start, stop, step) : count_reals(as_double(start), as_double(stop), as_double(step));
  Attrs attrs;
  attrs.put(n).put(dtype);
  const Scalar by = std::isfinite(as_double(step)) ? step : Scalar{MX_SCALAR_INT, 0, 0, 0};  // there is only one then
  // an integer array with fractional bounds: start and step are cut off, the count is not
  attrs.put(is_integer(dtype) ? to_int(start) : 0).put(is_integer(dtype) ? to_int(by) : 0);
  attrs.put(as_double(start)).put(as_double(by));
  return make(OpCode::arange, std::move(attrs), {}, s);
}

Value arange(int64_t n, DType dtype, const StreamRef &s) {
  return arange({MX_SCALAR_INT, 0, 0, 0}, {MX_SCALAR_INT, n, 0, 0}, {MX_SCALAR_INT, 1, 0, 0}, dtype, s);
}

Value linspace(const Scalar &start, const Scalar &stop, int64_t n, bool endpoint, DType dtype, const StreamRef &s) {
  need_size(n, "linspace");
  const DType work = part_dtype(dtype) == DType::float64 ? DType::float64 : DType::float32;
  const int64_t gaps = endpoint ? n - 1 : n;
  if (n <= 1) return astype(full(Dims{n}, scalar(as_double(start), work), work, s), dtype, s);
  // weights from both ends, so that both ends are exact
  const Value t = divide(arange(n, work, s), scalar(static_cast<double>(gaps), work), s);
  const Value from = multiply(subtract(scalar(1, work), t, s), scalar(as_double(start), work), s);
  return astype(add(from, multiply(t, scalar(as_double(stop), work), s), s), dtype, s);
}

Value full(List shape, const Value &value, DType dtype, const StreamRef &s) {
  return make(OpCode::full, Attrs().put(shape), {astype(value, dtype, s)}, s);
}

Value full_like(const Value &a, const Value &value, DType dtype, const StreamRef &s) {
  if (!follows_shapes(a)) return full(shape_of(a), value, dtype, s);
  const Value x = make(OpCode::broadcast_like, {}, {astype(value, dtype, s), a}, s);
  if (shape_of(x) != shape_of(a)) rules::need_broadcastable(shape_of(value), shape_of(a), "full_like");
  return copy(x, s);
}

Value zeros(List shape, DType dtype, const StreamRef &s) { return full(shape, scalar(0, dtype), dtype, s); }
Value ones(List shape, DType dtype, const StreamRef &s) { return full(shape, scalar(1, dtype), dtype, s); }
Value zeros_like(const Value &a, DType dtype, const StreamRef &s) { return full_like(a, scalar(0, dtype), dtype, s); }
Value ones_like(const Value &a, DType dtype, const StreamRef &s) { return full_like(a, scalar(1, dtype), dtype, s); }

namespace {

// bool (n, m): column - row <= k.
Value on_or_below(const Value &rows, const Value &columns, int64_t k, const StreamRef &s) {
  const Value limit = add(rows, constant({MX_SCALAR_INT, k, 0, 0}, DType::int64), s);
  return less_equal(columns, expand_dims(limit, Dims{1}, s), s);
}

Value last_axes_below(const Value &a, int64_t k, const char *op, const StreamRef &s) {
  const size_t rank = rank_of(a);
  if (rank < 2)
    fail(MX_ERROR_SHAPE, "%s: the array has shape %s, but it needs 2 dimensions", op, to_string(shape_of(a)).c_str());
  return on_or_below(axis_iota(a, rank - 2, s), axis_iota(a, rank - 1, s), k, s);
}

}  // namespace

Value tri(int64_t n, int64_t m, int64_t k, DType dtype, const StreamRef &s) {
  need_size(n, "tri"), need_size(m, "tri");
  return astype(on_or_below(arange(n, DType::int32, s), arange(m, DType::int32, s), k, s), dtype, s);
}

Value eye(int64_t n, int64_t m, int64_t k, DType dtype, const StreamRef &s) {
  need_size(n, "eye"), need_size(m, "eye");
  const Value rows = add(arange(n, DType::int32, s), constant({MX_SCALAR_INT, k, 0, 0}, DType::int64), s);
  return astype(equal(expand_dims(rows, Dims{1}, s), arange(m, DType::int32, s), s), dtype, s);
}

Value tril(const Value &a, int64_t k, const StreamRef &s) {
  return where(last_axes_below(a, k, "tril", s), a, scalar(0, dtype_of(a)), s);
}

Value triu(const Value &a, int64_t k, const StreamRef &s) {
  if (k == std::numeric_limits<int64_t>::min()) return a;
  return where(last_axes_below(a, k - 1, "triu", s), scalar(0, dtype_of(a)), a, s);
}

SmallVector<Value, 2> meshgrid(Values xs, bool sparse, bool ij, const StreamRef &s) {
  SmallVector<Value, 2> grids;
  for (size_t i = 0; i < xs.size(); i++) {
    size_t place = i;
    if (!ij && xs.size() > 1 && i < 2) place = 1 - i;
    Dims axes;
    for (size_t j = 0; j < xs.size(); j++)
      if (j != place) axes.push_back(static_cast<int64_t>(j));
    grids.push_back(expand_dims(flatten(xs[i], 0, -1, s), axes, s));
  }
  return sparse ? grids : broadcast_arrays(Values(grids.data(), grids.size()), s);
}

Value bartlett(int64_t n, const StreamRef &s) {
  if (n <= 1) return ones(Dims{std::max<int64_t>(n, 0)}, DType::float32, s);
  const Value middle = scalar(static_cast<double>(n - 1) / 2, DType::float32);
  const Value distance = absolute(subtract(arange(n, DType::float32, s), middle, s), s);
  return subtract(scalar(1, DType::float32), divide(distance, middle, s), s);
}

Value hanning(int64_t n, const StreamRef &s) {
  return window(n, s, [&](const Value &angle) {
    return subtract(scalar(0.5, DType::float32), cosine_term(angle, 1, 0.5, s), s);
  });
}

Value hamming(int64_t n, const StreamRef &s) {
  return window(n, s, [&](const Value &angle) {
    return subtract(scalar(0.54, DType::float32), cosine_term(angle, 1, 0.46, s), s);
  });
}

Value blackman(int64_t n, const StreamRef &s) {
  return window(n, s, [&](const Value &angle) {
    const Value x = subtract(scalar(0.42, DType::float32), cosine_term(angle, 1, 0.5, s), s);
    return add(x, cosine_term(angle, 2, 0.08, s), s);
  });
}

Value slab_like(const Value &a, size_t axis, const StreamRef &s) {
  if (!follows_shapes(a)) {
    Dims shape = shape_of(a);
    shape[axis] = 1;
    return broadcast_to(scalar(0, DType::float32), shape, s);
  }
  // the sum over nothing has size 1 whatever the size was
  const Dims axes{static_cast<int64_t>(axis)};
  return sum(slice_axis(a, axis, 0, 0, 1, s), List(axes), true, s);
}

Value axis_iota(const Value &a, size_t axis, const StreamRef &s) {
  if (!follows_shapes(a)) return arange(shape_of(a)[axis], DType::int32, s);
  Value line = a;
  Dims others;
  for (size_t i = 0; i < rank_of(a); i++) {
    if (i == axis) continue;
    others.push_back(static_cast<int64_t>(i));
    line = slice_axis(line, i, 0, 0, 1, s);
  }
  line = sum(line, List(others), false, s);
  const Value ones = make(OpCode::broadcast_like, {}, {scalar(1, DType::int32), line}, s);
  return scan(ScanKind::sum, ones, 0, false, false, s);
}

Value number_of_elements(const Value &a, const Axes &axes, bool inverted, DType dtype, const StreamRef &s) {
  Attrs attrs;
  attrs.put(List(sorted_axes(axes, rank_of(a), "number_of_elements"))).put(inverted).put(dtype);
  return make(OpCode::number_of_elements, std::move(attrs), {a}, s);
}

}  // namespace mx::ops

namespace mx::rules {

void infer_constant(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 0, 0, "constant");
  AttrReader reader(attrs);
  reader.integer(), reader.integer();
  put_spec(out, reader.dtype(), {}, "constant");
}

void infer_placeholder(const Attrs &, Specs, Outs &) {
  fail(MX_ERROR_INVALID_ARGUMENT, "placeholder: only a trace makes placeholders");
}

void infer_compiled_call(const Attrs &, Specs, Outs &) {
  fail(MX_ERROR_INVALID_ARGUMENT, "compiled_call: only a compiled function makes calls");
}

void infer_number_of_elements(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "number_of_elements");
  AttrReader reader(attrs);
  need_axes(reader.list(), in[0]->shape.size(), "number_of_elements");
  reader.boolean();
  put_spec(out, reader.dtype(), {}, "number_of_elements");
}

void infer_arange(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 0, 0, "arange");
  AttrReader reader(attrs);
  const int64_t n = reader.integer();
  put_spec(out, reader.dtype(), Dims{n}, "arange");
}

void infer_full(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "full");
  const std::span<const int64_t> shape = AttrReader(attrs).list();
  put_spec(out, in[0]->dtype, Dims(shape.begin(), shape.end()), "full");
  need_broadcastable(in[0]->shape, shape, "full");
}

void infer_load(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 0, 0, "load");
  AttrReader reader(attrs);
  reader.integer();
  const std::span<const int64_t> shape = reader.list();
  put_spec(out, reader.dtype(), Dims(shape.begin(), shape.end()), "load");
}

}  // namespace mx::rules
