// Recording what the library does and when, for a trace that Perfetto and chrome://tracing show (mx/inspect.h). While
// nothing is recorded a span costs one relaxed load. While something is, each span becomes one record in a buffer of
// fixed size; records beyond it are counted only. Nobody waits for anybody: a writer takes its place with one addition.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace mx::profile {

enum class Kind : uint8_t {
  kernel,      // a step of a program
  share,       // what one thread did of a parallel loop
  task,        // a region of a graph, on its stream
  compile,     // lowering a graph, making code
  wait,        // a thread sleeps until something is done
  allocation,  // memory is taken from the pool or from the system
  release      // and given back
};
constexpr int n_kinds = 7;

// Starts recording up to `capacity` records. Throws INVALID_ARGUMENT if a recording is on, bad_alloc.
void start(size_t capacity);
// Ends the recording; the trace as JSON in Chrome's trace event format. Throws INVALID_ARGUMENT if none is on.
std::string stop();
// In a forked child: the recording is the parent's.
void forget() noexcept;

// ---- for the places that record

struct Buffer;
extern constinit std::atomic<Buffer *> recording;  // null: off
inline bool on() noexcept { return recording.load(std::memory_order_relaxed) != nullptr; }

uint64_t begin() noexcept;
// A span that began at `begin` and ends now. `name` is copied, as far as it fits.
void record(Kind kind, std::string_view name, uint64_t begin, int64_t bytes, int64_t active) noexcept;

// The time from here to the end of the scope. `name` must live as long.
class Span {
 public:
  explicit Span(Kind kind, std::string_view name, int64_t bytes = 0) noexcept
      : kind_(kind), name_(name), bytes_(bytes) {
    if (on()) [[unlikely]]
      begin_ = begin();
  }
  ~Span() {
    if (begin_) [[unlikely]]
      record(kind_, name_, begin_, bytes_, -1);
  }
  Span(const Span &) = delete;
  Span &operator=(const Span &) = delete;

 private:
  const Kind kind_;
  const std::string_view name_;
  const int64_t bytes_;
  uint64_t begin_ = 0;
};

// The kernel that this thread is inside of, so that the threads that help it can say what they do; "" when off.
extern thread_local constinit std::string_view current_kernel;

class KernelSpan {
 public:
  explicit KernelSpan(std::string_view name) noexcept : span_(Kind::kernel, name), named_(on()) {
    if (named_) [[unlikely]]
      current_kernel = name;
  }
  ~KernelSpan() {
    if (named_) [[unlikely]]
      current_kernel = {};
  }
  KernelSpan(const KernelSpan &) = delete;
  KernelSpan &operator=(const KernelSpan &) = delete;

 private:
  Span span_;
  const bool named_;
};

}  // namespace mx::profile
