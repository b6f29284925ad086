"""Classes, counts and heavy tails through `fit`, `condition` and `sample`: labels, units, LOO."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit, gammaln, ndtr

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Bernoulli, Gaussian, NegativeBinomial, Poisson, StudentT
from gpproj.linalg import to_host
from gpproj.reference.draws import Draws
from tests.fitting import fit_mode

KERNEL = Constant(0.5) + SquaredExponential(1.5, [0.9, 1.4])
LIKELIHOODS = [
    Bernoulli("probit"),
    Bernoulli("logit"),
    Poisson(),
    NegativeBinomial(0.3),
    StudentT(0.1),
]
NAMES = {
    "bernoulli": Bernoulli("probit"),
    "probit": Bernoulli("probit"),
    "logit": Bernoulli("logit"),
    "poisson": Poisson(),
    "negative-binomial": NegativeBinomial(),
    "student-t": StudentT(),
}
COUNTS = ("poisson", "negative-binomial")


def make_inputs(n=24, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return rng, X, 1.5 * np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1]


def make_data(kind, n=24, seed=0):
    rng, X, f = make_inputs(n, seed)
    if kind == "binary":
        return X, (f + rng.standard_normal(n) > 0).astype(int)
    if kind == "count":
        return X, rng.poisson(np.exp(0.7 + f))
    return X, f + 0.2 * rng.standard_t(4, size=n)


def balanced(n=24, seed=0):
    """Inputs, and as many rows of either class."""
    rng, X, f = make_inputs(n, seed)
    noisy = f + rng.standard_normal(n)
    return X, (noisy > np.median(noisy)).astype(int)


def prior_covariance(ref):
    """K with the nugget on the model's scale, from the formula alone."""
    K = ref.model_kernel(to_host(ref.training.X))
    return K + ref.target.nugget * np.eye(len(K))


# Conditioning


@pytest.mark.parametrize("name", NAMES)
def test_every_name_stands_for_its_likelihood(name):
    likelihood = NAMES[name]
    X, y = make_data(likelihood.kind, n=12)
    ref = gpproj.condition(X, y, KERNEL, name)
    assert type(ref.likelihood) is type(likelihood)
    np.testing.assert_allclose(ref.likelihood.log_parameters, likelihood.log_parameters)
    assert getattr(ref.likelihood, "link", None) == getattr(likelihood, "link", None)
    assert (type(likelihood).__name__ in repr(ref)) == (likelihood.kind != "real")
    for part in (*ref.predict(X), *ref.predict_response(X), ref.log_density(X, y), *ref.loo()):
        assert np.shape(part) == (12,)
        assert np.all(np.isfinite(part))


@pytest.mark.parametrize(
    "labels",
    [
        (0, 1),
        (-1, 1),
        (False, True),
        ("no", "yes"),
        (1.0, 2.0),
        (3, 12),
    ],
    ids=str,
)
def test_predictions_do_not_depend_on_what_the_classes_are_called(labels):
    X, y = make_data("binary")
    expected = gpproj.condition(X, y, KERNEL, "probit")
    given = [labels[one] for one in y]
    for column in (given, np.array(given), pd.Series(given), pl.Series(given)):
        ref = gpproj.condition(X, column, KERNEL, "probit")
        assert ref.classes == labels
        np.testing.assert_allclose(ref.latent_mean, expected.latent_mean, rtol=1e-12)
        np.testing.assert_allclose(
            ref.log_density(X, column), expected.log_density(X, y), rtol=1e-12
        )
    assert gpproj.project(ref, ["x0"]).classes == labels


