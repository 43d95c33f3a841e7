// From values of one lane to the same for all lanes.
#pragma once
#include <unordered_map>
#include <vector>

#include "transforms/mapped.hpp"

namespace mx::vmap {

// Walks from a value down to placeholders, without recursion, and builds every node that derives from one again. What
// it built it keeps, so values may be asked for one after the other. Used by one thread at a time.
class Mapper {
 public:
  explicit Mapper(Mapped like) : lanes_(std::move(like)) {}
  const Lanes &lanes() const noexcept { return lanes_; }
  // From now on `placeholder` stands for `by`, which differs between the lanes.
  void replace(const Value &placeholder, Mapped by);
  Mapped map(const Value &value);

 private:
  struct Found {
    Ref<Node> node;
    ValueVector inputs;  // until it is left
    MappedList outputs;  // empty: derives from no placeholder, so it stays what it is
  };
  void enter(const Ref<Node> &node);
  void leave(Found &found);
  Mapped now(const Value &value) const;

  const Lanes lanes_;
  std::unordered_map<const Node *, uint32_t> index_;
  std::vector<Found> found_;
  std::vector<std::pair<uint32_t, size_t>> stack_;  // nodes that were entered, and the input to look at next
};

}  // namespace mx::vmap
