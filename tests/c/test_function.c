/* mx/function.h: the protocol of compiled functions, and the callback form on top of it. tests/meson.build runs it
 * again with hashes of a few bits, so that all tables are full of collisions. */
#include <pthread.h>

#include "values.h"

typedef mx_array body_fn(mx_array placeholder);

static mx_array doubled(mx_array x) {
  mx_array y = NULL;
  CHECK(mx_add(&y, x, x, NULL) == MX_OK);
  return y;
}

static mx_array negated(mx_array x) {
  mx_array y = NULL;
  CHECK(mx_negative(&y, x, NULL) == MX_OK);
  return y;
}

static mx_function function_of(uint32_t flags) {
  mx_function f = NULL;
  CHECK(mx_function_new(&f, "f", flags) == MX_OK);
  return f;
}

static mx_function_info stats(mx_function f) {
  mx_function_info info = {0};
  CHECK(mx_function_stats(&info, f) == MX_OK);
  return info;
}

static void drop_function(mx_function f) { CHECK(mx_function_free(f) == MX_OK); }

static mx_call begin(mx_function f, mx_array x, const char *key, mx_call_state expected) {
  mx_call c = NULL;
  mx_call_state state = MX_CALL_DISABLED;
  CHECK(mx_call_begin(&c, &state, f, &x, 1, key, strlen(key)) == MX_OK);
  CHECK(state == expected);
  return c;
}

static mx_array placeholder_of(mx_call c) {
  mx_array p = NULL;
  size_t n = 0;
  CHECK(mx_call_inputs(&p, 1, &n, c) == MX_OK);
  CHECK(n == 1);
  return p;
}

static void commit(mx_call c, body_fn *body, uint64_t tag) {
  mx_array p = placeholder_of(c), y = body(p);
  CHECK(mx_call_commit(c, &y, 1, tag) == MX_OK);
  drop(y);
  drop(p);
}

/* The result of a call; ends it. */
static mx_array finish(mx_call c, uint64_t tag) {
  mx_array y = NULL;
  size_t n = 0;
  uint64_t host_tag = 0;
  CHECK(mx_call_outputs(&y, 1, &n, c) == MX_OK);
  CHECK(n == 1);
  CHECK(mx_call_tag(&host_tag, c) == MX_OK);
  CHECK(host_tag == tag);
  mx_call_end(c);
  return y;
}

static mx_array trace(mx_function f, mx_array x, const char *key, body_fn *body, uint64_t tag) {
  mx_call c = begin(f, x, key, MX_CALL_TRACE);
  commit(c, body, tag);
  return finish(c, tag);
}

static mx_array hit(mx_function f, mx_array x, const char *key, uint64_t tag) {
  return finish(begin(f, x, key, MX_CALL_HIT), tag);
}

static double value_of(mx_array x) { /* closes it */
  mx_scalar value = {MX_SCALAR_FLOAT, 0, NAN, 0};
  CHECK(mx_array_item(&value, x) == MX_OK);
  drop(x);
  return value.kind == MX_SCALAR_FLOAT ? value.re : (double)value.i;
}

static void test_trace_and_hit(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 3), y = number(MX_FLOAT32, 5), out2[2];
  CHECK(value_of(trace(f, x, "", doubled, 42)) == 6);
  CHECK(stats(f).traces == 1 && stats(f).hits == 0 && stats(f).entries == 1);
  CHECK(value_of(hit(f, y, "", 42)) == 10);
  size_t n = 0;
  bool is_hit = false;
  uint64_t tag = 0;
  CHECK(mx_function_call(out2, 2, &n, &is_hit, &tag, f, &x, 1, NULL, 0) == MX_OK);
  CHECK(is_hit && n == 1 && tag == 42);
  CHECK(value_of(out2[0]) == 6);
  CHECK(mx_function_call(out2, 2, &n, &is_hit, &tag, f, &x, 1, "other", 5) == MX_OK);
  CHECK(!is_hit && n == 0);
  CHECK(stats(f).hits == 2);
  drop_function(f);
  drop(x);
  drop(y);
}

