/* Two signatures drawn from the bytes: an entry that was compiled for the first answers the second exactly if both are
 * the same. (Each has up to 4 arrays of up to 4 dimensions, a key of the host and maybe any sizes.) */
#include <string.h>

#include "fuzz.h"

enum { MOST_ARRAYS = 4, MOST_DIMS = 4, MOST_BYTES = 24, N_DTYPES = 14 };

typedef struct signature {
  size_t n_arrays, n_dims[MOST_ARRAYS], n_key;
  mx_dtype dtypes[MOST_ARRAYS];
  int64_t dims[MOST_ARRAYS][MOST_DIMS];
  uint8_t key[MOST_BYTES];
} signature;

static signature draw(input *from) {
  signature s;
  memset(&s, 0, sizeof s);
  s.n_arrays = take(from) % (MOST_ARRAYS + 1);
  for (size_t i = 0; i < s.n_arrays; i++) {
    s.dtypes[i] = (mx_dtype)(take(from) % N_DTYPES);
    s.n_dims[i] = take(from) % (MOST_DIMS + 1);
    for (size_t d = 0; d < s.n_dims[i]; d++) s.dims[i][d] = take(from);
  }
  s.n_key = take(from) % (MOST_BYTES + 1);
  for (size_t i = 0; i < s.n_key; i++) s.key[i] = take(from);
  return s;
}

static int same(const signature *a, const signature *b, int shapeless) {
  if (a->n_arrays != b->n_arrays || a->n_key != b->n_key || memcmp(a->key, b->key, a->n_key) != 0) return 0;
  for (size_t i = 0; i < a->n_arrays; i++) {
    if (a->dtypes[i] != b->dtypes[i] || a->n_dims[i] != b->n_dims[i]) return 0;
    if (!shapeless && memcmp(a->dims[i], b->dims[i], sizeof a->dims[i]) != 0) return 0;
  }
  return 1;
}

/* Calls f with arrays of this signature; whether an entry answered. */
static int call(mx_function f, const signature *s) {
  mx_array xs[MOST_ARRAYS], out;
  mx_call_state state;
  mx_call c;
  size_t n;
  for (size_t i = 0; i < s->n_arrays; i++)
    REQUIRE(mx_zeros(&xs[i], s->dims[i], s->n_dims[i], s->dtypes[i], NULL) == MX_OK);
  REQUIRE(mx_call_begin(&c, &state, f, xs, s->n_arrays, s->key, s->n_key) == MX_OK);
  REQUIRE(state == MX_CALL_HIT || state == MX_CALL_TRACE);
  if (state == MX_CALL_TRACE) {
    mx_array placeholders[MOST_ARRAYS];
    REQUIRE(mx_call_inputs(placeholders, MOST_ARRAYS, &n, c) == MX_OK && n == s->n_arrays);
    REQUIRE(mx_call_commit(c, placeholders, n, 1) == MX_OK);
    for (size_t i = 0; i < n; i++) REQUIRE(mx_array_free(placeholders[i]) == MX_OK);
  }
  mx_array outs[MOST_ARRAYS];
  REQUIRE(mx_call_outputs(outs, MOST_ARRAYS, &n, c) == MX_OK && n == s->n_arrays);
  for (size_t i = 0; i < n; i++) {
    int64_t dims[MX_MAX_DIMS];
    size_t n_dims;
    out = outs[i];
    REQUIRE(mx_array_shape(dims, MX_MAX_DIMS, &n_dims, out) == MX_OK && n_dims == s->n_dims[i]);
    REQUIRE(memcmp(dims, s->dims[i], n_dims * sizeof *dims) == 0);
    REQUIRE(mx_array_free(out) == MX_OK);
  }
  mx_call_end(c);
  for (size_t i = 0; i < s->n_arrays; i++) REQUIRE(mx_array_free(xs[i]) == MX_OK);
  return state == MX_CALL_HIT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  input from = {data, data + size};
  const int shapeless = take(&from) & 1;
  const signature a = draw(&from), b = draw(&from);
  mx_function f;
  REQUIRE(mx_function_new(&f, "f", shapeless ? MX_FUNCTION_SHAPELESS : MX_FUNCTION_DEFAULT) == MX_OK);
  REQUIRE(!call(f, &a));
  REQUIRE(call(f, &a));
  REQUIRE(call(f, &b) == same(&a, &b, shapeless));
  REQUIRE(mx_function_free(f) == MX_OK);
  REQUIRE(mx_handle_count(MX_HANDLE_ANY) == 0);
  return 0;
}
