"""Inputs that are off in some of the draws of a fit, and rows that are copies."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import betaln, logsumexp

import gpproj
from gpproj.data import copies_of
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.priors import LogNormal, SparseScales, scales
from gpproj.reference.draws import Draws
from gpproj.reference.fewer_inputs import (
    AT_LEAST,
    _eliminated,
    _weighed,
    with_modes_on_fewer_inputs,
)
from gpproj.reference.fit_starts import default_starts
from gpproj.reference.log_posterior import LogPosterior
from gpproj.reference.modes import AWAY, modes_of

HELD = 1e-3
PRIOR = {
    "lengthscale": SparseScales(),
    "signal_variance": LogNormal(1.0, HELD),
    "noise_variance": LogNormal(0.1, HELD),
}


def one_of_many(seed=0, n=30, d=60):
    """One linear input among many, few rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 200, d))
    y = 2.0 * X[:, 3] + 0.3 * rng.standard_normal(n + 200)
    return X[:n], y[:n], X[n:], y[n:]


def posterior_of(X, y, prior="saas"):
    ref = gpproj.condition(X, y, SquaredExponential(), Gaussian(0.1), standardize=True)
    return LogPosterior(ref.problem, scales(ref.training), prior)


def evidence_on_a_grid(posterior, mode):
    """The log evidence of a set with all but its length-scales held, under the normalised prior."""
    inside = 1 + np.flatnonzero(posterior.problem.mask)
    axis = np.linspace(-4.6, 9.2, 70)
    grid = np.stack(np.meshgrid(*[axis] * inside.size, indexing="ij"), -1).reshape(-1, inside.size)
    points = np.tile(mode.parameters, (len(grid), 1))
    points[:, inside] = grid
    k = inside.size
    prior = k * np.log(0.5 * np.pi) + np.log(np.pi) - betaln(0.5, 0.5 * (k + 1))
    cell = k * np.log(axis[1] - axis[0])
    return logsumexp(posterior.density()(points).value) + cell - prior


