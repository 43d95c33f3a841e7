/* The C side of the matrix: cell EXIT STATE ends one way while one thing is going on; without arguments it lists its
 * cells, which matrix.py runs. States: as in states.py; exit paths: a row of the teardown matrix each. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "teardown.h"

/* ---- states */

static void idle(void) {
  mx_array x = number(2);
  CHECK(mx_eval(&x, 1) == MX_OK);
}

/* A chain of products of n x n ones on a stream of its own, started. */
static mx_array products(mx_array x, int length) {
  mx_stream stream;
  CHECK(mx_stream_new(&stream, MX_CPU, 0) == MX_OK);
  for (int i = 0; i < length; i++) {
    mx_array next;
    CHECK(mx_matmul(&next, x, x, stream) == MX_OK);
    CHECK(mx_array_free(x) == MX_OK);
    x = next;
  }
  CHECK(mx_async_eval(&x, 1) == MX_OK);
  return x;
}

static void work_queued(void) { products(ones(500, NULL), 400); }
static void kernel_running(void) { products(ones(2200, NULL), 1); }

static void ignore(void *payload) { (void)payload; }
static float memory[500 * 500];

/* The host's memory, given back through a callback, is in use by queued work. */
static mx_array borrowed(void) {
  const int64_t dims[] = {500, 500}, strides[] = {500 * sizeof(float), sizeof(float)};
  mx_array x;
  CHECK(mx_array_borrow_with(&x, memory, dims, 2, strides, 2, MX_FLOAT32, false, ignore, NULL) == MX_OK);
  return x;
}

static void callback_pending(void) { products(borrowed(), 1); }
static void borrowed_memory(void) { products(borrowed(), 100); }

/* A call of a function that doubles; NULL once the runtime is closing. */
static mx_array doubled(mx_function f, mx_array x, int *inside) {
  mx_call c;
  mx_call_state state;
  mx_array result = NULL;
  size_t n;
  if (mx_call_begin(&c, &state, f, &x, 1, "key", 3) != MX_OK) return NULL;
  if (state == MX_CALL_TRACE) {
    mx_array placeholder, sum = NULL;
    CHECK(mx_call_inputs(&placeholder, 1, &n, c) == MX_OK && n == 1);
    if (inside) {
      raise_flag(inside);
      park();
    }
    if (mx_add(&sum, placeholder, placeholder, NULL) == MX_OK && mx_call_commit(c, &sum, 1, 5) == MX_OK) n = 2;
    mx_array_free(placeholder);
    mx_array_free(sum);
  }
  if (mx_call_outputs(&result, 1, &n, c) != MX_OK) result = NULL;
  mx_call_end(c);
  return result;
}

static mx_function new_function(void) {
  mx_function f;
  CHECK(mx_function_new(&f, "doubled", MX_FUNCTION_DEFAULT) == MX_OK);
  return f;
}

static int started;

static void *compile_for_ever(void *unused) {
  (void)unused;
  mx_array x = number(21);
  for (mx_function f; mx_function_new(&f, "doubled", MX_FUNCTION_DEFAULT) == MX_OK; mx_function_free(f)) {
    mx_array y = doubled(f, x, NULL);
    if (!y || mx_eval(&y, 1) != MX_OK) break;
    mx_array_free(y);
    raise_flag(&started);
  }
  return park();
}

static void *trace_for_ever(void *unused) {
  (void)unused;
  doubled(new_function(), number(21), &started);
  return NULL;
}

static mx_function shared;

static void *call_shared(void *unused) {
  (void)unused;
  mx_array y = doubled(shared, number(21), NULL);
  CHECK(y && value_of(y) == 42);
  return NULL;
}

static void compiling(void) {
  start(compile_for_ever, NULL);
  wait_for(&started);
}

static void tracing(void) {
  start(trace_for_ever, NULL);
  wait_for(&started);
}

static void cache_of_main_thread(void) {
  shared = new_function();
  call_shared(NULL);
}

static void join(void *(*body)(void *)) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, body, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void cache_of_another_thread(void) {
  shared = new_function();
  join(call_shared);
}

static const struct {
  char name;
  void (*enter)(void);
} states[] = {
    {'I', idle},
    {'Q', work_queued},
    {'K', kernel_running},
    {'C', callback_pending},
    {'P', compiling},
    {'T', tracing},
    {'M', cache_of_main_thread},
    {'O', cache_of_another_thread},
    {'Z', borrowed_memory},
};
static void (*enter)(void);

/* ---- exit paths: what main returns */

