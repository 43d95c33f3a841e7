"""A class of values that each thread has for itself, without importing the rest of threading."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import local
else:
    from _thread import _local as local

__all__ = ["local"]
