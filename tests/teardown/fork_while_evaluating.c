/* fork while other threads evaluate: in the child a value is the right one or lost, and what was lazy can be computed.
 */
#include <math.h>

#include "teardown.h"

enum { N_THREADS = 8, N_FORKS = 40, N = 512 };

static mx_array published[N_THREADS]; /* atomic */

/* The tangent of an array that nobody else has, so that its memory could become the result's. NULL once the process
 * exits. */
static mx_array tangent_of_half(void) {
  float halves[N];
  for (int i = 0; i < N; i++) halves[i] = 0.5f;
  mx_array x, y = NULL;
  if (mx_array_new(&x, halves, sizeof halves, (const int64_t[]){N}, 1, MX_FLOAT32) != MX_OK) return NULL;
  if (mx_tan(&y, x, NULL) != MX_OK) return NULL;
  return mx_array_free(x) == MX_OK ? y : NULL;
}

static void *evaluate(void *slot) {
  mx_array *mine = slot, before = *mine, y;
  while ((y = tangent_of_half()) != NULL) {
    __atomic_store_n(mine, y, __ATOMIC_SEQ_CST);
    if (mx_array_free(before) != MX_OK || mx_eval(&y, 1) != MX_OK) break;
    before = y;
  }
  return park();
}

static int child(void) {
  static float values[N];
  for (int t = 0; t < N_THREADS; t++) {
    mx_array y = __atomic_load_n(&published[t], __ATOMIC_SEQ_CST);
    const mx_status status = mx_array_read(values, sizeof values, y);
    if (status == MX_ERROR_FORKED) continue;
    CHECK(status == MX_OK);
    for (int i = 0; i < N; i++) CHECK(fabsf(values[i] - tanf(0.5f)) < 1e-6f);
  }
  return 0;
}

int main(void) {
  for (int t = 0; t < N_THREADS; t++) {
    published[t] = tangent_of_half();
    start(evaluate, &published[t]);
  }
  for (int i = 0; i < N_FORKS; i++) {
    sleep_ms(1);
    expect_child(child);
  }
  return leaving(0);
}
