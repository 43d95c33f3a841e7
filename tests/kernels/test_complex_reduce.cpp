// Products, minima and maxima of complex numbers against a scalar reference: any axes and layout, NaN, empty axes.
#include "backends/cpu/complex_reduce.hpp"
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

template <class T>
using Number = std::complex<T>;

template <class T>
bool is_nan(Number<T> x) {
  return std::isnan(x.real()) || std::isnan(x.imag());
}
template <class T>
bool same_number(Number<T> x, Number<T> y) {
  return is_nan(x) ? is_nan(y) : x == y;
}

// As NumPy orders complex numbers: by real part, then by imaginary part; a number with NaN in it wins.
template <class T>
Number<T> reference(OpCode op, const std::vector<Number<T>> &xs) {
  using C = Number<T>;
  if (op == OpCode::prod) {
    C product(1, 0);
    for (C x : xs)
      product = {product.real() * x.real() - product.imag() * x.imag(),
                 product.real() * x.imag() + product.imag() * x.real()};
    return product;
  }
  const T inf = op == OpCode::min ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
  C best = xs.empty() ? C(inf, inf) : xs[0];
  for (C x : xs) {
    if (is_nan(x)) return x;
    const bool less = x.real() < best.real() || (x.real() == best.real() && x.imag() < best.imag());
    const bool greater = x.real() > best.real() || (x.real() == best.real() && x.imag() > best.imag());
    if (op == OpCode::min ? less : greater) best = x;
  }
  return best;
}

template <class T>
void check_as(DType dtype, OpCode op, const Dims &shape, const Dims &axes, Arrangement arrangement, bool with_nan) {
  using C = Number<T>;
  const auto at = [](char *p) -> C & { return *reinterpret_cast<C *>(p); };
  Numbers numbers(7);
  Array x(dtype, shape, arrangement);
  Dims kept;
  for (size_t d = 0; d < shape.size(); d++)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end()) kept.push_back(shape[d]);
  std::vector<std::vector<C>> groups(static_cast<size_t>(element_count(kept)));
  x.each([&](char *p, size_t i) {
    at(p) = {static_cast<T>(numbers.integer(-4, 5)) / 2, static_cast<T>(numbers.integer(-4, 5)) / 2};
    if (with_nan && i % 7 == 3) at(p) = {1, std::numeric_limits<T>::quiet_NaN()};
    size_t group = 0;  // the index among the kept axes
    int64_t rest = static_cast<int64_t>(i), scale = 1;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end()) {
        group += static_cast<size_t>(rest % shape[d] * scale);
        scale *= shape[d];
      }
    groups[group].push_back(at(p));
  });
  Array out(dtype, kept);
  complex_reduce({op, Attrs().put(axes).put(false), {&x.tensor, 1}, {&out.tensor, 1}});
  CHECK(out.guards_intact());
  out.each([&](char *p, size_t i) { CHECK(same_number(at(p), reference<T>(op, groups[i]))); });
}

void check(OpCode op, const Dims &shape, const Dims &axes, Arrangement arrangement, bool with_nan) {
  check_as<float>(DType::complex64, op, shape, axes, arrangement, with_nan);
  check_as<double>(DType::complex128, op, shape, axes, arrangement, with_nan);
}

}  // namespace

int main() {
  for (OpCode op : {OpCode::prod, OpCode::min, OpCode::max})
    for (Arrangement arrangement : arrangements)
      for (bool with_nan : {false, true}) {
        check(op, {3, 4, 5}, {1}, arrangement, with_nan);
        check(op, {3, 4, 5}, {0, 2}, arrangement, with_nan);
        check(op, {3, 4, 5}, {0, 1, 2}, arrangement, with_nan);
        check(op, {3, 4}, {}, arrangement, with_nan);
        check(op, {}, {}, arrangement, with_nan);
        check(op, {3, 0}, {1}, arrangement, with_nan);
        check(op, {0, 3}, {1}, arrangement, with_nan);
        check(op, {2, 1}, {1}, arrangement, with_nan);
      }
  return 0;
}
