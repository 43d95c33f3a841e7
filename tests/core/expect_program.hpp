// Lowers a small graph and compares the program with a text.
#pragma once
#include <string>

#include "c/check.h"
#include "graph_builder.hpp"

inline mx::lower::Program expect(GraphBuilder &b, const char *expected) {
  mx::lower::Program program = mx::lower::lower(std::move(b.graph));
  const std::string text = mx::lower::print(program);
  if (text != expected) fprintf(stderr, "expected:\n%sgot:\n%s", expected, text.c_str());
  CHECK(text == expected);
  return program;
}
