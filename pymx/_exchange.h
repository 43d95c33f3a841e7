/* Memory that goes in and out: any object with a buffer, and DLPack capsules (https://dmlc.github.io/dlpack,
 * version 1.0 and the unversioned form before it). What destroys an exported capsule or its tensor needs no GIL: it
 * closes a pin. */

#include <stdlib.h>

/* ---- from a buffer */

/* The dtype of a format of the struct module and of PEP 3118, or -1. */
static int dtype_of_format(const char *format, Py_ssize_t itemsize) {
  static const mx_dtype sized[2][9] = {{0, MX_UINT8, MX_UINT16, 0, MX_UINT32, 0, 0, 0, MX_UINT64},
                                       {0, MX_INT8, MX_INT16, 0, MX_INT32, 0, 0, 0, MX_INT64}};
  if (!format) return itemsize == 1 ? MX_UINT8 : -1;
  if (*format == '@' || *format == '=' || *format == '<') format++;
  if (strcmp(format, "bfloat16") == 0) return MX_BFLOAT16;
  if (strcmp(format, "Zf") == 0 || strcmp(format, "F") == 0) return MX_COMPLEX64;
  if (strcmp(format, "Zd") == 0 || strcmp(format, "D") == 0) return MX_COMPLEX128;
  if (!*format || format[1]) return -1;
  if (strchr("BHILQNP", *format) && itemsize <= 8) return (int)sized[0][itemsize];
  if (strchr("bhilqn", *format) && itemsize <= 8) return (int)sized[1][itemsize];
  switch (*format) {
    case '?':
      return MX_BOOL;
    case 'c':
      return MX_UINT8;
    case 'e':
      return MX_FLOAT16;
    case 'f':
      return MX_FLOAT32;
    case 'd':
      return MX_FLOAT64;
    default:
      return -1;
  }
}

/* What a buffer holds, as the library wants it; 0 if it is nothing that the library knows. */
static int describe(const Py_buffer *buffer, int64_t *dims, int64_t *strides, mx_dtype *dtype) {
  const int code = dtype_of_format(buffer->format, buffer->itemsize);
  if (code < 0 || buffer->ndim > MX_MAX_DIMS || mx_dtype_size((mx_dtype)code) != (size_t)buffer->itemsize) return 0;
  for (int i = 0; i < buffer->ndim; i++) {
    dims[i] = buffer->shape[i];
    strides[i] = buffer->strides[i];
  }
  *dtype = (mx_dtype)code;
  return 1;
}

/* copy_buffer(x, dtype): a copy of an object's buffer as an array, None if its format is not known. `dtype` (a number)
 * replaces the format's if it is not None. */
static PyObject *py_copy_buffer(PyObject *module, PyObject *const *args, Py_ssize_t n) {
  Py_buffer buffer;
  int64_t dims[MX_MAX_DIMS], strides[MX_MAX_DIMS];
  mx_dtype dtype;
  mx_array out = 0;
  int given = -1;
  if (!arity("copy_buffer", 2, n) || (args[1] != Py_None && !to_int(args[1], &given))) return NULL;
  if (PyObject_GetBuffer(args[0], &buffer, PyBUF_FULL_RO)) return NULL;
  PyObject *result = NULL;
  if (given >= 0 && buffer.ndim <= MX_MAX_DIMS && (size_t)buffer.itemsize == mx_dtype_size((mx_dtype)given)) {
    buffer.format = NULL;
    for (int i = 0; i < buffer.ndim; i++) dims[i] = buffer.shape[i], strides[i] = buffer.strides[i];
    dtype = (mx_dtype)given;
  } else if (!describe(&buffer, dims, strides, &dtype)) {
    result = Py_NewRef(Py_None);
  }
  if (!result) {
    const size_t ndim = (size_t)buffer.ndim;
    mx_status status;
    if (PyBuffer_IsContiguous(&buffer, 'C') && buffer.len <= 4096) {
      status = mx_array_new(&out, buffer.buf, (size_t)buffer.len, dims, ndim, dtype);
    } else {
      PyThreadState *thread = PyEval_SaveThread();
      status = mx_array_new_strided(&out, buffer.buf, dims, ndim, strides, ndim, dtype);
      PyEval_RestoreThread(thread);
    }
    result = status ? raise_status(status) : wrap_array(module, out);
  }
  PyBuffer_Release(&buffer);
  return result;
}

/* borrow_buffer(view, client, token): an array on the memory of a memoryview, which the caller keeps until the token
 * comes back. None if the format is not known. */
static PyObject *py_borrow_buffer(PyObject *module, PyObject *const *args, Py_ssize_t n) {
  Py_buffer buffer;
  int64_t dims[MX_MAX_DIMS], strides[MX_MAX_DIMS];
  uint64_t client, token;
  mx_dtype dtype;
  mx_array out = 0;
  if (!arity("borrow_buffer", 3, n) || !to_handle(args[1], &client) || !to_uint64_t(args[2], &token)) return NULL;
  if (PyObject_GetBuffer(args[0], &buffer, PyBUF_FULL_RO)) return NULL;
  PyObject *result = NULL;
  if (describe(&buffer, dims, strides, &dtype)) {
    const size_t ndim = (size_t)buffer.ndim;
    const mx_status status =
        mx_array_borrow(&out, buffer.buf, dims, ndim, strides, ndim, dtype, buffer.readonly != 0, client, token);
    result = status ? raise_status(status) : wrap_array(module, out);
  } else {
    result = Py_NewRef(Py_None);
  }
  PyBuffer_Release(&buffer); /* the memoryview itself keeps the memory */
  return result;
}

