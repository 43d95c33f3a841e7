/* A host that embeds Python: each of three interpreters, one after the other, imports pymx and leaves work running; the
 * host, and a native thread that no interpreter knows, go on using the library in between and afterwards.
 *
 * usage: embedding_host PYTHON [alone]
 *     PYTHON  the interpreter whose packages the embedded one finds
 *     alone   the host is no client: the library closes with each interpreter and the next one opens it again */
#include <Python.h>
#include <string.h>

#include "teardown.h"

static const char program[] =
    "import array, gc, sys, threading\n"
    "import pymx as mx\n"
    "f = mx.compile(lambda x, n=round: {'y': x * 2, 'z': [x + 1]})\n"
    "def work():\n"
    "    for n in range(1, 4): assert f(mx.ones((n,)))['y'].tolist() == [2.0] * n\n"
    "threads = [threading.Thread(target=work) for _ in range(3)]\n"
    "for t in threads: t.start()\n"
    "for t in threads: t.join()\n"
    "class Cycle: pass\n"
    "cycle = Cycle(); cycle.itself = cycle; cycle.array = f(mx.ones((5,)))\n"
    "borrowed = mx.asarray(memoryview(array.array('f', [1.0]) * 250000).cast('B').cast('f', (500, 500)), copy=False)\n"
    "x = borrowed\n"
    "for _ in range(10): x = (x @ borrowed) * (1 / 500)\n"
    "mx.async_eval(x)\n"
    "assert isinstance(x, mx.array) and x.dtype == mx.float32 and repr(mx.array([1])) == 'array([1], dtype=int32)'\n"
    "try: mx.zeros((2,)).reshape(3)\n"
    "except ValueError: pass\n"
    "else: raise SystemExit('no error')\n";

/* Since Python 3.14 cffi works in the first interpreter only, so pymx refuses the others. */
static const bool only_once = PY_VERSION_HEX >= 0x030e0000;
static const char refused_program[] =
    "try: import pymx\n"
    "except ImportError as e: assert 'cffi' in str(e), e\n"
    "else: raise SystemExit('no error')\n";

/* Python, with the packages of the interpreter at `path`. */
static void initialize(const char *path) {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.safe_path = 1;
  CHECK(!PyStatus_Exception(PyConfig_SetBytesString(&config, &config.program_name, path)));
  CHECK(!PyStatus_Exception(Py_InitializeFromConfig(&config)));
  PyConfig_Clear(&config);
}

static int ends, late;

/* No interpreter ever hears of this thread. */
static void *compute(void *unused) {
  (void)unused;
  mx_array x = ones(64, NULL);
  while (!__atomic_load_n(&ends, __ATOMIC_SEQ_CST))
    if (multiply(&x, 64, NULL)) raise_flag(&late);
  return park();
}

/* The library works, on the thread and beside it. */
static void use(void) {
  mx_stream stream; /* not behind what Python left */
  CHECK(mx_runtime_state() == MX_RUNNING);
  CHECK(mx_stream_new(&stream, MX_CPU, 0) == MX_OK);
  mx_array x = ones(64, stream);
  CHECK(multiply(&x, 64, stream));
  CHECK(mx_array_free(x) == MX_OK && mx_stream_free(stream) == MX_OK);
  __atomic_store_n(&late, 0, __ATOMIC_SEQ_CST);
  wait_for(&late);
}

int main(int argc, char **argv) {
  CHECK(argc >= 2);
  const bool alone = argc > 2 && !strcmp(argv[2], "alone");
  const mx_array three = number(3);
  mx_client client;
  if (!alone) {
    CHECK(mx_client_open(&client) == MX_OK);
    start(compute, NULL);
  }
  for (int round = 0; round < 3; round++) {
    initialize(argv[1]);
    if (round == 0 && PyRun_SimpleString("import importlib.util as u; assert u.find_spec('pymx')") != 0) {
      puts("not applicable: pymx is not installed");
      return 77;
    }
    CHECK(PyRun_SimpleString(round > 0 && only_once ? refused_program : program) == 0);
    CHECK(Py_FinalizeEx() == 0);
    CHECK(mx_handle_count(MX_HANDLE_CLIENT) == !alone);
    CHECK(mx_handle_count(MX_HANDLE_FUNCTION) == 0);
    CHECK(!alone || mx_handle_count(MX_HANDLE_ARRAY) == 1);
    if (alone) {
      mx_array refused = NULL;
      CHECK(mx_runtime_state() == MX_CLOSED);
      CHECK(value_of(three) == 3); /* what was computed can be read */
      CHECK(mx_add(&refused, three, three, NULL) == MX_ERROR_CLOSED);
    } else {
      use();
    }
  }
  if (!alone) {
    raise_flag(&ends);
    CHECK(mx_client_close(client, MX_CANCEL, 500) == MX_OK);
    CHECK(mx_client_free(client) == MX_OK);
  }
  return leaving(0);
}
