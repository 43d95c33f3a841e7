/* mx/function.h: calls inside traces, recursion, traces that fail. */
#include "calls.h"

static void test_inline_and_disabled(void) {
  mx_function outer = function_of(0), inner = function_of(0);
  mx_array x = number(MX_FLOAT32, 3);
  bool tracer = false;
  mx_call c = begin(outer, x, "", MX_CALL_TRACE);
  mx_array p = placeholder_of(c), y = doubled(p), z = NULL;
  CHECK(mx_array_is_tracer(&tracer, p) == MX_OK);
  CHECK(tracer);
  CHECK(mx_array_is_tracer(&tracer, y) == MX_OK);
  CHECK(tracer);
  mx_call nested = begin(inner, y, "", MX_CALL_INLINE); /* run the body on the arguments */
  size_t n = 0;
  CHECK(mx_call_inputs(&z, 1, &n, nested) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_call_outputs(&z, 1, &n, nested) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_call_commit(nested, &y, 1, 0) == MX_ERROR_INVALID_ARGUMENT);
  mx_call_end(nested);
  bool is_hit = true;
  uint64_t tag;
  CHECK(mx_function_call(&z, 1, &n, &is_hit, &tag, inner, &y, 1, NULL, 0) == MX_OK);
  CHECK(!is_hit);
  z = negated(y);
  CHECK(mx_call_commit(c, &z, 1, 4) == MX_OK);
  CHECK(mx_array_is_tracer(&tracer, z) == MX_OK);
  CHECK(!tracer); /* its trace has ended */
  drop(p);
  drop(y);
  drop(z);
  CHECK(value_of(finish(c, 4)) == -6);
  CHECK(stats(inner).traces == 0);

  CHECK(mx_compile_enabled());
  mx_compile_enable(false);
  CHECK(!mx_compile_enabled());
  mx_call_end(begin(outer, x, "", MX_CALL_DISABLED));
  CHECK(mx_function_call(&z, 1, &n, &is_hit, &tag, outer, &x, 1, NULL, 0) == MX_OK);
  CHECK(!is_hit);
  mx_compile_enable(true);
  CHECK(value_of(hit(outer, x, "", 4)) == -6); /* entries survive */
  drop(x);
  drop_function(inner);
  drop_function(outer);
}

/* A concrete call inside a trace is a call of its own; its result is frozen or computed anew, but never wrong. */
static void test_concrete_call_inside_a_trace(void) {
  mx_function outer = function_of(0), inner = function_of(0);
  mx_array x = number(MX_FLOAT32, 3), k = number(MX_FLOAT32, 10), y = NULL;
  mx_call c = begin(outer, x, "", MX_CALL_TRACE);
  mx_array p = placeholder_of(c), from_inner = trace(inner, k, "", doubled, 1);
  CHECK(mx_add(&y, p, from_inner, NULL) == MX_OK);
  drop(from_inner);
  CHECK(mx_call_commit(c, &y, 1, 2) == MX_OK);
  drop(y);
  drop(p);
  CHECK(value_of(finish(c, 2)) == 23);
  CHECK(value_of(hit(outer, k, "", 2)) == 30);
  CHECK(value_of(hit(inner, x, "", 1)) == 6);
  drop(x);
  drop(k);
  drop_function(outer);
  drop_function(inner);
}

/* An inner trace that reaches the outer trace's placeholder gives right results and no entry. */
static void test_inner_trace_reaches_outer_placeholder(void) {
  mx_function outer = function_of(0), inner = function_of(0);
  mx_array x = number(MX_FLOAT32, 3), k = number(MX_FLOAT32, 10), y = NULL;
  mx_call c = begin(outer, x, "", MX_CALL_TRACE);
  mx_array p = placeholder_of(c);
  mx_call nested = begin(inner, k, "", MX_CALL_TRACE);
  mx_array q = placeholder_of(nested);
  CHECK(mx_multiply(&y, p, q, NULL) == MX_OK);
  CHECK(mx_call_commit(nested, &y, 1, 7) == MX_OK);
  drop(y);
  drop(q);
  y = finish(nested, 7);
  CHECK(stats(inner).entries == 0);
  CHECK(mx_call_commit(c, &y, 1, 8) == MX_OK);
  drop(y);
  drop(p);
  CHECK(value_of(finish(c, 8)) == 30);
  CHECK(value_of(hit(outer, k, "", 8)) == 100);
  drop(x);
  drop(k);
  drop_function(inner);
  drop_function(outer);
}

