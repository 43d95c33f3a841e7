// thread_key: the next random key of the thread that runs the op. Compiled calls never come here: they take the keys of
// the thread that calls as inputs.
#include <cstring>

#include "backends/cpu/kernels.hpp"
#include "ops/random_state.hpp"

namespace mx::cpu {

void thread_key(const KernelCall &call) {
  const RandomKey key = next_key_words();
  std::memcpy(call.outputs[0].data, key.word, sizeof key.word);
}

}  // namespace mx::cpu
