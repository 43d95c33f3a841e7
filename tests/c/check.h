/* CHECK for the C and C++ tests: prints what failed and ends the test. A test is a program whose exit status says it
 * all.
 *
 * In the meson build every C test runs in the harness of check.c, which can also let each of its allocations fail in
 * turn (test_x --fail-allocations). A test needs to do nothing for it, except:
 *   - one fallible call per CHECK, so that the call that ran out of memory is known;
 *   - all that a callback of the library leaves to do after a failed CHECK must be harmless: there the test goes on;
 *   - check_closed(handle) for a handle that somebody else closed or will close. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <stdlib.h>

#ifdef CHECK_HARNESS
#include "track.h"
void check_failed(const char *file, int line, const char *condition);
#else
static inline void check_closed(void *handle) { (void)handle; }
static inline void check_failed(const char *file, int line, const char *condition) {
  fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
  exit(1);
}
#endif

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

#endif
