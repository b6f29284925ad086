"""Rows predicted from the others: fits without them by brute force, and rows that are equal."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

import gpproj
from gpproj import inference
from gpproj.data import repeats_of
from gpproj.inference import (
    Inducing,
    Marginals,
    Problem,
    left_out,
    left_out_of_moments,
    merged_sites,
)
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Bernoulli, Gaussian, Poisson, StudentT
from gpproj.linalg import jitter as jitter_of_points
from gpproj.linalg import to_host

PAPER = Constant() + SquaredExponential()
KERNEL = Constant(0.5) + SquaredExponential(1.5, [0.8, 1.3, 4.0])
N, M = 20, 6
LIKELIHOODS = {
    "gaussian": (Gaussian(0.2), "exact"),
    "probit": (Bernoulli("probit"), "ep"),
    "logit": (Bernoulli("logit"), "laplace"),
    "poisson": (Poisson(), "laplace"),
    "student-t": (StudentT(0.1), "laplace"),
}
named = pytest.mark.parametrize("name", LIKELIHOODS)
equal = pytest.mark.parametrize("repeats", [0, 5])


def make_problem(name="gaussian", repeats=0, points=0, nugget=1e-2, xp=np):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    if repeats:
        X[-repeats:] = X[1 : repeats + 1]
        X[-1] = X[1]  # three of a kind
    f = np.sin(2.0 * X[:, 0]) + X[:, 1]
    y = {"real": f + 0.3 * rng.standard_normal(N), "binary": (f > 0.3).astype(float)}
    y["count"] = rng.poisson(np.exp(f)).astype(float)
    likelihood, method = LIKELIHOODS[name]
    X = xp.asarray(X)
    inducing = Inducing(X[:M, :], "fitc", "greedy", True, PAPER, X) if points else None
    target, mask = xp.asarray(y[likelihood.kind]), np.ones(3, dtype=bool)
    return Problem(PAPER, X, target, mask, nugget, likelihood, method, inducing=inducing)


def theta_of(problem):
    return np.append(KERNEL.log_parameters(3), problem.likelihood.log_parameters)


def found_for(problem):
    theta = theta_of(problem)
    given = inference.conditioned(problem, theta)
    return left_out(problem, theta, given), given


def prior_by_hand(problem, X):
    """The prior covariance at some rows, with the nugget."""
    eps = problem.nugget_variance(problem.likelihood)
    K = KERNEL(X)
    if problem.inducing is not None:
        Z = to_host(problem.inducing.Z)
        block, cross = KERNEL(Z), KERNEL(X, Z)
        varying = np.mean(np.diag(block)) - np.mean(block)
        jitter = jitter_of_points.JITTER * varying + jitter_of_points.ROUNDING * np.mean(
            np.diag(block)
        )
        Q = cross @ np.linalg.solve(block + jitter * np.eye(len(Z)), cross.T)
        K = Q + np.diag(np.diag(K - Q))
    return K + eps * np.eye(len(X))


@named
@equal
@pytest.mark.parametrize("points", [0, M])
def test_every_distinct_row_is_conditioned_on_the_sites_of_the_others(name, repeats, points):
    problem = make_problem(name, repeats, points)
    found, given = found_for(problem)
    tau, nu = (to_host(part) for part in merged_sites(problem, given.sites))
    X = to_host(problem.X)
    distinct = X if problem.repeats is None else X[problem.repeats.first]
    assert len(tau) == len(found.mean) == N - repeats
    K = prior_by_hand(problem, distinct)
    for row in range(len(tau)):
        rest = np.delete(np.arange(len(tau)), row)
        gain = np.linalg.solve(K[np.ix_(rest, rest)] + np.diag(1.0 / tau[rest]), K[rest, row])
        variance = K[row, row] - gain @ K[rest, row]
        if name == "gaussian":  # the target is predicted, with its noise
            variance += 1.0 / tau[row]
        assert found.mean[row] == pytest.approx(gain @ (nu / tau)[rest], rel=1e-6, abs=1e-7)
        assert found.variance[row] == pytest.approx(variance, rel=1e-6)


@equal
def test_with_gaussian_noise_it_is_a_reference_without_the_row(repeats):
    """Without a nugget, which equal rows share here and do not share in a reference."""
    problem = make_problem(repeats=repeats, nugget=1e-9)
    found, _ = found_for(problem)
    X, y = problem.X, problem.y
    label = np.arange(N) if problem.repeats is None else problem.repeats.label
    for number in range(N - repeats):
        own = label == number
        refitted = gpproj.condition(X[~own], y[~own], KERNEL, Gaussian(0.2), nugget=1e-9)
        mean, variance = refitted.predict(X[own][:1])
        assert found.mean[number] == pytest.approx(mean[0], rel=1e-5, abs=1e-6)
        assert found.variance[number] == pytest.approx(variance[0] + 0.2 / own.sum(), rel=1e-5)


def test_twins_do_not_predict_each_other():
    """What stands in one of them does not matter for the other, but for all else."""
    problem = make_problem(repeats=5)
    moved = make_problem(repeats=5)
    set_of_first = int(problem.repeats.label[-2])
    moved.y[-2] += 10.0
    (one, _), (other, _) = found_for(problem), found_for(moved)
    away = np.abs(other.mean - one.mean)
    assert away[set_of_first] < 1e-9
    assert np.delete(away, set_of_first).max() > 0.1
    np.testing.assert_allclose(other.variance, one.variance, rtol=1e-12)


@named
def test_without_twins_the_sites_are_those_of_the_rows(name):
    problem = make_problem(name)
    assert problem.repeats is None
    _, given = found_for(problem)
    assert merged_sites(problem, given.sites) is given.sites


def test_sites_of_equal_rows_are_multiplied():
    problem = make_problem(repeats=5)
    sites = inference.conditioned(problem, theta_of(problem)).sites
    tau, nu = merged_sites(problem, sites)
    repeats = repeats_of(problem.X)
    assert sorted(set(repeats.count)) == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(tau, repeats.count / 0.2)
    means = [problem.y[repeats.label == number].mean() for number in range(N - 5)]
    np.testing.assert_allclose(nu / tau, means)


@named
def test_a_reference_predicts_its_own_rows_in_this_way(name):
    problem = make_problem(name)
    found, given = found_for(problem)
    expected = inference.leave_one_out(problem, problem.likelihood, given)
    if name == "gaussian":
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-9)
        return
    _, y, offset = problem.observed(problem.likelihood)
    density = problem.likelihood.log_density(y, found.mean + offset, found.variance)
    np.testing.assert_allclose(density, expected.log_density, rtol=1e-9)


@named
@equal
def test_moments_alone_tell_the_same(name, repeats):
    """Up to the nugget of equal rows, which is none here."""
    problem = make_problem(name, repeats, nugget=1e-9)
    found, given = found_for(problem)
    posterior = inference.posterior(problem, theta_of(problem), given)
    marginals = Marginals(to_host(posterior.latent_mean), to_host(posterior.latent_cov.diagonal()))
    again, _ = left_out_of_moments(problem, marginals, given.sites)
    np.testing.assert_allclose(again.mean, found.mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(again.variance, found.variance, rtol=1e-4)


@equal
@pytest.mark.parametrize("points", [0, M])
def test_the_array_api_path_equals_numpy(repeats, points):
    expected, _ = found_for(make_problem(repeats=repeats, points=points))
    found, _ = found_for(make_problem(repeats=repeats, points=points, xp=array_api_strict))
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, np.ndarray)
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_an_impossible_covariance_is_said():
    problem = make_problem(repeats=5)
    theta = theta_of(problem)
    given = inference.conditioned(problem, theta)
    theta[0] = 800.0
    with (
        np.errstate(all="ignore"),
        pytest.raises(np.linalg.LinAlgError, match="not positive definite"),
    ):
        left_out(problem, theta, given)
