// Factorisations: every result is multiplied back together and compared with the input, for all dtypes, layouts and
// batches; errors for singular, indefinite and NaN matrices; empty sizes.
#include "backends/cpu/linalg.hpp"
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

using Complex = std::complex<double>;

// A row-major batch of matrices in double.
struct Matrices {
  int64_t count, rows, columns;
  std::vector<Complex> data;
  Matrices(int64_t count, int64_t rows, int64_t columns)
      : count(count), rows(rows), columns(columns), data(static_cast<size_t>(count * rows * columns)) {}
  Complex &operator()(int64_t b, int64_t i, int64_t j) {
    return data[static_cast<size_t>((b * rows + i) * columns + j)];
  }
  Complex operator()(int64_t b, int64_t i, int64_t j) const {
    return data[static_cast<size_t>((b * rows + i) * columns + j)];
  }
};

Matrices random_matrices(int64_t count, int64_t rows, int64_t columns, DType dtype, uint64_t seed = 1) {
  Numbers numbers(seed);
  Matrices x(count, rows, columns);
  for (Complex &z : x.data) {
    z = static_cast<double>(numbers.integer(-1000, 1000)) / 512;
    if (is_complex(dtype)) z += Complex(0, static_cast<double>(numbers.integer(-1000, 1000)) / 512);
  }
  return x;
}

Matrices multiply(const Matrices &a, const Matrices &b) {
  Matrices out(a.count, a.rows, b.columns);
  for (int64_t c = 0; c < a.count; c++)
    for (int64_t i = 0; i < a.rows; i++)
      for (int64_t k = 0; k < a.columns; k++)
        for (int64_t j = 0; j < b.columns; j++) out(c, i, j) += a(c, i, k) * b(c, k, j);
  return out;
}

Matrices adjoint(const Matrices &a) {
  Matrices out(a.count, a.columns, a.rows);
  for (int64_t c = 0; c < a.count; c++)
    for (int64_t i = 0; i < a.rows; i++)
      for (int64_t j = 0; j < a.columns; j++) out(c, j, i) = std::conj(a(c, i, j));
  return out;
}

Matrices identity(int64_t count, int64_t n) {
  Matrices out(count, n, n);
  for (int64_t c = 0; c < count; c++)
    for (int64_t i = 0; i < n; i++) out(c, i, i) = 1;
  return out;
}

// A rectangular diagonal matrix of vectors (count, n).
Matrices diagonal(const Matrices &values, int64_t rows, int64_t columns) {
  Matrices out(values.count, rows, columns);
  for (int64_t c = 0; c < values.count; c++)
    for (int64_t i = 0; i < std::min(rows, columns); i++) out(c, i, i) = values(c, i, 0);
  return out;
}

Matrices triangle(Matrices a, bool upper) {
  for (int64_t c = 0; c < a.count; c++)
    for (int64_t i = 0; i < a.rows; i++)
      for (int64_t j = 0; j < a.columns; j++)
        if (upper ? j < i : j > i) a(c, i, j) = 0;
  return a;
}

bool close(const Matrices &a, const Matrices &b, double tolerance) {
  if (a.rows != b.rows || a.columns != b.columns || a.count != b.count) return false;
  double scale = 1;
  for (const Complex &z : b.data) scale = std::max(scale, std::abs(z));
  for (size_t i = 0; i < a.data.size(); i++)
    if (!(std::abs(a.data[i] - b.data[i]) <= tolerance * scale)) return false;
  return true;
}

double accuracy(DType dtype, int64_t n) {
  return (part_dtype(dtype) == DType::float64 ? 1e-13 : 1e-6) * static_cast<double>(10 + n);
}

Array to_array(const Matrices &x, DType dtype, Arrangement layout, bool batched = true) {
  Array out(dtype, batched ? Dims{x.count, x.rows, x.columns} : Dims{x.rows, x.columns}, layout);
  out.each([&](char *p, size_t i) { put_complex(p, dtype, x.data[i]); });
  return out;
}

// What the array holds; an array of vectors becomes matrices of one column.
Matrices from_array(const Array &x, size_t n_dims = 2) {
  const Dims &shape = x.tensor.shape;
  const int64_t rows = shape[shape.size() - n_dims], columns = n_dims == 2 ? shape.back() : 1;
  const int64_t size = rows * columns;
  Matrices out(size > 0 ? size_of(x.tensor) / size : 0, rows, columns);
  x.each([&](char *p, size_t i) { out.data[i] = get_complex(p, x.tensor.dtype); });
  return out;
}

