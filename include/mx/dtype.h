/* mx/dtype.h: element types and host scalars. */
#ifndef MX_DTYPE_H
#define MX_DTYPE_H
#include "mx/base.h"

MX_EXTERN_C_BEGIN

/* The type of an array's elements; values are never renumbered. float16 is IEEE 754 binary16, bfloat16 the upper half
 * of a binary32, complex64 two binary32 (real, imaginary), complex128 two binary64. */
typedef enum mx_dtype {
  MX_BOOL = 0,
  MX_UINT8 = 1,
  MX_UINT16 = 2,
  MX_UINT32 = 3,
  MX_UINT64 = 4,
  MX_INT8 = 5,
  MX_INT16 = 6,
  MX_INT32 = 7,
  MX_INT64 = 8,
  MX_FLOAT16 = 9,
  MX_FLOAT32 = 10,
  MX_FLOAT64 = 11,
  MX_BFLOAT16 = 12,
  MX_COMPLEX64 = 13,
  MX_COMPLEX128 = 14
} mx_dtype;

/* Which member of mx_scalar holds the value. */
typedef enum mx_scalar_kind {
  MX_SCALAR_BOOL = 0,   /* i, 0 or 1 */
  MX_SCALAR_INT = 1,    /* i */
  MX_SCALAR_UINT = 2,   /* i, read as uint64_t */
  MX_SCALAR_FLOAT = 3,  /* re */
  MX_SCALAR_COMPLEX = 4 /* re, im */
} mx_scalar_kind;

/* A number of the host's language, before it has a dtype. */
typedef struct mx_scalar {
  mx_scalar_kind kind;
  int64_t i;
  double re;
  double im;
} mx_scalar;

/* The bytes of one element, 0 if `dtype` is none. */
MX_API MX_NOWAIT size_t mx_dtype_size(mx_dtype dtype);

/* The name, such as "float32" or "bool"; "invalid" if `dtype` is none. The text lives for ever. */
MX_API MX_NOWAIT const char *mx_dtype_name(mx_dtype dtype);

/* The dtype that results from combining `a` and `b` in an arithmetic op. float16 with bfloat16 gives float32, uint64
 * with a signed integer gives float32, complex64 with float64 gives complex64, as in MLX. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_dtype_promote(mx_dtype *out, mx_dtype a, mx_dtype b);

MX_EXTERN_C_END
#endif
