// Compiles a function of two arrays. c++ -std=c++20 add.cpp $(pkg-config --cflags --libs mx)
#include <cstdio>
#include <mx/mx.hpp>

int main() try {
  const mx::Function f("scaled_sum", 1, [](std::span<const mx::Array> in) {
    std::vector<mx::Array> out;
    out.push_back(2 * in[0] + in[1]);  // built once, for arrays of this shape and dtype
    return out;
  });
  const mx::Array a({1.f, 2.f, 3.f}), b({10.f, 20.f, 30.f});
  for (const float value : f(a, b)[0].to_vector<float>()) std::printf("%g ", value);
  std::puts("");
  return 0;
} catch (const mx::Error &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
