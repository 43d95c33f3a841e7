/* Functions and calls in few words, for the tests of mx/function.h. meson.build runs those again with hashes of a few
 * bits, so that all tables are full of collisions. */
#ifndef CALLS_H
#define CALLS_H
#include "values.h"

typedef mx_array body_fn(mx_array placeholder);

static inline mx_array doubled(mx_array x) {
  mx_array y = NULL;
  CHECK(mx_add(&y, x, x, NULL) == MX_OK);
  return y;
}

static inline mx_array negated(mx_array x) {
  mx_array y = NULL;
  CHECK(mx_negative(&y, x, NULL) == MX_OK);
  return y;
}

static inline mx_function function_of(uint32_t flags) {
  mx_function f = NULL;
  CHECK(mx_function_new(&f, "f", flags) == MX_OK);
  return f;
}

static inline mx_function_info stats(mx_function f) {
  mx_function_info info = {0};
  CHECK(mx_function_stats(&info, f) == MX_OK);
  return info;
}

static inline void drop_function(mx_function f) { CHECK(mx_function_free(f) == MX_OK); }

static inline mx_call begin(mx_function f, mx_array x, const char *key, mx_call_state expected) {
  mx_call c = NULL;
  mx_call_state state = MX_CALL_DISABLED;
  CHECK(mx_call_begin(&c, &state, f, &x, 1, key, strlen(key)) == MX_OK);
  CHECK(state == expected);
  return c;
}

static inline mx_array placeholder_of(mx_call c) {
  mx_array p = NULL;
  size_t n = 0;
  CHECK(mx_call_inputs(&p, 1, &n, c) == MX_OK);
  CHECK(n == 1);
  return p;
}

static inline void commit(mx_call c, body_fn *body, uint64_t tag) {
  mx_array p = placeholder_of(c), y = body(p);
  CHECK(mx_call_commit(c, &y, 1, tag) == MX_OK);
  drop(y);
  drop(p);
}

/* The result of a call; ends it. */
static mx_array finish(mx_call c, uint64_t tag) {
  mx_array y = NULL;
  size_t n = 0;
  uint64_t host_tag = 0;
  CHECK(mx_call_outputs(&y, 1, &n, c) == MX_OK);
  CHECK(n == 1);
  CHECK(mx_call_tag(&host_tag, c) == MX_OK);
  CHECK(host_tag == tag);
  mx_call_end(c);
  return y;
}

static inline mx_array trace(mx_function f, mx_array x, const char *key, body_fn *body, uint64_t tag) {
  mx_call c = begin(f, x, key, MX_CALL_TRACE);
  commit(c, body, tag);
  return finish(c, tag);
}

static inline mx_array hit(mx_function f, mx_array x, const char *key, uint64_t tag) {
  return finish(begin(f, x, key, MX_CALL_HIT), tag);
}

static inline double value_of(mx_array x) { /* closes it */
  mx_scalar value = {MX_SCALAR_FLOAT, 0, NAN, 0};
  CHECK(mx_array_item(&value, x) == MX_OK);
  drop(x);
  return value.kind == MX_SCALAR_FLOAT ? value.re : (double)value.i;
}

#endif
