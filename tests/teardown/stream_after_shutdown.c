/* A stream and lazy arrays from before mx_shutdown, used by another thread afterwards: CLOSED, and nothing is computed,
 * on no device. */
#include "teardown.h"

static mx_stream stream;
static mx_array lazy, elsewhere;
static int grabbed, closed, done;

static void *submit_late(void *unused) {
  (void)unused;
  CHECK(mx_default_stream(&stream, MX_CPU, 0) == MX_OK);
  lazy = ones(300, stream);
  elsewhere = ones(300, NULL);
  raise_flag(&grabbed);
  wait_for(&closed);
  const size_t before = mx_active_memory();
  CHECK(mx_eval(&lazy, 1) == MX_ERROR_CLOSED);
  CHECK(mx_async_eval(&elsewhere, 1) == MX_ERROR_CLOSED);
  bool ready = true;
  CHECK(mx_array_is_ready(&ready, lazy) == MX_OK && !ready);
  CHECK(mx_array_is_ready(&ready, elsewhere) == MX_OK && !ready);
  CHECK(mx_active_memory() == before);
  mx_stream another;
  CHECK(mx_stream_new(&another, MX_CPU, 0) == MX_ERROR_CLOSED);
  raise_flag(&done);
  return park();
}

int main(void) {
  start(submit_late, NULL);
  wait_for(&grabbed);
  CHECK(mx_shutdown(MX_FINISH, 500) == MX_OK);
  raise_flag(&closed);
  wait_for(&done);
  return leaving(0);
}
