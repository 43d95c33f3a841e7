/* fork after the library was refused its registration with the C library, and got it the next time. */
#include <dlfcn.h>
#include <sys/wait.h>

#include "teardown.h"

static int refuses, n_refused;

/* Comes before the C library's. */
int __cxa_atexit(void (*function)(void *), void *argument, void *object);
int __cxa_atexit(void (*function)(void *), void *argument, void *object) {
  int (*real)(void (*)(void *), void *, void *);
  if (refuses) return n_refused++, -1;
  *(void **)&real = dlsym(RTLD_NEXT, "__cxa_atexit");
  return real(function, argument, object);
}

static void compute(void) {
  mx_array x = ones(64, NULL);
  CHECK(multiply(&x, 64, NULL));
  CHECK(mx_eval(&x, 1) == MX_OK);
  CHECK(mx_array_free(x) == MX_OK);
}

int main(void) {
  mx_array x = NULL, y = number(2);
  refuses = 1;
  CHECK(mx_exp(&x, y, NULL) == MX_ERROR_OUT_OF_MEMORY || mx_eval(&x, 1) == MX_ERROR_OUT_OF_MEMORY);
  CHECK(n_refused > 0);
  refuses = 0;
  compute();
  const pid_t pid = fork();
  CHECK(pid >= 0);
  compute();
  if (pid == 0) _exit(0);
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return leaving(0);
}
