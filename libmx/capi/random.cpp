// mx/random.h: keys and draws.
#include "ops/random.hpp"

#include "capi/convert.hpp"

namespace mx::capi {

void random_seed(uint64_t seed) { seed_thread(seed); }
Value random_get_state() { return thread_key(); }
void random_set_state(Value key) { set_thread_key(key); }
Value random_key(uint64_t seed) { return key_array(seed_key(seed)); }

Value random_split(Value key, int64_t num, Stream *stream) { return ops::random_split(key, num, share(stream)); }

Value random_bits(const int64_t *shape, size_t n_shape, int64_t width, Value key, Stream *stream) {
  return ops::random_bits(list(shape, n_shape), width, Optional(key), share(stream));
}

Value random_uniform(Value low, Value high, const int64_t *shape, size_t n_shape, mx_dtype dtype, Value key,
                     Stream *stream) {
  return ops::uniform(low, high, list(shape, n_shape), to_dtype(dtype), Optional(key), share(stream));
}

Value random_normal(const int64_t *shape, size_t n_shape, mx_dtype dtype, Value loc, Value scale, Value key,
                    Stream *stream) {
  return ops::normal(list(shape, n_shape), to_dtype(dtype), Optional(loc), Optional(scale), Optional(key),
                     share(stream));
}

Value random_multivariate_normal(Value mean, Value cov, const int64_t *shape, size_t n_shape, mx_dtype dtype, Value key,
                                 Stream *stream) {
  return ops::multivariate_normal(mean, cov, list(shape, n_shape), to_dtype(dtype), Optional(key), share(stream));
}

Value random_randint(Value low, Value high, const int64_t *shape, size_t n_shape, mx_dtype dtype, Value key,
                     Stream *stream) {
  return ops::randint(low, high, list(shape, n_shape), to_dtype(dtype), Optional(key), share(stream));
}

Value random_bernoulli(Value p, const int64_t *shape, size_t n_shape, Value key, Stream *stream) {
  return ops::bernoulli(p, optional_list(shape, n_shape), Optional(key), share(stream));
}

Value random_truncated_normal(Value lower, Value upper, const int64_t *shape, size_t n_shape, mx_dtype dtype, Value key,
                              Stream *stream) {
  return ops::truncated_normal(lower, upper, optional_list(shape, n_shape), to_dtype(dtype), Optional(key),
                               share(stream));
}

Value random_gumbel(const int64_t *shape, size_t n_shape, mx_dtype dtype, Value key, Stream *stream) {
  return ops::gumbel(list(shape, n_shape), to_dtype(dtype), Optional(key), share(stream));
}

Value random_laplace(const int64_t *shape, size_t n_shape, mx_dtype dtype, double loc, double scale, Value key,
                     Stream *stream) {
  return ops::laplace(list(shape, n_shape), to_dtype(dtype), loc, scale, Optional(key), share(stream));
}

Value random_categorical(Value logits, int64_t axis, const int64_t *shape, size_t n_shape, Value key, Stream *stream) {
  return ops::categorical(logits, axis, optional_list(shape, n_shape), Optional(key), share(stream));
}

Value random_categorical_n(Value logits, int64_t axis, int64_t num_samples, Value key, Stream *stream) {
  return ops::categorical_n(logits, axis, num_samples, Optional(key), share(stream));
}

Value random_permutation(Value x, int64_t axis, Value key, Stream *stream) {
  return ops::permutation(x, axis, Optional(key), share(stream));
}

Value random_permutation_n(int64_t n, Value key, Stream *stream) {
  return ops::permutation_n(n, Optional(key), share(stream));
}

}  // namespace mx::capi
