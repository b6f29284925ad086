"""`condition` and what a `Reference` shows: numbers, units, names and bad input."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import multivariate_normal, norm

import gpproj
from gpproj.inference import NUGGET
from gpproj.kernels import Constant, Linear, Matern32, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import to_host

KERNEL = Constant(0.5) + SquaredExponential(2.0, [0.8, 1.5, 3.0])


@pytest.fixture
def data():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((30, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, -2.0]
    y = 50.0 + 7.0 * (np.sin(X[:, 0]) + 0.1 * X[:, 1] + 0.2 * rng.standard_normal(30))
    return X, y


@pytest.mark.parametrize("point", [0, 1])
def test_the_oracle_of_gp_regression(oracle, point):
    figures = oracle("regression")
    theta = figures["points"][point]["theta"]
    expected = {k: np.array(v) for k, v in figures["points"][point]["gpstuff"].items()}
    X, y, X_new, y_new = (np.array(figures["inputs"][name]) for name in ("X", "y", "Xt", "yt"))
    kernel = Constant(theta[0]) + SquaredExponential(theta[1], theta[2:-1])
    ref = gpproj.condition(X, y, kernel, Gaussian(theta[-1]), nugget=0.0)
    close = {"rtol": 1e-8}
    np.testing.assert_allclose(ref.log_marginal_likelihood, -expected["nlml"], **close)
    np.testing.assert_allclose(ref.latent_mean, expected["latent_mean_train"], **close)
    np.testing.assert_allclose(np.diag(ref.latent_cov), expected["latent_var_train"], **close)
    mean, variance = ref.predict(X_new)
    np.testing.assert_allclose(mean, expected["latent_mean_test"], **close)
    np.testing.assert_allclose(variance, expected["latent_var_test"], **close)
    response = ref.predict_response(X_new)
    np.testing.assert_allclose(response.variance, expected["predictive_var_y_test"], **close)
    np.testing.assert_allclose(
        ref.log_density(X_new, y_new), expected["log_pred_density_test"], **close
    )
    loo = ref.loo()
    np.testing.assert_allclose(loo.mean, expected["loo_mean"], **close)
    np.testing.assert_allclose(loo.log_density, expected["loo_log_pred_density"], **close)


def test_standardised_figures_are_in_the_users_units(data):
    """The same model written out by hand on the user's scale, with a mean and scaled inputs."""
    X, y = data
    ref = gpproj.condition(X, y, KERNEL, Gaussian(2.0), standardize=True)
    Z = (X - X.mean(0)) / X.std(0)
    K = KERNEL(Z)
    nugget = NUGGET * 2.0
    A = K + (nugget + 2.0) * np.eye(len(y))
    mean = y.mean() + (K + nugget * np.eye(len(y))) @ np.linalg.solve(A, y - y.mean())
    np.testing.assert_allclose(ref.latent_mean, mean, rtol=1e-9)
    expected = multivariate_normal(np.full(len(y), y.mean()), A).logpdf(y)
    assert ref.log_marginal_likelihood == pytest.approx(expected, rel=1e-9)
    assert ref.noise_variance == pytest.approx(2.0)
    assert ref.likelihood.variance == pytest.approx(2.0)
    np.testing.assert_allclose(ref.kernel(Z), K, rtol=1e-12)
    X_new = X[:5] + 0.1
    k = KERNEL(Z, (X_new - X.mean(0)) / X.std(0))
    prediction = ref.predict(X_new)
    np.testing.assert_allclose(prediction.mean, y.mean() + k.T @ np.linalg.solve(A, y - y.mean()))
    variance = 2.5 + nugget - np.sum(k * np.linalg.solve(A, k), axis=0)
    np.testing.assert_allclose(prediction.variance, variance, rtol=1e-8)
    density = norm(prediction.mean, np.sqrt(variance + 2.0)).logpdf(y[:5])
    np.testing.assert_allclose(ref.log_density(X_new, y[:5]), density, rtol=1e-8)


