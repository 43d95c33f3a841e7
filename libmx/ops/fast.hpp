// Builders of the fused building blocks of neural networks. Documented in mx/fast.h; null operands are left out.
#pragma once
#include "ops/build.hpp"

namespace mx::ops {

Value layer_norm(const Value &x, const Value *weight, const Value *bias, double eps, const StreamRef &s = {});
Value rms_norm(const Value &x, const Value *weight, double eps, const StreamRef &s = {});

struct Rope {
  int64_t dims;
  bool traditional;
  double base, scale;
};
Value rope(const Value &x, const Rope &options, const Value &offset, const Value *freqs, const StreamRef &s = {});

struct AttentionOptions {
  double scale;
  const Value *mask = nullptr;
  bool causal = false;
  const Value *sinks = nullptr;
};
Value attention(const Value &q, const Value &k, const Value &v, const AttentionOptions &options,
                const StreamRef &s = {});

}  // namespace mx::ops
