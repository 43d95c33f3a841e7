/* The C part of class array: a handle, the operators, the cheap getters and the buffer protocol. `array` in array.py
 * derives from it and adds everything else. Operators are here because a Python method for each would cost more than
 * the op: a + b makes a node and its object without running Python code. */

typedef struct {
  PyObject_HEAD mx_array handle;
} ArrayObject;

/* What belongs to an interpreter, in the list that its builtins get. */
enum { HELD_ARRAY_CLASS, HELD_LONG_EVAL, HELD_DRAIN, N_HELD };

/* One for all interpreters that live at a time: each derives its own class array from it. When the main one has ended
 * so have all, and what they made may refer to freed memory: whoever comes next makes a new one. */
static PyTypeObject *array_base = NULL;
static bool base_is_old = false;

/* The class array of one interpreter, what nearly every array is, told by one comparison; and its dtypes. */
static PyTypeObject *array_usual = NULL;
static PyObject *dtypes_usual = NULL;
static int64_t usual_interpreter = -1;

static inline int is_array(PyObject *o) { return Py_TYPE(o) == array_usual || PyObject_TypeCheck(o, array_base); }

static inline mx_array handle_of(PyObject *o) { return ((ArrayObject *)o)->handle; }

static PyObject *make_array(PyTypeObject *type, mx_array x) {
  PyObject *self = PyType_GenericAlloc(type, 0);
  if (self)
    ((ArrayObject *)self)->handle = x;
  else
    mx_array_free(x);
  return self;
}

/* The class array that an instance's type is or derives from: the class right below array_base. */
static PyTypeObject *array_class_of(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  while (type != array_usual) {
    PyTypeObject *base = (PyTypeObject *)PyType_GetSlot(type, Py_tp_base);
    if (base == array_base || !base) break;
    type = base;
  }
  return type;
}

static int to_mx_array(PyObject *o, mx_array *out) {
  if (is_array(o)) return *out = handle_of(o), 1;
  return PyErr_Format(PyExc_TypeError, "expected an array, got %R", Py_TYPE(o)), 0;
}

static PyObject *wrap_array(PyObject *holder, mx_array x) {
  return make_array((PyTypeObject *)PyList_GetItem(holder, HELD_ARRAY_CLASS), x);
}

/* ---- life */

static void array_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  mx_array_free(handle_of(self));
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/* _adopt(other): takes over the handle of `other`, which is left without one. */
static PyObject *array_adopt(PyObject *self, PyObject *other) {
  if (!is_array(other)) return PyErr_SetString(PyExc_TypeError, "_adopt needs an array"), NULL;
  const mx_array old = handle_of(self);
  ((ArrayObject *)self)->handle = handle_of(other);
  ((ArrayObject *)other)->handle = 0;
  mx_array_free(old);
  return Py_NewRef(Py_None);
}

/* _set_number(x): takes over a new 0-d array of a bool, an int of 32 bits, a float or a complex, in the dtype that
 * these have. False: it is none of these. */
static PyObject *array_set_number(PyObject *self, PyObject *x) {
  mx_scalar value;
  if (scalar_of(x, &value) <= 0) {
    PyErr_Clear();
    return Py_NewRef(Py_False);
  }
  static const mx_dtype natural[] = {[MX_SCALAR_BOOL] = MX_BOOL,
                                     [MX_SCALAR_INT] = MX_INT32,
                                     [MX_SCALAR_FLOAT] = MX_FLOAT32,
                                     [MX_SCALAR_COMPLEX] = MX_COMPLEX64};
  if (value.kind == MX_SCALAR_UINT || (value.kind == MX_SCALAR_INT && value.i != (int32_t)value.i))
    return Py_NewRef(Py_False);
  mx_array made;
  const mx_status status = mx_array_scalar(&made, value, natural[value.kind]);
  if (status) return raise_status(status);
  const mx_array old = handle_of(self);
  ((ArrayObject *)self)->handle = made;
  if (old) mx_array_free(old);
  return Py_NewRef(Py_True);
}

