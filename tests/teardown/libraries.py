"""The same few operations in each library that the matrix can run against. `begin` starts work and returns before it is
done; where a library has no such thing a daemon thread does it, as its users would."""

import importlib
import threading
from typing import ClassVar


class Library:
    """mlx.core, and with more, pymx."""

    lacks: ClassVar = {"C": "nothing to await", "Z": "copies host memory"}  # states, or exit paths; and why
    scale = 1 / 3  # of the sizes of matrices: its products take 30 times as long as the others'

    def __init__(self, module):
        self.name, self.mx = module, importlib.import_module(module)
        self.compile = self.mx.compile

    def ones(self, n):
        return self.mx.ones((n, n))

    def begin(self, make):
        x = make()
        self.mx.async_eval(x)
        return x

    def finish(self, x):
        self.mx.eval(x)

    def use(self):
        """A small computation that does not stand behind what is queued."""
        with self.mx.stream(self.mx.new_stream(self.mx.default_device())):
            assert (self.mx.ones((3,)) + 1).tolist() == [2.0] * 3


class Pymx(Library):
    lacks: ClassVar = {}
    scale = 1

    def borrow(self, x):
        return self.mx.asarray(x, copy=False)


class Torch:
    lacks: ClassVar = {
        "C": "nothing to await",
        **dict.fromkeys(("T", "erased_during_trace"), "torch.compile does not run the body"),
    }
    scale = 1

    def __init__(self, module):
        self.name, self.torch = module, importlib.import_module(module)

    def ones(self, n):
        return self.torch.ones((n, n))

    def compile(self, f):
        return self.torch.compile(f, backend="eager")

    def begin(self, make):
        thread = threading.Thread(target=make, daemon=True)
        thread.start()
        return thread

    def finish(self, x):
        if isinstance(x, threading.Thread):
            x.join()

    def borrow(self, x):
        return self.torch.from_numpy(x)

    def use(self):
        assert (self.torch.ones((3,)) + 1).tolist() == [2.0] * 3


class Jax:
    lacks: ClassVar = {"C": "nothing to await"}
    scale = 1

    def __init__(self, module):
        self.name, self.jax = module, importlib.import_module(module)
        self.compile = self.jax.jit

    def ones(self, n):
        return self.jax.numpy.ones((n, n))

    def begin(self, make):
        return make()

    def finish(self, x):
        self.jax.block_until_ready(x)

    def borrow(self, x):
        return self.jax.numpy.from_dlpack(x)

    def use(self):
        assert (self.jax.numpy.ones((3,)) + 1).tolist() == [2.0] * 3


CLASSES = {"pymx": Pymx, "mlx.core": Library, "torch": Torch, "jax": Jax}


def chain(library, n, length):
    """A long chain of products of n x n matrices of ones, which stay ones; about as much work in each library."""
    n = round(n * library.scale)
    x = library.ones(n)
    for _ in range(length):
        x = (x @ x) * (1 / n)
    return x
