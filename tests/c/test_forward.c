/* A small sentence encoder, of the ops that MiniLM is made of (examples/c/embed.c): weights from safetensors, two
 * layers of attention, compiled. In the allocations suite every allocation of such a forward fails once. */
#include <math.h>
#include <mx/mx.h>
#include <string.h>

#include "check.h"

enum { LAYERS = 2, HEADS = 2, WIDTH = 16, INNER = 32, VOCABULARY = 11, TOKENS = 5, WEIGHTS = 1 + LAYERS * 14 };

/* The weights of one layer, by the place after the layer's first. */
enum { QUERY, KEY, VALUE, OUT, UP, DOWN, BIASES, NORM1 = 12, NORM2 = 13, PER_LAYER = 14 };

typedef struct list {
  mx_array made[256];
  size_t n;
  mx_status status; /* the first failure; after it nothing more is built */
} list;

static mx_array *slot(list *xs) { return &xs->made[xs->n]; }

static mx_array keep(list *xs, mx_status status) {
  if (xs->status) return NULL;
  if (status) return xs->status = status, NULL;
  return xs->made[xs->n++];
}

/* Nothing is called once something failed. The arguments of `call` make nothing themselves: they may be looked at after
 * the slot. */
#define MAKE(xs, call) keep(xs, (xs)->status ? (xs)->status : (call))

static void free_all(list *xs, mx_array except) {
  for (size_t i = 0; i < xs->n; i++)
    if (xs->made[i] != except) (void)mx_array_free(xs->made[i]);
  xs->n = 0;
}

static mx_array scalar(list *xs, double value) {
  const mx_scalar s = {MX_SCALAR_FLOAT, 0, value, 0};
  return MAKE(xs, mx_array_scalar(slot(xs), s, MX_FLOAT32));
}

static mx_array linear(list *xs, mx_array x, mx_array weight, mx_array bias) {
  const int64_t swapped[] = {1, 0};
  mx_array w = MAKE(xs, mx_transpose(slot(xs), weight, swapped, 2, NULL));
  return MAKE(xs, mx_addmm(slot(xs), bias, x, w, 1, 1, NULL));
}

static mx_array heads(list *xs, mx_array x) {
  const int64_t parts[] = {HEADS, WIDTH / HEADS}, order[] = {0, 2, 1, 3};
  mx_array y = MAKE(xs, mx_unflatten(slot(xs), x, -1, parts, 2, NULL));
  return MAKE(xs, mx_transpose(slot(xs), y, order, 4, NULL));
}

static mx_array gelu(list *xs, mx_array x) {
  mx_array root = scalar(xs, sqrt(0.5)), half = scalar(xs, 0.5), one = scalar(xs, 1);
  mx_array e = MAKE(xs, mx_multiply(slot(xs), x, root, NULL));
  e = MAKE(xs, mx_erf(slot(xs), e, NULL));
  e = MAKE(xs, mx_add(slot(xs), e, one, NULL));
  half = MAKE(xs, mx_multiply(slot(xs), x, half, NULL));
  return MAKE(xs, mx_multiply(slot(xs), half, e, NULL));
}

static mx_array layer(list *xs, mx_array x, const mx_array *w) {
  const int64_t order[] = {0, 2, 1, 3};
  const mx_array *b = w + BIASES;
  mx_array q = heads(xs, linear(xs, x, w[QUERY], b[QUERY])), k = heads(xs, linear(xs, x, w[KEY], b[KEY]));
  mx_array v = heads(xs, linear(xs, x, w[VALUE], b[VALUE]));
  mx_array y = MAKE(
      xs, mx_fast_scaled_dot_product_attention(slot(xs), q, k, v, 1 / sqrt(WIDTH / HEADS), NULL, false, NULL, NULL));
  y = MAKE(xs, mx_transpose(slot(xs), y, order, 4, NULL));
  y = MAKE(xs, mx_flatten(slot(xs), y, -2, -1, NULL));
  y = linear(xs, y, w[OUT], b[OUT]);
  y = MAKE(xs, mx_add(slot(xs), x, y, NULL));
  x = MAKE(xs, mx_fast_layer_norm(slot(xs), y, w[NORM1], NULL, 1e-12, NULL));
  y = linear(xs, gelu(xs, linear(xs, x, w[UP], b[UP])), w[DOWN], b[DOWN]);
  y = MAKE(xs, mx_add(slot(xs), x, y, NULL));
  return MAKE(xs, mx_fast_layer_norm(slot(xs), y, w[NORM2], NULL, 1e-12, NULL));
}

