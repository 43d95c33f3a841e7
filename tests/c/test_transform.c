/* mx/transform.h: derivatives, nesting, custom functions, misuse. */
#include <pthread.h>

#include "calls.h"

static mx_transform open_on(const mx_array *primals, size_t n) {
  mx_transform t = NULL;
  CHECK(mx_transform_begin(&t, primals, n) == MX_OK);
  return t;
}

/* What a transform lists, where that is one array. */
static mx_array only(mx_status (*list_of)(mx_array *, size_t, size_t *, mx_transform), mx_transform t) {
  mx_array x = NULL;
  size_t n = 0;
  CHECK(list_of(&x, 1, &n, t) == MX_OK);
  CHECK(n == 1);
  return x;
}

static mx_array tracer_of(mx_transform t) { return only(mx_transform_inputs, t); }
static mx_array result_of(mx_transform t) { return only(mx_transform_results, t); }

static mx_array gradient_of(mx_transform t, mx_array y, mx_array cotangent) {
  mx_transform_state state = MX_TRANSFORM_OPEN;
  CHECK(mx_transform_vjp(&state, t, &y, 1, &cotangent, 1, NULL, 0) == MX_OK);
  CHECK(state == MX_TRANSFORM_DONE);
  return result_of(t);
}

static mx_array multiplied(mx_array a, mx_array b) {
  mx_array y = NULL;
  CHECK(mx_multiply(&y, a, b, NULL) == MX_OK);
  return y;
}

static void test_gradient(void) {
  mx_array x = array(MX_FLOAT32, D(3), V(1, 2, 3)), w = array(MX_FLOAT32, D(3), V(1, 10, 100));
  bool is = false;
  mx_transform t = open_on(&x, 1);
  mx_array p = tracer_of(t), y = multiplied(p, p);
  CHECK(mx_array_is_tracer(&is, p) == MX_OK);
  CHECK(is);
  CHECK(mx_array_is_tracer(&is, y) == MX_OK);
  CHECK(is);
  CHECK(mx_async_eval(&y, 1) == MX_ERROR_TRACE);
  CHECK(mx_eval(&y, 1) == MX_OK); /* the derivative does not mind */
  mx_array g = gradient_of(t, y, w);
  CHECK(mx_array_is_tracer(&is, p) == MX_OK);
  CHECK(!is);
  CHECK(mx_async_eval(&y, 1) == MX_OK);
  mx_transform_end(t);
  expect(g, MX_FLOAT32, D(3), V(2, 40, 600)); /* results outlive it */
  expect(y, MX_FLOAT32, D(3), V(1, 4, 9));
  drop(p);
  drop(x);
  drop(w);
}

/* The same array twice, one that nothing depends on, and a choice among them. */
static void test_wanted(void) {
  mx_array x = number(MX_FLOAT32, 3), one = number(MX_FLOAT32, 1), p[3] = {NULL}, g[3] = {NULL};
  const mx_array primals[] = {x, x, one};
  const int64_t wanted[] = {2, 0}, none_such = 3;
  mx_transform_state state;
  size_t n = 0;
  for (int choose = 0; choose < 2; choose++) {
    mx_transform t = open_on(primals, 3);
    CHECK(mx_transform_inputs(p, 2, &n, t) == MX_ERROR_INVALID_ARGUMENT); /* no room */
    CHECK(mx_transform_inputs(p, 3, &n, t) == MX_OK);
    mx_array square = multiplied(p[0], p[0]), y = multiplied(square, p[1]);
    CHECK(mx_transform_vjp(&state, t, &y, 1, &one, 1, &none_such, 1) == MX_ERROR_INDEX);
    CHECK(mx_transform_vjp(&state, t, &y, 1, &one, 1, choose ? wanted : NULL, choose ? 2 : 0) == MX_OK);
    CHECK(mx_transform_results(g, 3, &n, t) == MX_OK);
    CHECK(n == (choose ? 2 : 3));
    CHECK(value_of(g[0]) == (choose ? 0 : 18));
    CHECK(value_of(g[1]) == (choose ? 18 : 9));
    if (!choose) CHECK(value_of(g[2]) == 0);
    mx_transform_end(t);
    for (int i = 0; i < 3; i++) drop(p[i]);
    drop(square);
    drop(y);
  }
  drop(x);
  drop(one);
}

