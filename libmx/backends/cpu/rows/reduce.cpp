// Reductions of a row. Four accumulators hide the latency of the additions; their order depends on the length and the
// level only.
#include "backends/cpu/rows/level.hpp"

namespace mx::cpu::rows::MX_LEVEL {
namespace {

// Folds term(x) of every vector x of the row; the row's last vector is filled up with `rest`.
template <class Term, class Fold>
MX_INLINE F fold_row(const float *in, size_t n, F start, float rest, Term term, Fold fold) {
  F a[4] = {start, start, start, start};
  size_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    for (int u = 0; u < 4; u++) a[u] = fold(a[u], term(i + u * width, load(in + i + u * width)));
  }
  for (; i + width <= n; i += width) a[0] = fold(a[0], term(i, load(in + i)));
  if (i < n) a[1] = fold(a[1], term(i, load_part(in + i, n - i, rest)));
  return fold(fold(a[0], a[1]), fold(a[2], a[3]));
}

const auto itself = [](size_t, F x) { return x; };
const auto add = [](F a, F b) { return a + b; };

}  // namespace

float maximum(const float *in, size_t n) {
  const F start = splat(-__builtin_inff());
  return reduce_max(fold_row(in, n, start, -__builtin_inff(), itself, [](F a, F b) { return maximum(a, b); }));
}

float minimum(const float *in, size_t n) {
  const F start = splat(__builtin_inff());
  return reduce_min(fold_row(in, n, start, __builtin_inff(), itself, [](F a, F b) { return minimum(a, b); }));
}

float sum(const float *in, size_t n) { return reduce_sum(fold_row(in, n, F{}, 0.0f, itself, add)); }

float sum_squares(const float *in, size_t n, float centre) {
  const auto square = [centre](size_t, F x) { return (x - centre) * (x - centre); };
  return reduce_sum(fold_row(in, n, F{}, centre, square, add));
}

float sum_exp(const float *in, size_t n, float maximum) {
  const auto term = [maximum](size_t, F x) { return exp_nonpositive(x - maximum); };
  return reduce_sum(fold_row(in, n, F{}, -__builtin_inff(), term, add));
}

float exp_rows(float *out, const float *in, size_t n, float maximum) {
  const auto term = [=](size_t i, F x) {
    const F y = exp_nonpositive(x - maximum);
    if (i + width <= n) {
      store(out + i, y);
    } else {
      store_part(out + i, y, n - i);
    }
    return y;
  };
  return reduce_sum(fold_row(in, n, F{}, -__builtin_inff(), term, add));
}

}  // namespace mx::cpu::rows::MX_LEVEL
