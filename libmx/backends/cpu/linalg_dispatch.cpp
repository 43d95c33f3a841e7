// Picks the tables of factorisations. The solvers of real matrices exist for v2 and v3; what is behind the spectra, and
// the solvers of complex matrices, gain too little from wider vectors to be compiled twice.
#include "backends/cpu/isa_level.hpp"
#include "backends/cpu/linalg_level.hpp"

extern "C" {
#if defined(__x86_64__)
extern const mx::cpu::LinalgSolvers linalg_solve_v2, linalg_solve_v3, linalg_spectrum_solve_v2;
extern const mx::cpu::LinalgSpectra linalg_spectrum_v2;
#else
extern const mx::cpu::LinalgSolvers linalg_solve_base, linalg_spectrum_solve_base;
extern const mx::cpu::LinalgSpectra linalg_spectrum_base;
#endif
}

namespace mx::cpu {

#if defined(__x86_64__)
const LinalgSolvers &linalg_solvers(bool complex) noexcept {
  if (complex) return linalg_spectrum_solve_v2;
  return isa_level() == IsaLevel::v2 ? linalg_solve_v2 : linalg_solve_v3;
}
const LinalgSpectra &linalg_spectra() noexcept { return linalg_spectrum_v2; }
#else
const LinalgSolvers &linalg_solvers(bool complex) noexcept {
  return complex ? linalg_spectrum_solve_base : linalg_solve_base;
}
const LinalgSpectra &linalg_spectra() noexcept { return linalg_spectrum_base; }
#endif

}  // namespace mx::cpu
