// Kernels on contiguous float32 rows, one table per instruction set level. Plain C types only: this header is compiled
// for every level, and inline code shared between levels would be merged by the linker into one level's copy.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace mx::cpu::rows {

// Up to this many queries are taken as they lie; more are packed by attention_queries.
constexpr int64_t few_queries = 4;

// A block of queries against a block of keys; see attention.cpp beside this file. Rows of q are scaled already.
struct AttentionBlock {
  int64_t n_queries, n_keys, depth, value_depth;
  const float *q;  // (n_queries, depth), row-major, or packed
  const float *k;  // (n_keys, depth), k_stride floats between rows
  const float *v;  // (n_keys, value_depth), v_stride floats between rows
  int64_t k_stride, v_stride;
  const float *bias;         // (n_queries, n_keys) added to the scores; NULL: none
  int64_t bias_stride;       // floats between its rows; 0: the same for all queries
  const int64_t *n_visible;  // per query: keys from this one on are masked; NULL: none
  float *scores;             // scratch: attention_scratch(...) floats, 64-byte aligned
  float *maximum, *sum;      // per query, running: start from -inf and 0, or from a sink's logit and 1; padded to 16
  float *out;                // (n_queries, value_depth), row-major, running: start from 0
};

struct Table {
  const char *name;
  void (*half_to_float)(float *out, const uint16_t *in, size_t n);
  void (*float_to_half)(uint16_t *out, const float *in, size_t n);
  void (*bfloat_to_float)(float *out, const uint16_t *in, size_t n);
  void (*float_to_bfloat)(uint16_t *out, const float *in, size_t n);
  float (*maximum)(const float *in, size_t n);  // NaN if there is one; -inf for n = 0
  float (*minimum)(const float *in, size_t n);  // NaN if there is one; inf for n = 0
  float (*sum)(const float *in, size_t n);
  float (*sum_squares)(const float *in, size_t n, float centre);            // of in - centre
  float (*sum_exp)(const float *in, size_t n, float maximum);               // of exp(in - maximum); in <= maximum
  float (*exp_rows)(float *out, const float *in, size_t n, float maximum);  // stores the terms too; out may be in
  void (*scale)(float *out, const float *in, size_t n, float factor);       // out may be in
  void (*stream)(float *out, const float *in, size_t n);  // copies past the caches; a fence must follow
  // out = (in - centre) * factor * weight + bias; weight and bias may be NULL, out may be in.
  void (*normalize)(float *out, const float *in, size_t n, float centre, float factor, const float *weight,
                    const float *bias);
  // Rotates the pairs (first[i], second[i]) by the angles with these cosines and sines; out may be in.
  void (*rotate)(float *out_first, float *out_second, const float *first, const float *second, const float *cosine,
                 const float *sine, size_t n);
  // The same for pairs that are neighbours: (in[2 i], in[2 i + 1]).
  void (*rotate_neighbours)(float *out, const float *in, const float *cosine, const float *sine, size_t n);
  float (*cumulative_sum)(float *out, const float *in, size_t n, float carry);  // returns the last; out may be in
  // Threefry-2x32, 20 rounds: encrypts the counters (counter0 + i, counter1 + i) under the key.
  void (*threefry)(uint32_t *first, uint32_t *second, const uint32_t key[2], uint32_t counter0, uint32_t counter1,
                   size_t n);
  void (*attention)(const AttentionBlock *block);
  // Packs rows of more than few_queries queries: (n_queries rounded up to a multiple of 16) * depth floats.
  void (*attention_queries)(float *out, const float *q, int64_t n_queries, int64_t depth);
  size_t (*attention_scratch)(int64_t n_queries, int64_t n_keys, int64_t value_depth);
};

// The table for this CPU, chosen once and capped by MX_ISA.
const Table &table() noexcept;

}  // namespace mx::cpu::rows
