/* The harness of the C tests. Their main is compiled as check_main, and every function of the library that they call is
 * wrapped (tools/gen_track.py), so that open handles and the last failure are known here.
 *
 *   test_x                       runs the test
 *   test_x --fail-allocations    runs it again and again in processes of their own; in the n-th the n-th allocation
 *                                fails, until a run meets no failure
 *   test_x --fail-allocation N   one of these
 *
 * In a run with a failure each call returns what it should or OUT_OF_MEMORY. The first CHECK that this breaks ends the
 * test: its handles are closed, after which nothing may be left and the library must work. */
#define _GNU_SOURCE
#define TRACK_DECLARATIONS_ONLY
#include "check.h"

#include <mx/mx.h>
#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int check_main(void);

extern char **environ;

enum { MAX_HANDLES = 1 << 16, HANDLED = 0, FAILED = 1, NOT_HIT = 3 };

static struct {
  void *handle;
  check_free_fn *free;
} tracked[MAX_HANDLES];
static int n_tracked;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t fail_at; /* 0: no failure is injected */
static jmp_buf abandon;
static pthread_t test_thread;
static int hit, injects_itself, inside_library;
static _Thread_local mx_status last_failure;

void check_opened(void *handle, check_free_fn *free) {
  if (!handle) return;
  pthread_mutex_lock(&mutex);
  if (n_tracked == MAX_HANDLES) fprintf(stderr, "too many handles for the harness\n"), exit(FAILED);
  tracked[n_tracked].handle = handle;
  tracked[n_tracked++].free = free;
  pthread_mutex_unlock(&mutex);
}

/* A handle of this type; NULL: of any. */
void check_closed_as(void *handle, check_free_fn *free) {
  pthread_mutex_lock(&mutex);
  for (int i = n_tracked; i-- > 0;)
    if (tracked[i].handle == handle && (!free || tracked[i].free == free)) {
      tracked[i] = tracked[--n_tracked];
      break;
    }
  pthread_mutex_unlock(&mutex);
}

void check_closed(void *handle) { check_closed_as(handle, NULL); }

void check_enter(void) {
  if (pthread_equal(pthread_self(), test_thread)) inside_library++;
}

void check_leave(mx_status status) {
  if (pthread_equal(pthread_self(), test_thread)) inside_library--;
  if (status) last_failure = status;
}

void check_injects(void) { injects_itself = 1; }

/* Whether the failure has happened; asking turns it off. */
static int was_hit(void) {
  if (!hit && !injects_itself) hit = mx_test_fail_allocation(0) >= fail_at;
  return hit;
}

void check_failed(const char *file, int line, const char *condition) {
  const int known = hit; /* a failure before this one explains what follows from it */
  if (fail_at && was_hit() && (known || last_failure == MX_ERROR_OUT_OF_MEMORY)) {
    if (!pthread_equal(pthread_self(), test_thread) || inside_library) return; /* no jump from here */
    longjmp(abandon, 1);
  }
  fprintf(stderr, "%s:%d: failed: %s\n  last failure: %s\n", file, line, condition, mx_error_message());
  if (fail_at) fprintf(stderr, "  with allocation %llu failing\n", (unsigned long long)fail_at);
  _exit(FAILED);
}

#define REQUIRE(condition)                                                                               \
  do {                                                                                                   \
    if (!(condition)) {                                                                                  \
      fprintf(stderr, "after failed allocation %llu: %s: %s\n", (unsigned long long)fail_at, #condition, \
              mx_error_message());                                                                       \
      return FAILED;                                                                                     \
    }                                                                                                    \
  } while (0)

static int require_usable(void) {
  const float two[] = {2, 2};
  const int64_t dims[] = {2};
  float four[2] = {0, 0};
  mx_array a, b;
  if (mx_runtime_state() == MX_CLOSED) REQUIRE(mx_reopen() == MX_OK);
  REQUIRE(mx_array_new(&a, two, sizeof two, dims, 1, MX_FLOAT32) == MX_OK);
  REQUIRE(mx_add(&b, a, a, NULL) == MX_OK);
  REQUIRE(mx_array_read(four, sizeof four, b) == MX_OK);
  REQUIRE(four[0] == 4 && four[1] == 4);
  REQUIRE(mx_array_free(a) == MX_OK && mx_array_free(b) == MX_OK);
  REQUIRE(mx_handle_count(MX_HANDLE_ANY) == 0);
  REQUIRE(mx_active_memory() == 0);
  return HANDLED;
}

/* One run in which the fail_at-th allocation fails. */
static int run_failing(void) {
  alarm(60);
  test_thread = pthread_self();
  mx_test_fail_allocation(fail_at);
  if (!setjmp(abandon)) {
    const int status = check_main();
    if (status) return status;
    for (int i = 0; i < n_tracked; i++) fprintf(stderr, "the test never closed %p\n", tracked[i].handle);
    if (n_tracked) return FAILED; /* it was not cut short, so it owns the leak */
    if (injects_itself || !was_hit()) return NOT_HIT;
  }
  inside_library = 0;
  for (int i = n_tracked; i-- > 0;) (void)tracked[i].free(tracked[i].handle);
  n_tracked = 0;
  (void)!mx_random_seed(0); /* this thread's key may be an array */
  (void)!mx_synchronize(NULL, 10000);
  REQUIRE(mx_handle_count(MX_HANDLE_ANY) == 0);
  REQUIRE(mx_active_memory() == 0);
  return require_usable();
}

static int run_self(const char *program, unsigned long long n) {
  char number[32];
  snprintf(number, sizeof number, "%llu", n);
  char *argv[] = {(char *)program, (char *)"--fail-allocation", number, NULL};
  pid_t child;
  int status = 0;
  if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ)) return FAILED;
  if (waitpid(child, &status, 0) != child) return FAILED;
  if (WIFSIGNALED(status)) fprintf(stderr, "allocation %llu failing: signal %d\n", n, WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { DENSE = 10 }; /* processes start slowly */
#else
enum { DENSE = 50 };
#endif

/* Every allocation of the first DENSE; beyond, a growing step, or every one with MX_TEST_LONG=1. */
static int run_all(const char *program) {
  const int all = getenv("MX_TEST_LONG") != NULL;
  for (unsigned long long n = 1;; n += all ? 1 : 1 + n / DENSE) {
    const int status = run_self(program, n);
    if (status == NOT_HIT) return printf("%s: failures up to allocation %llu\n", program, n - 1), 0;
    if (status != HANDLED) return status;
  }
}

int main(int argc, char **argv) {
  test_thread = pthread_self();
  if (argc == 2 && strcmp(argv[1], "--fail-allocations") == 0) return run_all(argv[0]);
  if (argc == 3 && strcmp(argv[1], "--fail-allocation") == 0) {
    fail_at = strtoull(argv[2], NULL, 10);
    return run_failing();
  }
  return check_main();
}
