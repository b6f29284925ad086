from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.linalg import DeferredCovariance, DenseCovariance, LowRankCovariance
from gpproj.reference.draws import Draws
from tests.fitting import fit_mode

NAMES = ("a", "b", "c", "d")


def make_data(n=24, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=NAMES)
    y = 5 + 2 * np.sin(2 * X["a"]) + X["b"] + 0.4 * X["c"] + 0.4 * rng.standard_normal(n)
    return X, y.to_numpy()


def assert_same(one, other):
    """Compare fields of fields down to the bits; lists and tuples are the same."""
    if is_dataclass(one):
        assert type(one) is type(other)
        for field in fields(one):
            if not field.name.startswith("_"):  # what was chosen on the way
                assert_same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, LowRankCovariance):
        assert_same([one.noise, one.factor], [other.noise, other.factor])
    elif isinstance(one, DenseCovariance | DeferredCovariance):
        assert_same(one.dense(), other.dense())
    elif isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    elif isinstance(one, np.ndarray):
        assert isinstance(other, np.ndarray)
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.flags.f_contiguous == other.flags.f_contiguous
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, partial):
        assert one.func is other.func
        assert one.args == other.args == ()
        assert_same(one.keywords, other.keywords)
    elif isinstance(one, Mapping):
        assert list(one) == list(other)
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert isinstance(other, list | tuple)
        assert len(one) == len(other)
        for mine, its in zip(one, other, strict=True):
            assert_same(mine, its)
    else:
        one = one.item() if isinstance(one, np.generic) else one
        assert type(one) is type(other)
        assert one == other


@pytest.fixture(scope="session")
def same():
    return assert_same


@pytest.fixture
def kept(tmp_path):
    """Save and load."""

    def kept(thing):
        thing.save(tmp_path / "kept")
        return gpproj.load(tmp_path / "kept")

    return kept


@pytest.fixture(scope="session")
def data():
    return make_data()


@pytest.fixture(scope="session")
def new():
    return make_data(n=7, seed=1)


@pytest.fixture(scope="session")
def ref(data):
    return fit_mode(*data)


@pytest.fixture(scope="session")
def drawn(ref):
    """Six draws, the odd ones far from the even ones."""
    rng = np.random.default_rng(1)
    parameters = ref.draws.parameters + 0.1 * rng.standard_normal((6, 7))
    parameters[1::2] += [0.0, 0.5, -1.5, -1.5, -1.5, -1.5, -2.0]
    weights = np.array([0.3, 0.05, 0.25, 0.02, 0.2, 0.18])
    return replace(ref, draws=Draws(parameters, weights))


@pytest.fixture(scope="session")
def path(ref):
    return gpproj.forward_search(ref, 2, progress=False)


@pytest.fixture(scope="session")
def exchanged():
    """A path whose best pair is not the one that was grown: `y = a + b`, and `c` is close to it."""
    X, _ = make_data(n=30, seed=2)
    y = X["a"] + X["b"]
    X["c"] = y + 0.5 * X["c"]
    ref = fit_mode(X, y + 0.1 * np.random.default_rng(3).standard_normal(30))
    path = gpproj.forward_search(ref, 2, progress=False)
    assert path.order[0] == "c"
    assert path.best_inputs(2) == ("a", "b")
    return path
