// Random pauses. Only a trivially destructible thread_local is used, so this works in every state of the process.
#include "runtime/delay.hpp"

#include "runtime/futex.hpp"

namespace mx {

constinit std::atomic<uint32_t> max_delay_us{0};

void delay_randomly(uint32_t max_us) noexcept {
  thread_local uint64_t state = 0;
  if (state == 0) state = now_ns() ^ reinterpret_cast<uintptr_t>(&state);
  state = state * 6364136223846793005u + 1442695040888963407u;
  // Most points do not pause at all, else the threads would only be slower and not more diverse.
  if ((state >> 33) % 8 == 0) sleep_ns((state >> 36) % max_us * 1000);
}

}  // namespace mx
