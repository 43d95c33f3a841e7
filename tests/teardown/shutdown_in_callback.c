/* The library drops borrowed memory on a worker thread, and the host's callback closes the runtime from there. */
#include "teardown.h"

static float memory[500 * 500];
static int called;

static void destroy(void *payload) {
  (void)payload;
  CHECK(mx_shutdown(MX_CANCEL, 500) == MX_OK); /* does not wait for the thread it runs on */
  CHECK(mx_runtime_state() != MX_RUNNING);
  raise_flag(&called);
}

int main(void) {
  const int64_t dims[] = {500, 500}, strides[] = {500 * sizeof(float), sizeof(float)};
  mx_stream stream;
  mx_array borrowed, product, refused;
  CHECK(mx_stream_new(&stream, MX_CPU, 0) == MX_OK);
  CHECK(mx_array_borrow_with(&borrowed, memory, dims, 2, strides, 2, MX_FLOAT32, false, destroy, NULL) == MX_OK);
  CHECK(mx_matmul(&product, borrowed, borrowed, stream) == MX_OK);
  CHECK(mx_async_eval(&product, 1) == MX_OK);
  CHECK(mx_array_free(borrowed) == MX_OK); /* the task holds the last reference */
  wait_for(&called);
  const mx_status status = mx_ones(&refused, dims, 2, MX_FLOAT32, stream);
  if (status == MX_OK) CHECK(mx_eval(&refused, 1) != MX_OK);
  return leaving(0);
}
