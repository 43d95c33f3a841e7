// The iteration space of a loop.
#pragma once
#include "base/small_vector.hpp"

namespace mx::loop {

// The iteration space and how the operands lie in it. Dimensions go from outermost to innermost; lower/ has put them in
// the best order and merged what could be merged. Reduced dimensions are neighbours: either innermost ("row"
// reductions) or followed by kept dimensions ("column" reductions). An operand's stride is 0 along dimensions it is
// broadcast over.
struct Geometry {
  Dims shape;
  uint32_t reduced_begin = 0, reduced_end = 0;  // dimensions [begin, end) are reduced; equal when none is
  SmallVector<Dims, 4> strides;                 // of each operand: bytes, as many as dimensions
};

}  // namespace mx::loop
