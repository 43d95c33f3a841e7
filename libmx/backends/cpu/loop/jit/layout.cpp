// See layout.hpp. Everything is linear in the size of the code but for the few uniform values, which are sorted.
#include "backends/cpu/loop/jit/layout.hpp"

#include <algorithm>

namespace mx::loop::jit {
namespace {

bool is_sink(V op) noexcept { return op == V::store || op == V::accumulate; }

// Whether the operand can be memory as wide as a vector.
bool takes_memory(V op, int operand) noexcept {
  switch (op) {
    case V::madd:
      return true;
    case V::choose_if:
      return operand == 1 || operand == 2;
    case V::choose:
      return operand == 1;
    case V::subtract:
    case V::divide:
    case V::smaller:
    case V::larger:
    case V::scale:
    case V::int_subtract:
    case V::compare:
    case V::int_greater:
    case V::uint_greater:
    case V::shift_left_by:
    case V::shift_right_by:
    case V::shift_right_signed_by:
      return operand == 1;
    default:
      return is_commutative(op);
  }
}

}  // namespace

bool is_commutative(V op) noexcept {
  switch (op) {
    case V::add:
    case V::multiply:
    case V::int_add:
    case V::int_multiply:
    case V::int_smaller:
    case V::int_larger:
    case V::uint_smaller:
    case V::uint_larger:
    case V::bit_and:
    case V::bit_or:
    case V::bit_xor:
    case V::int_equal:
      return true;
    default:
      return false;
  }
}

Layout::Layout(const VectorCode &code)
    : is_folded(code.ins.size(), false), pinned(code.ins.size(), -1), n_registers(code.has_512 ? 32 : 16) {
  std::vector<bool> is_used(code.ins.size(), false);
  for (size_t i = code.ins.size(); i-- > 0;) {
    const Instruction &ins = code.ins[i];
    if (!is_used[i] && !is_sink(ins.op)) continue;
    is_used[i] = true;
    for (Id used : operands(ins))
      if (used != none) is_used[used] = true;
  }
  for (size_t i = 0; i < code.ins.size(); i++)
    if (is_used[i]) (code.ins[i].is_uniform ? before : body).push_back(static_cast<Id>(i));
  note_uses(code);
  fold_loads(code);
  const int alive = static_cast<int>(most_alive(code)), free = n_registers - n_temps;
  // Long code has enough independent instructions without unrolling.
  const int widest = body.size() > 800 ? 1 : body.size() > 300 ? 2 : 4;
  while (unroll < widest && 2 * unroll * alive <= free) unroll *= 2;
  n_free = std::min(std::max(unroll * alive, 4), free);
  pin();
}

void Layout::note_uses(const VectorCode &code) {
  first_use_.assign(code.ins.size() + 1, 0);
  const auto each_use = [&](auto use) {
    for (uint32_t p = 0; p < body.size(); p++)
      for (Id used : operands(code.ins[body[p]]))
        if (used != none) use(used, p);
  };
  each_use([&](Id id, uint32_t) { first_use_[id + 1u]++; });
  for (size_t i = 1; i < first_use_.size(); i++) first_use_[i] += first_use_[i - 1];
  positions_.resize(first_use_.back());
  std::vector<uint32_t> at(first_use_.begin(), first_use_.end() - 1);
  each_use([&](Id id, uint32_t p) { positions_[at[id]++] = p; });
  for (Id id : body) calls |= code.ins[id].op == V::rare;
}

uint32_t Layout::next_use(Id id, uint32_t after) const noexcept {
  for (uint32_t i = first_use_[id]; i < first_use_[id + 1u]; i++)
    if (positions_[i] > after) return positions_[i];
  return never;
}

// A load with one use can wait for it, unless something is stored in between, which may be to the same place.
void Layout::fold_loads(const VectorCode &code) {
  uint32_t stores = 0;
  std::vector<uint32_t> stores_before(body.size());
  for (uint32_t p = 0; p < body.size(); p++) {
    stores_before[p] = stores;
    stores += is_sink(code.ins[body[p]].op);
  }
  for (uint32_t p = 0; p < body.size(); p++) {
    const Id id = body[p];
    const Instruction &load = code.ins[id];
    if ((load.op != V::load && load.op != V::accumulated) || first_use_[id + 1u] - first_use_[id] != 1) continue;
    if (load.op == V::load && load.storage != (code.is_wide ? in_b64 : in_b32)) continue;
    const uint32_t at = positions_[first_use_[id]];
    const Instruction &user = code.ins[body[at]];
    for (int k = 0; k < 5; k++)
      if (operands(user)[static_cast<size_t>(k)] == id && takes_memory(user.op, k))
        is_folded[id] = stores_before[at] == stores_before[p];
  }
}

uint32_t Layout::most_alive(const VectorCode &code) const {
  uint32_t alive = 0, most = 1;
  for (uint32_t p = 0; p < body.size(); p++) {
    const Id id = body[p];
    const auto list = operands(code.ins[id]);
    for (size_t k = 0; k < list.size(); k++) {
      const Id used = list[k];
      if (used == none || code.ins[used].is_uniform || is_folded[used] || next_use(used, p) != never) continue;
      if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(k), used) ==
          list.begin() + static_cast<std::ptrdiff_t>(k))
        alive--;
    }
    if (!is_folded[id] && !is_sink(code.ins[id].op)) alive++;
    most = std::max(most, alive);
  }
  return most;
}

// The uniform values with the most uses get what registers are left.
void Layout::pin() {
  std::vector<Id> wanted;
  const auto uses = [&](Id id) { return first_use_[id + 1u] - first_use_[id]; };
  for (Id id : before)
    if (uses(id) > 0) wanted.push_back(id);
  std::stable_sort(wanted.begin(), wanted.end(), [&](Id a, Id b) { return uses(a) > uses(b); });
  const size_t left = static_cast<size_t>(n_registers - n_temps - n_free);
  // What is not needed for uniform values lets others stay longer.
  if (wanted.size() < left) n_free += static_cast<int>(left - wanted.size());
  for (size_t i = 0; i < std::min(wanted.size(), left); i++)
    pinned[wanted[i]] = static_cast<int8_t>(n_free + static_cast<int>(i));
}

}  // namespace mx::loop::jit
