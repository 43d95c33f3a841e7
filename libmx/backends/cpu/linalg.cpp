// Factorisations and solvers as kernels over batches, on the tables of linalg_level.hpp, of float32, float64, complex64
// and complex128. One matrix runs on one thread to its end: cancel is looked at between the matrices of a batch.
#include "backends/cpu/linalg.hpp"

#include <algorithm>
#include <numeric>

#include "backends/cpu/linalg_hermitian.hpp"
#include "backends/cpu/linalg_level.hpp"
#include "backends/cpu/linalg_matrix.hpp"
#include "base/status.hpp"

namespace mx::cpu {
namespace {

double cube(const MatrixRef &x) {
  return static_cast<double>(x.rows) * static_cast<double>(x.columns) *
         static_cast<double>(std::min(x.rows, x.columns));
}

bool is_empty(const Tensor &x) { return std::find(x.shape.begin(), x.shape.end(), 0) != x.shape.end(); }

void need_dtype(const Tensor &x, const char *op) {
  if (x.dtype != DType::float32 && x.dtype != DType::float64 && !is_complex(x.dtype))
    fail(MX_ERROR_DTYPE, "%s: not defined for %s, but for float32, float64 and complex dtypes", op, name(x.dtype));
}

// The shape is looked at once, before the batch, because an empty batch has no first matrix.
template <class F>
void each(const Tensor &x, F &&body) {
  int64_t rows = x.shape[x.shape.size() - 2], columns = x.shape.back();
  for_each_matrix(x, cube({x.dtype, nullptr, rows, columns, 0, 0}), body);
}

// Calls body(i, T()) with the type that the matrices are computed in.
template <class F>
void each_as(const Tensor &x, F &&body) {
  each(x, [&](int64_t i) {
    if (is_complex(x.dtype))
      body(i, Complex());
    else
      body(i, double());
  });
}

template <class T>
std::vector<T> read(const MatrixRef &x) {
  if constexpr (std::is_same_v<T, Complex>)
    return read_complex(x);
  else
    return read_real(x);
}

template <class T>
double *doubles(std::vector<T> &x) noexcept {
  return reinterpret_cast<double *>(x.data());
}

template <class T>
const LinalgSolvers &solvers() noexcept {
  return linalg_solvers(std::is_same_v<T, Complex>);
}

// b (n, k) becomes the solution of a x = b.
template <class T>
void divide(std::vector<T> &a, int64_t n, std::vector<T> &b, int64_t k, bool triangular, bool upper, const char *op) {
  double *matrix = doubles(a), *rhs = doubles(b);
  if (!(triangular ? solvers<T>().solve_triangular(matrix, n, upper, rhs, k) : solvers<T>().solve(matrix, n, rhs, k)))
    fail(MX_ERROR_NUMERIC, "%s: the matrix is singular", op);
}

[[noreturn]] void fail_convergence(const char *op, const MatrixRef &x) {
  fail(MX_ERROR_NUMERIC,
       "%s: the iteration for a matrix of shape (%lld, %lld) did not converge; does it hold NaN or infinity?", op,
       static_cast<long long>(x.rows), static_cast<long long>(x.columns));
}

}  // namespace

void cholesky(const KernelCall &call) {
  const Tensor &in = call.inputs[0], &out = call.outputs[0];
  need_dtype(in, "cholesky");
  if (is_empty(out)) return;
  const bool upper = AttrReader(call.attrs).boolean();
  each_as(in, [&]<class T>(int64_t i, T) {
    MatrixRef x = matrix_at(in, i), to = matrix_at(out, i);
    if (upper)
      x = transposed(x), to = transposed(to);  // the factor of the upper triangle is that of the lower one, turned
    std::vector<T> a = read<T>(x);
    if (!solvers<T>().cholesky(doubles(a), x.rows))
      fail(MX_ERROR_NUMERIC, "cholesky: the factorisation failed, because the matrix is not positive definite");
    write(to, a.data(), to.rows);
  });
}

void inverse(const KernelCall &call) {
  const Tensor &in = call.inputs[0], &out = call.outputs[0];
  AttrReader attrs(call.attrs);
  const bool triangular = attrs.boolean(), upper = attrs.boolean();
  const char *op = triangular ? "tri_inv" : "inv";
  need_dtype(in, op);
  if (is_empty(out)) return;
  each_as(in, [&]<class T>(int64_t i, T) {
    const MatrixRef x = matrix_at(in, i);
    std::vector<T> a = read<T>(x), b(a.size());
    for (int64_t j = 0; j < x.rows; j++) b[static_cast<size_t>(j * (x.rows + 1))] = 1;
    divide<T>(a, x.rows, b, x.rows, triangular, upper, op);
    write(matrix_at(out, i), b.data(), x.rows);
  });
}

void solve(const KernelCall &call) {
  const Tensor &in = call.inputs[0], &rhs = call.inputs[1], &out = call.outputs[0];
  AttrReader attrs(call.attrs);
  const bool triangular = attrs.boolean(), upper = attrs.boolean();
  const char *op = triangular ? "solve_triangular" : "solve";
  need_dtype(in, op);
  if (is_empty(out)) return;
  each_as(in, [&]<class T>(int64_t i, T) {
    const MatrixRef x = matrix_at(in, i), y = matrix_at(rhs, i);
    std::vector<T> a = read<T>(x), b = read<T>(y);
    divide<T>(a, x.rows, b, y.columns, triangular, upper, op);
    write(matrix_at(out, i), b.data(), y.rows);
  });
}

void lu(const KernelCall &call) {
  const Tensor &in = call.inputs[0];
  need_dtype(in, "lu");
  if (is_empty(in)) return;
  each_as(in, [&]<class T>(int64_t i, T) {
    const MatrixRef x = matrix_at(in, i);
    std::vector<T> a = read<T>(x);
    uint32_t *pivots = reinterpret_cast<uint32_t *>(call.outputs[1].data) + i * std::min(x.rows, x.columns);
    solvers<T>().lu(doubles(a), x.rows, x.columns, pivots);
    write(matrix_at(call.outputs[0], i), a.data(), x.rows);
  });
}

void qr(const KernelCall &call) {
  const Tensor &in = call.inputs[0];
  need_dtype(in, "qr");
  if (is_empty(in)) return;  // a matrix without rows or columns has r = 0: q and R are empty too
  each_as(in, [&]<class T>(int64_t i, T) {
    const MatrixRef x = matrix_at(in, i), q_out = matrix_at(call.outputs[0], i);
    std::vector<T> a = read<T>(x), q(static_cast<size_t>(q_out.rows * q_out.columns));
    solvers<T>().qr(doubles(a), x.rows, x.columns, doubles(q));
    write(q_out, q.data(), x.rows);
    write(matrix_at(call.outputs[1], i), a.data(), x.rows);
  });
}

namespace {

void write_identities(const Tensor &out) {
  if (is_empty(out)) return;
  each(out, [&](int64_t i) {
    const MatrixRef x = matrix_at(out, i);
    std::vector<double> identity(static_cast<size_t>(x.rows * x.rows));
    std::vector<Complex> complex(is_complex(x.dtype) ? identity.size() : 0);
    for (int64_t j = 0; j < x.rows; j++) identity[static_cast<size_t>(j * (x.rows + 1))] = 1;
    std::copy_n(identity.begin(), complex.size(), complex.begin());
    if (is_complex(x.dtype))
      write(x, complex.data(), x.rows);
    else
      write(x, identity.data(), x.rows);
  });
}

}  // namespace

void svd(const KernelCall &call) {
  const Tensor &in = call.inputs[0], &values = call.outputs[call.outputs.size() / 2];
  const bool vectors = AttrReader(call.attrs).boolean();
  need_dtype(in, "svd");
  if (is_empty(in)) {
    if (vectors) write_identities(call.outputs[0]), write_identities(call.outputs[2]);
    return;
  }
  const auto run = [&]<class T>(const std::vector<T> &a, int64_t i, auto factorise) {
    const MatrixRef x = matrix_at(in, i);
    std::vector<T> u(vectors ? static_cast<size_t>(x.rows * x.rows) : 0),
        v(vectors ? static_cast<size_t>(x.columns * x.columns) : 0);
    std::vector<double> s(static_cast<size_t>(std::min(x.rows, x.columns)));
    if (!factorise(a.data(), x.rows, x.columns, vectors ? u.data() : nullptr, s.data(), vectors ? v.data() : nullptr))
      fail_convergence("svd", x);
    const MatrixRef s_out = matrix_at(values, i, 1);
    write(s_out, s.data(), s_out.rows);
    if (!vectors) return;
    if constexpr (std::is_same_v<T, Complex>)
      for (T &z : v) z = std::conj(z);
    write(matrix_at(call.outputs[0], i), u.data(), x.rows);
    write(transposed(matrix_at(call.outputs[2], i)), v.data(), x.columns);
  };
  each(in, [&](int64_t i) {
    if (is_complex(in.dtype))
      run(read_complex(matrix_at(in, i)), i, svd_complex);
    else
      run(read_real(matrix_at(in, i)), i, linalg_spectra().svd);
  });
}

void eigh(const KernelCall &call) {
  const Tensor &in = call.inputs[0];
  AttrReader attrs(call.attrs);
  const bool upper = attrs.boolean(), vectors = attrs.boolean();
  need_dtype(in, "eigh");
  if (is_empty(in)) return;
  const auto run = [&]<class T>(std::vector<T> a, int64_t i, auto factorise) {
    const MatrixRef x = matrix_at(in, i), w_out = matrix_at(call.outputs[0], i, 1);
    if constexpr (std::is_same_v<T, Complex>)
      if (upper)
        for (T &z : a) z = std::conj(z);  // the lower triangle of the conjugate transpose
    std::vector<double> w(static_cast<size_t>(x.rows));
    std::vector<T> v(vectors ? a.size() : 0);
    if (!factorise(a.data(), x.rows, w.data(), vectors ? v.data() : nullptr)) fail_convergence("eigh", x);
    write(w_out, w.data(), x.rows);
    if (vectors) write(matrix_at(call.outputs[1], i), v.data(), x.rows);
  };
  each(in, [&](int64_t i) {
    const MatrixRef x = upper ? transposed(matrix_at(in, i)) : matrix_at(in, i);
    if (is_complex(in.dtype))
      run(read_complex(x), i, eigh_complex);
    else
      run(read_real(x), i, linalg_spectra().eigh);
  });
}

void eig(const KernelCall &call) {
  const Tensor &in = call.inputs[0];
  const bool vectors = AttrReader(call.attrs).boolean();
  need_dtype(in, "eig");
  if (is_empty(in)) return;
  each(in, [&](int64_t i) {
    const MatrixRef x = matrix_at(in, i), w_out = matrix_at(call.outputs[0], i, 1);
    std::vector<Complex> w(static_cast<size_t>(x.rows)), v(vectors ? static_cast<size_t>(x.rows * x.rows) : 0);
    double *v_data = vectors ? as_doubles(v.data()) : nullptr;
    bool ok;
    if (is_complex(in.dtype)) {
      std::vector<Complex> a = read_complex(x);
      ok = linalg_spectra().eig_complex(as_doubles(a.data()), x.rows, as_doubles(w.data()), v_data);
    } else {
      ok = linalg_spectra().eig(read_real(x).data(), x.rows, as_doubles(w.data()), v_data);
    }
    if (!ok) fail_convergence("eig", x);
    write(w_out, w.data(), x.rows);
    if (vectors) write(matrix_at(call.outputs[1], i), v.data(), x.rows);
  });
}

}  // namespace mx::cpu
