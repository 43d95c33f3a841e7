// mx/random.h: keys and draws.
#include "ops/random.hpp"

#include "capi/convert.hpp"

namespace mx::capi {

void random_seed(uint64_t seed) { seed_thread(seed); }
Ref<Array> random_get_state() { return wrap(thread_key()); }
void random_set_state(Array &key) { set_thread_key(key.value()); }
Ref<Array> random_key(uint64_t seed) { return wrap(key_array(seed_key(seed))); }

Ref<Array> random_split(Array &key, int64_t num, Stream *stream) {
  return wrap(ops::random_split(key.value(), num, share(stream)));
}

Ref<Array> random_bits(const int64_t *shape, size_t n_shape, int64_t width, Array *key, Stream *stream) {
  return wrap(ops::random_bits(list(shape, n_shape), width, Optional(key), share(stream)));
}

Ref<Array> random_uniform(Array &low, Array &high, const int64_t *shape, size_t n_shape, mx_dtype dtype, Array *key,
                          Stream *stream) {
  return wrap(
      ops::uniform(low.value(), high.value(), list(shape, n_shape), to_dtype(dtype), Optional(key), share(stream)));
}

Ref<Array> random_normal(const int64_t *shape, size_t n_shape, mx_dtype dtype, Array *loc, Array *scale, Array *key,
                         Stream *stream) {
  return wrap(
      ops::normal(list(shape, n_shape), to_dtype(dtype), Optional(loc), Optional(scale), Optional(key), share(stream)));
}

Ref<Array> random_multivariate_normal(Array &mean, Array &cov, const int64_t *shape, size_t n_shape, mx_dtype dtype,
                                      Array *key, Stream *stream) {
  return wrap(ops::multivariate_normal(mean.value(), cov.value(), list(shape, n_shape), to_dtype(dtype), Optional(key),
                                       share(stream)));
}

Ref<Array> random_randint(Array &low, Array &high, const int64_t *shape, size_t n_shape, mx_dtype dtype, Array *key,
                          Stream *stream) {
  return wrap(
      ops::randint(low.value(), high.value(), list(shape, n_shape), to_dtype(dtype), Optional(key), share(stream)));
}

Ref<Array> random_bernoulli(Array &p, const int64_t *shape, size_t n_shape, Array *key, Stream *stream) {
  return wrap(ops::bernoulli(p.value(), optional_list(shape, n_shape), Optional(key), share(stream)));
}

Ref<Array> random_truncated_normal(Array &lower, Array &upper, const int64_t *shape, size_t n_shape, mx_dtype dtype,
                                   Array *key, Stream *stream) {
  return wrap(ops::truncated_normal(lower.value(), upper.value(), optional_list(shape, n_shape), to_dtype(dtype),
                                    Optional(key), share(stream)));
}

Ref<Array> random_gumbel(const int64_t *shape, size_t n_shape, mx_dtype dtype, Array *key, Stream *stream) {
  return wrap(ops::gumbel(list(shape, n_shape), to_dtype(dtype), Optional(key), share(stream)));
}

Ref<Array> random_laplace(const int64_t *shape, size_t n_shape, mx_dtype dtype, double loc, double scale, Array *key,
                          Stream *stream) {
  return wrap(ops::laplace(list(shape, n_shape), to_dtype(dtype), loc, scale, Optional(key), share(stream)));
}

Ref<Array> random_categorical(Array &logits, int64_t axis, const int64_t *shape, size_t n_shape, Array *key,
                              Stream *stream) {
  return wrap(ops::categorical(logits.value(), axis, optional_list(shape, n_shape), Optional(key), share(stream)));
}

Ref<Array> random_categorical_n(Array &logits, int64_t axis, int64_t num_samples, Array *key, Stream *stream) {
  return wrap(ops::categorical_n(logits.value(), axis, num_samples, Optional(key), share(stream)));
}

Ref<Array> random_permutation(Array &x, int64_t axis, Array *key, Stream *stream) {
  return wrap(ops::permutation(x.value(), axis, Optional(key), share(stream)));
}

Ref<Array> random_permutation_n(int64_t n, Array *key, Stream *stream) {
  return wrap(ops::permutation_n(n, Optional(key), share(stream)));
}

}  // namespace mx::capi
