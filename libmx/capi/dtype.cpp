// mx/dtype.h: sizes, names, promotion.
#include "base/dtype.hpp"

#include "capi.h"

namespace mx::capi {
namespace {

bool is_dtype(mx_dtype d) noexcept { return static_cast<unsigned>(d) < static_cast<unsigned>(n_dtypes); }

}  // namespace

size_t dtype_size(mx_dtype dtype) noexcept {
  return is_dtype(dtype) ? static_cast<size_t>(itemsize(static_cast<DType>(dtype))) : 0;
}

const char *dtype_name(mx_dtype dtype) noexcept {
  return is_dtype(dtype) ? name(static_cast<DType>(dtype)) : "invalid";
}

void dtype_promote(mx_dtype *out, mx_dtype a, mx_dtype b) {
  *out = static_cast<mx_dtype>(promote(to_dtype(a), to_dtype(b)));
}

}  // namespace mx::capi
