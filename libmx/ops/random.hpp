// Builders of random draws. Documented in mx/random.h; a null key takes the thread's next one.
#pragma once
#include "ops/build.hpp"
#include "ops/random_state.hpp"

namespace mx::ops {

Value random_bits(List shape, int64_t width, const Value *key, const StreamRef &s = {});
Value random_split(const Value &key, int64_t n, const StreamRef &s = {});
Value uniform(const Value &low, const Value &high, List shape, DType d, const Value *key, const StreamRef &s = {});
// Null loc and scale are 0 and 1.
Value normal(List shape, DType d, const Value *loc, const Value *scale, const Value *key, const StreamRef &s = {});
Value multivariate_normal(const Value &mean, const Value &cov, List shape, DType d, const Value *key,
                          const StreamRef &s = {});
Value randint(const Value &low, const Value &high, List shape, DType d, const Value *key, const StreamRef &s = {});
// Without a shape: that of the parameters.
Value bernoulli(const Value &p, const std::optional<List> &shape, const Value *key, const StreamRef &s = {});
Value truncated_normal(const Value &lower, const Value &upper, const std::optional<List> &shape, DType d,
                       const Value *key, const StreamRef &s = {});
Value gumbel(List shape, DType d, const Value *key, const StreamRef &s = {});
Value laplace(List shape, DType d, double loc, double scale, const Value *key, const StreamRef &s = {});
Value categorical(const Value &logits, int64_t axis, const std::optional<List> &shape, const Value *key,
                  const StreamRef &s = {});
Value categorical_n(const Value &logits, int64_t axis, int64_t n, const Value *key, const StreamRef &s = {});
Value permutation(const Value &x, int64_t axis, const Value *key, const StreamRef &s = {});
Value permutation_n(int64_t n, const Value *key, const StreamRef &s = {});

}  // namespace mx::ops
