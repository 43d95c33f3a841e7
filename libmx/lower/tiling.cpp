// Dimensions are taken whole from the last kept one on, as long as that fits; the one that does not is cut.
#include "lower/tiling.hpp"

namespace mx::lower {
namespace {

// What a tile takes of the cache for each operand: a pass over it is long against the start of a pass, and three or
// four operands fit the second level cache of one core. Small spaces get smaller tiles, so that there is enough to
// share out.
constexpr int64_t smallest_tile = 32 * 1024, largest_tile = 128 * 1024, enough_tiles = 8;
// Longer rows are still taken one by one, if there are many and they fit.
constexpr int64_t longest_row = 256 * 1024, many_rows = 16;
// Memory is read in stretches of at least so many bytes.
constexpr int64_t shortest_stretch = 256;

bool is_reduced(const Sets::Space &space, size_t d) noexcept {
  return std::binary_search(space.axes.begin(), space.axes.end(), static_cast<int64_t>(d));
}

// Cuts the space into tiles of about `tile_bytes`; false if that is no good.
bool cut(const Sets::Space &space, int64_t bytes, int64_t row_bytes, int64_t tile_bytes, Tiling &tiling) {
  bool is_cut = false;
  for (size_t d = space.shape.size(); d-- > 0;) {
    if (is_reduced(space, d) || space.shape[d] == 1) continue;
    const int64_t fits = is_cut ? 1 : std::max<int64_t>(1, tile_bytes / row_bytes);
    is_cut |= fits < space.shape[d];
    int64_t &part = tiling.shape[d];
    part = std::min(fits, space.shape[d]);
    if (d + 1 == space.shape.size() && part < space.shape[d]) {  // whole cache lines
      if (part * bytes < shortest_stretch) return false;
      part -= part * bytes % 64 / bytes;
    }
    tiling.counts[d] = (space.shape[d] + part - 1) / part;
    tiling.n_tiles *= tiling.counts[d];
    if (tiling.counts[d] * part != space.shape[d]) tiling.cut = static_cast<int64_t>(d);
    row_bytes *= part;
  }
  return tiling.n_tiles > 1;
}

}  // namespace

Tiling make_tiling(const Sets::Space &space, int64_t bytes) {
  const size_t rank = space.shape.size();
  int64_t row = bytes, all = bytes;
  for (size_t d = 0; d < rank; d++) {
    all *= space.shape[d];
    if (is_reduced(space, d)) row *= space.shape[d];
  }
  const Tiling whole{space.shape, Dims(rank, 1), -1, 1, all <= longest_row};
  if (all == 0 || row > longest_row || (row > largest_tile && all / row < many_rows)) return whole;
  Tiling tiling = whole;
  tiling.in_cache = true;
  return cut(space, bytes, row, std::clamp(all / enough_tiles, smallest_tile, largest_tile), tiling) ? tiling : whole;
}

}  // namespace mx::lower
