/* main returns while detached threads multiply matrices. */
#include "teardown.h"

static int running;

static void *work(void *argument) {
  const int64_t n = *(const int64_t *)argument;
  mx_array x = ones(n, NULL);
  while (multiply(&x, n, NULL)) raise_flag(&running);
  return park();
}

int main(void) {
  static const int64_t small = 32, large = 700;
  start(work, (void *)&small);
  start(work, (void *)&small);
  start(work, (void *)&large);
  wait_for(&running);
  sleep_ms(20);
  return leaving(0);
}
