/* dlclose while work is running, then dlopen again: the library stays, with the same runtime. The program itself links
 * nothing of it. usage: dlclose_while_busy LIBMX */
#include "teardown_loaded.h"

int main(int argc, char **argv) {
  CHECK(argc == 2);
  void *library = dlopen(argv[1], RTLD_NOW);
  CHECK(library);
  __typeof__(mx_stream_new) *const mx_stream_new_ = LOOK_UP(library, mx_stream_new);
  __typeof__(mx_ones) *const mx_ones_ = LOOK_UP(library, mx_ones);
  __typeof__(mx_matmul) *const mx_matmul_ = LOOK_UP(library, mx_matmul);
  __typeof__(mx_async_eval) *const mx_async_eval_ = LOOK_UP(library, mx_async_eval);
  __typeof__(mx_wait) *const mx_wait_ = LOOK_UP(library, mx_wait);
  __typeof__(mx_handle_count) *const mx_handle_count_ = LOOK_UP(library, mx_handle_count);
  const int64_t shape[] = {600, 600};
  mx_stream stream;
  mx_array a, product;
  CHECK(mx_stream_new_(&stream, MX_CPU, 0) == MX_OK);
  CHECK(mx_ones_(&a, shape, 2, MX_FLOAT32, stream) == MX_OK);
  CHECK(mx_matmul_(&product, a, a, stream) == MX_OK);
  CHECK(mx_async_eval_(&product, 1) == MX_OK);
  CHECK(dlclose(library) == 0);
  sleep_ms(1);
  void *again = dlopen(argv[1], RTLD_NOW);
  CHECK(again);
  CHECK(mx_wait_ == LOOK_UP(again, mx_wait)); /* it is where it was */
  CHECK(mx_wait_(product, 5000) == MX_OK);
  CHECK(mx_handle_count_(MX_HANDLE_ARRAY) == 2);
  CHECK(dlclose(again) == 0);
  return leaving(0);
}