static void test_tangent(void) {
  mx_array x = array(MX_FLOAT32, D(2), V(3, 4)), v = array(MX_FLOAT32, D(2), V(1, 2)), y[2] = {NULL}, dy[2] = {NULL};
  mx_transform_state state;
  size_t n = 0;
  mx_transform t = open_on(&x, 1);
  mx_array p = tracer_of(t);
  y[0] = multiplied(p, p);
  CHECK(mx_greater(&y[1], p, v, NULL) == MX_OK);
  CHECK(mx_transform_jvp(&state, t, y, 2, &v, 1) == MX_OK);
  CHECK(state == MX_TRANSFORM_DONE);
  CHECK(mx_transform_results(dy, 2, &n, t) == MX_OK);
  expect(dy[0], MX_FLOAT32, D(2), V(6, 16));
  expect(dy[1], MX_FLOAT32, D(2), V(0, 0));
  mx_transform_end(t);
  drop(p);
  drop(y[0]);
  drop(y[1]);
  drop(x);
  drop(v);
}

/* The second derivative of x^3, and the same inside a compiled function. */
static mx_array second_derivative(mx_array x) {
  mx_array one = number(MX_FLOAT32, 1);
  mx_transform outer = open_on(&x, 1);
  mx_array p = tracer_of(outer);
  mx_transform inner = open_on(&p, 1);
  mx_array q = tracer_of(inner), square = multiplied(q, q), cube = multiplied(square, q);
  mx_array slope = gradient_of(inner, cube, one);
  mx_transform_end(inner);
  mx_array curvature = gradient_of(outer, slope, one);
  mx_transform_end(outer);
  drop(p);
  drop(q);
  drop(square);
  drop(cube);
  drop(slope);
  drop(one);
  return curvature;
}

static void test_nesting(void) {
  mx_array x = number(MX_FLOAT32, 5), z = number(MX_FLOAT32, 2);
  CHECK(value_of(second_derivative(x)) == 30);
  mx_function f = function_of(0);
  CHECK(value_of(trace(f, x, "", second_derivative, 1)) == 30);
  CHECK(value_of(hit(f, z, "", 1)) == 12);
  drop_function(f);
  drop(x);
  drop(z);
}

/* A compiled function called on a tracer runs in place; one that only reads a tracer gives no wrong constant. */
static void test_compiled_inside(void) {
  mx_array x = number(MX_FLOAT32, 3), k = number(MX_FLOAT32, 10), one = number(MX_FLOAT32, 1);
  mx_function f = function_of(0);
  mx_transform t = open_on(&x, 1);
  mx_array p = tracer_of(t);
  mx_call_end(begin(f, p, "", MX_CALL_INLINE));
  mx_call c = begin(f, k, "", MX_CALL_TRACE);
  mx_array q = placeholder_of(c), y = multiplied(p, q);
  CHECK(mx_call_commit(c, &y, 1, 3) == MX_OK);
  drop(y);
  drop(q);
  y = finish(c, 3);
  CHECK(stats(f).entries == 0);
  CHECK(value_of(gradient_of(t, y, one)) == 10);
  mx_transform_end(t);
  drop(y);
  drop(p);
  drop(x);
  drop(k);
  drop(one);
  drop_function(f);
}

