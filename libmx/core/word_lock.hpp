// A lock inside a word that also holds a state, for objects that are too many for the table of locks: nodes, and the
// slots of handles. Held for a few instructions that neither allocate nor wait, but for Node::Exclusive, which computes
// under it for a few microseconds.
#pragma once
#include <atomic>
#include <thread>

#include "runtime/lifecycle.hpp"

namespace mx {

// Locks `word` and stores its other bits in `state`; false, and nothing is done, as soon as valid(state) is. The lock's
// `width` bits from `shift` on hold the generation that the holder's process began with, plus one. A holder of an older
// one is a thread that a fork left behind: it will never come back, so its lock is free.
template <int shift, int width, class Word, class Valid>
bool lock_word(std::atomic<Word> &word, Word &state, Valid valid) noexcept {
  constexpr Word bits = ((Word{1} << width) - 1) << shift;
  const Word mine = (Word{first_generation()} + 1) << shift & bits;
  Word seen = word.load(std::memory_order_relaxed);
  for (int spins = 0;; spins++) {
    state = seen & ~bits;
    if (!valid(state)) return false;
    if ((seen & bits) != mine && word.compare_exchange_weak(seen, state | mine, std::memory_order_acquire)) return true;
    if ((seen & bits) != mine) continue;
    if (spins > 64) std::this_thread::yield();
    seen = word.load(std::memory_order_relaxed);
  }
}

template <class Word>
void unlock_word(std::atomic<Word> &word, Word state) noexcept {
  word.store(state, std::memory_order_release);
}

}  // namespace mx
