// The CPU as a backend: launches run on the calling thread and the pool.
#pragma once
#include "backends/backend.hpp"

namespace mx::cpu {

Backend &backend() noexcept;

}  // namespace mx::cpu
