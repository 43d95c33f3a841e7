// How nodes become units, as text: what runs in one loop, what in several passes over rows, what is stored in between
// and what is computed again.
#include <string>

#include "c/check.h"
#include "graph_builder.hpp"
#include "lower/fuse.hpp"

using mx::Attrs;
using mx::Dims;
using mx::OpCode;

static void expect(const GraphBuilder &b, const char *expected) {
  const std::string text = print(b.graph, mx::lower::fuse(b.graph));
  if (text != expected) fprintf(stderr, "expected:\n%sgot:\n%s", expected, text.c_str());
  CHECK(text == expected);
}

static Attrs axis(int64_t d) { return Attrs().put(Dims({d})); }

// exp(x - max) / sum, along an axis.
static uint32_t softmax(GraphBuilder &b, uint32_t x, int64_t along) {
  const uint32_t max = b.reduce(OpCode::max, x, {along}, true);
  const uint32_t e = b.add(OpCode::exp, {b.add(OpCode::subtract, {x, max})});
  return b.add(OpCode::divide, {e, b.reduce(OpCode::sum, e, {along}, true)});
}

static void test_softmax_keeps_the_exponential_in_cache() {
  GraphBuilder b;
  b.output(softmax(b, b.leaf({1024, 256}), 1));
  expect(b,
         "rows\n"
         "  loop max (1024, 256)\n"
         "  loop subtract+exp+sum (1024, 256) stores %3\n"
         "  loop divide (1024, 256) stores %5\n");
}

static void test_softmax_of_long_rows_computes_it_again() {
  GraphBuilder b;
  b.output(softmax(b, b.leaf({4, 1000000}), 1));
  expect(b,
         "rows\n"
         "  loop max (4, 1000000)\n"
         "  loop subtract+exp+sum (4, 1000000)\n"
         "  loop subtract+exp+divide (4, 1000000) stores %5\n");
}

static void test_softmax_of_columns() {
  GraphBuilder b;
  b.output(softmax(b, b.leaf({256, 1024}), 0));
  expect(b,
         "rows\n"
         "  loop max (256, 1024)\n"
         "  loop subtract+exp+sum (256, 1024) stores %3\n"
         "  loop divide (256, 1024) stores %5\n");
}

// (x - mean) / sqrt(var + eps) * weight
static void test_layer_norm_computes_the_difference_again() {
  GraphBuilder b;
  const uint32_t x = b.leaf({64, 4096}), weight = b.leaf({4096}), n = b.constant(4096);
  const uint32_t mean = b.add(OpCode::divide, {b.reduce(OpCode::sum, x, {1}, true), n});
  const uint32_t away = b.add(OpCode::subtract, {x, mean});
  const uint32_t var = b.add(OpCode::divide, {b.reduce(OpCode::sum, b.add(OpCode::square, {away}), {1}, true), n});
  const uint32_t factor = b.add(OpCode::rsqrt, {b.add(OpCode::add, {var, b.constant(1e-5f)})});
  b.output(b.add(OpCode::multiply, {b.add(OpCode::multiply, {away, factor}), weight}));
  expect(b,
         "rows\n"
         "  loop sum (64, 4096)\n"
         "  row divide (64, 1) stores %4\n"
         "  loop subtract+square+sum (64, 4096)\n"
         "  row divide+add+rsqrt (64, 1) stores %11\n"
         "  loop subtract+multiply+multiply (64, 4096) stores %13\n");
}

static void test_rows_may_lose_their_dimension_and_get_it_back() {
  GraphBuilder b;
  const uint32_t x = b.leaf({64, 4096});
  const uint32_t norm = b.add(OpCode::sqrt, {b.reduce(OpCode::sum, b.add(OpCode::square, {x}), {1})});
  const uint32_t column = b.add(OpCode::expand_dims, {norm}, axis(1));
  b.output(b.add(OpCode::divide, {x, column}));
  b.output(norm);
  expect(b,
         "rows\n"
         "  loop square+sum (64, 4096)\n"
         "  row sqrt+expand_dims (64, 1) stores %3\n"
         "  loop divide (64, 4096) stores %5\n");
}

static void test_rows_along_another_axis_are_not_rows() {
  GraphBuilder b;  // the sums of rows lie along the columns of the quotient
  const uint32_t x = b.leaf({64, 64});
  b.output(b.add(OpCode::divide, {x, b.reduce(OpCode::sum, x, {1})}));
  expect(b,
         "loop sum (64, 64)\n"
         "loop divide (64, 64) stores %2\n");
}

static void test_a_mean_is_one_unit() {
  GraphBuilder b;
  const uint32_t x = b.leaf({64, 4096});
  b.output(b.add(OpCode::multiply, {b.reduce(OpCode::sum, x, {1}), b.constant(0.25f)}));
  expect(b,
         "rows\n"
         "  loop sum (64, 4096)\n"
         "  row multiply (64, 1) stores %3\n");
}

static void test_reductions_share_a_pass() {
  GraphBuilder b;
  const uint32_t x = b.leaf({64, 64});
  const uint32_t e = b.add(OpCode::exp, {x});
  b.output(b.add(OpCode::subtract, {b.reduce(OpCode::max, e, {1}), b.reduce(OpCode::min, e, {1})}));
  b.output(e);
  expect(b,
         "rows\n"
         "  loop exp+max+min (64, 64) stores %1\n"
         "  row subtract (64, 1) stores %4\n");
}

