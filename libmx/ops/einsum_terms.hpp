// The notation of Einstein summation, and the order of contractions.
#pragma once
#include <string>
#include <vector>

#include "ops/build.hpp"

namespace mx::ops::einsum_detail {

// The labels of axes, one character each. Axes behind an ellipsis have the labels `behind_ellipsis` - d, where d counts
// from the right, so that they line up as in broadcasting.
using Labels = std::string;
constexpr char behind_ellipsis = MX_MAX_DIMS + 1;

struct Terms {
  std::vector<Labels> inputs;  // may repeat labels
  Labels output;
  int64_t size_of[128] = {};  // by label

  double size(const Labels &labels) const noexcept;
};

inline bool has(const Labels &labels, char label) noexcept { return labels.find(label) != Labels::npos; }
// Those of `a`, then those of `b` that are not among them; each once.
Labels unite(const Labels &a, const Labels &b);
// "ij", with a dot for each axis behind an ellipsis.
std::string written(const Labels &labels);

// Throws INVALID_ARGUMENT for what cannot be read, SHAPE where shapes do not fit the labels or each other.
Terms parse(const char *subscripts, Values xs);

// In the greedy order of numpy.einsum_path: the pair whose contraction frees most elements, then the cheapest one,
// unless everything at once is cheaper. Positions count in what is left; a result goes to the end.
std::vector<std::vector<size_t>> greedy_path(const Terms &terms);

}  // namespace mx::ops::einsum_detail
