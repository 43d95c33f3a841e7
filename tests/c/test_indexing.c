/* mx/shape.h: slices, gathers and scatters. */
#include "values.h"

static mx_array six(void) { return array(MX_INT32, D(2, 3), V(1, 2, 3, 4, 5, 6)); }

static void test_slices(void) {
  mx_array a = six(), v = array(MX_INT32, D(5), V(0, 1, 2, 3, 4)), u = array(MX_FLOAT32, D(2), V(8, 9));
  expect(OP(mx_slice(&out, a, L(0, 1), L(2, 3), L(1, 1), NULL)), MX_INT32, D(2, 2), V(2, 3, 5, 6));
  expect(OP(mx_slice(&out, v, L(-2), L(INT64_MAX), L(1), NULL)), MX_INT32, D(2), V(3, 4));
  expect(OP(mx_slice(&out, v, L(INT64_MAX), L(INT64_MIN), L(-2), NULL)), MX_INT32, D(3), V(4, 2, 0));
  expect(OP(mx_slice(&out, v, L(3), L(0), L(-1), NULL)), MX_INT32, D(3), V(3, 2, 1));
  expect(OP(mx_slice(&out, v, L(0), L(5), L(INT64_MAX), NULL)), MX_INT32, D(1), V(0));
  expect(OP(mx_slice(&out, v, L(4), L(2), L(1), NULL)), MX_INT32, D(0), EMPTY);
  expect(OP(mx_slice_update(&out, v, u, L(1), L(5), L(2), MX_UPDATE_ASSIGN, NULL)), MX_INT32, D(5), V(0, 8, 2, 9, 4));
  expect(OP(mx_slice_update(&out, v, u, L(3), L(1), L(-1), MX_UPDATE_ADD, NULL)), MX_INT32, D(5), V(0, 1, 11, 11, 4));
  expect(OP(mx_slice_update(&out, v, u, L(0), L(2), L(1), MX_UPDATE_MULTIPLY, NULL)), MX_INT32, D(5), V(0, 9, 2, 3, 4));
  expect(OP(mx_slice_update(&out, v, u, L(0), L(2), L(1), MX_UPDATE_MAXIMUM, NULL)), MX_INT32, D(5), V(8, 9, 2, 3, 4));
  expect(OP(mx_slice_update(&out, v, u, L(3), L(5), L(1), MX_UPDATE_MINIMUM, NULL)), MX_INT32, D(5), V(0, 1, 2, 3, 4));
  check_values(v, 5, (const double[]){0, 1, 2, 3, 4});
  out = NULL;
  CHECK(mx_slice(&out, v, L(0), L(1), L(0), NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_slice(&out, a, L(0), L(1), L(1), NULL) == MX_ERROR_SHAPE);
  CHECK(mx_slice_update(&out, v, u, L(0), L(3), L(1), MX_UPDATE_ASSIGN, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_slice_update(&out, v, u, L(0), L(2), L(1), (mx_update_mode)7, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(out == NULL);
  drop(a);
  drop(v);
  drop(u);
}

static void test_dynamic_slices(void) {
  mx_array a = six(), start = array(MX_INT32, D(1), V(1)), far = array(MX_INT32, D(1), V(9)),
           u = array(MX_INT32, D(2, 1), V(8, 9)), f = array(MX_FLOAT32, D(1), V(1));
  expect(OP(mx_dynamic_slice(&out, a, start, L(1), L(2, 2), NULL)), MX_INT32, D(2, 2), V(2, 3, 5, 6));
  expect(OP(mx_dynamic_slice(&out, a, far, L(1), L(-1, 1), NULL)), MX_INT32, D(2, 1), V(3, 6));
  expect(OP(mx_dynamic_slice_update(&out, a, u, start, L(1), NULL)), MX_INT32, D(2, 3), V(1, 8, 3, 4, 9, 6));
  out = NULL;
  CHECK(mx_dynamic_slice(&out, a, start, L(1), L(2, 4), NULL) == MX_ERROR_SHAPE);
  CHECK(mx_dynamic_slice(&out, a, start, L(0, 1), L(1, 1), NULL) == MX_ERROR_SHAPE);
  CHECK(mx_dynamic_slice(&out, a, f, L(1), L(1, 1), NULL) == MX_ERROR_DTYPE);
  CHECK(mx_dynamic_slice(&out, a, start, L(5), L(1, 1), NULL) == MX_ERROR_AXIS);
  CHECK(out == NULL);
  drop(a);
  drop(start);
  drop(far);
  drop(u);
  drop(f);
}

static void test_take(void) {
  mx_array a = six(), i = array(MX_INT32, D(2, 2), V(0, -1, 2, 0)), one = array(MX_UINT8, SCALAR, V(1)),
           f = array(MX_FLOAT32, D(1), V(1)), e, none;
  expect(OP(mx_take(&out, a, i, 1, NULL)), MX_INT32, D(2, 2, 2), V(1, 3, 3, 1, 4, 6, 6, 4));
  expect(OP(mx_take(&out, a, one, 0, NULL)), MX_INT32, D(3), V(4, 5, 6));
  expect(OP(mx_take(&out, a, i, MX_NO_AXIS, NULL)), MX_INT32, D(2, 2), V(1, 6, 3, 1));
  CHECK(mx_zeros(&e, L(0, 2), MX_INT32, NULL) == MX_OK);
  CHECK(mx_zeros(&none, L(0), MX_INT32, NULL) == MX_OK);
  expect(OP(mx_take(&out, e, none, 0, NULL)), MX_INT32, D(0, 2), EMPTY);
  out = NULL;
  CHECK(mx_take(&out, a, f, 0, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_take(&out, a, i, 2, NULL) == MX_ERROR_AXIS);
  CHECK(mx_take(&out, e, i, 0, NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(a);
  drop(i);
  drop(one);
  drop(f);
  drop(e);
  drop(none);
}

static void test_along_axis(void) {
  mx_array a = six(), i = array(MX_INT32, D(2, 1), V(2, 0)), row = array(MX_INT32, D(1, 2), V(1, 1)),
           v = array(MX_INT32, D(2, 1), V(8, 9)), ten = number(MX_INT32, 10), flat = array(MX_INT32, D(2), V(5, 0));
  expect(OP(mx_take_along_axis(&out, a, i, 1, NULL)), MX_INT32, D(2, 1), V(3, 4));
  expect(OP(mx_take_along_axis(&out, a, row, 1, NULL)), MX_INT32, D(2, 2), V(2, 2, 5, 5));
  expect(OP(mx_take_along_axis(&out, a, flat, MX_NO_AXIS, NULL)), MX_INT32, D(2), V(6, 1));
  expect(OP(mx_put_along_axis(&out, a, i, v, 1, NULL)), MX_INT32, D(2, 3), V(1, 2, 8, 9, 5, 6));
  expect(OP(mx_put_along_axis(&out, a, i, ten, 1, NULL)), MX_INT32, D(2, 3), V(1, 2, 10, 10, 5, 6));
  expect(OP(mx_put_along_axis(&out, a, flat, ten, MX_NO_AXIS, NULL)), MX_INT32, D(2, 3), V(10, 2, 3, 4, 5, 10));
  expect(OP(mx_scatter_along_axis(&out, a, row, ten, 1, MX_UPDATE_ADD, NULL)), MX_INT32, D(2, 3),
         V(1, 22, 3, 4, 25, 6));
  out = NULL;
  CHECK(mx_take_along_axis(&out, a, flat, 1, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_put_along_axis(&out, a, i, a, 1, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_scatter_along_axis(&out, a, i, v, 1, (mx_update_mode)9, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(out == NULL);
  drop(a);
  drop(i);
  drop(row);
  drop(v);
  drop(ten);
  drop(flat);
}

static void test_gather_scatter(void) {
  mx_array a = six(), index[2] = {array(MX_INT32, D(2), V(0, 1)), array(MX_INT32, D(2), V(2, -3))};
  expect(OP(mx_gather(&out, a, index, 2, L(0, 1), L(1, 1), NULL)), MX_INT32, D(2, 1, 1), V(3, 4));
  expect(OP(mx_gather(&out, a, index, 1, L(0), L(1, -1), NULL)), MX_INT32, D(2, 1, 3), V(1, 2, 3, 4, 5, 6));
  mx_array u = array(MX_INT32, D(2, 1, 1), V(10, 20)),
           same[2] = {array(MX_INT32, D(2), V(1, 1)), array(MX_INT32, D(2), V(1, 1))};
  expect(OP(mx_scatter(&out, a, index, 2, u, L(0, 1), MX_UPDATE_ASSIGN, NULL)), MX_INT32, D(2, 3),
         V(1, 2, 10, 20, 5, 6));
  expect(OP(mx_scatter(&out, a, same, 2, u, L(0, 1), MX_UPDATE_ADD, NULL)), MX_INT32, D(2, 3), V(1, 2, 3, 4, 35, 6));
  expect(OP(mx_scatter(&out, a, same, 2, u, L(0, 1), MX_UPDATE_ASSIGN, NULL)), MX_INT32, D(2, 3), V(1, 2, 3, 4, 20, 6));
  mx_array mask = array(MX_BOOL, D(2, 3), V(1, 0, 1, 0, 0, 1)), v = array(MX_INT32, D(3), V(7, 8, 9));
  expect(OP(mx_masked_scatter(&out, a, mask, v, NULL)), MX_INT32, D(2, 3), V(7, 2, 8, 4, 5, 9));
  out = NULL;
  CHECK(mx_gather(&out, a, index, 1, L(0, 1), L(1, 1), NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_gather(&out, a, index, 2, L(0, 0), L(1, 1), NULL) == MX_ERROR_AXIS);
  CHECK(mx_gather(&out, a, index, 1, L(0), L(3, 1), NULL) == MX_ERROR_SHAPE);
  CHECK(mx_scatter(&out, a, index, 2, v, L(0, 1), MX_UPDATE_ADD, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_masked_scatter(&out, v, mask, v, NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(a);
  drop(u);
  drop(mask);
  drop(v);
  for (int i = 0; i < 2; i++) drop(index[i]);
  for (int i = 0; i < 2; i++) drop(same[i]);
}

int main(void) {
  test_slices();
  test_dynamic_slices();
  test_take();
  test_along_axis();
  test_gather_scatter();
  CHECK(mx_handle_count(MX_HANDLE_ARRAY) == 0);
  return 0;
}
