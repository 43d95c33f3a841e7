// bfloat16 products with the dot products of AVX-512 BF16: an instruction adds the two products of a pair of
// neighbours in k to each of sixteen float32 sums. Only for the per-level matmul sources.
//
// The sums are not those of the other kernels: of a pair the second product is added first, then the first one, each
// fused; numbers below the smallest normal one count as 0, and so do such sums. k is padded with a zero to an even
// number.
#pragma once
#include "backends/cpu/matmul_pairs.hpp"
#include "backends/cpu/matmul_tile.hpp"

#if defined(__AVX512BW__)

namespace {

// The level does not have the instruction, its assembler does; see has_dot.
struct AddDot {
  template <class T, class X>
  static inline __attribute__((always_inline)) void to(X &sum, X a, X b) {
    static_assert(sizeof(T) == 4);
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  }
};

void pack_a_dot(void *to, const MatrixView &a, int64_t m, int64_t k) {
  pack_pairs<tile_rows>(to, a.data, a.row, a.col, m, k);
}

void pack_b_dot(void *to, const MatrixView &b, int64_t k, int64_t n) {
  pack_pairs<tile_columns<float>>(to, b.data, b.col, b.row, n, k);
}

void multiply_dot(void *sums, int64_t ld, const void *a, const void *b, int64_t m, int64_t n, int64_t k, bool add) {
  multiply_panels<AddDot, Sums>(static_cast<float *>(sums), ld, static_cast<const float *>(a),
                                static_cast<const float *>(b), m, n, (k + 1) / 2, add);
}

// As Element rounds, and faster; numbers below the smallest normal one do not come from a dot product.
struct RoundedDot {
  using Stored = mx::BFloat16;
  static void round_vector(char *out, Vec<float> x) {
    __m256i y;
    asm("vcvtneps2bf16 %1, %0" : "=v"(y) : "v"(x));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(out), y);
  }
};

void multiply_rounded_dot(void *out, int64_t ld, const void *a, const void *b, int64_t m, int64_t n, int64_t k) {
  multiply_panels<AddDot, RoundedDot>(static_cast<mx::BFloat16 *>(out), ld, static_cast<const float *>(a),
                                      static_cast<const float *>(b), m, n, (k + 1) / 2, false);
}

}  // namespace

#endif
