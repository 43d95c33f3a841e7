// mx/base.h: version, errors, handles.
#include <cstring>

#include "backends/cpu/isa_level.hpp"
#include "capi.h"
#include "config.h"
#include "core/handle.hpp"

namespace mx::capi {
namespace {
constexpr const char *isa_names[] = {"base", "v2", "v3", "v4"};
}

uint32_t version() noexcept { return MX_VERSION_MAJOR << 16 | MX_VERSION_MINOR; }
const char *error_message() noexcept { return mx::error_message(); }
const char *isa() noexcept { return isa_names[static_cast<int>(cpu::isa_level())]; }

uint64_t handle_count(mx_handle_type type) noexcept {
  return type >= 0 && type < n_tags ? live_handles(static_cast<Tag>(type)) : 0;
}

bool has(const char *feature) noexcept {
  struct Feature {
    const char *name;
    bool there;
  };
  static constexpr Feature features[] = {{"jit", MX_HAVE_XBYAK}, {"zlib", MX_HAVE_ZLIB}};
  for (const Feature &f : features)
    if (feature && std::strcmp(f.name, feature) == 0) return f.there;
  return false;
}

}  // namespace mx::capi
