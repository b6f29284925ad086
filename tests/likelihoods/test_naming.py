"""Likelihoods by name, their fields, and arrays of other libraries."""

from __future__ import annotations

import dataclasses

import array_api_strict
import numpy as np
import pytest

from gpproj.likelihoods import (
    Bernoulli,
    Gaussian,
    NegativeBinomial,
    Poisson,
    StudentT,
    named_likelihood,
)


@pytest.mark.parametrize(
    ("name", "likelihood"),
    [
        ("gaussian", Gaussian()),
        ("bernoulli", Bernoulli()),
        ("probit", Bernoulli("probit")),
        ("logit", Bernoulli("logit")),
        ("poisson", Poisson()),
        ("negative-binomial", NegativeBinomial()),
        ("student-t", StudentT()),
    ],
)
def test_names_stand_for_likelihoods(name, likelihood):
    assert named_likelihood(name) == likelihood
    assert named_likelihood(likelihood) is likelihood


@pytest.mark.parametrize("wrong", ["normal", "", None, 3, Gaussian, ["gaussian"]])
def test_other_names_are_refused(wrong):
    with pytest.raises(
        ValueError, match=r'^likelihood must be one of "gaussian", .*"student-t"'
    ) as e:
        named_likelihood(wrong)
    assert repr(wrong) in str(e.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(0.0), "variance must be positive"),
        (lambda: Gaussian(np.inf), "variance must be positive"),
        (lambda: StudentT(-1.0), "variance must be positive"),
        (lambda: StudentT(1.0, -3.0), "degrees must be positive"),
        (lambda: StudentT(1.0, 2.0), "degrees must be above 2"),
        (lambda: NegativeBinomial(0.0), "dispersion must be positive"),
        (lambda: Bernoulli("cauchit"), 'link must be "probit" or "logit", got \'cauchit\''),
    ],
)
def test_fields_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("likelihood", [Gaussian(), Bernoulli(), NegativeBinomial(), StudentT()])
def test_likelihoods_are_frozen(likelihood):
    field = dataclasses.fields(likelihood)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(likelihood, field, 2.0)
    assert hash(likelihood) == hash(dataclasses.replace(likelihood))


def test_gaussian_predictions_stay_where_the_arrays_live():
    y, mean, variance = (np.array(one) for one in ([0.1, 2.0], [0.0, 1.0], [0.5, 0.2]))
    own = [array_api_strict.asarray(one) for one in (y, mean, variance)]
    model = Gaussian(0.3)
    density = model.log_density(*own)
    _, spread = model.response(*own[1:])
    assert type(density) is type(spread) is type(own[0])
    expected = model.tilted(y, mean, variance).log_normaliser
    np.testing.assert_allclose(np.asarray(density), expected, rtol=1e-15)
    np.testing.assert_allclose(np.asarray(spread), variance + 0.3, rtol=1e-15)


def test_weights_lead_to_the_mode():
    model = StudentT(0.5, 3.0)
    y, mean, variance = np.array([4.0]), np.array([0.0]), np.array([2.0])
    f = mean
    for _ in range(200):
        weight = model.weights(y, f)
        f = (mean / variance + weight * y) / (1 / variance + weight)
    slope = model.derivatives(y, f).first - (f - mean) / variance
    assert slope[0] == pytest.approx(0.0, abs=1e-12)
    y, f = np.full(2, 4.0), np.array([4.0, -1.0])
    np.testing.assert_allclose(
        model.derivatives(y, f).first, model.weights(y, f) * (y - f), rtol=1e-15
    )
    assert model.derivatives(y, f).second[1] > 0
    np.testing.assert_allclose(model.information(y, f), 4 / (6 * 0.5), rtol=1e-15)
