// Telling formats apart, and making arrays of entries.
#include "io/archive.hpp"

#include <algorithm>
#include <numeric>

#include "io/npy.hpp"
#include "io/npz.hpp"
#include "io/safetensors.hpp"
#include "io/text.hpp"

namespace mx::io {
namespace {

mx_format format_of(const Storage &storage) {
  char start[9] = {};
  const size_t n = static_cast<size_t>(std::min<uint64_t>(sizeof start, storage.size()));
  storage.read_at(0, std::as_writable_bytes(std::span(start, n)));
  const std::string_view text(start, n);
  if (text.starts_with("\x93NUMPY")) return MX_FORMAT_NPY;
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06")) return MX_FORMAT_NPZ;
  if (text.starts_with("GGUF")) fail(MX_ERROR_UNSUPPORTED, "%s: GGUF files are not supported", storage.name().c_str());
  if (n == 9 && start[8] == '{') return MX_FORMAT_SAFETENSORS;
  corrupt(storage, "is neither npy nor npz nor safetensors: it begins with %s", quote(text).c_str());
}

Contents read_npy(const Ref<Storage> &storage) {
  NpyHeader header = read_npy_header(*storage);
  Entry entry;
  entry.spec = std::move(header.spec);
  entry.offset = header.data_offset;
  entry.fortran = header.fortran;
  entry.swap = header.swap;
  entry.source = storage;
  Contents contents;
  contents.entries.push_back(std::move(entry));
  return contents;
}

// The layout of an entry on memory that holds its source.
Layout layout_of(const Entry &entry) {
  Layout layout;
  layout.offset = static_cast<int64_t>(entry.offset);
  layout.strides = row_major(entry.spec.shape, itemsize(entry.spec.dtype));
  if (entry.fortran) {
    int64_t stride = itemsize(entry.spec.dtype);
    for (size_t i = 0; i < entry.spec.shape.size(); i++) {
      layout.strides[i] = stride;
      stride *= std::max<int64_t>(entry.spec.shape[i], 1);
    }
  }
  return layout;
}

// Elements can be used where they lie if nothing must be done to them: bytes in order, aligned, and no bool, since a
// byte of a file may be neither 0 nor 1.
bool usable_in_place(const Entry &entry, const Buffer &mapping) {
  const auto at = reinterpret_cast<uintptr_t>(mapping.data()) + entry.offset;
  const auto unit = static_cast<uint64_t>(itemsize(entry.spec.dtype));
  return !entry.swap && entry.spec.dtype != DType::bool_ && at % unit == 0;
}

}  // namespace

void check_distinct(const Source &source, std::vector<std::string_view> names, const char *what) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) corrupt(source, "has the %s %s twice", what, quote(*twice).c_str());
}

Contents read_contents(Ref<Storage> storage, mx_format format) {
  if (format == MX_FORMAT_ANY) format = format_of(*storage);
  const auto read = [&]() -> Contents {
    if (format == MX_FORMAT_NPY) return read_npy(storage);
    if (format == MX_FORMAT_NPZ) return read_npz(storage);
    if (format == MX_FORMAT_SAFETENSORS) return read_safetensors(storage);
    fail(MX_ERROR_INVALID_ARGUMENT, "load: %d is no mx_format", static_cast<int>(format));
  };
  Contents contents = read();
  contents.format = format;
  return contents;
}

}  // namespace mx::io

namespace mx {

Archive::Archive(io::Contents contents) : contents_(std::move(contents)), by_name_(contents_.entries.size()) {
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](uint32_t a, uint32_t b) { return contents_.entries[a].name < contents_.entries[b].name; });
}

size_t Archive::find(std::string_view name) const {
  const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name, [&](uint32_t i, std::string_view wanted) {
    return contents_.entries[i].name < wanted;
  });
  if (found == by_name_.end() || contents_.entries[*found].name != name)
    fail(MX_ERROR_INDEX, "archive_find: there is no array %s", io::quote(name).c_str());
  return *found;
}

Value Archive::array(size_t i, Ref<Stream> stream) const {
  if (i >= contents_.entries.size())
    fail(MX_ERROR_INDEX, "archive_array: index %zu of %zu arrays", i, contents_.entries.size());
  const io::Entry &entry = contents_.entries[i];
  const Ref<Buffer> mapping = entry.source->mapping();
  if (mapping && io::usable_in_place(entry, *mapping)) return make_done(entry.spec, io::layout_of(entry), mapping);
  Attrs attrs;
  attrs.put(static_cast<int64_t>(entry.offset)).put(std::span<const int64_t>(entry.spec.shape));
  attrs.put(entry.spec.dtype).put(entry.swap).put(entry.fortran);
  return make(OpCode::load, std::move(attrs), {}, std::move(stream), entry.source);
}

}  // namespace mx
