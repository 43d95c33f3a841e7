// Builders of ops that change the shape, order or layout, and of joins. An op that would change nothing returns its
// input, but inside a trace only if that holds for every shape.
#include "ops/shape.hpp"

#include <algorithm>
#include <limits>

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/index.hpp"
#include "ops/reduce.hpp"
#include "ops/rules.hpp"
#include "ops/traced.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

constexpr int64_t to_end = std::numeric_limits<int64_t>::max(), through_first = std::numeric_limits<int64_t>::min();

bool all_are(List list, int64_t x) noexcept {
  return std::all_of(list.begin(), list.end(), [x](int64_t y) { return x == y; });
}

Value view_op(OpCode op, Attrs attrs, const Value &a, const StreamRef &s) { return make(op, std::move(attrs), {a}, s); }

void need_count(int64_t n, const char *op, const char *what) {
  if (n < 0) fail(MX_ERROR_INVALID_ARGUMENT, "%s: %s is %lld", op, what, static_cast<long long>(n));
}

}  // namespace

Value reshape(const Value &a, List shape, const StreamRef &s) {
  rules::check_sizes(shape);
  const bool lasting = !follows_shapes(a) || (shape.size() == 1 && shape[0] == -1);
  const Value out = view_op(OpCode::reshape, Attrs().put(shape), a, s);
  return lasting && shape_of(out) == shape_of(a) ? a : out;
}

Value flatten(const Value &a, int64_t start, int64_t end, const StreamRef &s) {
  const size_t rank = rank_of(a);
  if (rank == 0) return view_op(OpCode::flatten, Attrs().put(0).put(0), a, s);
  const int first = normalize_axis(start, rank, "flatten"), last = normalize_axis(end, rank, "flatten");
  if (first == last) return a;
  return view_op(OpCode::flatten, Attrs().put(first).put(last), a, s);
}

Value unflatten(const Value &a, int64_t axis, List shape, const StreamRef &s) {
  return view_op(OpCode::unflatten, Attrs().put(normalize_axis(axis, rank_of(a), "unflatten")).put(shape), a, s);
}

Value squeeze(const Value &a, const Axes &axes, const StreamRef &s) {
  Dims list;
  if (axes) {
    list = sorted_axes(axes, rank_of(a), "squeeze");
  } else {
    for (size_t i = 0; i < rank_of(a); i++)
      if (shape_of(a)[i] == 1) list.push_back(static_cast<int64_t>(i));
  }
  return list.empty() ? a : view_op(OpCode::squeeze, Attrs().put(List(list)), a, s);
}

Value expand_dims(const Value &a, List axes, const StreamRef &s) {
  if (axes.empty()) return a;
  const Dims list = sorted_axes(axes, rank_of(a) + axes.size(), "expand_dims");
  return view_op(OpCode::expand_dims, Attrs().put(List(list)), a, s);
}

Value transpose(const Value &a, const Axes &axes, const StreamRef &s) {
  const size_t rank = rank_of(a);
  Dims order = iota(rank);
  if (!axes) std::reverse(order.begin(), order.end());
  if (axes && axes->size() != rank)
    fail(MX_ERROR_SHAPE, "transpose: %zu axes for shape %s", axes->size(), to_string(shape_of(a)).c_str());
  if (axes) order = distinct_axes(*axes, rank, "transpose");
  return order == iota(rank) ? a : view_op(OpCode::transpose, Attrs().put(List(order)), a, s);
}

Value moveaxis(const Value &a, int64_t source, int64_t destination, const StreamRef &s) {
  const size_t from = axis_at(source, rank_of(a), "moveaxis"), to = axis_at(destination, rank_of(a), "moveaxis");
  Dims order = iota(rank_of(a));
  order.erase(from);
  order.insert(to, static_cast<int64_t>(from));
  return transpose(a, List(order), s);
}

