/* mx/vmap.h: mappings. */
#include <pthread.h>

#include "calls.h"

static mx_vmap begin_map(mx_array x, int64_t axis) {
  mx_vmap m = NULL;
  CHECK(mx_vmap_begin(&m, &x, 1, &axis, 1) == MX_OK);
  return m;
}

static mx_array lane_of(mx_vmap m) {
  mx_array p = NULL;
  size_t n = 0;
  CHECK(mx_vmap_inputs(&p, 1, &n, m) == MX_OK);
  CHECK(n == 1);
  return p;
}

/* Closes the mapping and what its function returned. */
static mx_array finish_map(mx_vmap m, mx_array y, int64_t axis) {
  mx_array whole = NULL;
  size_t n = 0;
  CHECK(mx_vmap_finish(&whole, 1, &n, m, &y, 1, &axis, 1) == MX_OK);
  CHECK(n == 1);
  drop(y);
  mx_vmap_end(m);
  return whole;
}

static mx_array two_by_three(void) { return array(MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6)); }

static void test_axes(void) {
  mx_array x = two_by_three();
  for (int k = 0; k < 4; k++) {
    const int64_t in = k & 1 ? -1 : 0, out_axis = k & 2 ? -1 : 0;
    mx_vmap m = begin_map(x, in);
    mx_array p = lane_of(m), y = NULL;
    check_shape(p, MX_FLOAT32, D(in ? 2 : 3));
    CHECK(mx_cumsum(&y, p, 0, false, true, NULL) == MX_OK);
    drop(p);
    mx_array whole = finish_map(m, y, out_axis);
    if (k == 0) expect(whole, MX_FLOAT32, D(2, 3), V(1, 3, 6, 4, 9, 15));
    if (k == 1) expect(whole, MX_FLOAT32, D(3, 2), V(1, 5, 2, 7, 3, 9));
    if (k == 2) expect(whole, MX_FLOAT32, D(3, 2), V(1, 4, 3, 9, 6, 15));
    if (k == 3) expect(whole, MX_FLOAT32, D(2, 3), V(1, 2, 3, 5, 7, 9));
  }
  drop(x);
}

static void test_shared_inputs_and_outputs(void) {
  mx_array in[2] = {two_by_three(), array(MX_FLOAT32, D(3), V(10, 20, 30))}, lane[2], y[2], whole[2];
  const int64_t axes[2] = {0, MX_NO_AXIS}, out_axes[2] = {0, 0};
  mx_vmap m = NULL;
  size_t n = 0;
  CHECK(mx_vmap_begin(&m, in, 2, axes, 2) == MX_OK);
  CHECK(mx_vmap_inputs(lane, 1, &n, m) == MX_ERROR_INVALID_ARGUMENT); /* there are two */
  CHECK(mx_vmap_inputs(lane, 2, &n, m) == MX_OK);
  bool tracer = true;
  CHECK(mx_array_is_tracer(&tracer, lane[1]) == MX_OK);
  CHECK(!tracer);
  CHECK(mx_array_is_tracer(&tracer, lane[0]) == MX_OK);
  CHECK(tracer);
  CHECK(mx_add(&y[0], lane[0], lane[1], NULL) == MX_OK);
  CHECK(mx_negative(&y[1], lane[1], NULL) == MX_OK);
  CHECK(mx_vmap_finish(whole, 2, &n, m, y, 2, out_axes, 2) == MX_OK);
  CHECK(n == 2);
  mx_vmap_end(m);
  expect(whole[0], MX_FLOAT32, D(2, 3), V(11, 22, 33, 14, 25, 36));
  expect(whole[1], MX_FLOAT32, D(2, 3), V(-10, -20, -30, -10, -20, -30)); /* repeated */
  for (int i = 0; i < 2; i++) {
    drop(in[i]);
    drop(lane[i]);
    drop(y[i]);
  }
}

