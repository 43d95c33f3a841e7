/* Conversions between Python objects and the C types of the builtins that tools/gen_py.py generates, and the exception
 * classes by status. Python code can run only inside these conversions (an argument's __index__, say), never inside a
 * library call; so what they hold on to must not change when it does. Limited API of Python 3.11.
 *
 *   to_X        one argument; 0 with an exception set on failure
 *   sequence_X  a list of arguments, in memory that release_X gives back, also after a failure
 *   from_X      a result, a new reference
 *
 * Builtins take and return arrays as objects, other handles as integers (in: also as objects with an attribute
 * `_handle`). What includes this file defines to_mx_array and wrap_array. */
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define MX_CFFI
#define MX_NOWAIT
#define MX_OPTIONAL
#include <mx/mx.h>

/* ---- errors */

/* Kept in the dict of each interpreter: {status: exception class}. */
static const char errors_key[] = "pymx._errors";

/* The class for a status, RuntimeError for one of the rest. Borrowed. No exception may be set. */
static PyObject *error_type(mx_status status) {
  PyObject *all = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject *types = all ? PyDict_GetItemString(all, errors_key) : NULL;
  PyObject *number = types ? PyLong_FromLong(status) : NULL;
  PyObject *type = number ? PyDict_GetItemWithError(types, number) : NULL;
  Py_XDECREF(number);
  PyErr_Clear();
  return type ? type : PyExc_RuntimeError;
}

static PyObject *raise_status(mx_status status) {
  const char *text = mx_error_message();
  PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  if (message) PyErr_SetObject(error_type(status), message);
  Py_XDECREF(message);
  return NULL;
}

/* No status: what set_errors names under this is raised for an argument of a wrong type. */
enum { WRONG_TYPE = 1000 };

/* After an argument could not be converted: a plain TypeError or OverflowError becomes the class that stands for it
 * here, and says which argument of which function it is about; it keeps the first one as its cause. */
static void wrong(const char *function, const char *argument) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const mx_status status = type == PyExc_TypeError       ? (mx_status)WRONG_TYPE
                           : type == PyExc_OverflowError ? MX_ERROR_OVERFLOW
                                                         : MX_OK;
  if (!status) {
    PyErr_Restore(type, value, traceback);
    return;
  }
  PyErr_NormalizeException(&type, &value, &traceback);
  PyErr_Format(error_type(status), "%s: %s: %S", function, argument, value);
  PyObject *new_type, *new_value, *new_traceback;
  PyErr_Fetch(&new_type, &new_value, &new_traceback);
  PyErr_NormalizeException(&new_type, &new_value, &new_traceback);
  PyException_SetCause(new_value, value);
  PyErr_Restore(new_type, new_value, new_traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
}

/* set_errors({status: exception class}): what raise_status raises in this interpreter; RuntimeError for the rest. */
static PyObject *py_set_errors(PyObject *module, PyObject *dict) {
  (void)module;
  PyObject *all = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (!all || !PyDict_Check(dict)) return PyErr_SetString(PyExc_TypeError, "set_errors needs a dict"), NULL;
  return PyDict_SetItemString(all, errors_key, dict) ? NULL : Py_NewRef(Py_None);
}

/* check(status): raises unless it is MX_OK; for functions called through cffi. */
static PyObject *py_check(PyObject *module, PyObject *arg) {
  const long status = PyLong_AsLong(arg);
  (void)module;
  if (status == -1 && PyErr_Occurred()) return NULL;
  return status ? raise_status((mx_status)status) : Py_NewRef(Py_None);
}

static int arity(const char *name, Py_ssize_t expected, Py_ssize_t n) {
  if (n != expected) PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, got %zd", name, expected, n);
  return n == expected;
}

/* ---- one argument */

static inline int to_int64_t(PyObject *o, int64_t *out) {
  *out = PyLong_AsLongLong(o); /* takes anything with __index__ */
  return *out != -1 || !PyErr_Occurred();
}

static inline int to_uint64_t(PyObject *o, uint64_t *out) {
  if (PyLong_Check(o)) {
    *out = PyLong_AsUnsignedLongLong(o);
  } else {
    PyObject *index = PyNumber_Index(o);
    if (!index) return 0;
    *out = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
  }
  return *out != UINT64_MAX || !PyErr_Occurred();
}

