// Reading zip files. All numbers in one are little-endian and all are lies until checked.
#include "io/zip.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "io/crc32.hpp"
#include "io/deflate.hpp"
#include "io/text.hpp"

namespace mx::io {
namespace {

constexpr size_t local_size = 30, central_size = 46, end_size = 22, end64_size = 56, locator_size = 20;
constexpr uint64_t max_directory = 256 << 20;  // bytes: far beyond any npz file, and small enough to read at once
constexpr uint16_t encrypted = 1 << 0, masked = 1 << 13;

unsigned long long number(uint64_t x) { return x; }

// Reads fields of a record in order; a record that is too short is an error of the file.
class Fields {
 public:
  Fields(const Storage &storage, std::string_view bytes) : storage_(storage), bytes_(bytes) {}
  std::string_view take(size_t n) {
    if (n > bytes_.size()) corrupt(storage_, "zip record is cut off");
    const std::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }
  uint16_t u16() { return static_cast<uint16_t>(little(2)); }
  uint32_t u32() { return static_cast<uint32_t>(little(4)); }
  uint64_t u64() { return little(8); }
  bool empty() const noexcept { return bytes_.empty(); }
  size_t left() const noexcept { return bytes_.size(); }

 private:
  uint64_t little(size_t n) {
    uint64_t value = 0;
    const std::string_view text = take(n);
    for (size_t i = n; i-- > 0;) value = value << 8 | static_cast<unsigned char>(text[i]);
    return value;
  }
  const Storage &storage_;
  std::string_view bytes_;
};

std::string read_text(const Storage &storage, uint64_t offset, size_t n) {
  std::string text(n, '\0');
  storage.read_at(offset, std::as_writable_bytes(std::span(text.data(), n)));
  return text;
}

struct Directory {
  uint64_t offset = 0, size = 0, n_entries = 0;
};

// The zip64 end record, if its locator stands right before the end record at `end`.
std::optional<Directory> find_directory64(const Storage &storage, uint64_t end) {
  if (end < locator_size + end64_size) return std::nullopt;
  const std::string locator = read_text(storage, end - locator_size, locator_size);
  if (!locator.starts_with("PK\x06\x07")) return std::nullopt;
  Fields fields(storage, locator);
  fields.take(8);  // signature, disk
  const uint64_t at = fields.u64();
  if (at > end - locator_size - end64_size) corrupt(storage, "zip64 end record at %llu is out of range", number(at));
  const std::string record = read_text(storage, at, end64_size);
  Fields end64(storage, record);
  if (end64.take(4) != "PK\x06\x06") corrupt(storage, "no zip64 end record at %llu", number(at));
  const uint64_t record_size = end64.u64();
  if (record_size != end - locator_size - at - 12)
    corrupt(storage, "zip64 end record claims %llu bytes", number(record_size));
  end64.take(4);  // versions
  if (end64.u32() != 0 || end64.u32() != 0) corrupt(storage, "zip file is split over disks");
  Directory directory;
  end64.take(8);  // entries on this disk
  directory.n_entries = end64.u64();
  directory.size = end64.u64();
  directory.offset = end64.u64();
  if (directory.offset > at || directory.size != at - directory.offset)
    corrupt(storage, "zip directory of %llu bytes at %llu does not end where its end record begins",
            number(directory.size), number(directory.offset));
  return directory;
}

// The end record is the last thing in the file but for a comment of up to 64 KiB.
Directory find_directory(const Storage &storage) {
  const uint64_t size = storage.size();
  if (size < end_size) corrupt(storage, "is no zip file: it has %llu bytes", number(size));
  const size_t n_tail = static_cast<size_t>(std::min<uint64_t>(size, end_size + 0xFFFF));
  const std::string tail = read_text(storage, size - n_tail, n_tail);
  size_t at = n_tail - end_size;
  for (;; at--) {
    at = tail.rfind("PK\x05\x06", at);
    if (at == tail.npos) corrupt(storage, "is no zip file or cut off: it has no end record");
    const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(tail[at + i])); };
    if (at + end_size + (byte(20) | byte(21) << 8) == n_tail) break;
    if (at == 0) corrupt(storage, "is no zip file or cut off: it has no end record");
  }
  const uint64_t end = size - n_tail + at;
  if (const std::optional<Directory> directory = find_directory64(storage, end)) return *directory;
  Fields fields(storage, std::string_view(tail).substr(at + 4));
  if (fields.u16() != 0 || fields.u16() != 0) corrupt(storage, "zip file is split over disks");
  Directory directory;
  fields.take(2);  // entries on this disk
  directory.n_entries = fields.u16();
  directory.size = fields.u32();
  directory.offset = fields.u32();
  if (directory.offset > end || directory.size != end - directory.offset)
    corrupt(storage, "zip directory of %llu bytes at %llu does not end where its end record begins",
            number(directory.size), number(directory.offset));
  return directory;
}

