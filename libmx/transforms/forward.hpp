// Forward differentiation along a tape: tangents run from sources to outputs. No rule is needed beyond those of
// rule.hpp: what a rule does to cotangents is linear, and the transposed of the transposed of a derivative is the
// derivative (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).
#pragma once
#include "transforms/reverse.hpp"

namespace mx::transforms {

class Forward {
 public:
  Forward(Records records, Values sources, Values tangents);
  // As in Reverse; supply takes one tangent per output of the step.
  const Record *run();
  ValueVector asked() const;  // the tangents of the step's arguments; no node where there is none
  void supply(Values tangents);
  Value tangent(const Value &output) const;  // no node where there is none

 private:
  const Value *find(const Value &v) const noexcept;
  void put(const Value &v, Value tangent);
  bool reached(const Record &record, const Through &path) const noexcept;
  void apply(const Record &record);

  Records records_;
  size_t next_ = 0;
  std::unordered_map<const Node *, SmallVector<Value, 1>> tangents_;
};

}  // namespace mx::transforms