static inline int to_size_t(PyObject *o, size_t *out) {
  uint64_t value;
  if (!to_uint64_t(o, &value)) return 0;
  *out = (size_t)value;
  return 1;
}

static inline int in_range(int64_t value, int64_t min, int64_t max) {
  if (value < min || value > max) PyErr_Format(PyExc_OverflowError, "%lld is out of range", (long long)value);
  return value >= min && value <= max;
}

static inline int to_int32_t(PyObject *o, int32_t *out) {
  int64_t value;
  if (!to_int64_t(o, &value) || !in_range(value, INT32_MIN, INT32_MAX)) return 0;
  *out = (int32_t)value;
  return 1;
}

static inline int to_uint32_t(PyObject *o, uint32_t *out) {
  int64_t value;
  if (!to_int64_t(o, &value) || !in_range(value, 0, UINT32_MAX)) return 0;
  *out = (uint32_t)value;
  return 1;
}

/* Any enum: the library checks the value. */
static inline int to_int(PyObject *o, int *out) { return to_int32_t(o, out); }

static inline int to_bool(PyObject *o, bool *out) {
  const int value = PyObject_IsTrue(o);
  *out = value > 0;
  return value >= 0;
}

static inline int to_double(PyObject *o, double *out) {
  *out = PyFloat_AsDouble(o); /* takes anything with __float__ or __index__ */
  return *out != -1 || !PyErr_Occurred();
}

static inline int to_float(PyObject *o, float *out) {
  double value;
  if (!to_double(o, &value)) return 0;
  *out = (float)value;
  return 1;
}

/* The handle inside an object of class array; TypeError for other objects. */
static int to_mx_array(PyObject *o, mx_array *out);

static inline int to_optional_mx_array(PyObject *o, mx_array *out) {
  return o == Py_None ? (*out = 0, 1) : to_mx_array(o, out);
}

/* Streams, functions, calls and so on; None is no handle. */
static inline int to_handle(PyObject *o, uint64_t *out) {
  if (o == Py_None) return *out = 0, 1;
  if (PyLong_Check(o)) return to_uint64_t(o, out);
  PyObject *attribute = PyObject_GetAttrString(o, "_handle");
  if (!attribute) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return 0;
    PyErr_Clear();
    return PyErr_Format(PyExc_TypeError, "expected a handle or None, got %R", Py_TYPE(o)), 0;
  }
  const int ok = to_uint64_t(attribute, out);
  Py_DECREF(attribute);
  return ok;
}

static inline int to_optional_handle(PyObject *o, uint64_t *out) { return to_handle(o, out); }

/* An address as an int. */
static inline int to_pointer(PyObject *o, void **out) {
  uint64_t value;
  if (!to_uint64_t(o, &value)) return 0;
  *out = (void *)(uintptr_t)value;
  return 1;
}

static inline int to_optional_pointer(PyObject *o, void **out) {
  return o == Py_None ? (*out = NULL, 1) : to_pointer(o, out);
}

/* UTF-8 that lives as long as the string. */
static inline int to_string(PyObject *o, const char **out) {
  Py_ssize_t n = 0;
  *out = PyUnicode_AsUTF8AndSize(o, &n);
  if (*out && strlen(*out) != (size_t)n) return PyErr_SetString(PyExc_ValueError, "embedded null character"), 0;
  return *out != NULL;
}

static inline int to_optional_string(PyObject *o, const char **out) {
  return o == Py_None ? (*out = NULL, 1) : to_string(o, out);
}

static int scalar_from_int(PyObject *o, mx_scalar *out) {
  int overflow = 0;
  out->kind = MX_SCALAR_INT;
  out->i = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow <= 0) return overflow == 0 ? out->i != -1 || !PyErr_Occurred() : (PyLong_AsLongLong(o), 0);
  const unsigned long long value = PyLong_AsUnsignedLongLong(o); /* OverflowError beyond 64 bits */
  if (value == (unsigned long long)-1 && PyErr_Occurred()) return 0;
  out->kind = MX_SCALAR_UINT;
  out->i = (int64_t)value;
  return 1;
}

