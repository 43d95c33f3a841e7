/* Arrays from literals and back, for the tests of ops.
 *
 *   mx_array a = array(MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6));
 *   expect(OP(mx_exp(&out, a, NULL)), MX_FLOAT32, D(2, 3), V(...));   closes what it looks at
 */
#ifndef VALUES_H
#define VALUES_H
#include <math.h>
#include <mx/mx.h>
#include <string.h>

#include "check.h"

#define COUNT(type, ...) (sizeof((type[]){__VA_ARGS__}) / sizeof(type))
#define D(...) \
  COUNT(int64_t, __VA_ARGS__), (const int64_t[]) { __VA_ARGS__ } /* a shape */
#define V(...) \
  COUNT(double, __VA_ARGS__), (const double[]) { __VA_ARGS__ }             /* elements, row-major */
#define L(...) (const int64_t[]){__VA_ARGS__}, COUNT(int64_t, __VA_ARGS__) /* a list argument */
#define NONE (const int64_t[]){0}, 0                                       /* an empty list, which is not NULL */
#define SCALAR 0, NULL                                                     /* the shape of a 0-d array */
#define EMPTY 0, NULL                                                      /* no elements */

static mx_array out __attribute__((unused));
#define OP(call) (CHECK((call) == MX_OK), out)

static inline void drop(mx_array x) { CHECK(mx_array_free(x) == MX_OK); }

static inline mx_array array(mx_dtype dtype, size_t n_dims, const int64_t *dims, size_t n, const double *values) {
  mx_array wide, x;
  CHECK(mx_array_new(&wide, values, n * sizeof(double), dims, n_dims, MX_FLOAT64) == MX_OK);
  CHECK(mx_astype(&x, wide, dtype, NULL) == MX_OK);
  drop(wide);
  return x;
}

static inline mx_array number(mx_dtype dtype, double value) {
  mx_array x;
  CHECK(mx_array_scalar(&x, (mx_scalar){MX_SCALAR_FLOAT, 0, value, 0}, dtype) == MX_OK);
  return x;
}

static inline mx_scalar integer(int64_t i) { return (mx_scalar){MX_SCALAR_INT, i, 0, 0}; }
static inline mx_scalar real(double re) { return (mx_scalar){MX_SCALAR_FLOAT, 0, re, 0}; }

static inline void check_shape(mx_array x, mx_dtype dtype, size_t n_dims, const int64_t *dims) {
  int64_t shape[MX_MAX_DIMS];
  size_t n;
  mx_dtype d;
  CHECK(mx_array_shape(shape, MX_MAX_DIMS, &n, x) == MX_OK);
  CHECK(n == n_dims);
  for (size_t i = 0; i < n; i++) CHECK(shape[i] == dims[i]);
  CHECK(mx_array_dtype(&d, x) == MX_OK);
  CHECK(d == dtype);
}

/* Of a square matrix of ones, float64: multiplied by itself and divided by its size, `times` over; one is its value. */
static inline mx_array power_of_ones(int64_t side, int times) {
  mx_array x, y, n;
  CHECK(mx_ones(&x, L(side, side), MX_FLOAT64, NULL) == MX_OK);
  CHECK(mx_array_scalar(&n, real(1.0 / (double)side), MX_FLOAT64) == MX_OK);
  for (int i = 0; i < times; i++) {
    CHECK(mx_matmul(&y, x, x, NULL) == MX_OK);
    drop(x);
    CHECK(mx_multiply(&x, y, n, NULL) == MX_OK);
    drop(y);
  }
  drop(n);
  return x;
}

/* Equal, or close within 1e-5 of the larger of 1 and the value. */
static inline void check_values(mx_array x, size_t n, const double *values) {
  mx_array wide;
  static double read[4096];
  size_t size;
  CHECK(mx_array_size(&size, x) == MX_OK);
  CHECK(size == n && n <= sizeof read / sizeof *read);
  CHECK(mx_astype(&wide, x, MX_FLOAT64, NULL) == MX_OK);
  CHECK(mx_array_read(read, n * sizeof(double), wide) == MX_OK);
  for (size_t i = 0; i < n; i++) {
    const bool same = read[i] == values[i] || (isnan(read[i]) && isnan(values[i])) ||
                      fabs(read[i] - values[i]) <= 1e-5 * fmax(1, fabs(values[i]));
    if (!same) fprintf(stderr, "element %zu is %.9g, but should be %.9g\n", i, read[i], values[i]);
    CHECK(same);
  }
  drop(wide);
}

static inline void expect(mx_array x, mx_dtype dtype, size_t n_dims, const int64_t *dims, size_t n,
                          const double *values) {
  check_shape(x, dtype, n_dims, dims);
  check_values(x, n, values);
  drop(x);
}

static inline mx_array complex_array(size_t n_dims, const int64_t *dims, size_t n, const double *parts) {
  float pairs[64];
  mx_array x;
  CHECK(n <= 64);
  for (size_t i = 0; i < n; i++) pairs[i] = (float)parts[i];
  CHECK(mx_array_new(&x, pairs, n * sizeof(float), dims, n_dims, MX_COMPLEX64) == MX_OK);
  return x;
}

/* `parts` are real, imaginary, real, ... */
static inline void expect_complex(mx_array x, size_t n_dims, const int64_t *dims, size_t n, const double *parts) {
  double re[64], im[64];
  mx_array part;
  CHECK(n <= 128);
  for (size_t i = 0; i < n / 2; i++) re[i] = parts[2 * i], im[i] = parts[2 * i + 1];
  check_shape(x, MX_COMPLEX64, n_dims, dims);
  CHECK(mx_real(&part, x, NULL) == MX_OK);
  check_values(part, n / 2, re);
  drop(part);
  CHECK(mx_imag(&part, x, NULL) == MX_OK);
  check_values(part, n / 2, im);
  drop(part);
  drop(x);
}

#endif
