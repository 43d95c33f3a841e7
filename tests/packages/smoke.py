"""What a user does first. Runs where nothing but the package and its dependencies is installed; prints "ok"."""

import os
import shutil
import tempfile
import threading

import pymx as mx

assert not any(map(shutil.which, ("cc", "gcc", "c++", "g++", "clang", "ld"))), "a bare environment has no compiler"


@mx.compile
def gelu(x: mx.array) -> mx.array:
    return 0.5 * x * (1 + mx.tanh(0.7978845608 * (x + 0.044715 * x**3)))


x = mx.linspace(-3, 3, 1000)
results: list[float] = []
threads = [threading.Thread(target=lambda: results.append(gelu(x).sum().item())) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(set(results)) == 1 and gelu.cache_info().entries == 1

a = mx.random.normal((20, 20))
assert mx.abs(mx.linalg.inv(a) @ a - mx.eye(20)).max().item() < 1e-2
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.npz")
    mx.savez(path, a=a)
    assert mx.array_equal(mx.load(path)["a"], a)
    os.mkdir(os.path.join(folder, "empty"))
assert os.path.exists(os.path.join(mx.get_library_dir(), "libmx.so"))
print("ok", mx.__version__, mx.isa())
