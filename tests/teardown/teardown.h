/* What the teardown programs share. Each ends while something is going on; run.py runs it many times and checks the
 * exit status, that stderr is empty, and that it takes at most 1.2 s after the stamp that `leaving` prints. */
#ifndef TEARDOWN_H
#define TEARDOWN_H
#include <mx/mx.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                              \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      fprintf(stderr, "%s:%d: failed: %s: %s\n", __FILE__, __LINE__, #condition, mx_error_message()); \
      _exit(99);                                                                                      \
    }                                                                                                 \
  } while (0)

static inline void sleep_ms(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

/* Says that the process is about to exit with `status`; returns it. Also called in signal handlers: no stdio, which may
 * allocate. */
static inline int leaving(int status) {
  struct timespec now;
  char text[64];
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int n =
      snprintf(text, sizeof text, "leaving %d %lld.%09ld\n", status, (long long)now.tv_sec, (long)now.tv_nsec);
  if (write(STDOUT_FILENO, text, (size_t)n) != n) _exit(99);
  return status;
}

/* A child whose exit status `child` gives must end with 0. */
static inline void expect_child(int (*child)(void)) {
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) _exit(child());
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Threads that nobody joins. */
static inline void start(void *(*body)(void *), void *argument) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, body, argument) == 0);
  CHECK(pthread_detach(thread) == 0);
}

/* Where threads wait for the end of the process. */
static inline void *park(void) {
  for (;;) pause();
  return NULL;
}

static inline void raise_flag(int *flag) { __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST); }
static inline void wait_for(int *flag) {
  while (!__atomic_load_n(flag, __ATOMIC_SEQ_CST)) sleep_ms(1);
}

/* Asked by LeakSanitizer when a process ends. In a child all that the parent's other threads were working on is lost,
 * which is no leak: they are not there to free it. */
static pid_t parent;
__attribute__((constructor)) static void remember_parent(void) { parent = getpid(); }
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return getpid() != parent; }

/* ThreadSanitizer ends a child that starts threads, unless told otherwise; and to exit in a signal handler, which it
 * calls unsafe, is what a test is about. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0:report_signal_unsafe=0"; }

/* A lazy n x n matrix of ones on `stream`. */
static inline mx_array ones(int64_t n, mx_stream stream) {
  const int64_t shape[] = {n, n};
  mx_array out;
  CHECK(mx_ones(&out, shape, 2, MX_FLOAT32, stream) == MX_OK);
  return out;
}

static inline mx_array number(float value) {
  mx_array out;
  CHECK(mx_array_new(&out, &value, sizeof value, NULL, 0, MX_FLOAT32) == MX_OK);
  return out;
}

static inline float value_of(mx_array x) {
  float value = -1;
  CHECK(mx_array_read(&value, sizeof value, x) == MX_OK);
  return value;
}

/* x becomes x @ x / n, so that ones stay ones; false once the runtime is closing. */
static inline bool multiply(mx_array *x, int64_t n, mx_stream stream) {
  mx_array product, scale = NULL, next = NULL;
  if (mx_matmul(&product, *x, *x, stream) != MX_OK) return false;
  const mx_scalar factor = {MX_SCALAR_FLOAT, 0, 1.0 / (double)n, 0};
  const bool ok = mx_array_scalar(&scale, factor, MX_FLOAT32) == MX_OK &&
                  mx_multiply(&next, product, scale, stream) == MX_OK && mx_eval(&next, 1) == MX_OK;
  mx_array_free(product);
  mx_array_free(scale);
  if (!ok) {
    mx_array_free(next);
    return false;
  }
  mx_array_free(*x);
  *x = next;
  return true;
}

#endif
