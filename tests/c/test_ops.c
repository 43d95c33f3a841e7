/* mx/ops.h: every function, its dtype rule and its errors. */
#include "values.h"

typedef mx_status (*unary_fn)(mx_array *, mx_array, mx_stream);
typedef mx_status (*binary_fn)(mx_array *, mx_array, mx_array, mx_stream);

static void test_unary(void) {
  static const struct {
    unary_fn fn;
    double x, want;
  } rows[] = {
      {mx_abs, -2, 2},
      {mx_sign, -3, -1},
      {mx_negative, 3, -3},
      {mx_positive, 4, 4},
      {mx_square, -3, 9},
      {mx_sqrt, 9, 3},
      {mx_sqrt, -1, NAN},
      {mx_rsqrt, 4, 0.5},
      {mx_reciprocal, 4, 0.25},
      {mx_exp, 1, 2.718281828},
      {mx_expm1, 1e-6, 1e-6},
      {mx_log, 2, 0.69314718},
      {mx_log2, 8, 3},
      {mx_log10, 1000, 3},
      {mx_log1p, 1, 0.69314718},
      {mx_sin, 1, 0.84147098},
      {mx_cos, 1, 0.54030231},
      {mx_tan, 1, 1.55740772},
      {mx_arcsin, 0.5, 0.52359878},
      {mx_arccos, 0.5, 1.04719755},
      {mx_arctan, 1, 0.78539816},
      {mx_sinh, 1, 1.17520119},
      {mx_cosh, 1, 1.54308063},
      {mx_tanh, 1, 0.76159416},
      {mx_arcsinh, 1, 0.88137359},
      {mx_arccosh, 2, 1.31695790},
      {mx_arctanh, 0.5, 0.54930614},
      {mx_degrees, 1, 57.2957795},
      {mx_radians, 180, 3.14159265},
      {mx_erf, 0.5, 0.52049988},
      {mx_erfinv, 0.5, 0.47693628},
      {mx_sigmoid, 0, 0.5},
      {mx_floor, -1.5, -2},
      {mx_ceil, -1.5, -1},
      {mx_trunc, -1.5, -1},
      {mx_conjugate, 2, 2},
      {mx_real, 2, 2},
      {mx_imag, 2, 0},
      {mx_stop_gradient, 2, 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    mx_array x = array(MX_FLOAT32, D(1), V(rows[i].x));
    expect(OP(rows[i].fn(&out, x, NULL)), MX_FLOAT32, D(1), V(rows[i].want));
    drop(x);
  }
}

static void test_predicates(void) {
  static const struct {
    unary_fn fn;
    double want[5]; /* for 0, 1, NaN, inf, -inf */
  } rows[] = {{mx_isnan, {0, 0, 1, 0, 0}},      {mx_isinf, {0, 0, 0, 1, 1}},    {mx_isfinite, {1, 1, 0, 0, 0}},
              {mx_isposinf, {0, 0, 0, 1, 0}},   {mx_isneginf, {0, 0, 0, 0, 1}}, {mx_signbit, {0, 0, 0, 0, 1}},
              {mx_logical_not, {1, 0, 0, 0, 0}}};
  mx_array x = array(MX_FLOAT16, D(5), V(0, 1, NAN, INFINITY, -INFINITY)), n = array(MX_INT32, D(1), V(3));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    expect(OP(rows[i].fn(&out, x, NULL)), MX_BOOL, D(5), 5, rows[i].want);
    expect(OP(rows[i].fn(&out, n, NULL)), MX_BOOL, D(1), V(rows[i].fn == mx_isfinite));
  }
  drop(x);
  drop(n);
}

