// What every op says about its derivative: how cotangents of its outputs become cotangents of its inputs. Rules build
// ordinary nodes, so derivatives of derivatives need nothing else, and are linear in the cotangents, which is what
// forward differentiation rests on (forward.hpp).
//
// Complex numbers: a cotangent of z = x + iy is the cotangent of x plus i times that of y. For a holomorphic f it is
// the output's cotangent times the conjugate of f'(z).
#pragma once
#include "core/tape.hpp"
#include "transforms/term.hpp"

namespace mx::transforms {

using ops::Values;

// What is wanted of an input.
struct Interest {
  bool wanted = false;   // its cotangent
  bool derives = false;  // it derives from what is differentiated, be it without a derivative
};

// One step of the tape, seen from behind.
class Step {
 public:
  // `cotangents` has a value without node where nothing arrived.
  Step(const Record &record, Values cotangents, std::span<const Interest> interests);

  const OpCode op;
  const Attrs &attrs;
  const Ref<Stream> stream;
  size_t n_inputs() const noexcept { return record_.inputs.size(); }
  Term x(size_t i = 0) const { return term(record_.inputs[i]); }
  Term y(size_t k = 0) const { return term(record_.outputs[k]); }
  bool arrived(size_t k) const noexcept { return static_cast<bool>(cotangents_[k].node); }
  Term g(size_t k = 0) const;  // zeros if nothing arrived
  bool wants(size_t i) const noexcept { return interests_[i].wanted; }
  // The cotangent of input i: summed to its shape where the op broadcast it, and cast to its dtype. Ignored unless
  // wanted, but rules ask first where building costs something.
  void give(size_t i, const Term &gradient);
  // As one more term of what input 0 of an elementwise op of one operand gets: g times the conjugate of a derivative.
  void chain(const Term &derivative);
  // Throws INVALID_ARGUMENT if an input from `first` to before `last` derives from what is differentiated: indices have
  // no derivative.
  void need_no_indices(size_t first, size_t last) const;
  Term term(const Value &v) const noexcept { return {v, &stream}; }
  const Value &given(size_t i) const noexcept { return given_[i]; }  // no node if nothing was

 private:
  const Record &record_;
  const Values cotangents_;
  const std::span<const Interest> interests_;
  ValueVector given_;
};

using Rule = void (*)(Step &);

// nullptr: the op has none.
Rule rule_of(OpCode op) noexcept;
// The rule of ops whose derivative is zero wherever it exists, and of those that no derivative goes through.
void no_gradient(Step &);
bool is_constant(OpCode op) noexcept;

// Declares and defines the rule of an op.
#define MX_VJP(name) void vjp_##name([[maybe_unused]] Step &t)

// Sums a value that was broadcast to a wider shape back to `shape`.
Value summed_to(const Value &x, const Dims &shape, const Ref<Stream> &s);

}  // namespace mx::transforms
