"""The objective of the projection: explicit Gaussians, the paper's formulas, differences."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

import gpproj
from gpproj.kernels import Constant, Linear, Matern32, Matern52, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import DenseCovariance
from gpproj.projection.dense import conditioned
from gpproj.projection.objective import (
    negative_evidence,
    posterior_divergence,
    projection_error,
)
from gpproj.reference import Target

PAPER = Constant() + SquaredExponential()
MASKS = np.array([[True, True, True], [True, False, True], [False, True, False]])
N, D = 20, 3


def make_target(noise=0.2, xp=np, seed=2):
    """A reference on three inputs; `noise` may differ from row to row."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(N)
    V = np.diag(np.broadcast_to(noise, N).astype(float))
    nugget = 1e-4 * float(np.mean(noise))
    K = (Constant(0.5) + SquaredExponential(1.5, [1.0, 2.0, 3.0]))(X) + nugget * np.eye(N)
    gain = K @ np.linalg.inv(K + V)
    return Target(
        X=xp.asarray(X),
        latent_mean=xp.asarray(gain @ y),
        latent_cov=DenseCovariance(xp.asarray(K - gain @ K)),
        site_precision=xp.asarray(1.0 / np.diag(V)),
        site_shift=xp.asarray(y / np.diag(V)),
        nugget=nugget,
    )


def make_parameters(kernel, lanes, seed=3):
    rng = np.random.default_rng(seed)
    centre = np.append(kernel.log_parameters(D), np.log(0.3))
    return centre + 0.3 * rng.standard_normal((lanes, centre.size))


def submodel(target, kernel, parameters, mask):
    """K, K_smooth, V, y of one lane, plainly."""
    K_smooth = kernel.evaluate(parameters[None, :-1], target.X, mask[None]).value[0]
    K = K_smooth + (np.exp(parameters[-1]) + target.nugget) * np.eye(N)
    V = np.diag(1.0 / target.site_precision)
    return K, K_smooth, V, target.site_shift / target.site_precision


def explicit_kl(mu, Sigma, mu_other, Sigma_other):
    difference = mu_other - mu
    return 0.5 * (
        np.trace(np.linalg.solve(Sigma_other, Sigma))
        + difference @ np.linalg.solve(Sigma_other, difference)
        + np.linalg.slogdet(Sigma_other).logabsdet
        - np.linalg.slogdet(Sigma).logabsdet
        - len(mu)
    )


noises = pytest.mark.parametrize(
    "noise", [0.2, np.linspace(0.05, 2.0, N)], ids=["equal noise", "unequal noise"]
)
kernels = pytest.mark.parametrize(
    "kernel",
    [PAPER, Matern32() + Linear(), Matern52() * Linear() + Constant()],
    ids=["paper", "matern32 + linear", "matern52 * linear"],
)


@noises
@kernels
@pytest.mark.parametrize("lane", range(3))
def test_half_of_E_is_the_divergence_of_the_posteriors(noise, kernel, lane):
    target = make_target(noise)
    parameters = make_parameters(kernel, 3)
    K, _, V, y = submodel(target, kernel, parameters[lane], MASKS[lane])
    assert np.linalg.cond(K) <= 1e6
    gain = K @ np.linalg.inv(K + V)
    expected = explicit_kl(
        target.latent_mean, np.asarray(target.latent_cov), gain @ y, K - gain @ K
    )
    found = posterior_divergence(target, kernel, parameters, MASKS).value[lane] / 2
    assert found == pytest.approx(expected, rel=1e-10)


@noises
@pytest.mark.parametrize("lane", range(3))
def test_E_and_its_derivative_are_those_printed_in_the_paper(noise, lane):
    target = make_target(noise)
    parameters = make_parameters(PAPER, 3)
    K, _, V, y = submodel(target, PAPER, parameters[lane], MASKS[lane])
    mu, Sigma = target.latent_mean, np.asarray(target.latent_cov)
    gain = K @ np.linalg.inv(K + V)
    mu_perp, Sigma_perp = gain @ y, K - gain @ K
    away = mu - mu_perp
    E = (
        np.trace(np.linalg.solve(Sigma_perp, Sigma))
        + away @ np.linalg.solve(Sigma_perp, away)
        + np.linalg.slogdet(Sigma_perp).logabsdet
        - np.linalg.slogdet(Sigma).logabsdet
        - N
    )
    found = posterior_divergence(target, PAPER, parameters, MASKS)
    assert found.value[lane] == pytest.approx(E, rel=1e-9)

    # v = V^-1 Sigma_perp y in the paper's equal noise: the part of mu_perp that moves with K
    v = Sigma_perp @ np.linalg.solve(V, y)
    K_inverse = np.linalg.inv(K)

    def printed_derivative(dK):
        change = -K_inverse @ dK @ K_inverse
        return np.trace(change @ (Sigma - Sigma_perp)) + mu @ change @ mu - v @ change @ v

    step = 1e-6
    for index in range(parameters.shape[1]):
        up, down = parameters[lane].copy(), parameters[lane].copy()
        up[index] += step
        down[index] -= step
        dK = submodel(target, PAPER, up, MASKS[lane])[0]
        dK = (dK - submodel(target, PAPER, down, MASKS[lane])[0]) / (2 * step)
        expected = printed_derivative(dK)
        assert found.gradient[lane, index] == pytest.approx(expected, rel=1e-7, abs=1e-7)
    # The extra variance and the constant have an exact dK: no differences, nine digits.
    exact = {-1: np.exp(parameters[lane, -1]) * np.eye(N)}
    exact[0] = np.exp(parameters[lane, 0]) * np.ones((N, N))
    for index, dK in exact.items():
        expected = printed_derivative(dK)
        assert found.gradient[lane, index] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@noises
