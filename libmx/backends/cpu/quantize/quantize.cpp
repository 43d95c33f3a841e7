// quantize and dequantize: the ops on whole arrays. A group's codes, and so its bytes, follow those of the group
// before, so an array in row-major order is one long row.
#include "backends/cpu/float_rows.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/quantize/format.hpp"

namespace mx::cpu {
namespace {

constexpr int64_t piece = 4096;  // numbers that are turned at once: they stay in the first-level cache

int64_t groups_at_once(int64_t group) noexcept { return piece / group; }

// Codes as bytes to a string of bits: eight of them are `bits` bytes.
void pack_bits(char *to, const uint8_t *codes, int64_t n, int64_t bits) noexcept {
  for (int64_t i = 0; i < n; i += 8, to += bits) {
    uint64_t string = 0;
    for (int64_t j = 0; j < 8; j++) string |= uint64_t{codes[i + j]} << (j * bits);
    std::memcpy(to, &string, static_cast<size_t>(bits));
  }
}

struct Quantized {
  char *codes, *scales, *biases;
};

// `n` groups, from floats.
void quantize_groups(const PackedFormat &f, const Quantized &to, const float *x, int64_t n, DType scale_dtype,
                     float factor) {
  alignas(64) uint8_t codes[piece];
  float scales[piece / 16], biases[piece / 16];
  const packed::Table &table = packed::table();
  if (f.has_biases()) {
    table.encode_affine(codes, scales, biases, x, f.group, n, static_cast<int>(f.bits));
    from_floats(to.scales, scales, scale_dtype, n);
    from_floats(to.biases, biases, scale_dtype, n);
  } else {
    table.encode_float(codes, reinterpret_cast<uint8_t *>(to.scales), x, f.group, n, f.codes, f.scales, factor);
  }
  pack_bits(to.codes, codes, n * f.group, f.bits);
}

}  // namespace

void quantize(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const PackedFormat f(attrs);
  const RowMajor x(call.inputs[0]);
  const DType dtype = call.inputs[0].dtype;
  float factor = 1;
  if (f.scaled) {
    std::memcpy(&factor, call.inputs[1].data, sizeof factor);
    factor = nvfp4_largest / factor;
  }
  const int64_t scale_bytes = itemsize(call.outputs[1].dtype), n = size_of(call.outputs[1]);
  const double group_ns = static_cast<double>(f.group) * 1.5;
  parallel_for(n, Cost{group_ns}, [&](int64_t begin, int64_t end) {
    alignas(64) float floats[piece];
    for (int64_t g = begin; g < end; g += groups_at_once(f.group)) {
      const int64_t count = std::min(groups_at_once(f.group), end - g), at = g * f.group;
      to_floats(floats, x.tensor().data + at * itemsize(dtype), dtype, count * f.group);
      const Quantized to{call.outputs[0].data + at / 8 * f.bits, call.outputs[1].data + g * scale_bytes,
                         f.has_biases() ? call.outputs[2].data + g * scale_bytes : nullptr};
      quantize_groups(f, to, floats, count, dtype, factor);
    }
  });
}

void dequantize(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const PackedFormat f(attrs);
  const Tensor &out = call.outputs[0];
  const int64_t n = size_of(call.inputs[1]);
  if (n == 0) return;
  std::optional<RowMajor> whole[3];
  SmallVector<Tensor, 4> flat;  // each operand as one row
  const size_t matrices = f.has_biases() ? 3 : 2;
  for (size_t i = 0; i < matrices; i++) {
    const Tensor &t = whole[i].emplace(call.inputs[i]).tensor();
    flat.push_back({t.dtype, {1, size_of(t)}, {0, itemsize(t.dtype)}, t.data});
  }
  if (f.scaled) flat.push_back(call.inputs[matrices]);
  const packed::Rows row = PackedMatrices(f, {flat.data(), flat.size()}, 0).at(0);
  parallel_for(n, Cost{static_cast<double>(f.group) * 0.3}, [&](int64_t begin, int64_t end) {
    alignas(64) float floats[piece];
    float scratch[packed::scratch_floats(piece / 16)];
    for (int64_t g = begin; g < end; g += groups_at_once(f.group)) {
      const int64_t count = std::min(groups_at_once(f.group), end - g), at = g * f.group;
      char *const to = out.data + at * itemsize(out.dtype);
      const bool direct = out.dtype == DType::float32;
      f.kernels().unpack(direct ? reinterpret_cast<float *>(to) : floats, 0, row, 1, g, count, scratch);
      if (!direct) from_floats(to, floats, out.dtype, count * f.group);
    }
  });
}

}  // namespace mx::cpu
