#include "lower/run_rows.hpp"

#include "runtime/memory.hpp"
#include "runtime/pool.hpp"

namespace mx::lower {
namespace {

void run_tile(Backend &backend, const Step &step, int64_t linear, std::span<char *const> operands, char *scratch) {
  Dims index(step.tiles.size(), 0);
  for (size_t d = index.size(); d-- > 0; linear /= step.tiles[d]) index[d] = linear % step.tiles[d];
  const size_t cut = static_cast<size_t>(step.cut);
  const bool is_smaller = step.cut >= 0 && index[cut] + 1 == step.tiles[cut];
  SmallVector<char *, 8> data;
  size_t at = 0;
  for (const Step &pass : step.passes) {
    data.clear();
    for (size_t k = 0; k < pass.operand_storage.size(); k++, at++) {
      char *address = operands[at] ? operands[at] : scratch + pass.operand_offset[k];
      for (size_t d = 0; d < index.size(); d++) address += index[d] * pass.tile_strides[k][d];
      data.push_back(address);
    }
    backend.launch(*(is_smaller ? pass.last : pass.prepared), {data.data(), data.size()}, pass.scalars);
  }
}

}  // namespace

void run_rows(Backend &backend, const Step &step, std::span<char *const> operands) {
  int64_t n_tiles = 1;
  for (int64_t count : step.tiles) n_tiles *= count;
  parallel_for(n_tiles, Cost{static_cast<double>(step.tile_ns)}, [&](int64_t begin, int64_t end) {
    const Ref<Buffer> scratch =
        step.scratch_bytes ? backend.allocate(static_cast<size_t>(step.scratch_bytes)) : Ref<Buffer>();
    char *const memory = scratch ? reinterpret_cast<char *>(scratch->data()) : nullptr;
    for (int64_t i = begin; i < end; i++) run_tile(backend, step, i, operands, memory);
  });
}

}  // namespace mx::lower