static void test_nesting(void) {
  mx_array x = two_by_three(), y = NULL;
  mx_vmap outer = begin_map(x, 0);
  mx_array row = lane_of(outer);
  mx_vmap inner = begin_map(row, 0);
  mx_array element = lane_of(inner);
  CHECK(mx_multiply(&y, element, element, NULL) == MX_OK);
  drop(element);
  drop(row);
  y = finish_map(inner, y, 0);
  expect(finish_map(outer, y, 1), MX_FLOAT32, D(3, 2), V(1, 16, 4, 25, 9, 36));
  drop(x);
}

static mx_array summed_rows(mx_array x) {
  mx_vmap m = begin_map(x, 0);
  mx_array p = lane_of(m), y = NULL;
  CHECK(mx_sum(&y, p, NULL, 0, false, NULL) == MX_OK);
  drop(p);
  return finish_map(m, y, 0);
}

static void test_inside_a_trace(void) {
  mx_function f = function_of(0);
  mx_array x = two_by_three();
  expect(trace(f, x, "", summed_rows, 1), MX_FLOAT32, D(2), V(6, 15));
  expect(hit(f, x, "", 1), MX_FLOAT32, D(2), V(6, 15));
  drop(x);
  drop_function(f);
}

static void test_bad_arguments(void) {
  mx_array x = two_by_three(), wide = array(MX_FLOAT32, D(3), V(1, 2, 3)), one = number(MX_FLOAT32, 1), whole = NULL;
  mx_array pair[2] = {x, wide};
  mx_vmap m = NULL;
  size_t n = 0;
  CHECK(mx_vmap_begin(&m, pair, 2, L(0, 0)) == MX_ERROR_SHAPE); /* 2 and 3 lanes */
  CHECK(mx_vmap_begin(&m, pair, 2, L(0)) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_vmap_begin(&m, pair, 2, L(MX_NO_AXIS, MX_NO_AXIS)) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_vmap_begin(&m, NULL, 0, NONE) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_vmap_begin(&m, pair, 2, L(2, 0)) == MX_ERROR_AXIS);
  CHECK(mx_vmap_begin(&m, pair, 2, L(0, -2)) == MX_ERROR_AXIS);
  CHECK(mx_vmap_begin(&m, &one, 1, L(0)) == MX_ERROR_AXIS);
  CHECK(mx_vmap_begin(NULL, &x, 1, L(0)) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(m == NULL);

  m = begin_map(x, 0);
  mx_array p = lane_of(m);
  CHECK(mx_vmap_finish(&whole, 1, &n, m, &p, 1, NONE) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(whole == NULL);
  CHECK(mx_vmap_finish(&whole, 1, &n, m, &p, 1, L(2)) == MX_ERROR_AXIS);
  CHECK(mx_vmap_finish(&whole, 1, &n, m, &p, 1, L(0)) == MX_ERROR_INVALID_ARGUMENT); /* that was its end */
  CHECK(mx_vmap_free(m) == MX_OK);
  CHECK(mx_vmap_finish(&whole, 1, &n, m, &p, 1, L(0)) == MX_ERROR_HANDLE);
  CHECK(mx_vmap_inputs(&whole, 1, &n, m) == MX_ERROR_HANDLE);
  CHECK(mx_vmap_free(m) == MX_ERROR_HANDLE);
  check_closed(m);
  CHECK(mx_eval(&p, 1) == MX_ERROR_TRACE); /* its mapping is gone */
  drop(p);
  drop(x);
  drop(wide);
  drop(one);
}

static void test_the_end_of_a_mapping(void) {
  mx_array x = two_by_three(), whole = NULL, y = NULL;
  size_t n = 0;
  mx_vmap m = begin_map(x, 0);
  mx_array p = lane_of(m);
  CHECK(mx_vmap_finish(&whole, 1, &n, m, &p, 1, L(0)) == MX_OK);
  expect(whole, MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6));
  CHECK(mx_vmap_finish(&whole, 1, &n, m, &p, 1, L(0)) == MX_ERROR_INVALID_ARGUMENT); /* twice */
  mx_vmap_end(m);

  /* closed early: the function's arrays have no value, and another mapping is not disturbed */
  m = begin_map(x, 1);
  mx_vmap_end(begin_map(x, 0));
  CHECK(mx_add(&y, p, p, NULL) == MX_OK);
  CHECK(mx_eval(&y, 1) == MX_ERROR_TRACE);
  drop(y);
  drop(p);
  p = lane_of(m);
  y = doubled(p);
  drop(p);
  expect(finish_map(m, y, 1), MX_FLOAT32, D(2, 3), V(2, 4, 6, 8, 10, 12));
  drop(x);
}

/* A rule for all lanes: what went into it is resolved, and what it gives goes on as placeholders. */
static void test_rules_of_the_host(void) {
  mx_array x = two_by_three(), y = NULL, whole = NULL, given = NULL, z = NULL, five = number(MX_FLOAT32, 5);
  int64_t axis = 7;
  mx_vmap m = begin_map(x, 1);
  mx_array p = lane_of(m);
  CHECK(mx_add(&y, p, p, NULL) == MX_OK);
  CHECK(mx_vmap_resolve(&whole, &axis, m, five) == MX_OK);
  CHECK(axis == MX_NO_AXIS);
  expect(whole, MX_FLOAT32, SCALAR, V(5));
  CHECK(mx_vmap_resolve(&whole, &axis, m, y) == MX_OK);
  CHECK(axis == 0);
  expect(whole, MX_FLOAT32, D(3, 2), V(2, 8, 4, 10, 6, 12));
  given = array(MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6));
  CHECK(mx_vmap_extend(&z, m, given, 0) == MX_ERROR_SHAPE); /* there are 3 lanes */
  CHECK(mx_vmap_extend(&z, m, five, 0) == MX_ERROR_AXIS);
  CHECK(mx_vmap_extend(&z, m, five, MX_NO_AXIS) == MX_OK);
  drop(z);
  CHECK(mx_vmap_extend(&z, m, given, -1) == MX_OK);
  drop(given);
  check_shape(z, MX_FLOAT32, D(2));
  drop(p);
  p = y;
  CHECK(mx_add(&y, p, z, NULL) == MX_OK);
  drop(p);
  expect(finish_map(m, y, 0), MX_FLOAT32, D(3, 2), V(3, 12, 6, 15, 9, 18));
  CHECK(mx_vmap_resolve(&whole, &axis, m, z) == MX_ERROR_HANDLE);
  m = begin_map(x, 0);
  CHECK(mx_vmap_finish(&whole, 1, &(size_t){0}, m, &x, 1, L(0)) == MX_OK);
  drop(whole);
  CHECK(mx_vmap_resolve(&whole, &axis, m, x) == MX_ERROR_INVALID_ARGUMENT); /* it is finished */
  CHECK(mx_vmap_extend(&whole, m, x, 0) == MX_ERROR_INVALID_ARGUMENT);
  mx_vmap_end(m);
  drop(z);
  drop(x);
  drop(five);
}

