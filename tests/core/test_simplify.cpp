// What simplification does to small graphs, as text.
#include <string>

#include "c/check.h"
#include "graph_builder.hpp"

using mx::Attrs;
using mx::DType;
using mx::OpCode;
using mx::lower::print;
using mx::lower::simplify;

static void expect(GraphBuilder &b, const char *expected) {
  simplify(b.graph);
  const std::string text = print(b.graph);
  if (text != expected) fprintf(stderr, "expected:\n%sgot:\n%s", expected, text.c_str());
  CHECK(text == expected);
}

static void test_equal_nodes_merge() {
  GraphBuilder b;
  const uint32_t x = b.leaf({2});
  const uint32_t one = b.add(OpCode::exp, {x}), two = b.add(OpCode::exp, {x});
  b.output(b.add(OpCode::add, {one, two}));
  expect(b,
         "%0 = leaf 0 : float32 (2,)\n"
         "%1 = exp %0 : float32 (2,)\n"
         "%2 = add %1 %1 : float32 (2,)\n"
         "return %2\n");
}

static void test_attributes_tell_nodes_apart() {
  GraphBuilder b;
  const uint32_t x = b.leaf({2, 2});
  const uint32_t rows = b.reduce(OpCode::sum, x, {1}), columns = b.reduce(OpCode::sum, x, {0});
  b.output(b.add(OpCode::add, {rows, columns}));
  simplify(b.graph);
  CHECK(b.graph.nodes.size() == 4);
}

static void test_log2_and_log10_stay_apart() {
  GraphBuilder b;
  const uint32_t x = b.leaf({2});
  b.output(b.add(OpCode::add, {b.add(OpCode::log2, {x}), b.add(OpCode::log10, {x})}));
  simplify(b.graph);
  CHECK(b.graph.nodes.size() == 4);
}

static void test_identities_and_dead_code_go() {
  GraphBuilder b;
  const uint32_t x = b.leaf({2, 3});
  b.add(OpCode::sin, {x});  // nobody uses it
  const uint32_t cast = b.add(OpCode::astype, {x}, Attrs().put(DType::float32));
  const uint32_t same = b.add(OpCode::reshape, {cast}, Attrs().put(mx::Dims({2, -1})));
  b.output(b.add(OpCode::negative, {same}));
  expect(b,
         "%0 = leaf 0 : float32 (2, 3)\n"
         "%1 = negative %0 : float32 (2, 3)\n"
         "return %1\n");
}

static void test_element_counts_become_constants() {
  GraphBuilder b;
  const uint32_t x = b.leaf({2, 3});
  const uint32_t n =
      b.add(OpCode::number_of_elements, {x}, Attrs().put(mx::Dims({0, 1})).put(false).put(DType::float32));
  b.output(b.add(OpCode::divide, {x, n}));
  simplify(b.graph);
  CHECK(b.graph.nodes[1].op == OpCode::constant);
  float six = 0;
  const int64_t bits = mx::AttrReader(b.graph.nodes[1].attrs).integer();
  __builtin_memcpy(&six, &bits, sizeof six);
  CHECK(six == 6);
}

static void test_a_power_of_two_is_a_square() {
  GraphBuilder b;
  const uint32_t x = b.leaf({2});
  b.output(b.add(OpCode::power, {x, b.constant(2)}));
  b.output(b.add(OpCode::power, {x, b.constant(3)}));
  simplify(b.graph);
  CHECK(b.graph.nodes[b.graph.outputs[0].node].op == OpCode::square);
  CHECK(b.graph.nodes[b.graph.outputs[1].node].op == OpCode::power);
}

int main() {
  test_a_power_of_two_is_a_square();
  test_equal_nodes_merge();
  test_attributes_tell_nodes_apart();
  test_log2_and_log10_stay_apart();
  test_identities_and_dead_code_go();
  test_element_counts_become_constants();
  return 0;
}
