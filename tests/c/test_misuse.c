/* Handles that are freed, stale, mistyped, made up or NULL are errors on every path, never a crash. */
#include <pthread.h>

#include "values.h"

enum { N_KINDS = 7 };

/* One live handle of each type. */
static struct {
  mx_array array;
  mx_pin pin;
  mx_stream stream;
  mx_function function;
  mx_call call;
  mx_client client;
  mx_archive archive;
} live;

static void open_all(void) {
  mx_view view;
  mx_call_state state;
  live.array = array(MX_FLOAT32, D(2), V(1, 2));
  CHECK(mx_array_pin(&live.pin, &view, live.array) == MX_OK);
  CHECK(mx_stream_new(&live.stream, MX_CPU, 0) == MX_OK);
  CHECK(mx_function_new(&live.function, "f", 0) == MX_OK);
  CHECK(mx_call_begin(&live.call, &state, live.function, &live.array, 1, NULL, 0) == MX_OK);
  CHECK(mx_client_open(&live.client) == MX_OK);
  mx_array file;
  mx_pin pin;
  CHECK(mx_encode_npy(&file, live.array) == MX_OK);
  CHECK(mx_array_pin(&pin, &view, file) == MX_OK);
  CHECK(mx_load_memory(&live.archive, view.data, (size_t)view.dims[0], MX_FORMAT_NPY) == MX_OK);
  CHECK(mx_pin_free(pin) == MX_OK);
  drop(file);
}

/* The same bits as a handle of each type; `self` is the type whose own function must not be called with them. */
static void expect_no_handle(void *bits, int self) {
  mx_array x = NULL;
  mx_pin pin = NULL;
  mx_stream stream = NULL;
  mx_function function = NULL;
  mx_call call = NULL;
  mx_view view;
  mx_call_state state;
  mx_function_info info;
  mx_device_type type;
  int32_t device;
  uint32_t index;
  uint64_t tag;
  size_t n;
  bool any;
  if (self != 0) {
    CHECK(mx_array_ndim(&n, (mx_array)bits) == MX_ERROR_HANDLE);
    CHECK(mx_negative(&x, (mx_array)bits, NULL) == MX_ERROR_HANDLE);
    CHECK(mx_add(&x, live.array, (mx_array)bits, NULL) == MX_ERROR_HANDLE);
    CHECK(mx_array_dup(&x, (mx_array)bits) == MX_ERROR_HANDLE);
    CHECK(mx_array_pin(&pin, &view, (mx_array)bits) == MX_ERROR_HANDLE);
    mx_array two[2] = {live.array, (mx_array)bits};
    CHECK(mx_eval(two, 2) == MX_ERROR_HANDLE);
    CHECK(mx_stack(&x, two, 2, 0, NULL) == MX_ERROR_HANDLE);
    CHECK(mx_call_begin(&call, &state, live.function, two, 2, NULL, 0) == MX_ERROR_HANDLE);
    CHECK(mx_array_assign(live.array, (mx_array)bits) == MX_ERROR_HANDLE);
    if (bits) CHECK(mx_array_free((mx_array)bits) == MX_ERROR_HANDLE);
  }
  if (self != 1 && bits) CHECK(mx_pin_free((mx_pin)bits) == MX_ERROR_HANDLE);
  if (self != 2) {
    CHECK(mx_stream_info(&type, &device, &index, (mx_stream)bits) == MX_ERROR_HANDLE);
    CHECK(mx_set_default_stream((mx_stream)bits) == MX_ERROR_HANDLE);
    CHECK(mx_stream_dup(&stream, (mx_stream)bits) == MX_ERROR_HANDLE);
    if (bits) CHECK(mx_negative(&x, live.array, (mx_stream)bits) == MX_ERROR_HANDLE);
    if (bits) CHECK(mx_synchronize((mx_stream)bits, 0) == MX_ERROR_HANDLE);
    if (bits) CHECK(mx_stream_free((mx_stream)bits) == MX_ERROR_HANDLE);
  }
  if (self != 3) {
    CHECK(mx_function_stats(&info, (mx_function)bits) == MX_ERROR_HANDLE);
    CHECK(mx_function_erase((mx_function)bits) == MX_ERROR_HANDLE);
    CHECK(mx_function_dup(&function, (mx_function)bits) == MX_ERROR_HANDLE);
    CHECK(mx_call_begin(&call, &state, (mx_function)bits, NULL, 0, NULL, 0) == MX_ERROR_HANDLE);
    CHECK(mx_compiled_call(&x, 1, &n, (mx_function)bits, &live.array, 1) == MX_ERROR_HANDLE);
    if (bits) CHECK(mx_function_free((mx_function)bits) == MX_ERROR_HANDLE);
  }
  if (self != 4) {
    CHECK(mx_call_inputs(&x, 1, &n, (mx_call)bits) == MX_ERROR_HANDLE);
    CHECK(mx_call_commit((mx_call)bits, &live.array, 1, 0) == MX_ERROR_HANDLE);
    CHECK(mx_call_outputs(&x, 1, &n, (mx_call)bits) == MX_ERROR_HANDLE);
    CHECK(mx_call_tag(&tag, (mx_call)bits) == MX_ERROR_HANDLE);
    if (bits) CHECK(mx_call_free((mx_call)bits) == MX_ERROR_HANDLE);
    mx_call_end((mx_call)bits); /* never fails */
  }
  if (self != 5) {
    CHECK(mx_client_pending(&tag, &any, (mx_client)bits) == MX_ERROR_HANDLE);
    CHECK(mx_client_close((mx_client)bits, MX_CANCEL, 0) == MX_ERROR_HANDLE);
    if (bits) CHECK(mx_client_free((mx_client)bits) == MX_ERROR_HANDLE);
  }
  if (self != 6) {
    CHECK(mx_archive_count(&n, (mx_archive)bits) == MX_ERROR_HANDLE);
    if (bits) CHECK(mx_archive_free((mx_archive)bits) == MX_ERROR_HANDLE);
  }
  CHECK(x == NULL && pin == NULL && stream == NULL && function == NULL && call == NULL);
}

