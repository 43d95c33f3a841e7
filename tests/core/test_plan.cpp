// Which programs small graphs are lowered to, as text: what fuses, where values lie, what memory is shared.
#include <string>

#include "expect_program.hpp"

using mx::Attrs;
using mx::Dims;
using mx::OpCode;
using mx::lower::lower;
using mx::lower::Program;

static void test_a_chain_is_one_loop() {
  GraphBuilder b;
  const uint32_t x = b.leaf({4, 5});
  uint32_t y = x;
  for (int i = 0; i < 5; i++) y = b.add(OpCode::add, {b.add(OpCode::exp, {y}), b.constant(1)});
  b.output(y);
  const Program p = expect(b,
                           "loop exp+add+exp+add+exp+add+exp+add+2 more (20,): leaf0 owned1\n"
                           "arena 0\n");
  CHECK(p.steps[0].scalars.size() == 1);    // equal constants are one scalar
  CHECK(p.storages[1].donors.size() == 1);  // x may be overwritten when nobody else holds it
}

static void test_broadcasts_fuse() {
  GraphBuilder b;
  const uint32_t x = b.leaf({4, 5}), row = b.leaf({5}), column = b.leaf({4, 1});
  b.output(b.add(OpCode::multiply, {b.add(OpCode::add, {x, row}), column}));
  const Program p = expect(b,
                           "loop add+multiply (4, 5): leaf0 leaf1 leaf2 owned3\n"
                           "arena 0\n");
  CHECK(p.steps[0].geometry.strides[1] == (mx::SmallVector<int64_t, 4>{0, 4}));
  CHECK(p.steps[0].geometry.strides[2] == (mx::SmallVector<int64_t, 4>{4, 0}));
}

static void test_reductions_take_their_producer() {
  GraphBuilder b;
  const uint32_t x = b.leaf({4, 5});
  const uint32_t square = b.add(OpCode::square, {x});
  b.output(b.reduce(OpCode::sum, square, {1}));
  b.output(b.reduce(OpCode::max, square, {1}));
  expect(b,
         "loop square+sum+max (4, 5): leaf0 owned1 owned2\n"
         "arena 0\n");
}

static void test_a_value_with_other_users_is_stored() {
  GraphBuilder b;
  const uint32_t x = b.leaf({4, 5});
  const uint32_t e = b.add(OpCode::exp, {x});
  const uint32_t total = b.reduce(OpCode::sum, e, {1}, true);
  b.output(b.add(OpCode::divide, {e, total}));
  expect(b,
         "loop exp+sum (4, 5): leaf0 owned3 temp0\n"
         "loop divide (4, 5): owned3 temp0 owned3\n"  // the quotient replaces exp's result
         "arena 64\n");
}

static void test_rows_run_tile_by_tile() {
  GraphBuilder b;
  const uint32_t x = b.leaf({1000, 256});
  const uint32_t e = b.add(OpCode::exp, {b.add(OpCode::subtract, {x, b.reduce(OpCode::max, x, {1}, true)})});
  b.output(b.add(OpCode::divide, {e, b.reduce(OpCode::sum, e, {1}, true)}));
  const Program p = expect(b,
                           "rows in (8, 1) tiles\n"
                           "  max (125, 256): leaf0 temp0\n"
                           "  subtract+exp+sum (125, 256): leaf0 temp0 scratch temp4032\n"
                           "  divide (125, 256): scratch temp4032 owned3\n"
                           "arena 8064\n");
  CHECK(p.steps[0].scratch_bytes == 125 * 256 * 4);  // of the exponential only one tile exists at a time
  CHECK(p.steps[0].cut == -1);
}

static void test_a_result_does_not_replace_what_its_rows_read() {
  GraphBuilder b;
  const uint32_t x = b.leaf({4, 5}), y = b.leaf({4, 1});
  b.output(b.reduce(OpCode::sum, b.add(OpCode::multiply, {x, b.add(OpCode::exp, {y})}), {1}, true));
  const Program p = lower(std::move(b.graph));
  CHECK(p.storages[p.outputs[0].storage].donors.empty());
  CHECK(p.arena_bytes == 64);  // exp's result lies elsewhere
}

