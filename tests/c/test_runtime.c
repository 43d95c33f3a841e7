/* mx/runtime.h: the state machine, clients, cancel and threads, as a C host sees them. */
#include <mx/mx.h>
#include <pthread.h>
#include <string.h>

#include "check.h"

static void states(void) {
  CHECK(mx_runtime_state() == MX_UNINIT);
  mx_stream s = NULL;
  CHECK(mx_stream_new(&s, MX_CPU, 0) == MX_OK);
  CHECK(mx_runtime_state() == MX_RUNNING);
  CHECK(mx_shutdown((mx_shutdown_policy)3, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_shutdown(MX_FINISH, 1000) == MX_OK);
  CHECK(mx_runtime_state() == MX_CLOSED);
  CHECK(mx_shutdown(MX_CANCEL, 1000) == MX_OK);
  mx_stream late = NULL;
  CHECK(mx_stream_new(&late, MX_CPU, 0) == MX_ERROR_CLOSED);
  CHECK(late == NULL);
  CHECK(mx_synchronize(s, 0) == MX_OK);
  CHECK(mx_stream_free(s) == MX_OK);
  CHECK(mx_reopen() == MX_OK);
  CHECK(mx_reopen() == MX_OK);
  CHECK(mx_runtime_state() == MX_RUNNING);
}

static void threads(void) {
  int32_t before = mx_num_threads();
  CHECK(before >= 0);
  CHECK(mx_set_num_threads(3) == MX_OK);
  CHECK(mx_num_threads() == 3);
  CHECK(mx_set_num_threads(-1) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(mx_error_message(), "-1") != NULL);
  CHECK(mx_num_threads() == 3);
  CHECK(mx_set_num_threads(before) == MX_OK);
  CHECK(mx_quiesce(5000) == MX_OK);
  mx_request_cancel(); /* nothing runs: nothing happens */
  CHECK(mx_synchronize(NULL, 5000) == MX_OK);
}

static void clients(void) {
  mx_client a = NULL, b = NULL;
  CHECK(mx_client_open(&a) == MX_OK);
  CHECK(mx_client_open(&b) == MX_OK);
  uint64_t tokens[4];
  size_t n = 99;
  CHECK(mx_client_released(tokens, 4, &n, a) == MX_OK);
  CHECK(n == 0);
  uint64_t n_bytes = 99;
  bool any = true;
  CHECK(mx_client_pending(&n_bytes, &any, a) == MX_OK);
  CHECK(n_bytes == 0 && !any);
  CHECK(mx_client_close(a, MX_CANCEL, 1000) == MX_OK);
  CHECK(mx_runtime_state() == MX_RUNNING);
  CHECK(mx_client_close(b, MX_CANCEL, 1000) == MX_OK);
  CHECK(mx_runtime_state() == MX_CLOSED);
  CHECK(mx_client_close(b, MX_CANCEL, 1000) == MX_OK);
  CHECK(mx_client_free(a) == MX_OK);
  CHECK(mx_client_free(b) == MX_OK);
  CHECK(mx_client_free(NULL) == MX_OK);
  CHECK(mx_client_close(a, MX_CANCEL, 1000) == MX_ERROR_HANDLE);
  CHECK(mx_client_open(&a) == MX_OK); /* reopens */
  CHECK(mx_runtime_state() == MX_RUNNING);
  CHECK(mx_client_free(a) == MX_OK);
}

/* Work is nobody's in particular: while another client is open, closing one cancels nothing. */
static void work_outlives_its_client(void) {
  mx_client a = NULL, b = NULL;
  const int64_t dims[] = {300, 300};
  mx_array x, y;
  CHECK(mx_client_open(&a) == MX_OK);
  CHECK(mx_client_open(&b) == MX_OK);
  CHECK(mx_zeros(&x, dims, 2, MX_FLOAT64, NULL) == MX_OK);
  for (int i = 0; i < 10; i++) {
    CHECK(mx_matmul(&y, x, x, NULL) == MX_OK);
    CHECK(mx_array_free(x) == MX_OK);
    x = y;
  }
  CHECK(mx_async_eval(&x, 1) == MX_OK);
  CHECK(mx_client_close(a, MX_CANCEL, 1000) == MX_OK);
  CHECK(mx_wait(x, 60000) == MX_OK);
  CHECK(mx_array_free(x) == MX_OK);
  CHECK(mx_client_close(b, MX_CANCEL, 1000) == MX_OK);
  CHECK(mx_client_free(a) == MX_OK);
  CHECK(mx_client_free(b) == MX_OK);
  CHECK(mx_reopen() == MX_OK);
}

static void aids(void) {
  mx_test_delay(20);
  CHECK(mx_synchronize(NULL, 1000) == MX_OK);
  mx_test_delay(0);
}

static mx_array shared;
static int stop;

static void *assign_until_stopped(void *value) {
  mx_status status = MX_OK;
  while (!status && !__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) status = mx_array_assign(shared, *(mx_array *)value);
  return status ? value : NULL;
}

/* Arrays do not care for the state of the runtime, nor for its changes. */
static void assign_while_reopening(void) {
  const float numbers[] = {1, 2};
  mx_array values[2];
  pthread_t threads[2];
  void *failed[2];
  for (int i = 0; i < 2; i++) CHECK(mx_array_new(&values[i], &numbers[i], 4, NULL, 0, MX_FLOAT32) == MX_OK);
  CHECK(mx_array_dup(&shared, values[0]) == MX_OK);
  CHECK(mx_array_free(values[0]) == MX_OK);
  CHECK(mx_array_new(&values[0], &numbers[0], 4, NULL, 0, MX_FLOAT32) == MX_OK);
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, assign_until_stopped, &values[i]) == 0);
  int failures = 0;
  for (int i = 0; i < 50; i++) failures += mx_shutdown(MX_CANCEL, 1000) || mx_reopen();
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], &failed[i]) == 0);
  CHECK(!failed[0] && !failed[1]);
  CHECK(failures == 0);
  float value = 0;
  CHECK(mx_array_read(&value, sizeof value, shared) == MX_OK);
  CHECK(value == 1 || value == 2);
  CHECK(mx_array_free(shared) == MX_OK);
  for (int i = 0; i < 2; i++) CHECK(mx_array_free(values[i]) == MX_OK);
}

int main(void) {
  states();
  assign_while_reopening();
  threads();
  clients();
  work_outlives_its_client();
  aids();
  return 0;
}