static void test_no_and_many_inputs_and_outputs(void) {
  enum { N = 64 };
  mx_function f = function_of(0);
  mx_array x[N], p[N], y[N];
  mx_call c;
  mx_call_state state;
  size_t n;
  for (int i = 0; i < N; i++) x[i] = number(MX_FLOAT32, i);
  CHECK(mx_call_begin(&c, &state, f, x, N, NULL, 0) == MX_OK);
  CHECK(mx_call_inputs(p, N, &n, c) == MX_OK);
  CHECK(n == N);
  for (int i = 0; i < N; i++) y[i] = doubled(p[N - 1 - i]);
  CHECK(mx_call_commit(c, y, N, 0) == MX_OK);
  for (int i = 0; i < N; i++) drop(p[i]);
  for (int i = 0; i < N; i++) drop(y[i]);
  CHECK(mx_call_outputs(y, N - 1, &n, c) == MX_ERROR_INVALID_ARGUMENT); /* too little room */
  CHECK(mx_call_outputs(y, N, &n, c) == MX_OK);
  mx_call_end(c);
  for (int i = 0; i < N; i++) CHECK(value_of(y[i]) == 2 * (N - 1 - i));
  for (int i = 0; i < N; i++) drop(x[i]);
  /* no inputs: another signature, one constant */
  CHECK(mx_call_begin(&c, &state, f, NULL, 0, NULL, 0) == MX_OK);
  CHECK(state == MX_CALL_TRACE);
  CHECK(mx_call_inputs(p, N, &n, c) == MX_OK);
  CHECK(n == 0);
  y[0] = number(MX_INT32, 7);
  CHECK(mx_call_commit(c, y, 1, 1) == MX_OK);
  drop(y[0]);
  CHECK(value_of(finish(c, 1)) == 7);
  /* no outputs */
  CHECK(mx_call_begin(&c, &state, f, NULL, 0, "nothing", 7) == MX_OK);
  CHECK(mx_call_commit(c, NULL, 0, 2) == MX_OK);
  CHECK(mx_call_outputs(NULL, 0, &n, c) == MX_OK);
  CHECK(n == 0);
  mx_call_end(c);
  CHECK(stats(f).entries == 3);
  drop_function(f);
}

/* The same array may be returned twice, be an argument twice, or come out as it went in. */
static void test_aliases(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 3), both[2] = {x, x}, p[2], y[3];
  mx_call c;
  mx_call_state state;
  size_t n;
  CHECK(mx_call_begin(&c, &state, f, both, 2, NULL, 0) == MX_OK);
  CHECK(mx_call_inputs(p, 2, &n, c) == MX_OK);
  CHECK(mx_subtract(&y[0], p[0], p[1], NULL) == MX_OK);
  y[1] = p[0];
  y[2] = y[0];
  CHECK(mx_call_commit(c, y, 3, 0) == MX_OK);
  drop(y[0]);
  drop(p[0]);
  drop(p[1]);
  CHECK(mx_call_outputs(y, 3, &n, c) == MX_OK);
  mx_call_end(c);
  for (int i = 0; i < 3; i++) CHECK(value_of(y[i]) == (i == 1 ? 3 : 0));
  mx_array other = number(MX_FLOAT32, 5), different[2] = {other, x};
  bool is_hit;
  uint64_t tag;
  CHECK(mx_function_call(y, 3, &n, &is_hit, &tag, f, different, 2, NULL, 0) == MX_OK);
  CHECK(is_hit);
  for (int i = 0; i < 3; i++) CHECK(value_of(y[i]) == (i == 1 ? 5 : 2));
  drop(other);
  drop(x);
  drop_function(f);
}

static void test_keys(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 3), i = number(MX_INT32, 3), row = array(MX_FLOAT32, D(1), V(3)), y = NULL;
  const char *keys[] = {"", "a", "ab", "b", "aa"};
  for (uint64_t k = 0; k < 5; k++) CHECK(value_of(trace(f, x, keys[k], doubled, k)) == 6);
  for (uint64_t k = 0; k < 5; k++) CHECK(value_of(hit(f, x, keys[k], k)) == 6);
  /* bytes, not text */
  mx_call c = NULL;
  mx_call_state state;
  CHECK(mx_call_begin(&c, &state, f, &x, 1, "a\0", 2) == MX_OK);
  CHECK(state == MX_CALL_TRACE);
  commit(c, negated, 9);
  CHECK(value_of(finish(c, 9)) == -3);
  CHECK(mx_call_begin(&c, &state, f, &x, 1, NULL, 3) == MX_ERROR_INVALID_ARGUMENT);
  /* dtype, rank and shape are part of the signature; the value is not */
  CHECK(value_of(trace(f, i, "", negated, 10)) == -3);
  CHECK(value_of(trace(f, row, "", negated, 11)) == -3);
  CHECK(value_of(hit(f, i, "", 10)) == -3);
  CHECK(value_of(hit(f, x, "", 0)) == 6);
  /* 300 signatures, which collide when hashes are short */
  CHECK(mx_function_set_capacity(f, 0) == MX_OK);
  for (int k = 0; k < 300; k++) {
    char key[32];
    snprintf(key, sizeof key, "many %d", k);
    y = trace(f, x, key, k % 2 ? doubled : negated, (uint64_t)k);
    drop(y);
  }
  for (int k = 0; k < 300; k++) {
    char key[32];
    snprintf(key, sizeof key, "many %d", k);
    CHECK(value_of(hit(f, x, key, (uint64_t)k)) == (k % 2 ? 6 : -3));
  }
  CHECK(stats(f).entries == 308 && stats(f).evictions == 0);
  drop(x);
  drop(i);
  drop(row);
  drop_function(f);
}

