"""EP and Laplace against independent reference numbers, differences, brute force and each other."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from gpproj import inference
from gpproj.inference import ConvergenceWarning, Observed, Problem, Sites, ep, laplace, sites
from gpproj.inference.approximation import with_diagonal
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Bernoulli, NegativeBinomial, Poisson, StudentT
from gpproj.linalg import to_host
from gpproj.prediction import LatentPredictor

PAPER = Constant() + SquaredExponential()
MODELS = [
    (Bernoulli("probit"), "ep"),
    (Bernoulli("probit"), "laplace"),
    (Bernoulli("logit"), "ep"),
    (Bernoulli("logit"), "laplace"),
    (Poisson(), "ep"),
    (Poisson(), "laplace"),
    (NegativeBinomial(0.3), "ep"),
    (NegativeBinomial(0.3), "laplace"),
    (StudentT(0.2), "laplace"),
]
NAMES = [f"{likelihood}-{method}" for likelihood, method in MODELS]


def targets(likelihood, f, rng):
    if likelihood.kind == "binary":
        return (f + rng.logistic(size=f.size) > 0).astype(float)
    if likelihood.kind == "count":
        return rng.poisson(np.exp(f + 0.5)).astype(float)
    return f + 0.3 * rng.standard_t(4, size=f.size)


def problem_for(likelihood, method, n=30, nugget=1e-4, xp=np):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 3))
    y = targets(likelihood, np.sin(2 * X[:, 0]) + X[:, 1], rng)
    offset = rng.uniform(-0.5, 0.5, n)
    return Problem(
        PAPER,
        xp.asarray(X),
        xp.asarray(y),
        np.ones(3, dtype=bool),
        nugget,
        likelihood,
        method,
        xp.asarray(offset),
    )


def theta_for(likelihood):
    return np.append(np.log([0.5, 1.5, 0.8, 1.3, 4.0]), likelihood.log_parameters)


def oracle_problem(figures, likelihood, method):
    X, y = np.array(figures["inputs"]["X"]), np.array(figures["inputs"]["y"])
    if likelihood.kind == "binary":
        y = (y > 0).astype(float)
    offset = np.log(figures["inputs"]["z"]) if "z" in figures["inputs"] else None
    mask = np.ones(X.shape[1], dtype=bool)
    return Problem(PAPER, X, y, mask, 0.0, likelihood, method, offset)


def predicted(problem, theta, given, X_new):
    kernel_part, _ = problem.halves(theta)
    predictor = LatentPredictor(
        problem.kernel,
        kernel_part,
        problem.mask,
        problem.X,
        given.coefficients,
        given.root,
        0.0,
    )
    return predictor(X_new)


ORACLES = [
    ("probit_ep", "gpstuff", Bernoulli("probit"), "ep"),
    ("probit_laplace", "numpy_converged", Bernoulli("probit"), "laplace"),
    ("logit_laplace", "numpy_converged", Bernoulli("logit"), "laplace"),
    ("poisson_laplace", "numpy_converged", Poisson(), "laplace"),
]


@pytest.mark.parametrize("point", [0, 1])
@pytest.mark.parametrize(
    ("name", "block", "likelihood", "method"), ORACLES, ids=[o[0] for o in ORACLES]
)
def test_the_oracles(oracle, name, block, likelihood, method, point):
    figures = oracle(name)
    problem = oracle_problem(figures, likelihood, method)
    theta = np.log(figures["points"][point]["theta"])
    expected = {k: np.array(v) for k, v in figures["points"][point][block].items()}
    short = "EP" if method == "ep" else "LA"
    evidence = inference.log_evidence(problem, theta[None])
    np.testing.assert_allclose(evidence.value[0], expected[f"logZ_{short}"], rtol=1e-9)
    np.testing.assert_allclose(
        evidence.gradient[0], expected[f"grad_logZ_{short}_wrt_log_theta"], rtol=1e-7, atol=1e-8
    )
    given = inference.conditioned(problem, theta)
    latent = inference.posterior(problem, theta, given)
    mean = expected["mode" if "mode" in expected else "latent_mean_train"]
    np.testing.assert_allclose(latent.latent_mean, mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(
        latent.latent_cov.diagonal(), expected["latent_var_train"], rtol=1e-7
    )
    X_new = np.array(figures["inputs"]["Xt"])
    new = predicted(problem, theta, given, X_new)
    np.testing.assert_allclose(new.mean, expected["latent_mean_test"], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(new.variance, expected["latent_var_test"], rtol=1e-7)
    if method == "ep":
        np.testing.assert_allclose(given.sites.precision, expected["site_tautilde"], rtol=1e-7)
        np.testing.assert_allclose(
            given.sites.shift, expected["site_nutilde"], rtol=1e-7, atol=1e-8
        )
        cavity = sites.cavities(given.marginals, given.sites)
        np.testing.assert_allclose(cavity.mean, expected["cavity_mean"], rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(cavity.variance, expected["cavity_var"], rtol=1e-7)
        probability = likelihood.response(*new)[0]
        np.testing.assert_allclose(probability, expected["prob_class_plus1_test"], rtol=1e-7)
        loo = inference.leave_one_out(problem, likelihood, given)
        np.testing.assert_allclose(loo.log_density, expected["loo_log_pred_density"], rtol=1e-7)


def test_laplace_loo_and_probabilities_of_the_oracle(oracle):
    figures = oracle("logit_laplace")
    problem = oracle_problem(figures, Bernoulli("logit"), "laplace")
    for point in figures["points"]:
        theta = np.log(point["theta"])
        given = inference.conditioned(problem, theta)
        loo = inference.leave_one_out(problem, problem.likelihood, given)
        np.testing.assert_allclose(
            loo.log_density, point["gpstuff"]["loo_lpd_cavity_style"], rtol=1e-5
        )
        new = predicted(problem, theta, given, np.array(figures["inputs"]["Xt"]))
        np.testing.assert_allclose(
            problem.likelihood.response(*new)[0],
            point["gpstuff"]["prob_class_plus1_test"],
            rtol=1e-5,
        )


def test_poisson_predictions_and_ep_of_the_oracle(oracle):
    figures = oracle("poisson_laplace")
    for point in figures["points"]:
        problem = oracle_problem(figures, Poisson(), "laplace")
        theta = np.log(point["theta"])
        new = predicted(
            problem,
            theta,
            inference.conditioned(problem, theta),
            np.array(figures["inputs"]["Xt"]),
        )
        expected = point["gpstuff"]
        np.testing.assert_allclose(Poisson().response(*new)[0], expected["Ey_test_z1"], rtol=1e-5)
        twos = np.full(len(new.mean), 2.0)
        np.testing.assert_allclose(
            Poisson().log_density(twos, *new), expected["log_prob_y_equals_2_at_test_z1"], rtol=1e-5
        )
        if "logZ_EP" in expected:
            problem = oracle_problem(figures, Poisson(), "ep")
            value = inference.log_evidence(problem, theta[None]).value[0]
            np.testing.assert_allclose(value, expected["logZ_EP"], rtol=1e-6)


@pytest.mark.parametrize(("likelihood", "method"), MODELS, ids=NAMES)
def test_the_gradient_is_that_of_the_value(likelihood, method):
    problem, theta = problem_for(likelihood, method), theta_for(likelihood)
    found = inference.log_evidence(problem, theta[None])
    step = 1e-4
    for place in range(theta.size):
        moved = np.stack([theta, theta])
        moved[0, place] += step
        moved[1, place] -= step
        ahead, back = inference.log_evidence(problem, moved).value
        difference = (ahead - back) / (2 * step)
        np.testing.assert_allclose(found.gradient[0, place], difference, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("likelihood", "method"), MODELS, ids=NAMES)
def test_the_posterior_is_that_of_the_sites(likelihood, method):
    problem, theta = problem_for(likelihood, method), theta_for(likelihood)
    given = inference.conditioned(problem, theta)
    latent = inference.posterior(problem, theta, given)
    eps = problem.nugget_variance(likelihood)
    values = PAPER.with_log_parameters(problem.halves(theta)[0], 3)
    K = values(problem.X) + eps * np.eye(30)
    covariance = np.linalg.inv(np.linalg.inv(K) + np.diag(given.sites.precision))
    np.testing.assert_allclose(latent.latent_cov.dense(), covariance, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        latent.latent_mean, covariance @ given.sites.shift, rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(given.marginals.variance, np.diag(covariance), rtol=1e-7)


@pytest.mark.parametrize("likelihood", [m[0] for m in MODELS if m[1] == "ep"], ids=str)
def test_ep_matches_the_moments_of_tilted_marginals(likelihood):
    problem, theta = problem_for(likelihood, "ep"), theta_for(likelihood)
    given = inference.conditioned(problem, theta)
    cavity = sites.cavities(given.marginals, given.sites)
    tilted = likelihood.tilted(problem.y, cavity.mean + problem.offset, cavity.variance)
    np.testing.assert_allclose(tilted.mean - problem.offset, given.marginals.mean, atol=1e-7)
    np.testing.assert_allclose(tilted.variance, given.marginals.variance, rtol=1e-7)


@pytest.mark.parametrize("likelihood", [m[0] for m in MODELS if m[1] == "laplace"], ids=str)
def test_laplace_ends_at_the_mode(likelihood):
    problem, theta = problem_for(likelihood, "laplace"), theta_for(likelihood)
    given = inference.conditioned(problem, theta)
    f = given.marginals.mean
    slope = likelihood.derivatives(problem.y, f + problem.offset).first
    np.testing.assert_allclose(given.coefficients, slope, atol=1e-7)


def test_sites_moved_one_after_the_other_end_at_the_same_place(monkeypatch):
    problem, theta = problem_for(Bernoulli("logit"), "ep"), theta_for(Bernoulli("logit"))
    expected = inference.log_evidence(problem, theta[None])
    together = inference.conditioned(problem, theta)
    monkeypatch.setattr(ep, "MAX_SWEEPS", 1)
    found = inference.log_evidence(problem, theta[None])
    single = inference.conditioned(problem, theta)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-10)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-6)
    np.testing.assert_allclose(single.sites.precision, together.sites.precision, rtol=1e-6)


@pytest.mark.parametrize("method", ["ep", "laplace"])
def test_what_did_not_converge_says_so(monkeypatch, method):
    likelihood = Bernoulli("logit")
    problem, theta = problem_for(likelihood, method), theta_for(likelihood)
    monkeypatch.setattr(ep, "MAX_SWEEPS", 1)
    monkeypatch.setattr(ep, "MAX_SEQUENTIAL", 1)
    monkeypatch.setattr(laplace, "MAX_ITERATIONS", 1)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        inference.conditioned(problem, theta)
    assert inference.log_evidence(problem, theta[None]).value[0] == -np.inf


@pytest.mark.parametrize(("likelihood", "method"), MODELS, ids=NAMES)
def test_a_start_saves_iterations_and_changes_nothing(likelihood, method):
    problem, theta = problem_for(likelihood, method), theta_for(likelihood)
    memory = {}
    nearby = theta + 0.01
    inference.log_evidence(problem, nearby[None], memory, [7])
    assert list(memory) == [7]
    warm = inference.log_evidence(problem, theta[None], memory, [7])
    cold = inference.log_evidence(problem, theta[None])
    np.testing.assert_allclose(warm.value, cold.value, rtol=1e-9)
    np.testing.assert_allclose(warm.gradient, cold.gradient, rtol=1e-5, atol=1e-7)
    kernel_part, _ = problem.halves(theta)
    K = with_diagonal(PAPER.with_log_parameters(kernel_part, 3)(problem.X), 1e-3)
    approximate = inference.approximate_with(method)
    observed = problem.observed(likelihood)
    first = approximate(sites.DensePrior(K), observed)
    again = approximate(sites.DensePrior(K), observed, first.given.sites)
    assert again.iterations < first.iterations


@pytest.mark.parametrize(("likelihood", "method"), MODELS, ids=NAMES)
def test_other_array_libraries(likelihood, method):
    theta = theta_for(likelihood)
    here = problem_for(likelihood, method)
    there = problem_for(likelihood, method, xp=array_api_strict)
    expected, found = (inference.log_evidence(one, theta[None]) for one in (here, there))
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-9)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-6, atol=1e-8)
    given = inference.conditioned(there, theta)
    latent = inference.posterior(there, theta, given)
    assert isinstance(latent.latent_mean, array_api_strict._array_object.Array)
    np.testing.assert_allclose(
        to_host(latent.latent_mean), inference.conditioned(here, theta).marginals.mean, atol=1e-7
    )


def test_sites_that_say_nothing_leave_the_prior():
    K = np.array([[2.0, 0.5], [0.5, 1.0]])
    given = sites.DensePrior(K).given(Sites(np.array([0.0, 2.0]), np.array([0.0, 1.0])))
    covariance = np.linalg.inv(np.linalg.inv(K) + np.diag([0.0, 2.0]))
    np.testing.assert_allclose(given.marginals.variance, np.diag(covariance), rtol=1e-12)
    np.testing.assert_allclose(given.marginals.mean, covariance @ [0.0, 1.0], rtol=1e-12)
    assert given.coefficients[0] == 0.0
    assert np.all(given.root[:, 0] == 0.0)


def test_faint_sites_keep_their_digits():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    K = A @ A.T + np.eye(6)
    tau = np.array([1e-14, 1e-9, 1e-5, 1e-2, 1.0, 1e3])
    given = sites.DensePrior(K).given(Sites(tau, tau))
    R = np.linalg.inv(K + np.diag(1.0 / tau))
    expected = np.diag(K - K @ R @ K)
    np.testing.assert_allclose(given.marginals.variance, expected, rtol=1e-9)


def test_covariances_that_cannot_be_factorised():
    K = np.array([[1.0, 5.0], [5.0, 1.0]])
    observed = Observed(Bernoulli(), np.array([0.0, 1.0]), np.zeros(2))
    assert ep.approximate(sites.DensePrior(1e3 * K), observed) is None
    assert laplace.approximate(sites.DensePrior(1e3 * K), observed) is None


def elliptical_slices(K, log_likelihood, chains, steps, seed):
    """Draw from the posterior, many chains at once (Murray, Adams and MacKay 2010)."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(K)
    f = rng.standard_normal((chains, len(K))) @ root.T
    height = log_likelihood(f)
    total, square = np.zeros(len(K)), np.zeros(len(K))
    for step in range(steps):
        nu = rng.standard_normal((chains, len(K))) @ root.T
        level = height + np.log(rng.uniform(size=chains))
        angle = rng.uniform(0, 2 * np.pi, chains)
        low, high = angle - 2 * np.pi, angle.copy()
        waiting = np.ones(chains, dtype=bool)
        new = f.copy()
        while waiting.any():
            turned = np.cos(angle)[:, None] * f + np.sin(angle)[:, None] * nu
            reached = log_likelihood(turned)
            accepted = waiting & (reached > level)
            new[accepted], height[accepted] = turned[accepted], reached[accepted]
            waiting &= ~accepted
            low = np.where(waiting & (angle < 0), angle, low)
            high = np.where(waiting & (angle >= 0), angle, high)
            angle = np.where(waiting, rng.uniform(low, high), angle)
        f = new
        if step >= steps // 5:
            total += f.sum(axis=0)
            square += (f**2).sum(axis=0)
    count = chains * (steps - steps // 5)
    mean = total / count
    return mean, np.sqrt(square / count - mean**2)


@pytest.mark.parametrize(
    "likelihood",
    [
        Bernoulli("logit"),
        *(pytest.param(one, marks=pytest.mark.slow) for one in (Bernoulli("probit"), Poisson())),
    ],
    ids=str,
)
def test_ep_against_a_long_markov_chain(likelihood):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((12, 2))
    y = targets(likelihood, X[:, 0], rng)
    kernel = SquaredExponential(1.0, [1.0, 1.5])
    K = with_diagonal(kernel(X), 1e-4)
    found = ep.approximate(sites.DensePrior(K), Observed(likelihood, y, np.zeros(12)))
    mean, sd = elliptical_slices(
        K,
        lambda f: likelihood.log_likelihood(np.broadcast_to(y, f.shape), f).sum(axis=1),
        chains=1000,
        steps=200,
        seed=0,
    )
    marginals = found.given.marginals
    assert np.max(np.abs(marginals.mean - mean) / sd) < 0.05
    assert np.max(np.abs(np.sqrt(marginals.variance) / sd - 1.0)) < 0.03


@pytest.mark.parametrize(
    ("inference_name", "likelihood", "words"),
    [
        ("exact", Bernoulli(), "does not suit"),
        ("ep", StudentT(), "not reliable"),
        ("laplace", None, "does not suit"),
        ("variational", Bernoulli(), "inference must be"),
    ],
)
def test_what_does_not_suit_is_refused(inference_name, likelihood, words):
    from gpproj.likelihoods import Gaussian

    with pytest.raises(ValueError, match=words):
        inference.method_of(inference_name, likelihood or Gaussian())


def test_what_auto_chooses():
    from gpproj.likelihoods import Gaussian

    chosen = {
        "exact": [Gaussian()],
        "ep": [Bernoulli("probit"), Bernoulli("logit")],
        "laplace": [Poisson(), NegativeBinomial(), StudentT()],
    }
    for method, likelihoods in chosen.items():
        assert [inference.method_of("auto", one) for one in likelihoods] == [method] * len(
            likelihoods
        )
