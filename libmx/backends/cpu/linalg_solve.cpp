// The solvers of real matrices; one level of the table in linalg_level.hpp.
#include "backends/cpu/linalg_solve.hpp"

extern "C" const mx::cpu::LinalgSolvers MX_JOIN(linalg_solve_, MX_LEVEL);
extern "C" const mx::cpu::LinalgSolvers MX_JOIN(linalg_solve_, MX_LEVEL) = MX_SOLVERS(double);
