// matmul and addmm against sums in double: every dtype, layout, path (small, matrix times vector, grouped, blocked),
// batches and empty sizes. The factors are multiples of 1/8 so small that all sums are exact: one rounding at the
// output is all that a correct kernel does, so results are compared exactly.
#include "backends/cpu/matmul.hpp"
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

using Complex = std::complex<double>;
using Numerals = std::vector<Complex>;

constexpr DType products[] = {DType::float32, DType::float64, DType::complex64, DType::float16, DType::bfloat16,
                              DType::int8,    DType::uint16,  DType::int32,     DType::uint64};

void fill(const Array &x, const Numerals &values) {
  x.each([&](char *p, size_t i) {
    if (x.tensor.dtype == DType::complex64) {
      const Complex64 z{static_cast<float>(values[i].real()), static_cast<float>(values[i].imag())};
      std::memcpy(p, &z, sizeof z);
    } else {
      put(p, x.tensor.dtype, values[i].real());
    }
  });
}

Numerals numerals(Numbers &numbers, int64_t n, DType dtype) {
  Numerals out(static_cast<size_t>(n));
  const bool whole = is_integer(dtype);
  for (Complex &z : out) {
    const double re = static_cast<double>(numbers.integer(-16, 17)), im = static_cast<double>(numbers.integer(-16, 17));
    z = {whole ? (dtype == DType::uint16 || dtype == DType::uint64 ? std::abs(re) : re) : re / 8,
         is_complex(dtype) ? im / 8 : 0};
  }
  return out;
}

// The exact value as the dtype holds it, written and read back.
Complex rounded(Complex exact, DType dtype) {
  if (dtype == DType::complex64) return {static_cast<float>(exact.real()), static_cast<float>(exact.imag())};
  char element[8];
  put(element, dtype, exact.real());
  return get(element, dtype);
}

Numerals read(const Array &x) {
  Numerals out(static_cast<size_t>(size_of(x.tensor)));
  x.each([&](char *p, size_t i) {
    out[i] = get(p, x.tensor.dtype);
    if (x.tensor.dtype == DType::complex64) {
      Complex64 z;
      std::memcpy(&z, p, sizeof z);
      out[i] = {z.re, z.im};
    }
  });
  return out;
}

void check_equal(const Array &out, const Numerals &exact) {
  const Numerals found = read(out);
  for (size_t i = 0; i < exact.size(); i++) CHECK(found[i] == rounded(exact[i], out.tensor.dtype));
}

Numerals product(const Numerals &a, const Numerals &b, int64_t m, int64_t n, int64_t k, size_t a_at = 0,
                 size_t b_at = 0) {
  Numerals out(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t p = 0; p < k; p++) {
      const Complex x = a[a_at + static_cast<size_t>(i * k + p)];
      for (int64_t j = 0; j < n; j++)
        out[static_cast<size_t>(i * n + j)] += x * b[b_at + static_cast<size_t>(p * n + j)];
    }
  return out;
}

void check_product(DType dtype, int64_t m, int64_t n, int64_t k, Arrangement of_a, Arrangement of_b) {
  Numbers numbers(static_cast<uint64_t>(m * 1000 + n * 100 + k));
  const Numerals a = numerals(numbers, m * k, dtype), b = numerals(numbers, k * n, dtype);
  const Array left(dtype, Dims{m, k}, of_a), right(dtype, Dims{k, n}, of_b), out(dtype, Dims{m, n});
  fill(left, a);
  fill(right, b);
  call(matmul, Attrs(), {&left, &right}, out);
  check_equal(out, product(a, b, m, n, k));
}

void test_shapes() {
  const int64_t shapes[][3] = {{0, 3, 2}, {3, 0, 2},  {3, 2, 0},   {1, 1, 1},     {1, 1, 700},  {1, 9, 0},
                               {2, 2, 2}, {1, 33, 7}, {33, 1, 7},  {5, 1, 300},   {1, 300, 40}, {270, 1, 33},
                               {3, 3, 3}, {7, 17, 9}, {12, 32, 5}, {13, 35, 270}, {64, 64, 64}, {31, 3, 600}};
  for (DType dtype : products)
    for (const auto &s : shapes)
      for (Arrangement a : arrangements)
        for (Arrangement b : arrangements) check_product(dtype, s[0], s[1], s[2], a, b);
}

// One small operand, or none.
void test_large() {
  const int64_t shapes[][3] = {{100, 100, 100}, {130, 257, 301}, {4, 4200, 60},  {4200, 5, 60},
                               {41, 4200, 8},   {4200, 41, 8},   {1, 5000, 200}, {5000, 1, 200}};
  for (DType dtype : {DType::float32, DType::float64, DType::complex64, DType::float16, DType::bfloat16, DType::int32})
    for (const auto &s : shapes) {
      check_product(dtype, s[0], s[1], s[2], Arrangement::row_major, Arrangement::row_major);
      check_product(dtype, s[0], s[1], s[2], Arrangement::transposed, Arrangement::transposed);
      check_product(dtype, s[0], s[1], s[2], Arrangement::reversed, Arrangement::gaps);
    }
  for (DType dtype : {DType::float32, DType::complex64, DType::bfloat16}) {
    check_product(dtype, 530, 540, 130, Arrangement::row_major, Arrangement::transposed);
    check_product(dtype, 1000, 1000, 0, Arrangement::row_major, Arrangement::row_major);
  }
  check_product(DType::float32, 4200, 260, 256, Arrangement::transposed, Arrangement::row_major);
  check_product(DType::float32, 20, 20, 5000, Arrangement::row_major, Arrangement::row_major);
}

