/* mx/function.h: traces and hits, keys, aliases, what a trace freezes, bounded tables, erase. */
#include "calls.h"

static void test_trace_and_hit(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 3), y = number(MX_FLOAT32, 5), out2[2];
  CHECK(value_of(trace(f, x, "", doubled, 42)) == 6);
  CHECK(stats(f).traces == 1 && stats(f).hits == 0 && stats(f).entries == 1);
  CHECK(value_of(hit(f, y, "", 42)) == 10);
  size_t n = 0;
  bool is_hit = false;
  uint64_t tag = 0;
  CHECK(mx_function_call(out2, 2, &n, &is_hit, &tag, f, &x, 1, NULL, 0) == MX_OK);
  CHECK(is_hit && n == 1 && tag == 42);
  CHECK(value_of(out2[0]) == 6);
  CHECK(mx_function_call(out2, 2, &n, &is_hit, &tag, f, &x, 1, "other", 5) == MX_OK);
  CHECK(!is_hit && n == 0);
  CHECK(stats(f).hits == 2);
  drop_function(f);
  drop(x);
  drop(y);
}

static void test_no_and_many_inputs_and_outputs(void) {
  enum { N = 64 };
  mx_function f = function_of(0);
  mx_array x[N], p[N], y[N];
  mx_call c;
  mx_call_state state;
  size_t n;
  for (int i = 0; i < N; i++) x[i] = number(MX_FLOAT32, i);
  CHECK(mx_call_begin(&c, &state, f, x, N, NULL, 0) == MX_OK);
  CHECK(mx_call_inputs(p, N, &n, c) == MX_OK);
  CHECK(n == N);
  for (int i = 0; i < N; i++) y[i] = doubled(p[N - 1 - i]);
  CHECK(mx_call_commit(c, y, N, 0) == MX_OK);
  for (int i = 0; i < N; i++) drop(p[i]);
  for (int i = 0; i < N; i++) drop(y[i]);
  CHECK(mx_call_outputs(y, N - 1, &n, c) == MX_ERROR_INVALID_ARGUMENT); /* too little room */
  CHECK(mx_call_outputs(y, N, &n, c) == MX_OK);
  mx_call_end(c);
  for (int i = 0; i < N; i++) CHECK(value_of(y[i]) == 2 * (N - 1 - i));
  for (int i = 0; i < N; i++) drop(x[i]);
  /* no inputs: another signature, one constant */
  CHECK(mx_call_begin(&c, &state, f, NULL, 0, NULL, 0) == MX_OK);
  CHECK(state == MX_CALL_TRACE);
  CHECK(mx_call_inputs(p, N, &n, c) == MX_OK);
  CHECK(n == 0);
  y[0] = number(MX_INT32, 7);
  CHECK(mx_call_commit(c, y, 1, 1) == MX_OK);
  drop(y[0]);
  CHECK(value_of(finish(c, 1)) == 7);
  /* no outputs */
  CHECK(mx_call_begin(&c, &state, f, NULL, 0, "nothing", 7) == MX_OK);
  CHECK(mx_call_commit(c, NULL, 0, 2) == MX_OK);
  CHECK(mx_call_outputs(NULL, 0, &n, c) == MX_OK);
  CHECK(n == 0);
  mx_call_end(c);
  CHECK(stats(f).entries == 3);
  drop_function(f);
}

/* The same array may be returned twice, be an argument twice, or come out as it went in. */
static void test_aliases(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 3), both[2] = {x, x}, p[2], y[3];
  mx_call c;
  mx_call_state state;
  size_t n;
  CHECK(mx_call_begin(&c, &state, f, both, 2, NULL, 0) == MX_OK);
  CHECK(mx_call_inputs(p, 2, &n, c) == MX_OK);
  CHECK(mx_subtract(&y[0], p[0], p[1], NULL) == MX_OK);
  y[1] = p[0];
  y[2] = y[0];
  CHECK(mx_call_commit(c, y, 3, 0) == MX_OK);
  drop(y[0]);
  drop(p[0]);
  drop(p[1]);
  CHECK(mx_call_outputs(y, 3, &n, c) == MX_OK);
  mx_call_end(c);
  for (int i = 0; i < 3; i++) CHECK(value_of(y[i]) == (i == 1 ? 3 : 0));
  mx_array other = number(MX_FLOAT32, 5), different[2] = {other, x};
  bool is_hit;
  uint64_t tag;
  CHECK(mx_function_call(y, 3, &n, &is_hit, &tag, f, different, 2, NULL, 0) == MX_OK);
  CHECK(is_hit);
  for (int i = 0; i < 3; i++) CHECK(value_of(y[i]) == (i == 1 ? 5 : 2));
  drop(other);
  drop(x);
  drop_function(f);
}

