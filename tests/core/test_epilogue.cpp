// Which loops become part of the matrix product before them, as text, and what they must leave alone.
#include <string>

#include "c/check.h"
#include "graph_builder.hpp"

using mx::Attrs;
using mx::Dims;
using mx::DType;
using mx::OpCode;
using mx::lower::lower;
using mx::lower::print;
using mx::lower::Program;

static Program expect(GraphBuilder &b, const char *expected) {
  Program program = lower(std::move(b.graph));
  const std::string text = print(program);
  if (text != expected) fprintf(stderr, "expected:\n%sgot:\n%s", expected, text.c_str());
  CHECK(text == expected);
  return program;
}

static void test_bias_and_activation() {
  GraphBuilder b;
  const uint32_t x = b.leaf({6, 4}), w = b.leaf({4, 5}), bias = b.leaf({5});
  b.output(b.add(OpCode::tanh, {b.add(OpCode::add, {b.add(OpCode::matmul, {x, w}), bias})}));
  expect(b,
         "library matmul+add+tanh: leaf0 leaf1 -> owned4 then owned4 leaf2 owned4\n"
         "arena 0\n");
}

static void test_a_residual_may_be_taken_over() {
  GraphBuilder b;
  const uint32_t x = b.leaf({6, 4}), w = b.leaf({4, 5}), residual = b.leaf({6, 5});
  b.output(b.add(OpCode::add, {residual, b.add(OpCode::matmul, {x, w})}));
  expect(b,
         "library matmul+add: leaf0 leaf1 -> owned4 then leaf2 owned4 owned4\n"
         "arena 0\n");
}

// x + x @ w: rows of x are still being read when the first elements of the sum are there.
static void test_operands_of_the_product_are_not_overwritten() {
  GraphBuilder b;
  const uint32_t leaf = b.leaf({4, 4}), w = b.leaf({4, 4});
  const uint32_t x = b.add(OpCode::exp, {leaf});
  b.output(b.add(OpCode::add, {x, b.add(OpCode::matmul, {x, w})}));
  b.output(b.add(OpCode::sin, {b.add(OpCode::matmul, {leaf, w})}));
  const Program p = lower(std::move(b.graph));
  for (const auto &step : p.steps)
    for (uint32_t storage : step.written)
      for (const auto &in : step.inputs) {
        CHECK(in.storage != storage);
        const auto &read = p.storages[in.storage], &written = p.storages[storage];
        if (read.kind == mx::lower::Storage::Kind::leaf)
          for (uint32_t donor : written.donors) CHECK(donor != read.index);
        if (read.kind == mx::lower::Storage::Kind::temp && written.kind == mx::lower::Storage::Kind::temp)
          CHECK(read.offset != written.offset);
      }
}

// A temporary of another size must not come to lie where the product's operand was.
static void test_memory_of_operands_is_not_reused() {
  GraphBuilder b;
  const uint32_t leaf = b.leaf({64, 64}), w = b.leaf({64, 64});
  const uint32_t x = b.add(OpCode::exp, {leaf});
  const uint32_t half = b.add(OpCode::astype, {b.add(OpCode::matmul, {x, w})}, Attrs().put(DType::float16));
  b.output(b.reduce(OpCode::sum, half, {0, 1}));
  b.output(b.reduce(OpCode::max, b.add(OpCode::transpose, {half}, Attrs().put(Dims({1, 0}))), {1}));
  const Program p = lower(std::move(b.graph));
  for (const auto &step : p.steps) {
    if (!step.epilogue) continue;
    for (const auto &in : step.inputs)
      for (uint32_t storage : step.written) {
        const auto &read = p.storages[in.storage], &written = p.storages[storage];
        if (read.kind != mx::lower::Storage::Kind::temp || written.kind != mx::lower::Storage::Kind::temp) continue;
        CHECK(read.offset + read.bytes <= written.offset || written.offset + written.bytes <= read.offset);
      }
  }
}

static void test_batches_and_reshapes_are_rows() {
  GraphBuilder b;
  const uint32_t x = b.leaf({2, 3, 4}), w = b.leaf({4, 6}), row = b.leaf({2, 3, 1}), residual = b.leaf({2, 3, 2, 3});
  const uint32_t scaled = b.add(OpCode::multiply, {b.add(OpCode::matmul, {x, w}), row});
  b.output(scaled);
  const uint32_t heads =
      b.add(OpCode::reshape, {b.add(OpCode::matmul, {scaled, b.leaf({6, 6})})}, Attrs().put(Dims({2, 3, 2, 3})));
  b.output(b.add(OpCode::add, {heads, residual}));
  expect(b,
         "library matmul+multiply: leaf0 leaf1 -> owned6 then owned6 leaf2 owned6\n"
         "library matmul+add: owned6 leaf4 -> owned8 then owned8 leaf3 owned8\n"
         "arena 0\n");
}

static void test_what_is_no_loop_over_rows_stays_apart() {
  {
    GraphBuilder b;  // reads the product in another order
    const uint32_t m = b.add(OpCode::matmul, {b.leaf({4, 4}), b.leaf({4, 4})});
    b.output(b.add(OpCode::add, {m, b.add(OpCode::transpose, {m}, Attrs().put(Dims({1, 0})))}));
    expect(b,
           "library matmul: leaf0 leaf1 -> temp0\n"
           "loop add (4, 4): temp0 temp0 owned3\n"
           "arena 64\n");
  }
  {
    GraphBuilder b;  // the mask moves along the first and the last dimension, not along that between them
    const uint32_t m = b.add(OpCode::matmul, {b.leaf({2, 3, 4}), b.leaf({2, 4, 5})}), mask = b.leaf({2, 1, 5});
    b.output(b.add(OpCode::add, {m, mask}));
    expect(b,
           "library matmul: leaf0 leaf1 -> owned4\n"
           "loop add (2, 3, 5): owned4 leaf2 owned4\n"
           "arena 0\n");
  }
  {
    GraphBuilder b;  // reduces
    b.output(b.reduce(OpCode::sum, b.add(OpCode::matmul, {b.leaf({4, 4}), b.leaf({4, 4})}), {1}));
    const Program p = lower(std::move(b.graph));
    CHECK(p.steps.size() == 2 && !p.steps[0].epilogue);
  }
}

static void test_constants_are_known() {
  GraphBuilder b;
  const uint32_t x = b.leaf({4, 4}), w = b.leaf({4, 4});
  b.graph.first_constant = 1;
  const uint32_t turned = b.add(OpCode::transpose, {w}, Attrs().put(Dims({1, 0})));
  b.output(b.add(OpCode::matmul, {x, turned}));
  b.output(b.add(OpCode::matmul, {w, x}));
  const Program p = lower(std::move(b.graph));
  CHECK(p.steps[0].constant_b == 1 && p.steps[1].constant_b == UINT32_MAX);
}

int main() {
  test_bias_and_activation();
  test_a_residual_may_be_taken_over();
  test_operands_of_the_product_are_not_overwritten();
  test_memory_of_operands_is_not_reused();
  test_batches_and_reshapes_are_rows();
  test_what_is_no_loop_over_rows_stays_apart();
  test_constants_are_known();
  return 0;
}
