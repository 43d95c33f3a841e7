// Eigenvalues of Hermitian matrices and singular values of complex ones, in double for complex64 arrays.
#pragma once
#include <complex>
#include <cstdint>

namespace mx::cpu {

// As LinalgSpectra::eigh and svd, for complex matrices.
bool eigh_complex(const std::complex<double> *a, int64_t n, double *w, std::complex<double> *v);
bool svd_complex(const std::complex<double> *a, int64_t m, int64_t n, std::complex<double> *u, double *s,
                 std::complex<double> *v);

}  // namespace mx::cpu
