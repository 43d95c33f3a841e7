/* Evaluation and compiled calls without a detour: builtins that try what can be done at once with the GIL kept, and say
 * so when the long way through Python is needed. */

enum { MAX_FAST = 64 }; /* arguments and results of the fast paths; more take the long way */

/* How long a wait takes at most before it comes back to Python, so that signals get through: as SLICE_MS in
 * _ffi.py. */
enum { SLICE_MS = 50 };

/* Calls f with what a builtin was given. */
static PyObject *call_with(PyObject *f, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  PyObject *all = PyTuple_New(n), *named = names ? PyDict_New() : NULL, *result = NULL;
  bool ok = all && (!names || named);
  for (Py_ssize_t i = 0; ok && i < n; i++) PyTuple_SetItem(all, i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; ok && names && i < PyTuple_Size(names); i++)
    ok = !PyDict_SetItem(named, PyTuple_GetItem(names, i), args[n + i]);
  if (ok) result = PyObject_Call(f, all, named);
  Py_XDECREF(all);
  Py_XDECREF(named);
  return result;
}

/* eval(*args): arrays at once, short work with the GIL kept; else the function that set_long_eval was given. */
static PyObject *py_eval(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  mx_array handles[MAX_FAST];
  bool done = false;
  Py_ssize_t i = 0;
  for (; i < n && n <= MAX_FAST; i++) {
    if (!is_array(args[i])) break;
    handles[i] = handle_of(args[i]);
  }
  if (i == n && !names) {
    mx_status status = mx_eval_inline(&done, handles, (size_t)n);
    if (!status && !done) {
      PyThreadState *thread = PyEval_SaveThread();
      status = mx_eval_for(handles, (size_t)n, SLICE_MS);
      PyEval_RestoreThread(thread);
      if (!status) return PyObject_CallNoArgs(PyList_GetItem(module, HELD_DRAIN));
    }
    if (done) return Py_NewRef(Py_None);
    if (status != MX_ERROR_TIMEOUT) return raise_status(status);
  }
  return call_with(PyList_GetItem(module, HELD_LONG_EVAL), args, n, names);
}

static const char eval_doc[] =
    "eval($module, /, *args, timeout=None)\n--\n\n"
    "Computes all arrays in the trees and waits for them. Leaves that are no arrays are ignored. Raises the first\n"
    "failure among them. TimeoutError after `timeout` seconds: the work goes on, and can be waited for again.";

/* ---- compiled functions: a hit on array arguments alone runs no Python code */

/* What a tag says about the results; compile.py makes the others up. */
enum { TAG_ARRAY = 0, TAG_TUPLE = 1, TAG_LIST = 2 };

/* The base of compile.py's CompiledFunction. */
typedef struct {
  PyObject_HEAD mx_function function;
  bool is_plain; /* captures nothing: only the arguments decide */
  PyObject *array_class;
} CompiledObject;

/* _setup(handle, is_plain, array_class): takes over the handle. */
static PyObject *compiled_setup(PyObject *self, PyObject *args) {
  CompiledObject *x = (CompiledObject *)self;
  unsigned long long handle;
  int is_plain;
  PyObject *cls;
  if (!PyArg_ParseTuple(args, "KpO", &handle, &is_plain, &cls)) return NULL;
  if (x->function) mx_function_free(x->function);
  x->function = handle;
  x->is_plain = is_plain != 0;
  Py_XDECREF(x->array_class);
  x->array_class = Py_NewRef(cls);
  return Py_NewRef(Py_None);
}

static PyObject *compiled_results(CompiledObject *self, uint64_t tag, mx_array *out, size_t n) {
  if (tag == TAG_ARRAY && n == 1) return make_array((PyTypeObject *)self->array_class, out[0]);
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; i < n; i++) {
    PyObject *item = list ? make_array((PyTypeObject *)self->array_class, out[i]) : NULL;
    if (!list) mx_array_free(out[i]);
    if (list && (!item || PyList_SetItem(list, (Py_ssize_t)i, item))) Py_CLEAR(list);
  }
  if (!list || tag == TAG_LIST) return list;
  PyObject *result = tag == TAG_TUPLE
                         ? PyList_AsTuple(list)
                         : PyObject_CallMethod((PyObject *)self, "_build", "KO", (unsigned long long)tag, list);
  Py_DECREF(list);
  return result;
}

