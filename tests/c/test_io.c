/* mx/io.h: saving and loading in the three formats, lazily, mapped and in memory, and what is refused. */
#define _GNU_SOURCE
#include <mx/mx.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static char folder[64], path[128];

static const char *in_folder(const char *name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static const int32_t values[6] = {1, 2, 3, 4, 5, 6};
static const int64_t dims[2] = {2, 3};
static const char *const names[2] = {"a", "b.c"};

static void make_two(mx_array xs[2]) {
  const double d = 0.5;
  CHECK(mx_array_new(&xs[0], values, sizeof values, dims, 2, MX_INT32) == MX_OK);
  CHECK(mx_array_new(&xs[1], &d, sizeof d, NULL, 0, MX_FLOAT64) == MX_OK);
}

static void free_two(mx_array xs[2]) {
  CHECK(mx_array_free(xs[0]) == MX_OK);
  CHECK(mx_array_free(xs[1]) == MX_OK);
}

static void check_values(mx_array x) {
  int32_t read[6];
  CHECK(mx_array_read(read, sizeof read, x) == MX_OK);
  CHECK(memcmp(read, values, sizeof read) == 0);
}

/* Looks into an archive of the two arrays. */
static void check_two(mx_archive archive) {
  size_t n = 0, needed = 0;
  char name[8] = "?";
  CHECK(mx_archive_count(&n, archive) == MX_OK);
  CHECK(n == 2);
  mx_array x;
  CHECK(mx_archive_find(&x, archive, "a", NULL) == MX_OK);
  check_values(x);
  CHECK(mx_array_free(x) == MX_OK);
  int seen = 0;
  for (size_t i = 0; i < n; i++) {
    CHECK(mx_archive_name(name, sizeof name, &needed, archive, i) == MX_OK);
    CHECK(needed == strlen(name) + 1);
    seen |= strcmp(name, "a") == 0 ? 1 : strcmp(name, "b.c") == 0 ? 2 : 4;
  }
  CHECK(seen == 3);
  CHECK(mx_archive_name(NULL, 0, &needed, archive, 0) == MX_OK);
  CHECK(needed == 2 || needed == 4);
  CHECK(mx_archive_find(&x, archive, "b.c", NULL) == MX_OK);
  double d = 0;
  CHECK(mx_array_read(&d, sizeof d, x) == MX_OK);
  CHECK(d == 0.5);
  CHECK(mx_array_free(x) == MX_OK);
  CHECK(mx_archive_find(&x, archive, "c", NULL) == MX_ERROR_INDEX);
  CHECK(mx_archive_array(&x, archive, 2, NULL) == MX_ERROR_INDEX);
  CHECK(mx_archive_name(name, sizeof name, &needed, archive, 2) == MX_ERROR_INDEX);
}

static void test_npy(void) {
  mx_array xs[2], x, bytes;
  mx_archive archive, second;
  mx_format format;
  make_two(xs);
  CHECK(mx_save_npy(in_folder("x.npy"), xs[0]) == MX_OK);
  for (int map = 0; map < 2; map++) {
    CHECK(mx_load(&archive, in_folder("x.npy"), MX_FORMAT_ANY, map) == MX_OK);
    CHECK(mx_archive_format(&format, archive) == MX_OK);
    CHECK(format == MX_FORMAT_NPY);
    CHECK(mx_archive_array(&x, archive, 0, NULL) == MX_OK);
    CHECK(mx_archive_dup(&second, archive) == MX_OK);
    CHECK(mx_archive_free(archive) == MX_OK);
    CHECK(mx_archive_free(second) == MX_OK);
    check_values(x); /* it outlives its archive */
    CHECK(mx_array_free(x) == MX_OK);
  }
  size_t n = 0;
  CHECK(mx_encode_npy(&bytes, xs[0]) == MX_OK);
  CHECK(mx_array_size(&n, bytes) == MX_OK);
  char encoded[256];
  CHECK(n == 128 + sizeof values);
  CHECK(mx_array_read(encoded, n, bytes) == MX_OK);
  CHECK(memcmp(encoded + 128, values, sizeof values) == 0);
  CHECK(mx_load_memory(&archive, encoded, n, MX_FORMAT_ANY) == MX_OK);
  CHECK(mx_archive_array(&x, archive, 0, NULL) == MX_OK);
  check_values(x);
  CHECK(mx_array_free(x) == MX_OK);
  CHECK(mx_archive_free(archive) == MX_OK);
  CHECK(mx_array_free(bytes) == MX_OK);
  free_two(xs);
}

static void test_npz(void) {
  mx_array xs[2], bytes;
  mx_archive archive;
  make_two(xs);
  for (int compressed = 0; compressed < 2; compressed++) {
    const mx_status wanted = compressed && !mx_has("zlib") ? MX_ERROR_UNSUPPORTED : MX_OK;
    CHECK(mx_save_npz(in_folder("x.npz"), names, 2, xs, 2, compressed) == wanted);
    CHECK(mx_load(&archive, in_folder("x.npz"), MX_FORMAT_NPZ, false) == MX_OK);
    check_two(archive);
    CHECK(mx_archive_free(archive) == MX_OK);
    CHECK(mx_encode_npz(&bytes, names, 2, xs, 2, compressed) == wanted);
    if (wanted == MX_OK) CHECK(mx_array_free(bytes) == MX_OK);
  }
  free_two(xs);
}

static void test_safetensors(void) {
  const char *const keys[1] = {"format"};
  const char *const texts[1] = {"mx \xc3\xa9"};
  char text[16];
  size_t n = 0, needed = 0;
  mx_array xs[2], bytes;
  mx_archive archive;
  make_two(xs);
  CHECK(mx_save_safetensors(in_folder("x.safetensors"), names, 2, xs, 2, keys, 1, texts, 1) == MX_OK);
  for (int map = 0; map < 2; map++) {
    CHECK(mx_load(&archive, in_folder("x.safetensors"), MX_FORMAT_ANY, map) == MX_OK);
    check_two(archive);
    CHECK(mx_archive_metadata_count(&n, archive) == MX_OK);
    CHECK(n == 1);
    CHECK(mx_archive_metadata_key(text, sizeof text, &needed, archive, 0) == MX_OK);
    CHECK(strcmp(text, "format") == 0);
    CHECK(mx_archive_metadata_value(text, sizeof text, &needed, archive, 0) == MX_OK);
    CHECK(strcmp(text, "mx \xc3\xa9") == 0 && needed == 6);
    CHECK(mx_archive_metadata_value(text, sizeof text, &needed, archive, 1) == MX_ERROR_INDEX);
    CHECK(mx_archive_free(archive) == MX_OK);
  }
  CHECK(mx_encode_safetensors(&bytes, names, 2, xs, 2, NULL, 0, NULL, 0) == MX_OK);
  CHECK(mx_array_free(bytes) == MX_OK);
  free_two(xs);
}

/* What is refused leaves the target and the out-parameters alone. */
static void test_errors(void) {
  const char *const twice[2] = {"a", "a"}, *const latin[2] = {"a", "\xe9"}, *const reserved[2] = {"a", "__metadata__"};
  mx_array xs[2];
  mx_archive archive = NULL;
  make_two(xs);
  CHECK(mx_load(&archive, in_folder("none.npy"), MX_FORMAT_ANY, false) == MX_ERROR_IO);
  CHECK(strstr(mx_error_message(), "none.npy") != NULL);
  CHECK(mx_load(&archive, folder, MX_FORMAT_ANY, false) == MX_ERROR_IO);
  CHECK(mx_load_memory(&archive, "no array", 8, MX_FORMAT_ANY) == MX_ERROR_IO);
  CHECK(mx_load_memory(&archive, NULL, 0, MX_FORMAT_NPZ) == MX_ERROR_IO);
  CHECK(mx_load_memory(&archive, "no array", 8, (mx_format)9) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(archive == NULL);
  CHECK(mx_save_npz(in_folder("x.npz"), twice, 2, xs, 2, false) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_save_npz(in_folder("x.npz"), latin, 2, xs, 2, false) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_save_npz(in_folder("x.npz"), names, 1, xs, 2, false) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_save_safetensors(in_folder("x.st"), reserved, 2, xs, 2, NULL, 0, NULL, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_save_safetensors(in_folder("x.st"), names, 2, xs, 2, twice, 2, twice, 2) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_save_safetensors(in_folder("x.st"), names, 2, xs, 2, twice, 1, NULL, 0) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(access(in_folder("x.st"), F_OK) != 0);
  CHECK(mx_load(&archive, in_folder("x.npz"), MX_FORMAT_ANY, false) == MX_OK); /* as test_npz left it */
  check_two(archive);
  CHECK(mx_archive_free(archive) == MX_OK);
  CHECK(mx_archive_free(archive) == MX_ERROR_HANDLE);
  CHECK(mx_save_npy(in_folder("none/x.npy"), xs[0]) == MX_ERROR_IO);
  CHECK(mx_save_npy(folder, xs[0]) == MX_ERROR_IO);
  free_two(xs);
}

/* A file that became shorter after it was opened fails the evaluation, each time that it is asked for. */
static void test_truncated_later(void) {
  mx_array xs[2], x;
  mx_archive archive;
  make_two(xs);
  CHECK(mx_save_npy(in_folder("short.npy"), xs[0]) == MX_OK);
  CHECK(mx_load(&archive, in_folder("short.npy"), MX_FORMAT_ANY, false) == MX_OK);
  CHECK(mx_archive_array(&x, archive, 0, NULL) == MX_OK);
  CHECK(truncate(in_folder("short.npy"), 130) == 0);
  CHECK(mx_eval(&x, 1) == MX_ERROR_IO);
  CHECK(mx_eval(&x, 1) == MX_ERROR_IO);
  CHECK(strstr(mx_error_message(), "short.npy") != NULL);
  CHECK(mx_array_free(x) == MX_OK);
  CHECK(mx_archive_free(archive) == MX_OK);
  free_two(xs);
}

static void remove_folder(void) {
  static const char *const files[] = {"x.npy", "x.npz", "x.safetensors", "short.npy"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(in_folder(files[i]));
  rmdir(folder);
}

int main(void) {
  strcpy(folder, "/tmp/mx-test-io-XXXXXX");
  CHECK(mkdtemp(folder) != NULL);
  atexit(remove_folder);
  test_npy();
  test_npz();
  test_safetensors();
  test_errors();
  test_truncated_later();
  CHECK(rmdir(folder) != 0); /* the files are there, and nothing else: */
  remove_folder();
  CHECK(access(folder, F_OK) != 0); /* no temporary file stayed behind */
  return 0;
}
