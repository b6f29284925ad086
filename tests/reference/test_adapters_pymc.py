"""Gaussian processes of PyMC as references, against the library itself."""

from __future__ import annotations

import numpy as np
import pytest

import gpproj

pytestmark = pytest.mark.slow  # what is run once is compiled first

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def pm():
    pytensor = pytest.importorskip("pytensor")
    with pytensor.config.change_flags(mode="FAST_COMPILE"):  # no compiler, and much sooner
        yield pytest.importorskip("pymc")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    return X, 3.0 + np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(30)


def draws_of(**values):
    az = pytest.importorskip("arviz")
    return az.from_dict(posterior={name: np.asarray(value)[None] for name, value in values.items()})


@pytest.fixture(scope="module")
def marginal(pm, data):
    with pm.Model() as model:
        scale = pm.Gamma("scale", 2.0, 1.0, shape=3)
        height = pm.Deterministic("height", pm.HalfNormal("root", 2.0) ** 2)
        level, sigma = pm.Normal("level", 0.0, 5.0), pm.HalfNormal("sigma", 1.0)
        X = pm.Data("points", data[0])
        gp = pm.gp.Marginal(
            mean_func=pm.gp.mean.Constant(level), cov_func=height * pm.gp.cov.ExpQuad(3, ls=scale)
        )
        gp.marginal_likelihood("y", X=X, y=data[1], sigma=sigma)
    return model, gp


POINT = {"scale": np.array([1.0, 2.0, 4.0]), "root": 1.5, "height": 2.25, "level": 2.0}
POINT["sigma"] = 0.3


def test_a_marginal_process_at_one_point(data, marginal):
    model, gp = marginal
    ref = gpproj.from_pymc(gp, POINT, feature_names=NAMES)
    mean, cov = gp.predict(data[0], point=POINT, model=model)
    np.testing.assert_allclose(ref.latent_mean, mean, atol=1e-6)
    np.testing.assert_allclose(np.asarray(ref.latent_cov), cov, atol=1e-6)
    assert ref.noise_variance == pytest.approx(0.09)
    new = data[0][:4] + 0.2
    mean, variance = gp.predict(new, point=POINT, diag=True, model=model)
    found = ref.predict(new)
    np.testing.assert_allclose(found.mean, mean, atol=1e-6)
    np.testing.assert_allclose(found.variance, variance, atol=1e-6)
    assert set(gpproj.forward_search(ref, 2, progress=False).order) == {"a", "b"}
    cloudpickle = pytest.importorskip("cloudpickle")
    again = cloudpickle.loads(cloudpickle.dumps(ref))  # as joblib sends it; pickle cannot
    np.testing.assert_allclose(again.predict(new).mean, found.mean)


def test_a_marginal_process_at_posterior_draws_is_their_mixture(data, marginal):
    model, gp = marginal
    rng = np.random.default_rng(1)
    trace = draws_of(
        scale=np.exp(0.2 * rng.standard_normal((4, 3))),
        root=[1.0, 1.2, 1.4, 1.6],
        level=[2.0, 2.5, 3.0, 3.5],
        sigma=[0.2, 0.3, 0.4, 0.5],
    )
    ref = gpproj.from_pymc(gp, trace)
    posterior = trace.posterior
    points = [
        {name: np.asarray(posterior[name][0, s]) for name in posterior.data_vars} for s in range(4)
    ]
    for point in points:
        point["height"] = point["root"] ** 2
    each = [gp.predict(data[0], point=point, model=model) for point in points]
    means, covs = (np.array(part) for part in zip(*each, strict=True))
    np.testing.assert_allclose(ref.latent_mean, means.mean(axis=0), atol=1e-6)
    expected = covs.mean(axis=0) + np.cov(means, rowvar=False, bias=True)
    np.testing.assert_allclose(np.asarray(ref.latent_cov), expected, atol=1e-6)
    assert ref.noise_variance == pytest.approx(np.mean([0.04, 0.09, 0.16, 0.25]))
    found = ref.predict(data[0])
    np.testing.assert_allclose(found.mean, means.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.variance, np.diagonal(expected), atol=2e-6)  # less jitter


def test_white_noise_in_a_covariance_is_noise(pm, data):
    def make(sigma, *white):
        with pm.Model():
            cov = sum(white, start=2.0 * pm.gp.cov.Matern52(3, ls=[1.0, 2.0, 4.0]))
            gp = pm.gp.Marginal(cov_func=cov)
            gp.marginal_likelihood("y", X=data[0], y=data[1], sigma=sigma)
        return gpproj.from_pymc(gp, {})

    one, two = make(0.5), make(0.3, pm.gp.cov.WhiteNoise(0.4))
    assert two.noise_variance == pytest.approx(0.25)
    np.testing.assert_allclose(two.latent_mean, one.latent_mean, atol=1e-9)
    new = data[0][:3] + 0.2
    np.testing.assert_allclose(two.predict(new).variance, one.predict(new).variance, atol=1e-9)


