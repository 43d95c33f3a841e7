/* Any bytes as a file: it is read or refused, with a status that a file can have, and nothing stays open. The first
 * byte says what it is to be read as. */
#include <string.h>

#include "fuzz.h"

enum { MAX_BYTES = 1 << 20 };

static int is_allowed(mx_status status) {
  return status == MX_OK || status == MX_ERROR_IO || status == MX_ERROR_OVERFLOW || status == MX_ERROR_UNSUPPORTED ||
         status == MX_ERROR_OUT_OF_MEMORY;
}

static void read_text(mx_status (*get)(char *, size_t, size_t *, mx_archive, size_t), mx_archive archive, size_t i) {
  size_t needed = 0, again = 0;
  REQUIRE(get(NULL, 0, &needed, archive, i) == MX_OK);
  char *text = malloc(needed);
  REQUIRE(needed > 0 && text);
  REQUIRE(get(text, needed, &again, archive, i) == MX_OK);
  REQUIRE(again == needed && memchr(text, 0, needed) != NULL);
  free(text);
}

static void read_array(mx_archive archive, size_t i) {
  static uint8_t bytes[MAX_BYTES];
  mx_array x;
  size_t n, n_dims;
  mx_dtype dtype;
  int64_t dims[MX_MAX_DIMS];
  const mx_status opened = mx_archive_array(&x, archive, i, NULL);
  REQUIRE(is_allowed(opened));
  if (opened) return;
  REQUIRE(mx_array_size(&n, x) == MX_OK);
  REQUIRE(mx_array_dtype(&dtype, x) == MX_OK);
  REQUIRE(mx_array_shape(dims, MX_MAX_DIMS, &n_dims, x) == MX_OK);
  if (n <= MAX_BYTES / mx_dtype_size(dtype)) REQUIRE(is_allowed(mx_array_read(bytes, n * mx_dtype_size(dtype), x)));
  REQUIRE(mx_array_free(x) == MX_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mx_archive archive;
  if (size == 0) return 0;
  const mx_status status = mx_load_memory(&archive, data + 1, size - 1, (mx_format)(data[0] % 4));
  REQUIRE(is_allowed(status));
  if (status) {
    REQUIRE(strlen(mx_error_message()) > 0);
    return 0;
  }
  size_t n = 0, n_metadata = 0;
  REQUIRE(mx_archive_count(&n, archive) == MX_OK);
  REQUIRE(mx_archive_metadata_count(&n_metadata, archive) == MX_OK);
  for (size_t i = 0; i < n; i++) {
    read_text(mx_archive_name, archive, i);
    read_array(archive, i);
  }
  for (size_t i = 0; i < n_metadata; i++) {
    read_text(mx_archive_metadata_key, archive, i);
    read_text(mx_archive_metadata_value, archive, i);
  }
  REQUIRE(mx_archive_free(archive) == MX_OK);
  REQUIRE(mx_handle_count(MX_HANDLE_ANY) == 0);
  REQUIRE(mx_active_memory() == 0);
  return 0;
}
