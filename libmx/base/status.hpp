// Failures inside the core are exceptions; the C ABI turns them into mx_status in guard() and nowhere else.
#pragma once
#include <exception>
#include <new>
#include <string>

#include "mx/base.h"

namespace mx {

class Error : public std::exception {
 public:
  Error(mx_status status, std::string message) : status_(status), message_(std::move(message)) {}
  mx_status status() const noexcept { return status_; }
  const char *what() const noexcept override { return message_.c_str(); }

 private:
  mx_status status_;
  std::string message_;
};

// Throws an Error whose message is formatted like printf.
[[noreturn]] void fail(mx_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Stores the message for mx_error_message and returns the status. Never allocates.
mx_status set_error(mx_status status, const char *message) noexcept;
const char *error_message() noexcept;

// The status and message of the exception being handled; stores the message as set_error does.
mx_status current_exception_status() noexcept;

template <class F>
mx_status guard(F &&body) noexcept {
  try {
    body();
    return MX_OK;
  } catch (...) {
    return current_exception_status();
  }
}

}  // namespace mx