def test_the_other_order_of_the_classes_turns_probabilities_round():
    X, y = make_data("binary")
    for link in ("probit", "logit"):
        one = gpproj.condition(X, np.where(y == 1, "b", "a"), KERNEL, link)
        other = gpproj.condition(X, np.where(y == 1, "a", "b"), KERNEL, link)
        np.testing.assert_allclose(
            one.predict_response(X).mean, 1 - other.predict_response(X).mean, atol=1e-9
        )
        assert one.log_marginal_likelihood == pytest.approx(other.log_marginal_likelihood)


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_response_of_classes_is_the_probability_of_the_second(link, standardize):
    X, y = make_data("binary")
    y[:3] = 1
    ref = gpproj.condition(X, np.where(y == 1, "yes", "no"), KERNEL, link, standardize=standardize)
    X_new = X[:6] + 0.3
    mean, variance = ref.predict(X_new)
    draws = mean + np.sqrt(variance) * np.random.default_rng(0).standard_normal((200_000, 1))
    expected = (ndtr if link == "probit" else expit)(draws).mean(axis=0)
    found = ref.predict_response(X_new)
    np.testing.assert_allclose(found.mean, expected, atol=3e-3)
    np.testing.assert_allclose(found.variance, found.mean * (1 - found.mean), rtol=1e-9)
    np.testing.assert_allclose(ref.log_density(X_new, ["yes"] * 6), np.log(found.mean), rtol=1e-7)
    np.testing.assert_allclose(ref.log_density(X_new, ["no"] * 6), np.log1p(-found.mean), rtol=1e-6)
    assert np.corrcoef(found.mean, y[:6])[0, 1] > 0


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("name", COUNTS)
def test_the_response_of_counts_is_the_expected_count_times_exposure(name, standardize):
    X, y = make_data("count")
    exposure = np.random.default_rng(1).uniform(0.5, 3.0, len(y))
    ref = gpproj.condition(X, y, KERNEL, name, standardize=standardize, exposure=exposure)
    X_new = X[:5] + 0.2
    mean, variance = ref.predict(X_new)
    once = ref.predict_response(X_new)
    np.testing.assert_allclose(once.mean, np.exp(mean + 0.5 * variance), rtol=1e-10)
    thrice = ref.predict_response(X_new, exposure=np.full(5, 3.0))
    np.testing.assert_allclose(thrice.mean, 3 * once.mean, rtol=1e-10)
    assert np.all(thrice.variance > 3 * once.variance)
    # The density sums to one, and its mean is the expected count.
    far = np.arange(400)
    for exposed in (None, np.full(400, 2.0)):
        p = np.exp(ref.log_density(np.repeat(X_new[:1], 400, axis=0), far, exposure=exposed))
        assert p.sum() == pytest.approx(1.0, abs=1e-5)
        rate = 1.0 if exposed is None else 2.0
        assert p @ far == pytest.approx(rate * once.mean[0], rel=1e-3)


def test_exposure_is_time_spent_counting():
    """A row with exposure t is as t rows with the sum of their counts."""
    X, _ = make_data("count", n=8)
    y = np.array([3, 0, 1, 4, 2, 6, 0, 1])
    more = np.array([2, 1, 1, 5, 1, 4, 2, 0])
    twice = gpproj.condition(np.vstack([X, X]), [*y, *more], KERNEL, Poisson(), nugget=0.0)
    once = gpproj.condition(X, y + more, KERNEL, Poisson(), exposure=np.full(8, 2.0), nugget=0.0)
    np.testing.assert_allclose(once.predict(X).mean, twice.predict(X).mean, atol=1e-6)
    np.testing.assert_allclose(once.predict(X).variance, twice.predict(X).variance, rtol=1e-5)
    split = gammaln(y + 1) + gammaln(more + 1) - gammaln(y + more + 1) + (y + more) * np.log(2)
    assert twice.log_marginal_likelihood == pytest.approx(
        once.log_marginal_likelihood - split.sum(), abs=1e-6
    )


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_standardised_or_not_the_same_model_predicts_the_same(likelihood):
    """With as many rows of both classes, a rate of one and a target of mean zero, no centre."""
    rng, X, f = make_inputs()
    X = X * [3.0, 0.2] + [10.0, -4.0]
    exposure, unit = None, 1.0
    if likelihood.kind == "binary":
        _, y = balanced()
    elif likelihood.kind == "count":
        y = rng.poisson(np.exp(f))
        exposure = rng.uniform(0.5, 2.0, len(y))
        exposure *= y.sum() / exposure.sum()
    else:
        y = 5.0 * (f + 0.2 * rng.standard_t(4, size=len(f)))
        y, unit = y - y.mean(), 25.0
    own = KERNEL.scaled(unit)
    wide = Constant(0.5 * unit) + SquaredExponential(1.5 * unit, X.std(axis=0) * [0.9, 1.4])
    noise = likelihood.scaled(unit)
    inside = gpproj.condition(X, y, own, noise, standardize=True, exposure=exposure)
    outside = gpproj.condition(X, y, wide, noise, standardize=False, exposure=exposure)
    X_new = X[:7] + X.std(axis=0) * 0.2
    for one, other in [
        (inside.predict(X_new), outside.predict(X_new)),
        (inside.predict_response(X_new), outside.predict_response(X_new)),
        (inside.loo(), outside.loo()),
    ]:
        for first, second in zip(one, other, strict=True):
            np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(inside.log_density(X, y), outside.log_density(X, y), rtol=1e-6)
    assert inside.log_marginal_likelihood == pytest.approx(outside.log_marginal_likelihood)
    np.testing.assert_allclose(inside.likelihood.log_parameters, noise.log_parameters)
    np.testing.assert_allclose(outside.likelihood.log_parameters, noise.log_parameters)


