"""Linear references: draws from elsewhere, conjugate draws, predictions, leave-one-out."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import bernoulli, multivariate_t, norm, poisson

import gpproj
from gpproj.kernels import Constant, Linear
from gpproj.likelihoods import Gaussian
from gpproj.prediction import Mixture
from gpproj.reference.conjugate import RATE, SHAPE

NAMES = list("abcd")


def make_data(n=50, seed=0, family="gaussian"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, -3.0, 1.0]
    weights = np.array([1.0, 0.05, 4.0, 0.0]) + rng.standard_normal((30, 4)) * [
        0.05,
        0.005,
        0.5,
        0.05,
    ]
    intercept = 9.0 + 0.1 * rng.standard_normal(30)
    eta = X @ weights[0] + intercept[0]
    if family == "binomial":
        y = np.where(rng.random(n) < expit(eta), "yes", "no")
    elif family == "poisson":
        y = rng.poisson(np.exp(eta))
    else:
        y = eta + 0.5 * rng.standard_normal(n)
    return X, y, weights, intercept, rng.uniform(0.2, 0.3, 30)


def make_reference(family="gaussian", **options):
    X, y, weights, intercept, noise = make_data(family=family)
    noise = noise if family == "gaussian" else None
    frame = pd.DataFrame(X, columns=NAMES)
    return gpproj.from_linear_draws(
        frame, y, weights, noise, family, intercept=intercept, **options
    )


def test_draws_come_back_in_the_users_units():
    ref = make_reference()
    X, _, weights, intercept, noise = make_data()
    np.testing.assert_allclose(ref.weights, weights, rtol=1e-12)
    np.testing.assert_allclose(ref.intercept, intercept, rtol=1e-12)
    np.testing.assert_allclose(ref.noise_draws, noise, rtol=1e-12)
    assert ref.noise_variance == pytest.approx(noise.mean())
    assert ref.feature_names == tuple(NAMES)
    values = X @ weights.T + intercept
    np.testing.assert_allclose(ref.latent_mean, values.mean(axis=1), rtol=1e-10)
    np.testing.assert_allclose(ref.latent_cov, np.cov(values, bias=True), rtol=1e-6, atol=1e-10)
    assert repr(ref) == "LinearReference(n=50, inputs=4, draws=30, noise sd=0.5091)"
    assert isinstance(ref, gpproj.Reference)


def test_gaussian_predictions_are_the_mixture_over_the_draws():
    ref = make_reference()
    X, y, weights, intercept, noise = make_data()
    values = X @ weights.T + intercept
    mean, variance = ref.predict(pd.DataFrame(X, columns=NAMES)[NAMES[::-1]])
    np.testing.assert_allclose(mean, values.mean(axis=1))
    np.testing.assert_allclose(variance, values.var(axis=1))
    mean, variance = ref.predict_response(X)
    np.testing.assert_allclose(mean, values.mean(axis=1))
    np.testing.assert_allclose(variance, values.var(axis=1) + noise.mean())
    density = norm.logpdf(y[:, None], values, np.sqrt(noise))
    np.testing.assert_allclose(ref.log_density(X, y), logsumexp(density, axis=1) - np.log(30))


def test_classes_have_labels_and_probabilities():
    ref = make_reference("binomial")
    X, y, weights, intercept, _ = make_data(family="binomial")
    p = expit(X @ weights.T + intercept)
    assert ref.classes == ("no", "yes")
    mean, variance = ref.predict_response(X)
    np.testing.assert_allclose(mean, p.mean(axis=1))
    np.testing.assert_allclose(variance, mean * (1 - mean))
    found = ref.log_density(X, y)
    expected = bernoulli.pmf((y == "yes")[:, None].astype(int), p).mean(axis=1)
    np.testing.assert_allclose(found, np.log(expected))
    np.testing.assert_allclose(ref.predict(X).mean, (X @ weights.T + intercept).mean(axis=1))
    with pytest.raises(AttributeError, match="'binomial' has no noise variance"):
        _ = ref.noise_draws
    with pytest.raises(AttributeError, match="noise variance"):
        _ = ref.noise_variance
    assert "family=binomial" in repr(ref)


def test_counts_have_rates_and_exposures():
    X, _, weights, intercept, _ = make_data(family="poisson")
    rng = np.random.default_rng(3)
    exposure = rng.uniform(0.1, 5.0, len(X))
    weights, intercept = weights / 4, intercept / 4
    rates = np.exp(X @ weights.T + intercept) * exposure[:, None]
    y = rng.poisson(rates[:, 0])
    ref = gpproj.from_linear_draws(
        X, y, weights, family="poisson", intercept=intercept, exposure=exposure
    )
    mean, variance = ref.predict_response(X, exposure)
    np.testing.assert_allclose(mean, rates.mean(axis=1))
    np.testing.assert_allclose(variance, rates.mean(axis=1) + rates.var(axis=1))
    np.testing.assert_allclose(ref.predict_response(X).mean, rates.mean(axis=1) / exposure)
    expected = poisson.pmf(y[:, None], rates).mean(axis=1)
    np.testing.assert_allclose(ref.log_density(X, y, exposure), np.log(expected), rtol=1e-8)
    np.testing.assert_allclose(ref.intercept, intercept, rtol=1e-10)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_every_draw_is_also_a_gaussian_process_without_variance(family):
    """What asks for processes one by one finds the same as what asks for all draws at once."""
    ref = make_reference(family)
    X, y, *_ = make_data(family=family)
    for name, arguments in (
        ("predict", (X,)),
        ("predict_response", (X,)),
        ("log_density", (X, y)),
    ):
        fast = getattr(ref, name)(*arguments)
        slow = getattr(Mixture, name)(ref, *arguments)
        np.testing.assert_allclose(fast, slow, rtol=1e-6, atol=1e-8, err_msg=name)


def test_frames_of_weights_are_read_by_name():
    X, y, weights, intercept, noise = make_data()
    frame = pd.DataFrame(X, columns=NAMES)
    shuffled = pd.DataFrame(weights, columns=NAMES)[["d", "a", "c", "b"]].assign(other=1.0)
    ref = gpproj.from_linear_draws(frame, y, shuffled, noise, intercept=intercept)
    np.testing.assert_allclose(ref.weights, weights, rtol=1e-12)
    ref = gpproj.from_linear_draws(
        pl.DataFrame(X, NAMES), y, pl.DataFrame(weights, NAMES), 0.25, intercept=list(intercept)
    )
    np.testing.assert_allclose(ref.weights, weights, rtol=1e-12)
    np.testing.assert_allclose(ref.noise_draws, 0.25)


def test_arrays_of_other_libraries_stay_there():
    torch = pytest.importorskip("torch")
    X, y, weights, intercept, noise = make_data()
    ref = gpproj.from_linear_draws(
        torch.tensor(X), torch.tensor(y), torch.tensor(weights), noise, intercept=intercept
    )
    own = make_reference()
    assert isinstance(ref.predict(torch.tensor(X)).mean, torch.Tensor)
    np.testing.assert_allclose(ref.predict(torch.tensor(X)).mean, own.predict(X).mean)
    path = gpproj.forward_search(ref, progress=False)
    assert path.positions == gpproj.forward_search(own, progress=False).positions
    assert isinstance(path[2].predict_response(torch.tensor(X)).mean, torch.Tensor)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": np.zeros((30, 3))}, "weights must have one row for each draw and one column"),
        ({"weights": np.zeros(4)}, "weights must have one row"),
        ({"weights": np.full((30, 4), np.nan)}, "weights must be finite"),
        ({"weights": "none"}, "weights must hold real numbers"),
        ({"weights": pd.DataFrame(np.zeros((30, 2)), columns=["a", "b"])}, "weights lacks"),
        ({"noise_variance": None}, "noise_variance is missing"),
        ({"noise_variance": -1.0}, "noise_variance must be positive"),
        ({"noise_variance": np.ones(7)}, "noise_variance must be a number, or one for each of"),
        ({"intercept": np.ones((2, 2))}, "intercept must be a number, or one for each of"),
        ({"intercept": np.inf}, "intercept must be finite"),
        ({"family": "gamma"}, 'family must be one of "gaussian", "binomial", "poisson"'),
        ({"family": "poisson"}, "noise_variance is for family"),
        ({"exposure": np.ones(50)}, "exposure is for targets that are counts"),
    ],
)
def test_bad_input_names_the_argument(changed, message):
    X, y, weights, intercept, noise = make_data()
    given = {"weights": weights, "noise_variance": noise, "intercept": intercept, **changed}
    with pytest.raises((TypeError, ValueError), match=message):
        gpproj.from_linear_draws(pd.DataFrame(X, columns=NAMES), np.round(np.abs(y)), **given)


def test_rates_that_overflow_are_refused():
    X, y, weights, *_ = make_data(family="poisson")
    with pytest.raises(ValueError, match="weights are too large: the logarithm of a rate"):
        gpproj.from_linear_draws(X, y, weights, family="poisson", intercept=800.0)


def test_what_a_linear_reference_has_not_is_said():
    ref = make_reference()
    for name in ("kernel", "log_marginal_likelihood", "target", "problem", "ard_relevance", "to"):
        assert not hasattr(ref, name)
    with pytest.raises(ValueError, match="method must be one of kl, variance, permutation for a"):
        gpproj.relevance(ref)
    with pytest.raises(ValueError, match="from_linear_draws was called without refit="):
        ref.refit(*make_data()[:2])


def test_refits_must_be_linear_too():
    ref = make_reference(refit=lambda X, y: None)
    with pytest.raises(TypeError, match="refit must return a linear reference"):
        ref.refit(*make_data()[:2])


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_other_measures_of_relevance_take_linear_references(family):
    ref = make_reference(family)
    X, *_ = make_data()
    slopes = np.abs(ref.weights.mean(axis=0)) * X.std(axis=0)
    kl = gpproj.relevance(ref, "kl")
    np.testing.assert_allclose(kl, slopes / slopes.max(), atol=0.1)
    assert gpproj.relevance(ref, "permutation", random_state=0).idxmax() == "a"


def test_effects_are_straight_lines():
    ref = make_reference()
    X, *_ = make_data()
    table = gpproj.effects(ref, X, ["c", "a"], points=3)
    rows = table[table["input"] == "a"]
    slope = np.diff(rows["mean"]) / np.diff(rows["x"])
    np.testing.assert_allclose(slope, ref.weights[:, 0].mean())
    draws = X.mean(axis=0) @ ref.weights.T + ref.intercept
    draws = draws + ref.weights[:, 0] * (rows["x"].iloc[0] - X[:, 0].mean())
    assert rows["upper"].iloc[0] == pytest.approx(draws.mean() + 1.959964 * draws.std())
    from gpproj.dependence.averages import average

    moved = np.array(ref._read(X))
    moved[:, 0] = moved[:, 0].min()
    equal = np.full(len(moved), 1.0 / len(moved))
    processes = [average(predictor, moved, equal) for _, predictor, _ in ref._components()]
    scale, centre = ref.training.scaling.target_scale, ref.training.scaling.target_mean
    assert rows["mean"].iloc[0] == pytest.approx(
        centre + scale * np.mean([mean for mean, _ in processes])
    )


def make_regression(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1) + 4.0
    return X, 20.0 + X[:, 0] - 0.5 * X[:, -1] + 0.7 * rng.standard_normal(n)


def test_conjugate_draws_at_fixed_noise_are_those_of_a_gp_with_a_linear_kernel():
    X, y = make_regression()
    noise, scale = 0.49, 0.2
    ref = gpproj.sample_linear(
        X, y, 40_000, prior_scale=scale, noise_variance=noise, random_state=0
    )
    kernel = Constant(1e5) + Linear(scale**2 * noise)
    gp = gpproj.condition(X, y, kernel, Gaussian(noise), standardize=True, nugget=1e-9)
    new = X[:10] * 1.5
    mean, variance = gp.predict(new)
    found = ref.predict(new)
    error = np.sqrt(variance / 40_000)
    assert np.all(np.abs(found.mean - mean) < 4.5 * error)
    np.testing.assert_allclose(found.variance, variance, rtol=0.04)
    np.testing.assert_allclose(ref.noise_draws, noise)
    y_new = gp.predict_response(new)
    np.testing.assert_allclose(ref.predict_response(new).variance, y_new.variance, rtol=0.02)
    density = gp.log_density(new, y[:10])
    np.testing.assert_allclose(ref.log_density(new, y[:10]), density, atol=0.05)


def test_conjugate_draws_have_the_closed_form_of_the_normal_inverse_gamma():
    X, y = make_regression()
    n, g = len(y), 0.5
    ref = gpproj.sample_linear(X, y, 40_000, prior_scale=g, random_state=1)
    Z, t = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    precision = Z.T @ Z + np.eye(3) / g**2
    mean = np.linalg.solve(precision, Z.T @ t)
    shape = SHAPE + 0.5 * (n - 1)
    rate = RATE + 0.5 * (t @ t - mean @ precision @ mean)
    np.testing.assert_allclose(ref.noise_variance, y.var() * rate / (shape - 1), rtol=0.01)
    np.testing.assert_allclose(ref.weights.mean(0), mean * y.std() / X.std(0), atol=0.01)
    cov = rate / (shape - 1) * np.linalg.inv(precision)
    expected = cov * y.var() / np.outer(X.std(0), X.std(0))
    np.testing.assert_allclose(np.cov(ref.weights.T), expected, rtol=0.05, atol=2e-5)


def test_scales_of_the_weights_are_weighted_by_their_evidence():
    """Of two scales, one is drawn as often as the multivariate t densities of y say."""
    from gpproj.reference.conjugate import conjugate_draws

    X, y = make_regression(n=12)
    Z, t = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    scales = np.array([0.15, 0.6])
    rows = np.linalg.svd(np.ones((1, 12)))[2][1:]  # what is left of y without its mean
    density = [
        multivariate_t.pdf(
            rows @ t,
            shape=RATE / SHAPE * (np.eye(11) + g**2 * rows @ Z @ Z.T @ rows.T),
            df=2 * SHAPE,
        )
        for g in scales
    ]
    share = density[1] / sum(density)
    assert 0.05 < share < 0.95
    rng = np.random.default_rng(0)
    # The scale of a draw cannot be seen in it, but the mean of the weights is that of the mixture.
    found = conjugate_draws(Z, t, 40_000, scales, None, rng).slopes.mean(axis=0)
    ridge = [np.linalg.solve(Z.T @ Z + np.eye(3) / g**2, Z.T @ t) for g in scales]
    np.testing.assert_allclose(found, (1 - share) * ridge[0] + share * ridge[1], atol=0.01)


def test_more_inputs_than_rows_are_shrunk():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 60))
    y = 2 * X[:, 4] + 0.3 * rng.standard_normal(30)
    ref = gpproj.sample_linear(X, y, random_state=0)
    assert ref.weights.mean(axis=0).argmax() == 4
    new = rng.standard_normal((200, 60))
    truth = 2 * new[:, 4] + 0.3 * rng.standard_normal(200)
    null = norm.logpdf(truth, y.mean(), y.std()).mean()
    assert ref.log_density(new, truth).mean() > null


def test_constant_inputs_have_the_weight_zero():
    X, y = make_regression()
    X[:, 1] = 7.0
    with pytest.warns(UserWarning, match="constant in X"):
        ref = gpproj.sample_linear(X, y, random_state=0)
    assert not ref.weights[:, 1].any()


def test_random_states_decide():
    X, y = make_regression()
    one, two, three = (gpproj.sample_linear(X, y, 5, random_state=s) for s in (0, 0, 1))
    assert np.array_equal(one.weights, two.weights)
    assert not np.array_equal(one.weights, three.weights)
    again = one.refit(X, y)
    assert np.array_equal(one.weights, again.weights)
    by_generator = gpproj.sample_linear(X, y, 5, random_state=np.random.default_rng(0))
    assert np.array_equal(by_generator.weights, by_generator.refit(X, y).weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 0}, "draws must be a whole number"),
        ({"prior_scale": -1.0}, "prior_scale must be positive"),
        ({"noise_variance": 0.0}, "noise_variance must be positive"),
    ],
)
def test_bad_settings_of_the_sampler_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        gpproj.sample_linear(*make_regression(), **options)


def test_leave_one_out_is_that_of_refits():
    pytest.importorskip("nutpie")
    X, y = make_regression(n=25)
    ref = gpproj.sample_linear(X, y, 4000, prior_scale=1.0, noise_variance=0.5, random_state=0)
    loo = ref.loo()
    for i in (0, 7, 20):
        rest = np.delete(np.arange(25), i)
        own = ref.refit(X[rest], y[rest])
        mean, variance = own.predict_response(X[[i]])
        assert loo.mean[i] == pytest.approx(mean[0], abs=0.05)
        assert loo.variance[i] == pytest.approx(variance[0], rel=0.1)
        assert loo.log_density[i] == pytest.approx(own.log_density(X[[i]], y[[i]])[0], abs=0.1)


def test_leave_one_out_needs_draws():
    X, y, weights, intercept, noise = make_data()
    ref = gpproj.from_linear_draws(X, y, weights[:5], noise[:5], intercept=intercept[:5])
    with pytest.raises(ValueError, match="5 are too few: at least 25"):
        ref.loo()


def test_leave_one_out_of_classes_is_weighted_by_their_probability():
    pytest.importorskip("nutpie")
    ref = make_reference("binomial")
    loo = ref.loo()
    mean, variance = loo.mean, loo.variance
    np.testing.assert_allclose(variance, mean * (1 - mean))
    assert np.all(loo.log_density <= ref.log_density(*make_data(family="binomial")[:2]) + 1e-12)


def test_no_warning_is_raised_on_the_way():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_reference("poisson").predict_response(make_data()[0] * 100)