@pytest.fixture(scope="module")
def latent(pm, data):
    with pm.Model() as model:
        scale = pm.Gamma("scale", 2.0, 1.0)
        gp = pm.gp.Latent(cov_func=2.0 * pm.gp.cov.ExpQuad(3, ls=scale))
        f = gp.prior("f", X=data[0])
        pm.Bernoulli("y", logit_p=f, observed=data[1] > 3.0)
    rng = np.random.default_rng(2)
    f = 2.0 * (data[1] - 3.0) + 0.5 * rng.standard_normal((200, 30))
    return model, gp, draws_of(f=f, scale=rng.uniform(1.0, 2.0, 200))


def test_draws_of_a_latent_process(pm, data, latent):
    model, gp, trace = latent
    f = np.asarray(trace.posterior["f"][0])
    ref = gpproj.from_pymc(gp, trace, y=data[1] > 3.0, likelihood="logit", feature_names=NAMES)
    np.testing.assert_allclose(ref.latent_mean, f.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(np.asarray(ref.latent_cov), np.cov(f, rowvar=False), atol=1e-6)
    new = data[0][:3] + 0.2
    mu, cov = gp._build_conditional(new, *gp._get_given_vals(None), jitter=1e-6)
    evaluate = pm.compile([gp.f, model["scale"]], [mu, cov])
    scales = np.asarray(trace.posterior["scale"][0])
    each = [evaluate(row, scale) for row, scale in zip(f, scales, strict=True)]
    means, covs = (np.array(part) for part in zip(*each, strict=True))
    found = ref.predict(new)
    np.testing.assert_allclose(found.mean, means.mean(axis=0), atol=1e-6)
    expected = np.diagonal(covs.mean(axis=0)) + means.var(axis=0)
    np.testing.assert_allclose(found.variance, expected, atol=1e-6)
    assert ref.source == "from_pymc"
    assert gpproj.forward_search(ref, 1, progress=False).order[0] in ("a", "b")


def test_noise_of_a_latent_process_is_given(data, latent):
    _, gp, trace = latent
    with pytest.warns(UserWarning, match="draws are few"):
        ref = gpproj.from_pymc(
            gp, trace.isel(draw=slice(50)), y=data[1], noise_variance=trace.posterior["scale"]
        )
    assert ref.noise_variance == pytest.approx(float(trace.posterior["scale"].mean()))


def test_what_pymc_cannot_give(pm, data, marginal, latent):
    X, y = data
    _, gp = marginal
    _, hidden, trace = latent
    with pm.Model():
        approximate = pm.gp.MarginalApprox(cov_func=pm.gp.cov.ExpQuad(3, ls=1.0))
        empty = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(3, ls=1.0))
        coloured = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(3, ls=1.0))
        coloured.marginal_likelihood("y", X=X, y=y, sigma=pm.gp.cov.Matern32(3, ls=0.1))
        uneven = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(3, ls=1.0))
        uneven.marginal_likelihood("z", X=X, y=y, sigma=np.linspace(0.1, 1.0, 30))
        several = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(3, ls=1.0))
        several.prior("g", X=X, n_outputs=2)
    two = draws_of(g=np.zeros((5, 2, 30)))
    for model, values, options, error, words in (
        (approximate, {}, {}, TypeError, "got MarginalApprox: gpproj.from_draws"),
        (empty, {}, {}, ValueError, "call gp.marginal_likelihood or gp.prior first"),
        (coloured, {}, {}, ValueError, "has the noise Matern32"),
        (uneven, {}, {}, ValueError, "noise that differs between rows"),
        (gp, {"scale": np.ones(3)}, {}, ValueError, "no values of (root|level|sigma)"),
        (gp, POINT, {"y": y}, ValueError, "y is for a gp.Latent"),
        (gp, [1.0], {}, TypeError, "trace must be posterior draws"),
        (hidden, trace, {}, ValueError, "y is missing"),
        (hidden, two, {"y": y}, ValueError, "no draws of f"),
        (several, two, {"y": y}, ValueError, r"one output: .* saw the shape \(2, 30\)"),
    ):
        with pytest.raises(error, match=words):
            gpproj.from_pymc(model, values, **options)