/* inputs: the ids (1, TOKENS), then the weights. */
static mx_status encode(mx_array *outputs, size_t n_outputs, const mx_array *inputs, size_t n_inputs, void *payload) {
  (void)payload;
  if (n_outputs != 1 || n_inputs != 1 + WEIGHTS) return MX_ERROR_CALLBACK;
  list xs = {.n = 0};
  const int64_t tokens[] = {1}, last[] = {-1};
  mx_array x = MAKE(&xs, mx_take(slot(&xs), inputs[1], inputs[0], 0, NULL));
  for (int i = 0; i < LAYERS; i++) x = layer(&xs, x, inputs + 2 + i * PER_LAYER);
  mx_array mean = MAKE(&xs, mx_mean(slot(&xs), x, tokens, 1, false, NULL));
  mx_array length = MAKE(&xs, mx_linalg_norm(slot(&xs), mean, MX_NORM_DEFAULT, 0, last, 1, true, NULL));
  mx_array result = MAKE(&xs, mx_divide(slot(&xs), mean, length, NULL));
  free_all(&xs, result);
  if (!xs.status) outputs[0] = result;
  return xs.status;
}

static mx_status traced(mx_array *outputs, size_t n_outputs, const mx_array *inputs, size_t n_inputs, void *payload) {
  const mx_status status = encode(outputs, n_outputs, inputs, n_inputs, payload);
  if (!status) check_closed(outputs[0]); /* the library closes it */
  return status;
}

static void shape_of(int i, int64_t dims[2], size_t *n_dims) {
  const int place = i == 0 ? -1 : (i - 1) % PER_LAYER;
  *n_dims = place < BIASES ? 2 : 1;
  dims[0] = place == -1 ? VOCABULARY : place == UP || place == BIASES + UP ? INNER : WIDTH;
  dims[1] = place == DOWN ? INNER : WIDTH;
}

/* The bytes of a safetensors file; in memory, since a test that is cut short leaves its files behind. */
static unsigned char file[1 << 16];
static size_t n_file;

static void make_weights(void) {
  char texts[WEIGHTS][16];
  const char *names[WEIGHTS];
  mx_array weights[WEIGHTS];
  for (int i = 0; i < WEIGHTS; i++) {
    float values[VOCABULARY > INNER ? VOCABULARY * WIDTH : INNER * WIDTH];
    int64_t dims[2];
    size_t n_dims;
    shape_of(i, dims, &n_dims);
    const int64_t n = n_dims == 2 ? dims[0] * dims[1] : dims[0];
    for (int64_t j = 0; j < n; j++) values[j] = (float)sin((double)(7 * i + 3 * j + 1)) / 4;
    snprintf(texts[i], sizeof texts[i], "w%02d", i);
    names[i] = texts[i];
    CHECK(mx_array_new(&weights[i], values, (size_t)n * sizeof *values, dims, n_dims, MX_FLOAT32) == MX_OK);
  }
  mx_array bytes;
  CHECK(mx_encode_safetensors(&bytes, names, WEIGHTS, weights, WEIGHTS, NULL, 0, NULL, 0) == MX_OK);
  CHECK(mx_array_size(&n_file, bytes) == MX_OK);
  CHECK(n_file <= sizeof file);
  CHECK(mx_array_read(file, n_file, bytes) == MX_OK);
  CHECK(mx_array_free(bytes) == MX_OK);
  for (int i = 0; i < WEIGHTS; i++) CHECK(mx_array_free(weights[i]) == MX_OK);
}

static void run(void) {
  const int32_t ids[TOKENS] = {1, 5, 2, 10, 3};
  const int64_t dims[] = {1, TOKENS};
  mx_archive archive;
  mx_array inputs[1 + WEIGHTS], eager, compiled[2];
  mx_function f;
  CHECK(mx_array_new(&inputs[0], ids, sizeof ids, dims, 2, MX_INT32) == MX_OK);
  CHECK(mx_load_memory(&archive, file, n_file, MX_FORMAT_ANY) == MX_OK);
  for (size_t i = 0; i < WEIGHTS; i++) CHECK(mx_archive_array(&inputs[1 + i], archive, i, NULL) == MX_OK);
  CHECK(encode(&eager, 1, inputs, 1 + WEIGHTS, NULL) == MX_OK);
  CHECK(mx_compile(&f, "encode", 1, traced, NULL, NULL, 0) == MX_OK);
  float expected[WIDTH], values[WIDTH];
  CHECK(mx_array_read(expected, sizeof expected, eager) == MX_OK);
  double length = 0;
  for (int i = 0; i < WIDTH; i++) length += (double)expected[i] * expected[i];
  CHECK(fabs(length - 1) < 1e-5);
  for (int i = 0; i < 2; i++) { /* a trace, then a hit */
    size_t n;
    CHECK(mx_compiled_call(&compiled[i], 1, &n, f, inputs, 1 + WEIGHTS) == MX_OK);
    CHECK(mx_array_read(values, sizeof values, compiled[i]) == MX_OK);
    CHECK(memcmp(values, expected, sizeof values) == 0);
    CHECK(mx_array_free(compiled[i]) == MX_OK);
  }
  CHECK(mx_array_free(eager) == MX_OK);
  for (size_t i = 0; i < 1 + WEIGHTS; i++) CHECK(mx_array_free(inputs[i]) == MX_OK);
  CHECK(mx_archive_free(archive) == MX_OK);
  CHECK(mx_function_free(f) == MX_OK);
}

int main(void) {
  make_weights();
  run();
  return 0;
}