void run(void (*kernel)(const KernelCall &), const Attrs &attrs, std::initializer_list<const Array *> inputs,
         std::initializer_list<const Array *> outputs) {
  std::vector<Tensor> in, out;
  for (const Array *a : inputs) in.push_back(a->tensor);
  for (const Array *a : outputs) out.push_back(a->tensor);
  kernel({OpCode::count_, attrs, in, out});
  for (const Array *a : outputs) CHECK(a->guards_intact());
}

template <class F>
mx_status status_of(F &&body) {
  try {
    body();
  } catch (const Error &e) {
    return e.status();
  }
  return MX_OK;
}

constexpr DType dtypes[] = {DType::float32, DType::float64, DType::complex64, DType::complex128};

void test_cholesky(DType dtype, int64_t n, Arrangement layout) {
  const Matrices x = random_matrices(3, n, n, dtype), half = multiply(x, adjoint(x));
  Matrices a = half;
  for (int64_t c = 0; c < 3; c++)
    for (int64_t i = 0; i < n; i++) a(c, i, i) += 1;
  const Array in = to_array(a, dtype, layout), out(dtype, Dims{3, n, n});
  for (bool upper : {false, true}) {
    run(cholesky, Attrs().put(upper), {&in}, {&out});
    const Matrices f = from_array(out);
    CHECK(close(f, triangle(f, upper), 0));
    CHECK(close(upper ? multiply(adjoint(f), f) : multiply(f, adjoint(f)), from_array(in), accuracy(dtype, n)));
  }
}

void test_solvers(DType dtype, int64_t n, int64_t k, Arrangement layout) {
  Matrices a = random_matrices(2, n, n, dtype);
  for (int64_t c = 0; c < 2; c++)
    for (int64_t i = 0; i < n; i++) a(c, i, i) += 3 + 2 * std::sqrt(static_cast<double>(n));
  const Matrices b = random_matrices(2, n, k, dtype, 9);
  const Array in = to_array(a, dtype, layout), rhs = to_array(b, dtype, layout), x(dtype, Dims{2, n, k}),
              out(dtype, Dims{2, n, n});
  const Matrices held = from_array(in), target = from_array(rhs);
  run(solve, Attrs().put(false).put(false), {&in, &rhs}, {&x});
  CHECK(close(multiply(held, from_array(x)), target, accuracy(dtype, n)));
  run(inverse, Attrs().put(false).put(false), {&in}, {&out});
  CHECK(close(multiply(held, from_array(out)), identity(2, n), accuracy(dtype, n)));
  for (bool upper : {false, true}) {
    run(solve, Attrs().put(true).put(upper), {&in, &rhs}, {&x});
    CHECK(close(multiply(triangle(held, upper), from_array(x)), target, accuracy(dtype, n)));
    run(inverse, Attrs().put(true).put(upper), {&in}, {&out});
    CHECK(close(multiply(triangle(held, upper), from_array(out)), identity(2, n), accuracy(dtype, n)));
  }
}

void test_lu(DType dtype, int64_t m, int64_t n, Arrangement layout) {
  const int64_t r = std::min(m, n);
  const Array in = to_array(random_matrices(2, m, n, dtype), dtype, layout), out(dtype, Dims{2, m, n}),
              pivots(DType::uint32, Dims{2, r});
  run(lu, Attrs(), {&in}, {&out, &pivots});
  const Matrices f = from_array(out), swaps = from_array(pivots, 1);
  Matrices permuted = from_array(in), l(2, m, r), u(2, r, n);
  for (int64_t c = 0; c < 2; c++) {
    for (int64_t i = 0; i < r; i++) {
      const auto with = static_cast<int64_t>(swaps(c, i, 0).real());
      CHECK(with >= i && with < m);
      for (int64_t j = 0; j < n; j++) std::swap(permuted(c, i, j), permuted(c, with, j));
    }
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < r; j++) l(c, i, j) = j < i ? f(c, i, j) : j == i ? 1.0 : 0.0;
    for (int64_t i = 0; i < r; i++)
      for (int64_t j = i; j < n; j++) u(c, i, j) = f(c, i, j);
    // the largest pivot was chosen; a complex quotient may be rounded to more than 1
    for (const Complex &z : l.data) CHECK(std::abs(z) <= (is_complex(dtype) ? 1 + 1e-6 : 1));
  }
  CHECK(close(multiply(l, u), permuted, accuracy(dtype, m + n)));
}

