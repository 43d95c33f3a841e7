/* A plugin that computes with the library: plugin_host.c opens it. */
#include "teardown.h"

int begin(void);
int begin(void) {
  mx_stream stream;
  CHECK(mx_stream_new(&stream, MX_CPU, 0) == MX_OK);
  mx_array x = ones(400, stream);
  for (int i = 0; i < 200; i++) CHECK(mx_matmul(&x, x, x, stream) == MX_OK);
  CHECK(mx_async_eval(&x, 1) == MX_OK);
  mx_array three = number(3), six;
  CHECK(mx_add(&six, three, three, NULL) == MX_OK);
  return (int)value_of(six);
}