def test_the_centre_of_classes_and_counts_is_their_overall_rate():
    X, _ = make_data("binary")
    y = np.r_[np.ones(20, dtype=int), np.zeros(4, dtype=int)]
    faint = Constant(1e-6) + SquaredExponential(1e-6, [1.0, 1.0])
    for link in ("probit", "logit"):
        ref = gpproj.condition(X, y, faint, link, standardize=True)
        np.testing.assert_allclose(ref.predict_response(X).mean, 20.5 / 25, atol=1e-3)
        np.testing.assert_allclose(ref.latent_mean, ref.predict(X).mean, atol=1e-3)
    exposure = np.linspace(1, 3, 24)
    ref = gpproj.condition(X, y, faint, "poisson", standardize=True, exposure=exposure)
    np.testing.assert_allclose(ref.predict_response(X).mean, 20 / exposure.sum(), rtol=1e-3)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_only_real_targets_have_a_noise_variance(likelihood):
    X, y = make_data(likelihood.kind)
    ref = gpproj.condition(X, y, KERNEL, likelihood)
    sub = gpproj.project(ref, [0])
    for model in (ref, sub):
        if likelihood.kind == "real":
            assert model.noise_variance == pytest.approx(0.2)  # 0.1 * 4 / (4 - 2)
        else:
            assert not hasattr(model, "noise_variance")
            with pytest.raises(AttributeError, match="has no noise variance"):
                _ = model.noise_variance
        assert (model.classes is None) == (likelihood.kind != "binary")


def test_student_noise_with_many_degrees_of_freedom_is_gaussian():
    X, y = make_data("real")
    heavy = gpproj.condition(X, y, KERNEL, StudentT(0.1, degrees=1e7))
    exact = gpproj.condition(X, y, KERNEL, Gaussian(0.1))
    assert heavy.log_marginal_likelihood == pytest.approx(exact.log_marginal_likelihood, abs=1e-4)
    np.testing.assert_allclose(heavy.latent_mean, exact.latent_mean, atol=1e-5)
    np.testing.assert_allclose(heavy.loo().log_density, exact.loo().log_density, atol=1e-4)


def test_counts_with_hardly_any_dispersion_are_poisson():
    X, y = make_data("count")
    one = gpproj.condition(X, y, KERNEL, NegativeBinomial(1e-8))
    other = gpproj.condition(X, y, KERNEL, Poisson())
    assert one.log_marginal_likelihood == pytest.approx(other.log_marginal_likelihood, abs=1e-4)
    np.testing.assert_allclose(one.latent_mean, other.latent_mean, atol=1e-5)


def test_ep_and_laplace_are_close_for_counts():
    X, y = make_data("count")
    one = gpproj.condition(X, y, KERNEL, "poisson", "ep")
    other = gpproj.condition(X, y, KERNEL, "poisson", "laplace")
    assert one.log_marginal_likelihood == pytest.approx(other.log_marginal_likelihood, abs=0.2)
    assert one.log_marginal_likelihood != other.log_marginal_likelihood
    expected = other.predict_response(X).mean
    np.testing.assert_allclose(one.predict_response(X).mean, expected, rtol=0.2)


# What is refused


