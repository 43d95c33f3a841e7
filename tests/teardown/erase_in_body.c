/* The traced body erases its own function, calls it again, and frees it. */
#include "teardown.h"

static mx_function function;
static int destroyed, calls;

static mx_status body(mx_array *outputs, size_t n_outputs, const mx_array *inputs, size_t n_inputs, void *payload) {
  (void)payload;
  if (n_outputs != 1 || n_inputs != 1) return MX_ERROR_CALLBACK;
  calls++;
  mx_status status = mx_function_erase(function);
  if (!status) status = mx_add(outputs, inputs[0], inputs[0], NULL);
  if (!status) status = mx_function_erase(function);
  return status;
}

static void destroy(void *payload) { ++*(int *)payload; }

static void call_expecting(mx_array x, float expected) {
  mx_array result;
  size_t n = 0;
  CHECK(mx_compiled_call(&result, 1, &n, function, &x, 1) == MX_OK && n == 1);
  CHECK(value_of(result) == expected);
  CHECK(mx_array_free(result) == MX_OK);
}

int main(void) {
  CHECK(mx_compile(&function, "suicidal", 1, body, &destroyed, destroy, MX_FUNCTION_DEFAULT) == MX_OK);
  mx_array x = number(4);
  call_expecting(x, 8);
  call_expecting(x, 8);
  CHECK(calls == 2); /* an erased trace is published nowhere */
  CHECK(destroyed == 0);
  CHECK(mx_function_free(function) == MX_OK);
  CHECK(destroyed == 1);
  CHECK(mx_array_free(x) == MX_OK);
  CHECK(mx_handle_count(MX_HANDLE_ANY) == 0);
  return leaving(0);
}
