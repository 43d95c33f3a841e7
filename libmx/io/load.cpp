// Reading elements in pieces of 1 MB, which take a few ms even deflated: between them the kernel looks for a cancel,
// and a byte swap finds its piece in the cache. Column-major files go through a buffer of one piece and are transposed
// on the way out of it.
#include "io/load.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/element.hpp"
#include "io/source.hpp"
#include "runtime/pool.hpp"

namespace mx::io {
namespace {

constexpr int64_t piece_size = 1 << 20;

template <class Word, Word (*swap)(Word)>
void swap_words(std::span<std::byte> data) noexcept {
  for (size_t i = 0; i < data.size(); i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, data.data() + i, sizeof word);
    word = swap(word);
    std::memcpy(data.data() + i, &word, sizeof word);
  }
}

uint16_t swap16(uint16_t x) noexcept { return __builtin_bswap16(x); }
uint32_t swap32(uint32_t x) noexcept { return __builtin_bswap32(x); }
uint64_t swap64(uint64_t x) noexcept { return __builtin_bswap64(x); }

// Reads what comes next in the file as elements of this machine.
class ElementReader {
 public:
  ElementReader(const Source &source, uint64_t offset, DType dtype, bool swap)
      : reader_(source.reader(offset)), dtype_(dtype), swap_(swap) {}

  void read(std::span<std::byte> out) {
    check_cancel();
    reader_->read(out);
    if (dtype_ == DType::bool_)  // a file may hold other bytes than 0 and 1
      for (std::byte &b : out) b = std::byte{b != std::byte{0}};
    if (!swap_) return;
    const int64_t unit = itemsize(part_dtype(dtype_));
    if (unit == 2) swap_words<uint16_t, swap16>(out);
    if (unit == 4) swap_words<uint32_t, swap32>(out);
    if (unit == 8) swap_words<uint64_t, swap64>(out);
  }
  void finish() { reader_->finish(); }

 private:
  std::unique_ptr<Reader> reader_;
  DType dtype_;
  bool swap_;
};

void load_rows(ElementReader &reader, std::span<std::byte> out) {
  while (!out.empty()) {
    const auto piece = out.first(std::min<size_t>(out.size(), piece_size));
    reader.read(piece);
    out = out.subspan(piece.size());
  }
}

// A run of elements along the first axis, the one that varies fastest in a column-major file.
struct Run {
  char *to;
  int64_t n;
};

// Blocks of rows, so that the cache lines that the runs share are still there when the next run comes.
template <class Word>
void scatter(std::span<const Run> runs, int64_t stride, const std::byte *from) noexcept {
  constexpr int64_t block = 256;
  const int64_t n = runs[0].n;  // all runs of a piece are equally long
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t end = std::min(n, begin + block);
    for (size_t r = 0; r < runs.size(); r++) {
      const std::byte *p = from + (static_cast<int64_t>(r) * n + begin) * static_cast<int64_t>(sizeof(Word));
      for (int64_t i = begin; i < end; i++, p += sizeof(Word)) std::memcpy(runs[r].to + i * stride, p, sizeof(Word));
    }
  }
}

void scatter(int64_t itemsize, std::span<const Run> runs, int64_t stride, const std::byte *from) noexcept {
  if (itemsize == 1) scatter<uint8_t>(runs, stride, from);
  if (itemsize == 2) scatter<uint16_t>(runs, stride, from);
  if (itemsize == 4) scatter<uint32_t>(runs, stride, from);
  if (itemsize == 8) scatter<uint64_t>(runs, stride, from);
  if (itemsize == 16) scatter<cpu::TwoWords>(runs, stride, from);
}

// Where the runs of a column-major array begin in a row-major one, one after the other.
class RunWalker {
 public:
  explicit RunWalker(const Tensor &out) : out_(out), index_(out.shape.size(), 0), at_(out.data) {}
  char *next() noexcept {
    char *const here = at_;
    for (size_t axis = 1; axis < index_.size(); axis++) {
      at_ += out_.strides[axis];
      if (++index_[axis] < out_.shape[axis]) break;
      at_ -= out_.strides[axis] * out_.shape[axis];
      index_[axis] = 0;
    }
    return here;
  }

 private:
  const Tensor &out_;
  Dims index_;
  char *at_;
};

void load_columns(ElementReader &reader, const Tensor &out, int64_t n_elements) {
  const int64_t size = itemsize(out.dtype), n = out.shape[0], n_runs = n_elements / n;
  const int64_t per_piece = piece_size / size;
  const auto buffer = std::make_unique<std::byte[]>(static_cast<size_t>(std::min(per_piece, n_elements) * size));
  RunWalker walker(out);
  const auto read = [&](std::span<const Run> runs) {
    reader.read({buffer.get(), static_cast<size_t>(static_cast<int64_t>(runs.size()) * runs[0].n * size)});
    scatter(size, runs, out.strides[0], buffer.get());
  };
  if (n > per_piece) {
    for (int64_t r = 0; r < n_runs; r++) {
      char *const to = walker.next();
      for (int64_t i = 0; i < n; i += per_piece) {
        const Run part{to + i * out.strides[0], std::min(per_piece, n - i)};
        read({&part, 1});
      }
    }
    return;
  }
  std::vector<Run> runs;
  for (int64_t r = 0; r < n_runs; r += static_cast<int64_t>(runs.size())) {
    runs.clear();
    while (static_cast<int64_t>(runs.size()) < std::min(per_piece / n, n_runs - r)) runs.push_back({walker.next(), n});
    read(runs);
  }
}

}  // namespace

void load(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const auto offset = static_cast<uint64_t>(attrs.integer());
  attrs.list();  // the shape and the dtype are the output's
  attrs.dtype();
  const bool swap = attrs.boolean(), fortran = attrs.boolean();
  const Tensor &out = call.outputs[0];
  const int64_t n = element_count(out.shape);
  ElementReader reader(static_cast<const Source &>(*call.payload), offset, out.dtype, swap);
  if (fortran && n > 0 && out.shape.size() > 1)
    load_columns(reader, out, n);
  else
    load_rows(reader, {reinterpret_cast<std::byte *>(out.data), static_cast<size_t>(n * itemsize(out.dtype))});
  reader.finish();
}

}  // namespace mx::io
