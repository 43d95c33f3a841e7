// mx/linalg.h: norms, factorisations and solvers.
#include "ops/linalg.hpp"

#include "capi/convert.hpp"

namespace mx::capi {
namespace {

// Stores all results or none.
template <size_t N>
void store(Value *const (&outs)[N], const ops::ValueList &values) {
  Value made[N];
  for (size_t i = 0; i < N; i++) made[i] = values[i];
  for (size_t i = 0; i < N; i++) *outs[i] = std::move(made[i]);
}

}  // namespace

Value linalg_norm(Value a, mx_norm_kind kind, double ord, const int64_t *axes, size_t n_axes, bool keepdims,
                  Stream *stream) {
  return ops::norm(a, kind, ord, optional_list(axes, n_axes), keepdims, share(stream));
}

void linalg_svd(Value *u_out, Value *s_out, Value *vt_out, Value a, Stream *stream) {
  store({u_out, s_out, vt_out}, ops::svd(a, true, share(stream)));
}

Value linalg_svdvals(Value a, Stream *stream) { return ops::svd(a, false, share(stream))[0]; }

void linalg_qr(Value *q_out, Value *r_out, Value a, Stream *stream) {
  store({q_out, r_out}, ops::qr(a, share(stream)));
}

void linalg_lu(Value *p_out, Value *l_out, Value *u_out, Value a, Stream *stream) {
  store({p_out, l_out, u_out}, ops::lu(a, share(stream)));
}

void linalg_lu_factor(Value *lu_out, Value *pivots_out, Value a, Stream *stream) {
  store({lu_out, pivots_out}, ops::lu_factor(a, share(stream)));
}

Value linalg_cholesky(Value a, bool upper, Stream *stream) { return ops::cholesky(a, upper, share(stream)); }

Value linalg_cholesky_inv(Value a, bool upper, Stream *stream) { return ops::cholesky_inv(a, upper, share(stream)); }

Value linalg_inv(Value a, Stream *stream) { return ops::inv(a, share(stream)); }

Value linalg_tri_inv(Value a, bool upper, Stream *stream) { return ops::tri_inv(a, upper, share(stream)); }

Value linalg_pinv(Value a, Stream *stream) { return ops::pinv(a, share(stream)); }

Value linalg_solve(Value a, Value b, Stream *stream) { return ops::solve(a, b, share(stream)); }

Value linalg_solve_triangular(Value a, Value b, bool upper, Stream *stream) {
  return ops::solve_triangular(a, b, upper, share(stream));
}

void linalg_eigh(Value *w_out, Value *v_out, Value a, bool upper, Stream *stream) {
  store({w_out, v_out}, ops::eigh(a, upper, true, share(stream)));
}

Value linalg_eigvalsh(Value a, bool upper, Stream *stream) { return ops::eigh(a, upper, false, share(stream))[0]; }

void linalg_eig(Value *w_out, Value *v_out, Value a, Stream *stream) {
  store({w_out, v_out}, ops::eig(a, true, share(stream)));
}

Value linalg_eigvals(Value a, Stream *stream) { return ops::eig(a, false, share(stream))[0]; }

Value linalg_cross(Value a, Value b, int64_t axis, Stream *stream) { return ops::cross(a, b, axis, share(stream)); }

Value linalg_det(Value a, Stream *stream) { return ops::det(a, share(stream)); }

void linalg_slogdet(Value *sign_out, Value *logabs_out, Value a, Stream *stream) {
  store({sign_out, logabs_out}, ops::slogdet(a, share(stream)));
}

}  // namespace mx::capi
