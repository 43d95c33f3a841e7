// mx/notifier.h: completions for event loops.
#include "runtime/notifier.hpp"

#include "capi.h"
#include "eval/eval.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/memory.hpp"

namespace mx::capi {

Ref<Notifier> notifier_new() {
  require_not_closed();
  count_allocation();
  return make_ref<Notifier>();
}

void notifier_fd(int32_t *fd_out, Notifier &x) { *fd_out = x.descriptor(); }

void notifier_add(bool *queued_out, Notifier &x, Value array, uint64_t token) {
  x.descriptor();  // before anything is started
  bool queued = false;
  if (array.node->state() == NodeState::lazy) start({&array, 1});
  if (array.node->state() == NodeState::pending) {
    const Node::Snapshot snapshot = array.node->snapshot();
    if (snapshot.state == NodeState::pending) queued = x.add(*snapshot.event, token);
  }
  *queued_out = queued;
}

void notifier_take(uint64_t *tokens, size_t cap, size_t *n_tokens_out, Notifier &x) {
  *n_tokens_out = x.take(tokens, cap);
}

}  // namespace mx::capi