/* item(): waits in Python when the value is not there and takes long. */
static PyObject *array_item(PyObject *self, PyObject *unused) {
  const mx_array handle = handle_of(self);
  bool done;
  mx_status status = mx_array_is_ready(&done, handle);
  if (!status && !done) status = mx_eval_inline(&done, &handle, 1);
  if (!status && !done) {
    PyObject *waited = PyObject_CallMethod(self, "_wait", NULL);
    if (!waited) return NULL;
    Py_DECREF(waited);
  }
  mx_scalar value;
  if (!status) status = mx_array_item(&value, handle_of(self));
  return status ? raise_status(status) : from_mx_scalar(value);
}

/* ---- operators */

typedef mx_status (*BinaryFn)(mx_array *, mx_array, mx_array, mx_stream);
typedef mx_status (*UnaryFn)(mx_array *, mx_array, mx_stream);

/* The other operand of `self` as a handle. `*temporary` is what the caller must free, `*owner` what it must release.
 * 0 with an exception on failure. */
static int operand(PyObject *self, PyObject *other, const char *what, mx_array *out, mx_array *temporary,
                   PyObject **owner) {
  mx_scalar scalar;
  if (is_array(other)) return *out = handle_of(other), 1;
  const int found = scalar_of(other, &scalar);
  if (found < 0) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      PyErr_Format(error_type(MX_ERROR_OVERFLOW), "the operand of %s does not fit in 64 bits", what);
    }
    return 0;
  }
  if (found) {
    mx_dtype beside;
    mx_status status = mx_array_dtype(&beside, handle_of(self));
    if (!status) status = mx_array_scalar_weak(temporary, scalar, beside);
    *out = *temporary;
    if (status == MX_ERROR_OVERFLOW) return PyErr_Format(error_type(status), "%s: %s", what, mx_error_message()), 0;
    return status ? raise_status(status), 0 : 1;
  }
  *owner = PyObject_CallMethod(self, "_operand", "Os", other, what);
  if (!*owner) return 0;
  if (!is_array(*owner)) return PyErr_SetString(PyExc_TypeError, "_operand must return an array"), 0;
  return *out = handle_of(*owner), 1;
}

static PyObject *binary(PyObject *a, PyObject *b, BinaryFn fn, const char *what) {
  PyObject *self = is_array(a) ? a : b, *owner = NULL, *result = NULL;
  mx_array other = 0, temporary = 0, out = 0;
  if (operand(self, self == a ? b : a, what, &other, &temporary, &owner)) {
    const mx_status status = self == a ? fn(&out, handle_of(a), other, 0) : fn(&out, other, handle_of(b), 0);
    result = status ? raise_status(status) : make_array(array_class_of(self), out);
  }
  if (temporary) mx_array_free(temporary);
  Py_XDECREF(owner);
  return result;
}

static PyObject *inplace(PyObject *a, PyObject *b, BinaryFn fn, const char *what) {
  PyObject *owner = NULL;
  mx_array other = 0, temporary = 0, out = 0;
  mx_dtype dtype = MX_FLOAT32;
  mx_status status = fn == mx_divide ? mx_array_dtype(&dtype, handle_of(a)) : MX_OK;
  if (status) return raise_status(status);
  if (dtype < MX_FLOAT16) { /* division makes floats, which would change the dtype */
    return PyErr_SetString(PyExc_ValueError, "an array of integers cannot be divided in place"), NULL;
  }
  const int ok = operand(a, b, what, &other, &temporary, &owner);
  if (ok) {
    status = fn(&out, handle_of(a), other, 0);
    if (!status) status = mx_array_assign(handle_of(a), out);
    if (out) mx_array_free(out);
  }
  if (temporary) mx_array_free(temporary);
  Py_XDECREF(owner);
  if (!ok) return NULL;
  return status ? raise_status(status) : Py_NewRef(a);
}

static PyObject *unary(PyObject *a, UnaryFn fn) {
  mx_array out = 0;
  const mx_status status = fn(&out, handle_of(a), 0);
  return status ? raise_status(status) : make_array(array_class_of(a), out);
}