@pytest.mark.parametrize("make", [gpproj.fit, gpproj.condition], ids=["fit", "condition"])
@pytest.mark.parametrize(
    ("name", "y", "options", "text"),
    [
        ("probit", [0, 1, 2, 0], {}, "y must have two classes; saw 3"),
        ("logit", ["a", "a", "a", "a"], {}, "y must have two classes; saw one"),
        ("probit", [0, 1, 1, 0], {"exposure": [1.0] * 4}, "exposure is for targets .* counts"),
        ("student-t", [0, 1, 1, 0], {"exposure": [1.0] * 4}, "exposure is for targets .* counts"),
        ("gaussian", [0, 1, 1, 0], {"exposure": [1.0] * 4}, "exposure is for targets .* counts"),
        ("poisson", [0, -1, 1, 0], {}, "y must hold counts"),
        ("negative-binomial", [0, 0.5, 1, 0], {}, "y must hold counts"),
        ("poisson", [0, 0, 0, 0], {}, "y has no event"),
        ("poisson", [0, 2, 1, 0], {"exposure": [1, 1, 0, 1]}, "exposure must be positive"),
        ("poisson", [0, 2, 1, 0], {"exposure": [1, 1, 1]}, "exposure has 3 values"),
        ("binomial", [0, 1, 1, 0], {}, "likelihood must be one of"),
        ("probit", [0, 1, 1, 0], {"inference": "exact"}, "does not suit"),
        ("student-t", [0, 1, 1, 0.5], {"inference": "ep"}, "not reliable"),
        ("poisson", [0, 1, 1, 0], {"inference": "guess"}, "inference must be"),
    ],
)
def test_targets_that_do_not_suit_are_refused(make, name, y, options, text):
    X = np.arange(8.0).reshape(4, 2) ** 2
    given = {"likelihood": name, "kernel": KERNEL, **options}
    with pytest.raises(ValueError, match=text):
        make(X, y, **given)


def test_new_targets_that_do_not_suit_are_refused():
    X, y = make_data("binary", n=10)
    ref = gpproj.condition(X, np.where(y == 1, "yes", "no"), KERNEL, "probit")
    for model in (ref, gpproj.project(ref, [1])):
        with pytest.raises(ValueError, match="saw 'maybe' in row 1"):
            model.log_density(X[:2], ["yes", "maybe"])
        with pytest.raises(ValueError, match="exposure is for targets that are counts"):
            model.predict_response(X[:2], exposure=[1.0, 2.0])
        with pytest.raises(ValueError, match="exposure is for targets that are counts"):
            model.log_density(X[:2], ["yes", "no"], exposure=[1.0, 2.0])
    X, y = make_data("count", n=10)
    counts = gpproj.condition(X, y, KERNEL, "poisson")
    for model in (counts, gpproj.project(counts, [1])):
        with pytest.raises(ValueError, match="y must hold counts"):
            model.log_density(X[:2], [1, -1])
        with pytest.raises(ValueError, match="exposure must be positive"):
            model.predict_response(X[:2], exposure=[1.0, 0.0])
        with pytest.raises(ValueError, match="exposure has 3 values"):
            model.predict_response(X[:2], exposure=[1.0, 1.0, 1.0])


# Leave-one-out


def without_site(ref, i):
    """Latent mean and variance at row i given the sites of all others."""
    K = prior_covariance(ref)
    tau, nu = ref.latent.sites
    rest = np.arange(len(tau)) != i
    k = K[rest, i]
    A = K[np.ix_(rest, rest)] + np.diag(1 / tau[rest])
    mean = k @ np.linalg.solve(A, nu[rest] / tau[rest])
    return mean, K[i, i] - k @ np.linalg.solve(A, k)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_loo_takes_one_site_away(likelihood):
    X, y = make_data(likelihood.kind)
    exposure = np.linspace(0.5, 2.0, len(y)) if likelihood.kind == "count" else None
    ref = gpproj.condition(X, y, KERNEL, likelihood, standardize=True, exposure=exposure)
    found, model = ref.loo(), ref.latent.likelihood
    offset = np.zeros(len(y)) if ref.training.offset is None else ref.training.offset
    for i in range(len(y)):
        mean, variance = without_site(ref, i)
        mean = np.array([mean + offset[i]])
        density = model.log_density(ref.training.y[[i]], mean, np.array([variance]))
        seen = ref.columns.response(*model.response(mean, np.array([variance])))
        scale = ref.training.scaling.target_scale
        assert found.log_density[i] == pytest.approx(density[0] - np.log(scale), abs=1e-6)
        assert found.mean[i] == pytest.approx(seen[0][0], rel=1e-6)
        assert found.variance[i] == pytest.approx(seen[1][0], rel=1e-6)


