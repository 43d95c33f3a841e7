/* mx/device.h: devices, streams and each thread's defaults. */
#include <mx/mx.h>
#include <string.h>

#include "check.h"

static void devices(void) {
  CHECK(mx_device_count(MX_CPU) == 1);
  CHECK(mx_device_count(MX_GPU) == 0);
  mx_device_type type = MX_GPU;
  int32_t index = -1;
  CHECK(mx_default_device(&type, &index) == MX_OK);
  CHECK(type == MX_CPU && index == 0);
  CHECK(mx_set_default_device(MX_CPU, 0) == MX_OK);
  CHECK(mx_set_default_device(MX_CPU, 1) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_set_default_device(MX_GPU, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_default_device(NULL, &index) == MX_ERROR_INVALID_ARGUMENT);
}

static void streams(void) {
  mx_stream s = NULL, same = NULL, none = NULL;
  CHECK(mx_stream_new(&none, MX_GPU, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(none == NULL);
  CHECK(mx_default_stream(&none, MX_CPU, 5) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_stream_new(&s, MX_CPU, 0) == MX_OK);
  CHECK(mx_stream_dup(&same, s) == MX_OK);
  mx_device_type type = MX_GPU;
  int32_t device = -1;
  uint32_t index = 0, index_of_same = 0;
  CHECK(mx_stream_info(&type, &device, &index, s) == MX_OK);
  CHECK(type == MX_CPU && device == 0 && index != 0);
  CHECK(mx_stream_info(&type, &device, &index_of_same, same) == MX_OK);
  CHECK(index == index_of_same);
  CHECK(mx_synchronize(s, 1000) == MX_OK);
  CHECK(mx_stream_free(s) == MX_OK);
  CHECK(mx_stream_free(s) == MX_ERROR_HANDLE);
  CHECK(mx_synchronize(s, 1000) == MX_ERROR_HANDLE);
  CHECK(mx_synchronize(same, 1000) == MX_OK);
  CHECK(mx_stream_free(same) == MX_OK);
}

static void defaults(void) {
  mx_stream first = NULL, second = NULL, now = NULL;
  mx_device_type type;
  int32_t device;
  uint32_t index_of_first, index_of_second, index;
  CHECK(mx_default_stream(&first, MX_CPU, 0) == MX_OK);
  CHECK(mx_stream_info(&type, &device, &index_of_first, first) == MX_OK);
  CHECK(mx_stream_new(&second, MX_CPU, 0) == MX_OK);
  CHECK(mx_stream_info(&type, &device, &index_of_second, second) == MX_OK);
  CHECK(index_of_first != index_of_second);
  CHECK(mx_set_default_stream(second) == MX_OK);
  CHECK(mx_default_stream(&now, MX_CPU, 0) == MX_OK);
  CHECK(mx_stream_info(&type, &device, &index, now) == MX_OK);
  CHECK(index == index_of_second);
  CHECK(mx_set_default_stream(first) == MX_OK);
  CHECK(mx_stream_free(first) == MX_OK);
  CHECK(mx_stream_free(second) == MX_OK);
  CHECK(mx_stream_free(now) == MX_OK);
}

int main(void) {
  devices();
  streams();
  defaults();
  return 0;
}
