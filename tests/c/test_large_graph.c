/* Graphs of a million nodes are built, evaluated, traced and freed without recursion: here on a stack of 256 KiB. */
#include <pthread.h>

#include "values.h"

enum { N = 1000000 };

/* A chain of N nodes on x. */
static mx_array chain(mx_array x, int n) {
  mx_array y = NULL, next;
  CHECK(mx_negative(&y, x, NULL) == MX_OK);
  for (int i = 1; i < n; i++) {
    CHECK(mx_negative(&next, y, NULL) == MX_OK);
    drop(y);
    y = next;
  }
  return y;
}

static void test_free_without_evaluating(mx_array x) { drop(chain(x, N)); }

static void test_evaluate(mx_array x) { expect(chain(x, N), MX_FLOAT32, D(2), V(1, -2)); }

/* Each node has the one before as both inputs: a walk that visits paths instead of nodes would never end. */
static void test_evaluate_shared(mx_array x) {
  mx_array half, y, sum;
  CHECK(mx_array_scalar(&half, real(0.5), MX_FLOAT32) == MX_OK);
  CHECK(mx_array_dup(&y, x) == MX_OK);
  for (int i = 0; i < N / 20; i++) {
    CHECK(mx_add(&sum, y, y, NULL) == MX_OK);
    drop(y);
    CHECK(mx_multiply(&y, sum, half, NULL) == MX_OK);
    drop(sum);
  }
  drop(half);
  expect(y, MX_FLOAT32, D(2), V(1, -2));
}

static void test_wide(mx_array x) {
  enum { WIDTH = 50000 };
  static mx_array ys[WIDTH];
  mx_array all, total;
  for (int i = 0; i < WIDTH; i++) CHECK(mx_negative(&ys[i], x, NULL) == MX_OK);
  CHECK(mx_concatenate(&all, ys, WIDTH, 0, NULL) == MX_OK);
  for (int i = WIDTH; i-- > 0;) drop(ys[i]);
  CHECK(mx_sum(&total, all, NULL, 0, false, NULL) == MX_OK);
  drop(all);
  expect(total, MX_FLOAT32, SCALAR, V(WIDTH));
}

static void test_compile(mx_array x) {
  mx_function f = NULL;
  mx_call c = NULL;
  mx_call_state state;
  mx_array p = NULL, y = NULL;
  size_t n;
  CHECK(mx_function_new(&f, "long", 0) == MX_OK);
  CHECK(mx_call_begin(&c, &state, f, &x, 1, NULL, 0) == MX_OK);
  CHECK(mx_call_inputs(&p, 1, &n, c) == MX_OK);
  y = chain(p, N / 10);
  CHECK(mx_call_commit(c, &y, 1, 0) == MX_OK);
  drop(y);
  drop(p);
  CHECK(mx_call_outputs(&y, 1, &n, c) == MX_OK);
  mx_call_end(c);
  expect(y, MX_FLOAT32, D(2), V(1, -2));
  CHECK(mx_function_free(f) == MX_OK);
}

static void *run(void *unused) {
  (void)unused;
  mx_array x = array(MX_FLOAT32, D(2), V(1, -2));
  test_free_without_evaluating(x);
  test_evaluate(x);
  test_evaluate_shared(x);
  test_wide(x);
  test_compile(x);
  drop(x);
  return NULL;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 256 << 10) == 0);
  CHECK(pthread_create(&thread, &attributes, run, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(mx_handle_count(MX_HANDLE_ANY) == 0);
  return 0;
}
