/* dlclose while work is running, then dlopen again: the library stays, with the same runtime. The program itself links
 * nothing of it. usage: dlclose_while_busy LIBMX */
#include <dlfcn.h>

#include "teardown.h"

/* Looked up instead of linked. */
#define ADDRESS(library, name) __extension__(__typeof__(name) *) dlsym(library, #name)
#define LOOK_UP(library, name) __typeof__(name) *const name##_ = ADDRESS(library, name)

#undef CHECK
#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      _exit(99);                                                              \
    }                                                                         \
  } while (0)

int main(int argc, char **argv) {
  CHECK(argc == 2);
  void *library = dlopen(argv[1], RTLD_NOW);
  CHECK(library);
  LOOK_UP(library, mx_stream_new);
  LOOK_UP(library, mx_ones);
  LOOK_UP(library, mx_matmul);
  LOOK_UP(library, mx_async_eval);
  LOOK_UP(library, mx_wait);
  LOOK_UP(library, mx_handle_count);
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
  CHECK(mx_wait_ == ADDRESS(again, mx_wait)); /* it is where it was */
  CHECK(mx_wait_(product, 5000) == MX_OK);
  CHECK(mx_handle_count_(MX_HANDLE_ARRAY) == 2);
  CHECK(dlclose(again) == 0);
  return leaving(0);
}