static void test_reductions_over_other_axes_do_not() {
  GraphBuilder b;
  const uint32_t e = b.add(OpCode::exp, {b.leaf({64, 64})});
  b.output(b.reduce(OpCode::sum, e, {1}));
  b.output(b.reduce(OpCode::sum, e, {0}));
  expect(b,
         "loop exp+sum (64, 64) stores %1\n"
         "loop sum (64, 64)\n");
}

static void test_a_value_waits_for_the_pass_that_wants_it() {
  GraphBuilder b;  // exp(y) could be computed by the first pass, but would have to be stored
  const uint32_t x = b.leaf({64, 4096}), y = b.leaf({64, 4096});
  const uint32_t e = b.add(OpCode::exp, {y});
  const uint32_t max = b.reduce(OpCode::max, b.add(OpCode::add, {x, b.add(OpCode::negative, {x})}), {1}, true);
  b.output(b.add(OpCode::multiply, {b.add(OpCode::subtract, {x, max}), e}));
  expect(b,
         "rows\n"
         "  loop negative+add+max (64, 4096)\n"
         "  loop exp+subtract+multiply (64, 4096) stores %7\n");
}

static void test_a_library_kernel_in_between_splits() {
  GraphBuilder b;
  const uint32_t x = b.leaf({64, 64});
  const uint32_t s = softmax(b, x, 1);
  b.output(softmax(b, b.add(OpCode::matmul, {s, x}), 1));
  expect(b,
         "rows\n"
         "  loop max (64, 64)\n"
         "  loop subtract+exp+sum (64, 64) stores %3\n"
         "  loop divide (64, 64) stores %5\n"
         "library matmul\n"
         "rows\n"
         "  loop max (64, 64)\n"
         "  loop subtract+exp+sum (64, 64) stores %9\n"
         "  loop divide (64, 64) stores %11\n");
}

static void test_what_is_read_does_not_split() {
  GraphBuilder b;  // both factors are as deep; the smaller one is a loop of its own, the larger one goes on
  const uint32_t x = b.leaf({64, 64}), w = b.leaf({64});
  b.output(b.add(OpCode::multiply, {b.add(OpCode::exp, {x}), b.add(OpCode::add, {w, b.constant(1)})}));
  expect(b,
         "loop add (64,) stores %4\n"
         "loop exp+multiply (64, 64) stores %5\n");
}

static void test_the_place_of_a_maximum_fuses() {
  GraphBuilder b;
  const uint32_t x = b.leaf({1024, 256});
  b.output(b.add(OpCode::arg_reduce, {b.add(OpCode::square, {x})}, Attrs().put(true).put(1)));
  expand(b.graph);
  expect(b,
         "library arange\n"
         "rows\n"
         "  loop square+max (1024, 256)\n"
         "  loop square+isnan+select+equal+select+min (1024, 256)\n");
}

static void test_the_place_of_a_maximum_of_memory_does_not() {
  GraphBuilder b;
  b.output(b.add(OpCode::arg_reduce, {b.leaf({1024, 256})}, Attrs().put(true).put(1)));
  expand(b.graph);
  expect(b, "library arg_reduce\n");
}

static void test_sums_keep_their_order_among_wider_numbers() {
  GraphBuilder b;  // 64-bit lanes would change it
  const uint32_t wide = b.add(OpCode::exp, {b.leaf({64, 64}, mx::DType::float64)});
  b.output(b.reduce(OpCode::sum, b.add(OpCode::astype, {wide}, Attrs().put(mx::DType::float32)), {1}));
  expect(b,
         "loop exp+astype (64, 64) stores %2\n"
         "loop sum (64, 64)\n");
}

static void test_views_that_move_rows_are_not_rows() {
  GraphBuilder b;
  const uint32_t sum = b.reduce(OpCode::sum, b.leaf({64, 64}), {1});
  const uint32_t turned = b.add(OpCode::slice, {sum}, Attrs().put(Dims({-1})).put(Dims({INT64_MIN})).put(Dims({-1})));
  b.output(b.add(OpCode::add, {sum, turned}));
  expect(b,
         "loop sum (64, 64)\n"
         "view slice\n"
         "loop add (64,) stores %3\n");
}

int main() {
  test_views_that_move_rows_are_not_rows();
  test_sums_keep_their_order_among_wider_numbers();
  test_the_place_of_a_maximum_fuses();
  test_the_place_of_a_maximum_of_memory_does_not();
  test_softmax_keeps_the_exponential_in_cache();
  test_softmax_of_long_rows_computes_it_again();
  test_softmax_of_columns();
  test_layer_norm_computes_the_difference_again();
  test_rows_may_lose_their_dimension_and_get_it_back();
  test_rows_along_another_axis_are_not_rows();
  test_a_mean_is_one_unit();
  test_reductions_share_a_pass();
  test_reductions_over_other_axes_do_not();
  test_a_value_waits_for_the_pass_that_wants_it();
  test_a_library_kernel_in_between_splits();
  test_what_is_read_does_not_split();
  return 0;
}
