/* x[key] for keys of ints, slices, None and an ellipsis alone: one strided slice, and axes that go and come. Everything
 * else, and every error, is left to indexing.py. Slices stay as they were given: the library applies Python's rules, so
 * a compiled function may be replayed on other sizes. */

/* A parsed basic key. */
typedef struct {
  int64_t start[MX_MAX_DIMS], stop[MX_MAX_DIMS], step[MX_MAX_DIMS]; /* per axis */
  int64_t dropped[MX_MAX_DIMS], added[MX_MAX_DIMS];                 /* axes of ints; places of new axes in the result */
  size_t n_axes, n_dropped, n_added, n_result;
  bool is_full; /* selects everything */
} BasicKey;

static void take_all(BasicKey *key, size_t n) {
  for (size_t i = 0; i < n; i++, key->n_axes++, key->n_result++) {
    key->start[key->n_axes] = 0;
    key->stop[key->n_axes] = INT64_MAX;
    key->step[key->n_axes] = 1;
  }
}

/* What a slice may say; what is left out in it is at the limits of Py_ssize_t. */
static int is_bound(Py_ssize_t i) {
  return (i >= INT32_MIN && i <= INT32_MAX) || i == PY_SSIZE_T_MAX || i == PY_SSIZE_T_MIN;
}

/* One int or slice; 0 if indexing.py has to look at it. */
static int take_item(BasicKey *key, PyObject *item, int64_t size) {
  const size_t axis = key->n_axes;
  if (PySlice_Check(item)) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(item, &start, &stop, &step)) return PyErr_Clear(), 0;
    if (!is_bound(start) || !is_bound(stop) || !is_bound(step)) return 0;
    key->start[axis] = start;
    key->stop[axis] = stop;
    key->step[axis] = step;
    if (start != 0 || stop != PY_SSIZE_T_MAX || step != 1) key->is_full = false;
    key->n_result++;
  } else {
    int overflow;
    const int64_t i = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow || i < -size || i >= size) return 0;
    key->start[axis] = i;
    key->stop[axis] = i == -1 ? INT64_MAX : i + 1;
    key->step[axis] = 1;
    key->dropped[key->n_dropped++] = (int64_t)axis;
    key->is_full = false;
  }
  key->n_axes++;
  return 1;
}

/* 0 if the key is not a basic one, or wrong. */
static int parse_basic(PyObject *self, PyObject *source, BasicKey *key) {
  int64_t dims[MX_MAX_DIMS];
  size_t ndim = 0, used = 0, ellipses = 0;
  const Py_ssize_t n = PyTuple_Check(source) ? PyTuple_Size(source) : 1;
  if (n > 2 * MX_MAX_DIMS || mx_array_shape(dims, MX_MAX_DIMS, &ndim, handle_of(self))) return 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PyTuple_Check(source) ? PyTuple_GetItem(source, i) : source;
    if (item == Py_Ellipsis) {
      ellipses++;
    } else if (item != Py_None) {
      if (!PySlice_Check(item) && (!PyLong_Check(item) || PyBool_Check(item))) return 0;
      used++;
    }
  }
  if (used > ndim || ellipses > 1 || ndim - used + (size_t)n > MX_MAX_DIMS) return 0;
  key->n_axes = key->n_dropped = key->n_added = key->n_result = 0;
  key->is_full = true;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PyTuple_Check(source) ? PyTuple_GetItem(source, i) : source;
    if (item == Py_Ellipsis)
      take_all(key, ndim - used);
    else if (item == Py_None)
      key->added[key->n_added++] = (int64_t)key->n_result++;
    else if (!take_item(key, item, dims[key->n_axes]))
      return 0;
  }
  take_all(key, ndim - key->n_axes);
  return 1;
}

/* Replaces `*x`, which is freed if it is not the first, by the result of an op. */
static mx_status step_to(mx_array *x, mx_array first, mx_status status, mx_array next) {
  if (*x != first) mx_array_free(*x);
  *x = status ? first : next;
  return status;
}

static PyObject *array_subscript(PyObject *self, PyObject *source) {
  BasicKey key;
  if (!parse_basic(self, source, &key)) return PyObject_CallMethod(self, "_getitem", "(O)", source);
  const mx_array first = handle_of(self);
  mx_array x = first, next = 0;
  mx_status status = MX_OK;
  if (!key.is_full) {
    status = mx_slice(&next, x, key.start, key.n_axes, key.stop, key.n_axes, key.step, key.n_axes, 0);
    status = step_to(&x, first, status, next);
  }
  if (!status && key.n_dropped) {
    status = mx_squeeze(&next, x, key.dropped, key.n_dropped, 0);
    status = step_to(&x, first, status, next);
  }
  if (!status && key.n_added) {
    status = mx_expand_dims(&next, x, key.added, key.n_added, 0);
    status = step_to(&x, first, status, next);
  }
  if (!status && x == first) status = mx_positive(&x, first, 0);
  return status ? raise_status(status) : make_array(array_class_of(self), x);
}

static int array_ass_subscript(PyObject *self, PyObject *key, PyObject *value) {
  if (!value) return PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted"), -1;
  PyObject *done = PyObject_CallMethod(self, "_setitem", "OO", key, value);
  Py_XDECREF(done);
  return done ? 0 : -1;
}
