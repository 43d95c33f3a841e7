// Reverse differentiation along a tape: cotangents run from outputs to sources, newest step first.
#pragma once
#include <unordered_map>

#include "transforms/rule.hpp"

namespace mx::transforms {

using Records = std::vector<Ref<Record>>;

class Reverse {
 public:
  // Where cotangents are wanted; a value may occur once only.
  Reverse(Records records, Values sources);
  // A cotangent of an output, of its shape; several add up.
  void seed(const Value &output, const Value &cotangent);
  // Goes on until all is done (null) or a custom rule is needed for this step; then come asked() and supply().
  const Record *run();
  ValueVector asked() const;                  // the cotangents of the step's outputs; zeros where nothing arrived
  void supply(Values gradients);              // one per argument. Throws SHAPE
  Value gradient(const Value &source) const;  // no node where nothing arrived

 private:
  struct Slot {
    Value cotangent;
    bool depends = false;  // on a source, by a derivative
    bool derives = false;  // from a source, also through ops without one
  };
  Slot *slot(const Value &v) noexcept;
  const Slot *slot(const Value &v) const noexcept { return const_cast<Reverse *>(this)->slot(v); }
  void add_slots(const Value &v);
  bool depends(const Value &v) const noexcept;
  void mark(const Record &record);
  bool reached(const Record &record) const noexcept;
  void apply(const Record &record);
  void add(const Value &v, Value gradient, const Ref<Stream> &s);

  Records records_;
  std::unordered_map<const Node *, uint32_t> first_slot_;  // of output 0; the others follow
  std::vector<Slot> slots_;
};

// The inputs of a record that a derivative goes through: of a custom step its arguments if it has a rule of that
// direction, else the outputs of its body.
struct Through {
  size_t first, last;
};
Through through(const Record &record, bool has_rule) noexcept;

}  // namespace mx::transforms
