// Reading and laying out safetensors headers.
#include "io/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "io/json.hpp"
#include "io/npy.hpp"
#include "io/text.hpp"

namespace mx::io {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian; add a swap for this machine");

constexpr uint64_t max_header = 100'000'000;  // the reference implementation's limit

struct DTypeName {
  const char *text;
  DType dtype;
  bool written;  // false: only read
};

// In the order in which the reference implementation sorts tensors by, the last ones first.
constexpr DTypeName dtype_names[] = {
    {"BOOL", DType::bool_, true},     {"U8", DType::uint8, true},      {"I8", DType::int8, true},
    {"F8_E4M3", DType::uint8, false}, {"I16", DType::int16, true},     {"U16", DType::uint16, true},
    {"F16", DType::float16, true},    {"BF16", DType::bfloat16, true}, {"I32", DType::int32, true},
    {"U32", DType::uint32, true},     {"F32", DType::float32, true},   {"C64", DType::complex64, true},
    {"F64", DType::float64, true},    {"I64", DType::int64, true},     {"U64", DType::uint64, true},
};

const DTypeName &written_name(DType d) {
  const auto *found = std::find_if(std::begin(dtype_names), std::end(dtype_names),
                                   [&](const DTypeName &n) { return n.written && n.dtype == d; });
  if (found == std::end(dtype_names)) fail(MX_ERROR_UNSUPPORTED, "safetensors files cannot hold %s", name(d));
  return *found;
}

struct Tensor {
  Entry entry;
  uint64_t begin = 0, end = 0;
};

// {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}; other keys are skipped, as elsewhere.
Tensor read_tensor(JsonReader &json, const Ref<Storage> &storage, std::string name) {
  Tensor t;
  t.entry.name = std::move(name);
  t.entry.source = storage;
  const std::string shown = quote(t.entry.name);
  bool has_dtype = false, has_shape = false, has_offsets = false;
  const auto once = [&](bool &seen, const char *key) {
    if (std::exchange(seen, true)) corrupt(*storage, "tensor %s has the key '%s' twice", shown.c_str(), key);
  };
  json.object([&](const std::string &key) {
    if (key == "dtype") {
      once(has_dtype, "dtype");
      const std::string text = json.string();
      const auto *found = std::find_if(std::begin(dtype_names), std::end(dtype_names),
                                       [&](const DTypeName &n) { return n.text == text; });
      if (found == std::end(dtype_names))
        corrupt(*storage, "tensor %s has the unsupported dtype %s", shown.c_str(), quote(text).c_str());
      t.entry.spec.dtype = found->dtype;
    } else if (key == "shape") {
      once(has_shape, "shape");
      json.array([&] {
        if (t.entry.spec.shape.size() == MX_MAX_DIMS)
          corrupt(*storage, "tensor %s has more than %d dimensions", shown.c_str(), MX_MAX_DIMS);
        t.entry.spec.shape.push_back(json.natural());
      });
    } else if (key == "data_offsets") {
      once(has_offsets, "data_offsets");
      int n = 0;
      json.array([&] { (n++ == 0 ? t.begin : t.end) = static_cast<uint64_t>(json.natural()); });
      if (n != 2) corrupt(*storage, "tensor %s has %d data_offsets instead of 2", shown.c_str(), n);
    } else {
      json.skip();
    }
  });
  if (!has_dtype || !has_shape || !has_offsets)
    corrupt(*storage, "tensor %s lacks dtype, shape or data_offsets", shown.c_str());
  return t;
}

void read_metadata(JsonReader &json, const Storage &storage, Contents &contents) {
  if (json.take_null()) return;  // MLX writes null when there is none
  json.object([&](std::string key) { contents.metadata.emplace_back(std::move(key), json.string()); });
  std::vector<std::string_view> keys;
  for (const auto &item : contents.metadata) keys.push_back(item.first);
  check_distinct(storage, std::move(keys), "metadata key");
}

// Sorts the tensors by place and checks that they cover the data from end to end, each with the bytes that it needs.
void check_places(const Storage &storage, std::vector<Tensor> &tensors, uint64_t n_data) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const Tensor &a, const Tensor &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  const auto number = [](uint64_t x) { return static_cast<unsigned long long>(x); };
  uint64_t at = 0;
  for (const Tensor &t : tensors) {
    const std::string shown = quote(t.entry.name);
    if (t.end < t.begin || t.end > n_data)
      corrupt(storage, "tensor %s claims the bytes [%llu, %llu) of %llu", shown.c_str(), number(t.begin), number(t.end),
              number(n_data));
    if (t.begin != at)
      corrupt(storage, "tensor %s begins at byte %llu instead of %llu: there is %s", shown.c_str(), number(t.begin),
              number(at), t.begin > at ? "a hole" : "an overlap");
    const uint64_t needed = checked_bytes(storage, "tensor " + shown, t.entry.spec);
    if (t.end - t.begin != needed)
      corrupt(storage, "tensor %s has %llu bytes, its shape %s of %s needs %llu", shown.c_str(),
              number(t.end - t.begin), to_string(t.entry.spec.shape).c_str(), name(t.entry.spec.dtype), number(needed));
    at = t.end;
  }
  if (at != n_data) corrupt(storage, "%llu bytes after the last tensor belong to none", number(n_data - at));
}