static mx_array standardized(mx_array x) { /* x - sum(x) / size, rows of a matrix */
  mx_array sum = NULL, n = NULL, mean = NULL, y = NULL;
  CHECK(mx_sum(&sum, x, L(-1), true, NULL) == MX_OK);
  CHECK(mx_number_of_elements(&n, x, L(-1), false, MX_FLOAT32, NULL) == MX_OK);
  CHECK(mx_divide(&mean, sum, n, NULL) == MX_OK);
  CHECK(mx_subtract(&y, x, mean, NULL) == MX_OK);
  drop(sum);
  drop(n);
  drop(mean);
  return y;
}

static void test_shapeless(void) {
  mx_function f = function_of(MX_FUNCTION_SHAPELESS);
  mx_array x = array(MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 9));
  expect(trace(f, x, "", standardized, 1), MX_FLOAT32, D(2, 3), V(-1, 0, 1, -2, -1, 3));
  drop(x);
  x = array(MX_FLOAT32, D(1, 4), V(1, 2, 3, 6));
  expect(hit(f, x, "", 1), MX_FLOAT32, D(1, 4), V(-2, -1, 0, 3));
  drop(x);
  x = array(MX_FLOAT32, D(3, 1), V(1, 2, 3));
  expect(hit(f, x, "", 1), MX_FLOAT32, D(3, 1), V(0, 0, 0));
  drop(x);
  x = array(MX_FLOAT32, D(0, 5), EMPTY);
  expect(hit(f, x, "", 1), MX_FLOAT32, D(0, 5), EMPTY);
  drop(x);
  x = array(MX_FLOAT32, D(5, 0), EMPTY);
  expect(hit(f, x, "", 1), MX_FLOAT32, D(5, 0), EMPTY);
  drop(x);
  for (int n = 1; n < 30; n++) { /* more shapes than programs are kept for */
    CHECK(mx_ones(&x, L(n, 2), MX_FLOAT32, NULL) == MX_OK);
    mx_array y = hit(f, x, "", 1), sum;
    CHECK(mx_sum(&sum, y, L(0, 1), false, NULL) == MX_OK);
    CHECK(value_of(sum) == 0);
    drop(y);
    drop(x);
  }
  CHECK(stats(f).traces == 1);
  x = array(MX_FLOAT32, D(2), V(1, 3)); /* another rank */
  expect(trace(f, x, "", standardized, 2), MX_FLOAT32, D(2), V(-1, 1));
  drop(x);
  x = array(MX_FLOAT64, D(2, 1), V(1, 3)); /* another dtype */
  drop(trace(f, x, "", doubled, 3));
  drop(x);
  CHECK(mx_function_new(&f, "f", 2) == MX_ERROR_INVALID_ARGUMENT);
  drop_function(f);
}

