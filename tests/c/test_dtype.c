/* mx/dtype.h: names, sizes, promotion, and how scalars get a dtype. */
#include "values.h"

static void test_table(void) {
  static const char *names[] = {"bool",  "uint8",   "uint16",  "uint32",  "uint64",   "int8",      "int16",     "int32",
                                "int64", "float16", "float32", "float64", "bfloat16", "complex64", "complex128"};
  static const size_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16};
  for (int d = 0; d <= MX_COMPLEX128; d++) {
    CHECK(strcmp(mx_dtype_name((mx_dtype)d), names[d]) == 0);
    CHECK(mx_dtype_size((mx_dtype)d) == sizes[d]);
  }
  CHECK(mx_dtype_size((mx_dtype)15) == 0);
  CHECK(strcmp(mx_dtype_name((mx_dtype)15), "invalid") == 0);
}

static void test_promotion(void) {
  static const struct {
    mx_dtype a, b, both;
  } rows[] = {
      {MX_BOOL, MX_BOOL, MX_BOOL},
      {MX_BOOL, MX_INT8, MX_INT8},
      {MX_UINT8, MX_INT8, MX_INT16},
      {MX_UINT8, MX_INT16, MX_INT16},
      {MX_UINT16, MX_INT8, MX_INT32},
      {MX_UINT32, MX_INT32, MX_INT64},
      {MX_UINT64, MX_INT8, MX_FLOAT32},
      {MX_UINT64, MX_INT64, MX_FLOAT32},
      {MX_UINT64, MX_UINT8, MX_UINT64},
      {MX_INT64, MX_FLOAT16, MX_FLOAT16},
      {MX_FLOAT16, MX_BFLOAT16, MX_FLOAT32},
      {MX_FLOAT16, MX_FLOAT32, MX_FLOAT32},
      {MX_FLOAT64, MX_FLOAT32, MX_FLOAT64},
      {MX_FLOAT64, MX_COMPLEX64, MX_COMPLEX64},
      {MX_BOOL, MX_FLOAT16, MX_FLOAT16},
      {MX_COMPLEX128, MX_COMPLEX64, MX_COMPLEX128},
      {MX_COMPLEX128, MX_FLOAT64, MX_COMPLEX128},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    mx_dtype d;
    CHECK(mx_dtype_promote(&d, rows[i].a, rows[i].b) == MX_OK);
    CHECK(d == rows[i].both);
    CHECK(mx_dtype_promote(&d, rows[i].b, rows[i].a) == MX_OK);
    CHECK(d == rows[i].both);
  }
  mx_dtype d = MX_BOOL;
  CHECK(mx_dtype_promote(&d, (mx_dtype)99, MX_BOOL) == MX_ERROR_DTYPE);
  CHECK(d == MX_BOOL);
}

static void check_weak(mx_scalar value, mx_dtype beside, mx_dtype want) {
  mx_array x;
  mx_dtype d;
  CHECK(mx_array_scalar_weak(&x, value, beside) == MX_OK);
  CHECK(mx_array_dtype(&d, x) == MX_OK);
  CHECK(d == want);
  drop(x);
}

static void test_weak_scalars(void) {
  const mx_scalar yes = {MX_SCALAR_BOOL, 1, 0, 0}, i = {MX_SCALAR_COMPLEX, 0, 0, 1};
  check_weak(yes, MX_INT8, MX_INT8);
  check_weak(yes, MX_BOOL, MX_BOOL);
  check_weak(integer(3), MX_BOOL, MX_INT32);
  check_weak(integer(3), MX_UINT8, MX_UINT8);
  check_weak(integer(3), MX_FLOAT16, MX_FLOAT16);
  check_weak(real(0.5), MX_INT8, MX_FLOAT32);
  check_weak(real(0.5), MX_BFLOAT16, MX_BFLOAT16);
  check_weak(real(0.5), MX_COMPLEX64, MX_COMPLEX64);
  check_weak(i, MX_FLOAT32, MX_COMPLEX64);
  check_weak(i, MX_FLOAT64, MX_COMPLEX64);
  check_weak(i, MX_COMPLEX128, MX_COMPLEX128);
  check_weak(real(0.5), MX_COMPLEX128, MX_COMPLEX128);
  mx_array x = NULL;
  CHECK(mx_array_scalar_weak(&x, integer(300), MX_UINT8) == MX_ERROR_OVERFLOW);
  CHECK(mx_array_scalar_weak(&x, integer(-1), MX_UINT64) == MX_ERROR_OVERFLOW);
  CHECK(mx_array_scalar(&x, (mx_scalar){MX_SCALAR_UINT, -1, 0, 0}, MX_INT64) == MX_ERROR_OVERFLOW);
  CHECK(mx_array_scalar(&x, real(1e10), MX_INT32) == MX_ERROR_OVERFLOW);
  CHECK(mx_array_scalar(&x, real(NAN), MX_INT32) == MX_ERROR_OVERFLOW);
  CHECK(x == NULL);
}

