// matmul and addmm against sums in double: every dtype, layout, path (small, matrix times vector, grouped, blocked),
// batches and empty sizes. The factors are multiples of 1/8 so small that all sums are exact: one rounding at the
// output is all that a correct kernel does, so results are compared exactly.
#include <mutex>

#include "backends/cpu/matmul.hpp"
#include "backends/cpu/matmul_packs.hpp"
#include "backends/epilogue.hpp"
#include "runtime/pool.hpp"
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

using Complex = std::complex<double>;
using Numerals = std::vector<Complex>;

constexpr DType products[] = {DType::float32, DType::float64, DType::complex64, DType::float16, DType::bfloat16,
                              DType::int8,    DType::uint16,  DType::int32,     DType::uint64,  DType::complex128};

void fill(const Array &x, const Numerals &values) {
  x.each([&](char *p, size_t i) { put_complex(p, x.tensor.dtype, values[i]); });
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
  char element[16];
  put_complex(element, dtype, exact);
  return get_complex(element, dtype);
}

Numerals read(const Array &x) {
  Numerals out(static_cast<size_t>(size_of(x.tensor)));
  x.each([&](char *p, size_t i) { out[i] = get_complex(p, x.tensor.dtype); });
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
  for (DType dtype : {DType::float32, DType::float64, DType::complex64, DType::float16, DType::bfloat16, DType::int32,
                      DType::complex128})
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
  // More than is packed at once, in each direction.
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    check_product(dtype, 70, 50, 4200, Arrangement::transposed, Arrangement::row_major);
    check_product(dtype, 50, 70, 2100, Arrangement::row_major, Arrangement::transposed);
    check_product(dtype, 2050, 2060, 2, Arrangement::row_major, Arrangement::row_major);
  }
  // Edges of the units for bfloat16: 12, 16 and 32 rows and columns, 32 of k, and one more or less; blocks of odd k.
  for (int64_t m : {16, 31, 33, 49})
    for (int64_t n : {610, 640, 643})
      for (int64_t k : {63, 64, 97, 290})
        for (Arrangement b : arrangements) check_product(DType::bfloat16, m, n, k, Arrangement::gaps, b);
  for (Arrangement a : arrangements) check_product(DType::bfloat16, 31, 65, 97, a, Arrangement::row_major);
  for (int64_t k : {1025, 2047, 2051})
    check_product(DType::bfloat16, 24, 67, k, Arrangement::transposed, Arrangement::transposed);
}

// Factors whose sums have to be rounded, so that the order of additions shows.
Numerals fractions(Numbers &numbers, int64_t n) {
  Numerals out(static_cast<size_t>(n));
  for (Complex &z : out)
    z = {1.0 / static_cast<double>(numbers.integer(1, 1000)), 1.0 / static_cast<double>(numbers.integer(1, 1000))};
  return out;
}

Array filled(DType dtype, const Dims &shape, const Numerals &values, Arrangement arrangement = Arrangement::row_major) {
  Array x(dtype, shape, arrangement);
  fill(x, values);
  return x;
}

void test_threads_do_not_show(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k) {
  Numbers numbers(17);
  const Array a = filled(dtype, {batch, m, k}, fractions(numbers, batch * m * k)),
              b = filled(dtype, {batch, k, n}, fractions(numbers, batch * k * n)), out(dtype, {batch, m, n});
  const int before = num_threads();
  Numerals first;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    call(matmul, Attrs(), {&a, &b}, out);
    if (first.empty()) first = read(out);
    CHECK(first == read(out));
  }
  set_num_threads(before);
}

// Counts how often each element was reported, and notes what it was.
class Witness final : public Epilogue {
 public:
  explicit Witness(const Tensor &out) : out_(out), count_(static_cast<size_t>(size_of(out)), 0), seen_(count_.size()) {}
  void run(int64_t row, int64_t column, int64_t rows, int64_t columns) const override {
    const int64_t n = out_.shape.back();
    const std::lock_guard guard(mutex_);
    for (int64_t i = row; i < row + rows; i++)
      for (int64_t j = column; j < column + columns; j++) {
        const size_t at = static_cast<size_t>(i * n + j);
        CHECK(i >= 0 && j >= 0 && j < n && at < count_.size());
        count_[at]++;
        seen_[at] = get(out_.data + static_cast<int64_t>(at) * itemsize(out_.dtype), out_.dtype);
      }
  }
  void check(const Array &out) const {
    const Numerals now = read(out);
    for (size_t i = 0; i < count_.size(); i++) CHECK(count_[i] == 1 && seen_[i] == now[i].real());
  }

 private:
  Tensor out_;
  mutable std::mutex mutex_;
  mutable std::vector<int> count_;
  mutable std::vector<double> seen_;
};