/* name, function of the library, what the error text calls it */
#define BINARY_OPERATORS(X)                          \
  X(add, mx_add, "addition")                         \
  X(subtract, mx_subtract, "subtraction")            \
  X(multiply, mx_multiply, "multiplication")         \
  X(true_divide, mx_divide, "division")              \
  X(floor_divide, mx_floor_divide, "floor division") \
  X(remainder, mx_remainder, "modulus")              \
  X(and, mx_bitwise_and, "bitwise and")              \
  X(or, mx_bitwise_or, "bitwise or")                 \
  X(xor, mx_bitwise_xor, "bitwise xor")              \
  X(lshift, mx_left_shift, "left shift")             \
  X(rshift, mx_right_shift, "right shift")           \
  X(matrix_multiply, mx_matmul, "matrix multiplication")

#define OPERATOR(name, fn, what)                                                             \
  static PyObject *array_##name(PyObject *a, PyObject *b) { return binary(a, b, fn, what); } \
  static PyObject *array_inplace_##name(PyObject *a, PyObject *b) { return inplace(a, b, fn, what); }
BINARY_OPERATORS(OPERATOR)
#undef OPERATOR

static PyObject *array_power(PyObject *a, PyObject *b, PyObject *modulus) {
  if (modulus != Py_None) return PyErr_SetString(PyExc_TypeError, "pow() of an array takes no modulus"), NULL;
  return binary(a, b, mx_power, "power");
}

static PyObject *array_inplace_power(PyObject *a, PyObject *b, PyObject *modulus) {
  if (modulus != Py_None) return PyErr_SetString(PyExc_TypeError, "pow() of an array takes no modulus"), NULL;
  return inplace(a, b, mx_power, "power");
}

static PyObject *array_divmod(PyObject *a, PyObject *b) {
  PyObject *quotient = binary(a, b, mx_floor_divide, "floor division");
  PyObject *remainder = quotient ? binary(a, b, mx_remainder, "modulus") : NULL;
  PyObject *both = remainder ? PyTuple_Pack(2, quotient, remainder) : NULL;
  Py_XDECREF(quotient);
  Py_XDECREF(remainder);
  return both;
}

static PyObject *array_negative(PyObject *a) { return unary(a, mx_negative); }
static PyObject *array_positive(PyObject *a) { return unary(a, mx_positive); }
static PyObject *array_absolute(PyObject *a) { return unary(a, mx_abs); }
static PyObject *array_invert(PyObject *a) { return unary(a, mx_bitwise_invert); }

/* Whether `o` may be an operand of == and !=; anything else is just not equal. */
static int is_comparable(PyObject *self, PyObject *o) {
  if (is_array(o) || PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o)) return 1;
  PyObject *answer = PyObject_CallMethod(self, "_is_operand", "(O)", o);
  const int truth = answer ? PyObject_IsTrue(answer) : -1;
  Py_XDECREF(answer);
  return truth;
}

static PyObject *array_compare(PyObject *a, PyObject *b, int op) {
  static const struct {
    BinaryFn fn;
    const char *what;
  } ops[] = {[Py_LT] = {mx_less, "less than"},       [Py_LE] = {mx_less_equal, "less than or equal"},
             [Py_EQ] = {mx_equal, "equal"},          [Py_NE] = {mx_not_equal, "not equal"},
             [Py_GT] = {mx_greater, "greater than"}, [Py_GE] = {mx_greater_equal, "greater than or equal"}};
  if (op == Py_EQ || op == Py_NE) {
    const int comparable = is_comparable(a, b);
    if (comparable < 0) return NULL;
    if (!comparable) return PyBool_FromLong(op == Py_NE);
  }
  return binary(a, b, ops[op].fn, ops[op].what);
}

static Py_hash_t array_hash(PyObject *self) {
  return (Py_hash_t)((uintptr_t)self >> 4); /* identity: the values of an array are not known without computing them */
}

/* ---- getters */

static PyObject *get_handle(PyObject *self, void *closure) { return PyLong_FromUnsignedLongLong(handle_of(self)); }

static PyObject *get_shape(PyObject *self, void *closure) {
  int64_t dims[MX_MAX_DIMS];
  size_t n = 0;
  const mx_status status = mx_array_shape(dims, MX_MAX_DIMS, &n, handle_of(self));
  return status ? raise_status(status) : tuple_int64_t(dims, n);
}

