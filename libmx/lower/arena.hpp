// Offsets of temporaries in the one piece of memory that they share: first fit, and what is given back joins its
// neighbours.
#pragma once
#include <cstdint>
#include <map>

namespace mx::lower {

class Arena {
 public:
  int64_t take(int64_t bytes);
  void give(int64_t offset, int64_t bytes);  // as it was taken
  int64_t bytes() const noexcept { return bytes_; }

 private:
  std::map<int64_t, int64_t> gaps_;  // offset -> size
  int64_t bytes_ = 0;
};

}  // namespace mx::lower
