// Files in memory for the tests of libmx/io: valid ones, made by hand or by the writers, to be damaged by the tests.
#pragma once
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/archive.hpp"
#include "io/load.hpp"
#include "io/npy.hpp"
#include "io/zip_writer.hpp"

namespace samples {

inline std::string little(uint64_t x, int n) {
  std::string text;
  for (; n > 0; n--, x >>= 8) text += static_cast<char>(x & 0xFF);
  return text;
}

// An npy file whose header is this text.
inline std::string npy_with(std::string_view dict, std::string_view data = "", int version = 1) {
  std::string file("\x93NUMPY", 6);
  file += {static_cast<char>(version), 0};
  return file + little(dict.size(), version == 1 ? 2 : 4) + std::string(dict) + std::string(data);
}

inline std::string npy(const mx::Spec &spec, std::string_view data) {
  return mx::io::npy_header(spec) + std::string(data);
}

inline std::string safetensors_with(std::string_view json, std::string_view data = "") {
  return little(json.size(), 8) + std::string(json) + std::string(data);
}

inline std::string zip_of(const std::vector<std::pair<std::string, std::string>> &members, bool deflated) {
  mx::io::MemorySink sink;
  mx::io::ZipWriter zip(sink);
  for (const auto &[name, data] : members) {
    zip.begin(name, data.size(), deflated);
    zip.write(std::as_bytes(std::span(data)));
    zip.end();
  }
  zip.finish();
  const mx::Ref<mx::Buffer> buffer = sink.take();
  return {reinterpret_cast<const char *>(buffer->data()), buffer->size()};
}

inline mx::io::Contents parse(std::string_view file, mx_format format) {
  return mx::io::read_contents(mx::io::copy_of_memory(std::as_bytes(std::span(file))), format);
}

// Runs the kernel of `load` on an entry, into memory of just the right size.
inline std::string elements(const mx::io::Entry &entry) {
  std::string out(static_cast<size_t>(mx::byte_count(entry.spec)), '\x55');
  mx::Attrs attrs;
  attrs.put(static_cast<int64_t>(entry.offset)).put(std::span<const int64_t>(entry.spec.shape));
  attrs.put(entry.spec.dtype).put(entry.swap).put(entry.fortran);
  const mx::Dims strides = mx::row_major(entry.spec.shape, mx::itemsize(entry.spec.dtype));
  const mx::Tensor tensor{entry.spec.dtype, entry.spec.shape, strides, out.data()};
  mx::io::load({mx::OpCode::load, attrs, {}, {&tensor, 1}, entry.source.get()});
  return out;
}

}  // namespace samples
