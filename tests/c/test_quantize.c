/* mx/quantize.h: every function against values worked out by hand, and misuse. */
#include "values.h"

static mx_array codes, scales, biases;

/* (2, 32) with 0, 1, 2, 3 over and over in the first row, and twice these in the second. */
static mx_array stairs(mx_dtype dtype) {
  double values[64];
  for (int i = 0; i < 64; i++) values[i] = (i % 4) * (i < 32 ? 1 : 2);
  const int64_t shape[] = {2, 32};
  return array(dtype, 2, shape, 64, values);
}

static void quantized(mx_array w, mx_quant_mode mode, int64_t group_size, int64_t bits, mx_array global_scale) {
  mx_array outs[3] = {NULL, NULL, NULL};
  size_t n = 0;
  CHECK(mx_quantize(outs, 3, &n, w, mode, group_size, bits, global_scale, NULL) == MX_OK);
  CHECK(n == (mode == MX_QUANT_AFFINE ? 3u : 2u));
  codes = outs[0], scales = outs[1], biases = outs[2];
}

static void drop_quantized(void) {
  drop(codes);
  drop(scales);
  if (biases) drop(biases);
}

static void test_affine(void) {
  mx_array w = stairs(MX_FLOAT32), half = stairs(MX_FLOAT16),
           x = array(MX_FLOAT32, D(32),
                     V(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)),
           y = array(MX_FLOAT32, D(1, 2), V(1, 10));
  quantized(w, MX_QUANT_AFFINE, 32, 2, NULL);
  /* The larger end is the bias: codes fall from 3 to 0, which is 0b00011011 per byte, lowest bits first. */
  expect(OP(mx_copy(&out, codes, NULL)), MX_UINT32, D(2, 2), V(454761243, 454761243, 454761243, 454761243));
  expect(OP(mx_copy(&out, scales, NULL)), MX_FLOAT32, D(2, 1), V(-1, -2));
  expect(OP(mx_copy(&out, biases, NULL)), MX_FLOAT32, D(2, 1), V(3, 6));
  expect(OP(mx_quantized_matmul(&out, x, codes, scales, biases, true, MX_QUANT_AFFINE, 32, 2, NULL, NULL)), MX_FLOAT32,
         D(2), V(48, 96));
  mx_array product;
  CHECK(mx_quantized_matmul(&product, y, codes, scales, biases, false, MX_QUANT_AFFINE, 32, 2, NULL, NULL) == MX_OK);
  expect(OP(mx_sum(&out, product, NULL, 0, false, NULL)), MX_FLOAT32, SCALAR, V(48 + 960));
  drop(product);
  CHECK(mx_dequantize(&product, codes, scales, biases, MX_QUANT_AFFINE, 32, 2, NULL, MX_BFLOAT16, NULL) == MX_OK);
  expect(OP(mx_sum(&out, product, L(-1), false, NULL)), MX_BFLOAT16, D(2), V(48, 96));
  drop(product);
  drop_quantized();
  quantized(half, MX_QUANT_AFFINE, 32, 8, NULL);
  check_shape(codes, MX_UINT32, D(2, 8));
  check_shape(scales, MX_FLOAT16, D(2, 1));
  expect(OP(mx_quantized_matmul(&out, x, codes, scales, biases, true, MX_QUANT_AFFINE, 32, 8, NULL, NULL)), MX_FLOAT32,
         D(2), V(48.000732421875, 96.00146484375));
  drop_quantized();
  drop(w);
  drop(half);
  drop(x);
  drop(y);
}

static void test_float_formats(void) {
  mx_array w = stairs(MX_FLOAT32), one = number(MX_FLOAT32, 448 * 6);
  const mx_quant_mode modes[] = {MX_QUANT_MXFP4, MX_QUANT_MXFP8, MX_QUANT_NVFP4, MX_QUANT_NVFP4};
  for (int i = 0; i < 4; i++) {
    mx_array global_scale = i == 3 ? one : NULL, product;
    quantized(w, modes[i], 0, 0, global_scale);
    CHECK(biases == NULL);
    CHECK(mx_dequantize(&product, codes, scales, NULL, modes[i], 0, 0, global_scale, MX_FLOAT32, NULL) == MX_OK);
    expect(OP(mx_sum(&out, product, L(-1), false, NULL)), MX_FLOAT32, D(2), V(48, 96)); /* all are in the formats */
    drop(product);
    expect(OP(mx_qqmm(&out, w, codes, scales, modes[i], 0, 0, global_scale, global_scale, NULL)), MX_FLOAT32, D(2, 2),
           V(112, 224, 224, 448));
    expect(OP(mx_qqmm(&out, w, w, NULL, modes[i], 0, 0, global_scale, global_scale, NULL)), MX_FLOAT32, D(2, 2),
           V(112, 224, 224, 448));
    drop_quantized();
  }
  quantized(w, MX_QUANT_MXFP4, 32, 4, NULL); /* 3 / 6 and 6 / 6 as powers of two */
  expect(OP(mx_copy(&out, scales, NULL)), MX_UINT8, D(2, 1), V(126, 127));
  expect(OP(mx_slice(&out, codes, L(0, 0), L(2, 1), L(1, 1), NULL)), MX_UINT32, D(2, 1), V(0x76407640, 0x76407640));
  drop_quantized();
  drop(w);
  drop(one);
}

