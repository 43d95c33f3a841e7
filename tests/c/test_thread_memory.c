/* A thread's first use of the library where the process has next to no memory: a status, never the end of the process.
 */
#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "values.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 0 }; /* their allocators end the process */
#else
enum { ROUNDS = 24 };
#endif

typedef struct Block {
  struct Block *next;
} Block;

/* At most n blocks, in front of the list. */
static Block *take(Block *list, size_t n_bytes, int n) {
  for (Block *b; n-- > 0 && (b = malloc(n_bytes)) != NULL; list = b) b->next = list;
  return list;
}

static void give(Block **list, int n) {
  while (n-- > 0 && *list) {
    Block *b = *list;
    *list = b->next;
    free(b);
  }
}

static int n_left; /* how many small blocks of each size the thread finds */

static void *first_use(void *unused) {
  (void)unused;
  static const size_t sizes[] = {24, 40, 56, 72, 88, 104, 136, 200, 264, 520, 1032};
  enum { N_SIZES = sizeof sizes / sizeof *sizes };
  Block *small[N_SIZES] = {NULL}, *all = NULL;
  char *spare = malloc(1 << 16);
  for (int i = 0; i < N_SIZES; i++) small[i] = take(NULL, sizes[i], n_left);
  for (size_t n = 1 << 24; n >= 16; n /= 2) all = take(all, n, INT_MAX);
  for (int i = 0; i < N_SIZES; i++) give(&small[i], n_left);
  mx_stream s = NULL;
  const mx_status status = mx_default_stream(&s, MX_CPU, 0);
  free(spare);
  give(&all, INT_MAX);
  if (status == MX_OK && mx_stream_free(s)) return (void *)1;
  return status == MX_OK || status == MX_ERROR_OUT_OF_MEMORY ? NULL : (void *)2;
}

/* In a process of its own, as what was taken is not given back. */
static int child(void) {
  pthread_t thread;
  void *result = (void *)3;
  struct rlimit limit = {.rlim_cur = 1 << 28, .rlim_max = RLIM_INFINITY};
  char statm[64] = "";
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || !fgets(statm, sizeof statm, f) || fclose(f)) return 4;
  limit.rlim_cur = strtoull(statm, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)(100 << 20);
  if (setrlimit(RLIMIT_AS, &limit)) return 5;
  if (pthread_create(&thread, NULL, first_use, NULL)) return 6;
  if (pthread_join(thread, &result)) return 7;
  return (int)(intptr_t)result;
}

int main(void) {
  mx_array x = array(MX_FLOAT32, D(2), V(1, 2));
  CHECK(mx_eval(&x, 1) == MX_OK);
  drop(x);
  for (n_left = 0; n_left < ROUNDS; n_left++) {
    int how = 1;
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) _exit(child());
    CHECK(waitpid(pid, &how, 0) == pid);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
      fprintf(stderr, "with %d blocks of each size left: status %#x\n", n_left, how);
    CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  }
  return 0;
}
