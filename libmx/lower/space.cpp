#include "lower/space.hpp"

namespace mx::lower {
namespace {

void erase_dim(Space &space, size_t d) {
  space.shape.erase(d);
  space.reduced.erase(d);
  for (Dims &strides : space.strides) strides.erase(d);
}

void drop_ones(Space &space) {
  for (size_t d = space.shape.size(); d-- > 0;)
    if (space.shape[d] == 1) erase_dim(space, d);
}

bool reduced_are_neighbours(const Space &space) {
  int runs = 0;
  for (size_t d = 0; d < space.reduced.size(); d++) runs += space.reduced[d] && (d == 0 || !space.reduced[d - 1]);
  return runs <= 1;
}

void move_reduced_last(Space &space) {
  SmallVector<size_t, 8> order;
  for (bool reduced : {false, true})
    for (size_t d = 0; d < space.shape.size(); d++)
      if (space.reduced[d] == reduced) order.push_back(d);
  const Space old = space;
  for (size_t d = 0; d < order.size(); d++) {
    space.shape[d] = old.shape[order[d]];
    space.reduced[d] = old.reduced[order[d]];
    for (size_t k = 0; k < space.strides.size(); k++) space.strides[k][d] = old.strides[k][order[d]];
  }
}

void merge(Space &space) {
  for (size_t d = space.shape.size(); d-- > 1;) {
    if (space.reduced[d] != space.reduced[d - 1]) continue;
    bool together = true;
    for (const Dims &strides : space.strides) together &= strides[d - 1] == strides[d] * space.shape[d];
    if (!together) continue;
    space.shape[d - 1] *= space.shape[d];
    for (Dims &strides : space.strides) strides[d - 1] = strides[d];
    erase_dim(space, d);
  }
}

}  // namespace

Dims broadcast_strides(std::span<const int64_t> shape, std::span<const int64_t> strides, size_t n_dims) {
  Dims result(n_dims, 0);
  const size_t missing = n_dims - shape.size();
  for (size_t d = 0; d < shape.size(); d++) result[missing + d] = shape[d] == 1 ? 0 : strides[d];
  return result;
}

void canonicalize(Space &space) {
  drop_ones(space);
  if (!reduced_are_neighbours(space)) move_reduced_last(space);
  merge(space);
  space.reduced_begin = space.reduced_end = 0;
  for (uint32_t d = 0; d < space.shape.size(); d++) {
    if (!space.reduced[d]) continue;
    if (space.reduced_end == 0) space.reduced_begin = d;
    space.reduced_end = d + 1;
  }
}

}  // namespace mx::lower