/* Rounding to the short formats happens once and to even. */
static void test_rounding(void) {
  static const struct {
    double value;
    uint16_t half, bfloat;
  } rows[] = {{1.0, 0x3c00, 0x3f80},           {-2.0, 0xc000, 0xc000},      {65504.0, 0x7bff, 0x4780},
              {65519.9, 0x7bff, 0x4780},       {65520.0, 0x7c00, 0x4780},   {0x1p-24, 0x0001, 0x3380},
              {0x1p-25, 0x0000, 0x3300},       {0x1.8p-25, 0x0001, 0x3340}, {0x1.002p0, 0x3c00, 0x3f80},
              {0x1.0020001p0, 0x3c01, 0x3f80}, {0x1.01p0, 0x3c04, 0x3f80},  {0x1.010001p0, 0x3c04, 0x3f81},
              {0x1.ffp127, 0x7c00, 0x7f80},    {INFINITY, 0x7c00, 0x7f80},  {0x1p-133, 0x0000, 0x0001}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint16_t bits;
    mx_array x;
    CHECK(mx_array_scalar(&x, real(rows[i].value), MX_FLOAT16) == MX_OK);
    CHECK(mx_array_read(&bits, sizeof bits, x) == MX_OK);
    CHECK(bits == rows[i].half);
    drop(x);
    CHECK(mx_array_scalar(&x, real(rows[i].value), MX_BFLOAT16) == MX_OK);
    CHECK(mx_array_read(&bits, sizeof bits, x) == MX_OK);
    CHECK(bits == rows[i].bfloat);
    drop(x);
  }
}

static void test_items(void) {
  for (int d = 0; d <= MX_COMPLEX128; d++) {
    mx_array x;
    mx_scalar value;
    CHECK(mx_array_scalar(&x, integer(1), (mx_dtype)d) == MX_OK);
    CHECK(mx_array_item(&value, x) == MX_OK);
    CHECK(value.kind < MX_SCALAR_FLOAT ? value.i == 1 : value.re == 1);
    drop(x);
  }
}

/* Both parts keep the digits of a double through loads, stores, arithmetic, reductions and casts. */
static void test_complex128(void) {
  const double numbers[4][2] = {{0.1, -0.2}, {0.3, 0.4}, {-0.5, 1e300}, {0, 1e-300}};
  const int64_t dims[] = {4};
  mx_array x, y, z;
  mx_scalar value;
  mx_dtype d;
  double back[4][2];
  CHECK(mx_array_new(&x, numbers, sizeof numbers, dims, 1, MX_COMPLEX128) == MX_OK);
  CHECK(mx_negative(&y, x, NULL) == MX_OK);
  CHECK(mx_array_read(back, sizeof back, y) == MX_OK);
  for (int i = 0; i < 4; i++) CHECK(back[i][0] == -numbers[i][0] && back[i][1] == -numbers[i][1]);
  CHECK(mx_add(&z, x, y, NULL) == MX_OK);
  drop(y);
  CHECK(mx_sum(&y, z, NULL, 0, false, NULL) == MX_OK);
  drop(z);
  CHECK(mx_array_item(&value, y) == MX_OK);
  CHECK(value.kind == MX_SCALAR_COMPLEX && value.re == 0 && value.im == 0);
  drop(y);
  CHECK(mx_abs(&y, x, NULL) == MX_OK);
  CHECK(mx_array_dtype(&d, y) == MX_OK);
  CHECK(d == MX_FLOAT64);
  drop(y);
  CHECK(mx_astype(&y, x, MX_COMPLEX64, NULL) == MX_OK);
  CHECK(mx_astype(&z, y, MX_COMPLEX128, NULL) == MX_OK);
  drop(y);
  CHECK(mx_array_read(back, sizeof back, z) == MX_OK);
  for (int i = 0; i < 4; i++) CHECK(back[i][0] == (float)numbers[i][0] && back[i][1] == (float)numbers[i][1]);
  drop(z);
  drop(x);
}

int main(void) {
  test_table();
  test_promotion();
  test_weak_scalars();
  test_rounding();
  test_items();
  test_complex128();
  CHECK(mx_handle_count(MX_HANDLE_ARRAY) == 0);
  return 0;
}