// Each element is reported once, when it has its last value, on every path.
void test_epilogues(DType dtype, Dims of_a, Dims of_b, Dims of_out) {
  Numbers numbers(19);
  const auto size = [](const Dims &shape) {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  };
  const Array a = filled(dtype, of_a, numerals(numbers, size(of_a), dtype)),
              b = filled(dtype, of_b, numerals(numbers, size(of_b), dtype)), out(dtype, of_out),
              c = filled(dtype, {of_out.back()}, numerals(numbers, of_out.back(), dtype));
  const Tensor in[] = {a.tensor, b.tensor}, with_c[] = {c.tensor, a.tensor, b.tensor};
  const Witness of_product(out.tensor), of_sum(out.tensor);
  matmul({OpCode::matmul, Attrs(), in, {&out.tensor, 1}, nullptr, &of_product});
  of_product.check(out);
  addmm({OpCode::addmm, Attrs().put(1.0).put(1.0), with_c, {&out.tensor, 1}, nullptr, &of_sum});
  of_sum.check(out);
}

void test_all_epilogues(DType dtype) {
  test_epilogues(dtype, {3, 5}, {5, 7}, {3, 7});
  test_epilogues(dtype, {150, 200}, {200, 170}, {150, 170});
  test_epilogues(dtype, {4200, 9}, {9, 40}, {4200, 40});
  test_epilogues(dtype, {8, 300}, {300, 1500}, {8, 1500});
  test_epilogues(dtype, {1, 300}, {300, 2000}, {1, 2000});
  test_epilogues(dtype, {2000, 300}, {300, 1}, {2000, 1});
  test_epilogues(dtype, {6, 4, 1, 30}, {30, 50}, {6, 4, 1, 50});
  test_epilogues(dtype, {2, 3, 40, 50}, {3, 50, 60}, {2, 3, 40, 60});
  test_epilogues(dtype, {2, 130, 100}, {2, 100, 120}, {2, 130, 120});
  test_epilogues(dtype, {3, 4, 0}, {3, 0, 5}, {3, 4, 5});
}

// The same bits with a packed constant as without, and packed once.
void test_packed_constants(DType dtype, int64_t m, int64_t n, int64_t k, Arrangement arrangement) {
  Numbers numbers(23);
  const Array a = filled(dtype, {m, k}, fractions(numbers, m * k)),
              b = filled(dtype, {k, n}, fractions(numbers, k * n), arrangement), plain(dtype, {m, n}),
              packed(dtype, {m, n});
  const Tensor in[] = {a.tensor, b.tensor};
  const Ref<PackCache> packs = make_ref<PackCache>();
  matmul({OpCode::matmul, Attrs(), in, {&plain.tensor, 1}});
  for (int run = 0; run < 2; run++) {
    matmul({OpCode::matmul, Attrs(), in, {&packed.tensor, 1}, nullptr, nullptr, packs.get()});
    CHECK(read(packed) == read(plain));
    CHECK(packs->bytes() >= n * k * itemsize(dtype) && packs->bytes() < 3 * n * k * itemsize(dtype));
  }
}

