/* mx/linalg.h: factorisations by what their factors multiply to, the rest by values. */
#include "values.h"

static const double symmetric[] = {4, 1, 2, 1, 3, 0, 2, 0, 5};

static mx_array matrix(void) { return array(MX_FLOAT32, D(3, 3), 9, symmetric); }
static mx_array rows(void) { return array(MX_FLOAT32, D(3, 2), V(1, -2, 3, 4, 0, 1)); }

/* Closes a and b. */
static mx_array product(mx_array a, mx_array b) {
  mx_array c;
  CHECK(mx_matmul(&c, a, b, NULL) == MX_OK);
  drop(a);
  drop(b);
  return c;
}

static void test_norm(void) {
  static const struct {
    mx_norm_kind kind;
    double ord, want;
  } kinds[] = {{MX_NORM_DEFAULT, 0, 5.5677643}, {MX_NORM_ORD, 1, 7},          {MX_NORM_ORD, -1, 4},
               {MX_NORM_ORD, 2, 5.1877465},     {MX_NORM_ORD, -2, 2.0217040}, {MX_NORM_ORD, INFINITY, 7},
               {MX_NORM_ORD, -INFINITY, 1},     {MX_NORM_FRO, 0, 5.5677643},  {MX_NORM_NUC, 0, 7.2094507}};
  mx_array a = rows(), cube = array(MX_FLOAT32, D(1, 1, 2), V(3, 4)), c = complex_array(D(1), V(3, 4));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    expect(OP(mx_linalg_norm(&out, a, kinds[i].kind, kinds[i].ord, NULL, 0, false, NULL)), MX_FLOAT32, SCALAR,
           V(kinds[i].want));
    expect(OP(mx_linalg_norm(&out, a, kinds[i].kind, kinds[i].ord, L(0, 1), true, NULL)), MX_FLOAT32, D(1, 1),
           V(kinds[i].want));
  }
  expect(OP(mx_linalg_norm(&out, a, MX_NORM_ORD, 3, L(1), false, NULL)), MX_FLOAT32, D(3), V(2.0800838, 4.4979414, 1));
  expect(OP(mx_linalg_norm(&out, a, MX_NORM_ORD, 0, L(0), false, NULL)), MX_FLOAT32, D(2), V(2, 3));
  expect(OP(mx_linalg_norm(&out, a, MX_NORM_ORD, -1, L(1), false, NULL)), MX_FLOAT32, D(3), V(0.6666667, 1.7142857, 0));
  expect(OP(mx_linalg_norm(&out, a, MX_NORM_ORD, INFINITY, L(0), true, NULL)), MX_FLOAT32, D(1, 2), V(3, 4));
  expect(OP(mx_linalg_norm(&out, cube, MX_NORM_DEFAULT, 0, NULL, 0, false, NULL)), MX_FLOAT32, SCALAR, V(5));
  expect(OP(mx_linalg_norm(&out, c, MX_NORM_DEFAULT, 0, NULL, 0, false, NULL)), MX_FLOAT32, SCALAR, V(5));
  out = NULL;
  CHECK(mx_linalg_norm(&out, cube, MX_NORM_ORD, 1, NULL, 0, false, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_linalg_norm(&out, a, MX_NORM_ORD, 3, L(0, 1), false, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_linalg_norm(&out, a, MX_NORM_NUC, 0, L(0), false, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_linalg_norm(&out, a, (mx_norm_kind)9, 0, L(0), false, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_linalg_norm(&out, a, MX_NORM_DEFAULT, 0, L(0, 0), false, NULL) == MX_ERROR_AXIS);
  CHECK(out == NULL);
  drop(a);
  drop(cube);
  drop(c);
}

static void test_svd_qr(void) {
  mx_array a = rows(), u, s, vt, q, r, scaled, left;
  CHECK(mx_linalg_svd(&u, &s, &vt, a, NULL) == MX_OK);
  check_shape(u, MX_FLOAT32, D(3, 3));
  CHECK(mx_slice(&left, u, L(0, 0), L(3, 2), L(1, 1), NULL) == MX_OK);
  CHECK(mx_multiply(&scaled, left, s, NULL) == MX_OK);
  expect(product(scaled, vt), MX_FLOAT32, D(3, 2), V(1, -2, 3, 4, 0, 1));
  expect(s, MX_FLOAT32, D(2), V(5.1877465, 2.0217040));
  expect(OP(mx_linalg_svdvals(&out, a, NULL)), MX_FLOAT32, D(2), V(5.1877465, 2.0217040));
  drop(u);
  drop(left);
  CHECK(mx_linalg_qr(&q, &r, a, NULL) == MX_OK);
  check_shape(q, MX_FLOAT32, D(3, 2));
  expect(product(q, r), MX_FLOAT32, D(3, 2), V(1, -2, 3, 4, 0, 1));
  drop(a);
}

static void test_lu(void) {
  mx_array a = array(MX_FLOAT32, D(3, 3), V(0, 1, 2, 3, 4, 5, 6, 7, 9)), p, l, u, lu, pivots, b;
  CHECK(mx_linalg_lu(&p, &l, &u, a, NULL) == MX_OK);
  b = product(l, u);
  expect(OP(mx_take(&out, b, p, 0, NULL)), MX_FLOAT32, D(3, 3), V(0, 1, 2, 3, 4, 5, 6, 7, 9));
  expect(p, MX_UINT32, D(3), V(1, 2, 0));
  drop(b);
  CHECK(mx_linalg_lu_factor(&lu, &pivots, a, NULL) == MX_OK);
  expect(lu, MX_FLOAT32, D(3, 3), V(6, 7, 9, 0, 1, 2, 0.5, 0.5, -0.5));
  expect(pivots, MX_UINT32, D(3), V(2, 2, 2));
  expect(OP(mx_linalg_det(&out, a, NULL)), MX_FLOAT32, SCALAR, V(-3));
  mx_array sign, logabs, wide = array(MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6)), tall = rows();
  CHECK(mx_linalg_slogdet(&sign, &logabs, a, NULL) == MX_OK);
  expect(sign, MX_FLOAT32, SCALAR, V(-1));
  expect(logabs, MX_FLOAT32, SCALAR, V(1.0986123));
  CHECK(mx_linalg_lu(&p, &l, &u, wide, NULL) == MX_OK);
  check_shape(l, MX_FLOAT32, D(2, 2));
  b = product(l, u);
  expect(OP(mx_take(&out, b, p, 0, NULL)), MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6));
  drop(b);
  drop(p);
  CHECK(mx_linalg_lu(&p, &l, &u, tall, NULL) == MX_OK);
  b = product(l, u);
  expect(OP(mx_take(&out, b, p, 0, NULL)), MX_FLOAT32, D(3, 2), V(1, -2, 3, 4, 0, 1));
  drop(b);
  drop(p);
  drop(a);
  drop(wide);
  drop(tall);
}

static void test_inverses(void) {
  static const double inverse[] = {0.3488372, -0.1162791, -0.1395349, -0.1162791, 0.3720930,
                                   0.0465116, -0.1395349, 0.0465116,  0.2558140};
  mx_array a = matrix(), l, t = array(MX_FLOAT64, D(2, 2), V(2, 9, 1, 4)), b = rows();
  CHECK(mx_linalg_cholesky(&l, a, false, NULL) == MX_OK);
  check_values(l, 9, (const double[]){2, 0, 0, 0.5, 1.6583124, 0, 1, -0.3015113, 1.9771417});
  expect(OP(mx_linalg_cholesky(&out, a, true, NULL)), MX_FLOAT32, D(3, 3),
         V(2, 0.5, 1, 0, 1.6583124, -0.3015113, 0, 0, 1.9771417));
  expect(OP(mx_linalg_cholesky_inv(&out, l, false, NULL)), MX_FLOAT32, D(3, 3), 9, inverse);
  expect(OP(mx_linalg_inv(&out, a, NULL)), MX_FLOAT32, D(3, 3), 9, inverse);
  expect(OP(mx_linalg_pinv(&out, a, NULL)), MX_FLOAT32, D(3, 3), 9, inverse);
  expect(OP(mx_linalg_tri_inv(&out, t, false, NULL)), MX_FLOAT64, D(2, 2), V(0.5, 0, -0.125, 0.25));
  expect(OP(mx_linalg_tri_inv(&out, t, true, NULL)), MX_FLOAT64, D(2, 2), V(0.5, -1.125, 0, 0.25));
  mx_array plus;
  CHECK(mx_linalg_pinv(&plus, b, NULL) == MX_OK);
  expect(product(plus, b), MX_FLOAT32, D(2, 2), V(1, 0, 0, 1));
  b = array(MX_FLOAT32, D(3), V(7, 4, 7));
  expect(OP(mx_linalg_solve(&out, a, b, NULL)), MX_FLOAT32, D(3), V(1, 1, 1));
  mx_array batch = array(MX_FLOAT32, D(2, 3, 1), V(7, 4, 7, 4, 1, 2));
  expect(OP(mx_linalg_solve(&out, a, batch, NULL)), MX_FLOAT32, D(2, 3, 1), V(1, 1, 1, 1, 0, 0));
  mx_array y = array(MX_FLOAT64, D(2), V(2, 5));
  expect(OP(mx_linalg_solve_triangular(&out, t, y, false, NULL)), MX_FLOAT64, D(2), V(1, 1));
  expect(OP(mx_linalg_solve_triangular(&out, t, y, true, NULL)), MX_FLOAT64, D(2), V(-4.625, 1.25));
  drop(a);
  drop(l);
  drop(t);
  drop(b);
  drop(batch);
  drop(y);
}

static void test_eigen(void) {
  mx_array a = matrix(), w, v, scaled, t, rotation = array(MX_FLOAT32, D(2, 2), V(0, -1, 1, 0));
  CHECK(mx_linalg_eigh(&w, &v, a, false, NULL) == MX_OK);
  CHECK(mx_multiply(&scaled, v, w, NULL) == MX_OK);
  CHECK(mx_transpose(&t, v, NULL, 0, NULL) == MX_OK);
  expect(product(scaled, t), MX_FLOAT32, D(3, 3), 9, symmetric);
  expect(w, MX_FLOAT32, D(3), V(1.8549023, 3.4760237, 6.6690740));
  drop(v);
  expect(OP(mx_linalg_eigvalsh(&out, a, true, NULL)), MX_FLOAT32, D(3), V(1.8549023, 3.4760237, 6.6690740));
  CHECK(mx_linalg_eig(&w, &v, rotation, NULL) == MX_OK);
  check_shape(w, MX_COMPLEX64, D(2));
  mx_array moved, turned;
  CHECK(mx_matmul(&moved, rotation, v, NULL) == MX_OK);
  CHECK(mx_multiply(&turned, v, w, NULL) == MX_OK);
  expect(OP(mx_allclose(&out, moved, turned, 1e-4, 1e-5, false, NULL)), MX_BOOL, SCALAR, V(1));
  drop(moved);
  drop(turned);
  drop(w);
  drop(v);
  CHECK(mx_linalg_eigvals(&w, rotation, NULL) == MX_OK);
  mx_array size;
  CHECK(mx_abs(&size, w, NULL) == MX_OK);
  expect(size, MX_FLOAT32, D(2), V(1, 1));
  drop(w);
  drop(a);
  drop(rotation);
}

static void test_cross(void) {
  mx_array a = array(MX_INT32, D(2, 3), V(1, 0, 0, 0, 1, 0)), b = array(MX_INT32, D(3), V(0, 1, 0)),
           p = array(MX_FLOAT32, D(2), V(1, 2)), q = array(MX_FLOAT32, D(2), V(3, 4));
  expect(OP(mx_linalg_cross(&out, a, b, -1, NULL)), MX_INT32, D(2, 3), V(0, 0, 1, 0, 0, 0));
  expect(OP(mx_linalg_cross(&out, p, q, 0, NULL)), MX_FLOAT32, D(3), V(0, 0, -2));
  expect(OP(mx_linalg_cross(&out, p, b, 0, NULL)), MX_FLOAT32, D(3), V(0, 0, 1));
  out = NULL;
  mx_array four = array(MX_FLOAT32, D(4), V(1, 2, 3, 4));
  CHECK(mx_linalg_cross(&out, four, p, 0, NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(a);
  drop(b);
  drop(p);
  drop(q);
  drop(four);
}

static void test_errors(void) {
  mx_array i = array(MX_INT32, D(2, 2), V(1, 2, 3, 4)), wide = rows(), v = array(MX_FLOAT32, D(2), V(1, 2)),
           a = matrix(), other;
  out = NULL;
  CHECK(mx_linalg_inv(&out, i, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_linalg_inv(&out, wide, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_linalg_cholesky(&out, v, false, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_linalg_solve(&out, a, v, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_linalg_pinv(&out, v, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_linalg_det(&out, wide, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_linalg_qr(&out, &other, i, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_linalg_eig(&out, &other, wide, NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(i);
  drop(wide);
  drop(v);
  drop(a);
}

int main(void) {
  test_norm();
  test_svd_qr();
  test_lu();
  test_inverses();
  test_eigen();
  test_cross();
  test_errors();
  CHECK(mx_handle_count(MX_HANDLE_ARRAY) == 0);
  return 0;
}
