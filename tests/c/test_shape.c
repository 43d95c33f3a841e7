/* mx/shape.h: every function, its shape rule and its errors. */
#include "values.h"

static mx_array six(void) { return array(MX_INT32, D(2, 3), V(1, 2, 3, 4, 5, 6)); }

static void test_ranges(void) {
  expect(OP(mx_arange(&out, integer(1), integer(7), integer(2), MX_INT32, NULL)), MX_INT32, D(3), V(1, 3, 5));
  expect(OP(mx_arange(&out, integer(5), integer(0), integer(-2), MX_INT8, NULL)), MX_INT8, D(3), V(5, 3, 1));
  expect(OP(mx_arange(&out, integer(5), integer(0), integer(1), MX_INT32, NULL)), MX_INT32, D(0), EMPTY);
  expect(OP(mx_arange(&out, real(0), real(1), real(0.25), MX_FLOAT32, NULL)), MX_FLOAT32, D(4), V(0, 0.25, 0.5, 0.75));
  const int64_t big = INT64_C(9007199254740993); /* no double */
  int64_t read[2];
  CHECK(mx_arange(&out, integer(big), integer(big + 2), integer(1), MX_INT64, NULL) == MX_OK);
  CHECK(mx_array_read(read, sizeof read, out) == MX_OK);
  CHECK(read[0] == big && read[1] == big + 1);
  drop(out);
  expect(OP(mx_linspace(&out, integer(0), integer(1), 5, true, MX_FLOAT32, NULL)), MX_FLOAT32, D(5),
         V(0, 0.25, 0.5, 0.75, 1));
  expect(OP(mx_linspace(&out, real(1), real(3), 2, false, MX_FLOAT64, NULL)), MX_FLOAT64, D(2), V(1, 2));
  expect(OP(mx_linspace(&out, real(1), real(3), 1, true, MX_FLOAT32, NULL)), MX_FLOAT32, D(1), V(1));
  expect(OP(mx_linspace(&out, real(1), real(3), 0, true, MX_FLOAT32, NULL)), MX_FLOAT32, D(0), EMPTY);
  out = NULL;
  CHECK(mx_arange(&out, integer(0), integer(1), integer(0), MX_INT32, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_arange(&out, real(NAN), real(1), real(1), MX_FLOAT32, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_arange(&out, integer(0), integer(1), integer(1), MX_BOOL, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_arange(&out, real(0), real(1e30), real(1), MX_FLOAT32, NULL) == MX_ERROR_OVERFLOW);
  CHECK(mx_linspace(&out, real(0), real(1), -1, true, MX_FLOAT32, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(out == NULL);
}

static void test_filled(void) {
  mx_array a = six(), v = array(MX_FLOAT32, D(3), V(7, 8, 9));
  expect(OP(mx_full(&out, L(2, 3), v, MX_INT16, NULL)), MX_INT16, D(2, 3), V(7, 8, 9, 7, 8, 9));
  expect(OP(mx_full_like(&out, a, v, MX_FLOAT32, NULL)), MX_FLOAT32, D(2, 3), V(7, 8, 9, 7, 8, 9));
  expect(OP(mx_zeros(&out, L(2), MX_BOOL, NULL)), MX_BOOL, D(2), V(0, 0));
  expect(OP(mx_ones(&out, NULL, 0, MX_BFLOAT16, NULL)), MX_BFLOAT16, SCALAR, V(1));
  expect(OP(mx_zeros_like(&out, v, MX_FLOAT32, NULL)), MX_FLOAT32, D(3), V(0, 0, 0));
  expect(OP(mx_ones_like(&out, v, MX_UINT8, NULL)), MX_UINT8, D(3), V(1, 1, 1));
  out = NULL;
  CHECK(mx_full(&out, L(2, 2), v, MX_INT16, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_zeros(&out, L(-2), MX_INT16, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_zeros(&out, L(INT64_MAX, 2), MX_INT16, NULL) == MX_ERROR_OVERFLOW);
  CHECK(mx_zeros(&out, L(2), (mx_dtype)77, NULL) == MX_ERROR_DTYPE);
  CHECK(out == NULL);
  drop(a);
  drop(v);
}

static void test_matrices(void) {
  mx_array a = six(), s = number(MX_FLOAT32, 1);
  expect(OP(mx_eye(&out, 2, 3, 1, MX_FLOAT32, NULL)), MX_FLOAT32, D(2, 3), V(0, 1, 0, 0, 0, 1));
  expect(OP(mx_eye(&out, 2, 2, -1, MX_INT32, NULL)), MX_INT32, D(2, 2), V(0, 0, 1, 0));
  expect(OP(mx_identity(&out, 2, MX_FLOAT16, NULL)), MX_FLOAT16, D(2, 2), V(1, 0, 0, 1));
  expect(OP(mx_tri(&out, 2, 3, 0, MX_FLOAT32, NULL)), MX_FLOAT32, D(2, 3), V(1, 0, 0, 1, 1, 0));
  expect(OP(mx_tril(&out, a, 0, NULL)), MX_INT32, D(2, 3), V(1, 0, 0, 4, 5, 0));
  expect(OP(mx_triu(&out, a, 1, NULL)), MX_INT32, D(2, 3), V(0, 2, 3, 0, 0, 6));
  out = NULL;
  CHECK(mx_tril(&out, s, 0, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_eye(&out, -1, 2, 0, MX_FLOAT32, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(out == NULL);
  drop(a);
  drop(s);
}

static void test_grids_and_windows(void) {
  mx_array xs[2] = {array(MX_INT32, D(2), V(0, 1)), array(MX_INT32, D(3), V(5, 6, 7))}, grid[2];
  size_t n;
  CHECK(mx_meshgrid(grid, 2, &n, xs, 2, false, false, NULL) == MX_OK);
  CHECK(n == 2);
  expect(grid[0], MX_INT32, D(3, 2), V(0, 1, 0, 1, 0, 1));
  expect(grid[1], MX_INT32, D(3, 2), V(5, 5, 6, 6, 7, 7));
  CHECK(mx_meshgrid(grid, 2, &n, xs, 2, true, true, NULL) == MX_OK);
  expect(grid[0], MX_INT32, D(2, 1), V(0, 1));
  expect(grid[1], MX_INT32, D(1, 3), V(5, 6, 7));
  CHECK(mx_meshgrid(grid, 1, &n, xs, 2, true, true, NULL) == MX_ERROR_INVALID_ARGUMENT);
  drop(xs[0]);
  drop(xs[1]);
  expect(OP(mx_bartlett(&out, 5, NULL)), MX_FLOAT32, D(5), V(0, 0.5, 1, 0.5, 0));
  expect(OP(mx_hanning(&out, 5, NULL)), MX_FLOAT32, D(5), V(0, 0.5, 1, 0.5, 0));
  expect(OP(mx_hamming(&out, 3, NULL)), MX_FLOAT32, D(3), V(0.08, 1, 0.08));
  expect(OP(mx_blackman(&out, 5, NULL)), MX_FLOAT32, D(5), V(0, 0.34, 1, 0.34, 0));
  expect(OP(mx_hanning(&out, 1, NULL)), MX_FLOAT32, D(1), V(1));
  expect(OP(mx_bartlett(&out, 0, NULL)), MX_FLOAT32, D(0), EMPTY);
}

static void test_dtypes(void) {
  mx_array f = array(MX_FLOAT32, D(3), V(-1.7, 0, 2.9)), i, t;
  expect(OP(mx_astype(&out, f, MX_INT32, NULL)), MX_INT32, D(3), V(-1, 0, 2));
  expect(OP(mx_astype(&out, f, MX_BOOL, NULL)), MX_BOOL, D(3), V(1, 0, 1));
  CHECK(mx_view_dtype(&i, f, MX_UINT32, NULL) == MX_OK);
  expect(OP(mx_view_dtype(&out, i, MX_FLOAT32, NULL)), MX_FLOAT32, D(3), V(-1.7, 0, 2.9));
  drop(i);
  mx_array w = array(MX_UINT8, D(2, 4), V(1, 0, 0, 0, 0, 1, 0, 0));
  expect(OP(mx_view_dtype(&out, w, MX_UINT32, NULL)), MX_UINT32, D(2, 1), V(1, 256));
  expect(OP(mx_view_dtype(&out, w, MX_UINT16, NULL)), MX_UINT16, D(2, 2), V(1, 0, 256, 0));
  CHECK(mx_transpose(&t, w, NULL, 0, NULL) == MX_OK);
  expect(OP(mx_view_dtype(&out, t, MX_UINT16, NULL)), MX_UINT16, D(4, 1), V(1, 256, 0, 0));
  expect(OP(mx_contiguous(&out, t, false, NULL)), MX_UINT8, D(4, 2), V(1, 0, 0, 1, 0, 0, 0, 0));
  expect(OP(mx_contiguous(&out, t, true, NULL)), MX_UINT8, D(4, 2), V(1, 0, 0, 1, 0, 0, 0, 0));
  expect(OP(mx_copy(&out, t, NULL)), MX_UINT8, D(4, 2), V(1, 0, 0, 1, 0, 0, 0, 0));
  mx_array s = number(MX_FLOAT32, 1);
  out = NULL;
  CHECK(mx_view_dtype(&out, s, MX_INT16, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_view_dtype(&out, t, MX_UINT32, NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(f);
  drop(w);
  drop(t);
  drop(s);
}

static void test_strided(void) {
  mx_array a = six(), t;
  expect(OP(mx_as_strided(&out, a, L(2, 2), L(1, 2), 1, NULL)), MX_INT32, D(2, 2), V(2, 4, 3, 5));
  expect(OP(mx_as_strided(&out, a, L(3), L(-2), 5, NULL)), MX_INT32, D(3), V(6, 4, 2));
  CHECK(mx_transpose(&t, a, NULL, 0, NULL) == MX_OK);
  expect(OP(mx_as_strided(&out, t, L(3), L(1), 0, NULL)), MX_INT32, D(3), V(1, 4, 2));
  out = NULL;
  CHECK(mx_as_strided(&out, a, L(2, 2), L(1, 1), 5, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_as_strided(&out, a, L(2), L(-1), 0, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_as_strided(&out, a, L(2, 2), L(1), 0, NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(a);
  drop(t);
}

static void test_reshape(void) {
  mx_array a = six(), e, s = number(MX_INT32, 4), t, f;
  expect(OP(mx_reshape(&out, a, L(3, -1), NULL)), MX_INT32, D(3, 2), V(1, 2, 3, 4, 5, 6));
  CHECK(mx_transpose(&t, a, NULL, 0, NULL) == MX_OK);
  expect(OP(mx_reshape(&out, t, L(6), NULL)), MX_INT32, D(6), V(1, 4, 2, 5, 3, 6));
  expect(OP(mx_reshape(&out, t, L(3, 1, 2), NULL)), MX_INT32, D(3, 1, 2), V(1, 4, 2, 5, 3, 6));
  CHECK(mx_flip(&f, a, L(0), NULL) == MX_OK);
  expect(OP(mx_reshape(&out, f, L(2, 3, 1), NULL)), MX_INT32, D(2, 3, 1), V(4, 5, 6, 1, 2, 3));
  expect(OP(mx_reshape(&out, f, L(3, 2), NULL)), MX_INT32, D(3, 2), V(4, 5, 6, 1, 2, 3));
  expect(OP(mx_flatten(&out, a, 0, -1, NULL)), MX_INT32, D(6), V(1, 2, 3, 4, 5, 6));
  expect(OP(mx_flatten(&out, s, 0, -1, NULL)), MX_INT32, D(1), V(4));
  expect(OP(mx_unflatten(&out, a, 1, L(-1, 1), NULL)), MX_INT32, D(2, 3, 1), V(1, 2, 3, 4, 5, 6));
  expect(OP(mx_squeeze(&out, s, NULL, 0, NULL)), MX_INT32, SCALAR, V(4));
  expect(OP(mx_expand_dims(&out, s, L(0, -1), NULL)), MX_INT32, D(1, 1), V(4));
  expect(OP(mx_atleast_1d(&out, s, NULL)), MX_INT32, D(1), V(4));
  expect(OP(mx_atleast_2d(&out, s, NULL)), MX_INT32, D(1, 1), V(4));
  expect(OP(mx_atleast_3d(&out, a, NULL)), MX_INT32, D(2, 3, 1), V(1, 2, 3, 4, 5, 6));
  CHECK(mx_zeros(&e, L(0, 3), MX_INT32, NULL) == MX_OK);
  expect(OP(mx_reshape(&out, e, L(-1, 3), NULL)), MX_INT32, D(0, 3), EMPTY);
  out = NULL;
  CHECK(mx_reshape(&out, e, L(0, -1), NULL) == MX_ERROR_SHAPE);
  CHECK(mx_reshape(&out, a, L(4), NULL) == MX_ERROR_SHAPE);
  CHECK(mx_reshape(&out, a, L(-1, -1), NULL) == MX_ERROR_SHAPE);
  CHECK(mx_flatten(&out, a, 1, 0, NULL) == MX_ERROR_AXIS);
  CHECK(mx_unflatten(&out, a, 1, L(2, 2), NULL) == MX_ERROR_SHAPE);
  CHECK(mx_squeeze(&out, a, L(0), NULL) == MX_ERROR_SHAPE);
  CHECK(mx_expand_dims(&out, a, L(0, 0), NULL) == MX_ERROR_AXIS);
  CHECK(out == NULL);
  drop(a);
  drop(e);
  drop(s);
  drop(t);
  drop(f);
}

static void test_order(void) {
  mx_array a = six(), c = array(MX_INT32, D(2, 1, 3), V(1, 2, 3, 4, 5, 6));
  expect(OP(mx_transpose(&out, a, NULL, 0, NULL)), MX_INT32, D(3, 2), V(1, 4, 2, 5, 3, 6));
  expect(OP(mx_transpose(&out, c, L(2, 0, 1), NULL)), MX_INT32, D(3, 2, 1), V(1, 4, 2, 5, 3, 6));
  expect(OP(mx_moveaxis(&out, c, 0, -1, NULL)), MX_INT32, D(1, 3, 2), V(1, 4, 2, 5, 3, 6));
  expect(OP(mx_moveaxis(&out, c, 2, 0, NULL)), MX_INT32, D(3, 2, 1), V(1, 4, 2, 5, 3, 6));
  expect(OP(mx_swapaxes(&out, a, 0, 1, NULL)), MX_INT32, D(3, 2), V(1, 4, 2, 5, 3, 6));
  expect(OP(mx_flip(&out, a, NULL, 0, NULL)), MX_INT32, D(2, 3), V(6, 5, 4, 3, 2, 1));
  expect(OP(mx_roll(&out, a, L(1), NULL, 0, NULL)), MX_INT32, D(2, 3), V(6, 1, 2, 3, 4, 5));
  expect(OP(mx_roll(&out, a, L(-1), L(1), NULL)), MX_INT32, D(2, 3), V(2, 3, 1, 5, 6, 4));
  expect(OP(mx_roll(&out, a, L(1, 2), L(0), NULL)), MX_INT32, D(2, 3), V(4, 5, 6, 1, 2, 3));
  expect(OP(mx_roll(&out, a, L(1), L(0, 1), NULL)), MX_INT32, D(2, 3), V(6, 4, 5, 3, 1, 2));
  out = NULL;
  CHECK(mx_transpose(&out, a, L(0, 0), NULL) == MX_ERROR_AXIS);
  CHECK(mx_transpose(&out, a, L(0), NULL) == MX_ERROR_SHAPE);
  CHECK(mx_swapaxes(&out, a, 0, 2, NULL) == MX_ERROR_AXIS);
  CHECK(mx_moveaxis(&out, a, 3, 0, NULL) == MX_ERROR_AXIS);
  CHECK(mx_roll(&out, a, L(1, 2, 3), L(0, 1), NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(out == NULL);
  drop(a);
  drop(c);
}

static void test_broadcast(void) {
  mx_array xs[2] = {array(MX_INT32, D(2, 1), V(1, 2)), array(MX_INT32, D(3), V(5, 6, 7))}, both[2];
  size_t n;
  expect(OP(mx_broadcast_to(&out, xs[0], L(2, 2, 3), NULL)), MX_INT32, D(2, 2, 3),
         V(1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2));
  expect(OP(mx_broadcast_to(&out, xs[0], L(-1, 2), NULL)), MX_INT32, D(2, 2), V(1, 1, 2, 2));
  CHECK(mx_broadcast_arrays(both, 2, &n, xs, 2, NULL) == MX_OK);
  CHECK(n == 2);
  expect(both[0], MX_INT32, D(2, 3), V(1, 1, 1, 2, 2, 2));
  expect(both[1], MX_INT32, D(2, 3), V(5, 6, 7, 5, 6, 7));
  out = NULL;
  CHECK(mx_broadcast_to(&out, xs[1], L(2), NULL) == MX_ERROR_SHAPE);
  CHECK(mx_broadcast_to(&out, xs[0], L(2), NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(xs[0]);
  drop(xs[1]);
}

/* Arrays that take no memory have axes of any length. */
static void test_more_parts_than_fit(void) {
  const int64_t most = 1 << 20, many = (int64_t)1 << 40;
  mx_array parts[3], x;
  size_t n;
  mx_array none = array(MX_FLOAT32, D(0), EMPTY), one = array(MX_FLOAT32, D(1), V(1));
  CHECK(mx_split_equal(parts, 3, &n, none, many, 0, NULL) == MX_ERROR_OVERFLOW);
  CHECK(mx_split_equal(parts, 3, &n, none, most + 1, 0, NULL) == MX_ERROR_OVERFLOW);
  CHECK(mx_broadcast_to(&x, one, (const int64_t[]){most + 1}, 1, NULL) == MX_OK);
  CHECK(mx_unstack(parts, 3, &n, x, 0, NULL) == MX_ERROR_OVERFLOW);
  drop(x);
  drop(none);
  drop(one);
}

static void test_split_and_join(void) {
  mx_array a = six(), parts[3];
  size_t n;
  CHECK(mx_split(parts, 3, &n, a, L(1, -1), 1, NULL) == MX_OK);
  CHECK(n == 3);
  for (int i = 0; i < 3; i++) expect(parts[i], MX_INT32, D(2, 1), V(1 + i, 4 + i));
  CHECK(mx_split_equal(parts, 3, &n, a, 3, -1, NULL) == MX_OK);
  CHECK(n == 3);
  expect(OP(mx_concatenate(&out, parts, 3, 1, NULL)), MX_INT32, D(2, 3), V(1, 2, 3, 4, 5, 6));
  expect(OP(mx_concatenate(&out, parts, 2, 0, NULL)), MX_INT32, D(4, 1), V(1, 4, 2, 5));
  expect(OP(mx_concatenate(&out, parts, 2, MX_NO_AXIS, NULL)), MX_INT32, D(4), V(1, 4, 2, 5));
  expect(OP(mx_stack(&out, parts, 2, 0, NULL)), MX_INT32, D(2, 2, 1), V(1, 4, 2, 5));
  expect(OP(mx_stack(&out, parts, 2, -1, NULL)), MX_INT32, D(2, 1, 2), V(1, 2, 4, 5));
  for (int i = 0; i < 3; i++) drop(parts[i]);
  CHECK(mx_unstack(parts, 3, &n, a, 0, NULL) == MX_OK);
  CHECK(n == 2);
  expect(parts[0], MX_INT32, D(3), V(1, 2, 3));
  expect(parts[1], MX_INT32, D(3), V(4, 5, 6));
  mx_array f = array(MX_FLOAT32, D(3), V(1, 2, 3)), mixed[2] = {a, f};
  out = NULL;
  CHECK(mx_unstack(parts, 1, &n, a, 0, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_split_equal(parts, 3, &n, a, 2, 1, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_split_equal(parts, 3, &n, a, 0, 1, NULL) == MX_ERROR_INVALID_ARGUMENT);
  test_more_parts_than_fit();
  CHECK(mx_concatenate(&out, NULL, 0, 0, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_concatenate(&out, mixed, 2, 0, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_stack(&out, mixed, 2, 0, NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  expect(OP(mx_concatenate(&out, mixed, 2, MX_NO_AXIS, NULL)), MX_FLOAT32, D(9), V(1, 2, 3, 4, 5, 6, 1, 2, 3));
  drop(a);
  drop(f);
}

static void test_repeat(void) {
  mx_array a = array(MX_INT32, D(2, 2), V(1, 2, 3, 4));
  expect(OP(mx_repeat(&out, a, 2, 1, NULL)), MX_INT32, D(2, 4), V(1, 1, 2, 2, 3, 3, 4, 4));
  expect(OP(mx_repeat(&out, a, 0, 0, NULL)), MX_INT32, D(0, 2), EMPTY);
  expect(OP(mx_repeat(&out, a, 2, MX_NO_AXIS, NULL)), MX_INT32, D(8), V(1, 1, 2, 2, 3, 3, 4, 4));
  expect(OP(mx_tile(&out, a, L(2), NULL)), MX_INT32, D(2, 4), V(1, 2, 1, 2, 3, 4, 3, 4));
  expect(OP(mx_tile(&out, a, L(2, 1, 2), NULL)), MX_INT32, D(2, 2, 4),
         V(1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4));
  out = NULL;
  CHECK(mx_repeat(&out, a, -1, 0, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_tile(&out, a, L(-1), NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(out == NULL);
  drop(a);
}

static void test_pad(void) {
  mx_array a = array(MX_INT32, D(3), V(1, 2, 3)), m = array(MX_INT32, D(1, 2), V(1, 2)), v = number(MX_INT32, 9), e;
  expect(OP(mx_pad(&out, a, L(0), L(1), L(2), MX_PAD_CONSTANT, v, NULL)), MX_INT32, D(6), V(9, 1, 2, 3, 9, 9));
  expect(OP(mx_pad(&out, a, L(0), L(2), L(1), MX_PAD_EDGE, v, NULL)), MX_INT32, D(6), V(1, 1, 1, 2, 3, 3));
  expect(OP(mx_pad(&out, a, L(0), L(2), L(1), MX_PAD_REFLECT, v, NULL)), MX_INT32, D(6), V(3, 2, 1, 2, 3, 2));
  expect(OP(mx_pad(&out, a, L(0), L(2), L(1), MX_PAD_SYMMETRIC, v, NULL)), MX_INT32, D(6), V(2, 1, 1, 2, 3, 3));
  expect(OP(mx_pad(&out, a, L(0), L(5), L(0), MX_PAD_REFLECT, v, NULL)), MX_INT32, D(8), V(2, 1, 2, 3, 2, 1, 2, 3));
  expect(OP(mx_pad(&out, m, L(0, 1), L(1, 0), L(0, 1), MX_PAD_CONSTANT, v, NULL)), MX_INT32, D(2, 3),
         V(9, 9, 9, 1, 2, 9));
  CHECK(mx_zeros(&e, L(0), MX_INT32, NULL) == MX_OK);
  expect(OP(mx_pad(&out, e, L(0), L(1), L(1), MX_PAD_CONSTANT, v, NULL)), MX_INT32, D(2), V(9, 9));
  out = NULL;
  CHECK(mx_pad(&out, e, L(0), L(1), L(1), MX_PAD_EDGE, v, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_pad(&out, a, L(0), L(-1), L(1), MX_PAD_CONSTANT, v, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_pad(&out, a, L(0), L(1, 1), L(1), MX_PAD_CONSTANT, v, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_pad(&out, a, L(0), L(1), L(1), MX_PAD_CONSTANT, a, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_pad(&out, a, L(0), L(1), L(1), (mx_pad_mode)9, v, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(out == NULL);
  drop(a);
  drop(m);
  drop(v);
  drop(e);
}

static void test_diagonals(void) {
  mx_array a = six(), v = array(MX_INT32, D(2), V(7, 8)), c = array(MX_INT32, D(2, 2, 2), V(1, 2, 3, 4, 5, 6, 7, 8));
  expect(OP(mx_diagonal(&out, a, 1, 0, 1, NULL)), MX_INT32, D(2), V(2, 6));
  expect(OP(mx_diagonal(&out, a, -1, 0, 1, NULL)), MX_INT32, D(1), V(4));
  expect(OP(mx_diagonal(&out, a, 9, 0, 1, NULL)), MX_INT32, D(0), EMPTY);
  expect(OP(mx_diagonal(&out, c, 0, 0, -1, NULL)), MX_INT32, D(2, 2), V(1, 6, 3, 8));
  expect(OP(mx_diag(&out, a, 0, NULL)), MX_INT32, D(2), V(1, 5));
  expect(OP(mx_diag(&out, v, 0, NULL)), MX_INT32, D(2, 2), V(7, 0, 0, 8));
  expect(OP(mx_diag(&out, v, 1, NULL)), MX_INT32, D(3, 3), V(0, 7, 0, 0, 0, 8, 0, 0, 0));
  expect(OP(mx_diag(&out, v, -1, NULL)), MX_INT32, D(3, 3), V(0, 0, 0, 7, 0, 0, 0, 8, 0));
  out = NULL;
  CHECK(mx_diagonal(&out, v, 0, 0, 1, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_diagonal(&out, a, 0, 1, -1, NULL) == MX_ERROR_AXIS);
  CHECK(mx_diag(&out, c, 0, NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(a);
  drop(v);
  drop(c);
}

static void test_graph_ops(void) {
  mx_array a = six(), v = array(MX_INT32, D(2), V(7, 8)), outs[1];
  size_t n;
  CHECK(mx_depends(outs, 1, &n, &v, 1, &a, 1, NULL) == MX_OK);
  CHECK(n == 1);
  expect(outs[0], MX_INT32, D(2), V(7, 8));
  expect(OP(mx_number_of_elements(&out, a, NULL, 0, false, MX_INT32, NULL)), MX_INT32, SCALAR, V(6));
  expect(OP(mx_number_of_elements(&out, a, L(1), true, MX_FLOAT32, NULL)), MX_FLOAT32, SCALAR, V(1.0 / 3));
  expect(OP(mx_number_of_elements(&out, a, NONE, false, MX_FLOAT32, NULL)), MX_FLOAT32, SCALAR, V(1));
  drop(a);
  drop(v);
}

int main(void) {
  test_ranges();
  test_filled();
  test_matrices();
  test_grids_and_windows();
  test_dtypes();
  test_strided();
  test_reshape();
  test_order();
  test_broadcast();
  test_split_and_join();
  test_repeat();
  test_pad();
  test_diagonals();
  test_graph_ops();
  CHECK(mx_handle_count(MX_HANDLE_ARRAY) == 0);
  return 0;
}