def test_sets_are_weighed_by_their_evidence():
    """Against quadrature, over the one length-scale and over both."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 2))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(40)
    whole = posterior_of(X, y, PRIOR)
    alone = whole.with_problem(mask=np.array([True, False]))
    found, expected = [], []
    for own, size in ((alone, 1), (whole, 2)):
        mode = modes_of(own, own.maximise(default_starts(own)))[0]
        found.append(_weighed(own, [mode])[0].log_mass)
        sets = {1: 2, 2: 1}[size]  # of that size
        expected.append(evidence_on_a_grid(own, mode) - np.log(sets * (size + 1)))
    # Beyond the box of the grid is some of the prior's mass: tails of length-scales that are off.
    assert found[0] - found[1] == pytest.approx(expected[0] - expected[1], abs=0.35)


def test_an_elimination_passes_nested_sets_and_keeps_what_acts():
    X, y, _, _ = one_of_many(d=20)
    posterior = posterior_of(X, y)
    best = posterior.maximise(default_starts(posterior))
    passed = [own.problem.mask for own, _ in _eliminated(posterior, best.x[0])]
    assert [int(mask.sum()) for mask in passed] == [13, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert all(np.all(large[small]) for large, small in pairwise(passed))
    assert np.flatnonzero(passed[-1]).tolist() == [3]


def test_other_priors_have_no_sets():
    X, y, _, _ = one_of_many(d=5)
    posterior = posterior_of(X, y, "weak")
    modes = modes_of(posterior, posterior.maximise(default_starts(posterior)))
    assert with_modes_on_fewer_inputs(posterior, modes) == modes
    assert gpproj.fit(X, y, prior="weak", check=False).draws.off is None


@pytest.mark.parametrize("seed", range(3))
def test_useless_inputs_do_not_spoil_a_fit(seed):
    X, y, X_new, y_new = one_of_many(seed, d=100)
    ref = gpproj.fit(X, y, check=False)
    known = gpproj.fit(X[:, [3]], y, check=False)
    behind = known.log_density(X_new[:, [3]], y_new).mean() - ref.log_density(X_new, y_new).mean()
    assert behind < 0.1
    # A third of the draws has all inputs in all the same, and these alone are worse.
    on = ~ref.draws.off.any(axis=1)
    assert 1 <= on.sum() <= np.ceil(16 * AT_LEAST)
    assert ref.used[3]
    assert ref.used.sum() <= 3
    assert np.array_equal(ref.ard_relevance().to_numpy() > 0.0, ref.used)


def test_what_is_off_in_a_draw_is_off_to_the_last_digits():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((2, 30, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(30)
    kernel = Constant() + SquaredExponential(1e5, [30.0, 1.0, 1.0])  # a very large signal variance
    both = gpproj.condition(X, y, kernel, Gaussian(1e-4))
    posterior = LogPosterior(both.problem, scales(both.training), "saas")
    parameters = both.draws.parameters.copy()
    parameters[0, 3:5] = posterior.bounds.upper[3:5]
    at_bound = replace(both, draws=Draws.equal(parameters))
    parameters = parameters.copy()
    parameters[0, 3:5] += AWAY
    off = replace(both, draws=Draws.equal(parameters))
    single = SquaredExponential(1e5, [30.0])
    alone = gpproj.condition(X[:, :1], y, Constant() + single, Gaussian(1e-4))
    expected = alone.predict(new[:, :1])
    # The process has ten digits less than the signal variance.
    np.testing.assert_allclose(off.predict(new).mean, expected.mean, atol=1e-5)
    np.testing.assert_allclose(off.predict(new).variance, expected.variance, rtol=1e-4)
    # At the bound of length-scales they still act.
    assert not np.allclose(at_bound.predict(new).variance, expected.variance, rtol=0.03)


def test_the_centre_of_draws_is_of_those_in_which_an_input_acts():
    parameters = np.array([[0.0, 1.0, 20.0], [2.0, 3.0, 20.0], [4.0, 20.0, 5.0]])
    off = parameters == 20.0
    draws = Draws(parameters, np.array([0.25, 0.5, 0.25]), off)
    np.testing.assert_allclose(draws.centre, [2.0, (0.25 + 1.5) / 0.75, 20.0])
    assert draws.mostly_off.tolist() == [False, False, True]
    some = draws.take(np.array([2]))
    np.testing.assert_allclose(some.normalised().centre, parameters[2])
    assert some.mostly_off.tolist() == [False, True, False]


def test_draws_with_inputs_off_are_saved(tmp_path):
    X, y, X_new, _ = one_of_many()
    ref = gpproj.fit(X, y, check=False)
    ref.save(tmp_path / "ref")
    again = gpproj.load(tmp_path / "ref")
    np.testing.assert_array_equal(again.draws.off, ref.draws.off)
    np.testing.assert_array_equal(again.predict(X_new).mean, ref.predict(X_new).mean)
    assert np.array_equal(again.used, ref.used)


def test_submodels_of_a_fit_with_inputs_off():
    """The submodel on all inputs is close to it, and the search takes the one that acts."""
    X, y, X_new, y_new = one_of_many(d=8)
    ref = gpproj.fit(X, y, check=False)
    assert ref.draws.off is not None
    path = gpproj.forward_search(ref, 2, progress=False)
    assert path.order[0] == "x3"
    sub = path.best(1)
    assert sub.log_density(X_new, y_new).mean() > ref.log_density(X_new, y_new).mean() - 0.05
    # An input that is off in most draws starts as one that hardly acts, and finds its way.
    useless = gpproj.project(ref, ["x0", "x3"], clusters=1)
    assert useless.converged
    assert useless.loo_divergence < path.submodel(1, 1).loo_divergence + 5e-3


# Copies ----------------------------------------------------------------------------------------


def twins(seed=0, n=90):
    """Whole numbers, and every third row there twice."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = np.round(5.6 + 0.6 * X[:, 0] - 0.4 * X[:, 1] + 0.6 * rng.standard_normal(n))
    again = np.arange(1, n, 3)
    X[again], y[again] = X[again - 1], y[again - 1]
    return X, y


@pytest.mark.parametrize("seed", range(2))
def test_copies_are_no_evidence_of_no_noise(seed):
    X, y = twins(seed)
    first = np.unique(copies_of(X, y))
    assert first.size == 60
    ref, single = gpproj.fit(X, y, check=False), gpproj.fit(X[first], y[first], check=False)
    assert ref.noise_variance == pytest.approx(single.noise_variance, rel=0.1)
    assert ref.training.n == 90
    assert any("repeat the inputs and the target" in text for text in ref.check().problems)


def test_rows_that_are_equal_by_chance_are_no_copies():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(80, 2)).astype(float)  # a designed experiment
    y = np.round(X[:, 0] + rng.standard_normal(80))
    assert copies_of(X, y) is None
    posterior = posterior_of(X, y)
    assert posterior.without_copies() is posterior
    assert copies_of(np.eye(4), np.ones(4)) is None


def test_copies_of_classes_count():
    X, y = twins()
    ref = gpproj.fit(X, (y > 5).astype(int), "probit", draws=1, check=False)
    assert ref.problem.y.shape == (90,)
    posterior = LogPosterior(ref.problem, scales(ref.training), "weak")
    assert posterior.without_copies() is posterior


def test_draws_of_copies_count_them_once():
    pytest.importorskip("nutpie")
    X, y = twins(1)
    ref = gpproj.sample(X, y, draws=40, tune=60, chains=1, random_state=0, progress=False)
    assert ref.training.n == 90
    assert ref.noise_variance > 0.2
