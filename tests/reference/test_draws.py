"""A reference with several draws of its hyperparameters: moments, predictions, leave-one-out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.reference.draws import Draws, clusters_of, integrate, latent_means

STRUCTURE = Constant() + SquaredExponential()
NUGGET = 1e-3
# constant variance, signal variance, two length-scales, noise variance
VALUES = np.array(
    [
        [1.0, 2.0, 0.7, 3.0, 0.10],
        [0.2, 5.0, 1.2, 2.0, 0.30],
        [3.0, 0.8, 0.5, 9.0, 0.05],
    ]
)
WEIGHTS = np.array([0.2, 0.5, 0.3])


def make_data(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, 1.0 + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n)


def kernel_of(values):
    return Constant(values[0]) + SquaredExponential(values[1], values[2:-1])


def singles(X, y, values=VALUES, standardize=False):
    return [
        gpproj.condition(
            X, y, kernel_of(one), Gaussian(one[-1]), standardize=standardize, nugget=NUGGET
        )
        for one in values
    ]


def mixed(references, weights=WEIGHTS):
    parameters = np.vstack([one.draws.parameters for one in references])
    return replace(references[0], draws=Draws(parameters, np.asarray(weights)))


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "standardised"])
def single(request, data):
    return singles(*data, standardize=request.param)


@pytest.fixture(scope="module")
def ref(single):
    return mixed(single)


def brute(X, y, values):
    """Latent posterior at the training inputs from explicit matrices."""
    scaled = (X[:, None, :] - X[None, :, :]) / values[2:-1]
    K = values[0] + values[1] * np.exp(-0.5 * np.sum(scaled**2, axis=-1))
    K += NUGGET * values[-1] * np.eye(len(y))
    gain = np.linalg.solve(K + values[-1] * np.eye(len(y)), K)
    return gain.T @ y, K - K @ gain


def test_integrated_moments_are_those_of_the_mixture(data):
    X, y = data
    ref = mixed(singles(X, y))
    mean, cov, likelihood, *_ = integrate(ref.problem, ref.draws)
    noise = likelihood.variance
    found = [brute(X, y, one) for one in VALUES]
    centre = sum(w * m for w, (m, _) in zip(WEIGHTS, found, strict=True))
    second = sum(w * (S + np.outer(m, m)) for w, (m, S) in zip(WEIGHTS, found, strict=True))
    np.testing.assert_allclose(mean, centre, rtol=0, atol=1e-10)
    np.testing.assert_allclose(cov, second - np.outer(centre, centre), rtol=0, atol=1e-10)
    assert noise == pytest.approx(WEIGHTS @ VALUES[:, -1], rel=1e-12)
    np.testing.assert_allclose(ref.latent_mean, centre, rtol=0, atol=1e-10)
    assert ref.noise_variance == pytest.approx(noise)
    target = ref.target
    np.testing.assert_allclose(target.site_precision, 1 / noise)
    np.testing.assert_allclose(target.site_shift, y / noise)
    assert target.nugget == pytest.approx(NUGGET * noise)


def test_integrated_moments_are_in_the_users_units(single, ref):
    means = np.stack([one.latent_mean for one in single])
    np.testing.assert_allclose(ref.latent_mean, WEIGHTS @ means, rtol=1e-10)
    away = means - WEIGHTS @ means
    within = sum(w * np.asarray(one.latent_cov) for w, one in zip(WEIGHTS, single, strict=True))
    expected = within + (WEIGHTS[:, None] * away).T @ away
    np.testing.assert_allclose(ref.latent_cov, expected, rtol=0, atol=1e-10)
    assert ref.noise_variance == pytest.approx(WEIGHTS @ VALUES[:, -1], rel=1e-12)
    assert ref.likelihood.variance == ref.noise_variance


def test_the_kernel_is_at_the_mean_of_the_logarithms(single, ref):
    expected = np.exp(WEIGHTS @ np.log(VALUES))
    np.testing.assert_allclose(np.exp(ref.kernel.log_parameters(2)), expected[:-1], rtol=1e-10)
    X, y = make_data()
    standardize = ref.training.scaling.target_scale != 1.0
    (central,) = singles(X, y, [expected], standardize)
    assert ref.log_marginal_likelihood == pytest.approx(central.log_marginal_likelihood, rel=1e-10)


def test_predictions_are_those_of_the_mixture(single, ref):
    X, y = make_data(n=7, seed=1)
    for name in ("predict", "predict_response"):
        found = [getattr(one, name)(X) for one in single]
        means = np.stack([one.mean for one in found])
        variances = np.stack([one.variance for one in found])
        mean, variance = getattr(ref, name)(X)
        np.testing.assert_allclose(mean, WEIGHTS @ means, rtol=1e-10)
        spread = WEIGHTS @ (variances + (means - WEIGHTS @ means) ** 2)
        np.testing.assert_allclose(variance, spread, rtol=1e-9)
    densities = np.stack([one.log_density(X, y) for one in single])
    expected = logsumexp(densities, b=WEIGHTS[:, None], axis=0)
    np.testing.assert_allclose(ref.log_density(X, y), expected, rtol=1e-10)


def test_one_draw_is_a_reference_as_any_other(single):
    one = mixed(single[:1], [1.0])
    X, _ = make_data(n=4, seed=2)
    np.testing.assert_array_equal(one.predict(X).mean, single[0].predict(X).mean)
    np.testing.assert_array_equal(one.loo().log_density, single[0].loo().log_density)
    assert len(one.clustered_draws("draws")) == 1
    assert "draws" not in repr(one)
    assert "draws=3" in repr(mixed(single))


def left_out(X, y, values, weights):
    """Leave-one-out of a mixture from refits: each draw weighs w / p(y_i | y_-i, theta).

    The last row is the density with the weights as they were.
    """
    mean, variance, density, held = np.empty((4, len(y)))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        found = [one.predict_response(X[[i]]) for one in singles(X[rest], y[rest], values)]
        m = np.array([one.mean[0] for one in found])
        v = np.array([one.variance[0] for one in found])
        p = norm(m, np.sqrt(v)).pdf(y[i])
        w = weights / p / np.sum(weights / p)
        mean[i] = w @ m
        variance[i] = w @ (v + (m - mean[i]) ** 2)
        density[i], held[i] = np.log(w @ p), np.log(weights @ p)
    return mean, variance, density, held


def test_leave_one_out_weighs_the_draws_anew(data):
    """Tails of fewer than five draws are not smoothed, so that the weights are exact."""
    pytest.importorskip("arviz")
    X, y = data
    ref = mixed(singles(X, y))
    for found, expected in zip(ref.loo(), left_out(X, y, VALUES, WEIGHTS)[:3], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-8)
    other = mixed(singles(X, y), WEIGHTS[::-1])
    assert np.abs(other.loo().log_density - ref.loo().log_density).max() > 1e-3


def test_leave_one_out_of_many_draws_is_smoothed():
    """Only the largest weights are replaced, by expected order statistics of their tail: with
    draws this close together the smoothed sums differ from the raw ones by little.
    """
    pytest.importorskip("arviz")
    X, y = make_data(n=10)
    rng = np.random.default_rng(3)
    values = VALUES[1] * np.exp(0.3 * rng.standard_normal((60, 5)))
    weights = rng.uniform(0.5, 1.5, 60)
    weights /= weights.sum()
    ref = mixed(singles(X, y, values), weights)
    mean, variance, density, held = left_out(X, y, values, weights)
    found = ref.loo()
    np.testing.assert_allclose(found.mean, mean, rtol=0, atol=0.02)
    np.testing.assert_allclose(found.variance, variance, rtol=0.02)
    np.testing.assert_allclose(found.log_density, density, rtol=0, atol=0.02)
    assert np.abs(found.log_density - density).max() > 1e-6
    assert np.abs(held - density).max() > 0.1


def test_leave_one_out_is_in_the_users_units(data):
    pytest.importorskip("arviz")
    X, y = data
    one = mixed(singles(X, y, standardize=True))
    changed = VALUES * [4.0**2, 4.0**2, 1.0, 1.0, 4.0**2]
    other = mixed(singles(X, 4.0 * y + 3.0, changed, standardize=True))
    found, expected = other.loo(), one.loo()
    np.testing.assert_allclose(found.mean, 4.0 * expected.mean + 3.0, rtol=1e-9)
    np.testing.assert_allclose(found.variance, 16.0 * expected.variance, rtol=1e-9)
    np.testing.assert_allclose(found.log_density, expected.log_density - np.log(4.0), rtol=1e-9)


def test_draws_are_weighted(data):
    draws = Draws(np.log(VALUES), WEIGHTS)
    assert draws.count == 3
    np.testing.assert_allclose(draws.centre, WEIGHTS @ np.log(VALUES))
    some = draws.take(np.array([2, 0]))
    np.testing.assert_array_equal(some.weights, [0.3, 0.2])
    np.testing.assert_allclose(some.normalised().weights, [0.6, 0.4])
    np.testing.assert_allclose(some.centre, [0.6, 0.4] @ np.log(VALUES)[[2, 0]])
    np.testing.assert_array_equal(some.parameters, np.log(VALUES)[[2, 0]])
    assert [weight for _, weight in draws] == WEIGHTS.tolist()
    np.testing.assert_allclose(Draws.equal(np.log(VALUES)).weights, 1 / 3)


def test_draws_that_predict_alike_are_clustered(data):
    X, y = data
    rng = np.random.default_rng(4)
    near = VALUES[[0, 2, 0, 2, 2]] * np.exp(0.02 * rng.standard_normal((5, 5)))
    ref = mixed(singles(X, y, near), [0.1, 0.3, 0.2, 0.2, 0.2])
    means = latent_means(ref.problem, ref.draws)
    np.testing.assert_allclose(means, [brute(X, y, one)[0] for one in near], rtol=0, atol=1e-10)
    found = clusters_of(ref.problem, ref.draws, 2)
    assert [rows.tolist() for rows in found] == [[0, 2], [1, 3, 4]]
    assert [rows.tolist() for rows in clusters_of(ref.problem, ref.draws, 9)] == [
        [0], [1], [2], [3], [4]
    ]  # fmt: skip
    assert clusters_of(ref.problem, ref.draws, 1)[0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [([1 / 3, 1 / 3, 1 / 3], [[0, 1], [2]]), ([0.49, 0.49, 0.02], [[0], [1, 2]])],
)
def test_heavy_draws_count_for_more_in_clusters(data, monkeypatch, weights, expected):
    monkeypatch.setattr(
        "gpproj.reference.draws.latent_means",
        lambda problem, draws: np.array([[0.0], [1.0], [2.1]]),
    )
    ref = mixed(singles(*data), weights)
    assert [rows.tolist() for rows in clusters_of(ref.problem, ref.draws, 2)] == expected


def test_shares_hold_the_moments_of_their_draws(data):
    X, y = data
    rng = np.random.default_rng(5)
    near = VALUES[[0, 2, 0]] * np.exp(0.02 * rng.standard_normal((3, 5)))
    ref = mixed(singles(X, y, near), [0.2, 0.5, 0.3])
    first, second = (ref.cluster_of(draws) for draws in ref.clustered_draws(2))
    assert (first.weight, second.weight) == pytest.approx((0.5, 0.5))
    assert first.likelihood.variance == pytest.approx(0.4 * near[0, -1] + 0.6 * near[2, -1])
    np.testing.assert_allclose(first.known, 0.4 * np.log(near[0]) + 0.6 * np.log(near[2]))
    mean, cov = brute(X, y, near[1])
    np.testing.assert_allclose(second.target.latent_mean, mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(second.target.latent_cov, cov, rtol=0, atol=1e-10)
    np.testing.assert_allclose(second.target.site_precision, 1 / near[1, -1])
    total = sum(component.weight * component.target.latent_mean for component in (first, second))
    np.testing.assert_allclose(total, ref.latent.latent_mean, rtol=0, atol=1e-12)
    for clusters in (1, None):
        (everything,) = (ref.cluster_of(draws) for draws in ref.clustered_draws(clusters))
        assert everything.target is ref.target
        assert everything.weight == 1.0
        np.testing.assert_allclose(everything.known, ref.draws.centre)
