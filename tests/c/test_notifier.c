/* mx/notifier.h: completions through a file descriptor, with and without threads in the pool. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "values.h"

/* Some milliseconds of work. */
static mx_array slow(void) { return power_of_ones(300, 6); }

static mx_notifier made(int32_t *fd) {
  mx_notifier q;
  CHECK(mx_notifier_new(&q) == MX_OK);
  CHECK(mx_notifier_fd(fd, q) == MX_OK);
  return q;
}

static bool readable(int fd, int ms) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  const int n = poll(&p, 1, ms);
  CHECK(n >= 0 || errno == EINTR);
  return n > 0;
}

/* Until a token is there. Where the pool has no threads, looking is what makes the work proceed. */
static void watch(int fd, mx_array x) {
  mx_status status = MX_OK;
  for (int i = 0; i < 60000 && !readable(fd, 1); i++) {
    status = mx_wait(x, 0);
    if (status == MX_ERROR_HANDLE) status = mx_synchronize(NULL, 1); /* freed meanwhile */
  }
  CHECK(readable(fd, 1));
}

/* Work that has not ended when the notifier is told of it. */
static mx_array pending(mx_notifier q, uint64_t token) {
  for (;;) {
    bool queued = false;
    mx_array x = slow();
    CHECK(mx_notifier_add(&queued, q, x, token) == MX_OK);
    if (queued) return x;
    CHECK(mx_wait(x, 0) == MX_OK); /* this thread was not run for so long */
    drop(x);
  }
}

static size_t taken(uint64_t *tokens, size_t cap, mx_notifier q) {
  size_t n = 999;
  CHECK(mx_notifier_take(tokens, cap, &n, q) == MX_OK);
  CHECK(n <= cap);
  return n;
}

