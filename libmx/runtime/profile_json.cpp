#include "runtime/profile_json.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <vector>

namespace mx::profile {
namespace {

constexpr const char *categories[n_kinds] = {"kernel", "share", "task", "compile", "wait", "allocation", "release"};

class Writer {
 public:
  explicit Writer(Buffer &buffer) : buffer_(buffer), process_(static_cast<int>(getpid())) {}

  std::string run() {
    const uint64_t n = std::min<uint64_t>(buffer_.next.load(std::memory_order_acquire), buffer_.capacity);
    text_.reserve(n * 140 + 1000);
    text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    format("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"libmx\"}}", process_);
    for (uint64_t i = 0; i < n; i++)
      if (buffer_.records()[i].ready.load(std::memory_order_acquire)) add(buffer_.records()[i]);
    name_threads();
    const uint64_t dropped = buffer_.next.load(std::memory_order_acquire) - n;
    format("\n],\"otherData\":{\"dropped\":%" PRIu64 "}}\n", dropped);
    return std::move(text_);
  }

 private:
  [[gnu::format(printf, 2, 3)]] void format(const char *how, ...) {
    char line[256];
    va_list args;
    va_start(args, how);
    const int n = std::vsnprintf(line, sizeof line, how, args);
    va_end(args);
    text_.append(line, static_cast<size_t>(std::clamp<int>(n, 0, sizeof line - 1)));
  }

  // Microseconds with three digits; not by %f, which writes the decimal point of the host's locale.
  void microseconds(const char *key, uint64_t ns) {
    format(",\"%s\":%" PRIu64 ".%03" PRIu64, key, ns / 1000, ns % 1000);
  }

  void add(const Record &r) {
    const std::pair<uint32_t, bool> thread(r.thread, r.worker);
    if (std::find(threads_.begin(), threads_.end(), thread) == threads_.end()) threads_.push_back(thread);
    if (r.kind != Kind::release) {
      text_ += ",\n{\"ph\":\"X\",\"name\":\"";
      quote({r.name, r.n_name});
      format("\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%" PRIu32, categories[static_cast<int>(r.kind)], process_, r.thread);
      microseconds("ts", r.begin_ns - buffer_.begin_ns);
      microseconds("dur", r.duration_ns);
      if (r.bytes) format(",\"args\":{\"bytes\":%" PRId64 "}", r.bytes);
      text_ += "}";
    }
    if (r.active < 0) return;
    format(",\n{\"ph\":\"C\",\"name\":\"active memory\",\"pid\":%d", process_);
    microseconds("ts", r.begin_ns + r.duration_ns - buffer_.begin_ns);
    format(",\"args\":{\"bytes\":%" PRId64 "}}", r.active);
  }

  void quote(std::string_view name) {
    for (const char c : name) {
      if (c == '"' || c == '\\') text_ += '\\';
      if (static_cast<unsigned char>(c) < 0x20)
        format("\\u%04x", c);
      else
        text_ += c;
    }
  }

  void name_threads() {
    for (const auto &[thread, worker] : threads_)
      format(",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%" PRIu32 ",\"args\":{\"name\":\"%s\"}}",
             process_, thread,
             worker                                 ? "worker"
             : static_cast<int>(thread) == process_ ? "main"
                                                    : "thread");
  }

  Buffer &buffer_;
  const int process_;
  std::string text_;
  std::vector<std::pair<uint32_t, bool>> threads_;
};

}  // namespace

std::string to_json(Buffer &buffer) { return Writer(buffer).run(); }

}  // namespace mx::profile
