// Picks the tables of factorisations. The solvers of real matrices exist for v2 and v3; what is behind the spectra, and
// the solvers of complex matrices, gain too little from wider vectors to be compiled twice.
#include "backends/cpu/isa_level.hpp"
#include "backends/cpu/linalg_level.hpp"
#include "runtime/once.hpp"

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
namespace {

// A static of Eigen's is not to be found begun by a child that is forked meanwhile.
template <const auto &table>
const auto &prepared() noexcept {
  static constinit Once done;
  done([] { table.prepare(); });
  return table;
}

}  // namespace

#if defined(__x86_64__)
const LinalgSolvers &linalg_solvers(bool complex) noexcept {
  if (complex) return prepared<linalg_spectrum_solve_v2>();
  return isa_level() == IsaLevel::v2 ? prepared<linalg_solve_v2>() : prepared<linalg_solve_v3>();
}
const LinalgSpectra &linalg_spectra() noexcept { return prepared<linalg_spectrum_v2>(); }
#else
const LinalgSolvers &linalg_solvers(bool complex) noexcept {
  return complex ? prepared<linalg_spectrum_solve_base>() : prepared<linalg_solve_base>();
}
const LinalgSpectra &linalg_spectra() noexcept { return prepared<linalg_spectrum_base>(); }
#endif

}  // namespace mx::cpu
