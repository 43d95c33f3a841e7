// Linked into a test with the checked locks: the test fails at its end if a thread ever took a lock out of order.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/lock.hpp"

namespace {

void look() {
  if (const unsigned long long n = mx::lock_order_failures()) {
    std::fprintf(stderr, "locks were taken out of order %llu times\n", n);
    _exit(1);
  }
}

const int registered = std::atexit(look);

}  // namespace
