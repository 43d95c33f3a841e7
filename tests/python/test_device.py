"""Devices and streams."""

import threading

import pytest

import pymx as mx


def test_devices_and_types_compare_both_ways():
    assert mx.Device(mx.cpu) == mx.cpu and mx.cpu == mx.Device(mx.cpu) and mx.Device(mx.cpu) == mx.Device(mx.cpu, 0)
    assert mx.Device(mx.cpu) != mx.gpu and mx.cpu != mx.Device(mx.gpu) and mx.Device(mx.cpu, 1) != mx.cpu
    assert repr(mx.Device(mx.cpu)) == "Device(cpu, 0)" and repr(mx.cpu) == "DeviceType.cpu"
    assert len({mx.Device(mx.cpu), mx.Device(mx.cpu, 0)}) == 1 and mx.cpu != 0


def test_default_device():
    assert mx.default_device() == mx.cpu and mx.is_available(mx.cpu) and mx.device_count(mx.cpu) == 1
    mx.set_default_device(mx.cpu)
    mx.set_default_device(mx.Device(mx.cpu))
    info = mx.device_info()
    assert info["device_name"] and info["architecture"] and info["memory_size"] > 2**20


@pytest.mark.skipif(mx.is_available(mx.gpu), reason="there is a GPU")
def test_a_device_that_is_not_there():
    for f in (mx.set_default_device, mx.new_stream, mx.default_stream, mx.device_info):
        with pytest.raises(ValueError):
            f(mx.gpu)
    with pytest.raises(ValueError):
        mx.add(1, 2, stream=mx.gpu)
    assert mx.device_count(mx.gpu) == 0 and mx.default_device() == mx.cpu
    assert not mx.metal.is_available() and not mx.cuda.is_available()


def test_streams():
    a, b = mx.new_stream(mx.cpu), mx.new_stream(mx.cpu)
    assert (
        a != b and a == a and a.device == mx.cpu and len({a, b, a}) == 2 and repr(a).startswith("Stream(Device(cpu, 0)")
    )
    with pytest.raises(TypeError):
        mx.Stream()
    for s in (
        a,
        mx.cpu,
        mx.Device(mx.cpu),
        None,
        mx.new_thread_local_stream(mx.cpu),
        mx.new_thread_unsafe_stream(mx.cpu),
    ):
        assert mx.add(mx.array([1]), 2, stream=s).tolist() == [3]
        assert mx.sum(mx.array([1, 2]), stream=s).item() == 3
    for wrong in (object(), "cpu"):
        with pytest.raises(TypeError):
            mx.add(1, 2, stream=wrong)
        with pytest.raises(TypeError):
            mx.stream(wrong)


def test_contexts_nest_and_are_undone():
    before = mx.default_stream(mx.cpu)
    a, b = mx.new_stream(mx.cpu), mx.new_stream(mx.cpu)
    with mx.stream(a):
        assert mx.default_stream(mx.cpu) == a
        with mx.stream(b):
            assert mx.default_stream(mx.cpu) == b
        assert mx.default_stream(mx.cpu) == a
        with pytest.raises(KeyError), mx.stream(mx.cpu):
            raise KeyError
        assert mx.default_stream(mx.cpu) == a
    assert mx.default_stream(mx.cpu) == before
    mx.set_default_stream(a)
    assert mx.default_stream(mx.default_device()) == a
    mx.set_default_stream(before)


def test_work_crosses_streams():
    a, b = mx.new_stream(mx.cpu), mx.new_stream(mx.cpu)
    x = mx.ones((100, 100))
    for _ in range(20):
        x = mx.matmul(x, mx.eye(100), stream=a)
        x = mx.add(x, 1, stream=b)
    assert x[0, 0].item() == 21
    mx.async_eval(x + 1)
    mx.synchronize(a)
    mx.synchronize(b)
    mx.synchronize()
    mx.synchronize(mx.cpu)


def test_streams_work_on_every_thread():
    s, out = mx.new_stream(mx.cpu), []
    lazy = mx.add(mx.ones((3,)), 1, stream=s)

    def work():
        with mx.stream(s):
            out.append((mx.arange(3) * 2).tolist())
        out.append(lazy.tolist())
        mx.clear_streams()

    t = threading.Thread(target=work)
    t.start()
    t.join()
    assert out == [[0, 2, 4], [2, 2, 2]]
