"""Expectations over the targets that a model predicts, against closed forms and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from gpproj.data import TargetKind
from gpproj.likelihoods import Bernoulli, Gaussian, NegativeBinomial, Poisson, StudentT
from gpproj.prediction import MixedResponses, Part, Prediction, expected_targets


def mixture(likelihood, *parts):
    """Make a mixture from weights, latent means and variances."""
    offset = None if likelihood.kind is TargetKind.REAL else np.zeros(3)
    made = [
        Part(weight, Prediction(np.array(mean, float), np.array(variance, float)), likelihood)
        for weight, mean, variance in parts
    ]
    return MixedResponses(made, offset)


def divergence(one, other):
    return expected_targets(one, one.parts[0].likelihood.kind).divergence(other)


def test_gaussians_have_a_closed_form():
    one = mixture(Gaussian(0.1), (1.0, [0, 1, 5], [1, 0.1, 3]))
    two = mixture(Gaussian(0.1), (1.0, [0.5, 1, 0], [2, 0.1, 0.3]))
    ratio, away = np.array([1.1 / 2.1, 1.0, 3.1 / 0.4]), np.array([0.25 / 2.1, 0.0, 25.0 / 0.4])
    expected = 0.5 * (ratio - 1.0 - np.log(ratio) + away)
    np.testing.assert_allclose(divergence(one, two), expected, atol=1e-8)


def test_classes_are_summed():
    one = mixture(Bernoulli(), (0.5, [0, 3, 1], [1, 2, 0.1]), (0.5, [1, 3, 1], [1, 2, 0.1]))
    two = mixture(Bernoulli(), (1.0, [0, -3, 1], [1, 2, 0.1]))
    p, q = one.moments().mean, two.moments().mean
    expected = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    np.testing.assert_allclose(divergence(one, two), expected, atol=1e-10)


SIMULATED = {
    "mixed": (Gaussian(0.01), lambda rng, f: f + 0.1 * rng.standard_normal(f.shape)),
    "student": (StudentT(1.0, degrees=4), lambda rng, f: f + rng.standard_t(4, f.shape)),
    "poisson": (Poisson(), lambda rng, f: rng.poisson(np.exp(f))),
    "negative binomial": (
        NegativeBinomial(0.3),
        lambda rng, f: rng.poisson(np.exp(f) * rng.gamma(1 / 0.3, 0.3, f.shape)),
    ),
}


@pytest.mark.parametrize("name", SIMULATED)
def test_others_against_simulation(name):
    """Narrow beside wide ones, small and large counts."""
    likelihood, draw = SIMULATED[name]
    one = mixture(likelihood, (0.5, [0, 3, 6], [0.5, 0.01, 1]), (0.5, [1, 4, 6], [0.1, 0.01, 1]))
    two = mixture(likelihood, (1.0, [0.5, 3.2, 6], [0.5, 0.3, 0.4]))
    rng, m = np.random.default_rng(0), 20_000
    first = rng.random((m, 3)) < 0.5
    mean = np.where(first, [0.0, 3.0, 6.0], [1.0, 4.0, 6.0])
    variance = np.where(first, [0.5, 0.01, 1.0], [0.1, 0.01, 1.0])
    y = draw(rng, mean + rng.standard_normal((m, 3)) * np.sqrt(variance)).astype(float)
    lost = one.log_density(y) - two.log_density(y)
    error = 4.0 * lost.std(axis=0) / np.sqrt(m)
    found = divergence(one, two)
    assert (np.abs(found - lost.mean(axis=0)) < error + 0.03 * found).all()


def test_weights_are_those_of_the_model():
    one = mixture(Poisson(), (1.0, [0, 2, 5], [0.1, 0.1, 0.1]))
    found = expected_targets(one, TargetKind.COUNT)
    np.testing.assert_allclose(found.weights.sum(axis=0), 1.0)
    mean = np.sum(found.weights * found.y, axis=0)
    np.testing.assert_allclose(mean, one.moments().mean, rtol=0.01)
    np.testing.assert_array_equal(divergence(one, one), 0.0)
