// mx/linalg.h: norms, factorisations and solvers.
#include "ops/linalg.hpp"

#include "capi/convert.hpp"

namespace mx::capi {
namespace {

// Stores all results or none.
template <size_t N>
void store(Ref<Array> *const (&outs)[N], const ops::ValueList &values) {
  Ref<Array> made[N];
  for (size_t i = 0; i < N; i++) made[i] = wrap(values[i]);
  for (size_t i = 0; i < N; i++) *outs[i] = std::move(made[i]);
}

}  // namespace

Ref<Array> linalg_norm(Array &a, mx_norm_kind kind, double ord, const int64_t *axes, size_t n_axes, bool keepdims,
                       Stream *stream) {
  return wrap(ops::norm(a.value(), kind, ord, optional_list(axes, n_axes), keepdims, share(stream)));
}

void linalg_svd(Ref<Array> *u_out, Ref<Array> *s_out, Ref<Array> *vt_out, Array &a, Stream *stream) {
  store({u_out, s_out, vt_out}, ops::svd(a.value(), true, share(stream)));
}

Ref<Array> linalg_svdvals(Array &a, Stream *stream) { return wrap(ops::svd(a.value(), false, share(stream))[0]); }

void linalg_qr(Ref<Array> *q_out, Ref<Array> *r_out, Array &a, Stream *stream) {
  store({q_out, r_out}, ops::qr(a.value(), share(stream)));
}

void linalg_lu(Ref<Array> *p_out, Ref<Array> *l_out, Ref<Array> *u_out, Array &a, Stream *stream) {
  store({p_out, l_out, u_out}, ops::lu(a.value(), share(stream)));
}

void linalg_lu_factor(Ref<Array> *lu_out, Ref<Array> *pivots_out, Array &a, Stream *stream) {
  store({lu_out, pivots_out}, ops::lu_factor(a.value(), share(stream)));
}

Ref<Array> linalg_cholesky(Array &a, bool upper, Stream *stream) {
  return wrap(ops::cholesky(a.value(), upper, share(stream)));
}

Ref<Array> linalg_cholesky_inv(Array &a, bool upper, Stream *stream) {
  return wrap(ops::cholesky_inv(a.value(), upper, share(stream)));
}

Ref<Array> linalg_inv(Array &a, Stream *stream) { return wrap(ops::inv(a.value(), share(stream))); }

Ref<Array> linalg_tri_inv(Array &a, bool upper, Stream *stream) {
  return wrap(ops::tri_inv(a.value(), upper, share(stream)));
}

Ref<Array> linalg_pinv(Array &a, Stream *stream) { return wrap(ops::pinv(a.value(), share(stream))); }

Ref<Array> linalg_solve(Array &a, Array &b, Stream *stream) {
  return wrap(ops::solve(a.value(), b.value(), share(stream)));
}

Ref<Array> linalg_solve_triangular(Array &a, Array &b, bool upper, Stream *stream) {
  return wrap(ops::solve_triangular(a.value(), b.value(), upper, share(stream)));
}

void linalg_eigh(Ref<Array> *w_out, Ref<Array> *v_out, Array &a, bool upper, Stream *stream) {
  store({w_out, v_out}, ops::eigh(a.value(), upper, true, share(stream)));
}

Ref<Array> linalg_eigvalsh(Array &a, bool upper, Stream *stream) {
  return wrap(ops::eigh(a.value(), upper, false, share(stream))[0]);
}

void linalg_eig(Ref<Array> *w_out, Ref<Array> *v_out, Array &a, Stream *stream) {
  store({w_out, v_out}, ops::eig(a.value(), true, share(stream)));
}

Ref<Array> linalg_eigvals(Array &a, Stream *stream) { return wrap(ops::eig(a.value(), false, share(stream))[0]); }

Ref<Array> linalg_cross(Array &a, Array &b, int64_t axis, Stream *stream) {
  return wrap(ops::cross(a.value(), b.value(), axis, share(stream)));
}

Ref<Array> linalg_det(Array &a, Stream *stream) { return wrap(ops::det(a.value(), share(stream))); }

void linalg_slogdet(Ref<Array> *sign_out, Ref<Array> *logabs_out, Array &a, Stream *stream) {
  store({sign_out, logabs_out}, ops::slogdet(a.value(), share(stream)));
}

}  // namespace mx::capi
