"""Counters and limits of memory. All figures are bytes and count what was asked for."""

from __future__ import annotations

from ._ffi import fast
from .array import array
from .tree import leaves

__all__ = [
    "clear_cache",
    "get_active_memory",
    "get_array_buffer_size",
    "get_cache_memory",
    "get_memory_limit",
    "get_peak_memory",
    "reset_peak_memory",
    "set_cache_limit",
    "set_memory_limit",
    "set_wired_limit",
]


def get_active_memory() -> int:
    """The memory of live arrays; borrowed memory does not count."""
    return fast.active_memory()


def get_peak_memory() -> int:
    """The most that was active since the start or the last reset_peak_memory."""
    return fast.peak_memory()


def reset_peak_memory() -> None:
    """Sets the peak to 0."""
    fast.reset_peak_memory()


def get_cache_memory() -> int:
    """Free memory that is kept for reuse."""
    return fast.cache_memory()


def set_memory_limit(limit: int) -> int:
    """Sets what active memory may not exceed: beyond it is a MemoryError. Returns the limit before."""
    return fast.set_memory_limit(limit)


def get_memory_limit() -> int:
    """The limit that set_memory_limit sets."""
    return fast.memory_limit()


def set_cache_limit(limit: int) -> int:
    """Sets how much may be kept for reuse; 0 keeps nothing. Returns the limit before."""
    return fast.set_cache_limit(limit)


def set_wired_limit(limit: int) -> int:
    """Does nothing on the CPU; returns 0, the limit before."""
    if limit < 0:
        raise ValueError("set_wired_limit: limit is negative")
    return 0


def clear_cache() -> None:
    """Gives the memory kept for reuse back to the system."""
    fast.clear_cache()


def get_array_buffer_size(*args: object) -> int:
    """The bytes of the elements of all distinct arrays in the trees."""
    found = {id(x): x.nbytes for x in leaves(args) if isinstance(x, array)}
    return sum(found.values())
