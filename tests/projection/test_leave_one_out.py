"""The divergence between leave-one-out predictions: rows left out by hand, and differences."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

import gpproj
from gpproj.inference import Sparse
from gpproj.kernels import Constant, Linear, Matern32, SquaredExponential
from gpproj.likelihoods import Gaussian, Poisson
from gpproj.projection import CRITERIA, OBJECTIVES, ProjectionOptions, mask_of, projector_of
from gpproj.reference import LeaveOneOut
from tests.fitting import fit_mode

N, D = 25, 3
LOO = OBJECTIVES["loo"]
KERNEL = Constant(0.5) + SquaredExponential(1.5, [0.8, 1.5, 3.0])
MASKS = np.array([[True, True, True], [True, False, True], [False, True, False]])


def data(repeats=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    if repeats:
        X[-repeats:] = X[:repeats]
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(N)


def reference(kernel=KERNEL, noise=0.2, repeats=0):
    return gpproj.condition(*data(repeats), kernel, Gaussian(noise))


def parameters_of(kernel, lanes=3, seed=1):
    centre = np.append(kernel.log_parameters(D), np.log(0.3))
    return centre + 0.3 * np.random.default_rng(seed).standard_normal((lanes, centre.size))


def left_out_by_hand(K, tau, t, i, observed):
    """Mean and variance of row i given the others, by conditioning."""
    rest = np.delete(np.arange(len(t)), i)
    A = K[np.ix_(rest, rest)] + np.diag(1.0 / tau[rest])
    gain = np.linalg.solve(A, K[rest, i])
    variance = K[i, i] - gain @ K[rest, i]
    return gain @ t[rest], variance + (1.0 / tau[i] if observed else 0.0)


def divergence(m, v, mean, variance):
    return 0.5 * (np.log(variance / v) + (v + (m - mean) ** 2) / variance - 1.0)


def explicit(held, kernel, theta, mask, observed):
    """The objective of one lane, row by row."""
    K = kernel.evaluate(theta[None, :-1], held.X, mask[None]).value[0]
    K = K + (np.exp(theta[-1]) + held.nugget) * np.eye(len(K))
    t = held.site_shift / held.site_precision
    total = 0.0
    for i in range(len(t)):
        own = left_out_by_hand(K, held.site_precision, t, i, observed)
        total += held.count[i] * divergence(held.mean[i], held.variance[i], *own)
    return total


def differences(value, theta, step=1e-5):
    slopes = np.empty_like(theta)
    for j in range(theta.shape[1]):
        move = step * np.eye(theta.shape[1])[j]
        slopes[:, j] = (value(theta + move) - value(theta - move)) / (2.0 * step)
    return slopes


def has_its_slopes_and_a_perfect_reference(ref, gradient):
    """The gradient is that of differences, and the reference itself loses nothing."""
    held, theta = ref.target.left_out, parameters_of(KERNEL)
    slopes = differences(lambda at: LOO.value(held, KERNEL, at, MASKS).value, theta)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)
    full = np.append(ref.known_parameters, -40.0)[None]
    everything = np.ones((1, D), dtype=bool)
    assert LOO.value(held, KERNEL, full, everything).value[0] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("repeats", [0, 6])
@pytest.mark.parametrize("kernel", [KERNEL, Matern32(1.0, 1.0) + Linear(0.5)], ids=["se", "sum"])
def test_it_is_the_sum_of_the_rows_divergences(kernel, repeats):
    held = reference(kernel, repeats=repeats).target.left_out
    assert len(held.X) == N - repeats
    theta = parameters_of(kernel)
    found = LOO.value(held, kernel, theta, MASKS)
    expected = [
        explicit(held, kernel, own, mask, True) for own, mask in zip(theta, MASKS, strict=True)
    ]
    np.testing.assert_allclose(found.value, expected, rtol=1e-9)


@pytest.mark.parametrize("repeats", [0, 6])
def test_its_gradient_is_that_of_differences(repeats):
    held = reference(repeats=repeats).target.left_out
    theta = parameters_of(KERNEL)
    found = LOO.value(held, KERNEL, theta, MASKS)
    expected = differences(lambda at: LOO.value(held, KERNEL, at, MASKS).value, theta)
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-6, atol=1e-6)
    assert found.gradient[2, 2] == 0.0  # the first input is out


def test_slopes_at_zero_relevance_are_those_of_differences():
    ref = reference()
    theta, mask = parameters_of(KERNEL, 1), mask_of([0], D)[None]
    slopes = LOO.relevance_slopes(ref.target, KERNEL, theta, mask)
    held, everything = ref.target.left_out, np.ones((1, D), dtype=bool)

    def value(relevances):
        moved = theta.copy()
        with np.errstate(divide="ignore"):
            moved[0, 3:5] = -0.5 * np.log(relevances)
        return LOO.value(held, KERNEL, np.where(np.isinf(moved), 300.0, moved), everything).value[0]

    step = 1e-5
    for j, relevances in enumerate(step * np.eye(2)):
        rise = (value(relevances) - value(np.zeros(2))) / step
        np.testing.assert_allclose(slopes[0, 1 + j], rise, rtol=1e-3)


@pytest.mark.parametrize("repeats", [0, 6])
def test_the_reference_itself_loses_nothing(repeats):
    ref = reference(repeats=repeats)
    sub = gpproj.project(ref, range(D))
    assert sub.loo_divergence == pytest.approx(0.0, abs=1e-8)
    null = gpproj.project(ref, [])
    assert null.loo_divergence > 5.0


def test_the_criterion_is_the_objective_without_its_prior():
    ref = reference()
    (found,) = projector_of(ref, ProjectionOptions(prior="weak")).project(
        [mask_of([0, 1], D)], check=True
    )
    sub = gpproj.project(ref, [0, 1], prior="weak")
    assert found.error == pytest.approx(sub.loo_divergence, rel=1e-9)
    assert found.value > found.error
    at = found.kernel, found.parameters[None], found.active[None]
    alone = CRITERIA["loo_divergence"](ref.target, *at)
    np.testing.assert_allclose(alone, found.error, rtol=1e-9)


def test_equal_rows_are_one_row_with_their_mean_target():
    X, y = data(repeats=6)
    ref = gpproj.condition(X, y, KERNEL, Gaussian(0.2))
    held = ref.target.left_out
    np.testing.assert_array_equal(held.count, np.r_[np.full(6, 2.0), np.ones(N - 12)])
    means = np.r_[0.5 * (y[:6] + y[-6:]), y[6:-6]]
    np.testing.assert_allclose(held.site_shift / held.site_precision, means)
    np.testing.assert_allclose(1.0 / held.site_precision, 0.2 / held.count)
    K = KERNEL(X[: N - 6]) + ref.target.nugget * np.eye(N - 6)
    for i in (0, 10):
        mean, variance = left_out_by_hand(K, held.site_precision, means, i, True)
        np.testing.assert_allclose([held.mean[i], held.variance[i]], [mean, variance])


def test_equal_rows_do_not_bring_interpolation_back():
    # Whole numbers, and rows that come twice with nearly the same target, so that a fit does not
    # see copies: it takes all for signal, and the posterior at the training rows tells no good
    # submodel from one that interpolates.
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 5))
    y = np.round(5.6 + 0.8 * X[:, 0] - 0.5 * X[:, 1] + 0.6 * rng.standard_normal(80))
    X[60:], y[60:] = X[:20], y[:20] + 1e-6
    new = rng.standard_normal((500, 5))
    truth = 5.6 + 0.8 * new[:, 0] - 0.5 * new[:, 1]
    ref = fit_mode(X, y)
    assert ref.noise_variance < 1e-4

    def explained(learn):
        predicted = gpproj.project(ref, [0, 1], learn).predict_response(new).mean
        return 1.0 - np.mean((truth - predicted) ** 2) / np.var(truth)

    assert explained("loo") > 0.4
    assert explained("projection") < 0.0


def test_a_submodel_of_equal_rows_predicts_as_by_their_means():
    X, y = data(repeats=6)
    ref = gpproj.condition(X, y, KERNEL, Gaussian(0.2))
    sub = gpproj.project(ref, [0])
    new = np.random.default_rng(3).standard_normal((4, D))
    held, kernel = ref.target.left_out, sub.kernel
    A = kernel(held.X[:, :1]) + np.diag(sub.extra_variance + held.nugget + 1 / held.site_precision)
    t = held.site_shift / held.site_precision
    np.testing.assert_allclose(
        sub.predict(new).mean, kernel(new[:, :1], held.X[:, :1]) @ np.linalg.solve(A, t)
    )


@pytest.mark.parametrize(
    ("likelihood", "targets"),
    [("probit", lambda y: (y > 0).astype(int)), (Poisson(), lambda y: np.rint(np.exp(y)))],
    ids=["classes", "counts"],
)
@pytest.mark.parametrize("repeats", [0, 6])
def test_other_likelihoods_compare_latent_cavities(likelihood, targets, repeats):
    X, y = data(repeats)
    ref = gpproj.condition(X, targets(y), KERNEL, likelihood)
    held = ref.target.left_out
    theta = parameters_of(KERNEL)
    found = LOO.value(held, KERNEL, theta, MASKS)
    expected = [
        explicit(held, KERNEL, own, mask, False) for own, mask in zip(theta, MASKS, strict=True)
    ]
    np.testing.assert_allclose(found.value, expected, rtol=1e-7)
    has_its_slopes_and_a_perfect_reference(ref, found.gradient)


def test_a_site_that_says_nothing_is_left_out_of_nothing():
    X, _ = data()
    counts = np.where(X[:, 0] > 0.0, np.rint(np.exp(3.0 * X[:, 0])), 0.0)
    kernel = SquaredExponential(40.0, [0.5, 9.0, 9.0])
    ref = gpproj.condition(X, counts, kernel, Poisson())
    held = ref.target.left_out
    assert held.site_precision.min() < 1e-4 * held.site_precision.max()
    theta = np.append(kernel.log_parameters(D), np.log(0.1))[None]
    value = LOO.value(held, kernel, theta, MASKS[:1]).value[0]
    expected = explicit(held, kernel, theta[0], MASKS[0], False)
    assert value == pytest.approx(expected, rel=1e-6)


def test_digits_are_kept_where_the_noise_is_a_millionth_of_the_signal():
    X, y = data()
    kernel = Constant(1.0) + SquaredExponential(100.0, [2.0, 3.0, 4.0])
    ref = gpproj.condition(X, y, kernel, Gaussian(1e-4))
    held = ref.target.left_out
    theta = np.append(kernel.log_parameters(D), np.log(1e-6))[None] + 0.1
    found = LOO.value(held, kernel, theta, MASKS[:1])
    K = kernel.evaluate(theta[:, :-1], held.X, MASKS[:1]).value[0].astype(np.longdouble)
    A = K + np.diag(np.exp(theta[0, -1]) + held.nugget + 1.0 / held.site_precision)
    inverse = long_inverse(A)
    t, D_ = held.site_shift / held.site_precision, np.diag(inverse)
    exact = divergence(held.mean, held.variance, t - inverse @ t / D_, 1.0 / D_).sum()
    assert found.value[0] == pytest.approx(float(exact), rel=1e-6)


def long_inverse(A):
    """Gauss and Jordan in extended precision."""
    n = len(A)
    work = np.concatenate([A, np.eye(n, dtype=np.longdouble)], axis=1)
    for i in range(n):
        work[i] /= work[i, i]
        others = np.arange(n) != i
        work[others] -= work[others, i : i + 1] * work[i]
    return work[:, n:]


def test_inducing_points_at_all_rows_change_nothing():
    X, y = data(repeats=5)
    whole = gpproj.condition(X, y, KERNEL, Gaussian(0.2))
    points = gpproj.condition(X, y, KERNEL, Gaussian(0.2), inference=Sparse(X[: N - 5]))
    theta = parameters_of(KERNEL)
    one, other = whole.target.left_out, points.target.left_out
    np.testing.assert_allclose(other.mean, one.mean, atol=1e-7)
    np.testing.assert_allclose(other.variance, one.variance, rtol=1e-7)
    expected = LOO.value(one, KERNEL, theta, MASKS)
    found = LOO.value(other, KERNEL, theta, MASKS)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-6)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("likelihood", ["gaussian", "probit"])
def test_the_gradient_through_inducing_points_is_that_of_differences(likelihood):
    X, y = data(repeats=5)
    y = y if likelihood == "gaussian" else (y > 0).astype(int)
    noise = Gaussian(0.2) if likelihood == "gaussian" else likelihood
    ref = gpproj.condition(X, y, KERNEL, noise, inference=Sparse(X[:8]))
    held, theta = ref.target.left_out, parameters_of(KERNEL)
    found = LOO.value(held, KERNEL, theta, MASKS)
    has_its_slopes_and_a_perfect_reference(ref, found.gradient)


def test_a_mixture_is_compared_by_its_moments():
    X, y = data()
    rng = np.random.default_rng(0)
    centre = np.append(KERNEL.log_parameters(D), np.log(0.2))
    single = gpproj.condition(X, y, KERNEL, Gaussian(0.2))
    draws = centre + 0.2 * rng.standard_normal((6, centre.size))
    ref = sampled(single, draws)
    held = ref.target.left_out
    parts = []
    for one in draws:
        kernel = KERNEL.with_log_parameters(one[:-1], D)
        own = gpproj.condition(X, y, kernel, Gaussian(float(np.exp(one[-1]))))
        parts.append((own.loo().mean, own.loo().variance, own.loo().log_density))
    mean, variance, density = (np.stack(part) for part in zip(*parts, strict=True))
    weights = np.exp(-density) / np.exp(-density).sum(axis=0)
    expected = np.sum(weights * mean, axis=0)
    np.testing.assert_allclose(held.mean, expected, rtol=1e-7)
    spread = np.sum(weights * (variance + (mean - expected) ** 2), axis=0)
    np.testing.assert_allclose(held.variance, spread, rtol=1e-7)
    assert gpproj.project(ref, range(D)).loo_divergence > 0.0


def sampled(single, draws):
    from dataclasses import replace

    from gpproj.reference import Draws

    return replace(single, draws=Draws.equal(draws))


def test_moments_from_elsewhere_are_left_out_by_removing_sites():
    X, y = data()
    ref = gpproj.condition(X, y, KERNEL, Gaussian(0.2), nugget=0.0)
    same = gpproj.from_moments(
        X, y, ref.latent_mean, ref.latent_cov, 0.2, standardize=False, nugget=0.0
    )
    np.testing.assert_allclose(same.target.left_out.mean, ref.target.left_out.mean, atol=1e-9)
    np.testing.assert_allclose(
        same.target.left_out.variance, ref.target.left_out.variance, rtol=1e-9
    )


def test_other_array_libraries_compute_the_same():
    held = reference(repeats=3).target.left_out
    theta = parameters_of(KERNEL)
    expected = LOO.value(held, KERNEL, theta, MASKS)
    strict = LeaveOneOut(
        **{
            name: array_api_strict.asarray(getattr(held, name))
            for name in ("X", "site_precision", "site_shift", "mean", "variance", "count", "latent")
        },
        nugget=held.nugget,
    )
    found = LOO.value(strict, KERNEL, theta, MASKS)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-10)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-8, atol=1e-10)
