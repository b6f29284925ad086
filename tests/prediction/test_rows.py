"""Predictions of a row depend on that row alone, to the last bit, and are the prior far away."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpproj
from gpproj.kernels import Constant, Linear, Matern52, SquaredExponential
from gpproj.likelihoods import Bernoulli, Gaussian, NegativeBinomial, Poisson, StudentT
from gpproj.linalg import blas_threads
from gpproj.prediction.tiles import ROWS, TILE, by_tiles, whole_tiles

KERNEL = Constant(0.5) + SquaredExponential(1.0, [0.8, 1.5, 30.0])
ROUGH = Constant(0.5) + Matern52(1.0, [0.8, 1.5, 30.0]) + Linear(0.1)


@cache
def data(kind="real"):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((45, 3))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1]
    if kind == "real":
        return X, f + 0.1 * rng.standard_normal(45)
    return X, (f > 0).astype(int) if kind == "binary" else rng.poisson(np.exp(f))


def conditioned(kernel, likelihood, inference="auto"):
    X, y = data(str(likelihood.kind))
    return gpproj.condition(X, y, kernel, likelihood, inference)


def weights():
    X, y = data()
    draws = np.random.default_rng(1).standard_normal((30, 3))
    return gpproj.from_linear_draws(X, y, draws, 0.3)


def mixture():
    X, y = data()
    ref = gpproj.fit(X, y, kernel=KERNEL, draws=4, check=False)
    return gpproj.project(ref, ["x1", "x0"])


MODELS = {
    "normal": lambda: conditioned(KERNEL, Gaussian(0.01)),
    "rough": lambda: conditioned(ROUGH, Gaussian(0.01)),
    "null": lambda: gpproj.project(conditioned(KERNEL, Gaussian(0.01)), []),
    "student": lambda: conditioned(KERNEL, StudentT(0.01)),
    "probit": lambda: conditioned(KERNEL, Bernoulli()),
    "logit": lambda: conditioned(KERNEL, Bernoulli("logit")),
    "poisson": lambda: conditioned(KERNEL, Poisson()),
    "negative binomial": lambda: conditioned(KERNEL, NegativeBinomial(0.2)),
    "inducing": lambda: conditioned(KERNEL, Gaussian(0.01), gpproj.Sparse(12)),
    "submodel": lambda: gpproj.project(conditioned(ROUGH, Gaussian(0.01)), ["x1"]),
    "linear": weights,
    "mixture": mixture,
}


@cache
def model(name):
    return MODELS[name]()


def predicted(found, X):
    """Everything that a model says of new rows, one column for each row."""
    y = np.ones(len(X), dtype=int)
    said = [*found.predict(X), *found.predict_response(X), found.log_density(X, y)]
    if found.classes is None:
        said += [*found.predict_interval(X)]
    return np.array(said)


@cache
def expected(name):
    X = np.random.default_rng(8).standard_normal((ROWS + 70, 3)) * [1.0, 2.0, 1.0]
    return X, predicted(model(name), X)


@pytest.mark.parametrize("name", MODELS)
@given(rows=st.lists(st.integers(0, ROWS + 69), min_size=1, max_size=60), fortran=st.booleans())
@settings(max_examples=12)
def test_a_row_has_the_same_prediction_in_every_batch(name, rows, fortran):
    X, everything = expected(name)
    some = np.asfortranarray(X[rows]) if fortran else X[rows]
    np.testing.assert_array_equal(predicted(model(name), some), everything[:, rows])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cell", [1e10, -1e15, 1e300])
def test_a_wild_row_changes_no_other(name, cell):
    X, everything = expected(name)
    some = X[:7].copy()
    some[3, 0] = cell
    found = predicted(model(name), some)
    kept = [0, 1, 2, 4, 5, 6]
    np.testing.assert_array_equal(found[:, kept], everything[:, kept])
    assert not np.isnan(found[:, 3]).any()


@pytest.mark.parametrize("name", ["normal", "inducing"])
@pytest.mark.parametrize("factor", [1e8, 1e15, 1e300])
def test_far_rows_have_the_prior(name, factor):
    found = model(name)
    far = data()[0][:5] * factor
    mean, variance = found.predict(far)
    # The constant is known from the data; what is left of the signal is its prior variance.
    np.testing.assert_allclose(mean, mean[0], rtol=1e-12)
    assert (variance > 1.0).all()
    assert (variance < 1.0 + 0.5 + 0.1).all()


def test_blas_threads_leave_no_trace():
    from threadpoolctl import threadpool_limits

    X, everything = expected("rough")
    with threadpool_limits(limits=2):
        assert blas_threads() == 2
        found = predicted(model("rough"), X)
        assert blas_threads() == 2
    np.testing.assert_array_equal(found, everything)


@pytest.mark.parametrize("m", [0, 1, TILE, TILE + 1])
def test_tiles_are_whole(m):
    X = np.arange(2.0 * m).reshape(m, 2)
    padded = whole_tiles(X)
    assert len(padded) % TILE == 0
    np.testing.assert_array_equal(padded[:m], X)
    np.testing.assert_array_equal(by_tiles(lambda rows: (rows,), X)[0], X)


def test_no_rows_have_no_tiles_but_a_prediction():
    assert model("normal")._latent(np.zeros((0, 3))).mean.shape == (0,)


def test_gradients_do_not_feel_other_rows():
    predictor = next(iter(model("normal")._components())).predictor
    X = expected("normal")[0][:4]
    with_wild = np.vstack([X, [1e12, 0.0, 0.0]])
    for alone, beside in zip(predictor.gradients(X), predictor.gradients(with_wild), strict=True):
        np.testing.assert_array_equal(alone, beside[:4])
        assert np.isfinite(beside).all()
