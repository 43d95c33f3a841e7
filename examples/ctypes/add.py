"""Adds two arrays through the C ABI with nothing but ctypes. usage: add.py LIBMX_SO"""

import ctypes as c
import sys

MX_FLOAT32 = 10  # mx/dtype.h

mx = c.CDLL(sys.argv[1])
mx.mx_error_message.restype = c.c_char_p
# Handles are 64-bit values: without argtypes ctypes would pass them as C ints.
mx.mx_array_new.argtypes = [c.POINTER(c.c_void_p), c.c_void_p, c.c_size_t, c.POINTER(c.c_int64), c.c_size_t, c.c_int]
mx.mx_add.argtypes = [c.POINTER(c.c_void_p), c.c_void_p, c.c_void_p, c.c_void_p]
mx.mx_array_read.argtypes = [c.c_void_p, c.c_size_t, c.c_void_p]
mx.mx_array_free.argtypes = [c.c_void_p]


def check(status: int) -> None:
    if status:
        raise RuntimeError(mx.mx_error_message().decode())


data, dims = (c.c_float * 3)(1, 2, 3), (c.c_int64 * 1)(3)
a, total = c.c_void_p(), c.c_void_p()
check(mx.mx_array_new(c.byref(a), data, c.sizeof(data), dims, 1, MX_FLOAT32))
check(mx.mx_add(c.byref(total), a, a, None))
values = (c.c_float * 3)()
check(mx.mx_array_read(values, c.sizeof(values), total))  # computes; ctypes releases the GIL meanwhile
print(*(f"{v:g}" for v in values))
for handle in (a, total):
    check(mx.mx_array_free(handle))
