// Chooses the level's inner loops of slice_update and the scatters.
#include "backends/cpu/updates.hpp"

#include "backends/cpu/isa_level.hpp"

namespace mx::cpu {
namespace {

#if defined(__x86_64__)

extern "C" const UpdateTable updates_v2, updates_v3, updates_v4;

const UpdateTable &table() noexcept { return at_level(updates_v2, updates_v3, updates_v4); }

#else

extern "C" const UpdateTable updates_base;

const UpdateTable &table() noexcept { return updates_base; }

#endif

}  // namespace

const Update &update_for(DType dtype, ScatterMode mode) noexcept {
  return table().of[static_cast<size_t>(dtype)][static_cast<size_t>(mode)];
}

}  // namespace mx::cpu
