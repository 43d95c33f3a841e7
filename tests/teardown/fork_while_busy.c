/* fork while streams and threads are busy. One child exits at once, one computes, one reads what the parent left. */
#include <sys/wait.h>

#include "teardown.h"

static int running;

static void *work(void *unused) {
  (void)unused;
  mx_array x = ones(64, NULL);
  while (multiply(&x, 64, NULL)) raise_flag(&running);
  return park();
}

static int child(int kind, mx_array computed, mx_array pending) {
  if (kind == 0) return 0;
  if (kind == 1) {
    mx_array x = ones(64, NULL);
    CHECK(multiply(&x, 64, NULL));
    CHECK(mx_array_free(x) == MX_OK);
    return 0;
  }
  static float values[200 * 200];
  CHECK(mx_array_read(values, sizeof values, computed) == MX_OK && values[39999] == 1);
  const mx_status status = mx_wait(pending, 1000);
  CHECK(status == MX_OK || status == MX_ERROR_FORKED);
  return 0;
}

int main(void) {
  mx_stream streams[2];
  mx_array computed = ones(200, NULL), pending[2];
  CHECK(mx_eval(&computed, 1) == MX_OK);
  for (int s = 0; s < 2; s++) {
    CHECK(mx_stream_new(&streams[s], MX_CPU, 0) == MX_OK);
    pending[s] = ones(500, streams[s]);
    for (int i = 0; i < 20; i++) {
      mx_array next;
      CHECK(mx_matmul(&next, pending[s], pending[s], streams[s]) == MX_OK);
      CHECK(mx_array_free(pending[s]) == MX_OK);
      pending[s] = next;
    }
  }
  CHECK(mx_async_eval(pending, 2) == MX_OK);
  start(work, NULL);
  wait_for(&running);
  for (int kind = 0; kind < 3; kind++) {
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) exit(child(kind, computed, pending[0]));
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  return leaving(0);
}
