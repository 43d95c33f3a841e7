// Eigen as this project uses it: no threads, no aborts, no memory freed twice. Only for the sources that are compiled
// with -DEigen=Eigen_<level>.
#pragma once
#include <complex>
#include <cstdlib>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "backends/cpu/linalg_level.hpp"
#include "backends/cpu/linalg_memory.hpp"
#include "base/status.hpp"

#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_IO
#define eigen_assert(condition) \
  ((condition) ? static_cast<void>(0) : mx::fail(MX_ERROR_INTERNAL, "linear algebra: %s does not hold", #condition))

// Eigen calls them in its Memory.h only, which comes with the first of its headers. (Its realloc, which would lose the
// alignment, serves conservativeResize, which nothing here uses.)
#define EIGEN_MALLOC_ALREADY_ALIGNED 1
#define malloc(bytes) mx::cpu::linalg_malloc(bytes)
#define free(memory) mx::cpu::linalg_free(memory)
#include <Eigen/Core>
#undef malloc
#undef free

#define MX_JOIN_(a, b) a##b
#define MX_JOIN(a, b) MX_JOIN_(a, b)

namespace {

using Complex = std::complex<double>;
using Matrix = Eigen::MatrixXd;
using ComplexMatrix = Eigen::MatrixXcd;

// Eigen keeps the sizes of the caches in a static of a function.
inline void prepare() { Eigen::l1CacheSize(); }

inline Eigen::Map<Matrix> map(double *data, int64_t rows, int64_t columns) { return {data, rows, columns}; }
inline Eigen::Map<const Matrix> map(const double *data, int64_t rows, int64_t columns) { return {data, rows, columns}; }
inline Eigen::Map<ComplexMatrix> map_complex(double *data, int64_t rows, int64_t columns) {
  return {reinterpret_cast<Complex *>(data), rows, columns};
}
inline Eigen::Map<const ComplexMatrix> map_complex(const double *data, int64_t rows, int64_t columns) {
  return {reinterpret_cast<const Complex *>(data), rows, columns};
}

}  // namespace
