#include "backends/cpu/matmul_complex128.hpp"

#include <algorithm>
#include <cstring>

#include "base/dtype.hpp"

namespace mx::cpu {
namespace {

constexpr int64_t columns = 256;

Complex128 read(const char *p) {
  Complex128 z;
  std::memcpy(&z, p, sizeof z);
  return z;
}

// The sums of one row, for n columns from the first of b on.
struct Sums {
  double re[columns] = {}, im[columns] = {};

  void add(Complex128 x, const char *b, int64_t step, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
      const Complex128 y = read(b + j * step);
      re[j] += x.re * y.re - x.im * y.im;
      im[j] += x.re * y.im + x.im * y.re;
    }
  }
};

}  // namespace

void multiply_complex128(const Product &p) {
  Complex128 *const out = reinterpret_cast<Complex128 *>(p.out);
  for (int64_t j = 0; j < p.n; j += columns) {
    const int64_t n = std::min(columns, p.n - j);
    for (int64_t i = 0; i < p.m; i++) {
      Sums sums;
      for (int64_t k = 0; k < p.k; k++)
        sums.add(read(p.a.data + i * p.a.row + k * p.a.col), p.b.data + k * p.b.row + j * p.b.col, p.b.col, n);
      for (int64_t c = 0; c < n; c++) {
        Complex128 z{p.alpha * sums.re[c], p.alpha * sums.im[c]};
        if (p.c.data) {
          const int64_t row = p.c_rows ? (*p.c_rows)(i) : i * p.c.row;
          const Complex128 added = read(p.c.data + row + (j + c) * p.c.col);
          z = {z.re + p.beta * added.re, z.im + p.beta * added.im};
        }
        out[i * p.n + j + c] = z;
      }
    }
  }
}

}  // namespace mx::cpu
