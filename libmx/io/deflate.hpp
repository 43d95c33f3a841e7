// Raw deflate streams (RFC 1951), as zip files hold them. Relies on zlib where the build found it (MX_HAVE_ZLIB in
// config.h); without it both constructors throw UNSUPPORTED.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace mx::io {

class Inflater {
 public:
  // `refill` returns more compressed bytes, valid until its next call, or none when there are no more.
  using Refill = std::function<std::span<const std::byte>()>;
  explicit Inflater(Refill refill);
  ~Inflater();
  // Writes up to out.size() bytes and returns how many; fewer only when the stream has ended.
  size_t read(std::span<std::byte> out);
  // Why the last read stopped early: true if the stream is broken or its bytes ran out, false at its proper end.
  bool broken() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Deflater {
 public:
  using Emit = std::function<void(std::span<const std::byte>)>;
  explicit Deflater(Emit emit);
  ~Deflater();
  void write(std::span<const std::byte> in);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// No deflate stream of `compressed` bytes holds more than this; saturates.
uint64_t inflated_limit(uint64_t compressed) noexcept;
// What deflate makes of `size` bytes at worst; saturates.
uint64_t deflated_limit(uint64_t size) noexcept;

}  // namespace mx::io
