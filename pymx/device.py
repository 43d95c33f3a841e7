"""Devices and streams. A stream is an ordered queue, cheap to make and valid on every thread; ops without one run on
the calling thread's default stream of the default device."""

from __future__ import annotations

import os
from enum import Enum

from ._ffi import MX_OK, SLICE_MS, TIMEOUT, check, fast, lib
from ._local import local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

__all__ = [
    "Device",
    "DeviceType",
    "Stream",
    "StreamContext",
    "ThreadLocalStream",
    "clear_streams",
    "cpu",
    "default_device",
    "default_stream",
    "device_count",
    "device_info",
    "gpu",
    "is_available",
    "new_stream",
    "new_thread_local_stream",
    "new_thread_unsafe_stream",
    "set_default_device",
    "set_default_stream",
    "stream",
    "synchronize",
]

_local = local()


def _available(kind: DeviceType, index: int) -> None:
    if index < 0 or index >= fast.device_count(kind.value):
        raise ValueError(f"there is no device {kind.name} {index}")


def _current(kind: int, index: int) -> int:
    """The handle of the calling thread's default stream; this thread keeps it open until it asks again."""
    keep: dict[tuple[int, int], Stream] = _local.__dict__.setdefault("streams", {})
    keep[kind, index] = now = Stream._adopt(fast.default_stream(kind, index))
    return now._handle


class DeviceType(Enum):
    """The kinds of devices."""

    cpu = 0
    gpu = 1

    def __repr__(self) -> str:
        return f"DeviceType.{self.name}"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return other == self
        return self is other if isinstance(other, DeviceType) else NotImplemented

    __hash__ = Enum.__hash__

    @property
    def _handle(self) -> int:
        _available(self, 0)
        return _current(self.value, 0)


cpu, gpu = DeviceType.cpu, DeviceType.gpu


class Device:
    """A device; equal to its DeviceType if its index is 0."""

    __slots__ = ("index", "type")

    def __init__(self, type: DeviceType, index: int = 0) -> None:
        self.type, self.index = DeviceType(type), int(index)

    def __repr__(self) -> str:
        return f"Device({self.type.name}, {self.index})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DeviceType):
            return self.type is other and self.index == 0
        return self.type is other.type and self.index == other.index if isinstance(other, Device) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.type.value, self.index))

    @property
    def _handle(self) -> int:
        _available(self.type, self.index)
        return _current(self.type.value, self.index)


class Stream:
    """An ordered queue of work on a device; see new_stream."""

    __slots__ = ("__weakref__", "_handle")
    _handle: int

    def __init__(self) -> None:
        raise TypeError("streams are made by new_stream(device)")

    @classmethod
    def _adopt(cls, handle: int) -> Stream:
        self = cls.__new__(cls)
        self._handle = handle
        return self

    def __del__(self, _free: Any = fast.stream_free) -> None:
        handle = getattr(self, "_handle", 0)
        if handle:
            _free(handle)

    @property
    def device(self) -> Device:
        """The device it runs on."""
        kind, device, _ = fast.stream_info(self._handle)
        return Device(DeviceType(kind), device)

    @property
    def index(self) -> int:
        """A number that tells it from all other streams of the process."""
        return fast.stream_info(self._handle)[2]

    def __repr__(self) -> str:
        return f"Stream({self.device}, {self.index})"

    def __eq__(self, other: object) -> bool:
        return self.index == other.index if isinstance(other, Stream) else NotImplemented

    def __hash__(self) -> int:
        return hash(("Stream", self.index))


class ThreadLocalStream:
    """Stands for a stream of its own on every thread."""

    __slots__ = ("_streams", "device")

    def __init__(self, device: Device) -> None:
        self.device = device
        self._streams = local()

    def __repr__(self) -> str:
        return f"ThreadLocalStream({self.device})"

    def _here(self) -> Stream:
        if not hasattr(self._streams, "stream"):
            self._streams.stream = new_stream(self.device)
        return self._streams.stream

    @property
    def _handle(self) -> int:
        return self._here()._handle


