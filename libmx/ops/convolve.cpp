// The convolution of two sequences: the sum over the shorter one of products with shifted copies of the longer one,
// which are views, so that one loop does it all.
#include "ops/convolve.hpp"

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/reduce.hpp"
#include "ops/shape.hpp"
#include "ops/unary.hpp"

namespace mx::ops {

Value convolve(const Value &a, const Value &v, mx_convolve_mode mode, const StreamRef &s) {
  if (static_cast<unsigned>(mode) > MX_CONVOLVE_SAME)
    fail(MX_ERROR_INVALID_ARGUMENT, "convolve: %d is not a mode", static_cast<int>(mode));
  if (rank_of(a) != 1 || rank_of(v) != 1 || shape_of(a)[0] == 0 || shape_of(v)[0] == 0)
    fail(MX_ERROR_SHAPE, "convolve: shapes %s and %s, but both must be 1-d and not empty",
         to_string(shape_of(a)).c_str(), to_string(shape_of(v)).c_str());
  const bool swap = shape_of(v)[0] > shape_of(a)[0];
  const DType d = promote(dtype_of(a), dtype_of(v));
  const Value x = astype(swap ? v : a, d, s), taps = astype(swap ? a : v, d, s);
  const int64_t n = shape_of(x)[0], m = shape_of(taps)[0];
  const int64_t low = mode == MX_CONVOLVE_VALID ? 0 : mode == MX_CONVOLVE_SAME ? m / 2 : m - 1;
  const int64_t high = mode == MX_CONVOLVE_VALID ? 0 : mode == MX_CONVOLVE_SAME ? m - 1 - m / 2 : m - 1;
  const Value padded = pad(x, Dims{0}, Dims{low}, Dims{high}, MX_PAD_CONSTANT, scalar(0, d), s);
  const Value shifted = as_strided(padded, Dims{m, n + low + high - m + 1}, Dims{1, 1}, 0, s);
  const Value weights = expand_dims(flip(taps, Axes{}, s), Dims{1}, s);
  return astype(sum(multiply(shifted, weights, s), List(Dims{0}), false, s), d, s);
}

}  // namespace mx::ops
