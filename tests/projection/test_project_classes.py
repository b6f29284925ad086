"""Projections of classes, counts and heavy tails: fixed sites to learn, new ones to predict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.inference import APPROXIMATIONS
from gpproj.inference.sites import DensePrior
from gpproj.likelihoods import Bernoulli, NegativeBinomial, Poisson, StudentT
from gpproj.linalg import DenseCovariance, to_host
from gpproj.projection import CRITERIA, OBJECTIVES, family_of
from gpproj.reference.draws import Draws

NAMES = ("a", "b", "c")
MEASURES = {"loo": "loo_divergence", "projection": "projection_error"}
both = pytest.mark.parametrize("learn", MEASURES)
LIKELIHOODS = {
    "probit": Bernoulli("probit"),
    "logit": Bernoulli("logit"),
    "logit by laplace": Bernoulli("logit"),
    "poisson": Poisson(),
    "negative-binomial": NegativeBinomial(0.2),
    "negative-binomial by ep": NegativeBinomial(0.2),
    "student-t": StudentT(0.05),
}


def make_data(name, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 3)), columns=NAMES)
    f = 2 * np.sin(X["a"]) + X["b"] + 0.3 * X["c"]
    exposure = None
    kind = LIKELIHOODS[name].kind
    if kind == "binary":
        y = np.where(f + 0.8 * rng.standard_normal(n) > 0.7, "sick", "healthy")
    elif kind == "count":
        exposure = rng.uniform(0.5, 2.0, n)
        y = rng.poisson(exposure * np.exp(f))
    else:
        y = 5 * (f + 0.2 * rng.standard_t(4, size=n))
    return X, y, exposure


each_way = pytest.mark.parametrize(
    ("name", "learn"),
    [*((name, "loo") for name in LIKELIHOODS), ("probit", "projection"), ("poisson", "projection")],
)

KERNEL = gpproj.kernels.Constant(0.3) + gpproj.kernels.SquaredExponential(3.0, [1.8, 2.5, 4.0])


@pytest.fixture(scope="module")
def refs():
    """At plausible values of the hyperparameters, which saves their search."""
    made = {}
    for name, likelihood in LIKELIHOODS.items():
        X, y, exposure = make_data(name)
        unit = 25.0 if likelihood.kind == "real" else 1.0
        made[name] = gpproj.condition(
            X,
            y,
            KERNEL.scaled(unit),
            likelihood.scaled(unit),
            name.partition(" by ")[2] or "auto",
            standardize=True,
            exposure=exposure,
        )
    return made


def smooth_covariance(sub, X, Z=None):
    """K_smooth of a submodel between rows in the user's units, on the model's scale."""
    scaling = sub.columns.scaling
    positions = sub.columns.positions(sub.inputs)
    kernel = sub.kernel.scaled(1 / scaling.target_scale**2)
    one, other = (
        scaling.inputs(np.asarray(rows, dtype=float))[:, list(positions)]
        for rows in (X, X if Z is None else Z)
    )
    return kernel(one, other)


def gaussian_kl(mean, cov, other_mean, other_cov):
    away = other_mean - mean
    inverse = np.linalg.inv(other_cov)
    log_dets = np.linalg.slogdet(other_cov)[1] - np.linalg.slogdet(cov)[1]
    return 0.5 * (np.trace(inverse @ cov) + away @ inverse @ away - len(mean) + log_dets)


# What is minimised


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_target_has_the_sites_of_the_reference(refs, name):
    ref = refs[name]
    tau, nu = ref.latent.sites
    np.testing.assert_array_equal(ref.target.site_precision, tau)
    np.testing.assert_array_equal(ref.target.site_shift, nu)
    assert np.all(tau >= 0)
    if name != "student-t":
        assert np.ptp(tau) > 0
    # Together with the prior they make the posterior.
    K = ref.model_kernel(ref.training.X) + ref.target.nugget * np.eye(ref.training.n)
    cov = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    np.testing.assert_allclose(ref.target.latent_cov.dense(), cov, atol=1e-7)
    np.testing.assert_allclose(ref.target.latent_mean, cov @ nu, atol=1e-6)


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("inputs", [["a"], ["b", "a"], []], ids=str)
def test_what_is_minimised_is_the_divergence_of_posteriors_under_the_same_sites(refs, name, inputs):
    ref = refs[name]
    X, _, _ = make_data(name)
    # Without a prior constants may grow until the matrices below lose their digits.
    sub = gpproj.project(ref, inputs, "projection", prior="weak")
    tau, nu = ref.latent.sites
    mean, cov = to_host(ref.target.latent_mean), ref.target.latent_cov.dense()
    extra = sub.extra_variance / ref.training.scaling.target_scale**2 + ref.target.nugget
    K_smooth = smooth_covariance(sub, X)
    K = K_smooth + extra * np.eye(len(X))
    sub_cov = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    expected = gaussian_kl(mean, cov, sub_cov @ nu, sub_cov)
    assert sub.posterior_kl == pytest.approx(expected, rel=1e-5, abs=1e-5)
    R = np.diag(tau) - tau[:, None] * sub_cov * tau[None, :]
    b = nu - R @ K @ nu
    predictive = gaussian_kl(mean, cov, K_smooth @ b, K - K_smooth @ R @ K_smooth)
    assert sub.projection_error == pytest.approx(predictive, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("inputs", [["a"], []], ids=str)
def test_single_rows_are_compared_by_cavities_under_the_same_sites(refs, name, inputs):
    """A row is left out by conditioning on the sites of the others."""
    ref = refs[name]
    X, _, _ = make_data(name)
    sub = gpproj.project(ref, inputs)
    tau, nu = ref.latent.sites
    eps, eye = ref.target.nugget, np.eye(len(X))
    extra = sub.extra_variance / ref.training.scaling.target_scale**2
    reference_prior = ref.model_kernel(ref.training.X) + eps * eye
    prior = smooth_covariance(sub, X) + (extra + eps) * eye
    total = 0.0
    for row in range(len(X)):
        rest = np.delete(np.arange(len(X)), row)
        moments = []
        for K in (reference_prior, prior):
            A = K[np.ix_(rest, rest)] + np.diag(1.0 / tau[rest])
            gain = np.linalg.solve(A, K[rest, row])
            moments.append((gain @ (nu / tau)[rest], K[row, row] - gain @ K[rest, row]))
        (m, v), (mean, variance) = moments
        total += 0.5 * (np.log(variance / v) + (v + (m - mean) ** 2) / variance - 1.0)
    assert sub.loo_divergence == pytest.approx(total, rel=1e-4)
    assert total > 1.0


def silenced(ref, rows):
    """What a projection is compared with when some observations say nothing."""
    tau, nu = (np.array(to_host(part)) for part in ref.latent.sites)
    tau[rows] = nu[rows] = 0.0
    K = ref.model_kernel(ref.training.X) + ref.target.nugget * np.eye(ref.training.n)
    cov = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    faint = np.where(tau > 0.0, tau, 1e-4)
    return replace(
        ref.target,
        latent_mean=cov @ nu,
        latent_cov=DenseCovariance(0.5 * (cov + cov.T)),
        site_precision=tau,
        site_shift=nu,
        left_out=replace(ref.target.left_out, site_precision=faint, site_shift=nu),
    )


@both
@pytest.mark.parametrize("name", ["probit", "poisson"])
@pytest.mark.parametrize("rows", [[], [0, 7, 20]], ids=str)
def test_the_gradient_is_that_of_the_value_with_unequal_and_silent_sites(refs, name, rows, learn):
    ref = refs[name]
    target, family = silenced(ref, rows), family_of(ref)
    mask = np.array([[True, False, True]])
    at = np.append(ref.model_kernel.log_parameters(3), np.log(0.3)) + 0.1
    objective = OBJECTIVES[learn]

    def evaluated(parameters):
        held = objective.compared_with(target)
        return objective.value(held, family.kernel, parameters[None], mask)

    found = evaluated(at)
    assert found.value[0] > 0
    assert CRITERIA[MEASURES[learn]](target, family.kernel, at[None], mask)[0] > 0
    for place in range(at.size):
        step = np.zeros_like(at)
        step[place] = 1e-5
        ahead, back = (evaluated(at + sign * step).value[0] for sign in (1, -1))
        assert found.gradient[0, place] == pytest.approx((ahead - back) / 2e-5, rel=1e-4, abs=1e-5)


# What is recovered


@each_way
def test_all_inputs_recover_the_reference(refs, name, learn):
    ref = refs[name]
    X, y, exposure = make_data(name)
    sub = gpproj.project(ref, NAMES, learn, prior=None)
    null = gpproj.project(ref, [], learn, prior=None)
    assert sub.converged
    assert -1e-6 < sub.posterior_kl < 1e-4
    for figure in MEASURES.values():
        assert -1e-9 <= getattr(sub, figure) < 1e-4 * getattr(null, figure)
    unit = ref.training.scaling.target_scale
    np.testing.assert_allclose(sub.predict(X).mean, ref.predict(X).mean, atol=2e-3 * unit)
    one, other = (model.predict_response(X, exposure).mean for model in (sub, ref))
    np.testing.assert_allclose(one, other, rtol=2e-3, atol=1e-4)
    one, other = (model.log_density(X, y, exposure) for model in (sub, ref))
    np.testing.assert_allclose(one, other, atol=2e-3)


@each_way
def test_the_error_falls_with_every_useful_input(refs, name, learn):
    errors = [
        getattr(gpproj.project(refs[name], inputs, learn), MEASURES[learn])
        for inputs in (["a", "b"], ["a"], [])
    ]
    assert 0 < errors[0] < errors[1] < errors[2]


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("rate", [0.1, 0.7])
@pytest.mark.parametrize(
    ("learn", "prior", "near"), [("loo", "auto", 0.04), ("projection", None, 0.02)]
)
def test_the_null_model_predicts_the_base_rate(link, rate, learn, prior, near):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((50, 3))
    f = 2 * X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(50)
    y = f > np.quantile(f, 1 - rate)
    for standardize in (True, False):
        ref = gpproj.condition(X, y, KERNEL, link, standardize=standardize)
        null = gpproj.project(ref, [], learn, prior=prior)
        probability = null.predict_response(X).mean
        assert np.ptp(probability) < 1e-12
        assert probability[0] == pytest.approx(y.mean(), abs=near)


@pytest.mark.parametrize("name", ["poisson", "negative-binomial"])
def test_the_null_model_of_counts_has_one_rate(refs, name):
    X, _, exposure = make_data(name)
    null = gpproj.project(refs[name], [])
    expected = null.predict_response(X, exposure).mean
    np.testing.assert_allclose(expected / exposure, expected[0] / exposure[0], rtol=1e-9)


def test_by_ep_the_null_model_of_counts_predicts_their_overall_rate():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    exposure = rng.uniform(0.5, 2.0, 50)
    y = rng.poisson(exposure * np.exp(0.5 * (2 * np.sin(X[:, 0]) + X[:, 1])))
    ref = gpproj.condition(X, y, KERNEL, "poisson", "ep", standardize=True, exposure=exposure)
    null = gpproj.project(ref, [])
    assert null.extra_variance > 0.3
    assert null.predict_response(X, exposure).mean.sum() == pytest.approx(y.sum(), rel=0.15)


# Predictions


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_submodels_predict_with_sites_of_their_own(refs, name):
    ref = refs[name]
    X, _, _ = make_data(name)
    sub = gpproj.project(ref, ["a"])
    scaling = ref.training.scaling
    extra = sub.extra_variance / scaling.target_scale**2 + ref.target.nugget
    K = smooth_covariance(sub, X) + extra * np.eye(len(X))
    observed = ref.problem.observed(ref.latent.likelihood)
    own = APPROXIMATIONS[ref.problem.method](DensePrior(K), observed)
    X_new = X[:8] + 0.2
    k = smooth_covariance(sub, X, X_new)
    mean = scaling.restore_mean(k.T @ own.given.coefficients)
    found = sub.predict(X_new)
    np.testing.assert_allclose(found.mean, mean, atol=1e-6 * scaling.target_scale)
    prior = np.diag(smooth_covariance(sub, X_new)) + extra
    explained = np.sum((own.given.root @ k) ** 2, axis=0)
    variance = scaling.restore_variance(prior - explained)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-6)
    tau, nu = ref.latent.sites
    if name != "student-t":
        assert np.max(np.abs(own.given.sites.precision - tau)) > 1e-3
    R = np.linalg.inv(K + np.diag(1 / tau))
    fixed = scaling.restore_mean(k.T @ R @ (nu / tau))
    assert np.max(np.abs(fixed - mean)) > 1e-3 * scaling.target_scale


@pytest.mark.parametrize("name", ["probit", "poisson"])
def test_names_positions_labels_and_exposure_of_submodels(refs, name):
    ref = refs[name]
    X, y, exposure = make_data(name)
    sub = gpproj.project(ref, ["b", "a"])
    assert sub.inputs == ("b", "a")
    assert sub.classes == ref.classes
    assert sub.likelihood == ref.likelihood
    expected = sub.predict_response(X, exposure)
    shuffled = sub.predict_response(X[["c", "b", "a"]], exposure)
    small = sub.predict_response(X[["b", "a"]].to_numpy(), exposure)
    np.testing.assert_array_equal(shuffled.mean, expected.mean)
    np.testing.assert_allclose(small.mean, expected.mean, rtol=1e-12)
    density = sub.log_density(X, y, exposure)
    if name == "probit":
        second = y == "sick"
        own = np.where(second, expected.mean, 1 - expected.mean)
        np.testing.assert_allclose(density, np.log(own), rtol=1e-9)
    assert np.all(density < 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["probit", "poisson", "student-t"])
def test_learning_from_the_data_alone(refs, name):
    """The sites stand for the data here, and the evidence under them is what is climbed."""
    ref = refs[name]
    X, y, exposure = make_data(name)
    sub = gpproj.project(ref, ["a", "b"], learn="marginal_likelihood")
    projected = gpproj.project(ref, ["a", "b"], "projection", prior=None)
    by_rows = gpproj.project(ref, ["a", "b"], prior=None)
    assert sub.converged
    assert sub.posterior_kl >= projected.posterior_kl - 1e-6
    assert sub.loo_divergence >= by_rows.loo_divergence - 1e-6
    assert np.mean(sub.log_density(X, y, exposure)) > np.mean(
        gpproj.project(ref, []).log_density(X, y, exposure)
    )


# Draws


WEIGHTS = np.array([0.3, 0.1, 0.25, 0.35])


@pytest.fixture(scope="module", params=["probit", "negative-binomial"])
def drawn(request, refs):
    """Four weighted draws, two of which are wigglier."""
    ref = refs[request.param]
    rng = np.random.default_rng(1)
    parameters = ref.draws.parameters + 0.1 * rng.standard_normal((4, ref.draws.parameters.size))
    parameters[1::2, 2:5] -= 0.8
    return request.param, replace(ref, draws=Draws(parameters, WEIGHTS))


@pytest.mark.slow
def test_clusters_of_draws(drawn):
    name, ref = drawn
    X, y, exposure = make_data(name)
    one = gpproj.project(ref, ["a", "b"], clusters=1)
    assert one.clusters == 1
    two = gpproj.project(ref, ["a", "b"], clusters=2)
    assert two.clusters == 2
    weights = [part.weight for part in two.parts]
    assert sorted(weights) == pytest.approx([0.45, 0.55])
    all_of_them = gpproj.project(ref, ["a", "b"], clusters="draws")
    assert [part.weight for part in all_of_them.parts] == pytest.approx(WEIGHTS)
    parts = [replace(two, parts=(part._replace(weight=1.0),)) for part in two.parts]
    means = [part.predict_response(X, exposure).mean for part in parts]
    found = two.predict_response(X, exposure)
    np.testing.assert_allclose(found.mean, np.average(means, axis=0, weights=weights), rtol=1e-9)
    densities = [np.exp(part.log_density(X, y, exposure)) for part in parts]
    np.testing.assert_allclose(
        two.log_density(X, y, exposure),
        np.log(np.average(densities, axis=0, weights=weights)),
        rtol=1e-9,
    )
    if name == "probit":
        np.testing.assert_allclose(found.variance, found.mean * (1 - found.mean), rtol=1e-9)
    else:
        dispersions = [part.likelihood.dispersion for part in two.parts]
        assert two.likelihood.dispersion == pytest.approx(np.average(dispersions, weights=weights))
    for model in (one, two, all_of_them):
        assert np.mean(model.log_density(X, y, exposure)) > np.mean(
            gpproj.project(ref, []).log_density(X, y, exposure)
        )


@pytest.mark.slow
@pytest.mark.parametrize(("learn", "prior"), [("loo", None), ("projection", "weak")])
def test_a_draw_by_itself_is_projected_as_if_there_were_no_others(drawn, learn, prior):
    name, ref = drawn
    X, _, _ = make_data(name)
    mixed = gpproj.project(ref, ["a"], learn, clusters="draws", prior=prior)
    for k in range(len(WEIGHTS)):
        alone = replace(ref, draws=Draws.equal(ref.draws.parameters[[k]]))
        expected = gpproj.project(alone, ["a"], learn, prior=prior)
        part = mixed.parts[k]
        own = replace(mixed, parts=(part._replace(weight=1.0),))
        np.testing.assert_allclose(own.predict(X).mean, expected.predict(X).mean, atol=0.02)


@pytest.mark.slow
def test_several_workers_change_nothing(drawn):
    name, ref = drawn
    X, _, _ = make_data(name)
    one = gpproj.project(ref, ["b"], clusters="draws")
    two = gpproj.project(ref, ["b"], clusters="draws", n_jobs=2)
    np.testing.assert_array_equal(one.predict(X).mean, two.predict(X).mean)