@pytest.mark.parametrize(
    ("likelihood", "method", "tolerance"),
    [
        (Bernoulli("probit"), "ep", 0.01),
        (Bernoulli("logit"), "ep", 0.01),
        (Poisson(), "ep", 0.02),
        (Poisson(), "laplace", 0.05),
        (NegativeBinomial(0.3), "laplace", 0.05),
        (StudentT(0.1), "laplace", 0.05),
    ],
    ids=str,
)
def test_loo_is_close_to_models_of_the_other_rows(likelihood, method, tolerance):
    X, y = make_data(likelihood.kind)
    ref = gpproj.condition(X, y, KERNEL, likelihood, method)
    found = ref.loo().log_density
    refits = np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        own = gpproj.condition(X[rest], y[rest], KERNEL, likelihood, method)
        refits[i] = own.log_density(X[[i]], y[[i]])[0]
    assert np.mean(np.abs(found - refits)) < tolerance
    assert np.max(np.abs(found - refits)) < 10 * tolerance
    assert np.all(found < ref.log_density(X, y))


# Fitting


@pytest.fixture(scope="module")
def fitted():
    """One maximum of the marginal likelihood for each likelihood, and its data."""
    found = {}
    for likelihood in LIKELIHOODS:
        X, y = make_data(likelihood.kind, n=20, seed=1)
        method = "laplace" if likelihood == Bernoulli("logit") else "auto"  # EP takes its time
        found[str(likelihood)] = (X, y, fit_mode(X, y, likelihood, prior=None, inference=method))
    return found


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_a_fit_is_a_maximum_of_the_marginal_likelihood(fitted, likelihood):
    from gpproj.priors import scales
    from gpproj.reference.log_posterior import LogPosterior

    X, y, ref = fitted[str(likelihood)]
    d, units = 2, scales(ref.training)
    at = ref.draws.parameters[0]
    posterior = LogPosterior(ref.problem, units, None)
    box, gradient = posterior.bounds, posterior.density()(at[None]).gradient[0]
    stuck = ((at <= box.lower) & (gradient < 0)) | ((at >= box.upper) & (gradient > 0))
    assert np.max(np.abs(np.where(stuck, 0.0, gradient))) < 1e-3

    kernel, noise, method = ref.kernel, ref.likelihood, ref.problem.method
    same = gpproj.condition(X, y, kernel, noise, method, standardize=True)
    assert same.log_marginal_likelihood == pytest.approx(ref.log_marginal_likelihood, abs=1e-6)
    logs = kernel.log_parameters(d)
    for place in range(at.size):
        for step in (-0.3, 0.3):
            moved = at.copy()
            moved[place] += step
            if not box.lower[place] <= moved[place] <= box.upper[place]:
                continue
            theta, last = logs.copy(), noise.log_parameters.copy()
            (theta if place < logs.size else last)[place % logs.size] += step
            other = gpproj.condition(
                X,
                y,
                kernel.with_log_parameters(theta, d),
                noise.with_log_parameters(last),
                method,
                standardize=True,
            )
            assert other.log_marginal_likelihood <= ref.log_marginal_likelihood + 1e-7


def test_fits_find_what_is_there(fitted):
    for name, (X, y, ref) in fitted.items():
        response = ref.predict_response(X).mean
        assert np.corrcoef(response, y)[0, 1] > 0.4, name
        assert np.all(np.isfinite(ref.loo().log_density)), name


def test_a_fit_with_a_prior_and_with_exposure():
    X, y = make_data("count", n=30, seed=1)
    exposure = np.where(np.arange(30) % 2, 1.0, 10.0)
    y = np.random.default_rng(0).poisson(exposure * np.exp(np.sin(X[:, 0])))
    frame = pd.DataFrame(X, columns=["age", "dose"])
    ref = fit_mode(frame, y, "poisson", exposure=exposure)
    naive = fit_mode(frame, y, "poisson")
    rate = ref.predict_response(frame).mean
    truth = np.exp(np.sin(X[:, 0]))
    error, other = (
        np.mean(np.log(found / scale / truth) ** 2)
        for found, scale in [(rate, 1.0), (naive.predict_response(frame).mean, 5.5)]
    )
    assert error < 0.5 * other
    again = ref.refit(frame, y, exposure)
    np.testing.assert_allclose(again.predict(frame).mean, ref.predict(frame).mean, rtol=1e-6)


@pytest.mark.slow
def test_heavy_tails_withstand_gross_errors():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, (60, 1))
    truth = 2 * np.sin(2 * X[:, 0])
    y = truth + 0.1 * rng.standard_normal(60)
    y[:3] += [15.0, -20.0, 12.0]
    robust, plain = fit_mode(X, y, "student-t"), fit_mode(X, y)
    X_new = rng.uniform(-2, 2, (200, 1))
    errors = [
        np.sqrt(np.mean((model.predict(X_new).mean - 2 * np.sin(2 * X_new[:, 0])) ** 2))
        for model in (robust, plain)
    ]
    assert errors[0] < 0.1
    assert errors[0] < 0.3 * errors[1]