void test_qr(DType dtype, int64_t m, int64_t n, Arrangement layout) {
  const int64_t r = std::min(m, n);
  const Array in = to_array(random_matrices(2, m, n, dtype), dtype, layout), q_out(dtype, Dims{2, m, r}),
              r_out(dtype, Dims{2, r, n});
  run(qr, Attrs(), {&in}, {&q_out, &r_out});
  const Matrices q = from_array(q_out), f = from_array(r_out);
  CHECK(close(multiply(adjoint(q), q), identity(2, r), accuracy(dtype, m)));
  CHECK(close(f, triangle(f, true), 0));
  CHECK(close(multiply(q, f), from_array(in), accuracy(dtype, m + n)));
}

// `rank` < min(m, n) makes a deficient matrix.
void test_svd(DType dtype, int64_t m, int64_t n, int64_t rank, Arrangement layout) {
  const int64_t r = std::min(m, n);
  const Matrices a = multiply(random_matrices(2, m, rank, dtype), random_matrices(2, rank, n, dtype, 5));
  const DType real = part_dtype(dtype);
  const Array in = to_array(a, dtype, layout), u_out(dtype, Dims{2, m, m}), s_out(real, Dims{2, r}),
              v_out(dtype, Dims{2, n, n}), only(real, Dims{2, r});
  run(svd, Attrs().put(true), {&in}, {&u_out, &s_out, &v_out});
  const Matrices u = from_array(u_out), s = from_array(s_out, 1), vt = from_array(v_out);
  CHECK(close(multiply(adjoint(u), u), identity(2, m), accuracy(dtype, m)));
  CHECK(close(multiply(vt, adjoint(vt)), identity(2, n), accuracy(dtype, n)));
  for (int64_t c = 0; c < 2; c++)
    for (int64_t i = 0; i < r; i++)
      CHECK(s(c, i, 0).real() >= 0 && (i == 0 || s(c, i, 0).real() <= s(c, i - 1, 0).real()));
  CHECK(close(multiply(multiply(u, diagonal(s, m, n)), vt), from_array(in), accuracy(dtype, m + n)));
  run(svd, Attrs().put(false), {&in}, {&only});
  CHECK(close(from_array(only, 1), s, accuracy(dtype, m + n)));
}

void test_eigh(DType dtype, int64_t n, Arrangement layout) {
  const Matrices x = random_matrices(2, n, n, dtype);
  const DType real = part_dtype(dtype);
  const Array in = to_array(x, dtype, layout), w_out(real, Dims{2, n}), v_out(dtype, Dims{2, n, n}),
              only(real, Dims{2, n});
  for (bool upper : {false, true}) {
    // What the other triangle holds must not matter.
    Matrices a = triangle(from_array(in), upper), other = adjoint(a);
    for (int64_t c = 0; c < 2; c++)
      for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a(c, i, j) = i == j ? a(c, i, j).real() : a(c, i, j) + other(c, i, j);
    run(eigh, Attrs().put(upper).put(true), {&in}, {&w_out, &v_out});
    const Matrices w = from_array(w_out, 1), v = from_array(v_out);
    for (int64_t c = 0; c < 2; c++)
      for (int64_t i = 1; i < n; i++) CHECK(w(c, i, 0).real() >= w(c, i - 1, 0).real());
    CHECK(close(multiply(adjoint(v), v), identity(2, n), accuracy(dtype, n)));
    CHECK(close(multiply(multiply(v, diagonal(w, n, n)), adjoint(v)), a, accuracy(dtype, n)));
    run(eigh, Attrs().put(upper).put(false), {&in}, {&only});
    CHECK(close(from_array(only, 1), w, accuracy(dtype, n)));
  }
}

void test_eig(DType dtype, int64_t n, Arrangement layout) {
  const Array in = to_array(random_matrices(2, n, n, dtype), dtype, layout);
  const DType found = dtype == DType::complex128 ? dtype : DType::complex64;
  const Array w_out(found, Dims{2, n}), v_out(found, Dims{2, n, n}), only(found, Dims{2, n});
  run(eig, Attrs().put(true), {&in}, {&w_out, &v_out});
  const Matrices w = from_array(w_out, 1), v = from_array(v_out);
  CHECK(close(multiply(from_array(in), v), multiply(v, diagonal(w, n, n)), accuracy(part_dtype(found), n)));
  for (int64_t c = 0; c < 2; c++)
    for (int64_t j = 0; j < n; j++) {
      double length = 0;
      for (int64_t i = 0; i < n; i++) length += std::norm(v(c, i, j));
      CHECK(std::abs(length - 1) < 1e-5);
    }
  run(eig, Attrs().put(false), {&in}, {&only});
  CHECK(close(from_array(only, 1), w, accuracy(DType::float32, n)));
}

