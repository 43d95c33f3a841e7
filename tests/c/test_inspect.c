/* mx/inspect.h: what explain says, what drawings hold, and traces: complete, bounded, one at a time, not in a child. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "values.h"

static char text[1 << 16];
static size_t needed;

static void expect_in_text(const char *part) {
  if (!strstr(text, part)) fprintf(stderr, "\"%s\" is not in:\n%s\n", part, text);
  CHECK(strstr(text, part) != NULL);
}

/* tanh(x @ w * 2), lazily. */
static mx_array product(mx_array x, mx_array w) {
  mx_array xw, y, two = number(MX_FLOAT32, 2);
  CHECK(mx_matmul(&xw, x, w, NULL) == MX_OK);
  CHECK(mx_multiply(&y, xw, two, NULL) == MX_OK);
  drop(xw);
  drop(two);
  CHECK(mx_tanh(&xw, y, NULL) == MX_OK);
  drop(y);
  return xw;
}

static void test_explain(void) {
  mx_array x = array(MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6)), w = array(MX_FLOAT32, D(3, 2), V(1, 2, 3, 4, 5, 6));
  CHECK(mx_eval((mx_array[]){x, w}, 2) == MX_OK);
  mx_array y = product(x, w);
  const uint64_t before = mx_handle_count(MX_HANDLE_ANY);
  CHECK(mx_explain(NULL, 0, &needed, &y, 1) == MX_OK);
  CHECK(needed > 100 && needed < sizeof text);
  memset(text, 'x', sizeof text);
  CHECK(mx_explain(text, needed - 1, &needed, &y, 1) == MX_OK);
  CHECK(text[0] == 'x'); /* too little room: nothing is written */
  CHECK(mx_explain(text, sizeof text, &needed, &y, 1) == MX_OK);
  CHECK(needed == strlen(text) + 1);
  expect_in_text("in0  float32 (2, 3)");
  expect_in_text("library  matmul+multiply+tanh");
  expect_in_text("32 flop"); /* 2 m n k, and two for each element */
  expect_in_text("peak memory ");
  CHECK(mx_handle_count(MX_HANDLE_ANY) == before);
  CHECK(mx_eval(&y, 1) == MX_OK);
  CHECK(mx_explain(text, sizeof text, &needed, &y, 1) == MX_OK);
  CHECK(strcmp(text, "nothing to compute\n") == 0);
  CHECK(mx_explain(text, sizeof text, NULL, &y, 1) == MX_ERROR_INVALID_ARGUMENT);
  drop(x);
  drop(w);
  drop(y);
}

static mx_function doubling(void) {
  mx_function f;
  CHECK(mx_function_new(&f, "doubling", 0) == MX_OK);
  return f;
}

/* Traces x * 2 + 1 and leaves the call open. */
static mx_call traced(mx_function f, mx_array x) {
  mx_call call;
  mx_call_state state;
  mx_array in, doubled, y, two = number(MX_FLOAT32, 2), one = number(MX_FLOAT32, 1);
  size_t n;
  CHECK(mx_call_begin(&call, &state, f, &x, 1, NULL, 0) == MX_OK);
  CHECK(state == MX_CALL_TRACE);
  CHECK(mx_call_inputs(&in, 1, &n, call) == MX_OK);
  CHECK(mx_call_explain(text, sizeof text, &needed, call) == MX_ERROR_INVALID_ARGUMENT); /* nothing is known yet */
  CHECK(mx_explain(text, sizeof text, &needed, &in, 1) == MX_ERROR_TRACE);
  CHECK(mx_multiply(&doubled, in, two, NULL) == MX_OK);
  CHECK(mx_add(&y, doubled, one, NULL) == MX_OK);
  CHECK(mx_call_commit(call, &y, 1, 0) == MX_OK);
  drop(in);
  drop(doubled);
  drop(two);
  drop(one);
  drop(y);
  return call;
}

static void test_explain_call(void) {
  mx_array x = array(MX_FLOAT32, D(4), V(1, 2, 3, 4)), y;
  CHECK(mx_eval(&x, 1) == MX_OK);
  mx_function f = doubling();
  mx_call call = traced(f, x);
  CHECK(mx_call_explain(text, sizeof text, &needed, call) == MX_OK);
  CHECK(strncmp(text, "doubling\n", 9) == 0);
  expect_in_text("multiply+add  over (4,)");
  size_t n;
  CHECK(mx_call_outputs(&y, 1, &n, call) == MX_OK);
  CHECK(mx_explain(text, sizeof text, &needed, &y, 1) == MX_OK);
  expect_in_text("multiply+add  over (4,)"); /* the call is looked into */
  const char *name = "result \"y\"";
  CHECK(mx_export_to_dot(text, sizeof text, &needed, &y, 1, &name, 1) == MX_OK);
  expect_in_text("label=\"CompiledMultiplyAdd\"");
  expect_in_text("\"result \\\"y\\\"\"");
  CHECK(strstr(strstr(text, "label") + 1, "label") == NULL); /* one box */
  mx_call_end(call);
  CHECK(mx_function_free(f) == MX_OK);
  drop(x);
  drop(y);
}

