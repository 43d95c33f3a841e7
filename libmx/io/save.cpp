// Writers. Row-major arrays are written from where they lie; others are copied first, one at a time.
#include "io/save.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "backends/cpu/strided_copy.hpp"
#include "io/npy.hpp"
#include "io/safetensors.hpp"
#include "io/text.hpp"
#include "io/zip_writer.hpp"

namespace mx::io {
namespace {

// The elements of an evaluated array in row-major order.
class RowMajor {
 public:
  explicit RowMajor(const Value &x) {
    const Spec &spec = spec_of(x);
    const auto n = static_cast<size_t>(byte_count(spec));
    if (n == 0) return;
    const Output &output = x.node->output(x.index);
    const std::byte *data = output.buffer->data() + output.layout.offset;
    const int64_t size = itemsize(spec.dtype);
    if (is_row_major(spec.shape, output.layout.strides, size)) {
      buffer_ = output.buffer;
      bytes_ = {data, n};
      return;
    }
    copy_ = std::make_unique_for_overwrite<std::byte[]>(n);
    cpu::strided_copy(spec.shape, size, reinterpret_cast<char *>(copy_.get()), row_major(spec.shape, size),
                      reinterpret_cast<const char *>(data), output.layout.strides);
    bytes_ = {copy_.get(), n};
  }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  Ref<Buffer> buffer_;
  std::unique_ptr<std::byte[]> copy_;
  std::span<const std::byte> bytes_;
};

void check_texts(const char *function, const char *what, Names texts) {
  for (std::string_view text : texts)
    if (!is_utf8(text))
      fail(MX_ERROR_INVALID_ARGUMENT, "%s: the %s %s is not UTF-8", function, what, quote(text).c_str());
  std::vector<std::string_view> sorted(texts.begin(), texts.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: the %s %s is given twice", function, what, quote(*twice).c_str());
}

void check_names(const char *function, Names names, size_t n_arrays) {
  if (names.size() != n_arrays)
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: %zu names for %zu arrays", function, names.size(), n_arrays);
  check_texts(function, "name", names);
}

}  // namespace

void write_npy(Sink &sink, const Value &x) {
  sink.write(npy_header(spec_of(x)));
  sink.write(RowMajor(x).bytes());
}

void write_npz(Sink &sink, Names names, std::span<const Value> xs, bool deflated) {
  check_names("save_npz", names, xs.size());
  ZipWriter zip(sink);
  for (size_t i = 0; i < xs.size(); i++) {
    const std::string header = npy_header(spec_of(xs[i]));
    const RowMajor data(xs[i]);
    zip.begin(std::string(names[i]) + ".npy", header.size() + data.bytes().size(), deflated);
    zip.write(std::as_bytes(std::span(header)));
    zip.write(data.bytes());
    zip.end();
  }
  zip.finish();
}

void write_safetensors(Sink &sink, Names names, std::span<const Value> xs, Metadata metadata) {
  check_names("save_safetensors", names, xs.size());
  if (std::find(names.begin(), names.end(), "__metadata__") != names.end())
    fail(MX_ERROR_INVALID_ARGUMENT, "save_safetensors: '__metadata__' cannot name an array");
  std::vector<std::string_view> keys;
  for (const auto &[key, value] : metadata) {
    keys.push_back(key);
    if (!is_utf8(value))
      fail(MX_ERROR_INVALID_ARGUMENT, "save_safetensors: the metadata %s is not UTF-8", quote(value).c_str());
  }
  check_texts("save_safetensors", "metadata key", keys);
  std::vector<Spec> specs;
  for (const Value &x : xs) specs.push_back(spec_of(x));
  const SafetensorsLayout layout = safetensors_layout(names, specs, metadata);
  sink.write(layout.header);
  for (size_t i : layout.order) sink.write(RowMajor(xs[i]).bytes());
}

}  // namespace mx::io