static void test_a_reduction_may_be_viewed() {
  GraphBuilder b;
  const uint32_t sum = b.reduce(OpCode::sum, b.leaf({4, 5}), {1});
  b.output(b.add(OpCode::reshape, {sum}, Attrs().put(Dims({4, 1}))));
  const Program p = expect(b,
                           "loop sum (4, 5): leaf0 owned1\n"
                           "arena 0\n");
  CHECK(p.outputs[0].spec.shape == (Dims{4, 1}));
}

static void test_views_cost_nothing() {
  GraphBuilder b;
  const uint32_t x = b.leaf({4, 5});
  const uint32_t t = b.add(OpCode::transpose, {x}, Attrs().put(Dims({1, 0})));
  b.output(b.add(OpCode::exp, {t}));
  b.output(t);
  const Program p = expect(b,
                           "loop exp (5, 4): leaf0 owned1\n"
                           "arena 0\n");
  CHECK(p.outputs[1].layout.strides == (Dims{4, 20}));
}

static void test_a_reshape_that_strides_cannot_express_copies() {
  GraphBuilder b;
  const uint32_t x = b.leaf({4, 5});
  const uint32_t t = b.add(OpCode::transpose, {x}, Attrs().put(Dims({1, 0})));
  b.output(b.add(OpCode::reshape, {t}, Attrs().put(Dims({20}))));
  expect(b,
         "loop copy (5, 4): leaf0 owned1\n"
         "arena 0\n");
}

static void test_the_arena_is_reused() {
  GraphBuilder b;
  uint32_t x = b.leaf({16, 16});
  for (int i = 0; i < 6; i++) x = b.add(OpCode::matmul, {x, x});
  b.output(x);
  const Program p = lower(std::move(b.graph));
  CHECK(p.arena_bytes == 2 * 16 * 16 * 4);  // of five temporaries only two live at once
}

static void test_updates_write_in_place() {
  GraphBuilder b;
  const uint32_t x = b.leaf({8}), one = b.leaf({1});
  const uint32_t y = b.add(OpCode::exp, {x});
  const auto at = [&](uint32_t to, int64_t i) {
    return b.add(OpCode::slice_update, {to, one}, Attrs().put(Dims({i})).put(Dims({i + 1})).put(Dims({1})).put(0));
  };
  b.output(at(at(y, 0), 3));
  const Program p = lower(std::move(b.graph));
  CHECK(p.arena_bytes == 0);  // exp and both updates share the output's buffer
}

static void test_independent_depths_do_not_make_cycles() {
  // a feeds b through a matmul and c directly; c must not join a's loop before the matmul has run
  GraphBuilder b;
  const uint32_t x = b.leaf({4, 4});
  const uint32_t a = b.add(OpCode::exp, {x});
  const uint32_t m = b.add(OpCode::matmul, {a, a});
  b.output(b.add(OpCode::add, {a, b.add(OpCode::sin, {m})}));
  expect(b,
         "loop exp (16,): leaf0 temp0\n"
         "library matmul+sin+add: temp0 temp0 -> owned3 then owned3 temp0 owned3\n"
         "arena 64\n");
}

// Few rows of a large table are few rows: no reason to hand the work to another thread.
static void test_estimates_follow_what_is_touched() {
  const auto estimate = [](int64_t table, int64_t rows) {
    GraphBuilder b;
    const uint32_t x = b.leaf({table, 100}), at = b.leaf({rows}, mx::DType::int32);
    b.output(b.add(OpCode::gather, {x, at}, Attrs().put(Dims{0}).put(Dims{1, 100})));
    return lower(std::move(b.graph)).estimate_ns;
  };
  CHECK(estimate(1'000'000, 10) < 10'000);
  CHECK(estimate(1'000'000, 10) == estimate(100, 10));
  CHECK(estimate(100, 10'000) > 100'000);
}

int main() {
  test_estimates_follow_what_is_touched();
  test_a_chain_is_one_loop();
  test_broadcasts_fuse();
  test_reductions_take_their_producer();
  test_a_value_with_other_users_is_stored();
  test_rows_run_tile_by_tile();
  test_a_result_does_not_replace_what_its_rows_read();
  test_a_reduction_may_be_viewed();
  test_views_cost_nothing();
  test_a_reshape_that_strides_cannot_express_copies();
  test_the_arena_is_reused();
  test_updates_write_in_place();
  test_independent_depths_do_not_make_cycles();
  return 0;
}
