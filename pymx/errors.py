"""The exceptions of this package, and which one stands for which status of the library.

Some derive from two of Python's own: the one that the fault calls for, and the one that MLX raises for it, so that code
written for MLX catches it.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "AxisError",
    "CancelledWork",
    "DtypeError",
    "FileError",
    "ForkedWorkLost",
    "FormatError",
    "MXError",
    "NumericError",
    "OutOfRangeError",
    "RangeError",
    "RuntimeClosedError",
    "StaleHandleError",
    "TraceError",
]


class MXError(RuntimeError):
    """A failure of the library that no other class describes; the base of those about its life."""


class RuntimeClosedError(MXError):
    """The runtime is closing or closed: no new work."""


class CancelledWork(MXError):
    """The work was dropped before it ended."""


class ForkedWorkLost(MXError):
    """The work was pending in the parent when this process was forked."""


class StaleHandleError(MXError):
    """A handle that is not live, or a stream from before a fork or a reopen."""


class FileError(OSError, MXError):
    """A file could not be read, written or understood; MLX's is a RuntimeError."""


class TraceError(MXError, ValueError):
    """The value of a placeholder was asked for, or a placeholder escaped its trace."""


class FormatError(FileError, ValueError):
    """A file whose name does not tell its format could not be loaded; MLX's is a ValueError."""


class ArgumentError(TypeError, ValueError):
    """An argument has a type that the function does not take; MLX's is one of the two."""


class DtypeError(TypeError, ValueError):
    """The op is not defined for this dtype."""


class AxisError(ValueError, IndexError):
    """An axis is out of range or repeated."""


class NumericError(MXError, ValueError):
    """The values do not allow it: a singular matrix, an iteration that does not converge."""


class OutOfRangeError(IndexError, ValueError):
    """An index is out of range, or no index at all."""


class RangeError(OverflowError, ValueError):
    """A number does not fit its type, or a shape has too many elements."""


# The numbers are those of mx_status in mx/base.h, and WRONG_TYPE in _convert.h; what is not here is an MXError.
BY_STATUS: dict[int, type[Exception]] = {
    1: ValueError,
    2: ValueError,
    3: MemoryError,
    4: StaleHandleError,
    5: MXError,
    6: DtypeError,
    7: OutOfRangeError,
    8: AxisError,
    9: RangeError,
    10: NotImplementedError,
    11: FileError,
    12: StaleHandleError,
    13: RuntimeClosedError,
    14: RuntimeClosedError,
    15: CancelledWork,
    16: TimeoutError,
    17: ForkedWorkLost,
    18: RecursionError,
    19: MXError,
    20: TraceError,
    21: MXError,
    22: NumericError,
    1000: ArgumentError,
}
