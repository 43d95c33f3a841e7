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
    for (int u = 0; u < 4; u++) a[u] = fold(a[u], term(load(in + i + u * width)));
  }
  for (; i + width <= n; i += width) a[0] = fold(a[0], term(load(in + i)));
  if (i < n) a[1] = fold(a[1], term(load_part(in + i, n - i, rest)));
  return fold(fold(a[0], a[1]), fold(a[2], a[3]));
}

const auto itself = [](F x) { return x; };
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
  const auto square = [centre](F x) { return (x - centre) * (x - centre); };
  return reduce_sum(fold_row(in, n, F{}, centre, square, add));
}

float sum_exp(const float *in, size_t n, float maximum) {
  const auto term = [maximum](F x) { return exp_nonpositive(x - maximum); };
  return reduce_sum(fold_row(in, n, F{}, -__builtin_inff(), term, add));
}

float exp_rows(float *out, const float *in, size_t n, float maximum) {
  F sum[2] = {};
  size_t i = 0;
  for (; i + 2 * width <= n; i += 2 * width) {
    const F x = exp_nonpositive(load(in + i) - maximum), y = exp_nonpositive(load(in + i + width) - maximum);
    store(out + i, x);
    store(out + i + width, y);
    sum[0] += x;
    sum[1] += y;
  }
  for (; i < n; i += width) {
    const size_t rest = n - i < width ? n - i : width;
    const F x = exp_nonpositive(load_part(in + i, rest, -__builtin_inff()) - maximum);
    store_part(out + i, x, rest);
    sum[0] += x;
  }
  return reduce_sum(sum[0] + sum[1]);
}

}  // namespace mx::cpu::rows::MX_LEVEL
