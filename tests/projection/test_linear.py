"""Projections of linear references: closed form and iterations against a general optimiser."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, xlogy

import gpproj
from gpproj.kernels import Constant, Linear
from gpproj.likelihoods import Gaussian
from gpproj.reference.linear_draws import LOG, LOGIT

FAMILIES = ("gaussian", "binomial", "poisson")


def make_draws(n=40, d=4, s=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(0.5, 2.0, d) + np.arange(d)
    X[:, 1] += X[:, 0]
    weights = np.linspace(1.0, -0.5, d) + 0.2 * rng.standard_normal((s, d))
    return X, weights, 0.5 + 0.1 * rng.standard_normal(s), rng.uniform(0.5, 1.5, s), rng


def make_reference(family="gaussian", exposure=False, **sizes):
    X, weights, intercept, noise, rng = make_draws(**sizes)
    eta = X @ weights[0] + intercept[0]
    if family == "gaussian":
        y = eta + rng.standard_normal(len(X))
        return gpproj.from_linear_draws(X, y, weights, noise, intercept=intercept)
    if family == "binomial":
        y = (rng.random(len(X)) < expit(eta)).astype(int)
        y[:2] = 0, 1
        return gpproj.from_linear_draws(X, y, weights, family="binomial", intercept=intercept)
    spent = rng.uniform(0.2, 3.0, len(X)) if exposure else None
    y = rng.poisson(np.exp(eta) * (1.0 if spent is None else spent))
    return gpproj.from_linear_draws(
        X, y, weights, family="poisson", intercept=intercept, exposure=spent
    )


def test_the_closed_form_is_the_papers():
    """w_perp = (X'X)^-1 X'f, sigma_perp^2 = sigma^2 + |f - f_perp|^2 / n, and the mean error."""
    ref = make_reference()
    X, weights, intercept, noise, _ = make_draws()
    sub = gpproj.project(ref, ["x2", "x0"])
    f = X @ weights.T + intercept
    A = np.column_stack([np.ones(40), X[:, [2, 0]]])
    w = np.linalg.solve(A.T @ A, A.T @ f)
    np.testing.assert_allclose(sub.intercept, w[0], rtol=1e-9)
    np.testing.assert_allclose(sub.weights, w[1:].T, rtol=1e-9)
    perp = noise + np.mean((f - A @ w) ** 2, axis=0)
    np.testing.assert_allclose(sub.noise_draws, perp, rtol=1e-10)
    np.testing.assert_allclose(sub.errors, 0.5 * np.log(perp / noise), rtol=1e-10)
    assert sub.projection_error == pytest.approx(np.mean(0.5 * np.log(perp / noise)))
    assert sub.noise_variance == pytest.approx(perp.mean())
    assert sub.extra_variance == pytest.approx((perp - noise).mean())
    assert sub.posterior_kl == sub.projection_error
    assert (sub.inputs, sub.converged, sub.clusters) == (("x2", "x0"), True, 6)
    assert isinstance(sub, gpproj.Submodel)
    assert repr(sub) == f"LinearSubmodel(x2, x0; projection error={sub.projection_error:.4g})"


def divergence(family, f, g, noise, other):
    """Mean divergence between the predictive distributions, written out."""
    if family == "gaussian":
        return np.mean(0.5 * (np.log(other / noise) + (noise + (f - g) ** 2) / other - 1.0))
    if family == "binomial":
        p, q = expit(f), expit(g)
        return np.mean(xlogy(p, p / q) + xlogy(1 - p, (1 - p) / (1 - q)))
    return np.mean(np.exp(f) * (f - g) - np.exp(f) + np.exp(g))


@pytest.mark.parametrize("inputs", [[], [2], [0, 3, 1]])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_general_optimiser_finds_the_same(family, inputs):
    ref = make_reference(family, exposure=True)
    X, weights, intercept, noise, _ = make_draws()
    offset = 0.0
    if family == "poisson":
        offset = np.asarray(ref.training.offset) - ref.training.scaling.target_mean
    sub = gpproj.project(ref, inputs)
    A = np.column_stack([np.ones(40), X[:, inputs]])
    for s in range(3):
        f = X @ weights[s] + intercept[s] + offset

        def objective(x, f=f, s=s):
            return divergence(family, f, A @ x[:-1] + offset, noise[s], np.exp(x[-1]))

        start = np.zeros(len(inputs) + 2)
        start[0] = np.mean(f - offset)
        best = minimize(objective, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000})
        assert sub.errors[s] == pytest.approx(best.fun, rel=1e-5, abs=1e-9)
        assert sub.errors[s] <= best.fun + 1e-10
        found = np.append(sub.intercept[s], sub.weights[s])
        np.testing.assert_allclose(found, best.x[:-1], atol=2e-3)
        if family == "gaussian":
            assert sub.noise_draws[s] == pytest.approx(np.exp(best.x[-1]), rel=1e-4)
    assert sub.projection_error == pytest.approx(np.mean(sub.errors))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sizes", [{}, {"n": 12, "d": 20}], ids=["usual", "more inputs than rows"])
def test_all_inputs_give_the_draws_back(family, sizes):
    ref = make_reference(family, **sizes)
    d = len(ref.feature_names)
    sub = gpproj.project(ref, list(reversed(range(d))))
    np.testing.assert_allclose(sub.weights, ref.weights[:, ::-1], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sub.intercept, ref.intercept, rtol=1e-10, atol=1e-10)
    assert 0 <= sub.projection_error < 1e-15
    new = np.random.default_rng(5).standard_normal((7, d))
    np.testing.assert_allclose(sub.predict(new), ref.predict(new), rtol=1e-9, atol=1e-12)
    if family == "gaussian":
        np.testing.assert_allclose(sub.noise_draws, ref.noise_draws)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_error_falls_along_nested_sets(family):
    ref = make_reference(family)
    errors = np.array([gpproj.project(ref, range(k)).errors for k in range(5)])
    assert np.all(np.diff(errors, axis=0) <= 1e-12)
    assert np.all(errors[0] > errors[3])


@pytest.mark.parametrize("family", FAMILIES)
def test_duplicated_and_constant_columns_change_nothing(family):
    X, weights, intercept, noise, rng = make_draws()
    y = rng.integers(0, 2, 40)
    y[:2] = 0, 1
    more = np.column_stack([X, X[:, 0], np.full(40, 3.0), X[:, 2] * 2 + 1])
    extended = np.column_stack([weights, np.zeros((6, 3))])
    own = noise if family == "gaussian" else None
    plain = gpproj.from_linear_draws(X, y, weights, own, family, intercept=intercept)
    with pytest.warns(UserWarning, match="constant in X"):
        ref = gpproj.from_linear_draws(more, y, extended, own, family, intercept=intercept)
    for few, many in (([0, 2], [0, 2, 4, 5, 6]), ([2], [6]), ([], [5])):
        one, two = gpproj.project(plain, few), gpproj.project(ref, many)
        assert two.projection_error == pytest.approx(one.projection_error, rel=1e-9)
        np.testing.assert_allclose(
            two.predict(more).mean, one.predict(X).mean, rtol=1e-7, atol=1e-9
        )
        assert two.converged


@pytest.mark.parametrize("scale", [1.0, 40.0, 400.0])
def test_separated_classes_end_at_finite_weights(scale):
    X, weights, *_ = make_draws(n=60)
    y = (X @ weights[0] > 0).astype(int)
    ref = gpproj.from_linear_draws(X, y, scale * weights, family="binomial")
    for inputs in ([], [0], [0, 2], [0, 1, 2]):
        sub = gpproj.project(ref, inputs)
        assert sub.converged
        assert np.all(np.isfinite(sub.weights))
        p = expit(scale * X @ weights.T)
        q = expit(X[:, inputs] @ sub.weights.T + sub.intercept)
        A = np.column_stack([np.ones(60), X[:, inputs]])
        # At the optimum the fitted means have the moments of the reference's.
        np.testing.assert_allclose(A.T @ q, A.T @ p, atol=1e-4)


def test_rates_that_differ_by_many_orders_converge():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 5))
    weights = np.array([4.0, 3.0, -2.0, 1.0, 0.0]) * (1 + 0.1 * rng.standard_normal((8, 5)))
    y = rng.poisson(np.minimum(np.exp(X @ weights[0]), 1e9))
    exposure = np.exp(3 * rng.standard_normal(50))
    ref = gpproj.from_linear_draws(X, y, weights, family="poisson", exposure=exposure)
    for inputs in ([], [4], [1], [0, 1, 2]):
        sub = gpproj.project(ref, inputs)
        assert sub.converged
        p, q = (np.exp(part) * exposure[:, None] for part in (X @ weights.T, values(sub, X)))
        A = np.column_stack([np.ones(50), X[:, inputs]])
        np.testing.assert_allclose(A.T @ q, A.T @ p, rtol=1e-5, atol=1e-5 * p.sum())


def values(sub, X):
    positions = [int(name[1:]) for name in sub.inputs]
    return X[:, positions] @ sub.weights.T + sub.intercept


@pytest.mark.parametrize("link", [LOGIT, LOG], ids=["logit", "log"])
def test_links_are_consistent(link):
    eta = np.array([[-30.0, -2.0, 0.0, 1.5, 20.0]])
    aim = link.aim(eta)
    np.testing.assert_allclose(link.divergence(aim, eta), 0.0, atol=1e-15)
    near = link.divergence(aim, eta + 1e-3)
    np.testing.assert_allclose(near, 0.5e-6 * link.variance(eta), rtol=1e-2, atol=1e-15)
    step = (link.mean(eta + 1e-6) - link.mean(eta - 1e-6)) / 2e-6
    np.testing.assert_allclose(link.variance(eta), step, rtol=1e-4, atol=1e-9)
    far = link.divergence(aim, eta + 900.0)
    assert np.all(far > 0)


def test_predictions_of_a_submodel_are_mixtures_of_its_draws():
    ref = make_reference()
    X, *_ = make_draws()
    sub = gpproj.project(ref, [3, 1])
    f = values(sub, X)
    mean, variance = sub.predict_response(X)
    np.testing.assert_allclose(mean, f.mean(axis=1))
    np.testing.assert_allclose(variance, f.var(axis=1) + sub.noise_draws.mean())
    np.testing.assert_allclose(sub.predict(X[:, [3, 1]]).mean, mean)
    null = gpproj.project(ref, [])
    assert null.predict(X).mean == pytest.approx(np.asarray(ref.latent_mean).mean())


def test_names_of_frames_are_kept():
    X, weights, intercept, noise, _ = make_draws()
    frame = pd.DataFrame(X, columns=["age", "bmi", "bp", "sex"])
    ref = gpproj.from_linear_draws(frame, X @ weights[0], weights, noise, intercept=intercept)
    sub = gpproj.project(ref, ["sex", "age"])
    assert sub.inputs == ("sex", "age")
    np.testing.assert_allclose(
        sub.predict(frame).mean, values(gpproj.project(make_reference(), [3, 0]), X).mean(axis=1)
    )


def test_a_gp_with_a_linear_kernel_agrees_on_what_matters():
    """The same posterior twice: its projections predict alike, and it finds the same inputs."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 4))
    X[:, 3] += X[:, 0]
    y = 2 * X[:, 0] + X[:, 1] + 0.4 * X[:, 2] + 0.5 * rng.standard_normal(80)
    noise, scale = 0.25, 2.0
    gp = gpproj.condition(
        X, y, Constant(10.0) + Linear(scale**2 * noise), Gaussian(noise), standardize=True
    )
    ref = gpproj.sample_linear(X, y, 2000, prior_scale=scale, noise_variance=noise, random_state=0)
    assert (
        gpproj.forward_search(ref, 3, progress=False).order
        == gpproj.forward_search(gp, 3, progress=False).order
    )
    for inputs in ([0], [0, 1], [3, 1]):
        one, two = gpproj.project(ref, inputs), gpproj.project(gp, inputs, prior=None)
        away = np.asarray(one.predict(X).mean) - np.asarray(two.predict(X).mean)
        spread = np.std(np.asarray(two.predict(X).mean))
        assert np.sqrt(np.mean(away**2)) < 0.05 * spread
        total = two.extra_variance + two.noise_variance
        assert one.noise_variance == pytest.approx(total, rel=0.1)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"learn": "marginal_likelihood"}, "learn"),
        ({"prior": "log-uniform"}, "prior"),
        ({"clusters": 3}, "clusters"),
        ({"kernel": Linear()}, "kernel"),
    ],
)
def test_options_of_gaussian_processes_are_refused(options, name):
    with pytest.raises(ValueError, match=f"{name} is not offered for linear references"):
        gpproj.project(make_reference(), [0], **options)