// Data that lies across the boundaries of elements.
void test_alignment(DType dtype) {
  const int64_t shapes[][3] = {{5, 7, 9}, {1, 300, 50}, {300, 1, 50}, {120, 130, 110}};
  for (const auto &s : shapes) {
    Numbers numbers(29);
    const Numerals x = numerals(numbers, s[0] * s[2], dtype), y = numerals(numbers, s[2] * s[1], dtype);
    const Array a = filled(dtype, {s[0], s[2]}, x), b = filled(dtype, {s[2], s[1]}, y), out(dtype, {s[0], s[1]});
    std::vector<char> shifted[2];
    Tensor in[] = {a.tensor, b.tensor};
    for (int i = 0; i < 2; i++) {
      const size_t bytes = static_cast<size_t>(size_of(in[i]) * itemsize(dtype));
      shifted[i].resize(bytes + 1);
      std::memcpy(shifted[i].data() + 1, in[i].data, bytes);
      in[i].data = shifted[i].data() + 1;
    }
    matmul({OpCode::matmul, Attrs(), in, {&out.tensor, 1}});
    check_equal(out, product(x, y, s[0], s[1], s[2]));
  }
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
  const Numerals a = fractions(numbers, batch * m * k), b = fractions(numbers, k * n);
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

// Sums that are rounded in the micro-kernel, and those that wait in memory because something is added to them.
void test_rounding_agrees(DType dtype, int64_t m, int64_t n, int64_t k) {
  Numbers numbers(31);
  Numerals x = fractions(numbers, m * k), y = fractions(numbers, k * n);
  for (size_t i = 0; i < static_cast<size_t>(k); i++) x[i] = x[i] * 3e4;  // a row that overflows in float16
  x[static_cast<size_t>(k)] = not_a_number;
  x[static_cast<size_t>(2 * k)] = -infinity;
  const Array a = filled(dtype, {m, k}, x), b = filled(dtype, {k, n}, y), zero(dtype, {1}, {0});
  const Array plain(dtype, {m, n}), added(dtype, {m, n});
  call(matmul, Attrs(), {&a, &b}, plain);
  call(addmm, Attrs().put(1.0).put(1.0), {&zero, &a, &b}, added);
  const Values first = plain.values(), other = added.values();
  for (size_t i = 0; i < first.size(); i++)
    CHECK(first[i] == other[i] || (first[i] != first[i] && other[i] != other[i]));
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

// Infinities and what is no number reach the rows and columns that they belong to, and no others.
void test_special_values_of_large_products(DType dtype) {
  constexpr int64_t m = 100, n = 130, k = 150;
  Values x(m * k, 1), y(k * n, 1);
  x[3 * k + 149] = infinity;
  x[99 * k] = not_a_number;
  y[149 * n + 7] = -1;
  y[149 * n + 8] = 0;
  y[70 * n + 129] = -infinity;
  const Array a(dtype, {m, k}, x), b(dtype, {k, n}, y), out(dtype, {m, n});
  call(matmul, Attrs(), {&a, &b}, out);
  const Values found = out.values();
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      const double z = found[static_cast<size_t>(i * n + j)];
      if (i == 99 || (i == 3 && (j == 8 || j == 129)))
        CHECK(std::isnan(z));
      else if (i == 3)
        CHECK(z == (j == 7 ? -infinity : infinity));
      else
        CHECK(z == (j == 129 ? -infinity : j == 7 ? 148 : j == 8 ? 149 : 150));
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
  for (DType dtype : {DType::float32, DType::bfloat16, DType::complex64, DType::int32, DType::complex128})
    for (int64_t m : {1, 3})
      for (int64_t n : {1, 20}) {
        test_batches(dtype, m, n, 6);
        test_addmm(dtype, m, n, 5);
        test_addmm(dtype, m, n, 0);
      }
  test_batches(DType::float32, 100, 100, 100);
  test_addmm(DType::float16, 70, 130, 120);
  for (DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::complex64, DType::complex128})
    test_addmm_of_vectors(dtype);
  check_product(DType::float64, 1, 1, (1 << 20) + 5, Arrangement::row_major, Arrangement::reversed);
  test_zero_strides();
  for (DType dtype : {DType::float32, DType::float64, DType::complex64, DType::float16}) {
    test_layouts_agree(dtype, 1, 1, 300, 700);
    test_layouts_agree(dtype, 1, 300, 1, 700);
    test_layouts_agree(dtype, 6, 1, 40, 300);
    test_layouts_agree(dtype, 6, 50, 1, 300);
    test_layouts_agree(dtype, 2, 17, 40, 600);
    test_layouts_agree(dtype, 2, 170, 140, 300);
    test_layouts_agree(dtype, 1, 1, 2100, 130);
  }
  for (DType dtype : {DType::bfloat16, DType::float16})
    for (int64_t m : {17, 130}) test_rounding_agrees(dtype, m, 170, 301);
  for (int64_t m : {1, 5}) test_layouts_agree(DType::bfloat16, 3, m, 1050, 130);
  test_layouts_agree(DType::bfloat16, 2, 170, 140, 300);
  test_layouts_agree(DType::bfloat16, 40, 1, 300, 300);
  for (DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::complex64}) {
    test_threads_do_not_show(dtype, 1, 200, 300, 700);
    test_threads_do_not_show(dtype, 1, 1, 3000, 300);
    test_threads_do_not_show(dtype, 9, 70, 60, 50);
    test_threads_do_not_show(dtype, 1, 20, 3000, 2100);
  }
  for (DType dtype : {DType::float32, DType::bfloat16, DType::int32}) test_all_epilogues(dtype);
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    for (Arrangement layout : arrangements) {
      test_packed_constants(dtype, 100, 300, 700, layout);
      test_packed_constants(dtype, 300, 100, 2100, layout);
      test_packed_constants(dtype, 5, 4200, 60, layout);
    }
  for (DType dtype : {DType::float32, DType::float64, DType::bfloat16}) test_alignment(dtype);
  for (DType dtype : {DType::float32, DType::float64, DType::bfloat16}) test_special_values_of_large_products(dtype);
  test_addmm_ignores_c_without_beta();
  test_special_values();
  test_refuses_bool();
  return 0;
}