/* A small computation that does not stand behind what is queued. */
static void use(void) {
  mx_stream stream;
  mx_array x = number(2), y;
  CHECK(mx_stream_new(&stream, MX_CPU, 0) == MX_OK);
  CHECK(mx_add(&y, x, x, stream) == MX_OK);
  CHECK(value_of(y) == 4);
  CHECK(mx_array_free(x) == MX_OK && mx_array_free(y) == MX_OK && mx_stream_free(stream) == MX_OK);
}

static int return_from_main(void) {
  enter();
  return leaving(5);
}

static int exit_of_main_thread(void) {
  enter();
  exit(leaving(5));
}

static void *call_exit(void *unused) {
  (void)unused;
  exit(leaving(5));
}

static int exit_of_another_thread(void) {
  enter();
  start(call_exit, NULL);
  park();
  return 0;
}

static int ends_at_once(void) {
  enter();
  _exit(leaving(5));
}

static int quick_end(void) {
  enter();
  quick_exit(leaving(5));
}

static int aborts(void) {
  enter();
  leaving(-SIGABRT);
  abort();
}

static int terminated(void) {
  enter();
  leaving(-SIGTERM);
  raise(SIGTERM);
  return 0;
}

static void exit_handler(int number) {
  (void)number;
  exit(leaving(5));
}

/* The main thread is interrupted while it computes. */
static int exit_in_signal_handler(void) {
  enter();
  signal(SIGALRM, exit_handler);
  ualarm(30000, 0);
  mx_array x = ones(200, NULL);
  while (multiply(&x, 200, NULL)) continue;
  park();
  return 0;
}

static void cancel_handler(int number) {
  (void)number;
  mx_request_cancel();
}

/* Ctrl-C cancels what is waited for, and the process goes on. */
static int cancelled_by_signal(void) {
  enter();
  signal(SIGINT, cancel_handler);
  mx_array x = products(ones(500, NULL), 2000);
  sleep_ms(20);
  raise(SIGINT);
  CHECK(mx_wait(x, 20000) == MX_ERROR_CANCELLED);
  use();
  return leaving(0);
}

static int child_of(pid_t pid) {
  int status = 0;
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static int forked_child_computes(void) {
  enter();
  const pid_t pid = fork();
  if (pid == 0) {
    use();
    exit(7);
  }
  CHECK(child_of(pid) == 7);
  use();
  return leaving(0);
}

static int forked_child_exits(void) {
  enter();
  const pid_t pid = fork();
  if (pid == 0) exit(7);
  CHECK(child_of(pid) == 7);
  return leaving(0);
}

static int fork_and_exec(void) {
  char *const command[] = {"/bin/true", NULL};
  enter();
  for (int i = 0; i < 5; i++) {
    pid_t pid = fork();
    if (pid == 0) execv(command[0], command);
    CHECK(child_of(pid) == 0);
    CHECK(posix_spawn(&pid, command[0], NULL, NULL, command, NULL) == 0);
    CHECK(child_of(pid) == 0);
  }
  return leaving(0);
}

static void *enter_on_thread(void *unused) {
  (void)unused;
  enter();
  return NULL;
}

static int thread_ends(void) {
  join(enter_on_thread);
  use();
  return leaving(0);
}

static int shut_down(void) {
  enter();
  leaving(5);
  CHECK(mx_shutdown(MX_CANCEL, 500) == MX_OK);
  return 5;
}

static const struct {
  int row;
  const char *name;
  int (*end)(void);
} paths[] = {
    {1, "return_from_main", return_from_main},
    {1, "shut_down", shut_down},
    {2, "exit_of_main_thread", exit_of_main_thread},
    {2, "exit_of_another_thread", exit_of_another_thread},
    {3, "_exit", ends_at_once},
    {3, "quick_exit", quick_end},
    {4, "abort", aborts},
    {5, "sigterm", terminated},
    {6, "exit_in_signal_handler", exit_in_signal_handler},
    {7, "cancelled_by_signal", cancelled_by_signal},
    {15, "forked_child_computes", forked_child_computes},
    {16, "forked_child_exits", forked_child_exits},
    {17, "fork_and_exec", fork_and_exec},
    {20, "thread_ends", thread_ends},
};

int main(int argc, char **argv) {
  const size_t n_paths = sizeof paths / sizeof *paths, n_states = sizeof states / sizeof *states;
  if (argc != 3) {
    for (size_t p = 0; p < n_paths; p++)
      for (size_t s = 0; s < n_states; s++) printf("%d %s %c\n", paths[p].row, paths[p].name, states[s].name);
    return 0;
  }
  for (size_t s = 0; s < n_states; s++)
    if (states[s].name == *argv[2]) enter = states[s].enter;
  for (size_t p = 0; p < n_paths; p++)
    if (!strcmp(paths[p].name, argv[1]) && enter) return paths[p].end();
  fprintf(stderr, "no such cell: %s %s\n", argv[1], argv[2]);
  return 2;
}