@kernels
@pytest.mark.parametrize("objective", [posterior_divergence, negative_evidence])
def test_gradients_against_central_differences(noise, kernel, objective):
    target = make_target(noise)
    for lane, parameters in enumerate(make_parameters(kernel, 3)):
        steps = 1e-5 * np.eye(parameters.size)
        masks = np.repeat(MASKS[lane][None], parameters.size, axis=0)
        up = objective(target, kernel, parameters + steps, masks).value
        down = objective(target, kernel, parameters - steps, masks).value
        found = objective(target, kernel, parameters[None], MASKS[lane][None]).gradient[0]
        expected = (up - down) / 2e-5
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7 * scale)


@noises
@pytest.mark.parametrize("lane", range(3))
def test_projection_error_is_the_predictive_divergence(noise, lane):
    target = make_target(noise)
    parameters = make_parameters(PAPER, 3)
    K, K_smooth, V, y = submodel(target, PAPER, parameters[lane], MASKS[lane])
    gain = K_smooth @ np.linalg.inv(K + V)
    expected = explicit_kl(
        target.latent_mean, np.asarray(target.latent_cov), gain @ y, K - gain @ K_smooth
    )
    found = projection_error(target, PAPER, parameters, MASKS)[lane]
    assert found == pytest.approx(expected, rel=1e-10)


def test_evidence_is_the_marginal_likelihood_up_to_a_constant():
    target = make_target()
    parameters = make_parameters(PAPER, 2)
    masks = MASKS[:2]
    values = []
    for lane in range(2):
        K, _, V, y = submodel(target, PAPER, parameters[lane], masks[lane])
        values.append(y @ np.linalg.solve(K + V, y) + np.linalg.slogdet(K + V).logabsdet)
    found = negative_evidence(target, PAPER, parameters, masks).value
    assert found[0] - found[1] == pytest.approx(values[0] - values[1], rel=1e-10)


def test_conditioned_submodel_holds_the_predictive_equations():
    target = make_target(np.linspace(0.05, 2.0, N))
    parameters = make_parameters(PAPER, 1)
    K, _, V, y = submodel(target, PAPER, parameters[0], MASKS[1])
    state = conditioned(target, PAPER, parameters, MASKS[1:2])
    np.testing.assert_allclose(state.coefficients[0], np.linalg.solve(K + V, y), rtol=1e-9)
    R = state.root[0].T @ state.root[0]
    np.testing.assert_allclose(R, np.linalg.inv(K + V), rtol=1e-8, atol=1e-10)


def test_a_silent_site_has_no_say():
    """tau = nu = 0 leaves zero rows in R and b, while the latent value stays."""
    target = make_target(np.linspace(0.05, 2.0, N))
    quiet = target.site_precision.copy()
    quiet[4] = 0.0
    shift = target.site_shift.copy()
    shift[4] = 0.0
    silent = Target(target.X, target.latent_mean, target.latent_cov, quiet, shift, target.nugget)
    state = conditioned(silent, PAPER, make_parameters(PAPER, 1), MASKS[:1])
    assert state.coefficients[0, 4] == 0.0
    assert not state.root[0][:, 4].any()
    found = posterior_divergence(silent, PAPER, make_parameters(PAPER, 1), MASKS[:1])
    faint = Target(
        target.X,
        target.latent_mean,
        target.latent_cov,
        np.where(quiet == 0, 1e-12, quiet),
        shift,
        target.nugget,
    )
    limit = posterior_divergence(faint, PAPER, make_parameters(PAPER, 1), MASKS[:1])
    np.testing.assert_allclose(found.value, limit.value, rtol=1e-9)
    np.testing.assert_allclose(found.gradient, limit.gradient, rtol=1e-8)


