/* The sentence encoder of examples/python/minilm.py in C: reads the model's safetensors, takes the token ids of one
 * sentence on the command line and prints its unit vector, one number a line.
 *
 *     embed model.safetensors 101 1996 4633 2003 8403 2651 1012 102
 *
 * Every array that is made goes into one list, which is freed at the end: the library keeps alive what it still needs.
 */
#include <math.h>
#include <mx/mx.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_LAYERS = 6, N_HEADS = 12, HEAD_SIZE = 32, WIDTH = N_HEADS * HEAD_SIZE, MAX_TOKENS = 512 };

static mx_archive model;
static mx_array made[4096];
static size_t n_made;

static void check(mx_status status) {
  if (status == MX_OK) return;
  fprintf(stderr, "embed: %s\n", mx_error_message());
  exit(1);
}

static mx_array keep(mx_array x) { return made[n_made++] = x; }

/* The weight whose name is formatted like printf. */
static mx_array weight(const char *format, ...) {
  char name[128];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  mx_array x;
  check(mx_archive_find(&x, model, name, NULL));
  return keep(x);
}

static mx_array scalar(double value) {
  const mx_scalar s = {MX_SCALAR_FLOAT, 0, value, 0};
  mx_array x;
  check(mx_array_scalar(&x, s, MX_FLOAT32));
  return keep(x);
}

static mx_array add(mx_array a, mx_array b) {
  mx_array x;
  check(mx_add(&x, a, b, NULL));
  return keep(x);
}

static mx_array multiply(mx_array a, mx_array b) {
  mx_array x;
  check(mx_multiply(&x, a, b, NULL));
  return keep(x);
}

static mx_array transpose(mx_array a, const int64_t *axes, size_t n_axes) {
  mx_array x;
  check(mx_transpose(&x, a, axes, n_axes, NULL));
  return keep(x);
}

static mx_array linear(mx_array x, const char *name) {
  const int64_t swapped[] = {1, 0};
  mx_array w = transpose(weight("%s.weight", name), swapped, 2), y;
  check(mx_addmm(&y, weight("%s.bias", name), x, w, 1, 1, NULL));
  return keep(y);
}

static mx_array norm(mx_array x, const char *name) {
  mx_array y;
  check(mx_fast_layer_norm(&y, x, weight("%s.LayerNorm.weight", name), weight("%s.LayerNorm.bias", name), 1e-12, NULL));
  return keep(y);
}

/* (1, tokens, width) to (1, heads, tokens, head size) */
static mx_array heads(mx_array x) {
  const int64_t parts[] = {N_HEADS, HEAD_SIZE}, order[] = {0, 2, 1, 3};
  mx_array y;
  check(mx_unflatten(&y, x, -1, parts, 2, NULL));
  return transpose(keep(y), order, 4);
}

static mx_array attention(mx_array x, const char *layer) {
  static const char *const parts[] = {"query", "key", "value"};
  mx_array qkv[3], y;
  char name[128];
  for (int i = 0; i < 3; i++) {
    snprintf(name, sizeof name, "%s.attention.self.%s", layer, parts[i]);
    qkv[i] = heads(linear(x, name));
  }
  check(mx_fast_scaled_dot_product_attention(&y, qkv[0], qkv[1], qkv[2], 1 / sqrt(HEAD_SIZE), NULL, false, NULL, NULL));
  const int64_t order[] = {0, 2, 1, 3};
  mx_array merged, out = transpose(keep(y), order, 4);
  check(mx_flatten(&merged, out, -2, -1, NULL));
  snprintf(name, sizeof name, "%s.attention.output.dense", layer);
  return linear(keep(merged), name);
}

/* x / 2 (1 + erf(x / sqrt 2)) */
static mx_array gelu(mx_array x) {
  mx_array e;
  check(mx_erf(&e, multiply(x, scalar(1 / sqrt(2))), NULL));
  return multiply(multiply(x, scalar(0.5)), add(scalar(1), keep(e)));
}

static mx_array encode(mx_array ids, mx_array positions) {
  mx_array words, places, x, y;
  check(mx_take(&words, weight("embeddings.word_embeddings.weight"), ids, 0, NULL));
  check(mx_take(&places, weight("embeddings.position_embeddings.weight"), positions, 0, NULL));
  const mx_scalar zero = {MX_SCALAR_INT, 0, 0, 0};
  mx_array first, type;
  check(mx_array_scalar(&first, zero, MX_INT32));
  check(mx_take(&type, weight("embeddings.token_type_embeddings.weight"), keep(first), 0, NULL));
  x = norm(add(add(keep(words), keep(places)), keep(type)), "embeddings");
  for (int i = 0; i < N_LAYERS; i++) {
    char layer[64], name[128];
    snprintf(layer, sizeof layer, "encoder.layer.%d", i);
    snprintf(name, sizeof name, "%s.attention.output", layer);
    x = norm(add(x, attention(x, layer)), name);
    snprintf(name, sizeof name, "%s.intermediate.dense", layer);
    mx_array up = gelu(linear(x, name));
    snprintf(name, sizeof name, "%s.output.dense", layer);
    mx_array down = linear(up, name);
    snprintf(name, sizeof name, "%s.output", layer);
    x = norm(add(x, down), name);
  }
  const int64_t tokens[] = {1}, last[] = {-1};
  check(mx_mean(&y, x, tokens, 1, false, NULL));
  mx_array mean = keep(y), length;
  check(mx_linalg_norm(&length, mean, MX_NORM_DEFAULT, 0, last, 1, true, NULL));
  check(mx_divide(&y, mean, keep(length), NULL));
  return keep(y);
}

int main(int argc, char **argv) {
  if (argc < 3 || argc - 2 > MAX_TOKENS) {
    fprintf(stderr, "usage: %s model.safetensors ID... (at most %d)\n", argv[0], MAX_TOKENS);
    return 2;
  }
  int32_t ids[MAX_TOKENS], positions[MAX_TOKENS];
  const int64_t dims[] = {1, argc - 2};
  for (int i = 0; i < argc - 2; i++) ids[i] = (int32_t)strtol(argv[i + 2], NULL, 10), positions[i] = i;
  const size_t n_bytes = (size_t)dims[1] * sizeof ids[0];
  mx_array token_ids, places;
  check(mx_load(&model, argv[1], MX_FORMAT_SAFETENSORS, false));
  check(mx_array_new(&token_ids, ids, n_bytes, dims, 2, MX_INT32));
  check(mx_array_new(&places, positions, n_bytes, dims, 2, MX_INT32));

  float vector[WIDTH];
  check(mx_array_read(vector, sizeof vector, encode(keep(token_ids), keep(places))));
  for (int i = 0; i < WIDTH; i++) printf("%.7f\n", (double)vector[i]);

  while (n_made) mx_array_free(made[--n_made]);
  mx_archive_free(model);
  return 0;
}
