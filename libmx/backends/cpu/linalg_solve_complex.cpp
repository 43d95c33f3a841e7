// The solvers of complex matrices, for which wider vectors do too little to compile them twice.
#include "backends/cpu/linalg_solve.hpp"

extern "C" const mx::cpu::LinalgSolvers MX_JOIN(linalg_spectrum_solve_, MX_LEVEL);
extern "C" const mx::cpu::LinalgSolvers MX_JOIN(linalg_spectrum_solve_, MX_LEVEL) = MX_SOLVERS(Complex);
