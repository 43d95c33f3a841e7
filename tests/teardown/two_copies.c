/* Two copies of the library in one process, in files of their own, each with its own runtime. One is shut down while
 * both compute; the other goes on, forks, and is busy when the process ends. usage: two_copies LIBMX */
#include <dlfcn.h>
#include <sys/wait.h>

#include "teardown_loaded.h"

/* What the program calls of one copy. */
typedef struct {
  ADDRESS_OF(mx_stream_new) stream_new;
  ADDRESS_OF(mx_ones) ones;
  ADDRESS_OF(mx_matmul) matmul;
  ADDRESS_OF(mx_async_eval) async_eval;
  ADDRESS_OF(mx_array_read) read;
  ADDRESS_OF(mx_shutdown) shutdown;
  ADDRESS_OF(mx_runtime_state) state;
  ADDRESS_OF(mx_handle_count) handle_count;
} Copy;

static Copy copy_of(void *library) {
  CHECK(library);
  const Copy c = {LOOK_UP(library, mx_stream_new),    LOOK_UP(library, mx_ones),        LOOK_UP(library, mx_matmul),
                  LOOK_UP(library, mx_async_eval),    LOOK_UP(library, mx_array_read),  LOOK_UP(library, mx_shutdown),
                  LOOK_UP(library, mx_runtime_state), LOOK_UP(library, mx_handle_count)};
  return c;
}

/* A second file with the same contents, which is gone once it is loaded. */
static void *load_copy(const char *path) {
  char name[] = "/tmp/libmx-copy-XXXXXX", buffer[65536];
  const int file = mkstemp(name);
  FILE *from = fopen(path, "rb");
  CHECK(file >= 0 && from);
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, from)) > 0;) CHECK(write(file, buffer, n) == (ssize_t)n);
  fclose(from);
  close(file);
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  CHECK(unlink(name) == 0);
  return library;
}

/* Starts a chain of products of ones, and gives one that is small. */
static mx_array begin(const Copy *c, int length) {
  const int64_t shape[] = {400, 400};
  mx_stream stream;
  mx_array x;
  CHECK(c->stream_new(&stream, MX_CPU, 0) == MX_OK);
  CHECK(c->ones(&x, shape, 2, MX_FLOAT32, stream) == MX_OK);
  for (int i = 0; i < length; i++) CHECK(c->matmul(&x, x, x, stream) == MX_OK);
  CHECK(c->async_eval(&x, 1) == MX_OK);
  return x;
}

static float values[400 * 400];

static void check_product(const Copy *c) {
  CHECK(c->read(values, sizeof values, begin(c, 1)) == MX_OK);
  CHECK(values[0] == 400 && values[400 * 400 - 1] == 400);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  const Copy first = copy_of(dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)), second = copy_of(load_copy(argv[1]));
  CHECK(first.ones != second.ones);
  check_product(&first);
  CHECK(first.handle_count(MX_HANDLE_ARRAY) == 2 && second.handle_count(MX_HANDLE_ARRAY) == 0);
  begin(&first, 200);
  begin(&second, 200);
  CHECK(first.shutdown(MX_CANCEL, 1000) == MX_OK);
  CHECK(first.state() == MX_CLOSED && second.state() == MX_RUNNING);
  check_product(&second);
  const pid_t pid = fork();
  if (pid == 0) {
    check_product(&second);
    exit(7);
  }
  int status = 0;
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  return leaving(5);
}
