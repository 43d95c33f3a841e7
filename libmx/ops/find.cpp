// Positions of non-zeros and distinct elements, composed of scans, sorts and scatters.
#include "ops/find.hpp"

#include <limits>

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/index.hpp"
#include "ops/reduce.hpp"
#include "ops/shape.hpp"
#include "ops/sort.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

void need_size(int64_t size, const char *op) {
  if (size < 0) fail(MX_ERROR_INVALID_ARGUMENT, "%s: size is %lld", op, static_cast<long long>(size));
}

Value integer(int64_t value, DType dtype) { return constant({MX_SCALAR_INT, value, 0, 0}, dtype); }

// 0-based: how many flags are set up to and including each place, less one.
Value ranks(const Value &flags, const StreamRef &s) {
  const Value sums = scan(ScanKind::sum, astype(flags, DType::int32, s), 0, false, true, s);
  return subtract(sums, integer(1, DType::int32), s);
}

// `size` buckets, combined from the values at their bucket's number; what has a number of `size` or more is dropped.
Value into_buckets(const Value &bucket, const Value &values, int64_t size, int64_t initial, ScatterMode mode,
                   const StreamRef &s) {
  const Value room = full(Dims{size + 1}, integer(initial, dtype_of(values)), dtype_of(values), s);
  const Value inside = minimum(bucket, integer(size, dtype_of(bucket)), s);
  return slice_axis(scatter_along_axis(room, inside, values, 0, mode, s), 0, 0, size, 1, s);
}

// Row-major positions as one column per axis of `shape`.
Value unravelled(Value flat, List shape, const StreamRef &s) {
  ValueList columns;
  for (size_t i = shape.size(); i-- > 0;) {
    const Value n = integer(std::max<int64_t>(shape[i], 1), DType::int64);
    columns.insert(0, i ? remainder(flat, n, s) : flat);
    if (i) flat = floor_divide(flat, n, s);
  }
  return stack(Values(columns.data(), columns.size()), 1, s);
}

}  // namespace

Value argwhere(const Value &a, int64_t size, const StreamRef &s) {
  need_size(size, "argwhere");
  if (rank_of(a) == 0) return zeros(Dims{size, 0}, DType::int64, s);
  const Value flat = flatten(a, 0, -1, s), flags = astype(flat, DType::bool_, s);
  const Value bucket = where(flags, ranks(flags, s), integer(size, DType::int32), s);
  const Value places = astype(axis_iota(flat, 0, s), DType::int64, s);
  return unravelled(into_buckets(bucket, places, size, 0, ScatterMode::assign, s), shape_of(a), s);
}

Unique unique(const Value &a, int64_t size, const Value *fill, const StreamRef &s) {
  need_size(size, "unique");
  const DType d = dtype_of(a);
  const Value flat = flatten(a, 0, -1, s);
  if (shape_of(flat)[0] == 0) {
    if (!fill && size > 0)
      fail(MX_ERROR_INVALID_ARGUMENT, "unique: there is no element to fill %lld places with",
           static_cast<long long>(size));
    const Value none = zeros(Dims{size}, DType::uint32, s);
    return {full(Dims{size}, fill ? astype(*fill, d, s) : scalar(0, d), d, s), none, zeros_like(a, DType::uint32, s),
            astype(none, DType::int32, s), integer(0, DType::int32)};
  }
  const Value order = argsort(flat, 0, false, s), sorted = take_along_axis(flat, order, 0, s);
  const Value place = axis_iota(flat, 0, s), zero = integer(0, DType::int32);
  const Value starts = logical_or(equal(place, zero, s), not_equal(sorted, roll(sorted, Dims{1}, Axes{}, s), s), s);
  const Value group = ranks(starts, s), total = sum(starts, {}, false, s);
  const Value one = broadcast_like(integer(1, DType::int32), place, s);
  // sorting is stable, so the first of a group in sorted order is the first in a too
  const Value first = into_buckets(group, place, size, std::numeric_limits<int32_t>::max(), ScatterMode::minimum, s);
  const Value exists = less(arange(size, DType::int32, s), total, s);
  const Value from = where(exists, first, zero, s);
  Unique out;
  out.values = take_along_axis(sorted, from, 0, s);
  if (fill) out.values = where(exists, out.values, astype(*fill, d, s), s);
  out.index = take_along_axis(order, from, 0, s);
  out.counts = into_buckets(group, one, size, 0, ScatterMode::add, s);
  const Value last = integer(std::max<int64_t>(size - 1, 0), DType::int32);
  const Value number = astype(minimum(group, last, s), DType::uint32, s);
  const Value inverse =
      scatter_along_axis(zeros_like(flat, DType::uint32, s), order, number, 0, ScatterMode::assign, s);
  out.inverse = reshape(inverse, shape_of(a), s);
  out.total = total;
  return out;
}

}  // namespace mx::ops
