"""Projections through inducing points: brute force, differences, and the limit Z = X."""

from __future__ import annotations

from dataclasses import replace

import array_api_strict
import numpy as np
import pytest

import gpproj
from gpproj.inference import Inducing, features
from gpproj.kernels import Constant, Linear, Matern32, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import LowRankCovariance, like
from gpproj.linalg import jitter as jitter_of_points
from gpproj.projection import CRITERIA, OBJECTIVES, dense, sparse
from gpproj.projection.objective import left_out_means
from gpproj.reference import LeaveOneOut, Target
from tests.fitting import fit_mode

PAPER = Constant() + SquaredExponential()
KERNELS = [PAPER, Matern32(1.3, 0.7) + Linear(0.4)]
MASKS = np.array([[True, True, True], [True, False, True], [False, True, False]])
N, D, M = 30, 3, 8

projection_error = CRITERIA["projection_error"]
objectives = pytest.mark.parametrize("learn", OBJECTIVES)
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def value_of(learn, target, kernel, parameters, masks):
    objective = OBJECTIVES[learn]
    return objective.value(objective.compared_with(target), kernel, parameters, masks)


def make_target(xp=np, silent=True, seed=2):
    """Low-rank moments, and sites of which one says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    tau = rng.uniform(0.5, 20.0, N)
    if silent:
        tau[3] = 0.0
    nu = tau * rng.standard_normal(N)
    cov = LowRankCovariance(
        xp.asarray(rng.uniform(0.05, 0.2, N)), xp.asarray(0.4 * rng.standard_normal((N, 5)))
    )
    X = xp.asarray(X)
    inducing = Inducing(X[:M, :], "fitc", "greedy", True, PAPER, X)
    arrays = (xp.asarray(one) for one in (np.sin(rng.standard_normal(N)), tau, nu))
    mean, tau, nu = arrays
    shared = {"X": X, "site_shift": nu, "nugget": 1e-3, "inducing": inducing}
    faint = xp.where(tau > 0.0, tau, xp.full_like(tau, 1e-3))
    left_out = LeaveOneOut(
        **shared,
        site_precision=faint,
        mean=xp.asarray(rng.standard_normal(N)),
        variance=xp.asarray(rng.uniform(0.1, 0.5, N)),
        count=xp.asarray(rng.integers(1, 3, N).astype(float)),
        latent=xp.asarray((np.arange(N) % 2).astype(float)),
    )
    return Target(**shared, site_precision=tau, latent_mean=mean, latent_cov=cov, left_out=left_out)


def parameters_of(kernel):
    rng, lanes = np.random.default_rng(0), len(MASKS)
    logs = kernel.log_parameters(D) + 0.3 * rng.standard_normal((lanes, len(kernel.parameters(D))))
    return np.column_stack([logs, np.log(0.1) * np.ones(lanes)])


def gaussian_kl(mu, S, mean, C):
    away = mean - mu
    trace = np.trace(np.linalg.solve(C, S)) + away @ np.linalg.solve(C, away) - mu.size
    return 0.5 * (trace + np.linalg.slogdet(C)[1] - np.linalg.slogdet(S)[1])


def prior_by_hand(target, kernel, theta, mask):
    """Q and the whole prior, as matrices."""
    K = kernel.evaluate(theta[None, :-1], target.X, mask[None]).value[0]
    block = K[:M, :M]
    jitter = jitter_of_points.JITTER * (np.mean(np.diag(block)) - np.mean(block))
    inner = block + (jitter + jitter_of_points.ROUNDING * np.mean(np.diag(block))) * np.eye(M)
    Q = K[:, :M] @ np.linalg.solve(inner, K[:M])
    return Q, Q + np.diag(np.diag(K - Q) + np.exp(theta[-1]) + target.nugget)


def explicit(target, kernel, theta, mask):
    """The posterior's and the predictive divergence by whole matrices."""
    Q, prior = prior_by_hand(target, kernel, theta, mask)
    S = target.latent_cov.dense()
    precision = np.linalg.inv(prior) + np.diag(target.site_precision)
    C = np.linalg.inv(precision)
    posterior = gaussian_kl(target.latent_mean, S, C @ target.site_shift, C)
    root = np.diag(np.sqrt(target.site_precision))
    R = root @ np.linalg.solve(np.eye(N) + root @ prior @ root, root)
    b = target.site_shift - R @ prior @ target.site_shift
    predictive = gaussian_kl(target.latent_mean, S, Q @ b, prior - Q @ R @ Q)
    return 2.0 * posterior, predictive


