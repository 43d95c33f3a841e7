/* mx/random.h: random numbers from a counter, Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as
 * easy as 1, 2, 3", SC 2011). The conventions are at the top of mx/ops.h.
 *
 * A key is a uint32 array (2). The same key always gives the same numbers; draws from different keys are independent.
 * `key` NULL takes the next key of the calling thread. Every thread starts with a key of its own, made from a seed that
 * the process takes once from the system; a forked child mixes new entropy in, unless the thread had called
 * mx_random_seed. A draw without a key inside a trace gives new numbers at every call of the compiled function.
 * Scalars such as bounds are arrays and broadcast to `shape`, else SHAPE. Dtypes are floating, else DTYPE.
 */
#ifndef MX_RANDOM_H
#define MX_RANDOM_H
#include "mx/ops.h"

MX_EXTERN_C_BEGIN

/* Sets the calling thread's key to mx_random_key(seed). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_seed(uint64_t seed);

/* The calling thread's key. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_get_state(mx_array *out);

/* Makes `key` the calling thread's key: inside a trace it may be a placeholder, and the thread's draws then continue
 * from it. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_set_state(mx_array key);

/* The key of a seed: its upper and its lower 32 bits. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_key(mx_array *out, uint64_t seed);

/* (num, 2): new keys from one that should not be used again. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_split(mx_array *out, mx_array key, int64_t num,
                                                    mx_stream MX_OPTIONAL stream);

/* Uniform random bytes: uint8, uint16 or uint32 for width 1, 2 or 4 bytes. INVALID_ARGUMENT else. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_bits(mx_array *out, const int64_t *shape, size_t n_shape, int64_t width,
                                                   mx_array MX_OPTIONAL key, mx_stream MX_OPTIONAL stream);

/* Uniform in [low, high). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_uniform(mx_array *out, mx_array low, mx_array high, const int64_t *shape,
                                                      size_t n_shape, mx_dtype dtype, mx_array MX_OPTIONAL key,
                                                      mx_stream MX_OPTIONAL stream);

/* Normal with mean `loc` (0) and standard deviation `scale` (1). Complex numbers: real and imaginary part of variance
 * 1/2 each. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_normal(mx_array *out, const int64_t *shape, size_t n_shape,
                                                     mx_dtype dtype, mx_array MX_OPTIONAL loc,
                                                     mx_array MX_OPTIONAL scale, mx_array MX_OPTIONAL key,
                                                     mx_stream MX_OPTIONAL stream);

/* Normal vectors (shape..., n) with mean (..., n) and covariance (..., n, n); `shape` must be what the batches
 * broadcast to, or longer. float32 only. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_multivariate_normal(mx_array *out, mx_array mean, mx_array cov,
                                                                  const int64_t *shape, size_t n_shape, mx_dtype dtype,
                                                                  mx_array MX_OPTIONAL key,
                                                                  mx_stream MX_OPTIONAL stream);

/* Uniform integers in [low, high), up to a bias of (high - low) / 2^bits: 64 bits for 64-bit dtypes, else 32. DTYPE
 * unless integer or bool. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_randint(mx_array *out, mx_array low, mx_array high, const int64_t *shape,
                                                      size_t n_shape, mx_dtype dtype, mx_array MX_OPTIONAL key,
                                                      mx_stream MX_OPTIONAL stream);

/* bool: true with probability p, which must be floating (DTYPE). NULL shape: that of p. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_bernoulli(mx_array *out, mx_array p, const int64_t *MX_OPTIONAL shape,
                                                        size_t n_shape, mx_array MX_OPTIONAL key,
                                                        mx_stream MX_OPTIONAL stream);

/* Standard normal within [lower, upper]; `lower` where that is empty. NULL shape: what the bounds broadcast to. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_truncated_normal(mx_array *out, mx_array lower, mx_array upper,
                                                               const int64_t *MX_OPTIONAL shape, size_t n_shape,
                                                               mx_dtype dtype, mx_array MX_OPTIONAL key,
                                                               mx_stream MX_OPTIONAL stream);

/* The standard Gumbel distribution. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_gumbel(mx_array *out, const int64_t *shape, size_t n_shape,
                                                     mx_dtype dtype, mx_array MX_OPTIONAL key,
                                                     mx_stream MX_OPTIONAL stream);

/* The Laplace distribution. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_laplace(mx_array *out, const int64_t *shape, size_t n_shape,
                                                      mx_dtype dtype, double loc, double scale,
                                                      mx_array MX_OPTIONAL key, mx_stream MX_OPTIONAL stream);

/* uint32: indices along an axis drawn with probabilities softmax(logits). NULL shape: that of logits without the
 * axis; else `shape` must broadcast with it. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_categorical(mx_array *out, mx_array logits, int64_t axis,
                                                          const int64_t *MX_OPTIONAL shape, size_t n_shape,
                                                          mx_array MX_OPTIONAL key, mx_stream MX_OPTIONAL stream);

/* As mx_random_categorical with num_samples draws per distribution, as the last axis. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_categorical_n(mx_array *out, mx_array logits, int64_t axis,
                                                            int64_t num_samples, mx_array MX_OPTIONAL key,
                                                            mx_stream MX_OPTIONAL stream);

/* x with its slices along an axis in random order. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_permutation(mx_array *out, mx_array x, int64_t axis,
                                                          mx_array MX_OPTIONAL key, mx_stream MX_OPTIONAL stream);

/* uint32: 0 to n - 1 in random order. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_random_permutation_n(mx_array *out, int64_t n, mx_array MX_OPTIONAL key,
                                                            mx_stream MX_OPTIONAL stream);

MX_EXTERN_C_END
#endif
