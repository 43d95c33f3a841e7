// The kernels on packed codes of one instruction set level, as a table of plain functions. Plain C types only: this
// header is compiled for every level, and inline code shared between levels would be merged by the linker.
//
// A row of codes is a little-endian string of bits: code i takes the bits [i * bits, (i + 1) * bits). Sixteen codes are
// 2 * bits whole bytes, and a group is a multiple of sixteen, so nothing here has a rest to care for.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace mx::cpu::packed {

// How the codes are read. The first ones are unsigned integers of so many bits; fp4 is E2M1, fp8 is E4M3.
enum CodeKind { uint2, uint3, uint4, uint5, uint6, uint8, fp4, fp8, n_code_kinds };
constexpr int code_bits[n_code_kinds] = {2, 3, 4, 5, 6, 8, 4, 8};

// How scales and biases are stored. e8m0: the exponent of a power of two, with bias 127; 255 is NaN.
enum ScaleKind { f32, f16, bf16, e8m0, e4m3 };

constexpr int most_vectors = 4;  // that share the reading of a row

// Some rows of a packed matrix, each of `groups` groups of `group` codes.
struct Rows {
  const char *codes, *scales, *biases;       // of the first row; no biases: nullptr
  int64_t code_step, scale_step, bias_step;  // bytes from row to row
  int scale_kind;                            // of the scales and of the biases
  float factor;                              // of all scales
  int64_t group, groups;
};

struct Codes {
  // Vectors as `dot` reads them: the same numbers, in another order.
  void (*order)(float *to, const float *from, int64_t n);
  // out[j * out_step + i] = the product of row i with vector j, for n_vectors (1 to most_vectors) ordered vectors
  // `x_step` floats apart, whose sums over groups lie `groups` floats apart in `sums`. `scratch` holds scratch_floats.
  void (*dot)(float *out, int64_t out_step, const Rows &w, int64_t n_rows, const float *x, int64_t x_step,
              const float *sums, int64_t n_vectors, float *scratch);
  // The numbers of the groups [first, first + n) of every row: scale * code + bias, each operation rounded to float32.
  // Rows of `out` are `out_step` floats apart.
  void (*unpack)(float *out, int64_t out_step, const Rows &w, int64_t n_rows, int64_t first, int64_t n, float *scratch);
};

// Floats that `dot` and `unpack` need: scales and biases of two rows.
constexpr int64_t scratch_floats(int64_t groups) { return 4 * (groups + 16); }

struct Table {
  const char *name;
  Codes codes[n_code_kinds];
  // sums[g] = the sum of group g of n groups.
  void (*group_sums)(float *sums, const float *x, int64_t group, int64_t n);
  // n groups of `group` numbers: codes as whole bytes, scales and biases. The rules are in quantize.cpp.
  void (*encode_affine)(uint8_t *codes, float *scales, float *biases, const float *x, int64_t group, int64_t n,
                        int bits);
  void (*encode_float)(uint8_t *codes, uint8_t *scales, const float *x, int64_t group, int64_t n, int code_kind,
                       int scale_kind, float factor);
};

// The table for this CPU, chosen once and capped by MX_ISA.
const Table &table() noexcept;

}  // namespace mx::cpu::packed
