/* mx/function.h: functions that carry their body, for hosts that want the library to call it. */
#include "calls.h"

static struct body {
  mx_status fails;
  mx_function erases;
  int calls, destroyed;
} body;

static mx_status run_body(mx_array *outputs, size_t n_outputs, const mx_array *inputs, size_t n_inputs, void *payload) {
  struct body *b = (struct body *)payload;
  b->calls++;
  if (n_inputs != 1 || n_outputs != 2 || b->fails == MX_ERROR_CALLBACK) return MX_ERROR_CALLBACK;
  mx_status status = b->erases ? mx_function_erase(b->erases) : MX_OK;
  if (!status) status = mx_add(&outputs[0], inputs[0], inputs[0], NULL);
  if (!status && b->fails == MX_ERROR_SHAPE) status = mx_reshape(&outputs[1], inputs[0], L(7, 7), NULL);
  if (!status && b->fails != MX_ERROR_HANDLE) status = mx_negative(&outputs[1], inputs[0], NULL);
  for (int i = 0; i < 2; i++) check_closed(outputs[i]); /* the library closes them */
  return status;
}

static void destroy_body(void *payload) { ((struct body *)payload)->destroyed++; }

static void expect_two(mx_function f, mx_array x) {
  mx_array y[2];
  size_t n = 0;
  CHECK(mx_compiled_call(y, 2, &n, f, &x, 1) == MX_OK);
  CHECK(n == 2);
  CHECK(value_of(y[0]) == 6);
  CHECK(value_of(y[1]) == -3);
}

static void test_callbacks(void) {
  mx_function f = NULL, plain = function_of(0);
  mx_array x = number(MX_FLOAT32, 3), y[2] = {NULL, NULL};
  size_t n = 9;
  memset(&body, 0, sizeof body);
  CHECK(mx_compile(&f, "f", 2, NULL, &body, destroy_body, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(body.destroyed == 1);
  CHECK(mx_compile(&f, "f", 2, run_body, &body, destroy_body, 8) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(body.destroyed == 2);
  CHECK(mx_compile(NULL, "f", 2, run_body, &body, destroy_body, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(body.destroyed == 3);
  CHECK(f == NULL);
  memset(&body, 0, sizeof body);
  CHECK(mx_compile(&f, "f", 2, run_body, &body, destroy_body, 0) == MX_OK);
  body.fails = MX_ERROR_CALLBACK;
  CHECK(mx_compiled_call(y, 2, &n, f, &x, 1) == MX_ERROR_CALLBACK);
  body.fails = MX_ERROR_SHAPE;
  CHECK(mx_compiled_call(y, 2, &n, f, &x, 1) == MX_ERROR_SHAPE);
  body.fails = MX_ERROR_HANDLE; /* succeeds, but forgets an output */
  CHECK(mx_compiled_call(y, 2, &n, f, &x, 1) == MX_ERROR_HANDLE);
  CHECK(n == 9 && y[0] == NULL && y[1] == NULL);
  CHECK(body.calls == 3 && stats(f).entries == 0);
  body.fails = MX_OK;
  expect_two(f, x);
  expect_two(f, x);
  CHECK(body.calls == 4 && stats(f).hits == 1);
  CHECK(mx_compiled_call(y, 1, &n, f, &x, 1) == MX_ERROR_INVALID_ARGUMENT); /* too little room */
  mx_compile_enable(false);
  expect_two(f, x);
  CHECK(body.calls == 5);
  mx_compile_enable(true);
  body.erases = f;
  CHECK(mx_function_erase(f) == MX_OK);
  expect_two(f, x);
  expect_two(f, x);
  CHECK(body.calls == 7 && stats(f).entries == 0);
  CHECK(body.destroyed == 0);
  CHECK(mx_compiled_call(y, 2, &n, plain, &x, 1) == MX_ERROR_INVALID_ARGUMENT);
  drop_function(plain);
  drop_function(f);
  CHECK(body.destroyed == 1);
  drop(x);
}

int main(void) {
  test_callbacks();
  return 0;
}
