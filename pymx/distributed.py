"""Groups of processes that work together. There is no back-end for more than one process here: init makes a group of
one, on which collective ops are identities."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ._rules import only_array
from .device import StreamOrDevice
from .dtype import Dtype

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from .array import array

__all__ = [
    "Group",
    "all_gather",
    "all_max",
    "all_min",
    "all_sum",
    "init",
    "is_available",
    "recv",
    "recv_like",
    "send",
    "sum_scatter",
]


class Group:
    """A group of processes; this one has only the process itself."""

    __slots__ = ()

    def rank(self) -> int:
        """The number of this process in the group."""
        return 0

    def size(self) -> int:
        """How many processes there are."""
        return 1

    def split(self, color: int, key: int = -1) -> Group:
        """RuntimeError: a group of one cannot be split."""
        raise RuntimeError("split: a group of one process cannot be split")


_one = Group()


def is_available(backend: str = "any") -> bool:
    """False: there is no back-end."""
    return False


def init(
    strict: bool = False,
    backend: str = "any",
    *,
    all_gather_factory: Callable[[int, int], Callable[[bytes, int], bytes]] | None = None,
) -> Group:
    """The group of this process alone. RuntimeError if strict."""
    if strict:
        raise RuntimeError(f"init: there is no back-end {backend!r} for distributed work")
    return _one


def _collective(x: array, name: str) -> array:
    return only_array(x, name)


def all_sum(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The sum over all processes."""
    return _collective(x, "all_sum")


def all_max(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The maximum over all processes."""
    return _collective(x, "all_max")


def all_min(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The minimum over all processes."""
    return _collective(x, "all_min")


def all_gather(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The arrays of all processes, joined along the first axis."""
    return _collective(x, "all_gather")


def sum_scatter(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The part of this process of the sum over all processes."""
    return _collective(x, "sum_scatter")


def _alone(name: str) -> NoReturn:
    raise ValueError(f"{name}: there is no other process in a group of one")


def send(x: array, dst: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """ValueError: there is no other process."""
    _alone("send")


def recv(
    shape: Sequence[int], dtype: Dtype, src: int, *, group: Group | None = None, stream: StreamOrDevice = None
) -> array:
    """ValueError: there is no other process."""
    _alone("recv")


def recv_like(x: array, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """ValueError: there is no other process."""
    _alone("recv_like")