static PyObject *get_ndim(PyObject *self, void *closure) {
  size_t n = 0;
  const mx_status status = mx_array_ndim(&n, handle_of(self));
  return status ? raise_status(status) : PyLong_FromSize_t(n);
}

static PyObject *get_size(PyObject *self, void *closure) {
  size_t n = 0;
  const mx_status status = mx_array_size(&n, handle_of(self));
  return status ? raise_status(status) : PyLong_FromSize_t(n);
}

static PyObject *get_dtype(PyObject *self, void *closure) {
  mx_dtype dtype;
  const mx_status status = mx_array_dtype(&dtype, handle_of(self));
  if (status) return raise_status(status);
  PyTypeObject *cls = array_class_of(self);
  if (cls == array_usual) return Py_XNewRef(PyTuple_GetItem(dtypes_usual, (Py_ssize_t)dtype));
  PyObject *dtypes = PyObject_GetAttrString((PyObject *)cls, "_dtypes");
  PyObject *found = dtypes ? Py_XNewRef(PyTuple_GetItem(dtypes, (Py_ssize_t)dtype)) : NULL;
  Py_XDECREF(dtypes);
  return found;
}

/* The number of the dtype. */
static PyObject *get_dtype_code(PyObject *self, void *closure) {
  mx_dtype dtype;
  const mx_status status = mx_array_dtype(&dtype, handle_of(self));
  return status ? raise_status(status) : PyLong_FromLong(dtype);
}

/* ---- buffer protocol: every export owns a pin of the memory, not the array */

typedef struct {
  mx_pin pin;
  mx_view view;
} Export;

static const char *format_of(mx_dtype dtype) {
  static const char *const formats[] = {[MX_BOOL] = "?",
                                        [MX_UINT8] = "B",
                                        [MX_UINT16] = "H",
                                        [MX_UINT32] = "I",
                                        [MX_UINT64] = "Q",
                                        [MX_INT8] = "b",
                                        [MX_INT16] = "h",
                                        [MX_INT32] = "i",
                                        [MX_INT64] = "q",
                                        [MX_FLOAT16] = "e",
                                        [MX_FLOAT32] = "f",
                                        [MX_FLOAT64] = "d",
                                        [MX_BFLOAT16] = "bfloat16",
                                        [MX_COMPLEX64] = "Zf",
                                        [MX_COMPLEX128] = "Zd"};
  return formats[dtype];
}

/* Pins; waits in slices, in Python, so that signals get through. */
static int pin_array(PyObject *self, Export *out) {
  const mx_array handle = handle_of(self);
  bool done;
  mx_status status = mx_array_try_pin(&out->pin, &out->view, handle);
  if (status == MX_ERROR_TIMEOUT && !mx_eval_inline(&done, &handle, 1) && done)
    status = mx_array_try_pin(&out->pin, &out->view, handle);
  if (status == MX_ERROR_TIMEOUT) {
    PyObject *done = PyObject_CallMethod(self, "_wait", NULL);
    if (!done) return 0;
    Py_DECREF(done);
    PyThreadState *thread = PyEval_SaveThread();
    status = mx_array_pin(&out->pin, &out->view, handle_of(self));
    PyEval_RestoreThread(thread);
  }
  return status ? raise_status(status), 0 : 1;
}

static int is_row_major(const mx_view *view) {
  int64_t stride = view->itemsize;
  for (uint32_t i = view->n_dims; i-- > 0; stride *= view->dims[i]) {
    if (view->dims[i] == 0) return 1;
    if (view->dims[i] != 1 && view->strides[i] != stride) return 0;
  }
  return 1;
}

