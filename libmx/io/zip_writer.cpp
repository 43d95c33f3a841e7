// Zip records (PKWARE APPNOTE.TXT 4.3).
#include "io/zip_writer.hpp"

#include <algorithm>

#include "base/status.hpp"
#include "io/crc32.hpp"
#include "io/text.hpp"

namespace mx::io {
namespace {

constexpr uint64_t saturated = 0xFFFFFFFF;
constexpr uint16_t utf8_name = 1 << 11;
constexpr uint16_t date = 1 << 5 | 1;  // 1980-01-01, the earliest there is

// Appends little-endian numbers.
class Record {
 public:
  explicit Record(std::string_view signature) : text_(signature) {}
  Record &u16(uint64_t x) { return number(x, 2); }
  Record &u32(uint64_t x) { return number(std::min(x, saturated), 4); }
  Record &u64(uint64_t x) { return number(x, 8); }
  Record &text(std::string_view t) {
    text_ += t;
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  Record &number(uint64_t x, int n) {
    for (; n > 0; n--, x >>= 8) text_ += static_cast<char>(x & 0xFF);
    return *this;
  }
  std::string text_;
};

uint16_t version(bool zip64) { return zip64 ? 45 : 20; }
uint16_t flags(const std::string &name) {
  return std::any_of(name.begin(), name.end(), [](char c) { return c & 0x80; }) ? utf8_name : 0;
}

}  // namespace

std::string ZipWriter::local_header(const Member &m) const {
  Record record("PK\x03\x04");
  record.u16(version(m.large)).u16(flags(m.name)).u16(m.deflated ? 8 : 0).u16(0).u16(date).u32(m.crc);
  record.u32(m.large ? saturated : m.compressed).u32(m.large ? saturated : m.size);
  record.u16(m.name.size()).u16(m.large ? 20 : 0).text(m.name);
  if (m.large) record.u16(1).u16(16).u64(m.size).u64(m.compressed);
  return record.take();
}

std::string ZipWriter::central_header(const Member &m) const {
  Record extra("");
  for (uint64_t value : {m.size, m.compressed, m.header})
    if (value >= saturated) extra.u64(value);
  const std::string zip64 = extra.take();
  Record record("PK\x01\x02");
  record.u16(3 << 8 | 45).u16(version(m.large || !zip64.empty())).u16(flags(m.name)).u16(m.deflated ? 8 : 0);
  record.u16(0).u16(date).u32(m.crc).u32(m.compressed).u32(m.size);
  record.u16(m.name.size()).u16(zip64.empty() ? 0 : zip64.size() + 4).u16(0).u16(0).u16(0);
  record.u32(uint64_t{0100600} << 16).u32(m.header).text(m.name);  // a Unix file, rw for its owner
  if (!zip64.empty()) record.u16(1).u16(zip64.size()).text(zip64);
  return record.take();
}

void ZipWriter::begin(std::string name, uint64_t size, bool deflated) {
  if (name.size() > 0xFFFF) fail(MX_ERROR_INVALID_ARGUMENT, "save_npz: a name of %zu bytes is too long", name.size());
  if (deflated)
    deflater_ = std::make_unique<Deflater>([this](std::span<const std::byte> bytes) { sink_.write(bytes); });
  Member member;
  member.name = std::move(name);
  member.header = sink_.position();
  member.size = size;
  member.compressed = size;
  member.deflated = deflated;
  member.large = (deflated ? deflated_limit(size) : size) >= saturated;
  sink_.write(local_header(member));
  members_.push_back(std::move(member));
}

void ZipWriter::write(std::span<const std::byte> bytes) {
  members_.back().crc = crc32(members_.back().crc, bytes.data(), bytes.size());
  deflater_ ? deflater_->write(bytes) : sink_.write(bytes);
}

void ZipWriter::end() {
  Member &member = members_.back();
  if (deflater_) deflater_->finish();
  deflater_.reset();
  const std::string header = local_header(member);  // of the right length, whatever is in it
  member.compressed = sink_.position() - member.header - header.size();
  sink_.patch(member.header, local_header(member));
}

void ZipWriter::finish() {
  const uint64_t directory = sink_.position();
  for (const Member &member : members_) sink_.write(central_header(member));
  const uint64_t end = sink_.position(), size = end - directory, n = members_.size();
  if (n >= 0xFFFF || size >= saturated || directory >= saturated) {
    Record record("PK\x06\x06");
    record.u64(44).u16(3 << 8 | 45).u16(45).u32(0).u32(0).u64(n).u64(n).u64(size).u64(directory);
    sink_.write(record.take());
    sink_.write(Record("PK\x06\x07").u32(0).u64(end).u32(1).take());
  }
  const uint64_t shown = std::min<uint64_t>(n, 0xFFFF);
  sink_.write(Record("PK\x05\x06").u16(0).u16(0).u16(shown).u16(shown).u32(size).u32(directory).u16(0).take());
}

}  // namespace mx::io
