/* mx/function.h: one trace for all shapes, and the shapes that it refuses. */
#include "calls.h"

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

int main(void) {
  test_shapeless();
  test_shapeless_errors();
  return 0;
}