def test_options_that_ask_for_what_is_done_anyway_are_fine():
    ref = make_reference()
    one = gpproj.project(ref, [0], prior=None, clusters="draws", learn="loo")
    assert np.array_equal(one.weights, gpproj.project(ref, [0]).weights)


def test_what_a_linear_submodel_has_not_is_said():
    sub = gpproj.project(make_reference("binomial"), [0])
    with pytest.raises(AttributeError, match="no attribute 'kernel'"):
        _ = sub.kernel
    with pytest.raises(AttributeError, match="no extra variance"):
        _ = sub.extra_variance
    with pytest.raises(ValueError, match="inputs must be among"):
        gpproj.project(make_reference(), ["nothing"])


def test_draws_are_projected_in_blocks_that_change_nothing(monkeypatch):
    ref = make_reference("binomial")
    whole = gpproj.project(ref, [0, 2])
    monkeypatch.setattr("gpproj.projection.irls.BLOCK", 1)
    blocks = gpproj.project(ref, [0, 2])
    np.testing.assert_allclose(blocks.weights, whole.weights, rtol=1e-9)


def test_submodels_are_siblings():
    """Both kinds are submodels, neither is the other, and the base cannot be made."""
    kinds = gpproj.GaussianProcessSubmodel, gpproj.LinearSubmodel
    assert all(issubclass(kind, gpproj.Submodel) for kind in kinds)
    assert not issubclass(*kinds)
    assert not issubclass(*reversed(kinds))
    assert isinstance(gpproj.project(make_reference(), [0]), gpproj.LinearSubmodel)
    with pytest.raises(TypeError, match="abstract"):
        gpproj.Submodel()