static int get_buffer(PyObject *self, Py_buffer *buffer, int flags) {
  buffer->obj = NULL;
  Export *export = (Export *)PyMem_Calloc(1, sizeof(Export));
  if (!export) return PyErr_NoMemory(), -1;
  if (!pin_array(self, export)) return PyMem_Free(export), -1;
  mx_view *view = &export->view;
  const char *const refused = (flags & PyBUF_STRIDES) != PyBUF_STRIDES && !is_row_major(view)
                                  ? "the array is not contiguous; see pymx.contiguous"
                              : flags & PyBUF_WRITABLE && view->read_only
                                  ? "the array lies on memory that is read-only; copy it with pymx.array"
                                  : NULL;
  if (refused) {
    mx_pin_free(export->pin);
    PyMem_Free(export);
    return PyErr_SetString(PyExc_BufferError, refused), -1;
  }
  buffer->buf = (void *)view->data;
  buffer->obj = Py_NewRef(self);
  buffer->itemsize = buffer->len = view->itemsize;
  for (uint32_t i = 0; i < view->n_dims; i++) buffer->len *= view->dims[i];
  buffer->readonly = view->read_only;
  buffer->ndim = (int)view->n_dims;
  buffer->format = flags & PyBUF_FORMAT ? (char *)format_of(view->dtype) : NULL;
  buffer->shape = flags & PyBUF_ND ? (Py_ssize_t *)view->dims : NULL;
  buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? (Py_ssize_t *)view->strides : NULL;
  buffer->suboffsets = NULL;
  buffer->internal = export;
  return 0;
}

static void release_buffer(PyObject *self, Py_buffer *buffer) {
  Export *export = (Export *)buffer->internal;
  mx_pin_free(export->pin);
  PyMem_Free(export);
}

static PyObject *array_subscript(PyObject *self, PyObject *source);
static int array_ass_subscript(PyObject *self, PyObject *key, PyObject *value);

static PyObject *make_array_base(void) {
  static PyMethodDef methods[] = {
      {"_adopt", array_adopt, METH_O, NULL},
      {"_set_number", array_set_number, METH_O, NULL},
      {"item", array_item, METH_NOARGS,
       "item($self, /)\n--\n\nThe only element as a number of Python. ValueError unless there is exactly one."},
      {NULL, NULL, 0, NULL}};
  static PyGetSetDef getters[] = {{"_h", get_handle, NULL, NULL, NULL},
                                  {"shape", get_shape, NULL, "The sizes of the axes, a tuple.", NULL},
                                  {"ndim", get_ndim, NULL, "The number of axes.", NULL},
                                  {"size", get_size, NULL, "The number of elements.", NULL},
                                  {"dtype", get_dtype, NULL, "The element type.", NULL},
                                  {"_dtype_code", get_dtype_code, NULL, NULL, NULL},
                                  {NULL, NULL, NULL, NULL, NULL}};
#define SLOTS(name, fn, what) \
  {Py_nb_##name, (void *)array_##name}, {Py_nb_inplace_##name, (void *)array_inplace_##name},
  static PyType_Slot slots[] = {BINARY_OPERATORS(SLOTS){Py_nb_power, (void *)array_power},
                                {Py_nb_inplace_power, (void *)array_inplace_power},
                                {Py_nb_divmod, (void *)array_divmod},
                                {Py_nb_negative, (void *)array_negative},
                                {Py_nb_positive, (void *)array_positive},
                                {Py_nb_absolute, (void *)array_absolute},
                                {Py_nb_invert, (void *)array_invert},
                                {Py_tp_richcompare, (void *)array_compare},
                                {Py_tp_hash, (void *)array_hash},
                                {Py_tp_dealloc, (void *)array_dealloc},
                                {Py_mp_subscript, (void *)array_subscript},
                                {Py_mp_ass_subscript, (void *)array_ass_subscript},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, getters},
                                {Py_bf_getbuffer, (void *)get_buffer},
                                {Py_bf_releasebuffer, (void *)release_buffer},
                                {0, NULL}};
#undef SLOTS
  static PyType_Spec spec = {"pymx.BufferBase", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             slots};
  if (!array_base || base_is_old) {
    array_base = (PyTypeObject *)PyType_FromSpec(&spec);
    if (array_base) PyObject_GC_UnTrack(array_base); /* it outlives the interpreter that tracks it */
    base_is_old = false;
  }
  return Py_XNewRef((PyObject *)array_base);
}
