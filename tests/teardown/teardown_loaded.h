/* For programs that open the library themselves instead of linking it. */
#ifndef TEARDOWN_LOADED_H
#define TEARDOWN_LOADED_H
#include <dlfcn.h>

#include "teardown.h"

#define ADDRESS_OF(name) __extension__ __typeof__(name) *
#define LOOK_UP(library, name) __extension__(__typeof__(name) *) dlsym(library, #name)

#undef CHECK
#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      _exit(99);                                                              \
    }                                                                         \
  } while (0)

#endif
