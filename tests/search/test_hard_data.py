"""Data on which searches went wrong: little noise, levels, fast inputs, odd columns, few rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gpproj
from tests.fitting import fit_mode


@pytest.mark.parametrize("noise", [0.0, 1e-4, 1e-3])
@pytest.mark.parametrize("seed", [100, pytest.param(101, marks=pytest.mark.slow)])
def test_a_simulator_without_noise(seed, noise):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (60, 4))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1]
    y = y + noise * np.std(y) * rng.standard_normal(60)
    ref = fit_mode(X, y)
    path = gpproj.forward_search(ref, progress=False)
    assert set(path.order[:2]) == {"x0", "x1"}
    assert path.relative_errors[2] < 0.02
    assert path.relative_errors[-1] == pytest.approx(0.0, abs=1e-6)
    new = rng.uniform(-1.0, 1.0, (200, 4))
    truth = np.sin(3.0 * new[:, 0]) + new[:, 1]
    away = truth - path[2].predict_response(new).mean
    assert np.mean(away**2) < 1e-3 * np.var(truth)


@pytest.mark.slow
def test_an_input_that_tells_the_person():
    rng = np.random.default_rng(3)
    values, levels = rng.standard_normal(30), rng.standard_normal(30)
    person = rng.integers(30, size=150)
    X = np.c_[values[person], rng.standard_normal((150, 6))]
    y = levels[person] + 0.4 * X[:, 1] + 0.15 * rng.standard_normal(150)
    path = gpproj.forward_search(fit_mode(X, y), 2, progress=False)
    assert path.order == ("x0", "x1")
    assert path.relative_errors[2] < 0.2


def test_errors_do_not_rise_along_nested_sets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70, 6))
    y = np.exp(X[:, 0]) + X[:, 1] + 0.05 * rng.standard_normal(70)
    path = gpproj.forward_search(fit_mode(X, y), progress=False)
    values = [found.value for found in path.projections]
    assert np.all(np.diff(values) <= 1e-9)
    assert np.all(np.diff(path.relative_errors) <= 1e-3)


def base(n=60, seed=2):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    return X, np.sin(2.0 * X["a"]) + 0.5 * X["b"] + 0.2 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def plain():
    return gpproj.forward_search(fit_mode(*base()), progress=False)


def same_path(path, plain):
    assert path.order[:4] == plain.order
    np.testing.assert_allclose(path.relative_errors[:5], plain.relative_errors, atol=1e-4)
    assert path.full_error == pytest.approx(plain.full_error, abs=1e-6)


def test_a_constant_column_changes_nothing(plain):
    X, y = base()
    with pytest.warns(UserWarning, match="constant"):
        ref = fit_mode(X.assign(same=3.0), y)
    path = gpproj.forward_search(ref, 4, progress=False)
    same_path(path, plain)
    reference = fit_mode(X, y)
    assert ref.log_marginal_likelihood == pytest.approx(reference.log_marginal_likelihood)
    everything = gpproj.project(ref, [*"abcd", "same"])
    assert everything.loo_divergence == pytest.approx(0.0, abs=1e-8)
    posterior = gpproj.project(ref, [*"abcd", "same"], "projection", prior=None)
    assert posterior.projection_error == pytest.approx(0.0, abs=1e-2)


def test_the_order_of_the_columns_changes_nothing(plain):
    X, y = base()
    same_path(gpproj.forward_search(fit_mode(X[list("dbac")], y), progress=False), plain)


def test_the_order_of_the_rows_changes_nothing(plain):
    X, y = base()
    rows = np.random.default_rng(0).permutation(len(y))
    ref = fit_mode(X.iloc[rows], y.iloc[rows])
    same_path(gpproj.forward_search(ref, progress=False), plain)


def test_other_units_change_nothing(plain):
    X, y = base()
    X = X.assign(a=1e-3 * X["a"] + 5.0, c=1e4 * X["c"])
    same_path(gpproj.forward_search(fit_mode(X, 300.0 * y - 1e3), progress=False), plain)


@pytest.mark.slow
def test_more_inputs_than_rows():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 60))
    ref = fit_mode(X, 2.0 * X[:, 3] + 0.3 * rng.standard_normal(30))
    path = gpproj.forward_search(ref, 2, progress=False)
    assert path.order[0] == "x3"
    assert path.full_error == pytest.approx(0.0, abs=1e-6)
    new = rng.standard_normal((300, 60))
    away = 2.0 * new[:, 3] - path[1].predict_response(new).mean
    assert np.mean(away**2) < 0.1 * 4.0


def test_references_known_by_moments_have_values_of_their_own():
    """They are starts, as those of other references: fitted once to the mean."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, (80, 4))
    y = np.sin(9.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(80)
    ref = fit_mode(X, y)
    same = gpproj.from_moments(X, y, ref.latent_mean, ref.latent_cov, ref.noise_variance)
    path = gpproj.forward_search(same, 2, progress=False)
    assert path.order == ("x0", "x1")
    assert path.relative_errors[2] < 0.05
    assert len(same.fitted_values) == 1
