#include "base/status.hpp"

#include <cstdarg>
#include <cstdio>

namespace mx {
namespace {
thread_local char last_message[1024] = "";
}

void fail(mx_status status, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  throw Error(status, text);
}

mx_status set_error(mx_status status, const char *message) noexcept {
  std::snprintf(last_message, sizeof last_message, "%s", message);
  return status;
}

const char *error_message() noexcept { return last_message; }

mx_status current_exception_status() noexcept {
  try {
    throw;
  } catch (const Error &e) {
    return set_error(e.status(), e.what());
  } catch (const std::bad_alloc &) {
    return set_error(MX_ERROR_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &e) {
    return set_error(MX_ERROR_INTERNAL, e.what());
  } catch (...) {
    return set_error(MX_ERROR_INTERNAL, "unknown failure");
  }
}

}  // namespace mx
