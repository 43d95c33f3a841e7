/* The elements of an array as nested lists of Python's numbers. */

/* IEEE 754 binary16 to double: exact, by way of binary32. */
static double from_half(uint16_t h) {
  const uint32_t exponent = h >> 10 & 31, fraction = h & 1023, sign = (uint32_t)(h & 0x8000) << 16;
  if (exponent == 0) return (sign ? -1 : 1) * (double)fraction / 16777216; /* subnormal: in units of 2^-24 */
  const uint32_t bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#define LOAD(T, x, data) \
  T x;                   \
  memcpy(&x, data, sizeof x)

static PyObject *element(const char *data, mx_dtype dtype) {
  switch (dtype) {
    case MX_BOOL:
      return PyBool_FromLong(*data != 0);
    case MX_UINT8:
      return PyLong_FromLong(*(const uint8_t *)data);
    case MX_INT8:
      return PyLong_FromLong(*(const int8_t *)data);
    case MX_UINT16: {
      LOAD(uint16_t, x, data);
      return PyLong_FromLong(x);
    }
    case MX_INT16: {
      LOAD(int16_t, x, data);
      return PyLong_FromLong(x);
    }
    case MX_UINT32: {
      LOAD(uint32_t, x, data);
      return PyLong_FromUnsignedLong(x);
    }
    case MX_INT32: {
      LOAD(int32_t, x, data);
      return PyLong_FromLong(x);
    }
    case MX_UINT64: {
      LOAD(uint64_t, x, data);
      return PyLong_FromUnsignedLongLong(x);
    }
    case MX_INT64: {
      LOAD(int64_t, x, data);
      return PyLong_FromLongLong(x);
    }
    case MX_FLOAT16: {
      LOAD(uint16_t, x, data);
      return PyFloat_FromDouble(from_half(x));
    }
    case MX_BFLOAT16: {
      LOAD(uint16_t, x, data);
      const uint32_t bits = (uint32_t)x << 16;
      LOAD(float, wide, &bits);
      return PyFloat_FromDouble(wide);
    }
    case MX_FLOAT32: {
      LOAD(float, x, data);
      return PyFloat_FromDouble(x);
    }
    case MX_FLOAT64: {
      LOAD(double, x, data);
      return PyFloat_FromDouble(x);
    }
    case MX_COMPLEX64: {
      float x[2];
      memcpy(x, data, sizeof x);
      return PyComplex_FromDoubles(x[0], x[1]);
    }
    case MX_COMPLEX128: {
      double x[2];
      memcpy(x, data, sizeof x);
      return PyComplex_FromDoubles(x[0], x[1]);
    }
  }
  return PyErr_SetString(PyExc_SystemError, "not a dtype"), NULL;
}

static PyObject *rows(const mx_view *view, uint32_t axis, const char *data) {
  if (axis == view->n_dims) return element(data, view->dtype);
  PyObject *list = PyList_New((Py_ssize_t)view->dims[axis]);
  for (int64_t i = 0; list && i < view->dims[axis]; i++) {
    PyObject *item = rows(view, axis + 1, data + i * view->strides[axis]);
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item)) Py_CLEAR(list);
  }
  return list;
}

/* tolist(x): waits for the values. */
static PyObject *py_tolist(PyObject *module, PyObject *x) {
  Export export;
  if (!is_array(x)) return PyErr_SetString(PyExc_TypeError, "tolist needs an array"), NULL;
  if (!pin_array(x, &export)) return NULL;
  PyObject *list = rows(&export.view, 0, (const char *)export.view.data);
  mx_pin_free(export.pin);
  return list;
}