// Replaces the fields that are saturated by those of the zip64 extra field, which holds just these, in this order.
void apply_zip64(const Storage &storage, Fields extra, std::initializer_list<uint64_t *> fields) {
  constexpr uint64_t saturated = 0xFFFFFFFF;
  if (std::none_of(fields.begin(), fields.end(), [](const uint64_t *f) { return *f == saturated; })) return;
  while (extra.left() >= 4) {
    const uint16_t id = extra.u16(), size = extra.u16();
    Fields body(storage, extra.take(size));
    if (id != 1) continue;
    for (uint64_t *field : fields)
      if (*field == saturated) *field = body.u64();
    return;
  }
}

struct CentralEntry {
  ZipMember::Place place;
  uint64_t header = 0;  // of the local header
  uint16_t flags = 0, method = 0;
};

CentralEntry read_central(const Storage &storage, Fields &fields) {
  if (fields.left() < central_size || fields.take(4) != "PK\x01\x02") corrupt(storage, "zip directory is broken");
  CentralEntry entry;
  fields.take(4);  // versions
  entry.flags = fields.u16();
  entry.method = fields.u16();
  fields.take(4);  // time
  entry.place.crc = fields.u32();
  entry.place.compressed = fields.u32();
  entry.place.size = fields.u32();
  const uint16_t n_name = fields.u16(), n_extra = fields.u16(), n_comment = fields.u16();
  fields.take(8);  // disk, attributes
  entry.header = fields.u32();
  entry.place.name = fields.take(n_name);
  apply_zip64(storage, Fields(storage, fields.take(n_extra)),
              {&entry.place.size, &entry.place.compressed, &entry.header});
  fields.take(n_comment);
  return entry;
}

// Checks one entry against itself and against its local header, and finds its data. Returns where the data ends.
uint64_t check_entry(const Storage &storage, CentralEntry &entry, uint64_t directory) {
  ZipMember::Place &place = entry.place;
  const std::string shown = quote(place.name);
  if (!is_utf8(place.name) || place.name.find('\0') != place.name.npos)
    corrupt(storage, "zip member %s: the name is not UTF-8", shown.c_str());
  if (entry.flags & (encrypted | masked)) corrupt(storage, "zip member %s is encrypted", shown.c_str());
  if (entry.method != 0 && entry.method != 8)
    corrupt(storage, "zip member %s: compression method %u is not supported", shown.c_str(), entry.method);
  place.deflated = entry.method == 8;
  if (entry.header > directory || directory - entry.header < local_size)
    corrupt(storage, "zip member %s: its header at %llu is out of range", shown.c_str(), number(entry.header));
  const std::string local = read_text(storage, entry.header, local_size);
  Fields fields(storage, local);
  if (fields.take(4) != "PK\x03\x04")
    corrupt(storage, "zip member %s: no header at %llu", shown.c_str(), number(entry.header));
  fields.take(4);  // version, flags
  const uint16_t method = fields.u16();
  fields.take(16);  // time, sizes: the directory's are used
  const uint16_t n_name = fields.u16(), n_extra = fields.u16();
  const uint64_t room = directory - entry.header - local_size;
  if (room < uint64_t{n_name} + n_extra || place.compressed > room - n_name - n_extra)
    corrupt(storage, "zip member %s claims %llu bytes, which is more than there are", shown.c_str(),
            number(place.compressed));
  if (method != entry.method || read_text(storage, entry.header + local_size, n_name) != place.name)
    corrupt(storage, "zip member %s: its header and the directory differ", shown.c_str());
  if (place.deflated ? place.size > inflated_limit(place.compressed) : place.size != place.compressed)
    corrupt(storage, "zip member %s claims to hold %llu bytes in %llu", shown.c_str(), number(place.size),
            number(place.compressed));
  place.offset = entry.header + local_size + n_name + n_extra;
  return place.offset + place.compressed;
}

