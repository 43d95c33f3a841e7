// Factorisations and solvers as library kernels: see linalg.cpp.
#pragma once
#include "backends/cpu/kernel.hpp"

namespace mx::cpu {

void cholesky(const KernelCall &call);
void inverse(const KernelCall &call);
void solve(const KernelCall &call);
void lu(const KernelCall &call);
void qr(const KernelCall &call);
void svd(const KernelCall &call);
void eigh(const KernelCall &call);
void eig(const KernelCall &call);

}  // namespace mx::cpu
