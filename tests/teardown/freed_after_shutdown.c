/* After mx_shutdown computed arrays are readable, everything can be freed, once, and nothing new is computed. */
#include "teardown.h"

int main(void) {
  mx_stream stream;
  CHECK(mx_stream_new(&stream, MX_CPU, 0) == MX_OK);
  mx_array computed = ones(10, stream), lazy, pending = ones(600, stream), refused = NULL;
  mx_function function;
  mx_pin pin;
  mx_view view;
  float values[100];
  CHECK(mx_eval(&computed, 1) == MX_OK);
  CHECK(mx_array_pin(&pin, &view, computed) == MX_OK);
  CHECK(mx_add(&lazy, computed, computed, stream) == MX_OK);
  CHECK(mx_function_new(&function, "f", MX_FUNCTION_DEFAULT) == MX_OK);
  for (int i = 0; i < 20; i++) {
    mx_array next;
    CHECK(mx_matmul(&next, pending, pending, stream) == MX_OK);
    CHECK(mx_array_free(pending) == MX_OK);
    pending = next;
  }
  CHECK(mx_async_eval(&pending, 1) == MX_OK);

  CHECK(mx_shutdown(MX_CANCEL, 200) == MX_OK);
  CHECK(mx_shutdown(MX_CANCEL, 200) == MX_OK); /* idempotent */
  CHECK(mx_runtime_state() == MX_CLOSED);
  CHECK(mx_array_read(values, sizeof values, computed) == MX_OK && values[99] == 1);
  CHECK(mx_eval(&lazy, 1) == MX_ERROR_CLOSED);
  const mx_status status = mx_wait(pending, 0);
  CHECK(status == MX_ERROR_CANCELLED || status == MX_OK);
  CHECK(mx_add(&refused, computed, computed, NULL) == MX_ERROR_CLOSED && refused == NULL);

  CHECK(mx_array_free(computed) == MX_OK);
  CHECK(((const float *)view.data)[99] == 1); /* the pin keeps the memory */
  CHECK(mx_pin_free(pin) == MX_OK);
  CHECK(mx_array_free(lazy) == MX_OK);
  CHECK(mx_array_free(pending) == MX_OK);
  CHECK(mx_function_free(function) == MX_OK);
  CHECK(mx_stream_free(stream) == MX_OK);
  CHECK(mx_stream_free(stream) == MX_ERROR_HANDLE);
  CHECK(mx_handle_count(MX_HANDLE_ANY) == 0);
  return leaving(0);
}
