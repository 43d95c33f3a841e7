/* mx/base.h: version, messages, features and the counting of handles. */
#include <pthread.h>

#include "values.h"

static void test_identity(void) {
  CHECK(mx_version() >> 16 == 0);
  CHECK((mx_version() & 0xffff) >= 1);
  CHECK(strcmp(mx_isa(), "v2") == 0 || strcmp(mx_isa(), "v3") == 0 || strcmp(mx_isa(), "v4") == 0 ||
        strcmp(mx_isa(), "base") == 0);
  CHECK(mx_has("jit") == BUILT_WITH_JIT); /* tests/meson.build says */
  CHECK(mx_has("zlib") == BUILT_WITH_ZLIB);
  CHECK(!mx_has("warp drive"));
  CHECK(!mx_has(""));
  CHECK(!mx_has(NULL));
}

static void *fail_elsewhere(void *unused) {
  (void)unused;
  if (mx_error_message()[0]) return (void *)1; /* this thread has not failed yet */
  return mx_array_free((mx_array)7) == MX_ERROR_HANDLE && mx_error_message()[0] ? NULL : (void *)2;
}

static void test_messages_belong_to_threads(void) {
  char before[1024];
  mx_dtype d;
  pthread_t thread;
  void *result;
  CHECK(mx_dtype_promote(&d, (mx_dtype)77, MX_BOOL) == MX_ERROR_DTYPE);
  CHECK(strstr(mx_error_message(), "77") != NULL);
  snprintf(before, sizeof before, "%s", mx_error_message());
  CHECK(pthread_create(&thread, NULL, fail_elsewhere, NULL) == 0);
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(result == NULL);
  CHECK(strcmp(before, mx_error_message()) == 0);
  CHECK(mx_dtype_promote(&d, MX_BOOL, MX_BOOL) == MX_OK);
  CHECK(strcmp(before, mx_error_message()) == 0); /* success leaves the text alone */
}

static void test_handles_are_counted_by_type(void) {
  const uint64_t all = mx_handle_count(MX_HANDLE_ANY), arrays = mx_handle_count(MX_HANDLE_ARRAY);
  mx_array x = number(MX_FLOAT32, 1), same;
  mx_view view;
  mx_pin pin;
  mx_stream stream;
  mx_function function;
  mx_call call;
  mx_call_state state;
  mx_client client;
  CHECK(mx_array_dup(&same, x) == MX_OK);
  CHECK(mx_array_pin(&pin, &view, x) == MX_OK);
  CHECK(mx_stream_new(&stream, MX_CPU, 0) == MX_OK);
  CHECK(mx_function_new(&function, "f", 0) == MX_OK);
  CHECK(mx_call_begin(&call, &state, function, &x, 1, NULL, 0) == MX_OK);
  CHECK(mx_client_open(&client) == MX_OK);
  CHECK(mx_handle_count(MX_HANDLE_ARRAY) == arrays + 2);
  CHECK(mx_handle_count(MX_HANDLE_PIN) == 1);
  CHECK(mx_handle_count(MX_HANDLE_STREAM) == 1);
  CHECK(mx_handle_count(MX_HANDLE_FUNCTION) == 1);
  CHECK(mx_handle_count(MX_HANDLE_CALL) == 1);
  CHECK(mx_handle_count(MX_HANDLE_CLIENT) == 1);
  CHECK(mx_handle_count(MX_HANDLE_ARCHIVE) == 0);
  CHECK(mx_handle_count(MX_HANDLE_ANY) == all + 7);
  CHECK(mx_handle_count((mx_handle_type)99) == 0);
  mx_call_end(call);
  CHECK(mx_client_free(client) == MX_OK);
  CHECK(mx_function_free(function) == MX_OK);
  CHECK(mx_stream_free(stream) == MX_OK);
  CHECK(mx_pin_free(pin) == MX_OK);
  drop(same);
  drop(x);
  CHECK(mx_handle_count(MX_HANDLE_ANY) == all);
}

int main(void) {
  test_identity();
  test_messages_belong_to_threads();
  test_handles_are_counted_by_type();
  return 0;
}
