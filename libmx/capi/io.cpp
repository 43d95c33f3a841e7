// The C ABI of mx/io.h.
#include <cstring>
#include <vector>

#include "capi.h"
#include "eval/eval.hpp"
#include "io/archive.hpp"
#include "io/save.hpp"
#include "runtime/lifecycle.hpp"

namespace mx::capi {
namespace {

Ref<Archive> open(Ref<io::Storage> storage, mx_format format) {
  count_allocation();
  return make_ref<Archive>(io::read_contents(std::move(storage), format));
}

void copy_text(char *buf, size_t cap, size_t *needed_out, const std::string &text) {
  if (cap > text.size()) std::memcpy(buf, text.c_str(), text.size() + 1);
  *needed_out = text.size() + 1;
}

const std::pair<std::string, std::string> &metadata_item(const Archive &x, size_t i) {
  if (i >= x.metadata().size())
    fail(MX_ERROR_INDEX, "archive_metadata: index %zu of %zu entries", i, x.metadata().size());
  return x.metadata()[i];
}

std::vector<std::string_view> texts(const char *function, const char *const *strings, size_t n) {
  std::vector<std::string_view> views;
  for (size_t i = 0; i < n; i++) {
    if (!strings[i]) fail(MX_ERROR_INVALID_ARGUMENT, "%s: string %zu is NULL", function, i);
    views.push_back(strings[i]);
  }
  return views;
}

ValueVector evaluated(ValueVector values) {
  eval(values);
  return values;
}

Value evaluated(Value value) {
  eval(value);
  return value;
}

// Writes with `body(sink)` to a file, or to memory that becomes an array.
template <class Body>
void to_file(const char *path, Body &&body) {
  require_running();
  io::FileSink sink(path);
  body(sink);
  sink.commit();
}

template <class Body>
Value to_memory(Body &&body) {
  require_running();
  io::MemorySink sink;
  body(sink);
  Ref<Buffer> buffer = sink.take();
  Spec spec{DType::uint8, {static_cast<int64_t>(buffer->size())}};
  Layout layout{{1}, 0};
  return make_done(std::move(spec), std::move(layout), std::move(buffer));
}

std::vector<std::pair<std::string_view, std::string_view>> metadata_of(const char *function, const char *const *keys,
                                                                       size_t n_keys, const char *const *values,
                                                                       size_t n_values) {
  if (n_keys != n_values)
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: %zu metadata keys for %zu values", function, n_keys, n_values);
  const auto key_texts = texts(function, keys, n_keys), value_texts = texts(function, values, n_values);
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
  for (size_t i = 0; i < n_keys; i++) metadata.emplace_back(key_texts[i], value_texts[i]);
  return metadata;
}

}  // namespace

Ref<Archive> load(const char *path, mx_format format, bool map) {
  require_not_closed();
  return open(io::open_file(path, map), format);
}

Ref<Archive> load_memory(const void *data, size_t n_bytes, mx_format format) {
  require_not_closed();
  return open(io::copy_of_memory({static_cast<const std::byte *>(data), n_bytes}), format);
}

void archive_format(mx_format *out, Archive &x) { *out = x.format(); }

void archive_count(size_t *n_out, Archive &x) { *n_out = x.entries().size(); }

void archive_name(char *buf, size_t cap, size_t *needed_out, Archive &x, size_t i) {
  if (i >= x.entries().size()) fail(MX_ERROR_INDEX, "archive_name: index %zu of %zu arrays", i, x.entries().size());
  copy_text(buf, cap, needed_out, x.entries()[i].name);
}

Value archive_array(Archive &x, size_t i, Stream *stream) { return x.array(i, Ref<Stream>::share(stream)); }

Value archive_find(Archive &x, const char *name, Stream *stream) { return archive_array(x, x.find(name), stream); }

void archive_metadata_count(size_t *n_out, Archive &x) { *n_out = x.metadata().size(); }

void archive_metadata_key(char *buf, size_t cap, size_t *needed_out, Archive &x, size_t i) {
  copy_text(buf, cap, needed_out, metadata_item(x, i).first);
}

void archive_metadata_value(char *buf, size_t cap, size_t *needed_out, Archive &x, size_t i) {
  copy_text(buf, cap, needed_out, metadata_item(x, i).second);
}

void save_npy(const char *path, Value x) {
  to_file(path, [&](io::Sink &sink) { io::write_npy(sink, evaluated(x)); });
}

void save_npz(const char *path, const char *const *names, size_t n_names, ValueVector arrays, bool compressed) {
  const auto views = texts("save_npz", names, n_names);
  to_file(path, [&](io::Sink &sink) { io::write_npz(sink, views, evaluated(arrays), compressed); });
}

void save_safetensors(const char *path, const char *const *names, size_t n_names, ValueVector arrays,
                      const char *const *keys, size_t n_keys, const char *const *values, size_t n_values) {
  const auto views = texts("save_safetensors", names, n_names);
  const auto metadata = metadata_of("save_safetensors", keys, n_keys, values, n_values);
  to_file(path, [&](io::Sink &sink) { io::write_safetensors(sink, views, evaluated(arrays), metadata); });
}

Value encode_npy(Value x) {
  return to_memory([&](io::Sink &sink) { io::write_npy(sink, evaluated(x)); });
}

Value encode_npz(const char *const *names, size_t n_names, ValueVector arrays, bool compressed) {
  const auto views = texts("encode_npz", names, n_names);
  return to_memory([&](io::Sink &sink) { io::write_npz(sink, views, evaluated(arrays), compressed); });
}

Value encode_safetensors(const char *const *names, size_t n_names, ValueVector arrays, const char *const *keys,
                         size_t n_keys, const char *const *values, size_t n_values) {
  const auto views = texts("encode_safetensors", names, n_names);
  const auto metadata = metadata_of("encode_safetensors", keys, n_keys, values, n_values);
  return to_memory([&](io::Sink &sink) { io::write_safetensors(sink, views, evaluated(arrays), metadata); });
}

}  // namespace mx::capi
