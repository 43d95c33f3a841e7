/* main returns while a stream and a detached thread run factorisations. */
#include "teardown.h"

static mx_array noise(int64_t n) {
  const int64_t shape[] = {n, n};
  mx_array out;
  CHECK(mx_random_normal(&out, shape, 2, MX_FLOAT32, NULL, NULL, NULL, NULL) == MX_OK);
  CHECK(mx_eval(&out, 1) == MX_OK);
  return out;
}

static int running;

static void *work(void *argument) {
  for (;;) {
    mx_array svd[3];
    if (mx_linalg_svd(&svd[0], &svd[1], &svd[2], argument, NULL) != MX_OK) break;
    raise_flag(&running);
    const mx_status status = mx_eval(svd, 3);
    for (int i = 0; i < 3; i++) mx_array_free(svd[i]);
    if (status != MX_OK) break;
  }
  return park();
}

int main(void) {
  mx_stream stream;
  mx_array u, s, vt;
  CHECK(mx_stream_new(&stream, MX_CPU, 0) == MX_OK);
  CHECK(mx_linalg_svd(&u, &s, &vt, noise(400), stream) == MX_OK);
  CHECK(mx_async_eval(&s, 1) == MX_OK);
  start(work, noise(100));
  wait_for(&running);
  sleep_ms(30);
  return leaving(0);
}
