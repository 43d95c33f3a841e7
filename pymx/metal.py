"""The namespace of Metal, which this build does not have. The memory functions are those of pymx itself."""

from .device import device_info
from .memory import (
    clear_cache,
    get_active_memory,
    get_cache_memory,
    get_peak_memory,
    reset_peak_memory,
    set_cache_limit,
    set_memory_limit,
    set_wired_limit,
)

__all__ = [
    "clear_cache",
    "device_info",
    "get_active_memory",
    "get_cache_memory",
    "get_peak_memory",
    "is_available",
    "reset_peak_memory",
    "set_cache_limit",
    "set_memory_limit",
    "set_wired_limit",
    "start_capture",
    "stop_capture",
]


def is_available() -> bool:
    """False: there is no Metal here."""
    return False


def start_capture(path: str) -> None:
    """RuntimeError: there is no Metal here."""
    raise RuntimeError("start_capture: this build has no Metal back-end")


def stop_capture() -> None:
    """RuntimeError: there is no Metal here."""
    raise RuntimeError("stop_capture: this build has no Metal back-end")
