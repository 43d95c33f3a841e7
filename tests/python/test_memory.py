"""Memory counters are exact, limits hold."""

import contextlib
import gc

import numpy as np
import pytest

import pymx as mx


@pytest.fixture(autouse=True)
def limits():
    gc.collect()
    with contextlib.suppress(Exception):
        mx.synchronize()  # failures of other tests
    memory, cache = mx.get_memory_limit(), mx.set_cache_limit(1 << 30)
    yield
    mx.set_memory_limit(memory)
    mx.set_cache_limit(cache)


def test_active_counts_what_was_asked_for():
    before = mx.get_active_memory()
    a = mx.zeros((1000,), mx.float32) + 0
    assert mx.get_active_memory() == before
    mx.eval(a)
    assert mx.get_active_memory() == before + 4000
    b = a[:10]
    mx.eval(b)
    del a
    assert mx.get_active_memory() == before + 4000
    del b
    assert mx.get_active_memory() == before


def test_peak_and_cache():
    mx.clear_cache()
    assert mx.get_cache_memory() == 0
    mx.reset_peak_memory()
    assert mx.get_peak_memory() == 0
    a = mx.zeros((1 << 16,), mx.uint8) + 1
    mx.eval(a)
    assert mx.get_peak_memory() >= 1 << 16
    del a
    assert mx.get_cache_memory() >= 1 << 16
    assert mx.set_cache_limit(0) == 1 << 30
    a = mx.zeros((1 << 16,), mx.uint8) + 1
    mx.eval(a)
    del a
    assert mx.get_cache_memory() == 0


def test_memory_limit():
    active = mx.get_active_memory()
    before = mx.set_memory_limit(active + 1_000_000)
    assert mx.get_memory_limit() == active + 1_000_000
    with pytest.raises(MemoryError):
        mx.eval(mx.zeros((1_000_000,)) + 1)
    with pytest.raises(MemoryError):
        mx.synchronize()  # reports each failure once, too
    mx.set_memory_limit(before)
    assert (mx.zeros((1_000_000,)) + 1).sum().item() == 1_000_000
    assert mx.set_wired_limit(0) == 0


def test_no_op_chains_do_not_raise_the_peak():
    x = mx.ones((1_000_000,)) + 0
    mx.eval(x)
    mx.synchronize()
    mx.reset_peak_memory()
    mx.eval(mx.array(0))
    limit = mx.get_active_memory()
    for _ in range(10):
        x = mx.abs(x)
        x = mx.reshape(x, (1000, 1000)).T.T
        x = mx.abs(mx.stop_gradient(x))
        x = mx.reshape(x, (-1,))
        mx.eval(x)
    assert mx.get_peak_memory() <= limit + 64


def test_updates_in_place_need_no_second_buffer():
    cache = mx.zeros((1024, 1024))
    mx.eval(cache)
    mx.reset_peak_memory()
    limit = mx.get_active_memory()
    for i in range(20):
        cache[i] = float(i)
        mx.eval(cache)
    assert mx.get_peak_memory() < limit + 1024 * 1024 and cache[19, 0].item() == 19


def test_borrowed_memory_is_not_active():
    before = mx.get_active_memory()
    a = mx.asarray(np.zeros(100_000, np.float32), copy=False)
    assert mx.get_active_memory() == before
    del a


def test_buffer_size_of_trees():
    a = mx.zeros((10,), mx.int64)
    assert mx.get_array_buffer_size([a, {"b": a}, 3], mx.zeros((2,), mx.int8)) == 82
