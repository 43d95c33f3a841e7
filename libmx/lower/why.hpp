// Why two units that follow each other were not joined by fuse.
#pragma once
#include "lower/fuse.hpp"

namespace mx::lower {

struct Split {
  uint32_t producer, reader;  // units of the fusion
  std::string reason;
};

// One for each pair of units of which the second reads a value that the first stores, also through views; in the order
// of the readers.
std::vector<Split> splits(const Graph &graph, const Fusion &fusion);

}  // namespace mx::lower
