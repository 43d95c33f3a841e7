/* What the C path costs, without any host language: prints "NAME<tab>MIN<tab>MEDIAN" in seconds per call.
 * Built and run by native.py; alone: cc -O2 c_overhead.c $(pkg-config --cflags --libs mx) */
#define _POSIX_C_SOURCE 199309L
#include <mx/mx.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES = 200, STEPS_OF_50 = 16 };
static const double SAMPLE_SECONDS = 50e-6;

static mx_array one, other;
static mx_function affine;
static int variant;

static void check(mx_status status) {
  if (status == MX_OK) return;
  fprintf(stderr, "%s\n", mx_error_message());
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static mx_array scalar(double value) {
  mx_array out;
  check(mx_array_scalar_weak(&out, (mx_scalar){.kind = MX_SCALAR_FLOAT, .re = value}, MX_FLOAT32));
  return out;
}

/* ---- traced functions */

static mx_status trace_affine(mx_array *outs, size_t n_outs, const mx_array *ins, size_t n_ins, void *payload) {
  (void)n_outs, (void)n_ins, (void)payload;
  mx_array two = scalar(2), unit = scalar(1), product;
  check(mx_multiply(&product, ins[0], two, NULL));
  check(mx_add(&outs[0], product, unit, NULL));
  mx_array_free(two), mx_array_free(unit), mx_array_free(product);
  return MX_OK;
}

typedef mx_status (*binary)(mx_array *, mx_array, mx_array, mx_stream);

/* x = op(x, y), and closes the old x and, if asked to, y. */
static void apply(mx_array *x, binary op, mx_array y, bool closes) {
  mx_array result;
  check(op(&result, *x, y, NULL));
  mx_array_free(*x);
  if (closes) mx_array_free(y);
  *x = result;
}

/* 51 ops; every variant has constants of its own. */
static mx_status trace_50(mx_array *outs, size_t n_outs, const mx_array *ins, size_t n_ins, void *payload) {
  (void)n_outs, (void)n_ins, (void)payload;
  const double step = 0.01 + variant * 1e-6;
  mx_array t, e;
  check(mx_array_dup(&t, ins[0]));
  for (int i = 0; i < STEPS_OF_50; i++) {
    apply(&t, mx_multiply, scalar(1 + step * i), true);
    apply(&t, mx_add, ins[0], false);
    apply(&t, mx_maximum, scalar(-0.1 * i), true);
  }
  apply(&t, mx_multiply, scalar(-0.1), true);
  check(mx_exp(&e, t, NULL));
  check(mx_add(&outs[0], e, ins[0], NULL));
  mx_array_free(t), mx_array_free(e);
  return MX_OK;
}

/* ---- what is measured */

static void compiled_call(void) {
  mx_array out;
  size_t n;
  check(mx_compiled_call(&out, 1, &n, affine, &one, 1));
  check(mx_eval(&out, 1));
  mx_array_free(out);
}

static void compiled_call_lazy(void) {
  mx_array out;
  size_t n;
  check(mx_compiled_call(&out, 1, &n, affine, &one, 1));
  mx_array_free(out);
}

static void add_evaluated(void) {
  mx_array out;
  check(mx_add(&out, one, other, NULL));
  check(mx_eval(&out, 1));
  mx_array_free(out);
}

static void add_lazy(void) {
  mx_array out;
  check(mx_add(&out, one, other, NULL));
  mx_array_free(out);
}

static void dup_free(void) {
  mx_array out;
  check(mx_array_dup(&out, one));
  mx_array_free(out);
}

static void get_shape(void) {
  int64_t dims[MX_MAX_DIMS];
  size_t n;
  check(mx_array_shape(dims, MX_MAX_DIMS, &n, one));
}

static void new_free(void) {
  const float value = 1;
  const int64_t dims[] = {1};
  mx_array out;
  check(mx_array_new(&out, &value, sizeof value, dims, 1, MX_FLOAT32));
  mx_array_free(out);
}

static void first_call(void) {
  mx_function f;
  mx_array out;
  size_t n;
  variant++;
  check(mx_compile(&f, "fifty", 1, trace_50, NULL, NULL, MX_FUNCTION_DEFAULT));
  check(mx_compiled_call(&out, 1, &n, f, &one, 1));
  check(mx_eval(&out, 1));
  mx_array_free(out);
  mx_function_free(f);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void report(const char *name, void (*work)(void)) {
  static double times[SAMPLES];
  double start = now();
  for (int i = 0; i < 100; i++) work();
  int n_calls = (int)(SAMPLE_SECONDS / ((now() - start) / 100)) + 1;
  for (int i = 0; i < SAMPLES; i++) {
    start = now();
    for (int k = 0; k < n_calls; k++) work();
    times[i] = (now() - start) / n_calls;
  }
  qsort(times, SAMPLES, sizeof *times, by_value);
  printf("%s\t%.6g\t%.6g\n", name, times[0], times[SAMPLES / 2]);
}

/* The results, before anything is timed. */
static void check_results(void) {
  mx_array out;
  mx_scalar value;
  size_t n;
  check(mx_compiled_call(&out, 1, &n, affine, &one, 1));
  check(mx_array_item(&value, out));
  mx_array_free(out);
  if (value.re != 2 * 1.5 + 1) exit(1);
  check(mx_add(&out, one, other, NULL));
  check(mx_array_item(&value, out));
  mx_array_free(out);
  if (value.re != 1.5 + 2.5) exit(1);
}

int main(void) {
  const float values[] = {1.5f, 2.5f};
  const int64_t dims[] = {1};
  check(mx_array_new(&one, &values[0], sizeof(float), dims, 1, MX_FLOAT32));
  check(mx_array_new(&other, &values[1], sizeof(float), dims, 1, MX_FLOAT32));
  check(mx_compile(&affine, "affine", 1, trace_affine, NULL, NULL, MX_FUNCTION_DEFAULT));
  check_results();
  report("compiled call, 1 element", compiled_call);
  report("compiled call, not evaluated", compiled_call_lazy);
  report("a + b, 1 element, evaluated", add_evaluated);
  report("a + b, not evaluated", add_lazy);
  report("new array + free", new_free);
  report("dup + free", dup_free);
  report("shape", get_shape);
  report("first call of 51 ops", first_call);
  mx_function_free(affine), mx_array_free(one), mx_array_free(other);
  return 0;
}