Value swapaxes(const Value &a, int64_t axis1, int64_t axis2, const StreamRef &s) {
  Dims order = iota(rank_of(a));
  std::swap(order[axis_at(axis1, rank_of(a), "swapaxes")], order[axis_at(axis2, rank_of(a), "swapaxes")]);
  return transpose(a, List(order), s);
}

Value flip(const Value &a, const Axes &axes, const StreamRef &s) {
  const Dims list = sorted_axes(axes, rank_of(a), "flip");
  if (list.empty()) return a;
  Dims start(rank_of(a), 0), stop(rank_of(a), to_end), step(rank_of(a), 1);
  for (int64_t axis : list) {
    const size_t i = static_cast<size_t>(axis);
    start[i] = to_end, stop[i] = through_first, step[i] = -1;
  }
  return slice(a, start, stop, step, s);
}

Value broadcast_to(const Value &a, List shape, const StreamRef &s) {
  rules::check_sizes(shape);
  if (shape.size() == rank_of(a) && all_are(shape, -1)) return a;
  const Value out = view_op(OpCode::broadcast_to, Attrs().put(shape), a, s);
  return !follows_shapes(a) && shape_of(out) == shape_of(a) ? a : out;
}

Value broadcast_like(const Value &a, const Value &other, const StreamRef &s) {
  if (!follows_shapes(a) && !follows_shapes(other))
    return broadcast_to(a, broadcast_shapes(shape_of(a), shape_of(other), "broadcast_like"), s);
  return make(OpCode::broadcast_like, {}, {a, other}, s);
}

ValueList broadcast_arrays(Values xs, const StreamRef &s) {
  ValueList out;
  Dims shape;
  bool traced = false;
  for (const Value &x : xs) {
    shape = broadcast_shapes(shape, shape_of(x), "broadcast_arrays");
    traced |= follows_shapes(x);
  }
  for (const Value &x : xs) {
    if (!traced || xs.size() == 1) {
      out.push_back(broadcast_to(x, shape, s));
      continue;
    }
    SmallVector<Value, 2> inputs{x};
    for (const Value &y : xs)
      if (!(y == x)) inputs.push_back(y);
    out.push_back(make(OpCode::broadcast_like, {}, std::move(inputs), s));
  }
  return out;
}

ValueList split(const Value &a, List indices, int64_t axis, const StreamRef &s) {
  const size_t at = axis_at(axis, rank_of(a), "split");
  ValueList out;
  int64_t from = 0;
  for (int64_t index : indices) {
    out.push_back(slice_axis(a, at, from, index, 1, s));
    from = index;
  }
  out.push_back(slice_axis(a, at, from, to_end, 1, s));
  return out;
}

namespace {

// An axis of any length takes no memory where its elements are one, or none; its parts do.
void need_few_parts(int64_t n, const char *op) {
  constexpr int64_t most = 1 << 20;
  if (n > most) fail(MX_ERROR_OVERFLOW, "%s: %lld arrays are too many", op, static_cast<long long>(n));
}

}  // namespace

ValueList split_equal(const Value &a, int64_t sections, int64_t axis, const StreamRef &s) {
  const size_t at = axis_at(axis, rank_of(a), "split");
  const int64_t n = shape_of(a)[at];
  if (sections <= 0) fail(MX_ERROR_INVALID_ARGUMENT, "split: %lld sections", static_cast<long long>(sections));
  if (n % sections != 0)
    fail(MX_ERROR_SHAPE, "split: axis %zu of shape %s does not divide into %lld equal parts", at,
         to_string(shape_of(a)).c_str(), static_cast<long long>(sections));
  need_few_parts(sections, "split");
  ValueList out;
  const Dims place{static_cast<int64_t>(at)};
  if (follows_shapes(a)) {  // follows the size of the axis
    const Value parts = unflatten(a, static_cast<int64_t>(at), Dims{sections, -1}, s);
    for (int64_t i = 0; i < sections; i++)
      out.push_back(squeeze(slice_axis(parts, at, i, i + 1, 1, s), List(place), s));
    return out;
  }
  for (int64_t i = 0; i < sections; i++)
    out.push_back(slice_axis(a, at, i * (n / sections), (i + 1) * (n / sections), 1, s));
  return out;
}