static void test_picked(void) {
  mx_array w = stairs(MX_FLOAT32), batch,
           x = array(MX_FLOAT32, D(1, 32),
                     V(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)),
           rhs = array(MX_INT32, D(3), V(1, -2, 9)), lhs = array(MX_UINT32, SCALAR, V(0)),
           real = array(MX_FLOAT32, D(1), V(0));
  CHECK(mx_reshape(&batch, w, L(2, 1, 32), NULL) == MX_OK);
  quantized(batch, MX_QUANT_AFFINE, 32, 4, NULL);
  expect(OP(mx_gather_qmm(&out, x, codes, scales, biases, NULL, rhs, true, MX_QUANT_AFFINE, 32, 4, NULL, NULL)),
         MX_FLOAT32, D(3, 1, 1), V(96, 48, 96));
  expect(OP(mx_gather_qmm(&out, x, codes, scales, biases, lhs, NULL, true, MX_QUANT_AFFINE, 32, 4, NULL, NULL)),
         MX_FLOAT32, D(2, 1, 1), V(48, 96));
  expect(OP(mx_gather_qmm(&out, x, codes, scales, biases, NULL, NULL, true, MX_QUANT_AFFINE, 32, 4, NULL, NULL)),
         MX_FLOAT32, D(2, 1, 1), V(48, 96));
  out = NULL;
  CHECK(mx_gather_qmm(&out, x, codes, scales, biases, real, rhs, true, MX_QUANT_AFFINE, 32, 4, NULL, NULL) ==
        MX_ERROR_DTYPE);
  CHECK(out == NULL);
  /* 1 / 448 is nearer to 2^-9 than to 2^-8, and so 1 becomes 448 / 512. */
  expect(OP(mx_gather_qqmm(&out, x, batch, NULL, lhs, rhs, MX_QUANT_MXFP8, 0, 0, NULL, NULL, NULL)), MX_FLOAT32,
         D(3, 1, 1), V(84, 42, 84));
  drop_quantized();
  drop(w);
  drop(batch);
  drop(x);
  drop(rhs);
  drop(lhs);
  drop(real);
}

static void test_misuse(void) {
  mx_array w = stairs(MX_FLOAT32), whole = stairs(MX_INT32), row = array(MX_FLOAT32, D(3), V(1, 2, 3)), outs[3] = {0};
  const mx_quant_mode affine = MX_QUANT_AFFINE;
  size_t n = 7;
  CHECK(mx_quantize(outs, 3, &n, w, (mx_quant_mode)4, 0, 0, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_quantize(outs, 3, &n, w, affine, 48, 0, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_quantize(outs, 3, &n, w, affine, -32, 0, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_quantize(outs, 3, &n, w, affine, 0, 7, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_quantize(outs, 3, &n, w, affine, 32, 4, row, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_quantize(outs, 3, &n, w, MX_QUANT_NVFP4, 0, 0, row, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_quantize(outs, 3, &n, w, affine, 0, 0, NULL, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_quantize(outs, 3, &n, row, affine, 0, 0, NULL, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_quantize(outs, 3, &n, whole, affine, 32, 0, NULL, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_quantize(outs, 2, &n, w, affine, 32, 0, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(outs[0] == NULL);
  quantized(w, affine, 32, 4, NULL);
  out = NULL;
  CHECK(mx_dequantize(&out, codes, scales, NULL, affine, 32, 4, NULL, MX_FLOAT32, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_dequantize(&out, codes, scales, biases, MX_QUANT_MXFP4, 0, 0, NULL, MX_FLOAT32, NULL) ==
        MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_dequantize(&out, codes, scales, NULL, MX_QUANT_MXFP4, 0, 0, NULL, MX_FLOAT32, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_dequantize(&out, codes, scales, biases, affine, 32, 8, NULL, MX_FLOAT32, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_dequantize(&out, codes, scales, biases, affine, 32, 4, NULL, MX_INT8, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_quantized_matmul(&out, row, codes, scales, biases, true, affine, 32, 4, NULL, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_quantized_matmul(&out, w, codes, scales, biases, false, affine, 32, 4, NULL, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_quantized_matmul(&out, w, w, scales, biases, true, affine, 32, 4, NULL, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_quantized_matmul(&out, NULL, codes, scales, biases, true, affine, 32, 4, NULL, NULL) == MX_ERROR_HANDLE);
  CHECK(mx_qqmm(&out, w, w, NULL, affine, 0, 0, NULL, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_qqmm(&out, w, w, NULL, MX_QUANT_NVFP4, 0, 0, row, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_qqmm(&out, w, codes, NULL, MX_QUANT_NVFP4, 0, 0, NULL, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(out == NULL);
  drop_quantized();
  drop(w);
  drop(whole);
  drop(row);
}

int main(void) {
  test_affine();
  test_float_formats();
  test_picked();
  test_misuse();
  CHECK(mx_handle_count(MX_HANDLE_ARRAY) == 0);
  return 0;
}
