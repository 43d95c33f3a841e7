/* mx/random.h: keys, the thread's state, and every distribution: float32 numbers as MLX draws them for the same key. */
#include "values.h"

static mx_array key(uint64_t seed) { return OP(mx_random_key(&out, seed)); }

static void test_keys(void) {
  mx_array k = key((UINT64_C(2) << 32) + 5);
  expect(k, MX_UINT32, D(2), V(2, 5));
  k = key(7);
  expect(OP(mx_random_split(&out, k, 3, NULL)), MX_UINT32, D(3, 2),
         V(276534068, 861967409, 1905761346, 1641862660, 2900896126, 1402713516));
  expect(OP(mx_random_bits(&out, L(0), 4, k, NULL)), MX_UINT32, D(0), EMPTY);
  mx_array words, bytes;
  CHECK(mx_random_bits(&words, L(2), 4, k, NULL) == MX_OK);
  CHECK(mx_random_bits(&bytes, L(8), 1, k, NULL) == MX_OK);
  uint8_t a[8], b[8];
  CHECK(mx_array_read(a, sizeof a, words) == MX_OK);
  CHECK(mx_array_read(b, sizeof b, bytes) == MX_OK);
  CHECK(memcmp(a, b, sizeof a) == 0);
  drop(words);
  drop(bytes);
  mx_array bad = array(MX_INT32, D(2), V(1, 2)), three = array(MX_UINT32, D(3), V(1, 2, 3));
  out = NULL;
  CHECK(mx_random_bits(&out, L(2), 3, k, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_random_bits(&out, L(2), 4, bad, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_random_bits(&out, L(2), 4, three, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_random_split(&out, k, -1, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_random_set_state(bad) == MX_ERROR_DTYPE);
  CHECK(mx_random_set_state(three) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(k);
  drop(bad);
  drop(three);
}

static void draw(double *pair) {
  mx_array zero = number(MX_FLOAT32, 0), one = number(MX_FLOAT32, 1), x;
  float read[2];
  CHECK(mx_random_uniform(&x, zero, one, L(2), MX_FLOAT32, NULL, NULL) == MX_OK);
  CHECK(mx_array_read(read, sizeof read, x) == MX_OK);
  pair[0] = read[0], pair[1] = read[1];
  drop(zero);
  drop(one);
  drop(x);
}

static void test_state(void) {
  double a[2], b[2];
  mx_array state, k;
  draw(a);
  draw(b);
  CHECK(a[0] != b[0]);
  CHECK(mx_random_seed(42) == MX_OK);
  expect(OP(mx_random_get_state(&out)), MX_UINT32, D(2), V(0, 42));
  draw(a);
  CHECK(fabs(a[0] - 0.95598125) < 1e-6 && fabs(a[1] - 0.40327257) < 1e-6);
  CHECK(mx_random_get_state(&state) == MX_OK);
  draw(a);
  CHECK(fabs(a[0] - 0.53710395) < 1e-6 && fabs(a[1] - 0.10409866) < 1e-6);
  CHECK(mx_random_set_state(state) == MX_OK);
  draw(b);
  CHECK(a[0] == b[0] && a[1] == b[1]);
  drop(state);
  /* a key that has no value yet is split in the graph, to the same numbers */
  CHECK(mx_random_seed(42) == MX_OK);
  draw(a);
  mx_array both = array(MX_UINT32, D(3), V(9, 0, 42));
  CHECK(mx_slice(&k, both, L(1), L(3), L(1), NULL) == MX_OK);
  CHECK(mx_random_set_state(k) == MX_OK);
  draw(b);
  CHECK(a[0] == b[0] && a[1] == b[1]);
  draw(a);
  CHECK(fabs(a[0] - 0.53710395) < 1e-6);
  drop(both);
  drop(k);
}

static void test_uniform(void) {
  mx_array k = key(3), two = number(MX_INT32, 2), five = number(MX_FLOAT32, 5), wide = array(MX_FLOAT32, D(2), V(0, 1)),
           x;
  expect(OP(mx_random_uniform(&out, two, five, L(3), MX_FLOAT32, k, NULL)), MX_FLOAT32, D(3),
         V(2.7156131, 2.0630209, 3.8187299));
  expect(OP(mx_random_uniform(&out, two, two, L(2), MX_FLOAT16, k, NULL)), MX_FLOAT16, D(2), V(2, 2));
  CHECK(mx_random_uniform(&x, two, five, L(1000), MX_FLOAT64, k, NULL) == MX_OK);
  double read[1000], sum = 0;
  CHECK(mx_array_read(read, sizeof read, x) == MX_OK);
  for (int i = 0; i < 1000; i++) {
    CHECK(read[i] >= 2 && read[i] < 5);
    sum += read[i];
  }
  CHECK(fabs(sum / 1000 - 3.5) < 0.15);
  out = NULL;
  CHECK(mx_random_uniform(&out, wide, five, L(3), MX_FLOAT32, k, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_random_uniform(&out, two, five, L(3), MX_INT32, k, NULL) == MX_ERROR_DTYPE);
  CHECK(out == NULL);
  drop(k);
  drop(two);
  drop(five);
  drop(wide);
  drop(x);
}

static void test_normal(void) {
  mx_array k = key(3), loc = number(MX_FLOAT32, 1), scale = array(MX_FLOAT32, D(3), V(1, 2, 0)), x;
  expect(OP(mx_random_normal(&out, L(3), MX_FLOAT32, NULL, NULL, k, NULL)), MX_FLOAT32, D(3),
         V(-0.7110142, -2.0333815, 0.2695411));
  expect(OP(mx_random_normal(&out, L(3), MX_FLOAT32, loc, scale, k, NULL)), MX_FLOAT32, D(3),
         V(0.2889858, -3.0667629, 1));
  CHECK(mx_random_normal(&x, L(3), MX_COMPLEX64, NULL, NULL, k, NULL) == MX_OK);
  check_shape(x, MX_COMPLEX64, D(3));
  drop(x);
  CHECK(mx_random_normal(&x, L(2000), MX_FLOAT64, NULL, NULL, k, NULL) == MX_OK);
  double read[2000], sum = 0, squares = 0;
  CHECK(mx_array_read(read, sizeof read, x) == MX_OK);
  for (int i = 0; i < 2000; i++) sum += read[i], squares += read[i] * read[i];
  CHECK(fabs(sum / 2000) < 0.1 && fabs(squares / 2000 - 1) < 0.15);
  drop(x);
  mx_array one = number(MX_FLOAT32, 1), minus = number(MX_FLOAT32, -1);
  expect(OP(mx_random_truncated_normal(&out, minus, one, L(3), MX_FLOAT32, k, NULL)), MX_FLOAT32, D(3),
         V(-0.4635016, -0.9423898, 0.1828221));
  expect(OP(mx_random_truncated_normal(&out, one, minus, L(2), MX_FLOAT32, k, NULL)), MX_FLOAT32, D(2), V(1, 1));
  CHECK(mx_random_truncated_normal(&x, minus, scale, NULL, 0, MX_FLOAT16, k, NULL) == MX_OK);
  check_shape(x, MX_FLOAT16, D(3));
  drop(x);
  mx_array mean = array(MX_FLOAT32, D(2), V(1, 2)), cov = array(MX_FLOAT32, D(2, 2), V(2, 0.5, 0.5, 1));
  CHECK(mx_random_multivariate_normal(&x, mean, cov, L(4), MX_FLOAT32, k, NULL) == MX_OK);
  check_shape(x, MX_FLOAT32, D(4, 2));
  drop(x);
  out = NULL;
  CHECK(mx_random_normal(&out, L(2), MX_FLOAT32, loc, scale, k, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_random_normal(&out, L(2), MX_BOOL, NULL, NULL, k, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_random_multivariate_normal(&out, mean, mean, NULL, 0, MX_FLOAT32, k, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_random_multivariate_normal(&out, mean, cov, NULL, 0, MX_FLOAT64, k, NULL) == MX_ERROR_DTYPE);
  CHECK(out == NULL);
  drop(k);
  drop(loc);
  drop(scale);
  drop(one);
  drop(minus);
  drop(mean);
  drop(cov);
}

static void test_integers(void) {
  mx_array k = key(3), zero = number(MX_INT32, 0), hundred = number(MX_INT32, 100), low = number(MX_INT64, -5),
           high = number(MX_INT64, 5), x;
  expect(OP(mx_random_randint(&out, zero, hundred, L(4), MX_INT32, k, NULL)), MX_INT32, D(4), V(23, 1, 60, 33));
  expect(OP(mx_random_randint(&out, low, high, L(4), MX_INT8, k, NULL)), MX_INT8, D(4), V(-3, -5, 1, -2));
  CHECK(mx_random_randint(&x, low, high, L(100), MX_INT64, k, NULL) == MX_OK);
  int64_t read[100];
  CHECK(mx_array_read(read, sizeof read, x) == MX_OK);
  for (int i = 0; i < 100; i++) CHECK(read[i] >= -5 && read[i] < 5);
  drop(x);
  mx_array p = array(MX_FLOAT32, D(3), V(0, 1, 1)), third = number(MX_FLOAT32, 0.3);
  expect(OP(mx_random_bernoulli(&out, p, NULL, 0, k, NULL)), MX_BOOL, D(3), V(0, 1, 1));
  expect(OP(mx_random_bernoulli(&out, third, L(6), k, NULL)), MX_BOOL, D(6), V(1, 0, 0, 0, 0, 0));
  out = NULL;
  CHECK(mx_random_randint(&out, zero, hundred, L(4), MX_FLOAT32, k, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_random_bernoulli(&out, p, L(2), k, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_random_bernoulli(&out, zero, NULL, 0, k, NULL) == MX_ERROR_DTYPE);
  CHECK(out == NULL);
  drop(k);
  drop(zero);
  drop(hundred);
  drop(low);
  drop(high);
  drop(p);
  drop(third);
}

static void test_others(void) {
  mx_array k = key(3), logits = array(MX_FLOAT32, D(2, 3), V(0, 1, 2, 3, 1, 0)),
           rows = array(MX_INT32, D(3, 2), V(1, 2, 3, 4, 5, 6)), x;
  expect(OP(mx_random_gumbel(&out, L(3), MX_FLOAT32, k, NULL)), MX_FLOAT32, D(3), V(-0.3599293, -1.3514184, 0.6921999));
  expect(OP(mx_random_laplace(&out, L(3), MX_FLOAT32, 0, 1, k, NULL)), MX_FLOAT32, D(3),
         V(0.7400806, 3.1697524, -0.2388750));
  expect(OP(mx_random_categorical(&out, logits, -1, NULL, 0, k, NULL)), MX_UINT32, D(2), V(2, 0));
  expect(OP(mx_random_categorical_n(&out, logits, -1, 4, k, NULL)), MX_UINT32, D(2, 4), V(2, 0, 2, 2, 0, 0, 2, 0));
  CHECK(mx_random_categorical(&x, logits, 1, L(5, 2), k, NULL) == MX_OK);
  check_shape(x, MX_UINT32, D(5, 2));
  drop(x);
  expect(OP(mx_random_permutation_n(&out, 5, k, NULL)), MX_UINT32, D(5), V(0, 1, 4, 3, 2));
  expect(OP(mx_random_permutation(&out, rows, 0, k, NULL)), MX_INT32, D(3, 2), V(3, 4, 1, 2, 5, 6));
  out = NULL;
  CHECK(mx_random_gumbel(&out, L(3), MX_INT32, k, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_random_laplace(&out, L(3), MX_BOOL, 0, 1, k, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_random_categorical(&out, logits, -1, L(3), k, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_random_categorical_n(&out, logits, -1, -1, k, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_random_permutation_n(&out, -1, k, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_random_permutation(&out, rows, 2, k, NULL) == MX_ERROR_AXIS);
  CHECK(out == NULL);
  drop(k);
  drop(logits);
  drop(rows);
}

int main(void) {
  test_keys();
  test_state();
  test_uniform();
  test_normal();
  test_integers();
  test_others();
  CHECK(mx_handle_count(MX_HANDLE_ARRAY) == 0);
  return 0;
}
