// The order in which both executors take the instructions, so that they also read and write memory in the same order:
// for each sink what it needs, the deeper operand first, so that the other one follows directly before its use. Unused
// instructions drop out.
#include <algorithm>

#include "backends/cpu/loop/kernel.hpp"

namespace mx::loop {

bool is_closed(Op op, DType type) noexcept {
  switch (op) {
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
    case Op::sign:
    case Op::minimum:
    case Op::maximum:
    case Op::copysign:
    case Op::nextafter:
    case Op::select:
      return true;
    case Op::negative:
    case Op::absolute:
      return is_floating(type);
    case Op::remainder:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::shift_right:
      return is_integer(type);
    default:
      return false;
  }
}

std::vector<uint16_t> schedule(const Code &code) {
  const size_t n = code.ins.size();
  std::vector<uint16_t> weight(n, 0), order;
  std::vector<uint8_t> next(n, 0);  // operands visited so far; 4 when done
  const auto operand = [&](uint16_t v, int k) {
    const Ins &ins = code.ins[v];
    uint16_t used[3] = {ins.a, ins.b, ins.c};
    const auto deeper_first = [&](int i, int j) {
      if (j < arity(ins.op) && weight[used[j]] > weight[used[i]]) std::swap(used[i], used[j]);
    };
    deeper_first(0, 1), deeper_first(1, 2), deeper_first(0, 1);
    return used[k];
  };
  for (size_t v = 0; v < n; v++) {
    const Ins &ins = code.ins[v];
    const uint16_t used[3] = {ins.a, ins.b, ins.c};
    for (int k = 0; k < arity(ins.op); k++) {
      const uint16_t w = weight[used[k]];
      weight[v] = std::max<uint16_t>(weight[v] == w ? w + 1 : weight[v], w);
    }
  }
  std::vector<uint16_t> stack;
  for (size_t sink = 0; sink < n; sink++) {
    if (code.ins[sink].op != Op::store && !is_reduction(code.ins[sink].op)) continue;
    stack.push_back(static_cast<uint16_t>(sink));
    while (!stack.empty()) {
      const uint16_t v = stack.back();
      if (next[v] < arity(code.ins[v].op)) {
        const uint16_t a = operand(v, next[v]++);
        if (next[a] == 0) stack.push_back(a);
      } else {
        stack.pop_back();
        if (next[v] != 4) order.push_back(v);
        next[v] = 4;
      }
    }
  }
  return order;
}

}  // namespace mx::loop
