/* What saves and loads when the system does only a part of what it is asked for, or refuses: short and interrupted
 * calls change nothing; a full disk or a broken one is IO, and leaves the file that was there, and no other. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mx/mx.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

/* ---- the system, as libmx sees it: these functions come before libc's */

static _Atomic int short_calls;      /* 3 bytes at a time, and every other call is interrupted */
static _Atomic int fails_at, n_done; /* the call that fails, with `error` */
static _Atomic int error;
static const char *_Atomic fails_what = "";

static int fails(const char *what) {
  if (strcmp(what, fails_what) != 0 || ++n_done != fails_at) return 0;
  errno = error;
  return 1;
}

static int interrupted(size_t *n_bytes) {
  static _Atomic int turn;
  if (!short_calls) return 0;
  if (*n_bytes > 3) *n_bytes = 3;
  const int is = turn++ & 1;
  if (is) errno = EINTR;
  return is;
}

ssize_t pread64(int fd, void *data, size_t n_bytes, off64_t offset) {
  if (fails("pread") || interrupted(&n_bytes)) return -1;
  return syscall(SYS_pread64, fd, data, n_bytes, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t n_bytes, off64_t offset) {
  if (fails("pwrite") || interrupted(&n_bytes)) return -1;
  return syscall(SYS_pwrite64, fd, data, n_bytes, offset);
}

/* Nothing is really brought to the disk: that takes long. */
int fsync(int fd) {
  size_t none = 0;
  (void)fd;
  return fails("fsync") || interrupted(&none) ? -1 : 0;
}

int rename(const char *from, const char *to) { return fails("rename") ? -1 : (int)syscall(SYS_rename, from, to); }

/* ---- */

enum { N = 1000, CAP = 1 << 17 };
static char folder[64], path[128];
static mx_array array;
static const char *const names[] = {"x"};

static mx_status save_npy(const char *to) { return mx_save_npy(to, array); }
static mx_status save_npz(const char *to) { return mx_save_npz(to, names, 1, &array, 1, false); }
static mx_status save_deflated(const char *to) { return mx_save_npz(to, names, 1, &array, 1, true); }
static mx_status save_safetensors(const char *to) {
  return mx_save_safetensors(to, names, 1, &array, 1, names, 1, names, 1);
}
static mx_status save_profile(const char *to) {
  const mx_status status = mx_profile_start(16);
  return status ? status : mx_profile_stop(to);
}

static const struct {
  mx_status (*save)(const char *path);
  bool loads, always_the_same;
} writers[] = {
    {save_npy, true, true},       {save_npz, true, true},      {save_safetensors, true, true},
    {save_profile, false, false}, {save_deflated, true, true}, /* last: left out without zlib */
};

static size_t n_writers(void) { return sizeof writers / sizeof *writers - !mx_has("zlib"); }

static size_t file_bytes(char *bytes) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return 0;
  const ssize_t n = read(fd, bytes, CAP);
  close(fd);
  return n > 0 ? (size_t)n : 0;
}

static int n_files(void) {
  int n = 0;
  DIR *files = opendir(folder);
  for (struct dirent *file; files && (file = readdir(files));) n += file->d_name[0] != '.' || strlen(file->d_name) > 2;
  if (files) closedir(files);
  return n;
}

static void write_old(void) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const bool written = write(fd, "old", 3) == 3;
  close(fd);
  CHECK(written);
}

static void check_old(void) {
  char bytes[CAP];
  CHECK(file_bytes(bytes) == 3 && memcmp(bytes, "old", 3) == 0);
  CHECK(n_files() == 1);
}

static void test_full_disk(size_t i) {
  static char bytes[CAP];
  CHECK(writers[i].save(path) == MX_OK);
  const size_t n = file_bytes(bytes);
  CHECK(n > 1);
  const rlim_t limits[] = {0, 1, n / 2, writers[i].always_the_same ? n - 1 : n / 2};
  for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
    struct rlimit before, limit;
    write_old();
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = limits[k];
    setrlimit(RLIMIT_FSIZE, &limit);
    const mx_status status = writers[i].save(path);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(status == MX_ERROR_IO);
    CHECK(strstr(mx_error_message(), path) != NULL);
    check_old();
  }
}

static void test_failing_calls(size_t i) {
  static const char *const calls[] = {"pwrite", "fsync", "rename"};
  for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
    for (fails_at = 1;; fails_at++) {
      write_old();
      error = k == 0 ? ENOSPC : EIO;
      n_done = 0;
      fails_what = calls[k];
      const mx_status status = writers[i].save(path);
      fails_what = "";
      if (n_done < fails_at || (k == 1 && fails_at == 2)) { /* the 2nd sync is that of the folder: the file is there */
        CHECK(status == MX_OK);
        break;
      }
      CHECK(status == MX_ERROR_IO);
      CHECK(strstr(mx_error_message(), strerror(error)) != NULL);
      check_old();
    }
}

static mx_status load(float values[N]) {
  mx_archive archive;
  mx_array x;
  mx_status status = mx_load(&archive, path, MX_FORMAT_ANY, false);
  if (status) return status;
  status = mx_archive_array(&x, archive, 0, NULL);
  if (!status) {
    status = mx_array_read(values, N * sizeof *values, x);
    CHECK(mx_array_free(x) == MX_OK);
  }
  CHECK(mx_archive_free(archive) == MX_OK);
  return status;
}

static void test_short_calls(size_t i) {
  static char expected[CAP], bytes[CAP];
  CHECK(writers[i].save(path) == MX_OK);
  const size_t n = file_bytes(expected);
  write_old();
  short_calls = 1;
  const mx_status saved = writers[i].save(path);
  float values[N] = {0};
  const mx_status loaded = writers[i].loads ? load(values) : MX_OK;
  short_calls = 0;
  CHECK(saved == MX_OK);
  CHECK(loaded == MX_OK);
  CHECK(n_files() == 1);
  if (writers[i].always_the_same) CHECK(file_bytes(bytes) == n && memcmp(bytes, expected, n) == 0);
  for (int k = 0; k < N && writers[i].loads; k++) CHECK(values[k] == (float)k);
}

static void test_failing_reads(void) {
  float values[N];
  for (fails_at = 1;; fails_at++) {
    error = EIO;
    n_done = 0;
    fails_what = "pread";
    const mx_status status = load(values);
    fails_what = "";
    if (n_done < fails_at) {
      CHECK(status == MX_OK);
      return;
    }
    CHECK(status == MX_ERROR_IO);
    CHECK(strstr(mx_error_message(), strerror(EIO)) != NULL);
  }
}

/* A device is not replaced by a file, and nothing is written into it. */
static void test_device(size_t i) {
  CHECK(writers[i].save("/dev/full") == MX_ERROR_IO);
  CHECK(strstr(mx_error_message(), "not a regular file") != NULL);
}

static void remove_folder(void) {
  unlink(path);
  rmdir(folder);
}

int main(void) {
  float values[N];
  const int64_t dims[] = {N};
  for (int k = 0; k < N; k++) values[k] = (float)k;
  strcpy(folder, "/tmp/mx-test-faults-XXXXXX");
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/x", folder);
  atexit(remove_folder);
  signal(SIGXFSZ, SIG_IGN);
  CHECK(mx_array_new(&array, values, sizeof values, dims, 1, MX_FLOAT32) == MX_OK);
  for (size_t i = 0; i < n_writers(); i++) {
    test_full_disk(i);
    test_failing_calls(i);
    test_short_calls(i);
    if (writers[i].loads) test_failing_reads();
    test_device(i);
  }
  CHECK(mx_array_free(array) == MX_OK);
  return 0;
}