@pytest.mark.parametrize("standardize", [False, True])
def test_loo_equals_refits_with_everything_held(data, standardize):
    X, y = data
    ref = gpproj.condition(X, y, KERNEL, Gaussian(2.0), standardize=standardize)
    loo = ref.loo()
    scale = (X.mean(0), X.std(0)) if standardize else (0.0, 1.0)
    Z, centre = (X - scale[0]) / scale[1], y.mean() if standardize else 0.0
    for i in (0, 7, 29):
        rest = np.delete(np.arange(len(y)), i)
        held = gpproj.condition(Z[rest], y[rest] - centre, KERNEL, Gaussian(2.0))
        mean, variance = held.predict_response(Z[i : i + 1])
        assert loo.mean[i] == pytest.approx(mean[0] + centre, rel=1e-8)
        assert loo.variance[i] == pytest.approx(variance[0], rel=1e-8)
        density = held.log_density(Z[i : i + 1], y[i : i + 1] - centre)[0]
        assert loo.log_density[i] == pytest.approx(density, rel=1e-8)


def test_predictions_do_not_depend_on_how_many_rows_are_asked_for(data, monkeypatch):
    X, y = data
    ref = gpproj.condition(X, y, KERNEL, Gaussian(2.0), standardize=True)
    whole = ref.predict(X)
    monkeypatch.setattr("gpproj.prediction.ROWS", 7)
    blocks = ref.predict(X)
    np.testing.assert_allclose(blocks.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(blocks.variance, whole.variance, rtol=1e-9)


def test_frames_keep_their_names_whatever_the_column_order(data):
    X, y = data
    names = ["age", "mass", "dose"]
    frame = pd.DataFrame(X, columns=names)
    ref = gpproj.condition(frame, pd.Series(y), KERNEL, Gaussian(2.0), standardize=True)
    other = gpproj.condition(
        pl.DataFrame(frame), pl.Series(y), KERNEL, Gaussian(2.0), "exact", True
    )
    assert ref.feature_names == other.feature_names == tuple(names)
    assert list(ref.ard_relevance().index) == names
    shuffled = frame[["dose", "age", "mass"]].assign(extra=1.0)
    expected = ref.predict(frame).mean
    np.testing.assert_array_equal(ref.predict(shuffled).mean, expected)
    np.testing.assert_allclose(other.predict(pl.DataFrame(shuffled)).mean, expected)
    with pytest.raises(ValueError, match="dose"):
        ref.predict(frame[["age", "mass"]])
    with pytest.raises(ValueError, match="columns"):
        ref.predict(X[:, :2])
    arrays = gpproj.condition(X.tolist(), y.tolist(), KERNEL, Gaussian(2.0))
    assert arrays.feature_names == ("x0", "x1", "x2")


def test_condition_and_predict_run_under_array_api_strict(data):
    X, y = data
    host = gpproj.condition(X, y, KERNEL, Gaussian(2.0), standardize=True)
    X_strict, y_strict = array_api_strict.asarray(X), array_api_strict.asarray(y)
    ref = gpproj.condition(X_strict, y_strict, KERNEL, Gaussian(2.0), standardize=True)
    np.testing.assert_allclose(to_host(ref.latent_mean), host.latent_mean, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(ref.latent_cov), np.asarray(host.latent_cov), atol=1e-9)
    assert ref.log_marginal_likelihood == pytest.approx(host.log_marginal_likelihood)
    found, expected = ref.predict(X_strict), host.predict(X)
    assert isinstance(found.mean, type(X_strict))
    np.testing.assert_allclose(to_host(found.mean), expected.mean, rtol=1e-9)
    np.testing.assert_allclose(to_host(found.variance), expected.variance, rtol=1e-7)
    np.testing.assert_allclose(
        to_host(ref.log_density(X_strict, y_strict)), host.log_density(X, y), rtol=1e-8
    )
    np.testing.assert_allclose(to_host(ref.loo().mean), host.loo().mean, rtol=1e-8)
    assert ref.ard_relevance().equals(host.ard_relevance())


def test_ard_relevance_counts_the_shortest_lengthscale(data):
    X, y = data
    ref = gpproj.condition(X, y, KERNEL, Gaussian(2.0))
    np.testing.assert_allclose(ref.ard_relevance(), [1.0, 0.8 / 1.5, 0.8 / 3.0])
    two = SquaredExponential(1.0, [1.0, 2.0, 4.0]) + Matern32(1.0, [4.0, 1.0, 8.0]) + Linear()
    ref = gpproj.condition(X, y, two, Gaussian(2.0))
    np.testing.assert_allclose(ref.ard_relevance(), [1.0, 1.0, 0.25])
    linear = gpproj.condition(X, y, Linear([4.0, 1.0, 0.25]), Gaussian(2.0))
    np.testing.assert_allclose(linear.ard_relevance(), [1.0, 0.5, 0.25])
    constant = gpproj.condition(X, y, Constant(1.0), Gaussian(2.0))
    np.testing.assert_array_equal(constant.ard_relevance(), [0.0, 0.0, 0.0])


def test_constant_inputs_have_no_relevance_and_no_influence(data):
    X, y = data
    with_constant = np.column_stack([X, np.full(len(y), 3.0)])
    kernel = SquaredExponential(2.0, [0.8, 1.5, 3.0, 0.1])
    with pytest.warns(UserWarning, match="x3.*constant"):
        ref = gpproj.condition(with_constant, y, kernel, Gaussian(2.0))
    assert ref.ard_relevance()["x3"] == 0.0
    expected = gpproj.condition(X, y, SquaredExponential(2.0, [0.8, 1.5, 3.0]), Gaussian(2.0))
    moved = with_constant + np.array([0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(ref.predict(moved).mean, expected.predict(X).mean)


def test_duplicated_rows_and_columns_are_accepted(data):
    X, y = data
    doubled = np.column_stack([np.vstack([X, X]), np.vstack([X, X])[:, 0]])
    kernel = SquaredExponential(2.0, [0.8, 1.5, 3.0, 1.0])
    ref = gpproj.condition(doubled, np.append(y, y), kernel, Gaussian(2.0), standardize=True)
    assert np.all(np.isfinite(ref.latent_mean))
    assert np.isfinite(ref.latent_cov.log_determinant())


def test_refit_follows_the_same_recipe(data):
    X, y = data
    ref = gpproj.condition(X, y, KERNEL, Gaussian(2.0), standardize=True, nugget=1e-3)
    again = ref.refit(X[:20], y[:20])
    expected = gpproj.condition(
        X[:20], y[:20], KERNEL, Gaussian(2.0), standardize=True, nugget=1e-3
    )
    np.testing.assert_array_equal(again.latent_mean, expected.latent_mean)
    assert again.problem.nugget == 1e-3


def test_what_a_reference_says_of_itself(data):
    ref = gpproj.condition(*data, KERNEL, Gaussian(2.0))
    assert "n=30" in repr(ref)
    assert "inputs=3" in repr(ref)
    assert ref.classes is None
    assert ref.posterior is None
    assert ref.optimum is None


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"kernel": "se"}, TypeError, "kernel must be"),
        ({"likelihood": "cauchy"}, ValueError, "likelihood must be"),
        ({"inference": "magic"}, ValueError, "inference must be .* got 'magic'"),
        ({"nugget": -0.1}, ValueError, "nugget must be"),
        ({"nugget": "a"}, ValueError, "nugget must be a fraction .* got 'a'"),
        ({"nugget": None}, ValueError, "nugget must be a fraction .* got None"),
        ({"standardize": "no"}, TypeError, "standardize must be True or False, got 'no'"),
        ({"missing": "fill"}, ValueError, "missing must be one of"),
        ({"kernel": SquaredExponential(1.0, [1.0, 2.0])}, ValueError, "2 values.* 3 inputs"),
        ({"y": np.zeros(30)}, ValueError, "y"),
        ({"X": np.full((30, 3), np.nan)}, ValueError, "X"),
    ],
)
def test_bad_arguments_are_named(data, change, error, text):
    arguments = {"X": data[0], "y": data[1], "kernel": KERNEL, "likelihood": Gaussian(2.0)}
    with pytest.raises(error, match=text):
        gpproj.condition(**{**arguments, **change})


@pytest.mark.parametrize("variance", [0.0, -1.0, np.inf, np.nan])
def test_bad_noise_is_named(variance):
    with pytest.raises(ValueError, match="variance must be positive"):
        Gaussian(variance)
