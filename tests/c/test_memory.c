/* mx/memory.h: the counters follow arrays exactly; limits hold. */
#include <mx/mx.h>

#include "check.h"

static void counters(void) {
  static float data[1000];
  const int64_t dims[] = {1000};
  size_t active = mx_active_memory();
  mx_reset_peak_memory();
  CHECK(mx_peak_memory() == 0);
  mx_array a = NULL;
  CHECK(mx_array_new(&a, data, sizeof data, dims, 1, MX_FLOAT32) == MX_OK);
  CHECK(mx_active_memory() == active + sizeof data);
  CHECK(mx_peak_memory() == active + sizeof data);
  CHECK(mx_array_free(a) == MX_OK);
  CHECK(mx_active_memory() == active);
  CHECK(mx_peak_memory() == active + sizeof data);
  CHECK(mx_cache_memory() >= sizeof data);
  mx_clear_cache();
  CHECK(mx_cache_memory() == 0);
}

static void limits(void) {
  static float data[1000];
  const int64_t dims[] = {1000};
  mx_array a = NULL;
  size_t before = mx_set_memory_limit(mx_active_memory() + 100);
  CHECK(mx_memory_limit() == mx_active_memory() + 100);
  CHECK(mx_array_new(&a, data, sizeof data, dims, 1, MX_FLOAT32) == MX_ERROR_OUT_OF_MEMORY);
  CHECK(mx_set_memory_limit(before) == mx_active_memory() + 100);
  CHECK(mx_memory_limit() == before);
  size_t kept = mx_set_cache_limit(0);
  CHECK(mx_array_new(&a, data, sizeof data, dims, 1, MX_FLOAT32) == MX_OK);
  CHECK(mx_array_free(a) == MX_OK);
  CHECK(mx_cache_memory() == 0);
  CHECK(mx_set_cache_limit(kept) == 0);
}

int main(void) {
  counters();
  limits();
  return 0;
}
