// bfloat16 products on the tile unit of the CPU (AMX): sixteen rows of sixteen sums take 32 elements of k at a time.
// Only for the per-level matmul sources.
//
// The sums are float32, but not those of the other kernels: an instruction adds the two products of a pair one after
// the other, fused, to each sum, and the chain goes on from block to block of k; numbers below the smallest normal one
// count as 0, and so do such sums. k is padded with zeros to a multiple of 32.
#pragma once
#include "backends/cpu/matmul_pairs.hpp"

#if defined(__AVX512BW__)

namespace {

// What a function needs beyond the level.
#define MX_AMX __attribute__((target("amx-tile,amx-bf16")))

constexpr int amx_lanes = 32;  // rows of a panel, columns of a strip: two tiles each
constexpr int amx_k = 32;      // elements of k in a tile
constexpr int amx_tile_bytes = 1024, amx_step = 2 * amx_tile_bytes;  // of a panel or strip for amx_k

struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Panels: for every 32 of k, two tiles of 16 rows, each row 32 elements of k.
void pack_a_amx(void *to, const MatrixView &a, int64_t m, int64_t k) {
  char *out = static_cast<char *>(to);
  for (int64_t i = 0; i < m; i += amx_lanes)
    for (int64_t p = 0; p < k; p += amx_k, out += amx_step) {
      const int64_t depth = k - p < amx_k ? k - p : amx_k;
      const __mmask32 some = static_cast<__mmask32>(UINT64_C(0xffffffff) >> (amx_k - depth));
      for (int64_t r = 0; r < amx_lanes; r++) {
        char *const row = out + r * 64;
        const char *const from = a.data + (i + r) * a.row + p * a.col;
        if (i + r >= m) {
          memset(row, 0, 64);
        } else if (a.col == 2) {
          _mm512_storeu_si512(row, _mm512_maskz_loadu_epi16(some, from));
        } else {
          memset(row, 0, 64);
          for (int64_t q = 0; q < depth; q++) memcpy(row + q * 2, from + q * a.col, 2);
        }
      }
    }
}

// 16 columns whose elements of k lie side by side, as 16 rows of pairs: a transposition of 32-bit units.
inline void pair_columns(char *to, const char *from, int64_t step, int64_t columns, int64_t depth) {
  const __mmask32 some = static_cast<__mmask32>(UINT64_C(0xffffffff) >> (amx_k - depth));
  Vec<float> rows[16];
  for (int64_t c = 0; c < 16; c++) {
    const __m512i x = c < columns ? _mm512_maskz_loadu_epi16(some, from + c * step) : _mm512_setzero_si512();
    memcpy(&rows[c], &x, sizeof x);
  }
  transpose<float>(rows);
  for (int p = 0; p < 16; p++) store<float>(to + p * 64, rows[p]);
}

// Strips: for every 32 of k, two tiles of 16 columns, each row of a tile 16 pairs of neighbours in k.
void pack_b_amx(void *to, const MatrixView &b, int64_t k, int64_t n) {
  char *out = static_cast<char *>(to);
  for (int64_t j = 0; j < n; j += amx_lanes)
    for (int64_t p = 0; p < k; p += amx_k, out += amx_step) {
      const char *const from = b.data + j * b.col + p * b.row;
      const int64_t columns = n - j < amx_lanes ? n - j : amx_lanes, depth = k - p < amx_k ? k - p : amx_k;
      if (b.row == 2) {
        pair_columns(out, from, b.col, columns, depth);
        pair_columns(out + amx_tile_bytes, from + 16 * b.col, b.col, columns - 16, depth);
        continue;
      }
      const __mmask32 some = static_cast<__mmask32>(UINT64_C(0xffffffff) >> (amx_lanes - columns));
      const auto row = [&](int64_t q) {
        if (q >= depth) return _mm512_setzero_si512();
        if (b.col == 2) return _mm512_maskz_loadu_epi16(some, from + q * b.row);
        alignas(64) uint16_t lanes[32] = {};
        for (int64_t c = 0; c < columns; c++) memcpy(lanes + c, from + q * b.row + c * b.col, 2);
        return _mm512_load_si512(lanes);
      };
      for (int64_t q = 0; q < amx_k; q += 2) pair_rows(out + q * 32, amx_tile_bytes, row(q), row(q + 1));
    }
}

// Copies the corner of a block of 32 x 32 sums.
inline void copy_sums(float *to, int64_t to_step, const float *from, int64_t from_step, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) to[i * to_step + j] = from[i * from_step + j];
}

// One block of 32 x 32 sums, `c_step` bytes between rows.
MX_AMX inline void block_amx(float *c, int64_t c_step, const char *a, const char *b, int64_t k, bool add) {
  float *const below = c + 16 * (c_step / 4);
  if (add) {
    _tile_loadd(0, c, c_step);
    _tile_loadd(1, c + 16, c_step);
    _tile_loadd(2, below, c_step);
    _tile_loadd(3, below + 16, c_step);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t p = 0; p < k; p += amx_k, a += amx_step, b += amx_step) {
    _tile_loadd(4, a, 64);  // loads go between the products: all at once they would not overlap
    _tile_loadd(6, b, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + amx_tile_bytes, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + amx_tile_bytes, 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, c_step);
  _tile_stored(1, c + 16, c_step);
  _tile_stored(2, below, c_step);
  _tile_stored(3, below + 16, c_step);
}

MX_AMX void multiply_amx(void *sums, int64_t ld, const void *a, const void *b, int64_t m, int64_t n, int64_t k,
                         bool add) {
  TileShapes shapes;
  for (int t = 0; t < 8; t++) {
    shapes.row_bytes[t] = 64;
    shapes.rows[t] = 16;
  }
  _tile_loadconfig(&shapes);
  const int64_t panel = (k + amx_k - 1) / amx_k * amx_step;
  for (int64_t j = 0; j < n; j += amx_lanes)
    for (int64_t i = 0; i < m; i += amx_lanes) {
      const int64_t rows = m - i < amx_lanes ? m - i : amx_lanes, columns = n - j < amx_lanes ? n - j : amx_lanes;
      float *const c = static_cast<float *>(sums) + i * ld + j;
      const char *const left = static_cast<const char *>(a) + i / amx_lanes * panel;
      const char *const right = static_cast<const char *>(b) + j / amx_lanes * panel;
      if (rows == amx_lanes && columns == amx_lanes) {
        block_amx(c, ld * 4, left, right, k, add);
        continue;
      }
      alignas(64) float edge[amx_lanes * amx_lanes] = {};
      if (add) copy_sums(edge, amx_lanes, c, ld, rows, columns);
      block_amx(edge, amx_lanes * 4, left, right, k, add);
      copy_sums(c, ld, edge, amx_lanes, rows, columns);
    }
  _tile_release();  // else every switch of threads saves 8 KiB
}

}  // namespace

#endif