void append_quoted(std::string &out, std::string_view text) {
  constexpr std::string_view letters = "bfnrt", meanings = "\b\f\n\r\t";
  constexpr char hex[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    const size_t i = meanings.find(c);
    if (i != meanings.npos) {
      out += '\\';
      out += letters[i];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  out += '"';
}

void append_tensor(std::string &out, std::string_view name, const Spec &spec, uint64_t begin, uint64_t end) {
  append_quoted(out, name);
  out += std::string(":{\"dtype\":\"") + written_name(spec.dtype).text + "\",\"shape\":[";
  for (size_t i = 0; i < spec.shape.size(); i++) out += (i ? "," : "") + std::to_string(spec.shape[i]);
  out += "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

}  // namespace

Contents read_safetensors(const Ref<Storage> &storage) {
  unsigned char prefix[8];
  const uint64_t size = storage->size();
  if (size < 8) corrupt(*storage, "is no safetensors file: it has %llu bytes", static_cast<unsigned long long>(size));
  storage->read_at(0, std::as_writable_bytes(std::span(prefix)));
  uint64_t length = 0;
  for (int i = 8; i-- > 0;) length = length << 8 | prefix[i];
  if (length > size - 8 || length > max_header)
    corrupt(*storage, "safetensors header claims %llu bytes, the file has %llu",
            static_cast<unsigned long long>(length), static_cast<unsigned long long>(size));
  std::string text(length, '\0');
  storage->read_at(8, std::as_writable_bytes(std::span(text.data(), text.size())));
  if (!text.starts_with('{'))
    corrupt(*storage, "is no safetensors file: its header begins with %s", quote(text, 8).c_str());

  Contents contents;
  std::vector<Tensor> tensors;
  JsonReader json(text, storage->name());
  bool has_metadata = false;
  json.object([&](std::string key) {
    if (key == "__metadata__") {
      if (std::exchange(has_metadata, true)) corrupt(*storage, "has the key '__metadata__' twice");
      read_metadata(json, *storage, contents);
    } else {
      tensors.push_back(read_tensor(json, storage, std::move(key)));
    }
  });
  json.end();

  std::vector<std::string_view> names;
  for (const Tensor &t : tensors) names.push_back(t.entry.name);
  check_distinct(*storage, std::move(names), "tensor");
  check_places(*storage, tensors, size - 8 - length);
  for (Tensor &t : tensors) {
    t.entry.offset = 8 + length + t.begin;
    contents.entries.push_back(std::move(t.entry));
  }
  return contents;
}

SafetensorsLayout safetensors_layout(std::span<const std::string_view> names, std::span<const Spec> specs,
                                     std::span<const std::pair<std::string_view, std::string_view>> metadata) {
  SafetensorsLayout layout;
  layout.order.resize(names.size());
  std::iota(layout.order.begin(), layout.order.end(), size_t{0});
  std::sort(layout.order.begin(), layout.order.end(), [&](size_t a, size_t b) {
    const DTypeName *left = &written_name(specs[a].dtype), *right = &written_name(specs[b].dtype);
    return left != right ? left > right : names[a] < names[b];
  });
  std::string json = "{";
  const auto separate = [&] { json += json.size() > 1 ? "," : ""; };
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (size_t i = 0; i < metadata.size(); i++) {
      json += i ? "," : "";
      append_quoted(json, metadata[i].first);
      json += ':';
      append_quoted(json, metadata[i].second);
    }
    json += '}';
  }
  int64_t at = 0;
  for (size_t i : layout.order) {
    const int64_t begin = at;
    if (__builtin_add_overflow(at, byte_count(specs[i]), &at))
      fail(MX_ERROR_OVERFLOW, "save_safetensors: the tensors have more than 2^63 bytes together");
    separate();
    append_tensor(json, names[i], specs[i], static_cast<uint64_t>(begin), static_cast<uint64_t>(at));
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');  // keeps the data aligned
  for (size_t i = 0, n = json.size(); i < 8; i++) layout.header += static_cast<char>(n >> (8 * i) & 0xFF);
  layout.header += json;
  return layout;
}

}  // namespace mx::io