/* The scalars of NumPy and others, told apart by what they can turn into. */
static int scalar_from_other(PyObject *o, mx_scalar *out) {
  PyObject *name = PyType_GetName(Py_TYPE(o));
  const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  const int is_bool = text && (strcmp(text, "bool") == 0 || strcmp(text, "bool_") == 0);
  const int is_complex = text && strncmp(text, "complex", 7) == 0;
  Py_XDECREF(name);
  if (!text) return 0;
  if (is_bool) {
    const int value = PyObject_IsTrue(o);
    *out = (mx_scalar){MX_SCALAR_BOOL, value > 0, 0, 0};
    return value >= 0;
  }
  if (PyIndex_Check(o)) {
    PyObject *index = PyNumber_Index(o);
    const int ok = index && scalar_from_int(index, out);
    Py_XDECREF(index);
    return ok;
  }
  if (is_complex) {
    PyObject *re = PyObject_GetAttrString(o, "real"), *im = re ? PyObject_GetAttrString(o, "imag") : NULL;
    *out = (mx_scalar){MX_SCALAR_COMPLEX, 0, 0, 0};
    const int ok = im && to_double(re, &out->re) && to_double(im, &out->im);
    Py_XDECREF(re);
    Py_XDECREF(im);
    return ok;
  }
  *out = (mx_scalar){MX_SCALAR_FLOAT, 0, 0, 0};
  return to_double(o, &out->re);
}

/* 1 if `o` is a number of Python's own types, 0 if it is something else, -1 with an exception if it is too large. */
static inline int scalar_of(PyObject *o, mx_scalar *out) {
  *out = (mx_scalar){MX_SCALAR_FLOAT, 0, 0, 0};
  if (PyFloat_Check(o)) return out->re = PyFloat_AsDouble(o), 1;
  if (PyBool_Check(o)) return out->kind = MX_SCALAR_BOOL, out->i = o == Py_True, 1;
  if (PyLong_Check(o)) return scalar_from_int(o, out) ? 1 : -1;
  if (!PyComplex_Check(o)) return 0;
  out->kind = MX_SCALAR_COMPLEX;
  out->re = PyComplex_RealAsDouble(o);
  out->im = PyComplex_ImagAsDouble(o);
  return 1;
}

static inline int to_mx_scalar(PyObject *o, mx_scalar *out) {
  const int found = scalar_of(o, out);
  return found ? found > 0 : scalar_from_other(o, out);
}

/* ---- sequences */

/* A tuple of its own or the argument itself: what converting one item runs cannot change the others. */
static inline PyObject *as_tuple(PyObject *o) { return PyTuple_Check(o) ? Py_NewRef(o) : PySequence_Tuple(o); }

#define SEQUENCE(X, T)                                                                            \
  typedef struct {                                                                                \
    T *data;                                                                                      \
    size_t n;                                                                                     \
    T inside[16];                                                                                 \
  } Sequence_##X;                                                                                 \
  static inline void release_##X(Sequence_##X *s) {                                               \
    if (s->data != s->inside) PyMem_Free(s->data);                                                \
  }                                                                                               \
  static inline int sequence_##X(PyObject *o, Sequence_##X *s) {                                  \
    PyObject *tuple = as_tuple(o);                                                                \
    if (!tuple) return 0;                                                                         \
    const Py_ssize_t n = PyTuple_Size(tuple);                                                     \
    s->n = (size_t)n;                                                                             \
    s->data = s->n > 16 ? (T *)PyMem_Malloc(s->n * sizeof(T)) : s->inside;                        \
    int ok = s->data != NULL;                                                                     \
    if (!ok) PyErr_NoMemory();                                                                    \
    for (Py_ssize_t i = 0; ok && i < n; i++) ok = to_##X(PyTuple_GetItem(tuple, i), &s->data[i]); \
    Py_DECREF(tuple);                                                                             \
    return ok;                                                                                    \
  }                                                                                               \
  static inline int optional_sequence_##X(PyObject *o, Sequence_##X *s) { return o == Py_None || sequence_##X(o, s); }