/* The same bits are no handle of another type. */
static void test_foreign_handles(void) {
  mx_array x = two_by_three(), y = NULL;
  mx_function f = function_of(0);
  mx_vmap m = begin_map(x, 0);
  mx_call_state state;
  mx_call call = NULL;
  size_t n = 0;
  int64_t axis = 0;
  CHECK(mx_handle_count(MX_HANDLE_VMAP) == 1);
  CHECK(mx_vmap_inputs(&y, 1, &n, (mx_vmap)x) == MX_ERROR_HANDLE);
  CHECK(mx_vmap_inputs(&y, 1, &n, (mx_vmap)f) == MX_ERROR_HANDLE);
  CHECK(mx_vmap_inputs(&y, 1, &n, NULL) == MX_ERROR_HANDLE);
  CHECK(mx_vmap_resolve(&y, &axis, m, (mx_array)m) == MX_ERROR_HANDLE);
  CHECK(mx_vmap_free((mx_vmap)f) == MX_ERROR_HANDLE);
  CHECK(mx_function_free((mx_function)m) == MX_ERROR_HANDLE);
  CHECK(mx_array_free((mx_array)m) == MX_ERROR_HANDLE);
  CHECK(mx_call_begin(&call, &state, (mx_function)m, &x, 1, NULL, 0) == MX_ERROR_HANDLE);
  CHECK(mx_vmap_free(NULL) == MX_OK);
  mx_vmap_end(m);
  CHECK(mx_handle_count(MX_HANDLE_VMAP) == 0);
  drop_function(f);
  drop(x);
}

