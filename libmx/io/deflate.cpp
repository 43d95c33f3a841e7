// Deflate through zlib. zlib keeps no global state, starts no thread and registers nothing to run at exit.
#include "io/deflate.hpp"

#include <algorithm>
#include <limits>

#include "base/status.hpp"
#include "config.h"

#if MX_HAVE_ZLIB
#include <zlib.h>
#endif

namespace mx::io {

// A stored block costs 5 bytes for every 16 383 at zlib's default window and memory; a match of 258 bytes costs at
// least 2 bits, so a byte stands for at most 1032.
uint64_t inflated_limit(uint64_t compressed) noexcept {
  return compressed > std::numeric_limits<uint64_t>::max() / 1032 ? std::numeric_limits<uint64_t>::max()
                                                                  : compressed * 1032;
}

uint64_t deflated_limit(uint64_t size) noexcept {
  const uint64_t extra = size / 1000 + 64;
  return size > std::numeric_limits<uint64_t>::max() - extra ? std::numeric_limits<uint64_t>::max() : size + extra;
}

#if MX_HAVE_ZLIB

namespace {

// zlib counts in 32 bits.
uInt piece(size_t n) noexcept { return static_cast<uInt>(std::min<size_t>(n, 1u << 30)); }

Bytef *bytes(const std::byte *p) noexcept { return reinterpret_cast<Bytef *>(const_cast<std::byte *>(p)); }

void check_started(int result) {
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_OK) fail(MX_ERROR_INTERNAL, "zlib cannot be started: error %d", result);
}

}  // namespace

struct Inflater::State {
  explicit State(Refill r) : refill(std::move(r)) { check_started(inflateInit2(&z, -MAX_WBITS)); }
  ~State() { inflateEnd(&z); }
  z_stream z = {};
  Refill refill;
  std::span<const std::byte> in;
  bool ended = false, broken = false;
};

Inflater::Inflater(Refill refill) : state_(std::make_unique<State>(std::move(refill))) {}
Inflater::~Inflater() = default;
bool Inflater::broken() const noexcept { return state_->broken; }

size_t Inflater::read(std::span<std::byte> out) {
  State &s = *state_;
  size_t done = 0;
  while (done < out.size() && !s.ended && !s.broken) {
    if (s.in.empty()) s.in = s.refill();
    s.z.next_in = bytes(s.in.data());
    s.z.avail_in = piece(s.in.size());
    s.z.next_out = bytes(out.data() + done);
    s.z.avail_out = piece(out.size() - done);
    const uInt had_in = s.z.avail_in, had_out = s.z.avail_out;
    const int result = inflate(&s.z, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    s.in = s.in.subspan(had_in - s.z.avail_in);
    done += had_out - s.z.avail_out;
    s.ended = result == Z_STREAM_END;
    s.broken = result != Z_OK && result != Z_STREAM_END;  // Z_BUF_ERROR: no input left
  }
  return done;
}

struct Deflater::State {
  explicit State(Emit e) : emit(std::move(e)), out(std::make_unique<std::byte[]>(out_size)) {
    check_started(deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY));
  }
  ~State() { deflateEnd(&z); }
  void run(std::span<const std::byte> in, int flush) {
    do {
      const uInt had = piece(in.size());
      z.next_in = bytes(in.data());
      z.avail_in = had;
      do {
        z.next_out = bytes(out.get());
        z.avail_out = out_size;
        if (deflate(&z, flush) == Z_STREAM_ERROR) fail(MX_ERROR_INTERNAL, "zlib cannot compress");
        emit({out.get(), out_size - z.avail_out});
      } while (z.avail_out == 0);
      in = in.subspan(had - z.avail_in);
    } while (!in.empty());
  }
  static constexpr uInt out_size = 1 << 16;
  z_stream z = {};
  Emit emit;
  std::unique_ptr<std::byte[]> out;
};

Deflater::Deflater(Emit emit) : state_(std::make_unique<State>(std::move(emit))) {}
Deflater::~Deflater() = default;
void Deflater::write(std::span<const std::byte> in) {
  if (!in.empty()) state_->run(in, Z_NO_FLUSH);
}
void Deflater::finish() { state_->run({}, Z_FINISH); }

#else

namespace {
[[noreturn]] void no_zlib() { fail(MX_ERROR_UNSUPPORTED, "compressed npz files need zlib, which this build lacks"); }
}  // namespace

struct Inflater::State {};
Inflater::Inflater(Refill) { no_zlib(); }
Inflater::~Inflater() = default;
bool Inflater::broken() const noexcept { return true; }
size_t Inflater::read(std::span<std::byte>) { return 0; }

struct Deflater::State {};
Deflater::Deflater(Emit) { no_zlib(); }
Deflater::~Deflater() = default;
void Deflater::write(std::span<const std::byte>) {}
void Deflater::finish() {}

#endif

}  // namespace mx::io
