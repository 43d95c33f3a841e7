// See arena.hpp.
#include "lower/arena.hpp"

#include <iterator>

namespace mx::lower {
namespace {

int64_t aligned(int64_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

}  // namespace

int64_t Arena::take(int64_t bytes) {
  bytes = aligned(bytes);
  for (auto it = gaps_.begin(); it != gaps_.end(); ++it) {
    if (it->second < bytes) continue;
    const int64_t offset = it->first, rest = it->second - bytes;
    gaps_.erase(it);
    if (rest) gaps_.emplace(offset + bytes, rest);
    return offset;
  }
  const int64_t offset = bytes_;
  bytes_ += bytes;
  return offset;
}

void Arena::give(int64_t offset, int64_t bytes) {
  auto it = gaps_.emplace(offset, aligned(bytes)).first;
  const auto next = std::next(it);
  if (next != gaps_.end() && it->first + it->second == next->first) {
    it->second += next->second;
    gaps_.erase(next);
  }
  if (it == gaps_.begin()) return;
  const auto before = std::prev(it);
  if (before->first + before->second != it->first) return;
  before->second += it->second;
  gaps_.erase(it);
}

}  // namespace mx::lower