/* ---- DLPack */

typedef struct {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides; /* in elements */
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManaged {
  DLTensor tensor;
  void *context;
  void (*deleter)(struct DLManaged *);
} DLManaged;

typedef struct DLVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void *context;
  void (*deleter)(struct DLVersioned *);
  uint64_t flags;
  DLTensor tensor;
} DLVersioned;

enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };
enum { DL_CPU = 1 };
enum { DL_READ_ONLY = 1, DL_IS_COPIED = 2 }; /* flags of a versioned tensor */

static const struct {
  uint8_t code, bits;
} dl_dtypes[] = {
    [MX_BOOL] = {DL_BOOL, 8},        [MX_UINT8] = {DL_UINT, 8},         [MX_UINT16] = {DL_UINT, 16},
    [MX_UINT32] = {DL_UINT, 32},     [MX_UINT64] = {DL_UINT, 64},       [MX_INT8] = {DL_INT, 8},
    [MX_INT16] = {DL_INT, 16},       [MX_INT32] = {DL_INT, 32},         [MX_INT64] = {DL_INT, 64},
    [MX_FLOAT16] = {DL_FLOAT, 16},   [MX_FLOAT32] = {DL_FLOAT, 32},     [MX_FLOAT64] = {DL_FLOAT, 64},
    [MX_BFLOAT16] = {DL_BFLOAT, 16}, [MX_COMPLEX64] = {DL_COMPLEX, 64}, [MX_COMPLEX128] = {DL_COMPLEX, 128}};

/* One exported tensor: memory of malloc, since whoever deletes it may have no thread state. */
typedef struct {
  union {
    DLManaged plain;
    DLVersioned versioned;
  };
  Export export;
  int64_t strides[MX_MAX_DIMS];
} Exported;

static void delete_exported(Exported *x) {
  mx_pin_free(x->export.pin);
  free(x);
}
static void delete_plain(DLManaged *x) { delete_exported((Exported *)x); }
static void delete_versioned(DLVersioned *x) { delete_exported((Exported *)x); }

static void destroy_capsule(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    DLManaged *x = (DLManaged *)PyCapsule_GetPointer(capsule, "dltensor");
    if (x->deleter) x->deleter(x);
  } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    DLVersioned *x = (DLVersioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (x->deleter) x->deleter(x);
  } /* else a consumer took it */
}

/* dlpack_export(x, versioned, copied): a capsule. BufferError for read-only memory where the consumer knows no
 * versions: it could not be told. */
static PyObject *py_dlpack_export(PyObject *module, PyObject *const *args, Py_ssize_t n) {
  bool versioned, copied;
  if (!arity("dlpack_export", 3, n) || !to_bool(args[1], &versioned) || !to_bool(args[2], &copied)) return NULL;
  if (!is_array(args[0])) return PyErr_SetString(PyExc_TypeError, "dlpack_export needs an array"), NULL;
  Exported *x = (Exported *)calloc(1, sizeof *x);
  if (!x) return PyErr_NoMemory();
  if (!pin_array(args[0], &x->export)) return free(x), NULL;
  mx_view *view = &x->export.view;
  if (view->read_only && !versioned) {
    delete_exported(x);
    return PyErr_SetString(PyExc_BufferError, "read-only memory cannot be exported as DLPack before version 1.0"), NULL;
  }
  for (uint32_t i = 0; i < view->n_dims; i++) x->strides[i] = view->strides[i] / view->itemsize;
  DLTensor *tensor = versioned ? &x->versioned.tensor : &x->plain.tensor;
  tensor->data = (void *)view->data;
  tensor->device.type = DL_CPU;
  tensor->ndim = (int32_t)view->n_dims;
  tensor->dtype.code = dl_dtypes[view->dtype].code;
  tensor->dtype.bits = dl_dtypes[view->dtype].bits;
  tensor->dtype.lanes = 1;
  tensor->shape = view->dims;
  tensor->strides = x->strides;
  if (versioned) {
    x->versioned.version.major = 1;
    x->versioned.flags = (copied ? DL_IS_COPIED : 0) | (view->read_only ? DL_READ_ONLY : 0);
    x->versioned.deleter = delete_versioned;
  } else {
    x->plain.deleter = delete_plain;
  }
  PyObject *capsule = PyCapsule_New(x, versioned ? "dltensor_versioned" : "dltensor", destroy_capsule);
  if (!capsule) delete_exported(x);
  return capsule;
}

