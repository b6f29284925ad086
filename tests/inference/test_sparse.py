"""Inducing points: independent figures, the limit Z = X, brute force, ill-conditioned sets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import array_api_strict
import numpy as np
import pytest

from gpproj import inference
from gpproj.inference import Inducing, Problem, exact, features, sparse
from gpproj.inference.inducing import Sparse
from gpproj.inference.selection import choose_points, greedy
from gpproj.kernels import Constant, Linear, Matern32, Matern52, SquaredExponential
from gpproj.likelihoods import Bernoulli, NegativeBinomial, Poisson, StudentT
from gpproj.linalg import LowRankCovariance, to_host
from gpproj.linalg import jitter as jitter_of_points
from gpproj.prediction import LatentPredictor

ORACLE = json.loads(
    (Path(__file__).resolve().parents[1] / "oracles" / "sparse_regression.json").read_text()
)
PAPER = Constant() + SquaredExponential()
METHODS = ("fitc", "vfe")


def oracle_problem(method):
    X, y, Z = (np.array(ORACLE["inputs"][name]) for name in ("X", "y", "Xu"))
    inducing = Inducing(Z, method, "greedy", True, PAPER, X)
    return Problem(PAPER, X, y, np.ones(4, dtype=bool), 0.0, inducing=inducing)


def make_problem(method="vfe", kernel=PAPER, n=40, m=9, seed=0, xp=np, **settings):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    inducing = Inducing(xp.asarray(X[:m]), method, "greedy", True, kernel, xp.asarray(X))
    mask = np.array([True, True, False])
    return Problem(kernel, xp.asarray(X), xp.asarray(y), mask, inducing=inducing, **settings)


def theta_of(kernel, noise=0.1):
    return np.append(kernel.log_parameters(3) + 0.1 * np.arange(len(kernel.parameters(3))), noise)


@pytest.mark.parametrize(("name", "method"), [("FIC", "fitc"), ("VAR", "vfe")])
@pytest.mark.parametrize("place", range(len(ORACLE["points"])))
def test_figures_of_another_program(name, method, place, monkeypatch):
    monkeypatch.setattr(jitter_of_points, "JITTER", 0.0)  # theirs has none
    point = ORACLE["points"][place]
    expected, theta = point["types"][name], np.log(point["theta"])
    problem = oracle_problem(method)
    found = sparse.log_evidence(problem, theta[None])
    np.testing.assert_allclose(-found.value[0], expected["neg_objective"], rtol=1e-9)
    np.testing.assert_allclose(-found.gradient[0], expected["grad_wrt_log_theta"], rtol=1e-7)
    by_points = np.array(expected["grad_wrt_Xu_rowmajor_flattened"]).reshape(12, 4)
    np.testing.assert_allclose(-sparse.inducing_gradient(problem, theta), by_points, rtol=1e-6)
    given = sparse.conditioned(problem, theta)
    assert given.log_evidence == pytest.approx(found.value[0], rel=1e-12)
    mask = np.ones(4, dtype=bool)
    predict = LatentPredictor(
        PAPER, theta[:-1], mask, problem.support, given.coefficients, given.root, 0.0
    )
    new = predict(np.array(ORACLE["inputs"]["Xt"]))
    np.testing.assert_allclose(new.mean, expected["latent_mean_test"], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(new.variance, expected["latent_var_test"], rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_all_rows_as_inducing_points_are_the_exact_process(method):
    few = make_problem(method)
    problem = replace(few, inducing=replace(few.inducing, Z=few.X))
    whole, theta = replace(few, inducing=None), theta_of(PAPER)
    one, other = (inference.log_evidence(each, theta[None]) for each in (problem, whole))
    np.testing.assert_allclose(one.value, other.value, rtol=1e-6)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-6, atol=1e-6)
    given, wanted = (inference.conditioned(each, theta) for each in (problem, whole))
    mine = inference.posterior(problem, theta, given)
    its = inference.posterior(whole, theta, wanted)
    np.testing.assert_allclose(mine.latent_mean, its.latent_mean, atol=1e-7)
    np.testing.assert_allclose(mine.latent_cov.dense(), its.latent_cov.dense(), atol=1e-7)
    assert mine.latent_cov.log_determinant() == pytest.approx(
        its.latent_cov.log_determinant(), rel=1e-6
    )
    likelihood = whole.likelihood_at(theta)
    loo = inference.leave_one_out(problem, likelihood, given)
    for part, whole_part in zip(
        loo, exact.leave_one_out(whole.y, wanted.coefficients, wanted.root), strict=True
    ):
        np.testing.assert_allclose(part, whole_part, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_the_bound_is_below_the_evidence_and_grows_with_the_points(method):
    theta = theta_of(PAPER)
    values = [
        inference.log_evidence(make_problem(method, m=m), theta[None]).value[0] for m in (5, 20)
    ]
    whole = replace(make_problem(), inducing=None)
    truth = inference.log_evidence(whole, theta[None]).value[0]
    if method == "vfe":
        assert values[0] < values[1] < truth
    else:
        assert abs(values[1] - truth) < abs(values[0] - truth)


KERNELS = [
    PAPER,
    Matern32(1.3, 0.7) + Linear(0.4),
    SquaredExponential(0.8, 1.2) * Linear(0.5) + Constant(0.3),
    Matern52(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("method", METHODS)
def test_gradients_against_differences(method, kernel):
    problem, theta = make_problem(method, kernel), theta_of(kernel)
    gradient = inference.log_evidence(problem, theta[None]).gradient[0]
    for j in range(theta.size):
        step = 1e-5 * (np.arange(theta.size) == j)
        ends = inference.log_evidence(problem, np.stack([theta + step, theta - step])).value
        assert gradient[j] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-5)


MODELS = [
    (Bernoulli(), "ep"),
    (Bernoulli("logit"), "laplace"),
    (Poisson(), "laplace"),
    (Poisson(), "ep"),
    (NegativeBinomial(0.5), "laplace"),
    (StudentT(0.1, 4.0), "laplace"),
]


@pytest.mark.parametrize(("likelihood", "method"), MODELS, ids=repr)
def test_other_likelihoods_against_the_same_prior_as_a_matrix(likelihood, method):
    problem = make_problem(n=30, likelihood=likelihood, method="exact")
    y = np.asarray(problem.y)
    if likelihood.kind == "binary":
        y = (y > 0.0).astype(float)
    elif likelihood.kind == "count":
        y = np.floor(np.exp(0.5 * y))
    problem = replace(problem, y=y, method=method)
    theta = np.append(PAPER.log_parameters(3) + 0.1, likelihood.log_parameters)
    found = inference.conditioned(problem, theta)
    latent = inference.posterior(problem, theta, found)

    # The same prior as a matrix: Q + diag(K - Q) + eps.
    from gpproj.inference.approximation import prior_of
    from gpproj.inference.sites import DensePrior

    prior = prior_of(problem, theta)
    K = np.diag(prior.lam) + prior.Phi @ prior.Phi.T
    whole = DensePrior(K)
    approximation = inference.approximate_with(method)(whole, problem.observed(likelihood))
    assert found.log_evidence == pytest.approx(approximation.log_evidence, rel=1e-8)
    np.testing.assert_allclose(
        latent.latent_cov.dense(), approximation.given.covariance().dense(), atol=1e-7
    )
    np.testing.assert_allclose(latent.latent_mean, approximation.given.marginals.mean, atol=1e-7)
    gradient = inference.log_evidence(problem, theta[None]).gradient[0]
    for j in range(theta.size):
        step = 1e-5 * (np.arange(theta.size) == j)
        ends = inference.log_evidence(problem, np.stack([theta + step, theta - step])).value
        assert gradient[j] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_blocks_of_rows_change_nothing(method, monkeypatch):
    theta = theta_of(PAPER)
    whole = inference.log_evidence(make_problem(method), theta[None])
    monkeypatch.setattr(features, "BLOCK", 7)
    kept = inference.log_evidence(make_problem(method), theta[None])
    monkeypatch.setattr(features, "KEPT_NUMBERS", 0)
    again = inference.log_evidence(make_problem(method), theta[None])
    for other in (kept, again):
        np.testing.assert_allclose(other.value, whole.value, rtol=1e-12)
        np.testing.assert_allclose(other.gradient, whole.gradient, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_other_array_libraries_take_all_lanes_at_once(method):
    theta = np.stack([theta_of(PAPER), theta_of(PAPER, 0.5)])
    here, there = make_problem(method), make_problem(method, xp=array_api_strict)
    one, other = (inference.log_evidence(each, theta) for each in (here, there))
    np.testing.assert_allclose(other.value, one.value, rtol=1e-10)
    np.testing.assert_allclose(other.gradient, one.gradient, rtol=1e-7, atol=1e-8)
    latent = inference.posterior(there, theta[0], inference.conditioned(there, theta[0]))
    wanted = inference.posterior(here, theta[0], inference.conditioned(here, theta[0]))
    np.testing.assert_allclose(to_host(latent.latent_mean), wanted.latent_mean, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", ["duplicated", "one value", "more than rows"])
def test_ill_conditioned_sets_keep_working(method, make):
    problem = make_problem(method)
    Z = np.asarray(problem.inducing.Z)
    if make == "duplicated":
        Z = np.concatenate([Z, Z, Z[:3] + 1e-12])
    elif make == "one value":
        Z = np.zeros_like(Z)
    else:
        Z = np.concatenate([problem.X, problem.X])
    bad = replace(problem, inducing=replace(problem.inducing, Z=Z))
    theta = theta_of(PAPER)
    found = inference.log_evidence(bad, theta[None])
    assert np.isfinite(found.value).all()
    assert np.isfinite(found.gradient).all()
    given = inference.conditioned(bad, theta)
    assert np.isfinite(given.marginals.mean).all()
    assert (given.marginals.variance > 0.0).all()
    if make == "duplicated":
        good = inference.log_evidence(problem, theta[None])
        np.testing.assert_allclose(found.value, good.value, rtol=1e-5)


def test_greedy_points_leave_little_variance_anywhere():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    kernel, mask = SquaredExponential(2.0, [0.7, 0.7]), np.array([True, True])
    rows = greedy(kernel, X, mask, 30)
    assert len(set(rows.tolist())) == 30

    def left(points):
        K = kernel(X[points], X)
        inner = np.linalg.solve(kernel(X[points]) + 1e-10 * np.eye(len(points)), K)
        return np.max(2.0 - np.sum(K * inner, axis=0))

    others = [left(rng.choice(200, 30, replace=False)) for _ in range(20)]
    assert left(rows) < min(others)


def test_no_more_points_are_chosen_than_are_needed():
    X = np.zeros((20, 2))
    assert greedy(SquaredExponential(), X, np.array([True, True]), 5).tolist() == [0]
    line = np.linspace(-2.0, 2.0, 300)[:, None]
    few = greedy(SquaredExponential(1.0, 1.0), line, np.array([True]), 100)
    assert 5 < few.size < 20
    many = greedy(SquaredExponential(1.0, 0.02), line, np.array([True]), 100)
    assert many.size == len(set(many.tolist())) == 100
    spread = choose_points("greedy", SquaredExponential(1.0, 0.02), line, np.array([True]), 100, 30)
    assert spread.shape == (100, 1)
    assert len(np.unique(spread)) == 100
    for selection, most in (("greedy", 1), ("kmeans", 20)):
        found = choose_points(selection, PAPER, X, np.array([False, False]), 50)
        assert found.shape == (most, 2)


def test_a_large_constant_costs_no_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(30) + 1e4
    kernel, mask = Constant(1e8) + SquaredExponential(1.0, 2.0), np.ones(2, dtype=bool)
    whole = Problem(kernel, X, y, mask)
    few = replace(whole, inducing=Inducing(X, "vfe", "greedy", True, kernel, X))
    theta = np.append(kernel.log_parameters(2), np.log(0.01))
    one, other = (inference.log_evidence(each, theta[None]).value[0] for each in (few, whole))
    assert one == pytest.approx(other, abs=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_leave_one_out_of_a_reference_is_by_refits_with_the_same_points(method):
    problem, theta = make_problem(method, n=25), theta_of(PAPER, np.log(0.1))
    found = inference.reference_leave_one_out(problem, theta, None)
    for i in (0, 7, 24):
        rest = np.arange(25) != i
        left = replace(problem, X=problem.X[rest], y=problem.y[rest])
        given = inference.conditioned(left, theta)
        predict = LatentPredictor(
            PAPER, theta[:-1], problem.mask, left.support, given.coefficients, given.root, 1e-5
        )
        new = predict(problem.X[i : i + 1])
        assert found.mean[i] == pytest.approx(new.mean[0], abs=1e-8)
        assert found.variance[i] == pytest.approx(new.variance[0] + 0.1, rel=1e-6)


def test_clusters_of_rows_as_points():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 0.01, (30, 2)) for at in (-3.0, 0.0, 3.0)])
    points = choose_points("kmeans", PAPER, X, np.array([True, True]), 3)
    assert np.allclose(np.sort(points[:, 0]), [-3.0, 0.0, 3.0], atol=0.05)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"method": "dtc"}, "method must be"),
        ({"selection": "random"}, "selection must be"),
        ({"optimise": "yes"}, "optimise must be"),
        ({"inducing": 0}, "inducing must be"),
        ({"inducing": 2.5}, "inducing must be"),
        ({"inducing": "a"}, "inducing must be"),
        ({"inducing": None}, "inducing must be"),
        ({"inducing": [1.0, 2.0]}, "inducing must be"),
        ({"inducing": True}, "inducing must be"),
    ],
)
def test_bad_settings_are_named(settings, text):
    with pytest.raises(ValueError, match=text):
        Sparse(**settings)


def test_low_rank_covariances_against_matrices():
    rng = np.random.default_rng(0)
    covariance = LowRankCovariance(rng.uniform(0.5, 2.0, 12), rng.standard_normal((12, 3)))
    C, right = covariance.dense(), rng.standard_normal((12, 2))
    np.testing.assert_allclose(np.asarray(covariance), C)
    np.testing.assert_allclose(covariance.diagonal(), np.diag(C))
    np.testing.assert_allclose(covariance.column(4), C[:, 4])
    for one in (right, right[:, 0]):
        np.testing.assert_allclose(covariance @ one, C @ one)
        np.testing.assert_allclose(covariance.solve(one), np.linalg.solve(C, one), rtol=1e-8)
    assert covariance.log_determinant() == pytest.approx(np.linalg.slogdet(C)[1])
    np.testing.assert_allclose(covariance.scaled(3.0).dense(), 3.0 * C)
    rows = np.array([3, 1, 7])
    np.testing.assert_allclose(covariance.take(rows).dense(), C[np.ix_(rows, rows)])
    np.testing.assert_allclose(covariance.plus_outer(right).dense(), C + right @ right.T)
    total = covariance.plus(covariance).plus(covariance)
    assert total.rank <= 6
    np.testing.assert_allclose(total.dense(), 3.0 * C)  # of a rank that holds it all
    other = LowRankCovariance(np.ones(12), rng.standard_normal((12, 3)))
    third = LowRankCovariance(np.ones(12), rng.standard_normal((12, 3)))
    mixed, whole = covariance.plus(other).plus(third), C + other.dense() + third.dense()
    assert mixed.rank == 6
    np.testing.assert_allclose(mixed.diagonal(), np.diag(whole))  # variances are never lost
    np.testing.assert_allclose(mixed.dense(), whole, atol=0.5 * np.abs(whole).max())


def test_too_many_rows_are_never_a_matrix():
    covariance = LowRankCovariance(np.ones(10_001), np.ones((10_001, 1)))
    with pytest.raises(MemoryError, match="10001 rows"):
        np.asarray(covariance)
    assert covariance.diagonal()[0] == 2.0