static void test_mistyped_and_made_up(void) {
  void *const each[N_KINDS] = {live.array, live.pin, live.stream, live.function, live.call, live.client, live.archive};
  for (int i = 0; i < N_KINDS; i++) expect_no_handle(each[i], i);
  expect_no_handle(NULL, -1);
  static int on_the_heap_of_somebody_else;
  expect_no_handle(&on_the_heap_of_somebody_else, -1);
  const uint64_t bits = (uint64_t)(uintptr_t)live.array;
  for (int shift = 0; shift < 64; shift++) /* one bit off */
    expect_no_handle((void *)(uintptr_t)(bits ^ (UINT64_C(1) << shift)), -1);
  expect_no_handle((void *)(uintptr_t)UINT64_MAX, -1);
  expect_no_handle((void *)(uintptr_t)(bits | UINT32_MAX), -1); /* a slot beyond all slots */
}

static void test_freed(void) {
  mx_array gone = number(MX_FLOAT32, 1), fresh[64];
  drop(gone);
  expect_no_handle(gone, -1);
  for (int i = 0; i < 64; i++) { /* the slot is used again, the old handle stays dead */
    fresh[i] = number(MX_FLOAT32, i);
    CHECK(fresh[i] != gone);
  }
  expect_no_handle(gone, -1);
  for (int i = 0; i < 64; i++) drop(fresh[i]);
}

static mx_array contested;
static int go;

static void *free_contested(void *unused) {
  (void)unused;
  while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE)) continue;
  return mx_array_free(contested) == MX_OK ? (void *)1 : NULL;
}

static void test_two_threads_free_one_handle(void) {
  for (int round = 0; round < 100; round++) {
    pthread_t threads[2];
    void *freed[2];
    contested = number(MX_FLOAT32, 1);
    __atomic_store_n(&go, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, free_contested, NULL) == 0);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], &freed[i]) == 0);
    check_closed(contested);
    CHECK(!freed[0] != !freed[1]);
  }
}

static void *use_contested(void *unused) {
  (void)unused;
  for (int i = 0; i < 1000; i++) {
    mx_array y = NULL;
    if (mx_negative(&y, contested, NULL) != MX_OK) break;
    if (mx_array_free(y) != MX_OK) return (void *)1;
  }
  return NULL;
}

/* Whoever uses a handle while it is freed has a live array or an error. */
static void test_free_while_used(void) {
  for (int round = 0; round < 20; round++) {
    pthread_t thread;
    void *failed;
    contested = number(MX_FLOAT32, 1);
    CHECK(pthread_create(&thread, NULL, use_contested, NULL) == 0);
    drop(contested);
    CHECK(pthread_join(thread, &failed) == 0);
    CHECK(!failed);
  }
}

static void close_all(void) {
  mx_call_end(live.call);
  CHECK(mx_archive_free(live.archive) == MX_OK);
  CHECK(mx_client_free(live.client) == MX_OK);
  CHECK(mx_function_free(live.function) == MX_OK);
  CHECK(mx_stream_free(live.stream) == MX_OK);
  CHECK(mx_pin_free(live.pin) == MX_OK);
  drop(live.array);
}

int main(void) {
  open_all();
  test_mistyped_and_made_up();
  test_freed();
  test_two_threads_free_one_handle();
  test_free_while_used();
  close_all();
  return 0;
}