static void test_recursion(void) {
  mx_array x = two_by_three();
  mx_vmap maps[64], one_more = NULL;
  for (int i = 0; i < 64; i++) maps[i] = begin_map(x, 0);
  CHECK(mx_vmap_begin(&one_more, &x, 1, L(0)) == MX_ERROR_RECURSION);
  CHECK(one_more == NULL);
  for (int i = 0; i < 64; i++) mx_vmap_end(maps[i]); /* the outermost first */
  expect(summed_rows(x), MX_FLOAT32, D(2), V(6, 15));
  drop(x);
}

static struct {
  mx_vmap map;
  mx_array lane, result;
  mx_function function;
} shared;

static void *finish_elsewhere(void *unused) {
  mx_array whole = NULL;
  size_t n = 0;
  int64_t axis;
  CHECK(mx_vmap_finish(&whole, 1, &n, shared.map, &shared.lane, 1, L(0)) == MX_ERROR_WRONG_THREAD);
  CHECK(mx_vmap_resolve(&whole, &axis, shared.map, shared.lane) == MX_ERROR_WRONG_THREAD);
  CHECK(mx_vmap_extend(&whole, shared.map, shared.lane, 0) == MX_ERROR_WRONG_THREAD);
  return unused;
}

static mx_status cube(mx_array *outputs, size_t n_outputs, const mx_array *inputs, size_t n_inputs, void *payload) {
  (void)n_outputs, (void)n_inputs, (void)payload;
  mx_array square = NULL;
  const mx_status status = mx_multiply(&square, inputs[0], inputs[0], NULL);
  if (status) return status;
  const mx_status last = mx_multiply(outputs, square, inputs[0], NULL);
  drop(square);
  if (!last) check_closed(outputs[0]); /* the library will */
  return last;
}

/* A placeholder is no tracer on another thread, so the call is not inlined: the mapping looks inside of it. */
static void *call_elsewhere(void *unused) {
  size_t n = 0;
  CHECK(mx_compiled_call(&shared.result, 1, &n, shared.function, &shared.lane, 1) == MX_OK);
  return unused;
}

static void on_another_thread(void *(*run)(void *)) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void test_other_threads(void) {
  mx_array x = two_by_three();
  shared.map = begin_map(x, 0);
  shared.lane = lane_of(shared.map);
  CHECK(mx_compile(&shared.function, "cube", 1, cube, NULL, NULL, 0) == MX_OK);
  on_another_thread(finish_elsewhere);
  on_another_thread(call_elsewhere);
  drop(shared.lane);
  expect(finish_map(shared.map, shared.result, 0), MX_FLOAT32, D(2, 3), V(1, 8, 27, 64, 125, 216));
  drop_function(shared.function);
  drop(x);
}

int main(void) {
  test_axes();
  test_shared_inputs_and_outputs();
  test_nesting();
  test_inside_a_trace();
  test_bad_arguments();
  test_the_end_of_a_mapping();
  test_rules_of_the_host();
  test_foreign_handles();
  test_recursion();
  test_other_threads();
  CHECK(mx_handle_count(MX_HANDLE_ANY) == 0);
  return 0;
}
