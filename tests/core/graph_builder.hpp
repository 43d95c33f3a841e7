// Small graphs for tests of the compiler's passes.
#pragma once
#include "lower/program.hpp"

struct GraphBuilder {
  mx::lower::Graph graph;

  uint32_t leaf(std::initializer_list<int64_t> shape, mx::DType dtype = mx::DType::float32) {
    const mx::Spec spec{dtype, shape};
    const uint32_t node = graph.add_leaf(spec);
    graph.leaves.back().strides = mx::row_major(spec.shape, mx::itemsize(dtype));
    return node;
  }

  uint32_t add(mx::OpCode op, std::initializer_list<uint32_t> inputs, mx::Attrs attrs = {}) {
    mx::lower::GraphNode node;
    node.op = op;
    node.attrs = std::move(attrs);
    mx::SmallVector<const mx::Spec *, 4> specs;
    for (uint32_t i : inputs) {
      node.inputs.push_back({i, 0});
      specs.push_back(&graph.nodes[i].specs[0]);
    }
    mx::info(op).infer(node.attrs, {specs.data(), specs.size()}, node.specs);
    graph.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(graph.nodes.size() - 1);
  }

  uint32_t constant(float value) {
    int64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return add(mx::OpCode::constant, {}, mx::Attrs().put(bits).put(0).put(mx::DType::float32));
  }

  uint32_t reduce(mx::OpCode op, uint32_t x, std::initializer_list<int64_t> axes, bool keepdims = false) {
    const mx::Dims list(axes);
    return add(op, {x}, mx::Attrs().put(list).put(keepdims));
  }

  void output(uint32_t node) { graph.outputs.push_back({node, 0}); }
};
