// The matrix kernels of one instruction set level, as a table of plain functions. Plain C types only: this header is
// compiled for every level, and inline code shared between levels would be merged by the linker into one level's copy.
//
// The order of additions depends on the shape only, so the bits of a result depend on the shape and the level: not on
// strides, tiles or threads. Products of two vectors or of a matrix and a vector use the order of matmul_gemv.hpp. All
// others cut k into blocks of k_block(k); inside a block an element of the result is one chain of fused multiply-adds
// (multiply and add below v3) that starts at 0, and the sums of the blocks are added in order.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace mx::cpu {

// Strides are bytes and may have any sign or be 0.
struct MatrixView {
  const char *data;
  int64_t row, col;
};

// Memory that will be read or written soon: called for a line at a time while there is other work.
struct Ahead {
  struct Piece {
    const char *begin, *end;
  } pieces[3];
  const char *strip;  // where b goes on in the next call, as many rows; or nullptr
};

// Kernels for one element type. float16 and bfloat16 compute in float32, which "packed" and "sums" then hold.
struct MatmulKernels {
  int64_t mr, nr;       // the register tile
  int64_t item;         // bytes of an element of the sums
  bool rounds;          // the element type differs from that of the sums
  int64_t packed_item;  // bytes of an element of the packed panels
  int64_t k_unit;       // panels are padded with zeros to a multiple of so many elements of k
  int64_t max_k_block;

  // Panels of mr rows, k-major inside, padded with zeros: ceil(m / mr) * mr * k elements.
  void (*pack_a)(void *to, const MatrixView &a, int64_t m, int64_t k);
  // Strips of nr columns, k-major inside, padded with zeros: ceil(n / nr) * nr * k elements.
  void (*pack_b)(void *to, const MatrixView &b, int64_t k, int64_t n);
  // sums (m, n), `ld` elements between rows, = or += a b for one block of k.
  void (*multiply)(void *sums, int64_t ld, const void *a, const void *b, int64_t m, int64_t n, int64_t k, bool add);
  // out (m, n), `ld` elements between rows, = a b rounded once, for all of k. nullptr where sums are elements.
  void (*multiply_rounded)(void *out, int64_t ld, const void *a, const void *b, int64_t m, int64_t n, int64_t k);
  // `multiply` without packing where the operands can be read as they lie; `scratch` holds one strip and all panels.
  // `ahead` may be nullptr. The function is, on the tile unit.
  void (*small)(void *sums, int64_t ld, const MatrixView &a, const MatrixView &b, int64_t m, int64_t n, int64_t k,
                bool add, void *scratch, const Ahead *ahead);
  // x[i] as an element of the sums, for a vector of n elements `step` bytes apart.
  void (*widen)(void *to, const char *x, int64_t step, int64_t n);
  // y[i] = or += the dot product of row i and x, in the order of matmul_gemv.hpp. nullptr for complex numbers.
  void (*gemv)(void *y, const MatrixView &a, const void *x, int64_t m, int64_t k, bool add);
  // out[j] = alpha sums[j * sums_step] + beta c[j], rounded once; c may be nullptr.
  void (*finish)(char *out, const void *sums, int64_t sums_step, int64_t n, double alpha, double beta, const char *c,
                 int64_t c_step);
};

struct MatmulLevel {
  const char *name;
  MatmulKernels float32, float64, complex64, float16, bfloat16;
  MatmulKernels bfloat16_dot, bfloat16_amx;  // `multiply` is nullptr where the level has none: see matmul_{dot,amx}.hpp
};

// The table for this CPU, chosen once and capped by MX_ISA.
const MatmulLevel &matmul_level() noexcept;
// Whether the dot products of AVX-512 BF16 are there and pay. MX_ISA=v4 says no, MX_ISA=v4+dot yes where they are
// there.
bool has_dot() noexcept;
// Whether this process may use the tile unit; asks the system for it once. MX_ISA=v4 says no.
bool has_amx() noexcept;

}  // namespace mx::cpu
