/* What the system refuses to libmx, and to nobody else in the process: threads (as under RLIMIT_NPROC or in a full
 * cgroup), memory for code (as under SELinux's execmem), memory, once, and memory for what the C library registers for
 * its callers: there it ends the process (__cxa_thread_atexit). The functions here come before libc's, also
 * for libmx.so. Not where sanitizers have theirs. */
#define _GNU_SOURCE
#include "refuse.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int refuses_threads, refuses_code, refuses_registrations;
static int n_refused; /* atomic */

int refuse(const char *what) {
  if (strcmp(what, "threads") == 0) return refuses_threads = 1;
  if (strcmp(what, "code") == 0) return refuses_code = 1;
  if (strcmp(what, "registrations") == 0) return refuses_registrations = 1;
  return 0;
}

int refused(void) { return __atomic_load_n(&n_refused, __ATOMIC_RELAXED); }

static uint64_t n_mallocs, refused_malloc; /* atomic; 0: none is refused */

uint64_t refuse_malloc(uint64_t n) {
  __atomic_store_n(&refused_malloc, n, __ATOMIC_RELAXED);
  return __atomic_exchange_n(&n_mallocs, 0, __ATOMIC_RELAXED);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

typedef struct {
  const char *name;
  uintptr_t begin, end;
} Code;
static Code libmx_code = {.name = "libmx.so"}, libc_code = {.name = "/libc.so"};

static int find_code(struct dl_phdr_info *object, size_t size, void *argument) {
  Code *code = argument;
  (void)size;
  if (!object->dlpi_name || !strstr(object->dlpi_name, code->name)) return 0;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    code->begin = object->dlpi_addr + part->p_vaddr;
    code->end = code->begin + part->p_memsz;
  }
  return 1;
}

__attribute__((constructor)) static void find_libraries(void) {
  dl_iterate_phdr(find_code, &libmx_code);
  dl_iterate_phdr(find_code, &libc_code);
}

static int is_in(Code code, void *caller) { return (uintptr_t)caller - code.begin < code.end - code.begin; }
static int is_libmx(void *caller) { return is_in(libmx_code, caller); }

static int count_refusal(int error) {
  __atomic_add_fetch(&n_refused, 1, __ATOMIC_RELAXED);
  return errno = error;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (refuses_threads && is_libmx(__builtin_return_address(0))) return count_refusal(EAGAIN);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  return real(thread, attributes, start, argument);
}

int mprotect(void *address, size_t n_bytes, int protection) {
  static int (*real)(void *, size_t, int);
  if (refuses_code && (protection & PROT_EXEC)) return count_refusal(EACCES), -1;
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "mprotect");
  return real(address, n_bytes, protection);
}

void *__libc_malloc(size_t n_bytes);
void *__libc_calloc(size_t n, size_t n_bytes);
void *__libc_realloc(void *memory, size_t n_bytes);
void *__libc_memalign(size_t alignment, size_t n_bytes);

static int refuses_this(void *caller) {
  if (!__atomic_load_n(&refused_malloc, __ATOMIC_RELAXED) || !is_libmx(caller)) return 0;
  const uint64_t n = __atomic_add_fetch(&n_mallocs, 1, __ATOMIC_RELAXED);
  return n == __atomic_load_n(&refused_malloc, __ATOMIC_RELAXED) && count_refusal(ENOMEM);
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t n_bytes) { return refuses_this(CALLER) ? NULL : __libc_malloc(n_bytes); }
void *calloc(size_t n, size_t n_bytes) {
  if (refuses_registrations && is_in(libc_code, CALLER)) return count_refusal(ENOMEM), NULL;
  return refuses_this(CALLER) ? NULL : __libc_calloc(n, n_bytes);
}
void *realloc(void *memory, size_t n_bytes) { return refuses_this(CALLER) ? NULL : __libc_realloc(memory, n_bytes); }
void *aligned_alloc(size_t alignment, size_t n_bytes) {
  return refuses_this(CALLER) ? NULL : __libc_memalign(alignment, n_bytes);
}
int posix_memalign(void **memory, size_t alignment, size_t n_bytes) {
  if (refuses_this(CALLER)) return ENOMEM;
  *memory = __libc_memalign(alignment, n_bytes);
  return *memory ? 0 : ENOMEM;
}

#endif
