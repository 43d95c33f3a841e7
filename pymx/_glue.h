/* The hand-written part of the extension: the table of all builtins. Conversions are in _convert.h, the C part of class
 * array in _fast_array.h (indexing in _fast_index.h, tolist in _fast_list.h), evaluation and compiled calls in
 * _fast_call.h, memory that goes in and out in _exchange.h.
 *
 * Every builtin gets, as its module, a list whose only item is this interpreter's class array: what handles of arrays
 * are wrapped in. Python code can run only while arguments are converted, never inside a library call. */
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
static PyMethodDef builtins[] = {PYMX_BUILTINS,
                                 {"check", py_check, METH_O, NULL},
                                 {"set_errors", py_set_errors, METH_O, NULL},
                                 {"set_array_class", py_set_array_class, METH_O, NULL},
                                 {"eval_now", py_eval_now, METH_O, NULL},
                                 {"item_now", py_item_now, METH_O, NULL},
                                 {"tolist", py_tolist, METH_O, NULL},
                                 FASTCALL(copy_buffer),
                                 FASTCALL(borrow_buffer),
                                 FASTCALL(dlpack_export),
                                 FASTCALL(dlpack_import),
                                 {"dlpack_release", py_dlpack_release, METH_O, NULL},
                                 {NULL, NULL, 0, NULL}};

static PyObject *make_builtins(void) {
  PyObject *dict = PyDict_New();
  PyObject *holder = Py_BuildValue("[O]", Py_None);
  if (!holder) Py_CLEAR(dict);
  for (PyMethodDef *def = builtins; dict && def->ml_name; def++) {
    PyObject *function = PyCFunction_New(def, holder);
    if (!function || PyDict_SetItemString(dict, def->ml_name, function)) Py_CLEAR(dict);
    Py_XDECREF(function);
  }
  Py_XDECREF(holder);
  PyObject *compiled = dict ? make_compiled_base() : NULL;
  if (dict && (!compiled || PyDict_SetItemString(dict, "CompiledBase", compiled))) Py_CLEAR(dict);
  Py_XDECREF(compiled);
  return dict;
}

/* cffi hands out these two addresses; Python calls each once through ctypes.PYFUNCTYPE(ctypes.py_object). */
static uintptr_t pymx_builtins(void) { return (uintptr_t)make_builtins; }
static uintptr_t pymx_buffer_base(void) { return (uintptr_t)make_array_base; }