/* A shape that eager evaluation would refuse is refused by a hit as well. */
static void test_shapeless_errors(void) {
  mx_function f = function_of(MX_FUNCTION_SHAPELESS);
  mx_array x[2] = {array(MX_FLOAT32, D(2), V(1, 2)), array(MX_FLOAT32, D(2), V(3, 4))}, p[2], y = NULL;
  mx_call c;
  mx_call_state state;
  size_t n = 9;
  CHECK(mx_call_begin(&c, &state, f, x, 2, NULL, 0) == MX_OK);
  CHECK(mx_call_inputs(p, 2, &n, c) == MX_OK);
  CHECK(mx_add(&y, p[0], p[1], NULL) == MX_OK);
  CHECK(mx_call_commit(c, &y, 1, 0) == MX_OK);
  drop(y);
  drop(p[0]);
  drop(p[1]);
  mx_call_end(c);
  drop(x[1]);
  x[1] = array(MX_FLOAT32, D(1), V(5)); /* broadcasts */
  bool is_hit = false;
  uint64_t tag;
  CHECK(mx_function_call(&y, 1, &n, &is_hit, &tag, f, x, 2, NULL, 0) == MX_OK);
  CHECK(is_hit);
  expect(y, MX_FLOAT32, D(2), V(6, 7));
  drop(x[1]);
  x[1] = array(MX_FLOAT32, D(3), V(5, 6, 7));
  CHECK(mx_function_call(&y, 1, &n, &is_hit, &tag, f, x, 2, NULL, 0) == MX_ERROR_SHAPE);
  drop(x[0]);
  drop(x[1]);
  drop_function(f);
}

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

static void test_closure_arrays_are_frozen(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 3), k = number(MX_FLOAT32, 10), other = number(MX_FLOAT32, 20), y = NULL;
  mx_call c = begin(f, x, "", MX_CALL_TRACE);
  mx_array p = placeholder_of(c);
  CHECK(mx_add(&y, p, k, NULL) == MX_OK);
  CHECK(mx_call_commit(c, &y, 1, 0) == MX_OK);
  drop(y);
  drop(p);
  CHECK(value_of(finish(c, 0)) == 13);
  CHECK(mx_array_assign(k, other) == MX_OK);
  drop(k);
  drop(other);
  CHECK(value_of(hit(f, x, "", 0)) == 13);
  drop(x);
  drop_function(f);
}

static void test_random_draws_differ_between_calls(void) {
  mx_function f = function_of(0);
  mx_call c;
  mx_call_state state;
  mx_array draw = NULL;
  CHECK(mx_call_begin(&c, &state, f, NULL, 0, NULL, 0) == MX_OK);
  CHECK(mx_random_bits(&draw, NULL, 0, 4, NULL, NULL) == MX_OK);
  CHECK(mx_call_commit(c, &draw, 1, 0) == MX_OK);
  drop(draw);
  const double first = value_of(finish(c, 0));
  CHECK(mx_call_begin(&c, &state, f, NULL, 0, NULL, 0) == MX_OK);
  CHECK(state == MX_CALL_HIT);
  CHECK(value_of(finish(c, 0)) != first);
  drop_function(f);
}

static void test_capacity(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 3);
  CHECK(mx_function_set_capacity(f, 2) == MX_OK);
  drop(trace(f, x, "a", doubled, 1));
  drop(trace(f, x, "b", doubled, 2));
  drop(hit(f, x, "a", 1)); /* now b is the least recently used */
  mx_call open = begin(f, x, "b", MX_CALL_HIT);
  drop(hit(f, x, "a", 1));
  drop(trace(f, x, "c", doubled, 3));
  CHECK(stats(f).entries == 2 && stats(f).evictions == 1);
  CHECK(value_of(finish(open, 2)) == 6); /* an open call keeps its entry */
  drop(hit(f, x, "a", 1));
  drop(hit(f, x, "c", 3));
  CHECK(mx_function_set_capacity(f, 1) == MX_OK);
  CHECK(stats(f).entries == 1 && stats(f).evictions == 2);
  drop(hit(f, x, "c", 3));
  drop(trace(f, x, "b", negated, 4));
  CHECK(value_of(hit(f, x, "b", 4)) == -3);
  drop(x);
  drop_function(f);
}

static void test_erase(void) {
  mx_function f = function_of(0), same = NULL;
  mx_array x = number(MX_FLOAT32, 3);
  CHECK(mx_function_dup(&same, f) == MX_OK);
  drop(trace(f, x, "", doubled, 1));
  mx_call open = begin(f, x, "", MX_CALL_HIT);
  CHECK(mx_function_erase(same) == MX_OK);
  CHECK(mx_function_erase(f) == MX_OK);
  CHECK(stats(f).entries == 0);
  CHECK(value_of(finish(open, 1)) == 6);
  /* during a trace: the entry stays private to the call */
  mx_call c = begin(f, x, "", MX_CALL_TRACE);
  CHECK(mx_function_erase(f) == MX_OK);
  commit(c, doubled, 2);
  CHECK(stats(f).entries == 0);
  CHECK(value_of(finish(c, 2)) == 6);
  /* the last handle goes during a trace */
  c = begin(f, x, "", MX_CALL_TRACE);
  drop_function(f);
  drop_function(same);
  CHECK(mx_function_erase(f) == MX_ERROR_HANDLE);
  commit(c, negated, 3);
  CHECK(value_of(finish(c, 3)) == -3);
  drop(x);
}