class MemberReader final : public Reader {
 public:
  MemberReader(const ZipMember &member, uint64_t skip)
      : member_(member), in_(member.storage().reader(member.place().offset)) {
    if (member.place().deflated) inflater_.emplace([this] { return refill(); });
    // Starting at the front lets the CRC cover all.
    std::byte passed[4096];
    for (uint64_t n; skip > 0; skip -= n) {
      n = std::min<uint64_t>(skip, sizeof passed);
      read({passed, static_cast<size_t>(n)});
    }
  }

  void read(std::span<std::byte> out) override {
    const ZipMember::Place &place = member_.place();
    if (out.size() > place.size - done_)
      corrupt(member_, "ends before the %zu bytes at offset %llu", out.size(), number(done_));
    if (!inflater_)
      in_->read(out);
    else if (inflater_->read(out) != out.size())
      corrupt(member_, "compressed data is %s", inflater_->broken() ? "broken" : "shorter than the directory says");
    done_ += out.size();
    crc_ = crc32(crc_, out.data(), out.size());
  }

  void finish() override {
    const ZipMember::Place &place = member_.place();
    if (done_ != place.size) return;  // more follows what was read: the CRC is not known
    std::byte beyond;
    if (inflater_ && (inflater_->read({&beyond, 1}) != 0 || inflater_->broken()))
      corrupt(member_, "compressed data is longer than the directory says");
    if (crc_ != place.crc) corrupt(member_, "CRC is %08x instead of %08x", crc_, place.crc);
  }

 private:
  std::span<const std::byte> refill() {
    if (!buffer_) buffer_ = std::make_unique<std::byte[]>(buffer_size);
    const size_t n = static_cast<size_t>(std::min<uint64_t>(buffer_size, member_.place().compressed - taken_));
    in_->read({buffer_.get(), n});
    taken_ += n;
    return {buffer_.get(), n};
  }

  static constexpr size_t buffer_size = 1 << 16;
  const ZipMember &member_;
  std::unique_ptr<Reader> in_;
  std::optional<Inflater> inflater_;
  std::unique_ptr<std::byte[]> buffer_;
  uint64_t done_ = 0, taken_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace

ZipMember::ZipMember(Ref<Storage> storage, Place place)
    : Source(storage->name() + ", member " + quote(place.name), place.size),
      storage_(std::move(storage)),
      place_(std::move(place)) {}

std::unique_ptr<Reader> ZipMember::reader(uint64_t offset) const {
  return std::make_unique<MemberReader>(*this, offset);
}

std::vector<ZipMember::Place> read_zip(const Storage &storage) {
  const Directory directory = find_directory(storage);
  if (directory.size > max_directory || directory.n_entries > directory.size / central_size)
    corrupt(storage, "zip directory claims %llu members in %llu bytes", number(directory.n_entries),
            number(directory.size));
  const std::string text = read_text(storage, directory.offset, static_cast<size_t>(directory.size));
  Fields fields(storage, text);
  std::vector<CentralEntry> entries;
  for (uint64_t i = 0; i < directory.n_entries; i++) entries.push_back(read_central(storage, fields));
  if (!fields.empty()) corrupt(storage, "zip directory has more than its %llu members", number(directory.n_entries));

  struct Extent {
    uint64_t begin, end;
  };
  std::vector<Extent> extents;
  std::vector<ZipMember::Place> members;
  for (CentralEntry &entry : entries) {
    extents.push_back({entry.header, check_entry(storage, entry, directory.offset)});
    members.push_back(std::move(entry.place));
  }
  std::sort(extents.begin(), extents.end(), [](const Extent &a, const Extent &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < extents.size(); i++)
    if (extents[i].begin < extents[i - 1].end)
      corrupt(storage, "zip members overlap at byte %llu", number(extents[i].begin));
  return members;
}

}  // namespace mx::io
