/* mx/function.h: calls that other threads commit, end, trace, clear and erase. */
#include <pthread.h>

#include "calls.h"

static struct {
  mx_call call;
  mx_function function;
  mx_array x, y;
  mx_status status;
} shared;

static void *in_thread(void *(*body)(void *)) {
  pthread_t thread;
  void *result = NULL;
  CHECK(pthread_create(&thread, NULL, body, NULL) == 0);
  CHECK(pthread_join(thread, &result) == 0);
  return result;
}

static void *commit_here(void *unused) {
  (void)unused;
  shared.status = mx_call_commit(shared.call, &shared.y, 1, 0);
  return NULL;
}

static void *end_here(void *unused) {
  (void)unused;
  mx_call_end(shared.call);
  return NULL;
}

static void *trace_here(void *unused) {
  (void)unused;
  shared.y = trace(shared.function, shared.x, "", doubled, 100);
  return NULL;
}

static void *clear_here(void *unused) {
  (void)unused;
  mx_compile_clear();
  return NULL;
}

static void test_other_threads(void) {
  mx_function f = function_of(0), g = function_of(0);
  mx_array x = number(MX_FLOAT32, 3);
  bool tracer = false;
  mx_call c = begin(f, x, "", MX_CALL_TRACE);
  mx_array p = placeholder_of(c);
  shared.call = c;
  shared.y = p;
  in_thread(commit_here);
  CHECK(shared.status == MX_ERROR_WRONG_THREAD);
  CHECK(mx_array_is_tracer(&tracer, p) == MX_OK);
  CHECK(tracer); /* the trace is still open here */
  in_thread(end_here);
  CHECK(mx_array_is_tracer(&tracer, p) == MX_OK);
  CHECK(!tracer);
  drop(p);

  /* Two threads trace one key: the first commit wins, the other adopts it. */
  c = begin(f, x, "", MX_CALL_TRACE);
  shared.function = f;
  shared.x = x;
  in_thread(trace_here);
  commit(c, doubled, 200);
  mx_array mine = finish(c, 100), theirs = shared.y;
  CHECK(value_of(mine) == 6);
  CHECK(value_of(theirs) == 6);
  CHECK(stats(f).entries == 1 && stats(f).traces == 2);

  drop(trace(g, x, "", negated, 1));
  in_thread(clear_here);
  CHECK(stats(f).entries == 0 && stats(g).entries == 0);
  drop(x);
  drop_function(f);
  drop_function(g);
}

static void *call_and_erase(void *unused) {
  (void)unused;
  mx_array x = NULL;
  CHECK(mx_array_scalar(&x, real(3), MX_FLOAT32) == MX_OK);
  for (int i = 0; i < 200; i++) {
    mx_call c = NULL;
    mx_call_state state;
    CHECK(mx_call_begin(&c, &state, shared.function, &x, 1, &i, i % 3) == MX_OK);
    if (state == MX_CALL_TRACE) commit(c, doubled, 1);
    const double value = value_of(finish(c, 1));
    CHECK(value == 6);
    if (i % 20 == 0) CHECK(mx_function_erase(shared.function) == MX_OK);
    if (i % 50 == 0) mx_compile_clear();
  }
  drop(x);
  return NULL;
}

static void test_many_threads(void) {
  pthread_t threads[4];
  shared.function = function_of(0);
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, call_and_erase, NULL) == 0);
  for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  drop_function(shared.function);
}

int main(void) {
  test_other_threads();
  test_many_threads();
  return 0;
}