static void test_dot(void) {
  mx_array x = array(MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6)), w = array(MX_FLOAT32, D(3, 2), V(1, 2, 3, 4, 5, 6));
  CHECK(mx_eval((mx_array[]){x, w}, 2) == MX_OK);
  mx_array xs[2] = {product(x, w), x};
  const char *names[2] = {"", "A"};
  CHECK(mx_export_to_dot(text, sizeof text, &needed, xs, 2, names, 2) == MX_OK);
  CHECK(strncmp(text, "digraph {", 9) == 0 && text[strlen(text) - 2] == '}');
  expect_in_text("label=\"Matmul\"");
  expect_in_text("\"A\" -> op0"); /* x has the name that was given, so nothing else is called A */
  expect_in_text("\"B\" -> op0");
  CHECK(mx_export_to_dot(text, sizeof text, &needed, xs, 2, names, 1) == MX_ERROR_INVALID_ARGUMENT);
  drop(x);
  drop(w);
  drop(xs[0]);
}

static char folder[64], path[128];

static long file_size(void) {
  struct stat s;
  return stat(path, &s) == 0 ? (long)s.st_size : -1;
}

static void read_file(void) {
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  const size_t n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = 0;
}

static void *work(void *unused) {
  mx_array x = array(MX_FLOAT32, D(2, 3), V(1, 2, 3, 4, 5, 6)), w = array(MX_FLOAT32, D(3, 2), V(1, 2, 3, 4, 5, 6)),
           y = product(x, w);
  CHECK(mx_eval(&y, 1) == MX_OK);
  drop(x);
  drop(w);
  drop(y);
  return unused;
}

static void test_profile(void) {
  CHECK(mx_profile_stop(path) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_profile_start(1000) == MX_OK);
  CHECK(mx_profile_start(1000) == MX_ERROR_INVALID_ARGUMENT);
  work(NULL);
  CHECK(file_size() == -1);
  CHECK(mx_profile_stop(path) == MX_OK);
  read_file();
  expect_in_text("{\"ph\":\"X\",\"name\":\"matmul+multiply+tanh\",\"cat\":\"kernel\"");
  expect_in_text("\"cat\":\"allocation\"");
  expect_in_text("\"name\":\"active memory\"");
  expect_in_text("\"dropped\":0");
  CHECK(mx_profile_stop(NULL) == MX_ERROR_INVALID_ARGUMENT);
}

static void test_profile_is_bounded(void) {
  CHECK(mx_profile_start(2) == MX_OK);
  work(NULL);
  CHECK(mx_profile_stop(path) == MX_OK);
  read_file();
  expect_in_text("\"dropped\":");
  CHECK(strstr(text, "\"dropped\":0") == NULL);
  CHECK(mx_profile_start(SIZE_MAX) == MX_ERROR_OUT_OF_MEMORY);
  CHECK(mx_profile_start(0) == MX_OK);
  CHECK(mx_profile_stop(NULL) == MX_OK); /* dropped: the file is as before */
  CHECK(file_size() > 0);
  CHECK(mx_profile_start(0) == MX_OK);
  CHECK(mx_profile_stop("/nowhere/trace.json") == MX_ERROR_IO);
}

static void test_profile_of_threads(void) {
  pthread_t threads[4];
  CHECK(mx_profile_start(0) == MX_OK);
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  CHECK(mx_profile_stop(path) == MX_OK);
  read_file();
  int n = 0;
  for (const char *at = text; (at = strstr(at, "\"matmul+multiply+tanh\",\"cat\":\"kernel\"")); at++) n++;
  CHECK(n == 4);
}

static void test_profile_and_fork(void) {
  CHECK(mx_profile_start(0) == MX_OK);
  const pid_t child = fork();
  if (child == 0) _exit(mx_profile_stop(NULL) == MX_ERROR_INVALID_ARGUMENT && mx_profile_start(0) == MX_OK ? 0 : 1);
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(mx_profile_stop(path) == MX_OK);
}

int main(void) {
  snprintf(folder, sizeof folder, "/tmp/test_inspect_XXXXXX");
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/trace.json", folder);
  test_explain();
  test_explain_call();
  test_dot();
  test_profile();
  test_profile_is_bounded();
  test_profile_of_threads();
  test_profile_and_fork();
  unlink(path);
  rmdir(folder);
  return 0;
}