/* The tensor in a capsule that nobody has taken, or NULL with an exception. */
static DLTensor *tensor_of(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor")) return &((DLManaged *)PyCapsule_GetPointer(capsule, "dltensor"))->tensor;
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    DLVersioned *x = (DLVersioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (x->version.major == 1) return &x->tensor;
    return PyErr_SetString(PyExc_BufferError, "the capsule's DLPack version is not supported"), NULL;
  }
  return PyErr_SetString(PyExc_ValueError, "not a DLPack capsule, or one that was consumed already"), NULL;
}

/* Whether the memory of a capsule, which tensor_of found good, must not be written to. */
static bool is_read_only(PyObject *capsule) {
  return PyCapsule_IsValid(capsule, "dltensor_versioned") &&
         ((DLVersioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned"))->flags & DL_READ_ONLY;
}

/* A copy of host memory that is not row-major, with its strides (in bytes, none negative), if what they span is little
 * more than the elements; else 0. */
static int copy_span(mx_array *out, mx_status *status, const void *data, const int64_t *dims, const int64_t *strides,
                     size_t ndim, int64_t itemsize, mx_dtype dtype) {
  int64_t steps[MX_MAX_DIMS], last = 0, size = 1, stride = 1;
  bool row_major = true;
  mx_array flat = 0;
  for (size_t i = ndim; i-- > 0;) {
    steps[i] = strides[i] / itemsize;
    row_major &= dims[i] == 1 || steps[i] == stride;
    stride *= dims[i];
    size *= dims[i];
    last += (dims[i] - 1) * steps[i];
  }
  const int64_t span = last + 1;
  if (row_major || size == 0 || span > 2 * size) return 0;
  *status = mx_array_new(&flat, data, (size_t)(span * itemsize), &span, 1, dtype);
  if (*status) return 1;
  *status = mx_as_strided(out, flat, dims, ndim, steps, ndim, 0, 0);
  mx_array_free(flat);
  return 1;
}

/* dlpack_import(capsule, token, client): an array, a copy if the token is None, in the same layout unless that is
 * wasteful, else on the tensor's memory: the caller calls dlpack_release once the token has come back. Copies need
 * dlpack_release too. */
static PyObject *py_dlpack_import(PyObject *module, PyObject *const *args, Py_ssize_t n) {
  int64_t dims[MX_MAX_DIMS], strides[MX_MAX_DIMS];
  if (!arity("dlpack_import", 3, n)) return NULL;
  DLTensor *x = tensor_of(args[0]);
  if (!x) return NULL;
  if (x->device.type != DL_CPU)
    return PyErr_Format(PyExc_ValueError, "from_dlpack: the memory of DLPack device type %d cannot be read",
                        (int)x->device.type),
           NULL;
  int code = -1;
  for (int i = 0; code < 0 && i < (int)(sizeof dl_dtypes / sizeof *dl_dtypes); i++)
    if (dl_dtypes[i].code == x->dtype.code && dl_dtypes[i].bits == x->dtype.bits && x->dtype.lanes == 1) code = i;
  if (code < 0 || x->ndim < 0 || x->ndim > MX_MAX_DIMS)
    return PyErr_Format(PyExc_ValueError, "from_dlpack: no dtype for code %d with %d bits, or too many dimensions",
                        (int)x->dtype.code, (int)x->dtype.bits),
           NULL;
  const int64_t itemsize = x->dtype.bits / 8;
  int64_t stride = itemsize;
  for (int i = x->ndim; i-- > 0; stride *= dims[i]) {
    dims[i] = x->shape[i];
    strides[i] = x->strides ? x->strides[i] * itemsize : stride;
    if (strides[i] < 0)
      return PyErr_SetString(PyExc_ValueError, "from_dlpack: negative strides are not supported"), NULL;
  }
  const size_t ndim = (size_t)x->ndim;
  void *data = (char *)x->data + x->byte_offset;
  mx_array out = 0;
  mx_status status;
  if (args[1] == Py_None) {
    PyThreadState *thread = PyEval_SaveThread();
    if (!copy_span(&out, &status, data, dims, strides, ndim, itemsize, (mx_dtype)code))
      status = mx_array_new_strided(&out, data, dims, ndim, strides, ndim, (mx_dtype)code);
    PyEval_RestoreThread(thread);
  } else {
    uint64_t token, client;
    if (!to_uint64_t(args[1], &token) || !to_handle(args[2], &client)) return NULL;
    status =
        mx_array_borrow(&out, data, dims, ndim, strides, ndim, (mx_dtype)code, is_read_only(args[0]), client, token);
  }
  return status ? raise_status(status) : wrap_array(module, out);
}

/* dlpack_release(capsule): consumes it and tells the producer that its memory is not used any more. */
static PyObject *py_dlpack_release(PyObject *module, PyObject *capsule) {
  if (!tensor_of(capsule)) return NULL;
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    DLManaged *x = (DLManaged *)PyCapsule_GetPointer(capsule, "dltensor");
    if (PyCapsule_SetName(capsule, "used_dltensor")) return NULL;
    if (x->deleter) x->deleter(x);
  } else {
    DLVersioned *x = (DLVersioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (PyCapsule_SetName(capsule, "used_dltensor_versioned")) return NULL;
    if (x->deleter) x->deleter(x);
  }
  return Py_NewRef(Py_None);
}
