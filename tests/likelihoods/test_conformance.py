"""What every likelihood has to keep: against densities written anew and dense grids."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, log_ndtr

from gpproj import likelihoods
from gpproj.likelihoods import Bernoulli, Gaussian, NegativeBinomial, Poisson, StudentT

MODELS = [
    Gaussian(0.01),
    Gaussian(2.0),
    Bernoulli("probit"),
    Bernoulli("logit"),
    Poisson(),
    NegativeBinomial(1e-6),
    NegativeBinomial(0.3),
    NegativeBinomial(4.0),
    StudentT(1e-4, 2.5),
    StudentT(1.0, 4.0),
    StudentT(9.0, 50.0),
]
every = pytest.mark.parametrize("model", MODELS, ids=repr)
learning = pytest.mark.parametrize("model", [one for one in MODELS if one.parameters], ids=repr)

TARGETS = {
    "real": [0.3],
    "binary": [0.0, 1.0],
    "count": [0.0, 1.0, 7.0, 2000.0],
}
MEANS = [0.0, 0.7, -4.0, 12.0, -1e3, 1e3]
SDS = [1e-6, 0.05, 0.6, 2.0, 30.0, 1e3]


def log_p(model, y, f):
    match model:
        case Gaussian():
            return stats.norm.logpdf(y, f, np.sqrt(model.variance))
        case StudentT():
            return stats.t.logpdf(y, model.degrees, f, np.sqrt(model.variance))
        case Bernoulli(link="probit"):
            return log_ndtr((2 * y - 1) * f)
        case Bernoulli():
            return -np.logaddexp(0.0, -(2 * y - 1) * f)
        case Poisson():
            return y * f - np.exp(np.minimum(f, 700.0)) - gammaln(y + 1)
    steps = np.log1p(model.dispersion * np.arange(np.max(y)))  # Gamma(y + r) / Gamma(r) / r^y
    ways = np.concatenate([[0.0], np.cumsum(steps)])[np.asarray(y, dtype=int)]
    log_total = np.logaddexp(0.0, f + np.log(model.dispersion))
    return ways - gammaln(y + 1) + y * f - (y + 1 / model.dispersion) * log_total


def moments_of_y(model, f):
    match model:
        case Gaussian():
            return f, model.variance
        case StudentT():
            return f, model.variance * stats.t.var(model.degrees)
        case Bernoulli():
            p, q = (np.exp(log_p(model, y, f)) for y in (1.0, 0.0))
            return p, p * q
    rate = np.exp(f)
    return rate, rate + getattr(model, "dispersion", 0.0) * rate**2


def on_a_grid(log_density, mean, sd, centre, scale):
    """Places, their probabilities and the log integral of a density times a Gaussian.

    Places are dense around the Gaussian, or around the density if that is the narrower, and their
    window is narrowed until it holds nothing negligible: the rule of equal steps is exact then.
    """
    narrow = sd < 0.1 * scale

    def place(t):
        return (mean + sd * t, np.log(sd)) if narrow else (
            centre + scale * np.sinh(t), np.log(scale * np.cosh(t))
        )  # fmt: skip

    away = (centre - mean) / sd
    reach = np.arcsinh((abs(centre - mean) + 50 * sd) / scale)
    window = (min(away, 0.0) - 50, max(away, 0.0) + 50) if narrow else (-reach, reach)
    for _ in range(60):
        t = np.linspace(*window, 20_001)
        f, log_step = place(t)
        logs = log_density(f) + stats.norm.logpdf(f, mean, sd) + log_step
        kept = np.flatnonzero(logs > logs.max() - 60)
        last, window = window, (t[max(kept[0] - 1, 0)], t[min(kept[-1] + 1, t.size - 1)])
        if window[1] - window[0] > 0.7 * (last[1] - last[0]):
            break
    weights = np.exp(logs - logs.max())
    log_integral = logs.max() + np.log(weights.sum() * (t[1] - t[0]))
    return f, weights / weights.sum(), log_integral


def centre_of(model, y):
    match model.kind:
        case "real":
            return y, np.sqrt(model.variance)
        case "binary":
            return 0.0, 1.0
    return np.log(max(y, 0.5)), 1 / np.sqrt(max(y, 1.0))


def cases(model, means=MEANS):
    found = []
    for y in TARGETS[model.kind]:
        for mean in means:
            for sd in SDS:
                # At these the grid's own sums of large numbers are not exact enough.
                if abs(mean) < 100 or sd > 0.1:
                    found.append((y, mean, sd))
    return found


def columns(table):
    y, mean, sd = np.array(table, dtype=float).T
    return y, mean, sd**2


def differences(function, x, step):
    return (function(x + step) - function(x - step)) / (2 * step)


def targets_and_values(model):
    y = np.repeat(TARGETS[model.kind], 41)
    f = np.tile(np.linspace(-6.0, 8.0, 41), len(TARGETS[model.kind]))
    if model.kind == "real":
        f = y + f * np.sqrt(model.variance)
    return y, f


@every
def test_the_density_is_the_one_in_the_books(model):
    y, f = targets_and_values(model)
    expected = log_p(model, y, f)
    np.testing.assert_allclose(model.log_likelihood(y, f), expected, rtol=1e-12, atol=1e-11)


@every
def test_derivatives_are_those_of_the_density(model):
    y, f = targets_and_values(model)
    scale = centre_of(model, 0.0)[1]
    step = 1e-4 * scale
    found = model.derivatives(y, f)
    functions = [
        lambda x: model.log_likelihood(y, x),
        lambda x: model.derivatives(y, x).first,
        lambda x: model.derivatives(y, x).second,
    ]
    for order, (derivative, function) in enumerate(zip(found, functions, strict=True), 1):
        expected = differences(function, f, step)
        size = 1 + np.abs(function(f)).max() * scale ** (order - 1)
        atol = 1e-7 * size / scale**order
        np.testing.assert_allclose(derivative, expected, rtol=1e-6, atol=atol)


@every
def test_information_is_positive(model):
    y, f = targets_and_values(model)
    information = model.information(y, f)
    assert np.all(information > 0)
    assert np.all(model.weights(y, f) > 0)
    if model.log_concave:
        np.testing.assert_array_equal(information, -model.derivatives(y, f).second)
        np.testing.assert_array_equal(model.weights(y, f), information)


@learning
def test_derivatives_in_the_parameters(model):
    y, f = targets_and_values(model)
    (at,) = model.log_parameters
    found = model.parameter_derivatives(y, f)
    functions = [
        lambda t: model.with_log_parameters(np.array([t])).log_likelihood(y, f),
        lambda t: model.with_log_parameters(np.array([t])).derivatives(y, f).first,
        lambda t: model.with_log_parameters(np.array([t])).derivatives(y, f).second,
    ]
    for derivative, function in zip(found, functions, strict=True):
        assert derivative.shape == (1, y.size)
        expected = differences(function, at, 1e-4)
        atol = 1e-10 * (1 + np.abs(function(at)).max())
        np.testing.assert_allclose(derivative[0], expected, rtol=1e-6, atol=atol)
    slopes = differences(
        lambda t: model.with_log_parameters(np.array([t])).information(y, f), at, 1e-4
    )
    atol = 1e-10 * (1 + model.information(y, f).max())
    np.testing.assert_allclose(model.information_slopes(y, f)[0], slopes, rtol=1e-6, atol=atol)


@every
def test_tilted_moments(model):
    table = cases(model)
    found = model.tilted(*columns(table))
    for case, (y, mean, sd) in enumerate(table):
        f, p, log_integral = on_a_grid(
            lambda f, y=y: log_p(model, y, f), mean, sd, *centre_of(model, y)
        )
        expected = np.sum(p * (f - mean)) + mean
        variance = np.sum(p * (f - expected) ** 2)
        about = f"y = {y}, mean = {mean}, sd = {sd}"
        assert found.log_normaliser[case] == pytest.approx(log_integral, rel=1e-9, abs=1e-8), about
        away = (found.mean[case] - expected) / np.sqrt(variance)
        assert abs(away) < 1e-8, about
        assert found.variance[case] == pytest.approx(variance, rel=1e-8), about


@learning
def test_slopes_of_the_log_normaliser(model):
    y, mean, variance = columns(cases(model))
    (at,) = model.log_parameters

    def log_normaliser(t):
        return model.with_log_parameters(np.array([t])).tilted(y, mean, variance).log_normaliser

    step = 1e-3
    expected = (
        8 * differences(log_normaliser, at, step) - 2 * differences(log_normaliser, at, 2 * step)
    ) / 6
    atol = 1e-8 + 1e-12 * np.abs(log_normaliser(at))
    found = model.tilted_slopes(y, mean, variance)
    assert found.shape == (1, y.size)
    assert np.all(np.abs(found[0] - expected) < 1e-7 * np.abs(expected) + atol)


@every
def test_likelihoods_without_parameters_have_no_slopes(model):
    y, f = targets_and_values(model)
    q = len(model.parameters)
    assert model.log_parameters.shape == (q,)
    assert model.tilted_slopes(y, f, np.ones_like(f)).shape == (q, y.size)
    assert all(part.shape == (q, y.size) for part in model.parameter_derivatives(y, f))
    assert model.information_slopes(y, f).shape == (q, y.size)


@every
def test_predictions(model):
    for mean in (-4.0, 0.0, 1.3, 6.0):
        for sd in (1e-3, 0.4, 2.0, 7.0):
            found = model.response(np.array([mean]), np.array([sd**2]))
            f = mean + sd * np.linspace(-40.0, 40.0, 16_001)
            p = stats.norm.pdf((f - mean) / sd)
            p /= p.sum()
            y, variance = moments_of_y(model, f)
            expected = np.sum(p * y)
            total = np.sum(p * (variance + (y - expected) ** 2))
            np.testing.assert_allclose(found[0], [expected], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(found[1], [total], rtol=1e-9)


@every
@pytest.mark.parametrize(("mean", "variance"), [(0.4, 0.0), (-1.0, 0.5), (2.0, 0.09)])
def test_probabilities_of_targets_sum_to_one(model, mean, variance):
    jacobian = 0.0
    match model.kind:
        case "binary":
            y = np.array([0.0, 1.0])
        case "count":
            y = np.arange(4000.0)
        case "real":
            t = np.linspace(-25.0, 25.0, 4001)
            scale = np.sqrt(model.variance + variance)
            y, jacobian = mean + scale * np.sinh(t), np.log(scale * np.cosh(t) * (t[1] - t[0]))
    log_density = model.log_density(y, np.full_like(y, mean), np.full_like(y, variance))
    assert np.exp(log_density + jacobian).sum() == pytest.approx(1.0, rel=1e-8)
    if not variance:
        same = model.log_likelihood(y, np.full_like(y, mean))
        np.testing.assert_allclose(log_density, same, rtol=1e-12, atol=1e-12)


@every
def test_parameters_come_back(model):
    assert all(
        field in (one.name for one in dataclasses.fields(model)) for field in model.parameters
    )
    again = model.with_log_parameters(model.log_parameters)
    assert type(again) is type(model)
    for field in dataclasses.fields(model):
        mine, other = getattr(model, field.name), getattr(again, field.name)
        assert mine == other if isinstance(mine, str) else mine == pytest.approx(other, rel=1e-14)
    if model.parameters:
        moved = model.with_log_parameters(model.log_parameters + np.log(2.0))
        (field,) = model.parameters
        assert getattr(moved, field) == pytest.approx(2 * getattr(model, field), rel=1e-14)


@every
def test_scaling_is_that_of_real_targets(model):
    if model.kind != "real":
        assert model.scaled(9.0) == model
        return
    y, f = targets_and_values(model)
    found = model.scaled(9.0).log_likelihood(3 * y, 3 * f) + np.log(3.0)
    np.testing.assert_allclose(found, model.log_likelihood(y, f), rtol=1e-12)


@every
def test_the_unit_is_what_an_observation_is_worth(model):
    y = np.array({"real": [0.1, 2.0], "binary": [0.0, 1.0], "count": [2.0, 8.0]}[model.kind])
    unit = model.unit(y)
    match model:
        case Bernoulli(link="logit"):
            assert unit == pytest.approx(1 / model.information(y, np.zeros(2))[0])
        case Bernoulli():
            assert unit == 1.0
        case Poisson() | NegativeBinomial():
            assert unit == pytest.approx(0.2)
            assert model.unit(np.zeros(3)) == pytest.approx(6.0)
        case _:
            assert unit == model.variance


@every
def test_the_centre_fits_best(model):
    offset = np.array([0.0, 0.3, -0.2, 0.1, 0.0, 1.0])
    if model.kind == "real":
        assert model.centre(offset, offset) == 0.0
        return
    ones = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    y = ones if model.kind == "binary" else 5 * ones + 1
    centre = model.centre(y, offset)
    if model.kind == "binary":
        assert np.exp(model.log_likelihood(1.0, centre)) == pytest.approx(2.5 / 7)
        assert np.isfinite([model.centre(np.full(3, one), np.zeros(3)) for one in (0.0, 1.0)]).all()
    else:
        poisson = Poisson().derivatives(y, centre + offset).first
        assert poisson.sum() == pytest.approx(0.0, abs=1e-12)
        assert np.isfinite(model.centre(np.zeros(3), np.zeros(3)))
        assert model.centre(y, np.zeros(1)) == pytest.approx(np.log(y.mean()))


@every
def test_arrays_of_any_shape_are_done_elementwise(model):
    y = np.array(TARGETS[model.kind])[:, None]
    mean = np.array([0.0, 1.0, -2.0])
    variance = np.array([[0.5]])
    found = model.tilted(y, mean, variance)
    flat = model.tilted(*(part.ravel() for part in np.broadcast_arrays(y, mean, variance)))
    for one, other in zip(found, flat, strict=True):
        np.testing.assert_array_equal(np.broadcast_to(one, (y.size, 3)).ravel(), other)
    mean = np.linspace(-1.0, 1.0, 1500)  # more than are integrated at a time
    many = model.log_density(np.ones(1500), mean, np.full(1500, 0.5))
    few = model.log_density(np.ones(2), mean[[3, 1400]], np.full(2, 0.5))
    np.testing.assert_allclose(many[[3, 1400]], few, rtol=1e-13)


def test_every_likelihood_conforms():
    offered = {getattr(likelihoods, name) for name in likelihoods.__all__ if name[0].isupper()}
    others = {likelihoods.Likelihood, likelihoods.Numerical, likelihoods.Derivatives}
    assert offered - others == {type(model) for model in MODELS}
