// What explain says about small graphs, as text: counts, memory and why steps were not joined.
#include <string>

#include "c/check.h"
#include "graph_builder.hpp"
#include "lower/explain.hpp"

using mx::Attrs;
using mx::OpCode;

static void expect(GraphBuilder &b, const char *expected) {
  const std::string text = mx::lower::explain(std::move(b.graph));
  if (text != expected) fprintf(stderr, "expected:\n%sgot:\n%s", expected, text.c_str());
  CHECK(text == expected);
}

static void expect_reason(GraphBuilder &b, const char *reason) {
  const std::string text = mx::lower::explain(std::move(b.graph));
  if (text.find(reason) == std::string::npos) fprintf(stderr, "\"%s\" is not in:\n%s", reason, text.c_str());
  CHECK(text.find(reason) != std::string::npos);
}

static void test_counts() {
  GraphBuilder b;
  const uint32_t x = b.leaf({100, 50}), row = b.leaf({50});
  b.output(b.reduce(OpCode::sum, b.add(OpCode::multiply, {x, row}), {1}));
  expect(b,
         "inputs\n"
         "  in0  float32 (100, 50)\n"
         "  in1  float32 (50,)\n"
         "steps\n"
         "  0  vm  multiply+sum  over (100, 50)\n"
         "     reads in0, in1, writes out0; 20.6 kB, 10.0 kflop\n"
         "outputs\n"
         "  out0  float32 (100,)\n"
         "total\n"
         "  20.6 kB read and written, 10.0 kflop\n"
         "  peak memory 400 B: outputs 400 B, temporaries 0 B\n");
}

static void test_views_alone() {
  GraphBuilder b;
  const uint32_t x = b.leaf({4, 5});
  const mx::Dims axes{1, 0};
  b.output(b.add(OpCode::transpose, {x}, Attrs().put(axes)));
  expect_reason(b, "none: the outputs are views of the inputs");
}

static void test_reasons() {
  GraphBuilder a;
  const uint32_t x = a.leaf({4, 5});
  const uint32_t total = a.reduce(OpCode::sum, x, {1}, true);
  a.output(a.reduce(OpCode::sum, a.add(OpCode::divide, {x, total}), {0}));
  expect_reason(a, "2 after 1: sum reduces over other axes than the loop of divide");

  GraphBuilder b;
  const uint32_t y = b.add(OpCode::exp, {b.leaf({4, 5})});
  const uint32_t full = b.reduce(OpCode::sum, y, {0, 1});
  b.output(b.add(OpCode::add, {full, b.leaf({7})}));
  expect_reason(b, "1 after 0: sum has its results only at the end of its loop");

  GraphBuilder c;
  const uint32_t e = c.add(OpCode::exp, {c.leaf({4, 1})});
  c.output(c.add(OpCode::add, {e, c.leaf({4, 5})}));
  expect_reason(c, "a loop over (4, 5) and one over (4, 1)");

  GraphBuilder d;
  const mx::Dims axes{1, 0};
  const uint32_t turned = d.add(OpCode::transpose, {d.add(OpCode::exp, {d.leaf({4, 5})})}, Attrs().put(axes));
  d.output(d.add(OpCode::add, {turned, d.leaf({5, 4})}));
  expect_reason(d, "exp is read through transpose, in another order");
}

static void test_names() {
  GraphBuilder b;
  const uint32_t x = b.leaf({4, 5}), row = b.leaf({5});
  b.output(b.add(OpCode::add, {b.add(OpCode::multiply, {x, row}), row}));
  const mx::lower::Fusion fusion = mx::lower::fuse(b.graph);
  CHECK(fusion.units.size() == 1);
  CHECK(mx::lower::unit_name(b.graph, fusion.units[0]) == "CompiledBroadcastMultiplyAdd");
  CHECK(mx::lower::op_name(OpCode::arg_reduce) == "ArgReduce");
}

int main() {
  test_counts();
  test_views_alone();
  test_reasons();
  test_names();
  return 0;
}