// a (2, 1, 3, m, k) times b (4, 1, k, n) and (k, n): broadcast batches and rows that fold.
void test_batches(DType dtype, int64_t m, int64_t n, int64_t k) {
  Numbers numbers(3);
  const Numerals a = numerals(numbers, 6 * m * k, dtype), b = numerals(numbers, 4 * k * n, dtype);
  for (Arrangement of_a : arrangements)
    for (Arrangement of_b : arrangements) {
      const Array left(dtype, Dims{2, 1, 3, m, k}, of_a), right(dtype, Dims{4, 1, k, n}, of_b),
          out(dtype, Dims{2, 4, 3, m, n});
      fill(left, a);
      fill(right, b);
      call(matmul, Attrs(), {&left, &right}, out);
      Numerals exact;
      for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 4; j++)
          for (size_t l = 0; l < 3; l++) {
            const Numerals one =
                product(a, b, m, n, k, (i * 3 + l) * static_cast<size_t>(m * k), j * static_cast<size_t>(k * n));
            exact.insert(exact.end(), one.begin(), one.end());
          }
      check_equal(out, exact);

      const Array shared(dtype, Dims{k, n}, of_b), folded(dtype, Dims{2, 1, 3, m, n});
      fill(shared, Numerals(b.begin(), b.begin() + k * n));
      call(matmul, Attrs(), {&left, &shared}, folded);
      check_equal(folded, product(a, b, 6 * m, n, k));
    }
}

// A stride of 0 in the batch, in the rows and in the columns.
void test_zero_strides() {
  Numbers numbers(5);
  const Numerals a = numerals(numbers, 5, DType::float32), b = numerals(numbers, 5 * 40, DType::float32);
  const Array left(DType::float32, Dims{1, 1, 5}), right(DType::float32, Dims{1, 5, 40}),
      out(DType::float32, Dims{3, 7, 40});
  fill(left, a);
  fill(right, b);
  Tensor in[] = {left.tensor, right.tensor};
  in[0].shape = Dims{3, 7, 5};
  in[0].strides[0] = in[0].strides[1] = 0;
  in[1].shape = Dims{3, 5, 40};
  in[1].strides[0] = 0;
  matmul({OpCode::matmul, Attrs(), in, {&out.tensor, 1}});
  Numerals exact;
  for (int i = 0; i < 21; i++) {
    const Numerals row = product(a, b, 1, 40, 5);
    exact.insert(exact.end(), row.begin(), row.end());
  }
  check_equal(out, exact);
}

// With rounding in play, the bits do not depend on strides, nor on whether a batch folds into rows.
void test_layouts_agree(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k) {
  Numbers numbers(7);
  Numerals a(static_cast<size_t>(batch * m * k)), b(static_cast<size_t>(k * n));
  for (Complex &z : a)
    z = {1.0 / static_cast<double>(numbers.integer(1, 1000)), 1.0 / static_cast<double>(numbers.integer(1, 1000))};
  for (Complex &z : b)
    z = {1.0 / static_cast<double>(numbers.integer(1, 1000)), 1.0 / static_cast<double>(numbers.integer(1, 1000))};
  Numerals first;
  for (Arrangement of_a : arrangements)
    for (Arrangement of_b : arrangements) {
      const Array left(dtype, Dims{batch, m, k}, of_a), right(dtype, Dims{k, n}, of_b), out(dtype, Dims{batch, m, n});
      fill(left, a);
      fill(right, b);
      call(matmul, Attrs(), {&left, &right}, out);
      if (first.empty()) first = read(out);
      CHECK(first == read(out));
    }
}

