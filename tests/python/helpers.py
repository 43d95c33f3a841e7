"""What several test modules use; tests/python is on the path (pyproject.toml)."""

import functools
import subprocess
import sys
import threading

import pymx as mx

# What newer Pythons say by themselves on stderr, where tests expect nothing: when a process with threads forks (3.12),
# and when subinterpreters are left (3.14).
QUIET = ("-W", "ignore:This process:DeprecationWarning", "-W", "ignore:remaining subinterpreters:RuntimeWarning")


def run_python(code, timeout=60, env=None):
    """A program in a process of its own, with its status, stdout and stderr as text."""
    command = [sys.executable, *QUIET, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env)


def op_names():
    """The names of all ops, without aliases."""
    found = {}
    quantize = sys.modules["pymx.quantize"]  # as an attribute of pymx, the function of the same name
    for module in (mx.ops, mx.creation, mx.shape, mx.products, mx.find, mx.hadamard, quantize):
        found |= {id(getattr(module, name)): name for name in reversed(module.__all__)}
    return set(found.values())


def counted(f):
    """f, and the list of its traces."""
    traces = []

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        traces.append(1)
        return f(*args, **kwargs)

    return wrapped, traces


def run_threads(bodies):
    """Runs functions on threads of their own, all at once, and raises what the first of them to fail raised."""
    errors = []

    def guarded(body):
        try:
            body()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(b,)) for b in bodies]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
        assert not t.is_alive()
    if errors:
        raise errors[0]