ValueList unstack(const Value &a, int64_t axis, const StreamRef &s) {
  const size_t at = axis_at(axis, rank_of(a), "unstack");
  need_few_parts(shape_of(a)[at], "unstack");
  const Dims place{static_cast<int64_t>(at)};
  ValueList out;
  for (int64_t i = 0; i < shape_of(a)[at]; i++)
    out.push_back(squeeze(slice_axis(a, at, i, i + 1, 1, s), List(place), s));
  return out;
}

Value concatenate(Values xs, int64_t axis, const StreamRef &s) {
  if (xs.empty()) fail(MX_ERROR_INVALID_ARGUMENT, "concatenate: no arrays");
  const bool flat = axis == MX_NO_AXIS;
  const DType d = joint_dtype(xs);
  SmallVector<Value, 2> inputs;
  for (const Value &x : xs) inputs.push_back(astype(flat ? flatten(x, 0, -1, s) : x, d, s));
  const int at = normalize_axis(flat ? 0 : axis, rank_of(inputs[0]), "concatenate");
  if (inputs.size() == 1) return inputs[0];
  return make(OpCode::concatenate, Attrs().put(at), std::move(inputs), s);
}

Value stack(Values xs, int64_t axis, const StreamRef &s) {
  if (xs.empty()) fail(MX_ERROR_INVALID_ARGUMENT, "stack: no arrays");
  const Dims place{normalize_axis(axis, rank_of(xs[0]) + 1, "stack")};
  ValueList wide;
  for (const Value &x : xs) {
    if (shape_of(x) != shape_of(xs[0]))
      fail(MX_ERROR_SHAPE, "stack: shapes %s and %s differ", to_string(shape_of(xs[0])).c_str(),
           to_string(shape_of(x)).c_str());
    wide.push_back(expand_dims(x, place, s));
  }
  return concatenate(Values(wide.data(), wide.size()), place[0], s);
}

Value repeat(const Value &a, int64_t repeats, int64_t axis, const StreamRef &s) {
  need_count(repeats, "repeat", "repeats");
  const Value x = axis == MX_NO_AXIS ? flatten(a, 0, -1, s) : a;
  const int at = normalize_axis(axis == MX_NO_AXIS ? 0 : axis, rank_of(x), "repeat");
  if (repeats == 1) return x;
  Dims shape(rank_of(x) + 1, -1);
  shape[static_cast<size_t>(at) + 1] = repeats;
  return flatten(broadcast_to(expand_dims(x, Dims{at + 1}, s), shape, s), at, at + 1, s);
}

Value tile(const Value &a, List reps, const StreamRef &s) {
  for (int64_t n : reps) need_count(n, "tile", "a repetition");
  const size_t rank = std::max(rank_of(a), reps.size());
  const Value x = expand_dims(a, iota(rank - rank_of(a)), s);
  Dims shape, fresh;  // every repeated axis gets a new one before it
  for (size_t i = 0; i < rank; i++) {
    const size_t lead = rank - reps.size();
    const int64_t n = i < lead ? 1 : reps[i - lead];
    if (n != 1) {
      fresh.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(n);
    }
    shape.push_back(-1);
  }
  if (fresh.empty()) return x;
  Value out = broadcast_to(expand_dims(x, fresh, s), shape, s);
  for (size_t i = 0; i < fresh.size(); i++) {
    const int64_t at = fresh[i] - static_cast<int64_t>(i);
    out = flatten(out, at, at + 1, s);
  }
  return out;
}

