// Complex matrices are rare, and Eigen's solvers for them take long to compile. They are reduced to the Schur form that
// eig needs anyway: of a Hermitian matrix it is diagonal, so its unitary factor holds the eigenvectors. The right
// singular vectors of A are the eigenvectors of A^H A, and A times them has orthogonal columns as long as the singular
// values. Squaring loses half of double's digits; one or two sweeps of rotations bring them back (M. R. Hestenes,
// "Inversion of matrices by biorthogonalization and related results", 1958).
#include "backends/cpu/linalg_hermitian.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "backends/cpu/linalg_level.hpp"

namespace mx::cpu {
namespace {

using Complex = std::complex<double>;
using Vector = std::vector<Complex>;

size_t at(int64_t rows, int64_t i, int64_t j) { return static_cast<size_t>(j * rows + i); }

Complex dot(const Complex *x, const Complex *y, int64_t n) {
  Complex sum = 0;
  for (int64_t i = 0; i < n; i++) sum += std::conj(x[i]) * y[i];
  return sum;
}

double norm(const Complex *x, int64_t n) { return std::sqrt(dot(x, x, n).real()); }

// Makes column x orthogonal to the `count` orthonormal columns of q, twice, which is enough (Giraud, Langou and
// Rozloznik, 2005).
void orthogonalize(Complex *x, const Complex *q, int64_t m, int64_t count) {
  for (int pass = 0; pass < 2; pass++)
    for (int64_t j = 0; j < count; j++) {
      const Complex c = dot(q + j * m, x, m);
      for (int64_t i = 0; i < m; i++) x[i] -= c * q[j * m + i];
    }
}

// Column `count` of q: a unit vector orthogonal to those before it, from the axis that they cover least.
void complete(Complex *q, int64_t m, int64_t count) {
  Complex *x = q + count * m;
  int64_t axis = 0;
  double least = 2;
  for (int64_t i = 0; i < m; i++) {
    double covered = 0;
    for (int64_t j = 0; j < count; j++) covered += std::norm(q[j * m + i]);
    if (covered < least) least = covered, axis = i;
  }
  std::fill_n(x, m, Complex(0));
  x[axis] = 1;
  orthogonalize(x, q, m, count);
  const double length = norm(x, m);
  for (int64_t i = 0; i < m; i++) x[i] /= length;
}

// Turns columns x and y, and with them those of v, so that x and y become orthogonal. False if they are already.
bool turn(Complex *x, Complex *y, int64_t m, Complex *v, Complex *w, int64_t n) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  const Complex between = dot(x, y, m);
  const double size = std::abs(between), xx = dot(x, x, m).real(), yy = dot(y, y, m).real();
  if (!(size > eps * std::sqrt(xx) * std::sqrt(yy))) return false;
  const double zeta = (yy - xx) / (2 * size);
  const double t = std::copysign(1 / (std::abs(zeta) + std::hypot(1, zeta)), zeta), c = 1 / std::hypot(1, t);
  const Complex s = c * t * (between / size);
  const auto both = [&](Complex *p, Complex *q, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
      const Complex old = p[i];
      p[i] = c * old - std::conj(s) * q[i];
      q[i] = s * old + c * q[i];
    }
  };
  both(x, y, m);
  both(v, w, n);
  return true;
}

// Rotates the columns of x (m, n) until all are orthogonal, and those of v (n, n) with them. Nearly orthogonal ones
// take two sweeps; more are left to rounding.
void make_orthogonal(Complex *x, int64_t m, int64_t n, Complex *v) {
  bool turned = true;
  for (int sweep = 0; sweep < 4 && turned; sweep++) {
    turned = false;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = i + 1; j < n; j++) turned |= turn(x + i * m, x + j * m, m, v + i * n, v + j * n, n);
  }
}

// The same for a high matrix: m >= n.
bool svd_high(const Complex *a, int64_t m, int64_t n, Vector &u, double *s, Vector &v) {
  Vector gram(static_cast<size_t>(n * n));
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = j; i < n; i++) gram[at(n, i, j)] = dot(a + i * m, a + j * m, m);
  std::vector<double> w(static_cast<size_t>(n));
  Vector ascending(gram.size());
  if (!eigh_complex(gram.data(), n, w.data(), ascending.data())) return false;
  v.resize(gram.size());
  u.assign(static_cast<size_t>(m * m), 0);
  for (int64_t j = 0; j < n; j++) {
    const Complex *from = ascending.data() + (n - 1 - j) * n;
    std::copy_n(from, n, v.data() + j * n);
    Complex *x = u.data() + j * m;
    for (int64_t k = 0; k < n; k++)
      for (int64_t i = 0; i < m; i++) x[i] += a[k * m + i] * from[k];
  }
  make_orthogonal(u.data(), m, n, v.data());
  for (int64_t j = 0; j < n; j++) {
    Complex *x = u.data() + j * m;
    orthogonalize(x, u.data(), m, j);
    s[j] = norm(x, m);
    // Directions that A maps to nothing but rounding errors take any vector that is left.
    if (s[j] > s[0] * 1e-15 && s[j] > 0)
      for (int64_t i = 0; i < m; i++) x[i] /= s[j];
    else
      complete(u.data(), m, j);
  }
  for (int64_t j = n; j < m; j++) complete(u.data(), m, j);
  return true;
}

// Rounding can leave singular values that are nearly equal out of order.
void sort_descending(double *s, Vector &u, int64_t m, Vector &v, int64_t n, int64_t count) {
  for (int64_t i = 1; i < count; i++)
    for (int64_t j = i; j > 0 && s[j] > s[j - 1]; j--) {
      std::swap(s[j], s[j - 1]);
      std::swap_ranges(u.data() + j * m, u.data() + (j + 1) * m, u.data() + (j - 1) * m);
      std::swap_ranges(v.data() + j * n, v.data() + (j + 1) * n, v.data() + (j - 1) * n);
    }
}

}  // namespace

bool eigh_complex(const Complex *a, int64_t n, double *w, Complex *v) {
  Vector full(static_cast<size_t>(n * n)), t(full.size()), u(full.size());
  for (int64_t j = 0; j < n; j++) {
    full[at(n, j, j)] = a[at(n, j, j)].real();
    for (int64_t i = j + 1; i < n; i++) {
      full[at(n, i, j)] = a[at(n, i, j)];
      full[at(n, j, i)] = std::conj(a[at(n, i, j)]);
    }
  }
  const auto doubles = [](Vector &x) { return reinterpret_cast<double *>(x.data()); };
  if (!linalg_spectra().schur(doubles(full), n, doubles(t), doubles(u))) return false;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto value = [&](int64_t i) { return t[at(n, i, i)].real(); };
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return value(x) < value(y); });
  for (int64_t j = 0; j < n; j++) {
    const int64_t from = order[static_cast<size_t>(j)];
    w[j] = value(from);
    if (v) std::copy_n(u.data() + from * n, n, v + j * n);
  }
  return true;
}

bool svd_complex(const Complex *a, int64_t m, int64_t n, Complex *u, double *s, Complex *v) {
  Vector left, right, turned;
  if (m < n) {  // A^H = V S U^H
    turned.resize(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) turned[at(n, j, i)] = std::conj(a[at(m, i, j)]);
    if (!svd_high(turned.data(), n, m, right, s, left)) return false;
  } else if (!svd_high(a, m, n, left, s, right)) {
    return false;
  }
  sort_descending(s, left, m, right, n, std::min(m, n));
  if (u) std::copy(left.begin(), left.end(), u);
  if (v) std::copy(right.begin(), right.end(), v);
  return true;
}

}  // namespace mx::cpu