/* The way through Python. */
static PyObject *compiled_long(PyObject *self, PyObject *args, PyObject *kwargs) {
  PyObject *method = PyObject_GetAttrString(self, "_call");
  PyObject *result = method ? PyObject_Call(method, args, kwargs) : NULL;
  Py_XDECREF(method);
  return result;
}

static PyObject *compiled_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  CompiledObject *x = (CompiledObject *)self;
  mx_array in[MAX_FAST], out[MAX_FAST];
  uint64_t tag = 0;
  size_t n_out = 0;
  bool hit = false;
  const Py_ssize_t n_in = PyTuple_Size(args);
  if (!x->is_plain || n_in > MAX_FAST || (kwargs && PyDict_Size(kwargs))) return compiled_long(self, args, kwargs);
  for (Py_ssize_t i = 0; i < n_in; i++) {
    PyObject *item = PyTuple_GetItem(args, i);
    if (!is_array(item)) return compiled_long(self, args, kwargs);
    in[i] = handle_of(item);
  }
  const char key[2] = {'P', (char)n_in}; /* what the encoder of compile.py makes of n_in positional arrays */
  const mx_status status =
      mx_function_call(out, MAX_FAST, &n_out, &hit, &tag, x->function, in, (size_t)n_in, key, sizeof key);
  if (status == MX_ERROR_INVALID_ARGUMENT || (!status && !hit)) return compiled_long(self, args, kwargs);
  return status ? raise_status(status) : compiled_results(x, tag, out, n_out);
}

static int compiled_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((CompiledObject *)self)->array_class);
  return 0;
}

static int compiled_clear(PyObject *self) {
  Py_CLEAR(((CompiledObject *)self)->array_class);
  return 0;
}

static void compiled_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  compiled_clear(self);
  if (((CompiledObject *)self)->function) mx_function_free(((CompiledObject *)self)->function);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyObject *compiled_handle(PyObject *self, void *closure) {
  return PyLong_FromUnsignedLongLong(((CompiledObject *)self)->function);
}

static PyObject *make_compiled_base(void) {
  static PyMethodDef methods[] = {{"_setup", compiled_setup, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
  static PyGetSetDef getters[] = {{"_handle", compiled_handle, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
  static PyType_Slot slots[] = {{Py_tp_call, (void *)compiled_call},
                                {Py_tp_traverse, (void *)compiled_traverse},
                                {Py_tp_clear, (void *)compiled_clear},
                                {Py_tp_dealloc, (void *)compiled_dealloc},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, getters},
                                {0, NULL}};
  static PyType_Spec spec = {"pymx.CompiledBase", sizeof(CompiledObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  return PyType_FromSpec(&spec);
}

/* What Python tells this interpreter's builtins: the class that arrays are wrapped in, and so on. */
static PyObject *hold(PyObject *module, Py_ssize_t which, PyObject *value) {
  return PyList_SetItem(module, which, Py_NewRef(value)) ? NULL : Py_NewRef(Py_None);
}

static PyObject *py_set_array_class(PyObject *module, PyObject *cls) {
  if (!array_usual) {
    dtypes_usual = PyObject_GetAttrString(cls, "_dtypes");
    if (!dtypes_usual) return NULL;
    array_usual = (PyTypeObject *)Py_NewRef(cls);
    usual_interpreter = PyInterpreterState_GetID(PyInterpreterState_Get());
  }
  return hold(module, HELD_ARRAY_CLASS, cls);
}

/* interpreter_ends(): what is left of it finds its classes no more by the short way. */
static PyObject *py_interpreter_ends(PyObject *module, PyObject *unused) {
  const int64_t id = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (array_usual && usual_interpreter == id) {
    Py_CLEAR(array_usual);
    Py_CLEAR(dtypes_usual);
  }
  if (id == 0) base_is_old = true;
  return Py_NewRef(Py_None);
}

/* leak(x): gives an object a reference that nothing ever gives back. */
static PyObject *py_leak(PyObject *module, PyObject *x) {
  Py_INCREF(x);
  return Py_NewRef(Py_None);
}

static PyObject *py_set_long_eval(PyObject *module, PyObject *function) {
  return hold(module, HELD_LONG_EVAL, function);
}
static PyObject *py_set_drain(PyObject *module, PyObject *function) { return hold(module, HELD_DRAIN, function); }