static void test_recursion(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 3);
  mx_call calls[64], one_more = NULL;
  mx_call_state state = MX_CALL_HIT;
  for (int i = 0; i < 64; i++) calls[i] = begin(f, x, "", MX_CALL_TRACE);
  CHECK(mx_call_begin(&one_more, &state, f, &x, 1, NULL, 0) == MX_ERROR_RECURSION);
  CHECK(one_more == NULL && state == MX_CALL_HIT);
  mx_call_end(calls[30]); /* out of order */
  for (int i = 63; i >= 0; i--)
    if (i != 30) mx_call_end(calls[i]);
  CHECK(stats(f).entries == 0);
  CHECK(value_of(trace(f, x, "", doubled, 1)) == 6);
  drop(x);
  drop_function(f);
}

/* A traced body that calls itself on its placeholder: inlined, the innermost result comes out. */
static mx_array factorial(mx_function f, mx_array x, int depth) {
  mx_call c = NULL;
  mx_call_state state = MX_CALL_DISABLED;
  CHECK(mx_call_begin(&c, &state, f, &x, 1, NULL, 0) == MX_OK);
  mx_array in = x, y = NULL, below = NULL, k = number(MX_FLOAT32, depth);
  if (state == MX_CALL_TRACE) in = placeholder_of(c);
  CHECK(mx_multiply(&y, in, k, NULL) == MX_OK);
  drop(k);
  if (depth > 1) {
    below = factorial(f, y, depth - 1);
    drop(y);
    y = below;
  }
  if (state == MX_CALL_TRACE) {
    CHECK(mx_call_commit(c, &y, 1, 0) == MX_OK);
    drop(y);
    drop(in);
    return finish(c, 0);
  }
  mx_call_end(c);
  return y;
}

static void test_recursive_function(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 1);
  CHECK(value_of(factorial(f, x, 5)) == 120);
  CHECK(stats(f).entries == 1);
  drop(x);
  drop_function(f);
}

static void test_traces_that_fail(void) {
  mx_function f = function_of(0);
  mx_array x = array(MX_FLOAT32, D(2), V(3, 4)), y = NULL, read = NULL;
  float data[2];
  mx_scalar item;
  mx_view view;
  mx_pin pin = NULL;
  bool done = true;
  /* The value of a placeholder is not there, whoever asks; its shape is. */
  mx_call c = begin(f, x, "", MX_CALL_TRACE);
  mx_array p = placeholder_of(c);
  check_shape(p, MX_FLOAT32, D(2));
  read = doubled(p);
  CHECK(mx_eval(&read, 1) == MX_ERROR_TRACE);
  CHECK(mx_async_eval(&read, 1) == MX_ERROR_TRACE);
  CHECK(mx_eval_inline(&done, &read, 1) == MX_ERROR_TRACE);
  CHECK(mx_wait(read, 1000) == MX_ERROR_TRACE);
  CHECK(mx_array_read(data, sizeof data, p) == MX_ERROR_TRACE);
  CHECK(mx_array_pin(&pin, &view, p) == MX_ERROR_TRACE);
  CHECK(mx_sum(&y, p, NULL, 0, false, NULL) == MX_OK);
  CHECK(mx_array_item(&item, y) == MX_ERROR_TRACE);
  drop(y);
  mx_call_end(c); /* the body gave up: nothing was learnt */
  CHECK(stats(f).entries == 0 && stats(f).traces == 0);

  /* What was kept from an ended trace stays without a value, and cannot enter another trace. */
  CHECK(mx_array_read(data, sizeof data, read) == MX_ERROR_TRACE);
  c = begin(f, x, "", MX_CALL_TRACE);
  CHECK(mx_call_commit(c, &read, 1, 0) == MX_ERROR_TRACE);
  CHECK(mx_call_commit(c, &read, 1, 0) != MX_OK); /* the trace is over */
  mx_call_end(c);
  drop(read);
  drop(p);

  /* The argument itself, instead of its placeholder */
  c = begin(f, x, "", MX_CALL_TRACE);
  p = placeholder_of(c);
  CHECK(mx_add(&y, p, x, NULL) == MX_OK);
  CHECK(mx_call_commit(c, &y, 1, 0) == MX_ERROR_TRACE);
  CHECK(strstr(mx_error_message(), "uncaptured") != NULL);
  drop(y);
  drop(p);
  mx_call_end(c);
  CHECK(stats(f).entries == 0);
  expect(trace(f, x, "", doubled, 1), MX_FLOAT32, D(2), V(6, 8)); /* and the next call is fine */
  drop(x);
  drop_function(f);
}

int main(void) {
  test_inline_and_disabled();
  test_concrete_call_inside_a_trace();
  test_inner_trace_reaches_outer_placeholder();
  test_recursion();
  test_recursive_function();
  test_traces_that_fail();
  return 0;
}
