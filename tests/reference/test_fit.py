"""`fit`: the optimum it should find, and the collapse it must not."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import Constant, Linear, Matern32, SquaredExponential
from gpproj.likelihoods import Gaussian


def test_the_optimum_of_the_oracle(oracle):
    figures = oracle("regression")
    case = figures["mml_optimum"][0]
    ref = gpproj.fit(figures["inputs"]["X"], case["y"], standardize=False, prior=None)
    best = case["polished_numpy"]
    assert -ref.log_marginal_likelihood == pytest.approx(best["nlml"], abs=1e-6)
    found = np.append(
        ref.kernel.log_parameters(4), np.log(ref.noise_variance * (1 + ref.problem.nugget))
    )
    np.testing.assert_allclose(found, best["log_theta"], atol=2e-2)


@pytest.mark.parametrize("seed", range(6))
def test_the_toy_example_does_not_collapse_to_noise(seed):
    X, y = gpproj.datasets.toy_sines(n=300, random_state=seed)
    ref = gpproj.fit(X, y, prior=None)
    assert 0.15 < np.sqrt(ref.noise_variance) < 0.6
    relevance = ref.ard_relevance()
    assert relevance.max() == 1.0
    assert relevance.iloc[:2].max() < 0.35 < relevance.iloc[6:].min()


def test_units_do_not_matter():
    X, y = gpproj.datasets.toy_sines(n=80, random_state=3)
    plain = gpproj.fit(X, y)
    moved = gpproj.fit(1e3 * X + 7, 1e-3 * y - 50)
    np.testing.assert_allclose(moved.ard_relevance(), plain.ard_relevance(), rtol=1e-2, atol=1e-3)
    expected = plain.log_marginal_likelihood + len(y) * np.log(1e3)
    assert moved.log_marginal_likelihood == pytest.approx(expected, abs=1e-4)
    raw = gpproj.fit(1e3 * X, 1e-3 * y, standardize=False)
    assert raw.log_marginal_likelihood == pytest.approx(expected, abs=0.5)


def test_pure_noise_is_fitted_without_complaint():
    rng = np.random.default_rng(0)
    ref = gpproj.fit(rng.standard_normal((40, 2)), rng.standard_normal(40))
    assert np.isfinite(ref.log_marginal_likelihood)


def test_another_structure_and_its_values_as_one_more_start():
    X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    ref = gpproj.fit(X, y, kernel=Matern32() + Linear())
    assert ref.kernel.parameters(8) == (Matern32() + Linear()).parameters(8)
    assert ref.optimum.converged.any()
    best = gpproj.fit(X, y)
    again = gpproj.fit(X, y, best.likelihood, kernel=best.kernel)
    assert again.log_marginal_likelihood >= best.log_marginal_likelihood - 1e-6


def test_constant_and_duplicated_columns():
    X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    frame = pd.DataFrame({"a": X[:, 6], "b": 1.0, "c": X[:, 7], "again": X[:, 7]})
    with pytest.warns(UserWarning, match="b.*constant"):
        ref = gpproj.fit(frame, y)
    assert ref.ard_relevance()["b"] == 0.0
    assert np.isfinite(ref.log_marginal_likelihood)


def test_refit_follows_the_same_recipe():
    X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    ref = gpproj.fit(X, y, kernel=Constant() + SquaredExponential(), nugget=1e-3)
    again = ref.refit(X[:40], y[:40])
    assert again.training.n == 40
    assert again.problem.nugget == 1e-3
    assert again.optimum is not None


def test_the_same_data_give_the_same_fit():
    X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    one, two = gpproj.fit(X, y), gpproj.fit(X, y)
    assert one.kernel == two.kernel


def test_fit_runs_under_array_api_strict():
    X, y = gpproj.datasets.toy_sines(n=40, random_state=0)
    X, y = X[:, 5:], y
    host = gpproj.fit(X, y)
    ref = gpproj.fit(array_api_strict.asarray(X), array_api_strict.asarray(y))
    assert ref.log_marginal_likelihood == pytest.approx(host.log_marginal_likelihood, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"likelihood": "cauchy"}, ValueError, "likelihood must be .* got 'cauchy'"),
        ({"likelihood": 3}, ValueError, "likelihood must be"),
        ({"kernel": "se"}, TypeError, "kernel must be"),
        ({"inference": "ep"}, ValueError, "inference=.ep. does not suit"),
        ({"inference": "magic"}, ValueError, "inference must be"),
        ({"nugget": 2.0}, ValueError, "nugget must be"),
        ({"y": [1.0, 1.0, 1.0]}, ValueError, "y"),
        ({"X": [[1.0], [2.0]]}, ValueError, "y|X"),
    ],
)
def test_bad_arguments_are_named(change, error, text):
    arguments = {"X": [[0.0], [1.0], [2.0]], "y": [0.0, 1.0, 0.5]}
    with pytest.raises(error, match=text):
        gpproj.fit(**{**arguments, **change})


def test_a_start_from_the_likelihood_object():
    X, y = gpproj.datasets.toy_sines(n=40, random_state=0)
    ref = gpproj.fit(X, y, likelihood=Gaussian(0.1), kernel=Constant() + SquaredExponential())
    assert ref.noise_variance > 0
