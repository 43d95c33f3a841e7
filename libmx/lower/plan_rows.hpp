// How loops become steps: the part of planning that knows geometries, and how a pass over a tile differs from a loop
// over the whole space. Relies on space.hpp and on the loop executor's prepare().
#pragma once
#include "lower/emit.hpp"
#include "lower/program.hpp"
#include "lower/space.hpp"

namespace mx::lower {

// A loop before it is a step: its code, and where its operands lie in its space.
struct LoopParts {
  Emitted emitted;
  std::vector<Place> places;  // per operand
  Space space;
  std::string label;
};

// All of a loop step but the kernel; the space is canonical.
Step loop_step(const LoopParts &loop);

// A pass over tiles of the loop's space. Adds its estimated time for one tile to `tile_ns`.
Step tiled_pass(Backend &backend, const LoopParts &loop, const Tiling &tiling, int64_t &tile_ns);

// A place in scratch memory for the elements of one tile; adds its size.
Place scratch_place(const Spec &spec, const Tiling &tiling, int64_t &scratch_bytes);

// The strides along all dimensions of a space of what has these strides along the dimensions of a row value of this
// shape.
Dims row_strides(const Sets::Space &space, const Dims &shape, const Dims &strides);

}  // namespace mx::lower
