/* mx/array.h: making arrays from host memory, looking at them, evaluating and reading them. */
#include <pthread.h>

#include "values.h"

static mx_scalar item_of(mx_array x) {
  mx_scalar value;
  CHECK(mx_array_item(&value, x) == MX_OK);
  return value;
}

static void test_new(void) {
  const int32_t data[] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[] = {2, 3}, negative[] = {2, -3}, huge[] = {INT64_MAX, INT64_MAX}, empty[] = {0, 3};
  int64_t many[MX_MAX_DIMS + 1];
  mx_array x = NULL;
  for (size_t i = 0; i <= MX_MAX_DIMS; i++) many[i] = 1;
  CHECK(mx_array_new(&x, data, sizeof data - 1, dims, 2, MX_INT32) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_array_new(&x, data, sizeof data, negative, 2, MX_INT32) == MX_ERROR_SHAPE);
  CHECK(mx_array_new(&x, data, sizeof data, huge, 2, MX_INT32) == MX_ERROR_OVERFLOW);
  CHECK(mx_array_new(&x, data, 4, many, MX_MAX_DIMS + 1, MX_INT32) == MX_ERROR_SHAPE);
  CHECK(mx_array_new(&x, data, sizeof data, dims, 2, (mx_dtype)15) == MX_ERROR_DTYPE);
  CHECK(mx_array_new(&x, NULL, sizeof data, dims, 2, MX_INT32) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_array_new(&x, data, sizeof data, NULL, 2, MX_INT32) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_array_new(NULL, data, sizeof data, dims, 2, MX_INT32) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(x == NULL);
  CHECK(mx_array_new(&x, data, sizeof data, dims, 2, MX_INT32) == MX_OK);
  expect(x, MX_INT32, D(2, 3), V(1, 2, 3, 4, 5, 6));
  CHECK(mx_array_new(&x, NULL, 0, empty, 2, MX_INT32) == MX_OK);
  expect(x, MX_INT32, D(0, 3), EMPTY);
  CHECK(mx_array_new(&x, data + 4, 4, NULL, 0, MX_INT32) == MX_OK);
  expect(x, MX_INT32, SCALAR, V(5));
  CHECK(mx_array_new(&x, data, 4, many, MX_MAX_DIMS, MX_INT32) == MX_OK);
  check_shape(x, MX_INT32, MX_MAX_DIMS, many);
  drop(x);
}

static void test_new_strided(void) {
  const int16_t data[] = {0, 1, 2, 3, 4, 5};
  const int64_t dims[] = {3, 2}, transposed[] = {2, 6}, backwards[] = {-4, -2}, repeated[] = {0, 2};
  const int64_t far[] = {INT64_MAX, INT64_MAX}, empty[] = {3, 0};
  mx_array x = NULL;
  CHECK(mx_array_new_strided(&x, data, dims, 2, transposed, 1, MX_INT16) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_array_new_strided(&x, data, dims, 2, far, 2, MX_INT16) == MX_ERROR_OVERFLOW);
  CHECK(x == NULL);
  CHECK(mx_array_new_strided(&x, data, dims, 2, transposed, 2, MX_INT16) == MX_OK);
  expect(x, MX_INT16, D(3, 2), V(0, 3, 1, 4, 2, 5));
  CHECK(mx_array_new_strided(&x, data + 5, dims, 2, backwards, 2, MX_INT16) == MX_OK);
  expect(x, MX_INT16, D(3, 2), V(5, 4, 3, 2, 1, 0));
  CHECK(mx_array_new_strided(&x, data, dims, 2, repeated, 2, MX_INT16) == MX_OK);
  expect(x, MX_INT16, D(3, 2), V(0, 1, 0, 1, 0, 1));
  CHECK(mx_array_new_strided(&x, data, empty, 2, far, 2, MX_INT16) == MX_OK);
  expect(x, MX_INT16, D(3, 0), EMPTY);
}

static uint64_t released(mx_client client) {
  uint64_t token = 0;
  size_t n = 0;
  CHECK(mx_client_released(&token, 1, &n, client) == MX_OK);
  return n ? token : 0;
}

static void test_borrow(void) {
  float data[] = {1, 2, 3, 4};
  const int64_t dims[] = {2, 2}, strides[] = {4, 8}, backwards[] = {-8, -4};
  mx_client client;
  mx_array x = NULL, y, part;
  mx_view view;
  mx_pin pin;
  uint64_t n_bytes;
  bool any;
  CHECK(mx_client_open(&client) == MX_OK);
  const size_t active = mx_active_memory();
  CHECK(mx_array_borrow(&x, data, dims, 2, strides, 1, MX_FLOAT32, false, client, 1) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_array_borrow(&x, data, dims, 2, strides, 2, MX_FLOAT32, false, NULL, 1) == MX_ERROR_HANDLE);
  CHECK(x == NULL && released(client) == 0); /* the token was not taken */
  CHECK(mx_array_borrow(&x, data, dims, 2, strides, 2, MX_FLOAT32, false, client, 11) == MX_OK);
  CHECK(mx_active_memory() == active); /* borrowed memory is the host's */
  CHECK(mx_array_pin(&pin, &view, x) == MX_OK);
  CHECK(view.data == data && view.strides[0] == 4 && view.strides[1] == 8);
  CHECK(mx_transpose(&part, x, L(1, 0), NULL) == MX_OK);
  CHECK(mx_eval(&part, 1) == MX_OK); /* a view of the same memory */
  check_values(x, V(1, 3, 2, 4));
  drop(x);
  CHECK(released(client) == 0);
  CHECK(mx_pin_free(pin) == MX_OK);
  CHECK(released(client) == 0);
  expect(part, MX_FLOAT32, D(2, 2), V(1, 2, 3, 4));
  CHECK(mx_client_pending(&n_bytes, &any, client) == MX_OK);
  CHECK(any && n_bytes == sizeof data);
  CHECK(released(client) == 11);
  CHECK(released(client) == 0);
  CHECK(mx_array_borrow(&y, data + 3, dims, 2, backwards, 2, MX_FLOAT32, false, client, 12) == MX_OK);
  expect(y, MX_FLOAT32, D(2, 2), V(4, 3, 2, 1));
  CHECK(released(client) == 12);
  /* In-place ops must copy what they may not write to. */
  CHECK(mx_array_borrow(&x, data, dims, 2, strides, 2, MX_FLOAT32, false, client, 13) == MX_OK);
  CHECK(mx_negative(&y, x, NULL) == MX_OK);
  drop(x);
  expect(y, MX_FLOAT32, D(2, 2), V(-1, -3, -2, -4));
  CHECK(data[0] == 1 && data[3] == 4);
  CHECK(released(client) == 13);
  CHECK(mx_client_free(client) == MX_OK);
}

static int destroyed;
static void destroy(void *payload) { destroyed += *(int *)payload; }

static void test_borrow_with(void) {
  static int one = 1;
  uint8_t data[] = {1, 2, 3, 4};
  const int64_t dims[] = {2, 2}, strides[] = {2, 1}, negative[] = {-1, 2}, far[] = {INT64_MAX, INT64_MAX};
  mx_array x = NULL, sum;
  destroyed = 0;
  /* Every failure destroys the payload, once. */
  CHECK(mx_array_borrow_with(&x, data, dims, 2, strides, 1, MX_UINT8, false, destroy, &one) ==
        MX_ERROR_INVALID_ARGUMENT);
  CHECK(destroyed == 1);
  CHECK(mx_array_borrow_with(&x, data, negative, 2, strides, 2, MX_UINT8, false, destroy, &one) == MX_ERROR_SHAPE);
  CHECK(destroyed == 2);
  CHECK(mx_array_borrow_with(&x, data, dims, 2, far, 2, MX_UINT8, false, destroy, &one) == MX_ERROR_OVERFLOW);
  CHECK(destroyed == 3);
  CHECK(mx_array_borrow_with(&x, data, dims, 2, strides, 2, (mx_dtype)-1, false, destroy, &one) == MX_ERROR_DTYPE);
  CHECK(destroyed == 4);
  CHECK(mx_array_borrow_with(NULL, data, dims, 2, strides, 2, MX_UINT8, false, destroy, &one) ==
        MX_ERROR_INVALID_ARGUMENT);
  CHECK(destroyed == 5);
  CHECK(mx_array_borrow_with(&x, NULL, dims, 2, strides, 2, MX_UINT8, false, destroy, &one) ==
        MX_ERROR_INVALID_ARGUMENT);
  CHECK(destroyed == 6);
  CHECK(x == NULL);
  destroyed = 0;
  CHECK(mx_array_borrow_with(&x, data, dims, 2, strides, 2, MX_UINT8, false, destroy, &one) == MX_OK);
  CHECK(mx_sum(&sum, x, NULL, 0, false, NULL) == MX_OK);
  drop(x);
  CHECK(destroyed == 0); /* the sum still has to read it */
  CHECK(item_of(sum).i == 10);
  CHECK(mx_synchronize(NULL, 10000) == MX_OK);
  CHECK(destroyed == 1);
  drop(sum);
  CHECK(mx_array_borrow_with(&x, data, dims, 2, strides, 2, MX_UINT8, false, NULL, NULL) == MX_OK); /* for ever there */
  expect(x, MX_UINT8, D(2, 2), V(1, 2, 3, 4));
  CHECK(destroyed == 1);
}

static bool is_read_only(mx_array x) {
  mx_view view = {.read_only = false};
  mx_pin pin;
  CHECK(mx_array_pin(&pin, &view, x) == MX_OK);
  CHECK(mx_pin_free(pin) == MX_OK);
  return view.read_only;
}

static void test_read_only(void) {
  static const float data[] = {1, 2, 3, 4}; /* in a segment where a write is a fault */
  const int64_t dims[] = {2, 2}, strides[] = {8, 4};
  float writable[4] = {0};
  mx_client client;
  mx_array x, y, row = array(MX_FLOAT32, D(1, 2), V(7, 8));
  CHECK(mx_client_open(&client) == MX_OK);
  CHECK(mx_array_borrow(&x, writable, dims, 2, strides, 2, MX_FLOAT32, false, client, 1) == MX_OK);
  CHECK(!is_read_only(x));
  drop(x);
  CHECK(mx_array_borrow_with(&x, writable, dims, 2, strides, 2, MX_FLOAT32, false, NULL, NULL) == MX_OK);
  CHECK(!is_read_only(x));
  drop(x);
  CHECK(mx_array_borrow(&x, data, dims, 2, strides, 2, MX_FLOAT32, true, client, 2) == MX_OK);
  CHECK(is_read_only(x));
  drop(x);
  CHECK(mx_array_borrow_with(&x, data, dims, 2, strides, 2, MX_FLOAT32, true, NULL, NULL) == MX_OK);
  CHECK(is_read_only(x));
  CHECK(mx_transpose(&y, x, L(1, 0), NULL) == MX_OK); /* views are as their memory is */
  CHECK(is_read_only(y));
  drop(y);
  CHECK(mx_slice(&y, x, L(1, 0), L(2, 2), L(1, 1), NULL) == MX_OK);
  CHECK(is_read_only(y));
  drop(y);
  CHECK(mx_view_dtype(&y, x, MX_INT32, NULL) == MX_OK);
  CHECK(is_read_only(y));
  drop(y);
  CHECK(mx_slice_update(&y, x, row, L(1, 0), L(2, 2), L(1, 1), MX_UPDATE_ASSIGN, NULL) == MX_OK);
  drop(x); /* the update has it alone: only its kind forbids writing into it */
  CHECK(!is_read_only(y));
  expect(y, MX_FLOAT32, D(2, 2), V(1, 2, 7, 8));
  drop(row);
  CHECK(mx_client_free(client) == MX_OK);
}

static void test_scalars(void) {
  const mx_scalar yes = {MX_SCALAR_BOOL, 1, 0, 0}, complex = {MX_SCALAR_COMPLEX, 0, 1.5, -2};
  const mx_scalar most = {MX_SCALAR_UINT, -1, 0, 0}, odd = {(mx_scalar_kind)9, 0, 0, 0};
  mx_array x = NULL;
  mx_dtype d;
  CHECK(mx_array_scalar(&x, integer(300), MX_UINT8) == MX_ERROR_OVERFLOW);
  CHECK(mx_array_scalar(&x, integer(-1), MX_UINT64) == MX_ERROR_OVERFLOW);
  CHECK(mx_array_scalar(&x, most, MX_INT64) == MX_ERROR_OVERFLOW);
  CHECK(mx_array_scalar(&x, real(1e10), MX_INT32) == MX_ERROR_OVERFLOW);
  CHECK(mx_array_scalar(&x, integer(1), (mx_dtype)15) == MX_ERROR_DTYPE);
  CHECK(mx_array_scalar(&x, odd, MX_INT32) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_array_scalar_weak(&x, integer(-1), MX_UINT8) == MX_ERROR_OVERFLOW);
  CHECK(mx_array_scalar_weak(&x, integer(1), (mx_dtype)99) == MX_ERROR_DTYPE);
  CHECK(mx_array_scalar_weak(&x, odd, MX_INT32) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(x == NULL);
  CHECK(mx_array_scalar(&x, yes, MX_BOOL) == MX_OK);
  CHECK(item_of(x).kind == MX_SCALAR_BOOL && item_of(x).i == 1);
  drop(x);
  CHECK(mx_array_scalar(&x, most, MX_UINT64) == MX_OK);
  CHECK(item_of(x).kind == MX_SCALAR_UINT && item_of(x).i == -1);
  drop(x);
  CHECK(mx_array_scalar(&x, integer(INT64_MIN), MX_INT64) == MX_OK);
  CHECK(item_of(x).kind == MX_SCALAR_INT && item_of(x).i == INT64_MIN);
  drop(x);
  CHECK(mx_array_scalar(&x, complex, MX_COMPLEX64) == MX_OK);
  CHECK(item_of(x).kind == MX_SCALAR_COMPLEX && item_of(x).re == 1.5 && item_of(x).im == -2);
  drop(x);
  CHECK(mx_array_scalar_weak(&x, real(0.1), MX_FLOAT16) == MX_OK);
  CHECK(mx_array_dtype(&d, x) == MX_OK);
  CHECK(d == MX_FLOAT16);
  CHECK(item_of(x).kind == MX_SCALAR_FLOAT && item_of(x).re == 0.0999755859375);
  drop(x);
  CHECK(mx_array_scalar_weak(&x, real(0.5), MX_INT32) == MX_OK);
  expect(x, MX_FLOAT32, SCALAR, V(0.5));
}

static void test_owners(void) {
  mx_array x = array(MX_FLOAT32, D(2), V(1, 2)), same = NULL;
  CHECK(mx_array_dup(&same, x) == MX_OK);
  CHECK(same != x);
  drop(x);
  CHECK(mx_array_free(x) == MX_ERROR_HANDLE); /* twice */
  CHECK(mx_array_dup(&x, x) == MX_ERROR_HANDLE);
  check_values(same, V(1, 2));
  drop(same);
  CHECK(mx_array_free(NULL) == MX_OK);
}

static void test_assign(void) {
  mx_array x = array(MX_FLOAT32, D(2), V(1, 2)), y = array(MX_INT32, D(1, 1), V(3)), same;
  CHECK(mx_array_dup(&same, x) == MX_OK); /* owns the same array: an assignment shows in both */
  CHECK(mx_array_assign(x, y) == MX_OK);
  CHECK(mx_array_assign(x, x) == MX_OK);
  drop(y);
  expect(x, MX_INT32, D(1, 1), V(3));
  expect(same, MX_INT32, D(1, 1), V(3));
  CHECK(mx_array_assign(x, y) == MX_ERROR_HANDLE);
}

static void test_getters(void) {
  mx_array x = array(MX_BFLOAT16, D(2, 0, 3), EMPTY), y = number(MX_INT64, 7);
  int64_t dims[3] = {9, 9, 9};
  size_t n = 9;
  mx_dtype d = MX_BOOL;
  bool is = true;
  CHECK(mx_array_shape(dims, 2, &n, x) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(n == 9 && dims[0] == 9);
  CHECK(mx_array_shape(dims, 3, &n, x) == MX_OK);
  CHECK(n == 3 && dims[0] == 2 && dims[1] == 0 && dims[2] == 3);
  CHECK(mx_array_shape(NULL, 0, &n, y) == MX_OK);
  CHECK(n == 0);
  CHECK(mx_array_ndim(&n, x) == MX_OK);
  CHECK(n == 3);
  CHECK(mx_array_size(&n, x) == MX_OK);
  CHECK(n == 0);
  CHECK(mx_array_size(&n, y) == MX_OK);
  CHECK(n == 1);
  CHECK(mx_array_dtype(&d, x) == MX_OK);
  CHECK(d == MX_BFLOAT16);
  CHECK(mx_array_is_tracer(&is, x) == MX_OK);
  CHECK(!is);
  CHECK(mx_array_dtype(NULL, x) == MX_ERROR_INVALID_ARGUMENT);
  drop(x);
  CHECK(mx_array_dtype(&d, x) == MX_ERROR_HANDLE);
  CHECK(d == MX_BFLOAT16);
  drop(y);
}

static void test_evaluation(void) {
  mx_array x = array(MX_FLOAT32, D(3), V(1, 2, 3)), both[2];
  bool ready = true, done = false;
  CHECK(mx_square(&both[0], x, NULL) == MX_OK);
  CHECK(mx_negative(&both[1], both[0], NULL) == MX_OK);
  CHECK(mx_array_is_ready(&ready, both[1]) == MX_OK);
  CHECK(!ready);
  CHECK(mx_eval(both, 2) == MX_OK);
  CHECK(mx_array_is_ready(&ready, both[1]) == MX_OK);
  CHECK(ready);
  CHECK(mx_eval(both, 2) == MX_OK); /* nothing is left to do */
  CHECK(mx_eval_for(both, 2, 0) == MX_OK);
  CHECK(mx_eval(NULL, 0) == MX_OK);
  CHECK(mx_eval(NULL, 1) == MX_ERROR_INVALID_ARGUMENT);
  check_values(both[0], V(1, 4, 9));
  expect(both[1], MX_FLOAT32, D(3), V(-1, -4, -9));
  CHECK(mx_exp(&both[1], x, NULL) == MX_OK);
  CHECK(mx_eval_inline(&done, &both[1], 1) == MX_OK);
  CHECK(done);
  CHECK(mx_array_is_ready(&ready, both[1]) == MX_OK);
  CHECK(ready);
  CHECK(mx_async_eval(&both[1], 1) == MX_OK); /* nothing is left to start */
  drop(both[1]);
  CHECK(mx_sqrt(&both[1], both[0], NULL) == MX_OK);
  CHECK(mx_async_eval(&both[1], 1) == MX_OK);
  CHECK(mx_wait(both[1], 10000) == MX_OK);
  expect(both[1], MX_FLOAT32, D(3), V(1, 2, 3));
  drop(both[0]);
  drop(x);
}

/* Some tens of milliseconds of work. */
static mx_array slow(void) { return power_of_ones(600, 10); }

/* Of a matrix of 600 columns of float64: the element in the first row. */
static double item_at(mx_array x, int column) {
  mx_view view;
  mx_pin pin;
  CHECK(mx_array_pin(&pin, &view, x) == MX_OK);
  const double value = ((const double *)view.data)[column];
  CHECK(mx_pin_free(pin) == MX_OK);
  return value;
}

static void test_waiting(void) {
  mx_array x = slow(), y;
  mx_view view;
  mx_pin pin = NULL;
  bool ready = true, done = true;
  CHECK(mx_array_try_pin(&pin, &view, x) == MX_ERROR_TIMEOUT); /* nobody started it */
  CHECK(mx_async_eval(&x, 1) == MX_OK);
  CHECK(mx_wait(x, 0) == MX_ERROR_TIMEOUT);
  CHECK(mx_array_is_ready(&ready, x) == MX_OK);
  CHECK(!ready);
  CHECK(mx_array_try_pin(&pin, &view, x) == MX_ERROR_TIMEOUT);
  CHECK(mx_negative(&y, x, NULL) == MX_OK);
  CHECK(mx_eval_inline(&done, &y, 1) == MX_OK);
  CHECK(!done); /* it would have to wait */
  drop(y);
  CHECK(pin == NULL);
  CHECK(mx_wait(x, 60000) == MX_OK);
  CHECK(mx_array_try_pin(&pin, &view, x) == MX_OK);
  CHECK(view.n_dims == 2 && view.dims[0] == 600 && view.itemsize == 8);
  CHECK(fabs(((const double *)view.data)[5] - 1) < 1e-9);
  CHECK(mx_pin_free(pin) == MX_OK);
  drop(x);
  x = slow();
  CHECK(mx_eval_inline(&done, &x, 1) == MX_OK);
  CHECK(!done);                                     /* it takes long */
  CHECK(mx_eval_for(&x, 1, 0) == MX_ERROR_TIMEOUT); /* starts it */
  CHECK(mx_eval_for(&x, 1, 60000) == MX_OK);
  drop(x);
  x = slow();
  CHECK(mx_wait(x, 0) == MX_ERROR_TIMEOUT); /* starts it */
  CHECK(mx_wait(x, 60000) == MX_OK);
  drop(x);
}

/* Without threads in the pool each look does one kernel, and the next goes on behind it. */
static void test_polling(void) {
  const int32_t n_threads = mx_num_threads();
  mx_array x = slow();
  mx_status status;
  int n = 0;
  CHECK(mx_set_num_threads(0) == MX_OK);
  CHECK(mx_quiesce(60000) == MX_OK);
  CHECK(mx_async_eval(&x, 1) == MX_OK);
  while ((status = mx_wait(x, 0)) == MX_ERROR_TIMEOUT) n++;
  CHECK(status == MX_OK && n >= 9); /* ten products */
  CHECK(fabs(item_at(x, 5) - 1) < 1e-9);
  drop(x);
  x = slow();
  for (int i = 0; i < 3; i++) CHECK(mx_wait(x, 0) == MX_ERROR_TIMEOUT);
  mx_request_cancel();
  CHECK(mx_wait(x, 60000) == MX_ERROR_CANCELLED);
  CHECK(mx_synchronize(NULL, 1000) == MX_ERROR_CANCELLED);
  drop(x);
  x = slow();
  for (int i = 0; i < 3; i++) CHECK(mx_wait(x, 0) == MX_ERROR_TIMEOUT);
  CHECK(mx_set_num_threads(n_threads) == MX_OK);
  CHECK(mx_wait(x, 60000) == MX_OK); /* others may go on with it */
  CHECK(fabs(item_at(x, 5) - 1) < 1e-9);
  drop(x);
}

static void test_reading(void) {
  mx_array x = array(MX_INT16, D(2, 3), V(1, 2, 3, 4, 5, 6)), t;
  int16_t data[6] = {0};
  mx_scalar value = integer(-5);
  CHECK(mx_transpose(&t, x, L(1, 0), NULL) == MX_OK);
  CHECK(mx_array_read(data, sizeof data - 2, t) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_array_read(data, sizeof data + 2, t) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_array_read(NULL, sizeof data, t) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(data[0] == 0);
  CHECK(mx_array_read(data, sizeof data, t) == MX_OK);
  CHECK(data[0] == 1 && data[1] == 4 && data[2] == 2 && data[5] == 6);
  CHECK(mx_array_item(&value, t) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(value.i == -5);
  drop(t);
  CHECK(mx_slice(&t, x, L(1, 2), L(2, 3), L(1, 1), NULL) == MX_OK);
  CHECK(item_of(t).i == 6);
  drop(t);
  CHECK(mx_slice(&t, x, L(1, 0), L(1, 3), L(1, 1), NULL) == MX_OK);
  CHECK(mx_array_read(NULL, 0, t) == MX_OK); /* no elements */
  drop(t);
  drop(x);
}

static void test_pins(void) {
  mx_array x = array(MX_FLOAT32, D(4), V(1, 2, 3, 4)), y;
  mx_view view, strided;
  mx_pin pin, other;
  CHECK(mx_array_pin(&pin, &view, x) == MX_OK);
  CHECK(view.dtype == MX_FLOAT32 && view.itemsize == 4 && view.n_dims == 1 && view.dims[0] == 4);
  CHECK(view.strides[0] == 4);
  CHECK(mx_slice(&y, x, L(3), L(-5), L(-1), NULL) == MX_OK);
  CHECK(mx_array_pin(&other, &strided, y) == MX_OK);
  CHECK(strided.strides[0] == -4 || strided.data != view.data);
  CHECK(((const float *)strided.data)[0] == 4);
  drop(y);
  /* The only reference goes, but what is pinned is not overwritten. */
  CHECK(mx_negative(&y, x, NULL) == MX_OK);
  drop(x);
  check_values(y, V(-1, -2, -3, -4));
  CHECK(((const float *)view.data)[0] == 1 && ((const float *)view.data)[3] == 4);
  drop(y);
  CHECK(mx_pin_free(pin) == MX_OK);
  CHECK(mx_pin_free(pin) == MX_ERROR_HANDLE);
  CHECK(((const float *)strided.data)[0] == 4); /* the other pin holds the same memory */
  CHECK(mx_pin_free(other) == MX_OK);
  CHECK(mx_pin_free(NULL) == MX_OK);
}

/* What failed once fails for all that depend on it, and nothing else. */
static void test_failures_are_kept(void) {
  mx_array x = array(MX_FLOAT32, D(2, 2), V(1, 2, 2, 4)), inverse, y, fine;
  bool ready = true;
  CHECK(mx_linalg_inv(&inverse, x, NULL) == MX_OK);
  CHECK(mx_negative(&y, inverse, NULL) == MX_OK);
  CHECK(mx_negative(&fine, x, NULL) == MX_OK);
  const mx_status status = mx_eval(&y, 1);
  CHECK(status == MX_ERROR_NUMERIC);
  CHECK(mx_eval(&y, 1) == status);
  CHECK(mx_wait(y, 1000) == status);
  CHECK(mx_array_is_ready(&ready, y) == MX_OK);
  CHECK(!ready);
  CHECK(mx_eval(&fine, 1) == MX_OK);
  CHECK(mx_synchronize(NULL, 1000) == status); /* said once */
  CHECK(mx_synchronize(NULL, 1000) == MX_OK);
  drop(fine);
  drop(y);
  drop(inverse);
  drop(x);
}

static void test_sizes_beyond_32_bits(void) {
  const int64_t size = (int64_t)1 << 31;
  mx_array one = number(MX_BOOL, 1), x = NULL;
  CHECK(mx_array_new(&x, NULL, 0, &size, 1, MX_BOOL) == MX_ERROR_OVERFLOW);
  CHECK(strstr(mx_error_message(), "2147483648") != NULL);
  CHECK(mx_broadcast_to(&x, one, &size, 1, NULL) == MX_ERROR_OVERFLOW);
  CHECK(x == NULL);
  drop(one);
}

int main(void) {
  test_new();
  test_new_strided();
  test_borrow();
  test_borrow_with();
  test_read_only();
  test_scalars();
  test_owners();
  test_assign();
  test_getters();
  test_evaluation();
  test_waiting();
  test_polling();
  test_reading();
  test_pins();
  test_failures_are_kept();
  test_sizes_beyond_32_bits();
  return 0;
}