SEQUENCE(handle, uint64_t)
SEQUENCE(mx_array, mx_array)
SEQUENCE(int64_t, int64_t)
SEQUENCE(uint64_t, uint64_t)
SEQUENCE(int32_t, int32_t)
SEQUENCE(uint32_t, uint32_t)
SEQUENCE(int, int)
SEQUENCE(double, double)
SEQUENCE(float, float)
SEQUENCE(mx_scalar, mx_scalar)

typedef struct {
  const char **data;
  size_t n;
  PyObject *tuple; /* keeps the strings */
} Sequence_string;

static inline void release_string(Sequence_string *s) {
  PyMem_Free((void *)s->data);
  Py_XDECREF(s->tuple);
}

static inline int sequence_string(PyObject *o, Sequence_string *s) {
  s->tuple = as_tuple(o);
  if (!s->tuple) return 0;
  s->n = (size_t)PyTuple_Size(s->tuple);
  s->data = (const char **)PyMem_Malloc((s->n + 1) * sizeof(char *));
  if (!s->data) return PyErr_NoMemory(), 0;
  for (size_t i = 0; i < s->n; i++)
    if (!to_string(PyTuple_GetItem(s->tuple, (Py_ssize_t)i), &s->data[i])) return 0;
  return 1;
}

static inline int optional_sequence_string(PyObject *o, Sequence_string *s) {
  return o == Py_None || sequence_string(o, s);
}

/* Contiguous memory of any object that exports a buffer. */
typedef struct {
  void *data;
  size_t n;
  int held;
  Py_buffer buffer;
} Sequence_bytes;

static inline void release_bytes(Sequence_bytes *s) {
  if (s->held) PyBuffer_Release(&s->buffer);
}

static inline int get_bytes(PyObject *o, Sequence_bytes *s, int flags) {
  if (PyObject_GetBuffer(o, &s->buffer, flags)) return 0;
  s->held = 1;
  s->data = s->buffer.buf;
  s->n = (size_t)s->buffer.len;
  return 1;
}

static inline int sequence_bytes(PyObject *o, Sequence_bytes *s) {
  if (!PyBytes_Check(o)) return get_bytes(o, s, PyBUF_SIMPLE);
  s->data = PyBytes_AsString(o);
  s->n = (size_t)PyBytes_Size(o);
  return 1;
}

static inline int optional_sequence_bytes(PyObject *o, Sequence_bytes *s) {
  return o == Py_None || sequence_bytes(o, s);
}
static inline int sequence_writable(PyObject *o, Sequence_bytes *s) { return get_bytes(o, s, PyBUF_WRITABLE); }

/* ---- results */

static inline PyObject *from_int64_t(int64_t x) { return PyLong_FromLongLong(x); }
static inline PyObject *from_uint64_t(uint64_t x) { return PyLong_FromUnsignedLongLong(x); }
static inline PyObject *from_size_t(size_t x) { return PyLong_FromSize_t(x); }
static inline PyObject *from_int32_t(int32_t x) { return PyLong_FromLong(x); }
static inline PyObject *from_uint32_t(uint32_t x) { return PyLong_FromUnsignedLong(x); }
static inline PyObject *from_int(int x) { return PyLong_FromLong(x); }
static inline PyObject *from_bool(bool x) { return PyBool_FromLong(x); }
static inline PyObject *from_double(double x) { return PyFloat_FromDouble(x); }
static inline PyObject *from_float(float x) { return PyFloat_FromDouble(x); }
static inline PyObject *from_handle(uint64_t x) { return PyLong_FromUnsignedLongLong(x); }
static inline PyObject *from_string(const char *x) { return PyUnicode_FromString(x); }

static inline PyObject *from_mx_scalar(mx_scalar x) {
  switch (x.kind) {
    case MX_SCALAR_BOOL:
      return PyBool_FromLong(x.i != 0);
    case MX_SCALAR_INT:
      return PyLong_FromLongLong(x.i);
    case MX_SCALAR_UINT:
      return PyLong_FromUnsignedLongLong((uint64_t)x.i);
    case MX_SCALAR_FLOAT:
      return PyFloat_FromDouble(x.re);
    case MX_SCALAR_COMPLEX:
      return PyComplex_FromDoubles(x.re, x.im);
  }
  return PyErr_SetString(PyExc_SystemError, "not an mx_scalar"), NULL;
}