static void test_unary_dtypes(void) {
  mx_array i = array(MX_INT8, D(2), V(-3, 4)), b = array(MX_BOOL, D(2), V(0, 1));
  expect(OP(mx_sqrt(&out, i, NULL)), MX_FLOAT32, D(2), V(NAN, 2));
  expect(OP(mx_abs(&out, i, NULL)), MX_INT8, D(2), V(3, 4));
  expect(OP(mx_floor(&out, i, NULL)), MX_INT8, D(2), V(-3, 4));
  expect(OP(mx_bitwise_invert(&out, i, NULL)), MX_INT8, D(2), V(2, -5));
  expect(OP(mx_bitwise_invert(&out, b, NULL)), MX_BOOL, D(2), V(1, 0));
  expect(OP(mx_exp(&out, b, NULL)), MX_FLOAT32, D(2), V(1, 2.71828183));
  expect(OP(mx_square(&out, b, NULL)), MX_BOOL, D(2), V(0, 1));
  out = NULL;
  CHECK(mx_negative(&out, b, NULL) == MX_ERROR_DTYPE);
  CHECK(strstr(mx_error_message(), "negative") != NULL);
  mx_array c = complex_array(D(1), V(3, 4)), f = array(MX_FLOAT32, D(1), V(1.55));
  CHECK(mx_erf(&out, c, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_floor(&out, c, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_bitwise_invert(&out, f, NULL) == MX_ERROR_DTYPE);
  CHECK(out == NULL);
  expect(OP(mx_abs(&out, c, NULL)), MX_FLOAT32, D(1), V(5));
  expect(OP(mx_imag(&out, c, NULL)), MX_FLOAT32, D(1), V(4));
  expect_complex(OP(mx_conjugate(&out, c, NULL)), D(1), V(3, -4));
  expect_complex(OP(mx_sign(&out, c, NULL)), D(1), V(0.6, 0.8));
  expect_complex(OP(mx_exp(&out, c, NULL)), D(1), V(-13.12878, -15.20078));
  drop(i);
  drop(b);
  drop(c);
  drop(f);
}

static void test_rounding(void) {
  mx_array x = array(MX_FLOAT32, D(4), V(0.5, 1.5, -2.5, 1.2345)), i = array(MX_INT32, D(3), V(15, 25, 1234));
  expect(OP(mx_round(&out, x, 0, NULL)), MX_FLOAT32, D(4), V(0, 2, -2, 1));
  expect(OP(mx_round(&out, x, 2, NULL)), MX_FLOAT32, D(4), V(0.5, 1.5, -2.5, 1.23));
  expect(OP(mx_round(&out, i, -1, NULL)), MX_INT32, D(3), V(20, 20, 1230));
  expect(OP(mx_round(&out, i, 1, NULL)), MX_INT32, D(3), V(15, 25, 1234));
  drop(x);
  drop(i);
  mx_array n = array(MX_FLOAT32, D(3), V(NAN, INFINITY, -INFINITY)), one = number(MX_FLOAT32, 1);
  expect(OP(mx_nan_to_num(&out, n, 7, NULL, NULL, NULL)), MX_FLOAT32, D(3), V(7, 3.4028235e38, -3.4028235e38));
  expect(OP(mx_nan_to_num(&out, n, 0, one, one, NULL)), MX_FLOAT32, D(3), V(0, 1, 1));
  drop(n);
  drop(one);
  mx_array f = array(MX_FLOAT32, D(3), V(1, 0.3, 1000)), e;
  CHECK(mx_to_fp8(&e, f, NULL) == MX_OK);
  expect(OP(mx_from_fp8(&out, e, MX_FLOAT32, NULL)), MX_FLOAT32, D(3), V(1, 0.3125, 448));
  drop(f);
  drop(e);
}

static void test_binary(void) {
  static const struct {
    binary_fn fn;
    double a, b, want;
  } rows[] = {
      {mx_add, 1, 2, 3},
      {mx_subtract, 1, 2, -1},
      {mx_multiply, 3, 2, 6},
      {mx_divide, 1, 2, 0.5},
      {mx_floor_divide, -7, 2, -4},
      {mx_remainder, -7, 3, 2},
      {mx_power, 2, 10, 1024},
      {mx_maximum, 1, NAN, NAN},
      {mx_minimum, 1, 2, 1},
      {mx_hypot, 3, 4, 5},
      {mx_copysign, 3, -1, -3},
      {mx_arctan2, 1, 1, 0.78539816},
      {mx_logaddexp, 0, 0, 0.69314718},
      {mx_nextafter, 0, 1, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    mx_array a = array(MX_FLOAT32, D(1), V(rows[i].a)), b = array(MX_FLOAT32, D(1), V(rows[i].b));
    expect(OP(rows[i].fn(&out, a, b, NULL)), MX_FLOAT32, D(1), V(rows[i].want));
    drop(a);
    drop(b);
  }
  static const struct {
    binary_fn fn;
    double want[3]; /* for 1 ? 2, 2 ? 2, 2 ? 0 */
  } comparisons[] = {{mx_equal, {0, 1, 0}},       {mx_not_equal, {1, 0, 1}},  {mx_less, {1, 0, 0}},
                     {mx_less_equal, {1, 1, 0}},  {mx_greater, {0, 0, 1}},    {mx_greater_equal, {0, 1, 1}},
                     {mx_logical_and, {1, 1, 0}}, {mx_logical_or, {1, 1, 1}}, {mx_logical_xor, {0, 0, 1}}};
  mx_array a = array(MX_INT16, D(3), V(1, 2, 2)), b = array(MX_FLOAT32, D(3), V(2, 2, 0));
  for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
    expect(OP(comparisons[i].fn(&out, a, b, NULL)), MX_BOOL, D(3), 3, comparisons[i].want);
  drop(a);
  drop(b);
}

static void test_integers(void) {
  mx_array a = array(MX_INT32, D(4), V(7, -7, 7, 12)), b = array(MX_INT32, D(4), V(2, 2, 0, -5)), q, r;
  CHECK(mx_divmod(&q, &r, a, b, NULL) == MX_OK);
  expect(q, MX_INT32, D(4), V(3, -4, 0, -3));
  expect(r, MX_INT32, D(4), V(1, 1, 0, -3));
  expect(OP(mx_divide(&out, a, b, NULL)), MX_FLOAT32, D(4), V(3.5, -3.5, INFINITY, -2.4));
  drop(b);
  b = array(MX_INT32, D(4), V(1, 2, 3, 2));
  expect(OP(mx_bitwise_and(&out, a, b, NULL)), MX_INT32, D(4), V(1, 0, 3, 0));
  expect(OP(mx_bitwise_or(&out, a, b, NULL)), MX_INT32, D(4), V(7, -5, 7, 14));
  expect(OP(mx_bitwise_xor(&out, a, b, NULL)), MX_INT32, D(4), V(6, -5, 4, 14));
  expect(OP(mx_left_shift(&out, a, b, NULL)), MX_INT32, D(4), V(14, -28, 56, 48));
  expect(OP(mx_right_shift(&out, a, b, NULL)), MX_INT32, D(4), V(3, -2, 0, 3));
  expect(OP(mx_power(&out, b, b, NULL)), MX_INT32, D(4), V(1, 4, 27, 4));
  drop(a);
  drop(b);
  a = array(MX_BOOL, D(4), V(0, 0, 1, 1)), b = array(MX_BOOL, D(4), V(0, 1, 0, 1));
  expect(OP(mx_add(&out, a, b, NULL)), MX_BOOL, D(4), V(0, 1, 1, 1));
  expect(OP(mx_multiply(&out, a, b, NULL)), MX_BOOL, D(4), V(0, 0, 0, 1));
  expect(OP(mx_power(&out, a, b, NULL)), MX_BOOL, D(4), V(1, 0, 1, 1));
  expect(OP(mx_left_shift(&out, a, b, NULL)), MX_UINT8, D(4), V(0, 0, 1, 2));
  drop(a);
  drop(b);
}

static void test_binary_errors(void) {
  mx_array a = array(MX_FLOAT32, D(2), V(1, 2)), b = array(MX_FLOAT32, D(3), V(1, 2, 3)),
           c = complex_array(D(1), V(1, 1));
  out = NULL;
  CHECK(mx_add(&out, a, b, NULL) == MX_ERROR_SHAPE);
  CHECK(strstr(mx_error_message(), "(2,)") && strstr(mx_error_message(), "(3,)"));
  CHECK(mx_bitwise_and(&out, a, a, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_left_shift(&out, a, a, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_arctan2(&out, c, c, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_remainder(&out, c, c, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_clip(&out, a, NULL, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(out == NULL);
  drop(a);
  drop(b);
  drop(c);
}

static void test_comparisons(void) {
  mx_array a = array(MX_FLOAT32, D(4), V(1, INFINITY, INFINITY, NAN)),
           b = array(MX_FLOAT32, D(4), V(1.000001, INFINITY, -INFINITY, NAN)), s = array(MX_FLOAT32, D(1), V(1));
  expect(OP(mx_isclose(&out, a, b, 1e-5, 1e-8, false, NULL)), MX_BOOL, D(4), V(1, 1, 0, 0));
  expect(OP(mx_isclose(&out, a, b, 1e-5, 1e-8, true, NULL)), MX_BOOL, D(4), V(1, 1, 0, 1));
  expect(OP(mx_isclose(&out, s, b, 1e-5, 1e-8, true, NULL)), MX_BOOL, D(4), V(1, 0, 0, 0));
  expect(OP(mx_allclose(&out, a, b, 1e-5, 1e-8, true, NULL)), MX_BOOL, SCALAR, V(0));
  expect(OP(mx_array_equal(&out, a, a, false, NULL)), MX_BOOL, SCALAR, V(0));
  expect(OP(mx_array_equal(&out, a, a, true, NULL)), MX_BOOL, SCALAR, V(1));
  expect(OP(mx_array_equal(&out, a, s, true, NULL)), MX_BOOL, SCALAR, V(0));
  mx_array two = number(MX_FLOAT32, 2), zero = number(MX_FLOAT32, 0), c = array(MX_INT32, D(4), V(0, 1, 2, 0));
  expect(OP(mx_where(&out, c, a, two, NULL)), MX_FLOAT32, D(4), V(2, INFINITY, INFINITY, 2));
  expect(OP(mx_clip(&out, a, zero, two, NULL)), MX_FLOAT32, D(4), V(1, 2, 2, NAN));
  expect(OP(mx_clip(&out, a, two, NULL, NULL)), MX_FLOAT32, D(4), V(2, INFINITY, INFINITY, NAN));
  drop(a);
  drop(b);
  drop(s);
  drop(two);
  drop(zero);
  drop(c);
}

static void test_reductions(void) {
  mx_array a = array(MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6)), i = array(MX_INT8, D(2, 3), V(1, 2, 3, 0, 5, 6));
  expect(OP(mx_sum(&out, a, NULL, 0, false, NULL)), MX_FLOAT32, SCALAR, V(21));
  expect(OP(mx_sum(&out, a, L(0), false, NULL)), MX_FLOAT32, D(3), V(5, 7, 9));
  expect(OP(mx_sum(&out, a, L(-1), true, NULL)), MX_FLOAT32, D(2, 1), V(6, 15));
  expect(OP(mx_sum(&out, a, NONE, false, NULL)), MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6));
  expect(OP(mx_sum(&out, i, NULL, 0, false, NULL)), MX_INT32, SCALAR, V(17));
  expect(OP(mx_prod(&out, a, L(1), false, NULL)), MX_FLOAT32, D(2), V(6, 120));
  expect(OP(mx_min(&out, i, L(0), false, NULL)), MX_INT8, D(3), V(0, 2, 3));
  expect(OP(mx_max(&out, a, NULL, 0, true, NULL)), MX_FLOAT32, D(1, 1), V(6));
  expect(OP(mx_all(&out, i, L(1), false, NULL)), MX_BOOL, D(2), V(1, 0));
  expect(OP(mx_any(&out, i, NULL, 0, false, NULL)), MX_BOOL, SCALAR, V(1));
  expect(OP(mx_count_nonzero(&out, i, L(1), false, NULL)), MX_INT32, D(2), V(3, 2));
  expect(OP(mx_mean(&out, i, L(1), false, NULL)), MX_FLOAT32, D(2), V(2, 11.0 / 3));
  expect(OP(mx_median(&out, a, NULL, 0, false, NULL)), MX_FLOAT32, SCALAR, V(3.5));
  expect(OP(mx_median(&out, a, L(1), true, NULL)), MX_FLOAT32, D(2, 1), V(2, 5));
  expect(OP(mx_var(&out, a, L(1), false, 0, NULL)), MX_FLOAT32, D(2), V(2.0 / 3, 2.0 / 3));
  expect(OP(mx_var(&out, a, L(1), true, 1, NULL)), MX_FLOAT32, D(2, 1), V(1, 1));
  expect(OP(mx_std(&out, a, NULL, 0, false, 0, NULL)), MX_FLOAT32, SCALAR, V(1.70782513));
  expect(OP(mx_var(&out, a, NULL, 0, false, 10, NULL)), MX_FLOAT32, SCALAR, V(INFINITY));
  expect(OP(mx_logsumexp(&out, a, L(-1), true, NULL)), MX_FLOAT32, D(2, 1), V(3.40760596, 6.40760596));
  expect(OP(mx_logsumexp(&out, a, L(0), false, NULL)), MX_FLOAT32, D(3), V(4.04858735, 5.04858735, 6.04858735));
  expect(OP(mx_softmax(&out, a, L(-1), true, NULL)), MX_FLOAT32, D(2, 3),
         V(0.09003057, 0.24472847, 0.66524096, 0.09003057, 0.24472847, 0.66524096));
  expect(OP(mx_softmax(&out, i, L(0), false, NULL)), MX_FLOAT32, D(2, 3),
         V(0.73105858, 0.04742587, 0.04742587, 0.26894142, 0.95257413, 0.95257413));
  expect(OP(mx_argmax(&out, a, 1, false, NULL)), MX_UINT32, D(2), V(2, 2));
  expect(OP(mx_argmax(&out, a, MX_NO_AXIS, true, NULL)), MX_UINT32, D(1, 1), V(5));
  expect(OP(mx_argmin(&out, i, 0, true, NULL)), MX_UINT32, D(1, 3), V(1, 0, 0));
  out = NULL;
  CHECK(mx_sum(&out, a, L(2), false, NULL) == MX_ERROR_AXIS);
  CHECK(mx_sum(&out, a, L(0, -2), false, NULL) == MX_ERROR_AXIS);
  CHECK(strstr(mx_error_message(), "repeated") != NULL);
  CHECK(mx_argmax(&out, a, 5, false, NULL) == MX_ERROR_AXIS);
  CHECK(out == NULL);
  drop(a);
  drop(i);
}

static void test_empty_reductions(void) {
  mx_array e;
  CHECK(mx_zeros(&e, L(0, 2), MX_FLOAT32, NULL) == MX_OK);
  expect(OP(mx_sum(&out, e, L(0), false, NULL)), MX_FLOAT32, D(2), V(0, 0));
  expect(OP(mx_prod(&out, e, L(0), false, NULL)), MX_FLOAT32, D(2), V(1, 1));
  expect(OP(mx_all(&out, e, NULL, 0, false, NULL)), MX_BOOL, SCALAR, V(1));
  expect(OP(mx_mean(&out, e, L(0), false, NULL)), MX_FLOAT32, D(2), V(NAN, NAN));
  expect(OP(mx_logsumexp(&out, e, L(0), true, NULL)), MX_FLOAT32, D(1, 2), V(-INFINITY, -INFINITY));
  expect(OP(mx_logsumexp(&out, e, L(1), false, NULL)), MX_FLOAT32, D(0), EMPTY);
  expect(OP(mx_max(&out, e, L(1), false, NULL)), MX_FLOAT32, D(0), EMPTY);
  out = NULL;
  CHECK(mx_max(&out, e, L(0), false, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_median(&out, e, NULL, 0, false, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_argmin(&out, e, 0, false, NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(e);
}

static void test_scans(void) {
  mx_array a = array(MX_FLOAT32, D(2, 3), V(1, 3, 2, 4, 5, 6)), b = array(MX_BOOL, D(3), V(1, 1, 0));
  expect(OP(mx_cumsum(&out, a, 1, false, true, NULL)), MX_FLOAT32, D(2, 3), V(1, 4, 6, 4, 9, 15));
  expect(OP(mx_cumsum(&out, a, 0, true, false, NULL)), MX_FLOAT32, D(2, 3), V(4, 5, 6, 0, 0, 0));
  expect(OP(mx_cumsum(&out, a, MX_NO_AXIS, false, true, NULL)), MX_FLOAT32, D(6), V(1, 4, 6, 10, 15, 21));
  expect(OP(mx_cumsum(&out, b, 0, false, true, NULL)), MX_INT32, D(3), V(1, 2, 2));
  expect(OP(mx_cumprod(&out, a, -1, true, false, NULL)), MX_FLOAT32, D(2, 3), V(6, 2, 1, 30, 6, 1));
  expect(OP(mx_cumprod(&out, b, 0, false, true, NULL)), MX_BOOL, D(3), V(1, 1, 0));
  expect(OP(mx_cummax(&out, a, 1, false, true, NULL)), MX_FLOAT32, D(2, 3), V(1, 3, 3, 4, 5, 6));
  expect(OP(mx_cummin(&out, a, 1, true, true, NULL)), MX_FLOAT32, D(2, 3), V(1, 2, 2, 4, 5, 6));
  expect(OP(mx_cummax(&out, a, 1, false, false, NULL)), MX_FLOAT32, D(2, 3), V(-INFINITY, 1, 3, -INFINITY, 4, 5));
  expect(OP(mx_logcumsumexp(&out, a, 1, false, true, NULL)), MX_FLOAT32, D(2, 3),
         V(1, 3.12692801, 3.40760596, 4, 5.31326169, 6.40760596));
  expect(OP(mx_diff(&out, a, 1, -1, NULL)), MX_FLOAT32, D(2, 2), V(2, -1, 1, 1));
  expect(OP(mx_diff(&out, a, 0, -1, NULL)), MX_FLOAT32, D(2, 3), V(1, 3, 2, 4, 5, 6));
  expect(OP(mx_diff(&out, a, 5, 0, NULL)), MX_FLOAT32, D(0, 3), EMPTY);
  expect(OP(mx_diff(&out, b, 1, 0, NULL)), MX_BOOL, D(2), V(0, 1));
  out = NULL;
  CHECK(mx_diff(&out, a, -1, 0, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_cumsum(&out, a, 2, false, true, NULL) == MX_ERROR_AXIS);
  CHECK(out == NULL);
  drop(a);
  drop(b);
}

static void test_sorting(void) {
  mx_array a = array(MX_FLOAT32, D(2, 3), V(3, NAN, 1, 5, 4, 4)), v = array(MX_INT32, D(3), V(1, 2, 2));
  expect(OP(mx_sort(&out, a, -1, false, NULL)), MX_FLOAT32, D(2, 3), V(1, 3, NAN, 4, 4, 5));
  expect(OP(mx_sort(&out, a, MX_NO_AXIS, false, NULL)), MX_FLOAT32, D(6), V(1, 3, 4, 4, 5, NAN));
  expect(OP(mx_argsort(&out, a, 1, false, NULL)), MX_UINT32, D(2, 3), V(2, 0, 1, 1, 2, 0));
  expect(OP(mx_partition(&out, a, 0, 0, NULL)), MX_FLOAT32, D(2, 3), V(3, 4, 1, 5, NAN, 4));
  expect(OP(mx_argpartition(&out, a, -1, 0, NULL)), MX_UINT32, D(2, 3), V(0, 1, 0, 1, 0, 1));
  expect(OP(mx_topk(&out, v, 1, 0, NULL)), MX_INT32, D(1), V(2));
  expect(OP(mx_topk(&out, v, 0, 0, NULL)), MX_INT32, D(0), EMPTY);
  mx_array x = array(MX_FLOAT32, D(2), V(2, 2.5));
  expect(OP(mx_searchsorted(&out, v, x, false, NULL)), MX_UINT32, D(2), V(1, 3));
  expect(OP(mx_searchsorted(&out, v, x, true, NULL)), MX_UINT32, D(2), V(3, 3));
  out = NULL;
  CHECK(mx_partition(&out, v, 3, 0, NULL) == MX_ERROR_INDEX);
  CHECK(mx_topk(&out, v, 4, 0, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_searchsorted(&out, a, x, false, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_sort(&out, v, 1, false, NULL) == MX_ERROR_AXIS);
  CHECK(mx_argwhere(&out, v, -1, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(out == NULL);
  drop(a);
  drop(v);
  drop(x);
}

static void test_descending(void) {
  mx_array a = array(MX_FLOAT32, D(5), V(2, NAN, 1, 2, 3));
  expect(OP(mx_sort(&out, a, 0, true, NULL)), MX_FLOAT32, D(5), V(NAN, 3, 2, 2, 1));
  expect(OP(mx_argsort(&out, a, MX_NO_AXIS, true, NULL)), MX_UINT32, D(5), V(1, 4, 0, 3, 2));
  drop(a);
}

static void test_finding(void) {
  mx_array a = array(MX_FLOAT32, D(2, 3), V(0, 2, NAN, -1, 0, 3)), n = number(MX_INT8, 4),
           none = array(MX_INT32, D(0), EMPTY);
  expect(OP(mx_argwhere(&out, a, 5, NULL)), MX_INT64, D(5, 2), V(0, 1, 0, 2, 1, 0, 1, 2, 0, 0));
  expect(OP(mx_argwhere(&out, a, 1, NULL)), MX_INT64, D(1, 2), V(0, 1));
  expect(OP(mx_argwhere(&out, n, 1, NULL)), MX_INT64, D(1, 0), EMPTY);
  mx_array x = array(MX_FLOAT32, D(2, 3), V(2, 1, 2, 3, 1, 2)), fill = number(MX_FLOAT32, 9), index, inverse, counts,
           total;
  for (int padded = 0; padded < 2; padded++) {
    CHECK(mx_unique(&out, &index, &inverse, &counts, &total, x, 4, padded ? fill : NULL, NULL) == MX_OK);
    expect(out, MX_FLOAT32, D(4), V(1, 2, 3, padded ? 9 : 1));
    expect(index, MX_UINT32, D(4), V(1, 0, 3, 1));
    expect(inverse, MX_UINT32, D(2, 3), V(1, 0, 1, 2, 0, 1));
    expect(counts, MX_INT32, D(4), V(2, 3, 1, 0));
    expect(total, MX_INT32, SCALAR, V(3));
  }
  CHECK(mx_unique(&out, &index, &inverse, &counts, &total, x, 2, NULL, NULL) == MX_OK);
  expect(out, MX_FLOAT32, D(2), V(1, 2));
  expect(index, MX_UINT32, D(2), V(1, 0));
  expect(inverse, MX_UINT32, D(2, 3), V(1, 0, 1, 1, 0, 1));
  expect(counts, MX_INT32, D(2), V(2, 3));
  expect(total, MX_INT32, SCALAR, V(3));
  CHECK(mx_unique(&out, &index, &inverse, &counts, &total, none, 1, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_unique(&out, &index, &inverse, &counts, &total, none, 1, fill, NULL) == MX_OK);
  expect(out, MX_INT32, D(1), V(9));
  expect(index, MX_UINT32, D(1), V(0));
  expect(inverse, MX_UINT32, D(0), EMPTY);
  expect(counts, MX_INT32, D(1), V(0));
  expect(total, MX_INT32, SCALAR, V(0));
  CHECK(mx_unique(&out, &index, &inverse, &counts, &total, x, -1, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  drop(a);
  drop(n);
  drop(none);
  drop(x);
  drop(fill);
}

static void test_contractions(void) {
  mx_array a = array(MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6)), b = array(MX_FLOAT32, D(3, 2), V(1, 0, 0, 1, 1, 1));
  mx_array s = array(MX_INT32, D(2, 2), V(1, 2, 3, 4)), xs[] = {a, b, a};
  int64_t steps[8];
  size_t n;
  expect(OP(mx_einsum(&out, "ij,jk->ki", xs, 2, NULL)), MX_FLOAT32, D(2, 2), V(4, 10, 5, 11));
  expect(OP(mx_einsum(&out, "ij , jk", xs, 2, NULL)), MX_FLOAT32, D(2, 2), V(4, 5, 10, 11));
  expect(OP(mx_einsum(&out, "...j,j...->", xs, 2, NULL)), MX_FLOAT32, SCALAR, V(15));
  expect(OP(mx_einsum(&out, "ii", &s, 1, NULL)), MX_INT32, SCALAR, V(5));
  expect(OP(mx_einsum(&out, "ii->i", &s, 1, NULL)), MX_INT32, D(2), V(1, 4));
  CHECK(mx_einsum_path(steps, 8, &n, "ij,jk,kl", xs, 3) == MX_OK);
  CHECK(n == 6 && steps[0] == 2 && steps[3] == 2);
  out = NULL;
  CHECK(mx_einsum_path(steps, 5, &n, "ij,jk,kl", xs, 3) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_einsum(&out, "ij,jk", xs, 1, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_einsum(&out, "ij->k", xs, 1, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_einsum(&out, "ij->ii", xs, 1, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_einsum(&out, "i?", xs, 1, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_einsum(&out, "......", xs, 1, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_einsum(&out, "i", xs, 1, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_einsum(&out, "ij,kj", xs, 2, NULL) == MX_ERROR_SHAPE);
  mx_array x = array(MX_INT32, D(3), V(1, 2, 3)), v = array(MX_INT32, D(2), V(1, 10));
  expect(OP(mx_convolve(&out, x, v, MX_CONVOLVE_FULL, NULL)), MX_INT32, D(4), V(1, 12, 23, 30));
  expect(OP(mx_convolve(&out, v, x, MX_CONVOLVE_SAME, NULL)), MX_INT32, D(3), V(1, 12, 23));
  expect(OP(mx_convolve(&out, x, v, MX_CONVOLVE_VALID, NULL)), MX_INT32, D(2), V(12, 23));
  CHECK(mx_convolve(&out, x, v, (mx_convolve_mode)3, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_convolve(&out, a, v, MX_CONVOLVE_FULL, NULL) == MX_ERROR_SHAPE);
  drop(a);
  drop(b);
  drop(s);
  drop(x);
  drop(v);
}

static void test_products(void) {
  mx_array a = array(MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6)), b = array(MX_FLOAT32, D(3, 2), V(1, 0, 0, 1, 1, 1));
  mx_array v = array(MX_FLOAT32, D(3), V(1, 0, -1)), c = array(MX_FLOAT32, D(2), V(10, 20)),
           i = array(MX_INT32, D(3), V(1, 2, 3));
  expect(OP(mx_matmul(&out, a, b, NULL)), MX_FLOAT32, D(2, 2), V(4, 5, 10, 11));
  expect(OP(mx_matmul(&out, a, v, NULL)), MX_FLOAT32, D(2), V(-2, -2));
  expect(OP(mx_matmul(&out, v, b, NULL)), MX_FLOAT32, D(2), V(0, -1));
  expect(OP(mx_matmul(&out, v, v, NULL)), MX_FLOAT32, SCALAR, V(2));
  expect(OP(mx_addmm(&out, c, a, b, 2, 0.5, NULL)), MX_FLOAT32, D(2, 2), V(13, 20, 25, 32));
  expect(OP(mx_addmm(&out, c, a, v, 1, 1, NULL)), MX_FLOAT32, D(2), V(8, 18));
  expect(OP(mx_inner(&out, a, v, NULL)), MX_FLOAT32, D(2), V(-2, -2));
  expect(OP(mx_inner(&out, a, a, NULL)), MX_FLOAT32, D(2, 2), V(14, 32, 32, 77));
  expect(OP(mx_outer(&out, i, i, NULL)), MX_INT32, D(3, 3), V(1, 2, 3, 2, 4, 6, 3, 6, 9));
  expect(OP(mx_vecdot(&out, i, i, -1, NULL)), MX_INT32, SCALAR, V(14));
  expect(OP(mx_vecdot(&out, a, v, -1, NULL)), MX_FLOAT32, D(2), V(-2, -2));
  expect(OP(mx_tensordot(&out, a, b, L(0, 1), L(1, 0), NULL)), MX_FLOAT32, SCALAR, V(15));
  expect(OP(mx_tensordot(&out, v, c, NONE, NONE, NULL)), MX_FLOAT32, D(3, 2), V(10, 20, 0, 0, -10, -20));
  expect(OP(mx_kron(&out, c, v, NULL)), MX_FLOAT32, D(6), V(10, 0, -10, 20, 0, -20));
  expect(OP(mx_kron(&out, a, c, NULL)), MX_FLOAT32, D(2, 6), V(10, 20, 20, 40, 30, 60, 40, 80, 50, 100, 60, 120));
  expect(OP(mx_trace(&out, a, 1, 0, 1, MX_FLOAT32, NULL)), MX_FLOAT32, SCALAR, V(8));
  expect(OP(mx_trace(&out, a, 0, 0, 1, MX_INT8, NULL)), MX_INT32, SCALAR, V(6));
  out = NULL;
  CHECK(mx_matmul(&out, a, a, NULL) == MX_ERROR_SHAPE);
  CHECK(strstr(mx_error_message(), "(2, 3)") != NULL);
  CHECK(mx_matmul(&out, i, i, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_addmm(&out, v, a, b, 1, 1, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_inner(&out, a, c, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_vecdot(&out, a, c, -1, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_tensordot(&out, a, b, L(0), L(0), NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(a);
  drop(b);
  drop(v);
  drop(c);
  drop(i);
}

int main(void) {
  test_unary();
  test_predicates();
  test_unary_dtypes();
  test_rounding();
  test_binary();
  test_integers();
  test_binary_errors();
  test_comparisons();
  test_reductions();
  test_empty_reductions();
  test_scans();
  test_sorting();
  test_descending();
  test_finding();
  test_contractions();
  test_products();
  CHECK(mx_handle_count(MX_HANDLE_ARRAY) == 0);
  return 0;
}
