// The random key of every thread. Keys are two 32-bit words of Threefry-2x32; a thread's next key is the second half of
// its key's split, computed here and now, so that no graph grows with the number of draws.
#pragma once
#include <cstdint>

#include "core/node.hpp"

namespace mx {

struct RandomKey {
  uint32_t word[2];
};

// Threefry-2x32, 20 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
RandomKey threefry(RandomKey key, uint32_t counter0, uint32_t counter1) noexcept;

// A uint32 array (2) that exists already.
Value key_array(RandomKey key);
// The key of a seed.
RandomKey seed_key(uint64_t seed) noexcept;

// The calling thread's key.
void seed_thread(uint64_t seed);
Value thread_key();
void set_thread_key(const Value &key);  // throws SHAPE, DTYPE

// The key for one draw of the calling thread. Inside a trace it is an op that every call of the compiled function
// answers anew, or, if the thread's key was set to an array of the trace, part of the graph.
Value next_key();
// The same for work that runs: what the thread_key kernel writes.
RandomKey next_key_words();

}  // namespace mx