void test_addmm(DType dtype, int64_t m, int64_t n, int64_t k) {
  Numbers numbers(11);
  const Numerals a = numerals(numbers, 2 * m * k, dtype), b = numerals(numbers, k * n, dtype);
  const Dims shapes[] = {Dims{2, m, n}, Dims{m, n}, Dims{n}, Dims{}, Dims{2, 1, n}, Dims{m, 1}, Dims{2, 1, 1}};
  for (const Dims &shape : shapes)
    for (Arrangement layout : arrangements) {
      int64_t size = 1;
      for (int64_t d : shape) size *= d;
      const Numerals c = numerals(numbers, size, dtype);
      const Array left(dtype, Dims{2, m, k}, layout), right(dtype, Dims{k, n}, layout), added(dtype, shape, layout),
          out(dtype, Dims{2, m, n});
      fill(left, a);
      fill(right, b);
      fill(added, c);
      call(addmm, Attrs().put(2.0).put(-3.0), {&added, &left, &right}, out);
      Numerals exact = product(a, b, 2 * m, n, k);
      const size_t r = shape.size();
      for (int64_t i = 0; i < 2 * m * n; i++) {
        const int64_t at[] = {i / (m * n), i / n % m, i % n};
        int64_t from = 0;
        for (size_t d = 0; d < r; d++) from = from * shape[d] + (shape[d] == 1 ? 0 : at[3 - r + d]);
        Complex &z = exact[static_cast<size_t>(i)];
        z = 2.0 * z - 3.0 * c[static_cast<size_t>(from)];
      }
      check_equal(out, exact);
    }
}

// Matrix times vector, large enough to be split over threads.
void test_addmm_of_vectors(DType dtype) {
  constexpr int64_t n = 5000, k = 200;
  Numbers numbers(13);
  const Numerals a = numerals(numbers, n * k, dtype), x = numerals(numbers, k, dtype), c = numerals(numbers, n, dtype);
  Numerals exact = product(a, x, n, 1, k);
  for (size_t i = 0; i < exact.size(); i++) exact[i] = exact[i] - 2.0 * c[i];
  for (Arrangement layout : arrangements) {
    const Array left(dtype, Dims{n, k}, layout), right(dtype, Dims{k, 1}, layout), added(dtype, Dims{n, 1}, layout);
    const Array column(dtype, Dims{n, 1}), row(dtype, Dims{1, n});
    fill(left, a);
    fill(right, x);
    fill(added, c);
    call(addmm, Attrs().put(1.0).put(-2.0), {&added, &left, &right}, column);
    check_equal(column, exact);
    const auto turned = [](const Tensor &t) {
      Tensor out = t;
      std::swap(out.shape[0], out.shape[1]);
      std::swap(out.strides[0], out.strides[1]);
      return out;
    };
    const Tensor in[] = {turned(added.tensor), turned(right.tensor), turned(left.tensor)};
    addmm({OpCode::addmm, Attrs().put(1.0).put(-2.0), in, {&row.tensor, 1}});
    check_equal(row, exact);
  }
}

void test_addmm_ignores_c_without_beta() {
  const Array a(DType::float32, Dims{1, 2}, {1, 2}), b(DType::float32, Dims{2, 1}, {3, 4}),
      c(DType::float32, Dims{1}, {not_a_number});
  const Array out(DType::float32, Dims{1, 1});
  call(addmm, Attrs().put(1.0).put(0.0), {&c, &a, &b}, out);
  CHECK(out.values()[0] == 11);
}

void test_special_values() {
  for (int64_t k : {1, 3, 40}) {
    Values x(static_cast<size_t>(k), 1), y(static_cast<size_t>(4 * k), 1);
    x.back() = infinity;
    y[0] = not_a_number;
    const Array a(DType::bfloat16, Dims{1, k}, x), b(DType::bfloat16, Dims{k, 4}, y), out(DType::bfloat16, Dims{1, 4});
    call(matmul, Attrs(), {&a, &b}, out);
    CHECK(std::isnan(out.values()[0]) && out.values()[1] == infinity);
  }
}

void test_refuses_bool() {
  const Array a(DType::bool_, Dims{1, 1}, {1}), out(DType::bool_, Dims{1, 1});
  try {
    call(matmul, Attrs(), {&a, &a}, out);
  } catch (const Error &e) {
    CHECK(e.status() == MX_ERROR_DTYPE);
    return;
  }
  CHECK(false);
}

}  // namespace

int main() {
  test_shapes();
  test_large();
  for (DType dtype : {DType::float32, DType::bfloat16, DType::complex64, DType::int32})
    for (int64_t m : {1, 3})
      for (int64_t n : {1, 20}) {
        test_batches(dtype, m, n, 6);
        test_addmm(dtype, m, n, 5);
        test_addmm(dtype, m, n, 0);
      }
  test_batches(DType::float32, 100, 100, 100);
  test_addmm(DType::float16, 70, 130, 120);
  for (DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::complex64}) test_addmm_of_vectors(dtype);
  check_product(DType::float64, 1, 1, (1 << 20) + 5, Arrangement::row_major, Arrangement::reversed);
  test_zero_strides();
  for (DType dtype : {DType::float32, DType::float64, DType::complex64, DType::float16}) {
    test_layouts_agree(dtype, 1, 1, 300, 700);
    test_layouts_agree(dtype, 1, 300, 1, 700);
    test_layouts_agree(dtype, 6, 1, 40, 300);
    test_layouts_agree(dtype, 6, 50, 1, 300);
    test_layouts_agree(dtype, 2, 17, 40, 600);
    test_layouts_agree(dtype, 2, 170, 140, 300);
  }
  test_addmm_ignores_c_without_beta();
  test_special_values();
  test_refuses_bool();
  return 0;
}
