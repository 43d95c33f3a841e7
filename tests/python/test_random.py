"""Random numbers: reproducible, in range, and of the right distribution."""

import numpy as np
import pytest

import pymx as mx


@pytest.fixture(autouse=True)
def seeded():
    mx.random.seed(0)


def test_keys_and_seeds():
    a = mx.random.uniform(shape=(5,)).tolist()
    assert mx.random.uniform(shape=(5,)).tolist() != a
    mx.random.seed(0)
    assert mx.random.uniform(shape=(5,)).tolist() == a
    key = mx.random.key(3)
    assert key.dtype is mx.uint32 and key.shape == (2,) and mx.random.key(2**32 + 1).tolist() == [1, 1]
    x = mx.random.normal((4,), key=key)
    assert x.tolist() == mx.random.normal((4,), key=key).tolist()
    one, two = mx.random.split(key)
    assert mx.random.split(key, 5).shape == (5, 2) and one.tolist() != two.tolist()
    assert mx.random.bits((3,), width=1).dtype is mx.uint8


def test_state_is_one_lasting_object():
    assert len(mx.random.state) == 1 and mx.random.state is mx.random.state
    before = mx.random.state[0]
    a = mx.random.uniform(shape=(3,)).tolist()
    mx.random.state[0] = before
    assert mx.random.uniform(shape=(3,)).tolist() == a and [k.shape for k in mx.random.state] == [(2,)]


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_distributions(dtype):
    n = 20_000
    tolerated = 0.02 if dtype is mx.float32 else 0.05
    checks = [
        (mx.random.uniform(-1, 3, (n,), dtype), 1, 4 / 12**0.5),
        (mx.random.normal((n,), dtype, 2.0, 3.0), 2, 3),
        (mx.random.truncated_normal(-1.0, 1.0, (n,), dtype), 0, 0.5396),
        (mx.random.gumbel((n,), dtype), 0.5772, 1.2825),
        (mx.random.laplace((n,), dtype, 1.0, 2.0), 1, 8**0.5),
    ]
    for x, mean, std in checks:
        assert x.dtype is dtype and x.shape == (n,)
        y = np.array(x.astype(mx.float32))
        assert abs(y.mean() - mean) < tolerated * (1 + std) and abs(y.std() / std - 1) < tolerated * 2
    u = np.array(checks[0][0].astype(mx.float32))
    assert u.min() >= -1 and u.max() < 3 + (dtype is not mx.float32) * 0.01


@pytest.mark.parametrize("draw", [mx.random.normal, mx.random.laplace])
@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32, mx.float64])
def test_location_and_scale_are_applied_in_the_dtype(draw, dtype):
    key = mx.random.key(5)
    plain = draw((1000,), dtype, key=key)
    moved = draw((1000,), dtype, 1.0, 2.5, key=key)
    assert mx.array_equal(moved, plain * mx.array(2.5, dtype) + mx.array(1.0, dtype))
    assert mx.isfinite(plain).all()


def test_bounds_and_probabilities():
    lower, upper = mx.array([-2.0, 0.0, 2.0, mx.nan]), mx.array([-1.0, 0.0, -2.0, 1.0])
    x = mx.random.truncated_normal(lower, upper, (500, 4))
    assert (x[:, 0] >= -2).all() and (x[:, 0] <= -1).all()
    assert (x[:, 1] == 0).all() and (x[:, 2] == 2).all()  # of an empty range: its lower end
    assert mx.isnan(x[:, 3]).all()
    for p in (0, True, mx.array([1, 0]), mx.array(1j)):
        with pytest.raises(ValueError, match=r"bernoulli.*floating"):
            mx.random.bernoulli(p)


def test_discrete():
    x = np.array(mx.random.randint(-2, 3, (5000,)))
    assert sorted(set(x.tolist())) == [-2, -1, 0, 1, 2] and x.dtype == np.int32
    b = np.array(mx.random.bernoulli(mx.array([0.0, 0.25, 1.0]), (5000, 3))).mean(0)
    assert b[0] == 0 and b[2] == 1 and abs(b[1] - 0.25) < 0.03
    logits = mx.log(mx.array([[0.1, 0.9], [1.0, 1e-9]]))
    c = np.array(mx.random.categorical(logits, num_samples=2000))
    assert c.shape == (2, 2000) and abs(c[0].mean() - 0.9) < 0.03 and c[1].max() == 0
    assert mx.random.categorical(logits).shape == (2,)
    p = mx.random.permutation(50).tolist()
    assert sorted(p) == list(range(50)) and p != sorted(p)
    rows = mx.random.permutation(mx.arange(20).reshape(10, 2))
    assert sorted(rows.tolist()) == mx.arange(20).reshape(10, 2).tolist()
    with pytest.raises(ValueError):
        mx.random.categorical(logits, shape=(2,), num_samples=3)


def test_multivariate_normal():
    mean, cov = mx.array([1.0, -1.0]), mx.array([[2.0, 0.6], [0.6, 0.5]])
    x = np.array(mx.random.multivariate_normal(mean, cov, (5000,)))
    np.testing.assert_allclose(x.mean(0), [1, -1], atol=0.1)
    np.testing.assert_allclose(np.cov(x.T), np.array(cov), atol=0.15)


def test_draws_from_one_distribution_are_those_of_mlx():
    """Of one distribution they are not made with noise per category. The numbers are those of mlx 0.32.4."""
    key = mx.random.key(3)
    for n, expected in ((511, 442), (512, 443), (1024, 886)):
        assert mx.random.categorical(mx.zeros((1, n)), key=key).tolist() == [expected]
    for shape in ((512,), (1, 512), (1, 1, 512)):
        drawn = mx.random.categorical(mx.zeros(shape), num_samples=3, key=key)
        assert drawn.dtype is mx.uint32 and drawn.tolist() == mx.array([122, 10, 310]).reshape(*shape[:-1], 3).tolist()
    assert mx.random.categorical(mx.zeros(512), key=key).item() == 296  # without an axis of draws, noise


@pytest.mark.parametrize("dtype", [mx.float16, mx.float32, mx.float64])
def test_frequencies_of_one_distribution(dtype):
    weights = np.array([0.0, 0.5, 0.0, 0.2, 0.3, 0.0])
    with np.errstate(divide="ignore"):
        logits = mx.array(np.log(weights) + 7, dtype)
    drawn = np.array(mx.random.categorical(logits, num_samples=20_000, key=mx.random.key(1)))
    assert np.abs(np.bincount(drawn, minlength=6) / 20_000 - weights).max() < 0.02
    assert set(drawn) == {1, 3, 4}  # never what has no weight
    certain = mx.array([[1.0, np.inf, -np.inf, np.inf]])
    assert set(mx.random.categorical(certain, num_samples=100).reshape(-1).tolist()) == {1, 3}
    assert mx.random.categorical(mx.array([[-np.inf, -np.inf]]), num_samples=50).max().item() <= 1