#define TUPLE(X, T)                                                              \
  static inline PyObject *tuple_##X(const T *x, size_t n) {                      \
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);                                \
    for (size_t i = 0; tuple && i < n; i++) {                                    \
      PyObject *item = from_##X(x[i]);                                           \
      if (!item || PyTuple_SetItem(tuple, (Py_ssize_t)i, item)) Py_CLEAR(tuple); \
    }                                                                            \
    return tuple;                                                                \
  }
TUPLE(int64_t, int64_t)
TUPLE(uint64_t, uint64_t)
TUPLE(int32_t, int32_t)
TUPLE(uint32_t, uint32_t)
TUPLE(double, double)

/* A tuple of results of which some may have failed to convert; takes over the items. */
static inline PyObject *tuple_of(PyObject **items, Py_ssize_t n) {
  PyObject *tuple = PyTuple_New(n);
  for (Py_ssize_t i = 0; i < n; i++) {
    if (!items[i]) Py_CLEAR(tuple);
    if (!tuple || PyTuple_SetItem(tuple, i, items[i])) {
      if (!tuple) Py_XDECREF(items[i]);
      Py_CLEAR(tuple);
    }
  }
  return tuple;
}

/* (address, dtype, itemsize, shape, strides) */
static inline PyObject *from_mx_view(mx_view x) {
  PyObject *items[] = {from_uint64_t((uintptr_t)x.data), from_int((int)x.dtype), from_uint32_t(x.itemsize),
                       tuple_int64_t(x.dims, x.n_dims), tuple_int64_t(x.strides, x.n_dims)};
  return tuple_of(items, 5);
}

/* Room for the handles that a call gives out; rarely more than fit inside. */
typedef struct {
  uint64_t *data;
  size_t n, cap;
  uint64_t inside[1024];
} Handles;

/* After INVALID_ARGUMENT: makes room for a second try if there was little; 0 if that is pointless. */
static inline int grow_handles(Handles *h) {
  if (h->data != h->inside) return 0;
  const size_t cap = (size_t)1 << 20;
  uint64_t *bigger = (uint64_t *)PyMem_Malloc(cap * sizeof(uint64_t));
  if (!bigger) return 0;
  h->data = bigger;
  h->cap = cap;
  return 1;
}

static inline void release_handles(Handles *h) {
  if (h->data != h->inside) PyMem_Free(h->data);
}

/* The array object for a handle. `module` is what builtins get as their first argument. Takes the handle over: closes
 * it when there is no memory for the object. */
static PyObject *wrap_array(PyObject *module, mx_array x);

/* As wrap_array for several; None for NULL handles. */
static inline PyObject *list_mx_array(PyObject *module, const mx_array *x, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; i < n; i++) {
    PyObject *item = !list ? NULL : x[i] ? wrap_array(module, x[i]) : Py_NewRef(Py_None);
    if (!list) mx_array_free(x[i]);
    if (list && (!item || PyList_SetItem(list, (Py_ssize_t)i, item))) Py_CLEAR(list);
  }
  return list;
}

/* Text of unknown length. */
typedef struct {
  char *data;
  size_t cap, needed;
  char inside[256];
} Text;

/* After a call: makes room for a second try if the text did not fit; 0 if it did, or without memory. */
static inline int grow_text(Text *t) {
  if (t->needed < t->cap || t->data != t->inside) return 0;
  char *bigger = (char *)PyMem_Calloc(t->needed + 1, 1);
  if (!bigger) return 0;
  t->data = bigger;
  t->cap = t->needed + 1;
  return 1;
}

static inline void release_text(Text *t) {
  if (t->data != t->inside) PyMem_Free(t->data);
}

static inline PyObject *from_text(const Text *t) {
  return PyUnicode_DecodeUTF8(t->data, (Py_ssize_t)strlen(t->data), "replace");
}
