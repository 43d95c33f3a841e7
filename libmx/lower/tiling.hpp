// Tiles: parts of a space that all passes over it take one after the other, so that what one pass reads or writes is
// still in the cache for the next. A tile holds whole rows. Depends on shapes only, so that results do too.
#pragma once
#include "lower/sets.hpp"

namespace mx::lower {

struct Tiling {
  Dims shape;            // of a tile: in each dimension the whole size, 1, or (in one of them) a part
  Dims counts;           // of tiles along each dimension
  int64_t cut = -1;      // the dimension along which the last tile is smaller, if there is one
  int64_t n_tiles = 1;   // 1: the space is not divided
  bool in_cache = true;  // what one pass leaves is still there for the next
};

// The tiles of a space whose elements take `bytes`. It is not divided if it is small, if a row is too long for the
// cache, or if tiles would read memory in stretches too short.
Tiling make_tiling(const Sets::Space &space, int64_t bytes);

}  // namespace mx::lower
