"""Intervals are quantiles of the predictive distribution, and draws are of the joint one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.data import TargetKind
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Bernoulli, Gaussian, NegativeBinomial, Poisson, StudentT
from gpproj.linalg import to_host
from gpproj.prediction import MixedResponses, Part, Prediction

KERNEL = Constant(0.5) + SquaredExponential(0.5, [1.0, 2.0])
NEW = np.array([[0.3, -0.5], [4.0, 0.1], [-0.2, 1.0], [-0.2, 1.2]])


@cache
def reference(likelihood):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    y = f + 0.2 * rng.standard_normal(40)
    if likelihood.kind.has_classes:
        y = np.where(f > 0.0, "yes", "no")
    elif likelihood.kind.takes_exposure:
        y = rng.poisson(np.exp(f + 1.0))
    return gpproj.condition(X, y, KERNEL, likelihood)


@cache
def linear(family="gaussian"):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 2))
    f = X @ [1.0, 0.5]
    y = f if family == "gaussian" else rng.poisson(np.exp(f))
    weights = [1.0, 0.5] + 0.3 * rng.standard_normal((40, 2))
    noise = rng.uniform(0.1, 0.4, 40) if family == "gaussian" else None
    return gpproj.from_linear_draws(X, y, weights, noise, family)


def responses(*parts):
    """Make predictions of one row from weights, means and variances."""
    made = [
        Part(weight, Prediction(np.array([mean]), np.array([variance])), likelihood)
        for weight, mean, variance, likelihood in parts
    ]
    return MixedResponses(made, None)


MIXTURES = {
    "two humps": responses((0.3, -4.0, 0.1, Gaussian(0.2)), (0.7, 3.0, 1.0, Gaussian(0.5))),
    "far apart": responses((0.5, -1e3, 0.0, Gaussian(1e-2)), (0.5, 1e3, 0.0, Gaussian(1e-2))),
    "narrow and wide": responses((0.96, 0.0, 0.0, Gaussian(1e-8)), (0.04, 0.0, 1.0, Gaussian(9.0))),
    "heavy tails": responses((1.0, 2.0, 0.5, StudentT(0.3))),
    "one": responses((1.0, 2.0, 0.5, Gaussian(0.25))),
}


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("share", [1e-4, 0.025, 0.3, 0.5001, 0.975])
def test_quantiles_have_their_share_below_them(name, share):
    found = MIXTURES[name].quantiles((share,))[0]
    below = sum(
        part.weight * part.likelihood.cumulative(found, *part.latent)[0]
        for part in MIXTURES[name].parts
    )
    assert below == pytest.approx(share, abs=1e-9)


def test_quantiles_of_rows_do_not_feel_each_other():
    two = [
        Part(0.4, Prediction(np.array([0.0, 9.0]), np.array([1.0, 2.0])), Gaussian(0.1)),
        Part(0.6, Prediction(np.array([2.0, -9e5]), np.array([0.1, 1e9])), Gaussian(0.1)),
    ]
    both = MixedResponses(two, None).quantiles((0.025, 0.9))
    for row in range(2):
        alone = [
            part._replace(latent=Prediction(*(own[[row]] for own in part.latent))) for part in two
        ]
        found = MixedResponses(alone, None).quantiles((0.025, 0.9))
        np.testing.assert_array_equal(found[:, 0], both[:, row])


@pytest.mark.parametrize("dispersion", [None, 1e-9, 0.4])
def test_intervals_of_counts_hold_what_they_say(dispersion):
    likelihood = Poisson() if dispersion is None else NegativeBinomial(dispersion)
    kernel = Constant(0.5) + SquaredExponential(0.5, 1.0)
    X, y = np.linspace(0.0, 3.0, 12)[:, None], np.arange(12) % 5 + 1
    ref = gpproj.condition(X, y, kernel, likelihood)
    new, exposure = np.array([[1.0], [9.0], [2.0]]), [0.02, 1.0, 100.0]
    counts = np.arange(5000)
    for level in (0.5, 0.95):
        lower, upper = ref.predict_interval(new, level, exposure)
        for row, k_low, k_high in zip(range(3), lower, upper, strict=True):
            one = np.repeat(new[[row]], counts.size, axis=0)
            every = np.exp(ref.log_density(one, counts, np.full(counts.size, exposure[row])))
            below = np.cumsum(every)
            assert below[-1] == pytest.approx(1.0, abs=1e-3)
            for k, share in ((k_low, 0.5 - level / 2), (k_high, 0.5 + level / 2)):
                assert below[int(k)] >= share - 1e-3
                assert k == 0 or below[int(k) - 1] < share + 1e-3


class StrangeCounts:
    """A likelihood of somebody else."""

    kind = TargetKind.COUNT

    def __repr__(self):
        return "StrangeCounts()"


def test_counts_of_other_likelihoods_have_no_quantiles():
    latent = Prediction(np.zeros(1), np.ones(1))
    found = MixedResponses([Part(1.0, latent, StrangeCounts())], np.zeros(1))
    with pytest.raises(TypeError, match="quantiles of the counts of StrangeCounts"):
        found.quantiles((0.5,))


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_intervals_of_linear_models_are_those_of_their_draws(family):
    ref = linear(family)
    lower, upper = ref.predict_interval(NEW, 0.8)
    drawn = ref.sample(NEW, 40_000, 0)
    outside = np.mean((drawn < lower) | (drawn > upper), axis=0)
    assert (outside < 0.21).all()
    if family == "gaussian":
        assert (outside > 0.19).all()


def test_intervals_are_in_the_users_units():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.standard_normal((50, 2)), columns=["a", "b"])
    y = 500.0 + 30.0 * X["a"] + 3.0 * rng.standard_normal(50)
    ref = gpproj.fit(X, y, kernel=KERNEL, draws=1, check=False)
    for model in (ref, gpproj.project(ref, ["a"])):
        mean, variance = model.predict_response(X)
        lower, upper = model.predict_interval(X, 0.9)
        np.testing.assert_allclose((upper + lower) / 2.0, mean, rtol=1e-9)
        np.testing.assert_allclose((upper - lower) / 2.0, 1.6448536 * np.sqrt(variance), rtol=1e-6)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, True])
def test_levels_are_probabilities(level):
    with pytest.raises(ValueError, match="level must be between 0 and 1, got"):
        reference(Gaussian(0.04)).predict_interval(NEW, level)


def test_classes_have_no_interval():
    with pytest.raises(TypeError, match="classes have no interval; predict_response gives"):
        reference(Bernoulli()).predict_interval(NEW)


@pytest.mark.parametrize(
    "likelihood",
    [Gaussian(0.04), StudentT(0.04, 5.0), Poisson(), NegativeBinomial(0.3)],
    ids=lambda one: type(one).__name__,
)
def test_draws_have_the_moments_that_are_predicted(likelihood):
    ref = reference(likelihood)
    drawn = ref.sample(NEW, 30_000, 1)
    assert drawn.shape == (30_000, 4)
    mean, variance = ref.predict_response(NEW)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=4.0 * np.sqrt(variance.max() / 3e4))
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.35)
    latent = ref.sample(NEW, 30_000, 1, latent=True)
    mean, variance = ref.predict(NEW)
    np.testing.assert_allclose(latent.mean(axis=0), mean, atol=4.0 * np.sqrt(variance.max() / 3e4))
    np.testing.assert_allclose(latent.var(axis=0), variance, rtol=0.05)


def test_latent_draws_are_joint():
    ref = reference(Gaussian(0.04))
    cov = np.cov(ref.sample(NEW, 40_000, 2, latent=True).T)
    predictor = next(iter(ref._components())).predictor
    np.testing.assert_allclose(cov, to_host(predictor.joint(NEW)[1]), atol=0.02)
    # The last two rows are close to each other, and the second one is far from all.
    correlation = cov / np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
    assert correlation[2, 3] > 0.9
    assert abs(correlation[1, 2]) < 0.1


def test_draws_of_classes_are_labels():
    ref = reference(Bernoulli("logit"))
    drawn = ref.sample(NEW, 20_000, 0)
    assert set(np.unique(drawn)) == {"no", "yes"}
    share = (drawn == "yes").mean(axis=0)
    np.testing.assert_allclose(share, ref.predict_response(NEW).mean, atol=0.015)


def test_draws_of_mixtures_are_of_one_process_each():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 2))
    y = X[:, 0] + 0.3 * rng.standard_normal(40)
    ref = gpproj.fit(X, y, kernel=KERNEL, draws=4, check=False)
    sub = gpproj.project(ref, ["x0"])
    assert sub.clusters == 4
    mean, variance = sub.predict_response(NEW)
    drawn = sub.sample(NEW, 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=4.0 * np.sqrt(variance.max() / 2e4))
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.06)
    np.testing.assert_array_equal(sub.sample(NEW, 7, 5), sub.sample(NEW, 7, 5))


def test_exposures_scale_what_is_drawn():
    ref = reference(Poisson())
    once, often = (ref.sample(NEW, 5000, 0, exposure=np.full(4, own)) for own in (1.0, 50.0))
    np.testing.assert_allclose(often.mean(axis=0) / once.mean(axis=0), 50.0, rtol=0.15)


@pytest.mark.parametrize("draws", [0, 2.5, True])
def test_draws_are_counted(draws):
    with pytest.raises(ValueError, match="draws must be a whole number of at least 1, got"):
        reference(Gaussian(0.04)).sample(NEW, draws)


def test_too_many_rows_are_not_drawn_together():
    with pytest.raises(ValueError, match="X must have at most 10000 rows to be drawn together"):
        reference(Gaussian(0.04)).sample(np.zeros((10_001, 2)))
