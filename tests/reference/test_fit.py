"""`fit`: the optimum it should find, and the collapse it must not."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import Constant, Linear, Matern32, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.priors import prior_of, scales
from gpproj.reference import fit_starts
from gpproj.reference.fit_starts import starts_by_input
from gpproj.reference.log_posterior import LogPosterior
from tests.fitting import fit_mode


def test_the_optimum_of_the_oracle(oracle):
    figures = oracle("regression")
    case = figures["mml_optimum"][0]
    ref = fit_mode(figures["inputs"]["X"], case["y"], standardize=False, prior=None)
    best = case["polished_numpy"]
    assert -ref.log_marginal_likelihood == pytest.approx(best["nlml"], abs=1e-6)
    found = np.append(
        ref.kernel.log_parameters(4), np.log(ref.noise_variance * (1 + ref.problem.nugget))
    )
    np.testing.assert_allclose(found, best["log_theta"], atol=2e-2)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
def test_the_toy_example_does_not_collapse_to_noise(seed):
    X, y = gpproj.datasets.toy_sines(n=300, random_state=seed)
    ref = fit_mode(X, y, prior=None)
    assert 0.15 < np.sqrt(ref.noise_variance) < 0.6
    relevance = ref.ard_relevance()
    assert relevance.max() == 1.0
    assert relevance.iloc[:2].max() < 0.35 < relevance.iloc[6:].min()


def test_units_do_not_matter():
    X, y = gpproj.datasets.toy_sines(n=80, random_state=3)
    plain = fit_mode(X, y)
    moved = fit_mode(1e3 * X + 7, 1e-3 * y - 50)
    np.testing.assert_allclose(moved.ard_relevance(), plain.ard_relevance(), rtol=1e-2, atol=1e-3)
    expected = plain.log_marginal_likelihood + len(y) * np.log(1e3)
    assert moved.log_marginal_likelihood == pytest.approx(expected, abs=1e-4)
    raw = fit_mode(1e3 * X, 1e-3 * y, standardize=False)
    assert raw.log_marginal_likelihood == pytest.approx(expected, abs=0.5)


def test_pure_noise_is_fitted_without_complaint():
    rng = np.random.default_rng(0)
    ref = fit_mode(rng.standard_normal((40, 2)), rng.standard_normal(40))
    assert np.isfinite(ref.log_marginal_likelihood)


def test_another_structure_and_its_values_as_one_more_start():
    X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    ref = fit_mode(X, y, kernel=Matern32() + Linear())
    assert ref.kernel.parameters(8) == (Matern32() + Linear()).parameters(8)
    assert ref.optimum.converged.any()
    best = fit_mode(X, y)
    again = fit_mode(X, y, best.likelihood, kernel=best.kernel)
    assert again.log_marginal_likelihood >= best.log_marginal_likelihood - 1e-6


def test_constant_and_duplicated_columns():
    X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    frame = pd.DataFrame({"a": X[:, 6], "b": 1.0, "c": X[:, 7], "again": X[:, 7]})
    with pytest.warns(UserWarning, match="b.*constant"):
        ref = fit_mode(frame, y)
    assert ref.ard_relevance()["b"] == 0.0
    assert np.isfinite(ref.log_marginal_likelihood)


@pytest.mark.parametrize("standardize", [True, False])
def test_a_constant_column_changes_nothing(standardize):
    X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    X = X[:, 5:]
    plain = fit_mode(X, y, standardize=standardize)
    with pytest.warns(UserWarning, match="constant"):
        more = fit_mode(np.insert(X, 1, 7.0, axis=1), y, standardize=standardize)
    assert more.log_marginal_likelihood == pytest.approx(plain.log_marginal_likelihood, abs=1e-6)
    assert more.ard_relevance().iloc[1] == 0.0
    np.testing.assert_allclose(
        np.delete(more.ard_relevance(), 1), plain.ard_relevance(), rtol=1e-3, atol=1e-6
    )
    new = X[:7] + 0.1
    found, expected = more.predict(np.insert(new, 1, -3.0, axis=1)), plain.predict(new)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-4)
    np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-3)


def fast_sine():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (180, 10))
    return X, np.sin(14.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(180)


def log_posterior(ref, prior):
    """The log marginal likelihood in units of the model, with the log prior."""
    found = ref.log_marginal_likelihood + ref.training.n * np.log(ref.training.scaling.target_scale)
    if prior is None:
        return found
    joint = prior_of(prior, ref.structure, scales(ref.training), ("noise_variance",))
    mask = np.asarray(ref.training.varying)[None, :]
    return found + joint(ref.draws.parameters, mask).value[0]


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, "weak"])
def test_a_fast_sine_among_ten_inputs_is_found(prior, monkeypatch):
    """From smooth functions of all inputs no optimiser gets there: each input is looked along."""
    X, y = fast_sine()
    ref = fit_mode(X, y, prior=prior)
    assert ref.ard_relevance().idxmax() == "x0"
    assert np.sqrt(ref.noise_variance) < 0.2
    # The fit to the two inputs that matter, where the others are as good as out.
    small = fit_mode(X[:, :2], y, prior=prior)
    for far in (100.0, 1e4):
        lengthscales = np.append(small.kernel.right.lengthscales, np.full(8, far))
        smooth = SquaredExponential(small.kernel.right.variance, lengthscales)
        kernel = Constant(small.kernel.left.variance) + smooth
        known = gpproj.condition(X, y, kernel, small.likelihood, standardize=True)
        assert log_posterior(ref, prior) > log_posterior(known, prior) - 1e-3
    assert known.log_marginal_likelihood == pytest.approx(small.log_marginal_likelihood, abs=0.01)

    monkeypatch.setattr(fit_starts, "starts_by_input", lambda posterior: np.empty((0, 13)))
    blind = fit_mode(X, y, prior=prior)
    assert log_posterior(blind, prior) < log_posterior(ref, prior) - 20.0


def test_the_most_promising_inputs_have_starts_of_their_own():
    X, y = fast_sine()
    kernel = Constant() + SquaredExponential()
    ref = gpproj.condition(X, y, kernel, Gaussian(0.1), standardize=True)
    starts = starts_by_input(LogPosterior(ref.problem, scales(ref.training), "weak"))
    assert starts.shape == (fit_starts.KEPT, 13)
    assert np.all(np.argmin(starts[:, 2:-1], axis=1) == 0)
    # Without length-scales of their own there is nothing to look along.
    linear = gpproj.condition(X, y, Constant() + Linear(), Gaussian(0.1), standardize=True)
    posterior = LogPosterior(linear.problem, scales(linear.training), "weak")
    assert starts_by_input(posterior).shape == (0, 12)


def useless(n=60):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 3))
    return X, 3.0 * X[:, 0] + 0.01 * rng.standard_normal(n)


def test_an_input_that_is_useless_can_be_switched_off(tmp_path):
    """With a large signal it acts at the largest length-scale that is allowed: off is better."""
    X, y = useless()
    ref = fit_mode(X, y, prior=None)
    assert ref.problem.mask.tolist() == [True, False, False]
    assert ref.ard_relevance().tolist() == [1.0, 0.0, 0.0]
    assert ref.optimum.converged.any()
    new = np.random.default_rng(4).standard_normal((5, 3))
    changed = new + np.array([0.0, 100.0, -100.0])
    expected = ref.predict(new).mean
    np.testing.assert_array_equal(ref.predict(changed).mean, expected)
    # The same kernel with all inputs in is no better.
    with_all = gpproj.condition(X, y, ref.kernel, ref.likelihood, standardize=True)
    assert ref.log_marginal_likelihood > with_all.log_marginal_likelihood
    alone = fit_mode(X[:, :1], y, prior=None)
    assert ref.log_marginal_likelihood == pytest.approx(alone.log_marginal_likelihood, abs=1e-3)
    ref.save(tmp_path / "reference")
    loaded = gpproj.load(tmp_path / "reference")
    assert loaded.problem.mask.tolist() == [True, False, False]
    np.testing.assert_allclose(loaded.predict(changed).mean, expected, rtol=1e-10)


def test_submodels_may_use_an_input_that_is_switched_off():
    ref = fit_mode(*useless(), prior=None)
    path = gpproj.forward_search(ref, progress=False)
    assert path.order[0] == "x0"
    assert len(path.order) == 3
    sub = gpproj.project(ref, ["x1"])
    assert sub.loo_divergence == pytest.approx(path.null_error, rel=0.1)
    assert gpproj.project(ref, ["x0"]).loo_divergence == pytest.approx(0.0, abs=1e-4)


def test_inputs_of_use_stay():
    X, y = gpproj.datasets.toy_sines(n=80, random_state=1)
    assert fit_mode(X[:, 5:], y).problem.mask.all()
    # What all inputs do is not told from what they do together: one of them stays.
    rng = np.random.default_rng(0)
    noise = fit_mode(rng.standard_normal((40, 2)), rng.standard_normal(40), prior=None)
    assert noise.problem.mask.any()


def test_refit_follows_the_same_recipe():
    X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    ref = fit_mode(X, y, kernel=Constant() + SquaredExponential(), nugget=1e-3)
    again = ref.refit(X[:40], y[:40])
    assert again.training.n == 40
    assert again.problem.nugget == 1e-3
    assert again.optimum is not None


def test_the_same_data_give_the_same_fit():
    X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    one, two = fit_mode(X, y), fit_mode(X, y)
    assert one.kernel == two.kernel


def test_fit_runs_under_array_api_strict():
    X, y = gpproj.datasets.toy_sines(n=40, random_state=0)
    X, y = X[:, 5:], y
    host = fit_mode(X, y)
    ref = fit_mode(array_api_strict.asarray(X), array_api_strict.asarray(y))
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
        fit_mode(**{**arguments, **change})


def test_a_start_from_the_likelihood_object():
    X, y = gpproj.datasets.toy_sines(n=40, random_state=0)
    ref = fit_mode(X, y, likelihood=Gaussian(0.1), kernel=Constant() + SquaredExponential())
    assert ref.noise_variance > 0
