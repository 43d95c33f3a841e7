/* As shutdown_in_callback, but the callback calls exit(). */
#include "teardown.h"

static float memory[500 * 500];

static void destroy(void *payload) {
  (void)payload;
  exit(leaving(5));
}

int main(void) {
  const int64_t dims[] = {500, 500}, strides[] = {500 * sizeof(float), sizeof(float)};
  mx_stream stream;
  mx_array borrowed, product;
  CHECK(mx_stream_new(&stream, MX_CPU, 0) == MX_OK);
  CHECK(mx_array_borrow_with(&borrowed, memory, dims, 2, strides, 2, MX_FLOAT32, false, destroy, NULL) == MX_OK);
  CHECK(mx_matmul(&product, borrowed, borrowed, stream) == MX_OK);
  CHECK(mx_async_eval(&product, 1) == MX_OK);
  CHECK(mx_array_free(borrowed) == MX_OK);
  park();
}