@kernels
def test_divergences_against_explicit_gaussians(kernel):
    target, parameters = make_target(), parameters_of(kernel)
    expected = [explicit(target, kernel, *one) for one in zip(parameters, MASKS, strict=True)]
    found = OBJECTIVES["projection"].value(target, kernel, parameters, MASKS)
    np.testing.assert_allclose(found.value, [one[0] for one in expected], rtol=1e-7)
    errors = projection_error(target, kernel, parameters, MASKS)
    np.testing.assert_allclose(errors, [one[1] for one in expected], rtol=1e-6)


@kernels
def test_single_rows_against_explicit_conditioning(kernel):
    target, parameters = make_target(), parameters_of(kernel)
    held = target.left_out
    means = left_out_means(target, kernel, parameters, MASKS)
    values = value_of("loo", target, kernel, parameters, MASKS).value
    figures = CRITERIA["loo_divergence"](target, kernel, parameters, MASKS)
    np.testing.assert_allclose(figures, values, rtol=1e-10)
    t, V = held.site_shift / held.site_precision, np.diag(1.0 / held.site_precision)
    for lane, mask in enumerate(MASKS):
        _, prior = prior_by_hand(held, kernel, parameters[lane], mask)
        total = 0.0
        for row in range(N):
            rest = np.delete(np.arange(N), row)
            gain = np.linalg.solve((prior + V)[np.ix_(rest, rest)], prior[rest, row])
            mean, variance = gain @ t[rest], prior[row, row] - gain @ prior[rest, row]
            variance += (1.0 - held.latent[row]) * V[row, row]
            assert means[lane, row] == pytest.approx(mean, rel=1e-6, abs=1e-8)
            spread = (held.variance[row] + (held.mean[row] - mean) ** 2) / variance
            total += 0.5 * held.count[row] * (spread - 1 - np.log(held.variance[row] / variance))
        assert values[lane] == pytest.approx(total, rel=1e-7)


@kernels
@objectives
def test_gradients_against_differences(learn, kernel):
    target, parameters = make_target(), parameters_of(kernel)
    gradient = value_of(learn, target, kernel, parameters, MASKS).gradient
    for j in range(parameters.shape[1]):
        step = 1e-5 * (np.arange(parameters.shape[1]) == j)
        up, down = (
            value_of(learn, target, kernel, parameters + one, MASKS).value for one in (step, -step)
        )
        np.testing.assert_allclose(gradient[:, j], (up - down) / 2e-5, rtol=1e-5, atol=1e-4)


@objectives
def test_slopes_of_inputs_that_are_out_are_limits_of_small_relevances(learn):
    target, parameters = make_target(), parameters_of(PAPER)[1:2]
    slopes = OBJECTIVES[learn].relevance_slopes(target, PAPER, parameters, MASKS[1:2])
    relevance = 1e-6
    entering = parameters.copy()
    entering[0, 2 + 1] = -0.5 * np.log(relevance)  # the length-scale of the second input
    ends = [
        value_of(learn, target, PAPER, one, mask).value[0]
        for one, mask in ((parameters, MASKS[1:2]), (entering, MASKS[:1]))
    ]
    assert slopes[0, 1] == pytest.approx((ends[1] - ends[0]) / relevance, rel=1e-3)


@objectives
def test_blocks_and_other_libraries_change_nothing(learn, monkeypatch):
    parameters = parameters_of(PAPER)
    here, there = make_target(), make_target(array_api_strict)
    one, other = (value_of(learn, own, PAPER, parameters, MASKS) for own in (here, there))
    np.testing.assert_allclose(other.value, one.value, rtol=1e-9)
    np.testing.assert_allclose(other.gradient, one.gradient, rtol=1e-6, atol=1e-7)
    for figure in (*CRITERIA.values(), left_out_means):
        found, expected = (figure(own, PAPER, parameters, MASKS) for own in (there, here))
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    monkeypatch.setattr(features, "BLOCK", 7)
    monkeypatch.setattr(features, "KEPT_NUMBERS", 0)
    again = value_of(learn, here, PAPER, parameters, MASKS)
    np.testing.assert_allclose(again.value, one.value, rtol=1e-11)
    np.testing.assert_allclose(again.gradient, one.gradient, rtol=1e-7, atol=1e-8)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    return X, np.sin(1.5 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(60)


@pytest.fixture(scope="module")
def whole(data):
    return fit_mode(*data)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "learn"), [("vfe", "loo"), ("fitc", "projection")])
