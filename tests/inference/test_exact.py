"""Exact inference against independent reference numbers, differences and brute force."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from gpproj.inference import NUGGET, Problem, exact
from gpproj.kernels import Constant, Linear, Matern32, Matern52, SquaredExponential
from gpproj.linalg import to_host

PAPER = Constant() + SquaredExponential()


def small_problem(kernel=PAPER, n=25, d=3, nugget=NUGGET, xp=np):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, d))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)
    return Problem(kernel, xp.asarray(X), xp.asarray(y), np.ones(d, dtype=bool), nugget)


def posterior_at(problem, theta):
    return exact.posterior(problem, theta, exact.conditioned(problem, theta))


def oracle_problem(oracle):
    X, y = np.array(oracle["inputs"]["X"]), np.array(oracle["inputs"]["y"])
    return Problem(PAPER, X, y, np.ones(X.shape[1], dtype=bool), nugget=0.0)


@pytest.mark.parametrize("point", [0, 1])
def test_evidence_posterior_and_loo_against_the_oracle(oracle, point):
    figures = oracle("regression")
    problem = oracle_problem(figures)
    theta = np.array(figures["points"][point]["log_theta"])
    expected = {k: np.array(v) for k, v in figures["points"][point]["gpstuff"].items()}
    evidence = exact.log_marginal_likelihood(problem, theta[None])
    np.testing.assert_allclose(-evidence.value[0], expected["nlml"], rtol=1e-10)
    np.testing.assert_allclose(
        -evidence.gradient[0], expected["grad_nlml_wrt_log_theta"], rtol=1e-8
    )
    given = exact.conditioned(problem, theta)
    posterior = exact.posterior(problem, theta, given)
    np.testing.assert_allclose(given.log_evidence, -expected["nlml"], rtol=1e-10)
    np.testing.assert_allclose(posterior.latent_mean, expected["latent_mean_train"], rtol=1e-8)
    np.testing.assert_allclose(
        posterior.latent_cov.diagonal(), expected["latent_var_train"], rtol=1e-8
    )
    noise = np.exp(theta[-1])
    loo = exact.leave_one_out(problem.y, given.coefficients, given.root)
    np.testing.assert_allclose(loo.mean, expected["loo_mean"], rtol=1e-8)
    np.testing.assert_allclose(loo.variance - noise, expected["loo_latent_var"], rtol=1e-8)
    np.testing.assert_allclose(loo.log_density, expected["loo_log_pred_density"], rtol=1e-8)
    np.testing.assert_allclose(-loo.log_density.sum(), expected["loo_neg_sum_lpd"], rtol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [PAPER, Matern32() + Linear(), Matern52() * Linear() + Constant()],
    ids=["paper", "matern32 + linear", "matern52 * linear"],
)
def test_gradients_against_central_differences(kernel):
    objective = exact.log_marginal_likelihood
    problem = small_problem(kernel)
    rng = np.random.default_rng(3)
    theta = np.append(kernel.log_parameters(3), -2.0) + 0.3 * rng.standard_normal(
        kernel.log_parameters(3).size + 1
    )
    step = 1e-5 * np.eye(theta.size)
    expected = (
        objective(problem, theta + step).value - objective(problem, theta - step).value
    ) / 2e-5
    found = objective(problem, theta[None]).gradient[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_posterior_equals_the_textbook_form_with_the_nugget_in_the_prior():
    problem = small_problem()
    theta = np.array([0.1, 0.4, 0.2, -0.3, 0.9, -1.7])
    noise = np.exp(theta[-1])
    K = PAPER.with_log_parameters(theta[:-1], 3)(problem.X)
    K_ref = K + NUGGET * noise * np.eye(len(K))
    A_inverse = np.linalg.inv(K_ref + noise * np.eye(len(K)))
    posterior = posterior_at(problem, theta)
    np.testing.assert_allclose(posterior.latent_mean, K_ref @ A_inverse @ problem.y, rtol=1e-10)
    Sigma = K_ref - K_ref @ A_inverse @ K_ref
    np.testing.assert_allclose(np.asarray(posterior.latent_cov), Sigma, atol=1e-12)
    # log|Sigma| = log|K_ref| + n log sigma^2 - log|A|
    expected = np.linalg.slogdet(K_ref).logabsdet + len(K) * np.log(noise)
    expected += np.linalg.slogdet(A_inverse).logabsdet
    assert posterior.latent_cov.log_determinant() == pytest.approx(expected, rel=1e-8)


def test_a_masked_input_equals_a_deleted_column():
    full = small_problem()
    theta = np.array([0.1, 0.4, 0.2, -0.3, 0.9, -1.7])
    masked = Problem(PAPER, full.X, full.y, np.array([True, False, True]))
    kept = np.ascontiguousarray(full.X[:, [0, 2]])
    deleted = Problem(PAPER, kept, full.y, np.ones(2, dtype=bool))
    found = exact.log_marginal_likelihood(masked, theta[None])
    expected = exact.log_marginal_likelihood(deleted, np.delete(theta, 3)[None])
    assert found.value[0] == expected.value[0]
    assert found.gradient[0, 3] == 0
    np.testing.assert_array_equal(np.delete(found.gradient[0], 3), expected.gradient[0])


def test_a_lane_does_not_depend_on_its_batch():
    problem = small_problem()
    parameters = np.random.default_rng(0).normal(size=(4, 6))
    together = exact.log_marginal_likelihood(problem, parameters)
    for lane in range(4):
        alone = exact.log_marginal_likelihood(problem, parameters[lane : lane + 1])
        assert alone.value[0] == together.value[lane]
        assert np.array_equal(alone.gradient[0], together.gradient[lane])


def test_the_array_api_path_equals_numpy():
    parameters = np.random.default_rng(0).normal(size=(3, 6))
    host, strict = small_problem(), small_problem(xp=array_api_strict)
    found, expected = (exact.log_marginal_likelihood(one, parameters) for one in (strict, host))
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-10)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-8, atol=1e-8)
    posterior, expected = (
        posterior_at(strict, parameters[0]),
        posterior_at(host, parameters[0]),
    )
    np.testing.assert_allclose(to_host(posterior.latent_mean), expected.latent_mean, rtol=1e-9)
    np.testing.assert_allclose(
        np.asarray(posterior.latent_cov), np.asarray(expected.latent_cov), atol=1e-10
    )


def test_a_lane_that_cannot_be_factorised_is_minus_infinity_and_leaves_the_others_alone():
    problem = small_problem()
    good = np.array([0.1, 0.4, 0.2, -0.3, 0.9, -1.7])
    bad = np.array([800.0, 0.4, 0.2, -0.3, 0.9, -1.7])  # exp(800) overflows
    with np.errstate(over="ignore", invalid="ignore"):
        found = exact.log_marginal_likelihood(problem, np.stack([bad, good]))
    assert found.value[0] == -np.inf
    assert found.value[1] == exact.log_marginal_likelihood(problem, good[None]).value[0]
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(np.linalg.LinAlgError, match="not positive definite"),
    ):
        exact.conditioned(problem, bad)