static struct {
  mx_call call;
  mx_function function;
  mx_array x, y;
  mx_status status;
} shared;

static void *in_thread(void *(*body)(void *)) {
  pthread_t thread;
  void *result = NULL;
  CHECK(pthread_create(&thread, NULL, body, NULL) == 0);
  CHECK(pthread_join(thread, &result) == 0);
  return result;
}

static void *commit_here(void *unused) {
  (void)unused;
  shared.status = mx_call_commit(shared.call, &shared.y, 1, 0);
  return NULL;
}

static void *end_here(void *unused) {
  (void)unused;
  mx_call_end(shared.call);
  return NULL;
}

static void *trace_here(void *unused) {
  (void)unused;
  shared.y = trace(shared.function, shared.x, "", doubled, 100);
  return NULL;
}

static void *clear_here(void *unused) {
  (void)unused;
  mx_compile_clear();
  return NULL;
}

static void test_other_threads(void) {
  mx_function f = function_of(0), g = function_of(0);
  mx_array x = number(MX_FLOAT32, 3);
  bool tracer = false;
  mx_call c = begin(f, x, "", MX_CALL_TRACE);
  mx_array p = placeholder_of(c);
  shared.call = c;
  shared.y = p;
  in_thread(commit_here);
  CHECK(shared.status == MX_ERROR_WRONG_THREAD);
  CHECK(mx_array_is_tracer(&tracer, p) == MX_OK);
  CHECK(tracer); /* the trace is still open here */
  in_thread(end_here);
  CHECK(mx_array_is_tracer(&tracer, p) == MX_OK);
  CHECK(!tracer);
  drop(p);

  /* Two threads trace one key: the first commit wins, the other adopts it. */
  c = begin(f, x, "", MX_CALL_TRACE);
  shared.function = f;
  shared.x = x;
  in_thread(trace_here);
  commit(c, doubled, 200);
  mx_array mine = finish(c, 100), theirs = shared.y;
  CHECK(value_of(mine) == 6);
  CHECK(value_of(theirs) == 6);
  CHECK(stats(f).entries == 1 && stats(f).traces == 2);

  drop(trace(g, x, "", negated, 1));
  in_thread(clear_here);
  CHECK(stats(f).entries == 0 && stats(g).entries == 0);
  drop(x);
  drop_function(f);
  drop_function(g);
}

static void *call_and_erase(void *unused) {
  (void)unused;
  mx_array x = NULL;
  CHECK(mx_array_scalar(&x, real(3), MX_FLOAT32) == MX_OK);
  for (int i = 0; i < 200; i++) {
    mx_call c = NULL;
    mx_call_state state;
    CHECK(mx_call_begin(&c, &state, shared.function, &x, 1, &i, i % 3) == MX_OK);
    if (state == MX_CALL_TRACE) commit(c, doubled, 1);
    const double value = value_of(finish(c, 1));
    CHECK(value == 6);
    if (i % 20 == 0) CHECK(mx_function_erase(shared.function) == MX_OK);
    if (i % 50 == 0) mx_compile_clear();
  }
  drop(x);
  return NULL;
}

static void test_many_threads(void) {
  pthread_t threads[4];
  shared.function = function_of(0);
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, call_and_erase, NULL) == 0);
  for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  drop_function(shared.function);
}

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
  test_trace_and_hit();
  test_no_and_many_inputs_and_outputs();
  test_aliases();
  test_keys();
  test_shapeless();
  test_shapeless_errors();
  test_inline_and_disabled();
  test_concrete_call_inside_a_trace();
  test_inner_trace_reaches_outer_placeholder();
  test_recursion();
  test_recursive_function();
  test_traces_that_fail();
  test_closure_arrays_are_frozen();
  test_random_draws_differ_between_calls();
  test_capacity();
  test_erase();
  test_other_threads();
  test_many_threads();
  test_callbacks();
  return 0;
}