def test_large_signal_variances_keep_their_digits():
    """The form b = nu - R K nu would lose every digit here."""
    target = make_target(1e-3)
    parameters = make_parameters(PAPER, 1)
    parameters[0, :2] = np.log([1e5, 1e6])
    parameters[0, 2:-1] = np.log(300.0)
    K, _, V, y = submodel(target, PAPER, parameters[0], MASKS[0])
    gain = K @ np.linalg.inv(K + V)
    Sigma_perp = V - V @ np.linalg.inv(K + V) @ V
    expected = explicit_kl(target.latent_mean, np.asarray(target.latent_cov), gain @ y, Sigma_perp)
    found = posterior_divergence(target, PAPER, parameters, MASKS[:1]).value[0] / 2
    assert found == pytest.approx(expected, rel=1e-5)


def test_a_masked_batch_equals_a_loop_over_deleted_columns():
    target = make_target()
    parameters = make_parameters(PAPER, 3)
    together = posterior_divergence(target, PAPER, parameters, MASKS)
    errors = projection_error(target, PAPER, parameters, MASKS)
    for lane, mask in enumerate(MASKS):
        kept = np.concatenate([[True, True], mask, [True]])
        small = Target(
            np.ascontiguousarray(target.X[:, mask]),
            target.latent_mean,
            target.latent_cov,
            target.site_precision,
            target.site_shift,
            target.nugget,
        )
        own = parameters[lane, kept][None]
        everything = np.ones((1, mask.sum()), dtype=bool)
        alone = posterior_divergence(small, PAPER, own, everything)
        assert alone.value[0] == pytest.approx(together.value[lane], rel=1e-12)
        np.testing.assert_allclose(
            together.gradient[lane, kept], alone.gradient[0], rtol=1e-10, atol=1e-12
        )
        assert not together.gradient[lane, ~kept].any()
        assert projection_error(small, PAPER, own, everything)[0] == pytest.approx(
            errors[lane], rel=1e-12
        )


def test_permutations_and_units_change_nothing_at_given_parameters():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N, D))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(N)
    kernel = Constant(0.4) + SquaredExponential(1.2, [1.0, 2.0, 3.0])

    def evaluate(X, y, kernel, noise, extra, columns):
        ref = gpproj.condition(X, y, kernel, Gaussian(noise))
        parameters = np.append(kernel.log_parameters(D), np.log(extra))[None]
        mask = np.isin(columns, [0, 2])[None]
        found = posterior_divergence(ref.target, kernel, parameters, mask)
        error = projection_error(ref.target, kernel, parameters, mask)
        return found.value[0], found.gradient[0], error[0]

    value, gradient, error = evaluate(X, y, kernel, 0.1, 0.3, np.arange(D))
    rows = rng.permutation(N)
    again = evaluate(X[rows], y[rows], kernel, 0.1, 0.3, np.arange(D))
    assert again[0] == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(again[1], gradient, rtol=1e-9, atol=1e-9)
    assert again[2] == pytest.approx(error, rel=1e-9)
    columns = np.array([2, 0, 1])
    moved = Constant(0.4) + SquaredExponential(1.2, np.array([1.0, 2.0, 3.0])[columns])
    again = evaluate(X[:, columns], y, moved, 0.1, 0.3, columns)
    assert again[0] == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(again[1][2:-1], gradient[2:-1][columns], rtol=1e-9, atol=1e-9)
    scaled = Constant(0.4 * 49) + SquaredExponential(1.2 * 49, np.array([1.0, 2.0, 3.0]) * 1e3)
    again = evaluate(1e3 * X, 7 * y, scaled, 0.1 * 49, 0.3 * 49, np.arange(D))
    assert again[0] == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(again[1], gradient, rtol=1e-9, atol=1e-9)
    assert again[2] == pytest.approx(error, rel=1e-9)


def test_the_array_api_path_equals_numpy():
    host, strict = make_target(), make_target(xp=array_api_strict)
    parameters = make_parameters(PAPER, 3)
    for objective in (posterior_divergence, negative_evidence):
        found = objective(strict, PAPER, parameters, MASKS)
        expected = objective(host, PAPER, parameters, MASKS)
        np.testing.assert_allclose(found.value, expected.value, rtol=1e-10)
        np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        projection_error(strict, PAPER, parameters, MASKS),
        projection_error(host, PAPER, parameters, MASKS),
        rtol=1e-9,
    )


def test_a_lane_does_not_depend_on_its_batch():
    target = make_target()
    parameters = make_parameters(PAPER, 3)
    together = posterior_divergence(target, PAPER, parameters, MASKS)
    for lane in range(3):
        one = slice(lane, lane + 1)
        alone = posterior_divergence(target, PAPER, parameters[one], MASKS[one])
        assert alone.value[0] == together.value[lane]
        assert np.array_equal(alone.gradient[0], together.gradient[lane])