// No batch dimension at all, and several with a stride of 0.
void test_batch_shapes() {
  const Matrices a = random_matrices(1, 3, 3, DType::float32);
  const Array in = to_array(a, DType::float32, Arrangement::row_major, false), out(DType::float32, Dims{3, 3}),
              many(DType::float32, Dims{2, 4, 3, 3});
  run(inverse, Attrs().put(false).put(false), {&in}, {&out});
  Tensor repeated = in.tensor;
  repeated.shape = Dims{2, 4, 3, 3};
  repeated.strides = Dims{0, 0, in.tensor.strides[0], in.tensor.strides[1]};
  inverse({OpCode::inverse, Attrs().put(false).put(false), {&repeated, 1}, {&many.tensor, 1}});
  const Values one = out.values(), all = many.values();
  for (size_t i = 0; i < all.size(); i++) CHECK(all[i] == one[i % 9]);
}

void test_empty() {
  const Array none(DType::float32, Dims{2, 0, 0}), high(DType::float32, Dims{2, 3, 0}), w(DType::float32, Dims{2, 0});
  const Array u(DType::float32, Dims{2, 3, 3}), r(DType::float32, Dims{2, 0, 0}), pivots(DType::uint32, Dims{2, 0});
  const Array no_batch(DType::float32, Dims{0, 3, 3}), no_w(DType::float32, Dims{0, 3});
  run(cholesky, Attrs().put(false), {&none}, {&none});
  run(inverse, Attrs().put(false).put(false), {&none}, {&none});
  run(lu, Attrs(), {&high}, {&high, &pivots});
  run(qr, Attrs(), {&high}, {&high, &r});
  run(eigh, Attrs().put(false).put(true), {&none}, {&w, &none});
  run(eigh, Attrs().put(false).put(true), {&no_batch}, {&no_w, &no_batch});
  run(svd, Attrs().put(true), {&high}, {&u, &w, &none});
  CHECK(close(from_array(u), identity(2, 3), 0));
}

void test_errors() {
  const Attrs plain = Attrs().put(false).put(false);
  const Array zero(DType::float32, Dims{2, 2}, {0, 0, 0, 0}), bad(DType::float32, Dims{2, 2}, {1, 2, 2, 1}),
      out(DType::float32, Dims{2, 2});
  const Array nan(DType::float32, Dims{2, 2}, {not_a_number, 0, 0, 1}), s(DType::float32, Dims{2}),
      half(DType::float16, Dims{2, 2});
  CHECK(status_of([&] { run(inverse, plain, {&zero}, {&out}); }) == MX_ERROR_NUMERIC);
  CHECK(status_of([&] { run(inverse, Attrs().put(true).put(true), {&zero}, {&out}); }) == MX_ERROR_NUMERIC);
  CHECK(status_of([&] { run(solve, plain, {&zero, &bad}, {&out}); }) == MX_ERROR_NUMERIC);
  CHECK(status_of([&] { run(cholesky, Attrs().put(false), {&bad}, {&out}); }) == MX_ERROR_NUMERIC);
  CHECK(status_of([&] { run(cholesky, Attrs().put(false), {&nan}, {&out}); }) == MX_ERROR_NUMERIC);
  CHECK(status_of([&] { run(svd, Attrs().put(false), {&nan}, {&s}); }) == MX_ERROR_NUMERIC);
  CHECK(status_of([&] { run(cholesky, Attrs().put(false), {&half}, {&half}); }) == MX_ERROR_DTYPE);
}

}  // namespace

int main() {
  for (Arrangement layout : arrangements) {
    for (DType dtype : dtypes)
      for (int64_t n : {1, 2, 5, 40}) {
        test_cholesky(dtype, n, layout);
        test_solvers(dtype, n, 3, layout);
        for (int64_t m : {1, 4, 33}) {
          test_lu(dtype, m, n, layout);
          test_qr(dtype, m, n, layout);
        }
      }
    for (DType dtype : dtypes)
      for (int64_t n : {1, 2, 5, 24}) {
        test_eigh(dtype, n, layout);
        test_eig(dtype, n, layout);
        for (int64_t m : {1, 5, 30}) test_svd(dtype, m, n, std::min(m, n), layout);
      }
  }
  for (DType dtype : dtypes) {
    test_svd(dtype, 12, 7, 3, Arrangement::row_major);
    test_svd(dtype, 7, 12, 2, Arrangement::row_major);
    test_svd(dtype, 60, 50, 50, Arrangement::row_major);
  }
  test_batch_shapes();
  test_empty();
  test_errors();
  return 0;
}