StreamOrDevice: TypeAlias = Stream | ThreadLocalStream | Device | DeviceType | None


def _device(x: Device | DeviceType) -> Device:
    device = x if isinstance(x, Device) else Device(x)
    _available(device.type, device.index)
    return device


def device_count(device_type: DeviceType) -> int:
    """The number of devices of a kind."""
    return fast.device_count(DeviceType(device_type).value)


def is_available(device: Device | DeviceType) -> bool:
    """Whether there is such a device."""
    d = device if isinstance(device, Device) else Device(device)
    return 0 <= d.index < device_count(d.type)


def default_device() -> Device:
    """Where ops run that are given neither a stream nor a device."""
    kind, index = fast.default_device()
    return Device(DeviceType(kind), index)


def set_default_device(device: Device | DeviceType) -> None:
    """Sets the process's default device. ValueError if there is none such."""
    d = _device(device)
    fast.set_default_device(d.type.value, d.index)


def device_info(d: Device | DeviceType | None = None) -> dict[str, str | int]:
    """What is known about a device: `device_name`, `architecture`, `memory_size` in bytes."""
    _device(default_device() if d is None else d)
    machine = os.uname().machine if hasattr(os, "uname") else ""
    name = machine
    try:
        with open("/proc/cpuinfo") as f:
            name = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), name)
    except OSError:
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {"device_name": name, "architecture": f"{machine} {fast.isa()}".strip(), "memory_size": memory}


def default_stream(device: Device | DeviceType) -> Stream:
    """The calling thread's default stream on a device."""
    d = _device(device)
    return Stream._adopt(fast.default_stream(d.type.value, d.index))


def set_default_stream(stream: Stream | ThreadLocalStream) -> None:
    """Makes a stream the calling thread's default on its device, and that device the thread's default."""
    fast.set_default_stream(stream)


def new_stream(device: Device | DeviceType) -> Stream:
    """A new stream on a device. It works on every thread."""
    d = _device(device)
    return Stream._adopt(fast.stream_new(d.type.value, d.index))


def new_thread_unsafe_stream(device: Device | DeviceType) -> Stream:
    """The same as new_stream: every stream works on every thread."""
    return new_stream(device)


def new_thread_local_stream(device: Device | DeviceType) -> ThreadLocalStream:
    """A stream of its own for every thread that uses it."""
    return ThreadLocalStream(_device(device))


def clear_streams() -> None:
    """Lets go of the streams that this thread keeps for itself. Never needed: they go with the thread."""
    _local.__dict__.pop("streams", None)


class StreamContext:
    """As a context manager: makes a stream, or the default stream of a device, this thread's default."""

    __slots__ = ("_before", "_target")

    def __init__(self, s: Stream | ThreadLocalStream | Device | DeviceType) -> None:
        if not isinstance(s, (Stream, ThreadLocalStream, Device, DeviceType)):
            raise TypeError(f"stream: expected a stream or a device, got {type(s).__name__}")
        self._target = s
        self._before: list[tuple[Stream, Stream]] = []

    def __enter__(self) -> None:
        inside = Stream._adopt(fast.stream_dup(self._target._handle))
        self._before.append((default_stream(default_device()), default_stream(inside.device)))
        fast.set_default_stream(inside)

    def __exit__(self, *exception: object) -> None:
        device_before, stream_before = self._before.pop()
        fast.set_default_stream(stream_before)
        fast.set_default_stream(device_before)


def stream(s: Stream | ThreadLocalStream | Device | DeviceType) -> StreamContext:
    """For `with`: ops in the block run on this stream, or on the default stream of this device."""
    return StreamContext(s)


def synchronize(stream: StreamOrDevice = None) -> None:
    """Waits for the work submitted so far to a stream, or to the default stream. Raises the first failure among it that
    was not raised yet."""
    handle = _current(*fast.default_device()) if stream is None else stream._handle
    while (status := lib.mx_synchronize(handle, SLICE_MS)) == TIMEOUT:
        pass
    if status != MX_OK:
        check(status)
