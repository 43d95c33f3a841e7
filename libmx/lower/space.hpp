// Iteration spaces: the dimensions that a loop runs over and how each operand moves along them.
#pragma once
#include <vector>

#include "base/small_vector.hpp"

namespace mx::lower {

struct Space {
  Dims shape;                                   // outermost first
  SmallVector<bool, 8> reduced;                 // per dimension
  std::vector<Dims> strides;                    // per operand, per dimension; bytes
  uint32_t reduced_begin = 0, reduced_end = 0;  // set by canonicalize
};

// The strides of an operand of this shape inside a space that it is broadcast to.
Dims broadcast_strides(std::span<const int64_t> shape, std::span<const int64_t> strides, size_t n_dims);

// Drops dimensions of size 1, brings reduced dimensions together and merges neighbours that every operand walks through
// as if they were one. The elements and, within a dimension, their order stay.
void canonicalize(Space &space);

}  // namespace mx::lower
