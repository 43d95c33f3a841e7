/* A worker thread calls exit() between its products, while another one computes and main sleeps. */
#include "teardown.h"

static void *work(void *argument) {
  const int64_t n = *(const int64_t *)argument;
  mx_array x = ones(n, NULL);
  for (int i = 0; multiply(&x, n, NULL); i++)
    if (n == 64 && i == 20) exit(leaving(7));
  return park();
}

int main(void) {
  static const int64_t small = 64, large = 500;
  start(work, (void *)&large);
  start(work, (void *)&small);
  park();
}
