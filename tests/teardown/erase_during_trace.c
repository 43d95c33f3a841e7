/* Another thread erases a function while it is traced: the open call ends well and keeps its entry to itself. */
#include "teardown.h"

static mx_function function;
static int traced, erased;

static void *erase(void *unused) {
  (void)unused;
  wait_for(&traced);
  for (int i = 0; i < 100; i++) CHECK(mx_function_erase(function) == MX_OK);
  raise_flag(&erased);
  for (;;) CHECK(mx_function_erase(function) == MX_OK); /* until the process ends */
}

/* One call that doubles `x`, traced unless there is an entry. */
static float call(mx_array x, bool wait) {
  mx_call c;
  mx_call_state state;
  mx_array result;
  size_t n;
  CHECK(mx_call_begin(&c, &state, function, &x, 1, "key", 3) == MX_OK);
  if (state == MX_CALL_TRACE) {
    mx_array placeholder, doubled;
    CHECK(mx_call_inputs(&placeholder, 1, &n, c) == MX_OK && n == 1);
    if (wait) {
      raise_flag(&traced);
      wait_for(&erased);
    }
    CHECK(mx_add(&doubled, placeholder, placeholder, NULL) == MX_OK);
    CHECK(mx_call_commit(c, &doubled, 1, 5) == MX_OK);
    CHECK(mx_array_free(placeholder) == MX_OK);
    CHECK(mx_array_free(doubled) == MX_OK);
  }
  uint64_t tag = 0;
  CHECK(mx_call_outputs(&result, 1, &n, c) == MX_OK && n == 1);
  CHECK(mx_call_tag(&tag, c) == MX_OK && tag == 5);
  mx_call_end(c);
  const float value = value_of(result);
  CHECK(mx_array_free(result) == MX_OK);
  return value;
}

int main(void) {
  CHECK(mx_function_new(&function, "doubled", MX_FUNCTION_DEFAULT) == MX_OK);
  start(erase, NULL);
  mx_array x = number(21);
  CHECK(call(x, true) == 42);
  for (int i = 0; i < 200; i++) CHECK(call(x, false) == 42);
  return leaving(0);
}
