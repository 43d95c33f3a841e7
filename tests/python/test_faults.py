"""Memory runs out anywhere in the forward run of a network: a MemoryError, or the right result; nothing is left over,
and the next run works."""

import contextlib
import gc
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import pymx as mx
from pymx._ffi import lib

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "python"))
from minilm import Encoder

WIDTH, WORDS, PLACES = 48, 50, 16
DENSE = 40  # every allocation up to here fails, later ones in growing steps; all with MX_TEST_LONG


def small_encoder():
    """MiniLM, but narrower, of two layers, and with random weights."""
    rng = np.random.default_rng(0)
    encoder = Encoder.__new__(Encoder)
    encoder.n_layers, encoder.n_heads, encoder.head_size, encoder.eps = 2, 3, WIDTH // 3, 1e-12
    shapes = {
        "embeddings.word_embeddings.weight": (WORDS, WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    linear = {}
    norms = ["embeddings"]
    for i in range(encoder.n_layers):
        layer = f"encoder.layer.{i}"
        linear |= {f"{layer}.attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        linear[f"{layer}.attention.output.dense"] = (WIDTH, WIDTH)
        linear |= {f"{layer}.intermediate.dense": (4 * WIDTH, WIDTH), f"{layer}.output.dense": (WIDTH, 4 * WIDTH)}
        norms += [f"{layer}.attention.output", f"{layer}.output"]
    for name, shape in linear.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in norms:
        shapes |= {f"{name}.LayerNorm.weight": (WIDTH,), f"{name}.LayerNorm.bias": (WIDTH,)}
    encoder.weights = {k: mx.array(rng.standard_normal(s, np.float32) * 0.2) for k, s in shapes.items()}
    mx.eval(encoder.weights)
    return encoder


def run_with_failure(f, n):
    """What f() gives while its n-th allocation fails: None if that was a MemoryError; and how many there were."""
    lib.mx_test_fail_allocation(n)
    try:
        out = f()
    except MemoryError:
        out = None
    finally:
        count = lib.mx_test_fail_allocation(0)
    with contextlib.suppress(MemoryError):
        mx.synchronize()  # what a stream still wants to tell
    gc.collect()
    return out, count


@pytest.mark.parametrize("how", ["eager", "compiled", "shapeless"])
def test_every_allocation_of_a_forward_run(how):
    encoder = small_encoder()
    ids = mx.array([[1, 2, 3, 4], [7, 8, 0, 0]], dtype=mx.int32)
    mask = mx.array([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=mx.int32)
    mx.eval(ids, mask)
    expected = encoder(ids, mask).tolist()

    def forward():
        f = encoder if how == "eager" else mx.compile(encoder, shapeless=how == "shapeless")
        return f(ids, mask).tolist()

    assert np.allclose(forward(), expected, atol=1e-5)
    mx.synchronize()  # the thread's default stream gets an object
    gc.collect()
    handles, active = mx.handle_count(), mx.get_active_memory()
    expected, total = run_with_failure(forward, 0)
    n, failures = 1, 0
    while n <= total:
        out, _ = run_with_failure(forward, n)
        assert out is None or out == expected, n
        failures += out is None
        assert (mx.handle_count(), mx.get_active_memory()) == (handles, active), n
        n += 1 if "MX_TEST_LONG" in os.environ else 1 + n // DENSE
    assert failures > DENSE // 2
    assert forward() == expected
