// Derivatives of gathers, scatters and updates of slices.
#include "ops/index.hpp"
#include "ops/reduce.hpp"
#include "ops/shape.hpp"
#include "transforms/rule.hpp"

namespace mx::transforms {
namespace {

using ops::List;

Term zeros_like(const Term &x) { return x.with(ops::zeros_like(x, x.dtype(), *x.stream)); }

// Where an update goes: how to read what lies there, and to write there. The update may have been broadcast to it.
struct Place {
  Value (*read)(const Step &, const Value &);
  Value (*write)(const Step &, const Value &, const Value &, ScatterMode);
  size_t update;  // which input holds what is written; input 0 is what is written to
};

// The product of all that is written to each element.
void multiplied(Step &t, const Place &place) {
  const Term x = t.x(0), u = t.x(place.update);
  if (t.wants(0)) t.give(0, t.term(place.write(t, t.g(), conjugate(u), ScatterMode::multiply)));
  // what an update was multiplied with: the result without it
  if (t.wants(place.update)) t.give(place.update, t.term(place.read(t, t.g() * conjugate(t.y()))) / conjugate(u));
}

// Whoever equals the result gets the cotangent.
void selected(Step &t, const Place &place) {
  const Term x = t.x(0), u = t.x(place.update);
  if (t.wants(0)) t.give(0, where(x == t.y(), t.g(), 0));
  if (t.wants(place.update)) {
    const Term best = t.term(place.read(t, t.y())), g = t.term(place.read(t, t.g()));
    t.give(place.update, where(u == best, g, 0));
  }
}

void updated(Step &t, const Place &place, ScatterMode mode) {
  switch (mode) {
    case ScatterMode::assign:
      if (t.wants(0)) t.give(0, t.term(place.write(t, t.g(), zeros_like(t.x(place.update)), mode)));
      break;
    case ScatterMode::add:
      t.give(0, t.g());
      break;
    case ScatterMode::multiply:
      return multiplied(t, place);
    case ScatterMode::maximum:
    case ScatterMode::minimum:
      return selected(t, place);
  }
  if (t.wants(place.update)) t.give(place.update, t.term(place.read(t, t.g())));
}

// ---- scatter: x, updates, indices

SmallVector<Value, 2> indices_of(const Step &t, size_t first) {
  SmallVector<Value, 2> indices;
  for (size_t i = first; i < t.n_inputs(); i++) indices.push_back(t.x(i));
  return indices;
}

Value read_scattered(const Step &t, const Value &x) {
  const List axes = AttrReader(t.attrs).list();
  const Dims updates = t.x(1).shape();
  const size_t rank = spec_of(x).shape.size();
  const Dims sizes(updates.end() - rank, updates.end());
  return ops::gather(x, indices_of(t, 2), axes, sizes, t.stream);
}

Value write_scattered(const Step &t, const Value &x, const Value &updates, ScatterMode mode) {
  return ops::scatter(x, indices_of(t, 2), updates, AttrReader(t.attrs).list(), mode, t.stream);
}

// ---- scatter_axis: x, indices, values

Value read_axis(const Step &t, const Value &x) {
  return ops::take_along_axis(x, t.x(1), AttrReader(t.attrs).integer(), t.stream);
}

Value write_axis(const Step &t, const Value &x, const Value &values, ScatterMode mode) {
  return ops::scatter_along_axis(x, t.x(1), values, AttrReader(t.attrs).integer(), mode, t.stream);
}

// ---- slice_update: x, update

Value read_slice(const Step &t, const Value &x) {
  AttrReader reader(t.attrs);
  const List start = reader.list(), stop = reader.list(), step = reader.list();
  return ops::slice(x, start, stop, step, t.stream);
}

Value write_slice(const Step &t, const Value &x, const Value &update, ScatterMode mode) {
  AttrReader reader(t.attrs);
  const List start = reader.list(), stop = reader.list(), step = reader.list();
  return ops::slice_update(x, update, start, stop, step, mode, t.stream);
}

ScatterMode mode_of(int64_t mode) noexcept { return static_cast<ScatterMode>(mode); }

}  // namespace

MX_VJP(gather) {
  t.need_no_indices(1, t.n_inputs());
  const List axes = AttrReader(t.attrs).list();
  t.give(0, t.term(ops::scatter(zeros_like(t.x()), indices_of(t, 1), t.g(), axes, ScatterMode::add, t.stream)));
}

MX_VJP(gather_axis) {
  t.need_no_indices(1, 2);
  const int64_t axis = AttrReader(t.attrs).integer();
  Dims shape = t.y().shape();  // of the input where it was broadcast to the indices
  shape[static_cast<size_t>(axis)] = t.x().shape()[static_cast<size_t>(axis)];
  const Term wide = shape == t.x().shape() ? zeros_like(t.x()) : t.term(ops::zeros(shape, t.x().dtype(), t.stream));
  t.give(0, t.term(ops::scatter_along_axis(wide, t.x(1), t.g(), axis, ScatterMode::add, t.stream)));
}

MX_VJP(scatter) {
  t.need_no_indices(2, t.n_inputs());
  AttrReader reader(t.attrs);
  reader.list();
  updated(t, {read_scattered, write_scattered, 1}, mode_of(reader.integer()));
}

MX_VJP(scatter_axis) {
  t.need_no_indices(1, 2);
  AttrReader reader(t.attrs);
  reader.integer();
  updated(t, {read_axis, write_axis, 2}, mode_of(reader.integer()));
}

MX_VJP(slice_update) {
  AttrReader reader(t.attrs);
  for (int i = 0; i < 3; i++) reader.list();
  updated(t, {read_slice, write_slice, 1}, mode_of(reader.integer()));
}

// The values go to the true elements of the mask in order, whole blocks of what lies behind the mask's axes as long as
// there are some: each element's place among them is a running count.
MX_VJP(masked_scatter) {
  const Term x = t.x(0), values = t.x(2);
  Dims more;
  for (size_t i = t.x(1).shape().size(); i < x.shape().size(); i++) more.push_back(static_cast<int64_t>(i));
  const Term wide = t.term(ops::broadcast_like(ops::expand_dims(t.x(1), more, t.stream), x, t.stream));
  const Term mask = t.term(ops::flatten(wide, 0, -1, t.stream));
  const Term place = t.term(ops::scan(ScanKind::sum, mask, 0, false, true, t.stream)) - 1;
  const int64_t block = element_count(List(x.shape()).subspan(x.shape().size() - more.size()));
  const int64_t available = block ? element_count(values.shape()) / block * block : 0;
  const Term written = logical_and(mask, place < static_cast<double>(available));
  const Term g = t.term(ops::flatten(t.g(), 0, -1, t.stream));
  if (t.wants(0)) t.give(0, t.term(ops::reshape(where(written, 0, g), x.shape(), t.stream)));
  if (!t.wants(2) || available == 0) return;
  const Term index = t.term(ops::maximum(place, place.number(0), t.stream));
  t.give(2, t.term(ops::scatter_along_axis(zeros_like(values), index, where(written, g, 0), 0, ScatterMode::add,
                                           t.stream)));
}

MX_VJP(dynamic_slice) {
  t.need_no_indices(1, 2);
  const List axes = AttrReader(t.attrs).list();
  t.give(0, t.term(ops::dynamic_slice_update(zeros_like(t.x()), t.g(), t.x(1), axes, t.stream)));
}

MX_VJP(dynamic_slice_update) {
  t.need_no_indices(2, 3);
  const List axes = AttrReader(t.attrs).list();
  const Term update = t.x(1);
  if (t.wants(0)) t.give(0, t.term(ops::dynamic_slice_update(t.g(), zeros_like(update), t.x(2), axes, t.stream)));
  if (t.wants(1)) t.give(1, t.term(ops::dynamic_slice(t.g(), t.x(2), axes, update.shape(), t.stream)));
}

}  // namespace mx::transforms