static void test_one(void) {
  int32_t fd = -1;
  bool queued = true;
  uint64_t tokens[4] = {0};
  mx_notifier q = made(&fd), other = NULL;
  mx_array x, there = array(MX_FLOAT32, D(2), V(1, 2));
  CHECK(fd >= 0);
  CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(mx_handle_count(MX_HANDLE_NOTIFIER) == 1);
  CHECK(!readable(fd, 0));
  CHECK(taken(tokens, 4, q) == 0);
  CHECK(mx_eval(&there, 1) == MX_OK);
  CHECK(mx_notifier_add(&queued, q, there, 5) == MX_OK);
  CHECK(!queued); /* it has its value */
  x = pending(q, 7);
  watch(fd, x);
  CHECK(mx_wait(x, 0) == MX_OK);
  CHECK(taken(tokens, 4, q) == 1 && tokens[0] == 7);
  CHECK(!readable(fd, 0));
  CHECK(mx_notifier_dup(&other, q) == MX_OK);
  CHECK(mx_notifier_free(q) == MX_OK);
  CHECK(fcntl(fd, F_GETFD) >= 0);
  CHECK(mx_notifier_free(other) == MX_OK);
  CHECK(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
  CHECK(mx_notifier_fd(&fd, q) == MX_ERROR_HANDLE);
  CHECK(mx_notifier_add(&queued, q, there, 1) == MX_ERROR_HANDLE);
  CHECK(mx_notifier_free(q) == MX_ERROR_HANDLE);
  CHECK(mx_notifier_free(NULL) == MX_OK);
  drop(x);
  drop(there);
}

/* Every token comes once, whatever piece of the queue is taken at a time. */
static void test_many(void) {
  enum { N = 50 };
  int32_t fd;
  mx_notifier q = made(&fd);
  mx_array x[N], base = slow();
  bool seen[N] = {false}, queued = false;
  uint64_t tokens[7];
  size_t n_queued = 0, n_seen = 0;
  for (uint64_t i = 0; i < N; i++) {
    CHECK(mx_add(&x[i], base, base, NULL) == MX_OK);
    CHECK(mx_notifier_add(&queued, q, x[i], i) == MX_OK);
    n_queued += queued;
    seen[i] = !queued;
  }
  while (n_seen < n_queued) {
    size_t i = 0, n;
    while (i < N - 1 && seen[i]) i++;
    watch(fd, x[i]);
    n = taken(tokens, 7, q);
    CHECK(n > 0);
    for (size_t k = 0; k < n; k++) {
      CHECK(tokens[k] < N && !seen[tokens[k]]);
      CHECK(mx_wait(x[tokens[k]], 0) == MX_OK);
      seen[tokens[k]] = true;
    }
    n_seen += n;
  }
  CHECK(!readable(fd, 0));
  CHECK(mx_notifier_free(q) == MX_OK);
  for (size_t i = 0; i < N; i++) drop(x[i]);
  drop(base);
}

/* Work that fails tells, too; also that the runtime closed. */
static void test_failures(void) {
  int32_t fd;
  uint64_t token = 0;
  mx_notifier q = made(&fd);
  mx_array x = pending(q, 1);
  mx_request_cancel();
  watch(fd, x);
  CHECK(taken(&token, 1, q) == 1 && token == 1);
  const mx_status status = mx_wait(x, 0); /* MX_OK where it was done already */
  CHECK(status == MX_OK || status == MX_ERROR_CANCELLED);
  CHECK(mx_synchronize(NULL, 60000) == status);
  drop(x);
  x = pending(q, 2);
  CHECK(mx_shutdown(MX_CANCEL, 10000) == MX_OK);
  watch(fd, x);
  CHECK(taken(&token, 1, q) == 1 && token == 2);
  drop(x);
  mx_notifier closed;
  CHECK(mx_notifier_new(&closed) == MX_ERROR_CLOSED);
  CHECK(mx_reopen() == MX_OK);
  CHECK(mx_notifier_free(q) == MX_OK);
}

/* The notifier, or the array, goes while the work is still to come. */
static void test_freed_while_pending(void) {
  int32_t fd;
  uint64_t token = 0;
  mx_notifier q = made(&fd);
  mx_array x = pending(q, 1);
  CHECK(mx_notifier_free(q) == MX_OK);
  CHECK(mx_wait(x, 60000) == MX_OK);
  drop(x);
  q = made(&fd);
  x = pending(q, 3);
  drop(x);
  watch(fd, x);
  CHECK(taken(&token, 1, q) == 1 && token == 3);
  CHECK(mx_notifier_free(q) == MX_OK);
}

static void test_no_descriptors(void) {
  struct rlimit before, none;
  mx_notifier q = NULL;
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  none = before;
  none.rlim_cur = 0;
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const mx_status status = mx_notifier_new(&q);
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(status == MX_ERROR_IO);
  CHECK(strstr(mx_error_message(), "file descriptor") != NULL);
  CHECK(q == NULL);
}

/* In a forked child: the parent's queue is left alone, and only the child's own descriptor closed. The step that went
 * wrong, or 0, also if the harness refused it memory: each call may say that instead. */
static int wrong_in_child(mx_notifier q, int32_t fd, mx_array x) {
  mx_notifier own;
  int32_t own_fd;
  bool queued = false;
  uint64_t token;
  size_t n;
  for (int step = 1; step <= 3; step++) {
    const mx_status status = step == 1   ? mx_notifier_fd(&own_fd, q)
                             : step == 2 ? mx_notifier_take(&token, 1, &n, q)
                                         : mx_notifier_add(&queued, q, x, 1);
    if (status == MX_ERROR_OUT_OF_MEMORY) return 0;
    if (status != MX_ERROR_STALE) return step;
  }
  const mx_status status = mx_notifier_new(&own);
  if (status == MX_ERROR_OUT_OF_MEMORY) return 0;
  if (status || mx_notifier_fd(&own_fd, own)) return 4;
  if (mx_notifier_free(q) != MX_OK || fcntl(fd, F_GETFD) >= 0) return 5;
  return readable(own_fd, 0) || mx_notifier_free(own) ? 6 : 0;
}

static void test_fork(void) {
  int32_t fd;
  uint64_t token = 0;
  int how = 1;
  mx_notifier q = made(&fd);
  mx_array x = pending(q, 9);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(wrong_in_child(q, fd, x));
  CHECK(waitpid(child, &how, 0) == child);
  CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  watch(fd, x);
  CHECK(taken(&token, 1, q) == 1 && token == 9);
  CHECK(mx_notifier_free(q) == MX_OK);
  drop(x);
}

enum { ADDERS = 4, ROUNDS = 60 };
static mx_notifier shared;

static void *add_some(void *base) {
  size_t n_queued = 0;
  for (uint64_t i = 0; i < ROUNDS; i++) {
    mx_array x;
    bool queued = false;
    if (mx_multiply(&x, *(mx_array *)base, *(mx_array *)base, NULL)) break;
    if (!mx_notifier_add(&queued, shared, x, i)) n_queued += queued;
    (void)!mx_wait(x, UINT32_MAX);
    if (mx_array_free(x)) break;
  }
  return (void *)n_queued;
}

/* Several threads add while one takes: as many come out as went in. */
static void test_threads(void) {
  int32_t fd;
  size_t n_added = 0, n_taken = 0;
  uint64_t tokens[16];
  pthread_t threads[ADDERS];
  mx_array base;
  CHECK(mx_ones(&base, L(200, 500), MX_FLOAT32, NULL) == MX_OK);
  CHECK(mx_eval(&base, 1) == MX_OK);
  shared = made(&fd);
  int n_threads = 0;
  while (n_threads < ADDERS && pthread_create(&threads[n_threads], NULL, add_some, &base) == 0) n_threads++;
  for (int i = 0; i < 20; i++)
    if (readable(fd, 1)) n_taken += taken(tokens, 16, shared);
  for (int i = 0; i < n_threads; i++) {
    void *added;
    CHECK(pthread_join(threads[i], &added) == 0);
    n_added += (size_t)added;
  }
  CHECK(mx_synchronize(NULL, 60000) == MX_OK);
  for (int i = 0; i < 60000 && n_taken < n_added; i++)
    if (readable(fd, 1)) n_taken += taken(tokens, 16, shared);
  CHECK(n_taken == n_added);
  CHECK(!readable(fd, 0));
  CHECK(mx_notifier_free(shared) == MX_OK);
  drop(base);
}

int main(void) {
  test_one();
  test_many();
  test_failures();
  test_freed_while_pending();
  test_no_descriptors();
  test_fork();
  test_threads();
  return mx_handle_count(MX_HANDLE_ANY) != 0;
}