def test_all_rows_as_inducing_points_give_the_exact_search(data, whole, method, learn):
    X, y = data
    few = gpproj.condition(
        X,
        y,
        whole.kernel,
        Gaussian(whole.noise_variance),
        inference=gpproj.Sparse(X, method),
        standardize=True,
    )
    exact = gpproj.condition(X, y, whole.kernel, Gaussian(whole.noise_variance), standardize=True)
    parameters = parameters_of(PAPER)
    parameters = np.insert(parameters, -2, 0.3, axis=1)
    masks = np.column_stack([MASKS, [True, False, True]])
    one = dense.posterior_divergence(exact.target, PAPER, parameters, masks)
    other = sparse.posterior_divergence(few.target, PAPER, parameters, masks)
    np.testing.assert_allclose(other.value, one.value, rtol=1e-6)
    paths = [gpproj.forward_search(ref, learn=learn, progress=False) for ref in (exact, few)]
    assert paths[0].order == paths[1].order
    np.testing.assert_allclose(paths[1].errors, paths[0].errors, rtol=1e-6, atol=1e-4)
    new = np.random.default_rng(1).standard_normal((5, 4))
    for size in range(4):
        mine, its = (path[size].predict(new[:, list(path.positions[:size])]) for path in paths)
        np.testing.assert_allclose(mine.mean, its.mean, atol=2e-3)
        np.testing.assert_allclose(mine.variance, its.variance, rtol=2e-2, atol=1e-4)


@pytest.mark.slow
def test_few_points_come_close(data, whole):
    X, y = data
    few = fit_mode(X, y, inference=gpproj.Sparse(30))
    paths = [gpproj.forward_search(ref, progress=False) for ref in (whole, few)]
    assert paths[0].order[:2] == paths[1].order[:2]
    falls = [path.null_error - path.errors[:3] for path in paths]
    np.testing.assert_allclose(falls[1], falls[0], rtol=0.05)


def test_submodels_have_points_of_their_own(data):
    X, y = data
    ref = fit_mode(X, y, inference=gpproj.Sparse(20))
    inducing = ref.target.inducing
    mask = np.array([True, False, False, False])
    points = inducing.points(mask)
    assert points is inducing.points(mask.copy())
    assert len(np.unique(points[:, 0])) == len(points) <= 20
    assert inducing.points(np.zeros(4, dtype=bool)).shape == (1, 4)
    submodel = gpproj.project(ref, ["x0"])
    assert submodel.parts[0].predictor.X.shape == (len(points), 1)
    null = gpproj.project(ref, [])
    assert null.predict(X[:2, :0]).mean == pytest.approx([y.mean()] * 2, abs=0.05)


@pytest.mark.slow
def test_ill_conditioned_points_keep_working(data, whole):
    X, y = data
    settings = {"standardize": True, "kernel": whole.kernel}
    likelihood = Gaussian(whole.noise_variance)
    for Z in (np.concatenate([X[:10]] * 3), np.zeros((5, 4)), np.repeat(X[:1], 7, axis=0)):
        ref = gpproj.condition(X, y, likelihood=likelihood, inference=gpproj.Sparse(Z), **settings)
        path = gpproj.forward_search(ref, 2, progress=False)
        assert np.isfinite(path.errors).all()
        assert np.isfinite(path[2].predict(X[:5, list(path.positions)]).mean).all()


def test_targets_of_other_libraries_keep_their_library():
    target = make_target(array_api_strict)
    assert isinstance(target.spanning, array_api_strict._array_object.Array)
    values = like(np.zeros(2), target.X)
    assert isinstance(values, array_api_strict._array_object.Array)
    assert replace(target, inducing=None).inducing is None
