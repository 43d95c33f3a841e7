/* Nothing is freed: computed, lazy, pending and failed arrays, pins, streams, functions, open calls, clients. */
#include "teardown.h"

int main(void) {
  mx_stream stream, fallback;
  CHECK(mx_stream_new(&stream, MX_CPU, 0) == MX_OK);
  CHECK(mx_default_stream(&fallback, MX_CPU, 0) == MX_OK);
  mx_array computed = ones(200, NULL), lazy = ones(100, NULL), pending[8];
  CHECK(mx_eval(&computed, 1) == MX_OK);
  for (int i = 0; i < 8; i++) CHECK(mx_matmul(&pending[i], i ? pending[i - 1] : computed, computed, stream) == MX_OK);
  mx_pin pin;
  mx_view view;
  CHECK(mx_array_pin(&pin, &view, computed) == MX_OK);
  CHECK(((const float *)view.data)[0] == 1);
  mx_function function;
  mx_call call;
  mx_call_state state;
  mx_array placeholder, traced;
  size_t n;
  CHECK(mx_function_new(&function, "leaked", MX_FUNCTION_DEFAULT) == MX_OK);
  CHECK(mx_call_begin(&call, &state, function, &lazy, 1, NULL, 0) == MX_OK && state == MX_CALL_TRACE);
  CHECK(mx_call_inputs(&placeholder, 1, &n, call) == MX_OK && n == 1);
  CHECK(mx_add(&traced, placeholder, placeholder, NULL) == MX_OK);
  mx_client client;
  CHECK(mx_client_open(&client) == MX_OK);
  CHECK(mx_async_eval(pending, 8) == MX_OK);
  return leaving(0);
}
