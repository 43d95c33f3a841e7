// Which loops become part of the matrix product before them, as text, and what they must leave alone.
#include <algorithm>
#include <string>

#include "expect_program.hpp"
#include "runtime/memory.hpp"

using mx::Attrs;
using mx::Dims;
using mx::DType;
using mx::OpCode;
using mx::lower::lower;
using mx::lower::Program;

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

// ---- values

static mx::Ref<mx::Buffer> memory(const mx::Spec &spec, uint64_t seed) {
  const int64_t bytes = byte_count(spec);
  mx::Ref<mx::Buffer> buffer = mx::allocate(static_cast<size_t>(bytes));
  char *to = reinterpret_cast<char *>(buffer->data());
  for (int64_t at = 0; at < bytes; at += itemsize(spec.dtype)) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const double value = static_cast<double>(static_cast<int32_t>(seed >> 32)) / 2147483648.0;
    store_scalar(to + at, spec.dtype, {MX_SCALAR_FLOAT, 0, value, 0});
  }
  return buffer;
}

// The bytes of the outputs. With `apart`, every node is an output: then each loop runs alone.
static std::vector<std::string> values(GraphBuilder b, bool apart, size_t n_outputs) {
  std::vector<mx::Ref<mx::Buffer>> leaves;
  std::vector<mx::lower::Edge> wanted = b.graph.outputs;
  for (uint32_t i = 0; i < b.graph.nodes.size(); i++) {
    const auto &node = b.graph.nodes[i];
    if (node.leaf) leaves.push_back(memory(node.specs[0], i + 1));
  }
  if (apart) {
    // One program for each node, over what the nodes before it gave.
    std::vector<mx::Ref<mx::Buffer>> of_node(b.graph.nodes.size());
    size_t next = 0;
    for (uint32_t i = 0; i < b.graph.nodes.size(); i++) {
      const auto &node = b.graph.nodes[i];
      if (node.leaf) {
        of_node[i] = leaves[next++];
        continue;
      }
      GraphBuilder one;
      mx::lower::GraphNode copy = node;
      mx::lower::Leaves in;
      for (size_t k = 0; k < node.inputs.size(); k++) {
        const mx::Spec &spec = b.graph.spec(node.inputs[k]);
        copy.inputs[k] = {one.graph.add_leaf(spec), 0};
        one.graph.leaves.back().strides = mx::row_major(spec.shape, mx::itemsize(spec.dtype));
        in.push_back({*of_node[node.inputs[k].node], 0});
      }
      one.graph.nodes.push_back(std::move(copy));
      one.output(static_cast<uint32_t>(one.graph.nodes.size() - 1));
      // The inputs stay ours, so nothing is overwritten.
      of_node[i] = lower(std::move(one.graph)).run(std::move(in))[0].buffer;
    }
    std::vector<std::string> found;
    for (size_t k = 0; k < n_outputs; k++) {
      const auto &buffer = of_node[wanted[k].node];
      found.emplace_back(reinterpret_cast<const char *>(buffer->data()), buffer->size());
    }
    return found;
  }
  std::vector<std::string> found;
  const Program p = lower(std::move(b.graph));
  CHECK(std::any_of(p.steps.begin(), p.steps.end(), [](const auto &step) { return bool(step.epilogue); }));
  mx::lower::Leaves owned;
  for (mx::Ref<mx::Buffer> &leaf : leaves) owned.push_back({std::move(leaf), 0});
  for (const auto &out : p.run(std::move(owned)))
    found.emplace_back(reinterpret_cast<const char *>(out.buffer->data()), out.buffer->size());
  return found;
}

// Bit for bit what each op gives on its own; arguments may be overwritten on the way.
static void check_values(int64_t m, int64_t k, int64_t n, DType dtype) {
  const auto graph = [&] {
    GraphBuilder b;
    const uint32_t x = b.leaf({m, k}, dtype), w = b.leaf({k, n}, dtype), bias = b.leaf({n}, dtype),
                   residual = b.leaf({m, n}, dtype), column = b.leaf({m, 1}, dtype);
    const uint32_t y = b.add(OpCode::add, {b.add(OpCode::matmul, {x, w}), bias});
    b.output(b.add(OpCode::add, {residual, b.add(OpCode::multiply, {b.add(OpCode::tanh, {y}), column})}));
    return b;
  };
  CHECK(values(graph(), false, 1) == values(graph(), true, 1));
  const auto own_operand = [&] {
    GraphBuilder b;
    const uint32_t x = b.leaf({m, k}, dtype), w = b.leaf({k, k}, dtype);
    const uint32_t e = b.add(OpCode::sin, {x});
    b.output(b.add(OpCode::add, {e, b.add(OpCode::matmul, {e, w})}));
    return b;
  };
  CHECK(values(own_operand(), false, 1) == values(own_operand(), true, 1));
}

static void test_values() {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16, DType::float64}) {
    check_values(5, 7, 9, dtype);
    check_values(1, 300, 2000, dtype);
    check_values(300, 40, 1, dtype);
    check_values(130, 300, 500, dtype);
    check_values(500, 300, 130, dtype);
  }
}

int main() {
  test_bias_and_activation();
  test_a_residual_may_be_taken_over();
  test_operands_of_the_product_are_not_overwritten();
  test_memory_of_operands_is_not_reused();
  test_batches_and_reshapes_are_rows();
  test_what_is_no_loop_over_rows_stays_apart();
  test_constants_are_known();
  test_values();
  return 0;
}