# Sampling


def quick(X, y, **options):
    chosen = {"draws": 20, "tune": 20, "chains": 2, "random_state": 0, "progress": False} | options
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "sampling: ", UserWarning)
        return gpproj.sample(X, y, **chosen)


@pytest.fixture(scope="module")
def sampled():
    pytest.importorskip("nutpie")
    X, y = make_data("binary", n=20, seed=1)
    frame = pd.DataFrame(X, columns=["age", "dose"])
    labels = np.where(y == 1, "yes", "no")
    return frame, labels, quick(frame, labels, likelihood="probit")


def test_draws_of_classes(sampled):
    X, _y, ref = sampled
    assert ref.draws.count == 20
    assert set(ref.posterior.posterior) == {"constant_variance", "signal_variance", "lengthscale"}
    assert ref.posterior.posterior["lengthscale"].coords["input"].values.tolist() == ["age", "dose"]
    assert ref.classes == ("no", "yes")
    probability = ref.predict_response(X)
    np.testing.assert_allclose(
        probability.variance, probability.mean * (1 - probability.mean), rtol=1e-9
    )
    np.testing.assert_allclose(ref.log_density(X, ["yes"] * 20), np.log(probability.mean))
    loo = ref.loo()
    assert np.all((loo.mean > 0) & (loo.mean < 1))
    assert np.all(loo.log_density < 0)


def test_sites_of_draws_are_averages_of_natural_parameters(sampled):
    from gpproj import inference

    _, _, ref = sampled
    each = [inference.conditioned(ref.problem, theta).sites for theta in ref.draws.parameters]
    precision = np.mean([one.precision for one in each], axis=0)
    shift = np.mean([one.shift for one in each], axis=0)
    np.testing.assert_allclose(ref.latent.sites.precision, precision, rtol=1e-9)
    np.testing.assert_allclose(ref.latent.sites.shift, shift, rtol=1e-9)
    np.testing.assert_allclose(ref.target.site_precision, precision, rtol=1e-9)


def test_moments_of_draws_are_those_of_the_mixture(sampled):
    X, _, ref = sampled
    mean, variance = ref.predict(X)
    # New points have a nugget of their own.
    np.testing.assert_allclose(ref.latent_mean, mean, atol=1e-3)
    np.testing.assert_allclose(ref.latent_cov.diagonal(), variance, atol=1e-3)


def test_loo_of_draws_weighs_them_by_what_they_said(sampled):
    """With equal raw weights in place of smoothed ones, the harmonic mean of the densities."""
    _X, _y, ref = sampled
    each = []
    for theta in ref.draws.parameters:
        single = replace(ref, draws=Draws.equal(theta[None]), posterior=None)
        each.append(single.loo().log_density)
    harmonic = -np.log(np.mean(np.exp(-np.array(each)), axis=0))
    np.testing.assert_allclose(ref.loo().log_density, harmonic, atol=0.1)


@pytest.mark.slow
def test_what_the_likelihood_learns_is_sampled_too():
    pytest.importorskip("nutpie")
    X, y = make_data("count", n=15, seed=1)
    exposure = np.linspace(0.5, 2.0, 15)
    ref = quick(X, y, draws=8, tune=10, likelihood="negative-binomial", exposure=exposure)
    drawn = np.asarray(ref.posterior.posterior["dispersion"])
    assert drawn.shape == (2, 4)
    assert ref.likelihood.dispersion == pytest.approx(drawn.mean())
    np.testing.assert_allclose(drawn.ravel(), np.exp(ref.draws.parameters[:, -1]), rtol=1e-12)
    assert np.all(np.isfinite(ref.loo().log_density))
    X, y = make_data("real", n=15, seed=1)
    ref = quick(X, 10 * y, draws=8, tune=10, likelihood="student-t")
    drawn = np.asarray(ref.posterior.posterior["noise_variance"])
    scale = ref.training.scaling.target_scale
    np.testing.assert_allclose(
        drawn.ravel(), scale**2 * np.exp(ref.draws.parameters[:, -1]), rtol=1e-12
    )
    assert ref.likelihood.variance == pytest.approx(drawn.mean())