Value roll(const Value &a, List shifts, const Axes &axes, const StreamRef &s) {
  const auto rolled = [&](const Value &x, int64_t shift, int64_t at) {
    return shift == 0 ? x : make(OpCode::roll, Attrs().put(shift).put(at), {x}, s);
  };
  if (!axes) {
    int64_t total = 0;
    for (int64_t shift : shifts)
      total = static_cast<int64_t>(static_cast<uint64_t>(total) + static_cast<uint64_t>(shift));
    return rolled(a, total, -1);
  }
  if (shifts.size() != axes->size() && shifts.size() != 1 && axes->size() != 1)
    fail(MX_ERROR_INVALID_ARGUMENT, "roll: %zu shifts for %zu axes", shifts.size(), axes->size());
  if (shifts.empty() || axes->empty()) return a;
  Value x = a;
  for (size_t i = 0; i < std::max(shifts.size(), axes->size()); i++) {
    const int64_t axis = (*axes)[axes->size() == 1 ? 0 : i];
    x = rolled(x, shifts[shifts.size() == 1 ? 0 : i], normalize_axis(axis, rank_of(a), "roll"));
  }
  return x;
}

Value atleast(const Value &a, size_t rank, const StreamRef &s) {
  if (rank_of(a) >= rank) return a;
  if (rank < 3) return expand_dims(a, iota(rank - rank_of(a)), s);
  static constexpr int64_t scalar_axes[] = {0, 1, 2}, vector_axes[] = {0, 2}, matrix_axes[] = {2};
  const List places[] = {scalar_axes, vector_axes, matrix_axes};
  return expand_dims(a, places[rank_of(a)], s);
}

Value diagonal(const Value &a, int64_t offset, int64_t axis1, int64_t axis2, const StreamRef &s) {
  const size_t rank = rank_of(a);
  if (rank < 2)
    fail(MX_ERROR_SHAPE, "diagonal: the array has shape %s, but it needs 2 dimensions", to_string(shape_of(a)).c_str());
  const Dims axes = distinct_axes(Dims{axis1, axis2}, rank, "diagonal");
  return view_op(OpCode::diagonal, Attrs().put(offset).put(axes[0]).put(axes[1]), a, s);
}

Value diag(const Value &a, int64_t k, const StreamRef &s) {
  if (rank_of(a) == 2) return diagonal(a, k, 0, 1, s);
  if (rank_of(a) != 1)
    fail(MX_ERROR_SHAPE, "diag: the array has shape %s, but it must have 1 or 2 dimensions",
         to_string(shape_of(a)).c_str());
  // column j of the result holds element j - max(k, 0)
  const Value zero = scalar(0, dtype_of(a)), offset = constant({MX_SCALAR_INT, k, 0, 0}, DType::int64);
  const Value row =
      pad(a, Dims{0}, Dims{std::max<int64_t>(k, 0)}, Dims{std::max<int64_t>(-k, 0)}, MX_PAD_CONSTANT, zero, s);
  const Value place = axis_iota(row, 0, s);
  return where(equal(expand_dims(add(place, offset, s), Dims{1}, s), place, s), row, zero, s);
}

ValueList depends(Values xs, Values deps, const StreamRef &s) {
  ValueList out;
  for (const Value &x : xs) {
    SmallVector<Value, 2> inputs{x};
    for (const Value &dep : deps) inputs.push_back(dep);
    out.push_back(make(OpCode::depends, {}, std::move(inputs), s));
  }
  return out;
}

Value as_strided(const Value &a, List shape, List strides, int64_t offset, const StreamRef &s) {
  return view_op(OpCode::as_strided, Attrs().put(shape).put(strides).put(offset), a, s);
}

Value view_dtype(const Value &a, DType dtype, const StreamRef &s) {
  return dtype == dtype_of(a) ? a : view_op(OpCode::view_dtype, Attrs().put(dtype), a, s);
}

Value contiguous(const Value &a, bool col_major, const StreamRef &s) {
  return view_op(OpCode::contiguous, Attrs().put(col_major), a, s);
}

}  // namespace mx::ops
