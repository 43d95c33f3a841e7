// Sorting and searching: builders and inference rules.
#include "ops/sort.hpp"

#include <algorithm>

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/index.hpp"
#include "ops/rules.hpp"
#include "ops/shape.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

// The array and the axis to work on; MX_NO_AXIS flattens.
struct Line {
  Value x;
  int64_t axis;
};

Line line_of(const Value &a, int64_t axis, const char *op, const StreamRef &s) {
  if (axis == MX_NO_AXIS) return {flatten(a, 0, -1, s), 0};
  return {a, normalize_axis(axis, rank_of(a), op)};
}

Value sorted(OpCode op, const Value &a, int64_t axis, const StreamRef &s) {
  const Line line = line_of(a, axis, info(op).name, s);
  return make(op, Attrs().put(line.axis), {line.x}, s);
}

Value partitioned(OpCode op, const Value &a, int64_t kth, int64_t axis, const StreamRef &s) {
  const Line line = line_of(a, axis, info(op).name, s);
  return make(op, Attrs().put(kth).put(line.axis), {line.x}, s);
}

}  // namespace

// Downwards: of the reversed line, read from its end. Equal elements keep their order that way.
Value sort(const Value &a, int64_t axis, bool descending, const StreamRef &s) {
  if (!descending) return sorted(OpCode::sort, a, axis, s);
  const Line line = line_of(a, axis, "sort", s);
  const Dims along{line.axis};
  return flip(sorted(OpCode::sort, flip(line.x, List(along), s), line.axis, s), List(along), s);
}

Value argsort(const Value &a, int64_t axis, bool descending, const StreamRef &s) {
  if (!descending) return sorted(OpCode::argsort, a, axis, s);
  const Line line = line_of(a, axis, "argsort", s);
  const Dims along{line.axis};
  const Value from_end = flip(sorted(OpCode::argsort, flip(line.x, List(along), s), line.axis, s), List(along), s);
  const Value n = number_of_elements(line.x, List(along), false, DType::uint32, s);
  return subtract(subtract(n, scalar(1, DType::uint32), s), from_end, s);
}

Value partition(const Value &a, int64_t kth, int64_t axis, const StreamRef &s) {
  return partitioned(OpCode::partition, a, kth, axis, s);
}

Value argpartition(const Value &a, int64_t kth, int64_t axis, const StreamRef &s) {
  return partitioned(OpCode::argpartition, a, kth, axis, s);
}

Value topk(const Value &a, int64_t k, int64_t axis, const StreamRef &s) {
  const Line line = line_of(a, axis, "topk", s);
  const size_t at = static_cast<size_t>(line.axis);
  if (k < 0 || k > shape_of(line.x)[at])
    fail(MX_ERROR_INVALID_ARGUMENT, "topk: k is %lld for axis %zu of shape %s", static_cast<long long>(k), at,
         to_string(shape_of(line.x)).c_str());
  if (k == 0) return slice_axis(line.x, at, 0, 0, 1, s);
  return slice_axis(partition(line.x, -k, line.axis, s), at, -k, INT64_MAX, 1, s);
}

Value searchsorted(const Value &a, const Value &values, bool right, const StreamRef &s) {
  if (rank_of(a) != 1)
    fail(MX_ERROR_SHAPE, "searchsorted: the sorted array has shape %s, but it must be 1-d",
         to_string(shape_of(a)).c_str());
  const DType d = promote(dtype_of(a), dtype_of(values));
  return make(OpCode::searchsorted, Attrs().put(right), {astype(a, d, s), astype(values, d, s)}, s);
}

}  // namespace mx::ops

namespace mx::rules {
namespace {

void along_axis(int64_t axis, Specs in, Outs &out, DType d, const char *op) {
  need_inputs(in, 1, 1, op);
  axis_of(axis, *in[0], op);
  put_spec(out, d, in[0]->shape, op);
}

void around_kth(const Attrs &attrs, Specs in, Outs &out, bool indices, const char *op) {
  need_inputs(in, 1, 1, op);
  AttrReader reader(attrs);
  const int64_t kth = reader.integer(), axis = reader.integer();
  along_axis(axis, in, out, indices ? DType::uint32 : in[0]->dtype, op);
  const int64_t n = in[0]->shape[static_cast<size_t>(axis)];
  if (kth < -n || kth >= n)
    fail(MX_ERROR_INDEX, "%s: kth %lld is out of range for axis %lld of shape %s", op, static_cast<long long>(kth),
         static_cast<long long>(axis), to_string(in[0]->shape).c_str());
}

}  // namespace

void infer_sort(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "sort");
  along_axis(AttrReader(attrs).integer(), in, out, in[0]->dtype, "sort");
}

void infer_argsort(const Attrs &attrs, Specs in, Outs &out) {
  along_axis(AttrReader(attrs).integer(), in, out, DType::uint32, "argsort");
}

void infer_partition(const Attrs &attrs, Specs in, Outs &out) { around_kth(attrs, in, out, false, "partition"); }
void infer_argpartition(const Attrs &attrs, Specs in, Outs &out) { around_kth(attrs, in, out, true, "argpartition"); }

void infer_searchsorted(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 2, 2, "searchsorted");
  need_same_dtype(in, 0, "searchsorted");
  const Dims &sorted = in[0]->shape, &values = in[1]->shape;
  if (sorted.empty() || values.size() + 1 < sorted.size() ||
      !std::equal(sorted.begin(), sorted.end() - 1, values.begin()))
    fail(MX_ERROR_SHAPE, "searchsorted: sorted arrays of shape %s for values of shape %s", to_string(sorted).c_str(),
         to_string(values).c_str());
  put_spec(out, DType::uint32, in[1]->shape, "searchsorted");
}

void infer_roll(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "roll");
  AttrReader reader(attrs);
  reader.integer();
  if (const int64_t axis = reader.integer(); axis != -1) axis_of(axis, *in[0], "roll");
  out.push_back(*in[0]);
}

void infer_concatenate(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, static_cast<size_t>(-1), "concatenate");
  need_same_dtype(in, 0, "concatenate");
  const size_t axis = axis_of(AttrReader(attrs).integer(), *in[0], "concatenate");
  Dims shape = in[0]->shape;
  for (const Spec *other : in.subspan(1)) {
    bool fits = other->shape.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); i++) fits = i == axis || other->shape[i] == shape[i];
    if (!fits)
      fail(MX_ERROR_SHAPE, "concatenate: shapes %s and %s do not fit along axis %zu", to_string(in[0]->shape).c_str(),
           to_string(other->shape).c_str(), axis);
    if (__builtin_add_overflow(shape[axis], other->shape[axis], &shape[axis]))
      fail(MX_ERROR_OVERFLOW, "concatenate: too many elements");
  }
  put_spec(out, in[0]->dtype, std::move(shape), "concatenate");
}

}  // namespace mx::rules