/* y = x^2 whose derivative is said to be 7. */
static void test_custom(mx_rules rule, bool evaluated) {
  mx_array x = number(MX_FLOAT32, 3), one = number(MX_FLOAT32, 1), y = NULL, got = NULL;
  mx_transform_state state;
  uint64_t token = 0;
  size_t n = 0;
  mx_transform t = open_on(&x, 1);
  CHECK(mx_transform_rule(&token, t) == MX_ERROR_INVALID_ARGUMENT);
  mx_array p = tracer_of(t), square = multiplied(p, p);
  CHECK(mx_transform_custom(&y, 1, &n, &p, 1, &square, 1, 42, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_transform_custom(&y, 1, &n, &p, 1, &square, 1, 42, rule) == MX_OK);
  drop(square);
  square = multiplied(y, y);
  if (evaluated) CHECK(mx_eval(&square, 1) == MX_OK);
  if (rule == MX_RULE_VJP)
    CHECK(mx_transform_vjp(&state, t, &square, 1, &one, 1, NULL, 0) == MX_OK);
  else
    CHECK(mx_transform_jvp(&state, t, &square, 1, &one, 1) == MX_OK);
  CHECK(state == MX_TRANSFORM_RULE);
  CHECK(mx_transform_results(&got, 1, &n, t) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_transform_rule(&token, t) == MX_OK);
  CHECK(token == 42);
  CHECK(mx_transform_rule_inputs(&got, 1, &n, t) == MX_OK);
  CHECK(value_of(got) == 3);
  CHECK(mx_transform_rule_outputs(&got, 1, &n, t) == MX_OK);
  CHECK(value_of(got) == 9);
  CHECK(mx_transform_rule_asked(&got, 1, &n, t) == MX_OK);
  CHECK(value_of(got) == (rule == MX_RULE_VJP ? 18 : 1));
  mx_array wrong = array(MX_FLOAT32, D(2), V(1, 2)), seven = number(MX_FLOAT32, 7);
  CHECK(mx_transform_supply(&state, t, &wrong, 1) == MX_ERROR_SHAPE);
  CHECK(mx_transform_supply(&state, t, &wrong, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_transform_supply(&state, t, &seven, 1) == MX_OK);
  CHECK(state == MX_TRANSFORM_DONE);
  CHECK(value_of(result_of(t)) == (rule == MX_RULE_VJP ? 7 : 126));
  CHECK(mx_transform_supply(&state, t, &seven, 1) == MX_ERROR_INVALID_ARGUMENT);
  mx_transform_end(t);
  mx_array same = NULL; /* no transform is open */
  bool is = false;
  CHECK(mx_transform_custom(&same, 1, &n, &x, 1, &square, 1, 1, MX_RULE_VJP) == MX_OK);
  CHECK(mx_array_same(&is, same, square) == MX_OK);
  CHECK(is);
  drop(same);
  drop(wrong);
  drop(seven);
  drop(square);
  drop(y);
  drop(p);
  drop(x);
  drop(one);
}

/* In the direction that has no rule, derivatives go through the body. */
static void test_custom_other_direction(void) {
  mx_array x = number(MX_FLOAT32, 3), one = number(MX_FLOAT32, 1), y = NULL;
  mx_transform_state state;
  size_t n = 0;
  for (int forward = 0; forward < 2; forward++) {
    mx_transform t = open_on(&x, 1);
    mx_array p = tracer_of(t), square = multiplied(p, p);
    CHECK(mx_transform_custom(&y, 1, &n, &p, 1, &square, 1, 1, forward ? MX_RULE_VJP : MX_RULE_JVP) == MX_OK);
    if (forward)
      CHECK(mx_transform_jvp(&state, t, &y, 1, &one, 1) == MX_OK);
    else
      CHECK(mx_transform_vjp(&state, t, &y, 1, &one, 1, NULL, 0) == MX_OK);
    CHECK(state == MX_TRANSFORM_DONE);
    CHECK(value_of(result_of(t)) == 6);
    mx_transform_end(t);
    drop(y);
    drop(square);
    drop(p);
  }
  drop(x);
  drop(one);
}

static void *finish_elsewhere(void *arg) {
  mx_transform t = arg;
  mx_transform_state state;
  CHECK(mx_transform_vjp(&state, t, NULL, 0, NULL, 0, NULL, 0) == MX_ERROR_WRONG_THREAD);
  return NULL;
}

static void *end_elsewhere(void *arg) {
  mx_transform_end(arg);
  return NULL;
}

static void test_misuse(void) {
  mx_array x = array(MX_FLOAT32, D(2), V(1, 2)), one = number(MX_FLOAT32, 1), g = NULL;
  mx_transform_state state;
  size_t n = 0;
  pthread_t thread;
  mx_transform t = open_on(&x, 1);
  mx_array p = tracer_of(t), y = multiplied(p, p);
  CHECK(mx_transform_results(&g, 1, &n, t) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_transform_rule_asked(&g, 1, &n, t) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_transform_vjp(&state, t, &y, 1, &one, 1, NULL, 0) == MX_ERROR_SHAPE);
  CHECK(mx_transform_vjp(&state, t, &y, 1, NULL, 0, NULL, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_transform_jvp(&state, t, &y, 1, &one, 1) == MX_ERROR_SHAPE);
  CHECK(mx_transform_jvp(&state, t, &y, 1, NULL, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(pthread_create(&thread, NULL, finish_elsewhere, t) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  expect(gradient_of(t, y, x), MX_FLOAT32, D(2), V(2, 8)); /* errors before the end leave it open */
  CHECK(mx_transform_vjp(&state, t, &y, 1, &x, 1, NULL, 0) == MX_ERROR_TRACE);
  CHECK(mx_transform_jvp(&state, t, &y, 1, &x, 1) == MX_ERROR_TRACE);
  mx_transform_end(t);
  drop(y);
  drop(p);

  t = open_on(&x, 1); /* freed early, on another thread: its tracers are plain arrays from then on */
  p = tracer_of(t);
  y = multiplied(p, p);
  bool is = true;
  CHECK(pthread_create(&thread, NULL, end_elsewhere, t) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  check_closed(t);
  CHECK(mx_array_is_tracer(&is, y) == MX_OK);
  CHECK(!is);
  CHECK(mx_transform_vjp(&state, t, &y, 1, &x, 1, NULL, 0) == MX_ERROR_HANDLE);
  CHECK(mx_transform_free(t) == MX_ERROR_HANDLE);
  CHECK(mx_transform_inputs(&g, 1, &n, (mx_transform)x) == MX_ERROR_HANDLE);
  expect(y, MX_FLOAT32, D(2), V(1, 4));
  drop(p);
  drop(x);
  drop(one);
}

/* An op without a derivative says so, and indices ask for stop_gradient. */
static void test_no_derivative(void) {
  mx_array x = array(MX_FLOAT32, D(2), V(1, 2)), y = NULL, w = NULL;
  mx_transform_state state;
  mx_transform t = open_on(&x, 1);
  mx_array p = tracer_of(t);
  CHECK(mx_view_dtype(&y, p, MX_INT32, NULL) == MX_OK);
  CHECK(mx_astype(&w, x, MX_INT32, NULL) == MX_OK);
  CHECK(mx_transform_vjp(&state, t, &y, 1, &w, 1, NULL, 0) == MX_ERROR_UNSUPPORTED);
  CHECK(strstr(mx_error_message(), "view_dtype") != NULL);
  CHECK(mx_transform_vjp(&state, t, &y, 1, &w, 1, NULL, 0) == MX_ERROR_TRACE);
  mx_transform_end(t);
  drop(y);
  drop(p);
  t = open_on(&w, 1);
  p = tracer_of(t);
  CHECK(mx_take(&y, x, p, 0, NULL) == MX_OK);
  CHECK(mx_transform_vjp(&state, t, &y, 1, &x, 1, NULL, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(mx_error_message(), "stop_gradient") != NULL);
  mx_transform_end(t);
  drop(y);
  drop(p);
  drop(w);
  drop(x);
}

int main(void) {
  test_gradient();
  test_wanted();
  test_tangent();
  test_nesting();
  test_compiled_inside();
  test_custom(MX_RULE_VJP, false);
  test_custom(MX_RULE_VJP, true);
  test_custom(MX_RULE_JVP, false);
  test_custom_other_direction();
  test_misuse();
  test_no_derivative();
  return 0;
}
