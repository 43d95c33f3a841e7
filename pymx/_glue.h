/* The hand-written part of the extension: the table of all builtins. Conversions are in _convert.h, the C part of class
 * array in _fast_array.h (indexing in _fast_index.h, tolist in _fast_list.h), evaluation and compiled calls in
 * _fast_call.h, memory that goes in and out in _exchange.h.
 *
 * Every builtin gets, as its module, a list of what belongs to this interpreter (HELD_...). Python code can run only
 * while arguments are converted, never inside a library call. */
// clang-format off: each needs those before it
#include "_convert.h"
#include "_fast_array.h"
#include "_builtins.h"
#include "_exchange.h"
#include "_fast_call.h"
#include "_fast_index.h"
#include "_fast_list.h"
// clang-format on

#define FASTCALL(name) {#name, (PyCFunction)(void (*)(void))py_##name, METH_FASTCALL, NULL}
static PyMethodDef builtins[] = {
    PYMX_BUILTINS,
    {"check", py_check, METH_O, NULL},
    {"set_errors", py_set_errors, METH_O, NULL},
    {"set_array_class", py_set_array_class, METH_O, NULL},
    {"set_long_eval", py_set_long_eval, METH_O, NULL},
    {"set_drain", py_set_drain, METH_O, NULL},
    {"interpreter_ends", py_interpreter_ends, METH_NOARGS, NULL},
    {"leak", py_leak, METH_O, NULL},
    {"eval", (PyCFunction)(void (*)(void))py_eval, METH_FASTCALL | METH_KEYWORDS, eval_doc},
    {"tolist", py_tolist, METH_O, NULL},
    FASTCALL(copy_buffer),
    FASTCALL(borrow_buffer),
    FASTCALL(dlpack_export),
    FASTCALL(dlpack_import),
    {"dlpack_release", py_dlpack_release, METH_O, NULL},
    {NULL, NULL, 0, NULL}};

/* Steals the reference; 0 on failure. */
static int add(PyObject *module, const char *name, PyObject *value) {
  const int failed = !value || PyModule_AddObjectRef(module, name, value);
  Py_XDECREF(value);
  return !failed;
}

/* A second module in the file of the first, pymx._mx; _ffi.py loads it. */
PyMODINIT_FUNC PyInit__fast(void) {
  static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "pymx._fast", NULL, 0, NULL, NULL, NULL, NULL, NULL};
  PyObject *module = PyModule_Create(&def);
  PyObject *holder = PyList_New(N_HELD);
  PyObject *name = PyUnicode_FromString("pymx");
  int ok = module && holder && name;
  for (PyMethodDef *m = builtins; ok && m->ml_name; m++)
    ok = add(module, m->ml_name, PyCFunction_NewEx(m, holder, name));
  ok = ok && add(module, "BufferBase", make_array_base()) && add(module, "CompiledBase", make_compiled_base());
  Py_XDECREF(holder);
  Py_XDECREF(name);
  if (!ok) Py_CLEAR(module);
  return module;
}
