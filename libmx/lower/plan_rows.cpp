#include "lower/plan_rows.hpp"

#include "base/status.hpp"

namespace mx::lower {
namespace {

// The space of a tile: `parts` says how much of each dimension. A row loop has size 1 where rows are reduced.
Space part_of(const Space &whole, const Dims &parts) {
  Space part = whole;
  for (size_t d = 0; d < whole.shape.size(); d++) part.shape[d] = std::min(whole.shape[d], parts[d]);
  canonicalize(part);
  return part;
}

loop::Geometry geometry(const Space &space) {
  loop::Geometry g{space.shape, space.reduced_begin, space.reduced_end, {}};
  for (const Dims &strides : space.strides) g.strides.push_back(strides);
  return g;
}

}  // namespace

Step loop_step(const LoopParts &loop) {
  Step s;
  s.kind = Step::Kind::loop;
  s.geometry = geometry(loop.space);
  for (size_t k = 0; k < loop.places.size(); k++) {
    s.operand_storage.push_back(loop.places[k].storage);
    s.operand_offset.push_back(loop.places[k].layout.offset + loop.emitted.offsets[k]);
  }
  for (uint64_t bits : loop.emitted.scalars) s.scalars.push_back(bits);
  for (const loop::Ins &ins : loop.emitted.code.ins) s.uses_indices |= ins.op == loop::Op::iota;
  s.label = loop.label;
  return s;
}

Step tiled_pass(Backend &backend, const LoopParts &loop, const Tiling &tiling, int64_t &tile_ns) {
  const size_t rank = loop.space.shape.size();
  const Space tile = part_of(loop.space, tiling.shape), all = part_of(loop.space, loop.space.shape);
  const loop::Geometry whole = geometry(all);
  Step s = loop_step(loop);
  s.geometry = geometry(tile);
  s.kernel = backend.compile(loop.emitted.code);
  s.prepared = backend.prepare(s.kernel, s.geometry, &whole);
  if (tiling.cut >= 0) {
    const size_t d = static_cast<size_t>(tiling.cut);
    Dims rest = tiling.shape;
    rest[d] = loop.space.shape[d] - (tiling.counts[d] - 1) * tiling.shape[d];
    s.last = backend.prepare(s.kernel, geometry(part_of(loop.space, rest)), &whole);
  }
  int64_t n = 1;
  for (int64_t size : tile.shape) n *= size;
  tile_ns += backend.estimate_ns(*s.kernel, n);
  for (size_t k = 0; k < loop.places.size(); k++) {
    Dims strides(rank, 0);
    if (loop.places[k].storage != scratch_storage)
      for (size_t d = 0; d < rank; d++) strides[d] = loop.space.strides[k][d] * tiling.shape[d];
    s.tile_strides.push_back(std::move(strides));
  }
  return s;
}

Place scratch_place(const Spec &spec, const Tiling &tiling, int64_t &scratch_bytes) {
  constexpr int64_t alignment = 64;
  const Place place{scratch_storage, spec, {row_major(tiling.shape, itemsize(spec.dtype)), scratch_bytes}};
  const int64_t bytes = element_count(tiling.shape) * itemsize(spec.dtype);
  scratch_bytes += (bytes + alignment - 1) / alignment * alignment;
  return place;
}

Dims row_strides(const Sets::Space &space, const Dims &shape, const Dims &strides) {
  Dims dimensions, result(space.shape.size(), 0);
  if (!row_dimensions(space, shape, dimensions))
    fail(MX_ERROR_INTERNAL, "shape %s is not that of rows", to_string(shape).c_str());
  for (size_t d = 0; d < dimensions.size(); d++)
    result[static_cast<size_t>(dimensions[d])] = shape[d] == 1 ? 0 : strides[d];
  return result;
}

}  // namespace mx::lower