static void test_keys(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 3), i = number(MX_INT32, 3), row = array(MX_FLOAT32, D(1), V(3)), y = NULL;
  const char *keys[] = {"", "a", "ab", "b", "aa"};
  for (uint64_t k = 0; k < 5; k++) CHECK(value_of(trace(f, x, keys[k], doubled, k)) == 6);
  for (uint64_t k = 0; k < 5; k++) CHECK(value_of(hit(f, x, keys[k], k)) == 6);
  /* bytes, not text */
  mx_call c = NULL;
  mx_call_state state;
  CHECK(mx_call_begin(&c, &state, f, &x, 1, "a\0", 2) == MX_OK);
  CHECK(state == MX_CALL_TRACE);
  commit(c, negated, 9);
  CHECK(value_of(finish(c, 9)) == -3);
  CHECK(mx_call_begin(&c, &state, f, &x, 1, NULL, 3) == MX_ERROR_INVALID_ARGUMENT);
  /* dtype, rank and shape are part of the signature; the value is not */
  CHECK(value_of(trace(f, i, "", negated, 10)) == -3);
  CHECK(value_of(trace(f, row, "", negated, 11)) == -3);
  CHECK(value_of(hit(f, i, "", 10)) == -3);
  CHECK(value_of(hit(f, x, "", 0)) == 6);
  /* 300 signatures, which collide when hashes are short */
  CHECK(mx_function_set_capacity(f, 0) == MX_OK);
  for (int k = 0; k < 300; k++) {
    char key[32];
    snprintf(key, sizeof key, "many %d", k);
    y = trace(f, x, key, k % 2 ? doubled : negated, (uint64_t)k);
    drop(y);
  }
  for (int k = 0; k < 300; k++) {
    char key[32];
    snprintf(key, sizeof key, "many %d", k);
    CHECK(value_of(hit(f, x, key, (uint64_t)k)) == (k % 2 ? 6 : -3));
  }
  CHECK(stats(f).entries == 308 && stats(f).evictions == 0);
  drop(x);
  drop(i);
  drop(row);
  drop_function(f);
}

static void test_closure_arrays_are_frozen(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 3), k = number(MX_FLOAT32, 10), other = number(MX_FLOAT32, 20), y = NULL;
  mx_call c = begin(f, x, "", MX_CALL_TRACE);
  mx_array p = placeholder_of(c);
  CHECK(mx_add(&y, p, k, NULL) == MX_OK);
  CHECK(mx_call_commit(c, &y, 1, 0) == MX_OK);
  drop(y);
  drop(p);
  CHECK(value_of(finish(c, 0)) == 13);
  CHECK(mx_array_assign(k, other) == MX_OK);
  drop(k);
  drop(other);
  CHECK(value_of(hit(f, x, "", 0)) == 13);
  drop(x);
  drop_function(f);
}

static void test_random_draws_differ_between_calls(void) {
  mx_function f = function_of(0);
  mx_call c;
  mx_call_state state;
  mx_array draw = NULL;
  CHECK(mx_call_begin(&c, &state, f, NULL, 0, NULL, 0) == MX_OK);
  CHECK(mx_random_bits(&draw, NULL, 0, 4, NULL, NULL) == MX_OK);
  CHECK(mx_call_commit(c, &draw, 1, 0) == MX_OK);
  drop(draw);
  const double first = value_of(finish(c, 0));
  CHECK(mx_call_begin(&c, &state, f, NULL, 0, NULL, 0) == MX_OK);
  CHECK(state == MX_CALL_HIT);
  CHECK(value_of(finish(c, 0)) != first);
  drop_function(f);
}

static void test_capacity(void) {
  mx_function f = function_of(0);
  mx_array x = number(MX_FLOAT32, 3);
  CHECK(mx_function_set_capacity(f, 2) == MX_OK);
  drop(trace(f, x, "a", doubled, 1));
  drop(trace(f, x, "b", doubled, 2));
  drop(hit(f, x, "a", 1)); /* now b is the least recently used */
  mx_call open = begin(f, x, "b", MX_CALL_HIT);
  drop(hit(f, x, "a", 1));
  drop(trace(f, x, "c", doubled, 3));
  CHECK(stats(f).entries == 2 && stats(f).evictions == 1);
  CHECK(value_of(finish(open, 2)) == 6); /* an open call keeps its entry */
  drop(hit(f, x, "a", 1));
  drop(hit(f, x, "c", 3));
  CHECK(mx_function_set_capacity(f, 1) == MX_OK);
  CHECK(stats(f).entries == 1 && stats(f).evictions == 2);
  drop(hit(f, x, "c", 3));
  drop(trace(f, x, "b", negated, 4));
  CHECK(value_of(hit(f, x, "b", 4)) == -3);
  drop(x);
  drop_function(f);
}

static void test_erase(void) {
  mx_function f = function_of(0), same = NULL;
  mx_array x = number(MX_FLOAT32, 3);
  CHECK(mx_function_dup(&same, f) == MX_OK);
  drop(trace(f, x, "", doubled, 1));
  mx_call open = begin(f, x, "", MX_CALL_HIT);
  CHECK(mx_function_erase(same) == MX_OK);
  CHECK(mx_function_erase(f) == MX_OK);
  CHECK(stats(f).entries == 0);
  CHECK(value_of(finish(open, 1)) == 6);
  /* during a trace: the entry stays private to the call */
  mx_call c = begin(f, x, "", MX_CALL_TRACE);
  CHECK(mx_function_erase(f) == MX_OK);
  commit(c, doubled, 2);
  CHECK(stats(f).entries == 0);
  CHECK(value_of(finish(c, 2)) == 6);
  /* the last handle goes during a trace */
  c = begin(f, x, "", MX_CALL_TRACE);
  drop_function(f);
  drop_function(same);
  CHECK(mx_function_erase(f) == MX_ERROR_HANDLE);
  commit(c, negated, 3);
  CHECK(value_of(finish(c, 3)) == -3);
  drop(x);
}

int main(void) {
  test_trace_and_hit();
  test_no_and_many_inputs_and_outputs();
  test_aliases();
  test_keys();
  test_closure_arrays_are_frozen();
  test_random_draws_differ_between_calls();
  test_capacity();
  test_erase();
  return 0;
}
