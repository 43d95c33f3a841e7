/* mx/fast.h: every function against values of the composed definition. */
#include "values.h"

static void test_norms(void) {
  mx_array x = array(MX_FLOAT32, D(2, 4), V(1, 2, 3, 4, 0, 1, 0, 1)), w = array(MX_FLOAT32, D(4), V(1, 2, 1, 0.5)),
           b = array(MX_FLOAT32, D(4), V(0, 1, 0, 0)), h = array(MX_BFLOAT16, D(2), V(3, 4)),
           i = array(MX_INT32, D(4), V(1, 2, 3, 4));
  expect(OP(mx_fast_layer_norm(&out, x, w, b, 1e-5, NULL)), MX_FLOAT32, D(2, 4),
         V(-1.3416355, 0.1055763, 0.4472118, 0.6708177, -0.9999800, 2.9999600, -0.9999800, 0.4999900));
  expect(OP(mx_fast_layer_norm(&out, x, NULL, NULL, 1e-5, NULL)), MX_FLOAT32, D(2, 4),
         V(-1.3416355, -0.4472118, 0.4472118, 1.3416355, -0.9999800, 0.9999800, -0.9999800, 0.9999800));
  expect(OP(mx_fast_rms_norm(&out, x, w, 1e-5, NULL)), MX_FLOAT32, D(2, 4),
         V(0.3651481, 1.4605925, 1.0954444, 0.7302963, 0, 2.8283987, 0, 0.7070997));
  expect(OP(mx_fast_rms_norm(&out, h, NULL, 0, NULL)), MX_BFLOAT16, D(2), V(0.84765625, 1.1328125));
  mx_array s = number(MX_FLOAT32, 1);
  out = NULL;
  CHECK(mx_fast_layer_norm(&out, i, NULL, NULL, 1e-5, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_fast_layer_norm(&out, x, x, NULL, 1e-5, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_fast_rms_norm(&out, s, NULL, 1e-5, NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(x);
  drop(w);
  drop(b);
  drop(h);
  drop(i);
  drop(s);
}

static void test_rope(void) {
  mx_array x = array(MX_FLOAT32, D(1, 2, 4), V(0, 1, 2, 3, 4, 5, 6, 7)), zero = number(MX_INT32, 0),
           one = array(MX_INT32, D(1), V(1)), freqs = array(MX_FLOAT32, D(2), V(1, 10)),
           flat = array(MX_FLOAT32, D(2, 4), V(0, 1, 2, 3, 4, 5, 6, 7));
  expect(OP(mx_fast_rope(&out, x, 4, false, 100, 1, one, NULL, NULL)), MX_FLOAT32, D(1, 2, 4),
         V(-1.6829419, 0.6955039, 1.0806046, 3.0848460, -7.1203718, 3.5096474, 1.1403086, 7.8538127));
  expect(OP(mx_fast_rope(&out, x, 4, false, 0, 1, one, freqs, NULL)), MX_FLOAT32, D(1, 2, 4),
         V(-1.6829419, 0.6955039, 1.0806046, 3.0848460, -7.1203718, 3.5096474, 1.1403086, 7.8538127));
  expect(OP(mx_fast_rope(&out, x, 2, true, 100, 0.5, zero, NULL, NULL)), MX_FLOAT32, D(1, 2, 4),
         V(0, 1, 2, 3, 1.1132026, 6.3056149, 6, 7));
  out = NULL;
  CHECK(mx_fast_rope(&out, x, 6, true, 100, 1, zero, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_fast_rope(&out, x, 3, true, 100, 1, zero, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_fast_rope(&out, flat, 4, true, 100, 1, zero, NULL, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_fast_rope(&out, x, 2, true, 100, 1, zero, freqs, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_fast_rope(&out, x, 2, true, 100, 1, freqs, NULL, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_fast_rope(&out, zero, 2, true, 100, 1, zero, NULL, NULL) == MX_ERROR_DTYPE);
  CHECK(out == NULL);
  drop(x);
  drop(zero);
  drop(one);
  drop(freqs);
  drop(flat);
}

static void test_attention(void) {
  mx_array q = array(MX_FLOAT32, D(1, 1, 2, 2), V(1, 0, 0, 1)),
           k = array(MX_FLOAT32, D(1, 1, 3, 2), V(1, 1, 0, 2, 1, 0)),
           v = array(MX_FLOAT32, D(1, 1, 3, 2), V(1, 2, 3, 4, 5, 6)), keep = array(MX_BOOL, D(3), V(1, 0, 1)),
           bias = array(MX_FLOAT32, D(3), V(0, 1, 2)), sinks = array(MX_FLOAT32, D(1), V(1)),
           wide = array(MX_FLOAT64, D(3), V(0, 1, 2));
  expect(OP(mx_fast_scaled_dot_product_attention(&out, q, k, v, 1, NULL, false, NULL, NULL)), MX_FLOAT32, D(1, 1, 2, 2),
         V(3, 4, 2.6906042, 3.6906042));
  expect(OP(mx_fast_scaled_dot_product_attention(&out, q, k, v, 1, NULL, true, NULL, NULL)), MX_FLOAT32, D(1, 1, 2, 2),
         V(1.5378829, 2.5378828, 2.6906042, 3.6906042));
  expect(OP(mx_fast_scaled_dot_product_attention(&out, q, k, v, 0.5, keep, false, NULL, NULL)), MX_FLOAT32,
         D(1, 1, 2, 2), V(3, 4, 2.5101628, 3.5101628));
  expect(OP(mx_fast_scaled_dot_product_attention(&out, q, k, v, 0.5, bias, false, NULL, NULL)), MX_FLOAT32,
         D(1, 1, 2, 2), V(4.2730026, 5.2730026, 3.6988969, 4.6988969));
  expect(OP(mx_fast_scaled_dot_product_attention(&out, q, k, v, 1, NULL, false, sinks, NULL)), MX_FLOAT32,
         D(1, 1, 2, 2), V(2.1092317, 2.8123090, 2.1615992, 2.9649875));
  out = NULL;
  CHECK(mx_fast_scaled_dot_product_attention(&out, q, k, v, 1, keep, true, NULL, NULL) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(mx_fast_scaled_dot_product_attention(&out, q, k, bias, 1, NULL, false, NULL, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_fast_scaled_dot_product_attention(&out, q, k, v, 1, q, false, NULL, NULL) == MX_ERROR_SHAPE);
  CHECK(mx_fast_scaled_dot_product_attention(&out, q, k, v, 1, wide, false, NULL, NULL) == MX_ERROR_DTYPE);
  CHECK(mx_fast_scaled_dot_product_attention(&out, q, k, v, 1, NULL, false, bias, NULL) == MX_ERROR_SHAPE);
  CHECK(out == NULL);
  drop(q);
  drop(k);
  drop(v);
  drop(keep);
  drop(bias);
  drop(sinks);
  drop(wide);
}

int main(void) {
  test_norms();
  test_rope();
  test_attention();
  CHECK(mx_handle_count(MX_HANDLE_ARRAY) == 0);
  return 0;
}
