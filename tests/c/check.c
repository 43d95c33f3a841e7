/* The harness of the C tests. Their main is compiled as check_main, and every function of the library that they call is
 * wrapped (tools/gen_track.py), so that open handles and the last failure are known here.
 *
 *   test_x                       runs the test
 *   test_x --fail-allocations    runs it again and again in processes of their own; in the n-th the n-th allocation
 *                                fails, until a run meets no failure
 *   test_x --fail-allocation N   one of these
 *   test_x --fail-mallocs        the same, counting every malloc of libmx and the C++ library in it, not its own list
 *   test_x --fail-malloc N       one of these
 *   test_x --without threads     runs the test where the library gets no thread; --without code: no executable memory;
 *                                --without registrations: the C library gets no memory of its own
 *   test_x --address-space       runs it again and again with more and more address space, until it succeeds
 *   test_x --with-bytes N        one of these
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
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "refuse.h"

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
static int hit, injects_itself, inside_library, is_limited, in_malloc;
static _Thread_local mx_status last_failure;
static int ran_out; /* atomic: some thread was told OUT_OF_MEMORY */

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
  if (status == MX_ERROR_OUT_OF_MEMORY) __atomic_store_n(&ran_out, 1, __ATOMIC_RELAXED);
}

void check_injects(void) { injects_itself = 1; }

/* Whether the failure has happened; asking turns it off. */
static int was_hit(void) {
  if (!hit && !injects_itself) hit = in_malloc ? refuse_malloc(0) >= fail_at : mx_test_fail_allocation(0) >= fail_at;
  return hit;
}

void check_failed(const char *file, int line, const char *condition) {
  /* A failure before this one explains what follows from it; so does one of a thread that the test made, and one that
   * cost the words of another. */
  const int known = hit || (in_malloc && __atomic_load_n(&ran_out, __ATOMIC_RELAXED)) ||
                    strstr(mx_error_message(), "no memory for the message");
  if (fail_at && was_hit() && (known || last_failure == MX_ERROR_OUT_OF_MEMORY)) {
    if (!pthread_equal(pthread_self(), test_thread) || inside_library) return; /* no jump from here */
    longjmp(abandon, 1);
  }
  /* The test itself may be refused memory as well, so any failure will do, but one that says the library is wrong. */
  if (is_limited && last_failure != MX_ERROR_INTERNAL) {
    if (!pthread_equal(pthread_self(), test_thread) || inside_library) return;
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

/* That the library computes after all that. */
static int require_computing(void) {
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
  return HANDLED;
}

/* And that nothing is left then. */
static int require_usable(void) {
  const int status = require_computing();
  if (status != HANDLED) return status;
  REQUIRE(mx_handle_count(MX_HANDLE_ANY) == 0);
  REQUIRE(mx_active_memory() == 0);
  return HANDLED;
}

/* One run in which the fail_at-th allocation fails. */
static int run_failing(void) {
  alarm(60);
  test_thread = pthread_self();
  if (in_malloc)
    refuse_malloc(fail_at);
  else
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

/* Where the stack cannot grow the system ends the program, so it grows before. */
__attribute__((noinline)) static void grow_stack(void) {
  volatile char stack[1 << 20];
  for (size_t i = 0; i < sizeof stack; i += 4096) stack[i] = 0;
}

/* One run with `bytes` more address space than the program has at its start. */
static int run_limited(rlim_t bytes) {
  char statm[64] = "";
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || !fgets(statm, sizeof statm, f) || fclose(f)) return FAILED;
  grow_stack();
  struct rlimit before, limit;
  getrlimit(RLIMIT_AS, &before);
  limit = before;
  limit.rlim_cur = strtoull(statm, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
  if (setrlimit(RLIMIT_AS, &limit)) return FAILED;
  alarm(60);
  is_limited = 1;
  int whole = 0;
  if (!setjmp(abandon)) {
    const int status = check_main();
    if (status) return status;
    whole = 1;
  }
  setrlimit(RLIMIT_AS, &before);
  if (whole) return NOT_HIT;
  /* Threads of the test may go on, so handles are not counted. What was computed right, is. */
  return require_computing();
}

static int run_self(const char *program, const char *mode, unsigned long long n) {
  char number[32];
  snprintf(number, sizeof number, "%llu", n);
  char *argv[] = {(char *)program, (char *)mode, number, NULL};
  pid_t child;
  int status = 0;
  if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ)) return FAILED;
  if (waitpid(child, &status, 0) != child) return FAILED;
  if (WIFSIGNALED(status)) fprintf(stderr, "%s %llu: signal %d\n", mode, n, WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { DENSE = 10 }; /* processes start slowly */
#else
enum { DENSE = 50 };
#endif

/* Every allocation of the first DENSE; beyond, a growing step, or every one with MX_TEST_LONG=1. */
static int run_all(const char *program, const char *mode) {
  const int all = getenv("MX_TEST_LONG") != NULL;
  for (unsigned long long n = 1;; n += all ? 1 : 1 + n / DENSE) {
    const int status = run_self(program, mode, n);
    if (status == NOT_HIT) {
      printf("%s: failures up to allocation %llu\n", program, n - 1);
      return n == 1 && strcmp(mode, "--fail-malloc") == 0; /* every test allocates something */
    }
    if (status != HANDLED) return status;
  }
}

/* From no more address space than at the start on, in steps of an eighth. */
static int run_in_address_spaces(const char *program) {
  for (unsigned long long bytes = 0; bytes < 1ULL << 36; bytes += 65536 + bytes / 8 / 65536 * 65536) {
    const int status = run_self(program, "--with-bytes", bytes);
    if (status == NOT_HIT) return printf("%s: needs %llu MB\n", program, bytes >> 20), 0;
    if (status != HANDLED) return status;
  }
  return FAILED;
}

static int run_without(const char *what) {
  if (!refuse(what)) return FAILED;
  const int status = check_main();
  printf("%d times without %s\n", refused(), what);
  return status;
}

int main(int argc, char **argv) {
  test_thread = pthread_self();
  if (argc == 2 && strcmp(argv[1], "--fail-allocations") == 0) return run_all(argv[0], "--fail-allocation");
  if (argc == 2 && strcmp(argv[1], "--fail-mallocs") == 0) return run_all(argv[0], "--fail-malloc");
  in_malloc = argc == 3 && strcmp(argv[1], "--fail-malloc") == 0;
  if (argc == 3 && strncmp(argv[1], "--fail-", 7) == 0) {
    fail_at = strtoull(argv[2], NULL, 10);
    return run_failing();
  }
  if (argc == 3 && strcmp(argv[1], "--without") == 0) return run_without(argv[2]);
  if (argc == 2 && strcmp(argv[1], "--address-space") == 0) return run_in_address_spaces(argv[0]);
  if (argc == 3 && strcmp(argv[1], "--with-bytes") == 0) return run_limited(strtoull(argv[2], NULL, 10));
  return check_main();
}
