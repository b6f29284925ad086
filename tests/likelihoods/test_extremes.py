"""Likelihoods far out: tails, limits, sharp and wide, two modes."""

from __future__ import annotations

import numpy as np
import pytest

from gpproj.likelihoods import Bernoulli, Gaussian, NegativeBinomial, Poisson, StudentT
from gpproj.likelihoods.quadrature import GAUSS, KRONROD, NODES, integrate
from gpproj.likelihoods.special import mills, stirling_remainder, stirling_slope

MODELS = [
    Gaussian(1e-6),
    Bernoulli("probit"),
    Bernoulli("logit"),
    Poisson(),
    NegativeBinomial(1e-6),
    NegativeBinomial(50.0),
    StudentT(1e-6, 2.1),
    StudentT(1.0, 1e8),
]
every = pytest.mark.parametrize("model", MODELS, ids=repr)

# Thirty-digit quadrature: likelihood, y, mean, sd; log normaliser, mean, variance.
KNOWN = [
    (Bernoulli("logit"), 1.0, -1e3, 1e-6, -999.9999999999995, -999.999999999999, 1e-12),
    (Bernoulli("logit"), 1.0, -3.0, 1e3, -0.695543696065185, 796.7940819137909, 362728.8008878081),
    (Bernoulli("logit"), 0.0, 1e3, 30.0, -550.000438650511, 100.04715056231873, 895.2999942065702),
    (Bernoulli(), 1.0, -1e3, 1e-6, -500007.82669431216, -999.999999999, 9.99999999999e-13),
    (Bernoulli(), 1.0, -1e3, 0.5, -400007.7151232865, -799.999750000625, 0.20000006249953126),
    (Bernoulli(), 0.0, 1e6, 1e3, -500007.32669481216, 9.999930000529995e-07, 1.9999930000449997),
    (Poisson(), 0.0, 1e3, 1e-6, -4.670570843079342e17, 34.50366342346215, 1.0346650702703466e-15),
    (Poisson(), 20.0, 1e3, 0.01, -4850116427.590193, 16.101864724570326, 1.015331417721737e-07),
    (Poisson(), 0.0, 0.0, 1e6, -0.6931476411115186, -797884.9282691507, 363380101792.61176),
    (Poisson(), 1e8, 0.0, 1e3, -26.247544216878623, 18.420680738952182, 1.0000000050001741e-08),
    (Poisson(), 1.0, -1e3, 200.0, -18.70233122638352, -0.6190490318464847, 1.7069310063323733),
    (
        NegativeBinomial(1e-6),
        *(1e6, 30.0, 0.01, -1283911.7661975687, 14.135503456961969, 2.0103911627612185e-06),
    ),
    (
        NegativeBinomial(1e-6),
        *(0.0, 1e3, 30.0, -559.9310585888167, -0.40630212387369924, 1.40747638997377),
    ),
    (NegativeBinomial(5.0), 1e3, -1e3, 1e-3, -998397.1124356195, -999.999, 1e-6),
    # Two modes
    (
        StudentT(1e-4, 2.5),
        *(0.3, 4.0, 0.5, -15.345461357833496, 3.739228693016281, 0.27187511227463185),
    ),
    (
        StudentT(1e-6, 4.0),
        *(0.0, 10.0, 1.0, -36.497951171609905, 9.465238721167172, 1.061645578061365),
    ),
    (
        StudentT(1.0, 4.0),
        *(0.0, 9.0, 2.0, -7.619149030804687, 5.808863959637012, 5.927451417805965),
    ),
    (
        StudentT(1.0, 1e4),
        *(0.0, 1e3, 1.0, -23029.315876495493, 990.0000003142516, 1.0099959180161986),
    ),
    (
        StudentT(1e-4, 2.5),
        *(0.3, 1e3, 1e3, -8.326393857187142, 0.3000004977177935, 0.0004983242426685033),
    ),
]


@pytest.mark.parametrize(
    ("model", "y", "mean", "sd", "log_normaliser", "tilted_mean", "tilted_variance"), KNOWN
)
def test_tilted_moments_in_extreme_places(
    model, y, mean, sd, log_normaliser, tilted_mean, tilted_variance
):
    found = model.tilted(np.array([y]), np.array([mean]), np.array([sd**2]))
    assert found.log_normaliser[0] == pytest.approx(log_normaliser, rel=1e-9)
    assert found.variance[0] == pytest.approx(tilted_variance, rel=1e-8)
    atol = 1e-8 * np.sqrt(tilted_variance) + 2 * np.spacing(abs(tilted_mean))
    assert abs(found.mean[0] - tilted_mean) <= atol


def extremes(model):
    targets = {"real": [0.0, 1e3], "binary": [0.0, 1.0], "count": [0.0, 1.0, 1e6]}[model.kind]
    f = np.array([-1e3, -800.0, -40.0, -1e-300, 0.0, 1e-300, 40.0, 800.0, 1e3])
    return np.repeat(targets, f.size), np.tile(f, len(targets))


@every
def test_tails_are_finite(model):
    y, f = extremes(model)
    assert np.isfinite(model.log_likelihood(y, f)).all()
    assert np.isfinite(model.derivatives(y, f)).all()
    assert np.isfinite(model.information(y, f)).all()
    assert np.isfinite(model.parameter_derivatives(y, f)).all()
    assert np.isfinite(model.information_slopes(y, f)).all()
    assert np.all(model.information(y, f) >= 0)


@every
@pytest.mark.parametrize("sd", [0.0, 1e-6, 1.0, 1e3, 1e6])
def test_tilted_moments_are_finite(model, sd):
    y, mean = extremes(model)
    variance = np.full_like(y, sd**2)
    found = model.tilted(y, mean, variance)
    assert np.isfinite(found).all()
    assert np.isfinite(model.tilted_slopes(y, mean, variance)).all()
    assert np.all(found.variance >= 0)
    if model.log_concave:
        assert np.all(found.variance <= sd**2 * (1 + 1e-12))


@every
def test_predictions_far_out_are_no_nan(model):
    mean, variance = np.array([-1e3, 0.0, 1e3, 1e3]), np.array([1e6, 1e6, 1e6, 0.0])
    for part in model.response(mean, variance):
        assert not np.isnan(part).any()
        if model.kind != "count":
            assert np.isfinite(part).all()
        assert model.kind == "real" or np.all(part >= 0)


def test_counts_without_latent_variance_keep_their_own():
    mean = np.array([0.0, 3.0])
    rate = np.exp(mean)
    for model, dispersion in ((Poisson(), 0.0), (NegativeBinomial(0.5), 0.5)):
        found = model.response(mean, np.zeros(2))
        np.testing.assert_allclose(found[0], rate, rtol=1e-15)
        np.testing.assert_allclose(found[1], rate + dispersion * rate**2, rtol=1e-14)


def test_rare_classes_keep_their_digits():
    for link in ("probit", "logit"):
        model = Bernoulli(link)
        mean, variance = np.array([-30.0, 30.0]), np.array([1.0, 1.0])
        p, spread = model.response(mean, variance)
        rare = np.exp(model.log_density(np.ones(1), mean[:1], variance[:1]))[0]
        assert 0 < p[0] < 1e-12
        np.testing.assert_allclose([p[0], *spread], rare, rtol=1e-9)
        assert p[1] == 1.0 - p[0]


@pytest.mark.parametrize("y", [0.0, 1.0, 40.0, 1e4])
def test_counts_without_dispersion_are_poisson(y):
    f = np.log(max(y, 1.0)) + np.linspace(-6.0, 3.0, 31)
    y = np.full(31, y)
    rate = np.exp(f)
    change = 0.5 * ((y - rate) ** 2 - y)  # of log p, for each unit of dispersion
    for dispersion in (1e-6, 1e-9, 1e-12):
        model = NegativeBinomial(dispersion)
        noise = 3e-14 * (y + rate)
        # The next order is that of (y + rate)^3 dispersion^2.
        atol = noise + (y + rate) ** 3 * dispersion**2
        value = model.log_likelihood(y, f) - Poisson().log_likelihood(y, f)
        assert np.all(np.abs(value - dispersion * change) <= atol)
        slope = model.parameter_derivatives(y, f).value[0]
        assert np.all(np.abs(slope - dispersion * change) <= 2 * atol)
        for one, other in zip(model.derivatives(y, f), Poisson().derivatives(y, f), strict=True):
            assert np.all(np.abs(one - other) <= 10 * (noise + (y + rate) ** 2 * dispersion))


def test_many_degrees_are_gaussian():
    y, f = np.zeros(21), np.linspace(-5.0, 5.0, 21)
    found = StudentT(0.7, 1e12).log_likelihood(y, f)
    np.testing.assert_allclose(found, Gaussian(0.7).log_likelihood(y, f), rtol=1e-9)
    wide = np.full(21, 3.0)
    for one, other in zip(
        StudentT(0.7, 1e12).tilted(y, f, wide), Gaussian(0.7).tilted(y, f, wide), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_large_counts_keep_the_differences_between_rates():
    y = 1e12
    f = np.log(y) + np.array([0.0, 1e-6, 2e-6])
    found = Poisson().log_likelihood(np.full(3, y), f)
    steps = f - np.log(y)
    np.testing.assert_allclose(found - found[0], -y * (steps**2 / 2 + steps**3 / 6), atol=1e-6)


# Thirty digits: phi / Phi, the second and the third derivative of log Phi.
@pytest.mark.parametrize(
    ("z", "expected"),
    [
        (-1e3, (1000.000999998, -0.99999900000599995, 1.9999760002999959e-9)),
        (-40.0, (40.024968847207264, -0.99937733162140861, 3.1017440396486248e-5)),
        (-3.0, (3.2830986549304365, -0.92944081321473188, 0.031470672830842488)),
        (0.0, (0.79788456080286536, -0.63661977236758134, 0.21801361414499016)),
        (6.0, (6.0758828558176764e-9, -3.6455297171822411e-8, 2.1265590061811302e-7)),
    ],
)
def test_the_probit_keeps_its_digits(z, expected):
    found = np.array(Bernoulli().derivatives(np.array([1.0, 0.0]), np.array([z, -z])))
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(found[:, 1], expected * np.array([-1.0, 1.0, -1.0]), rtol=1e-12)
    left = mills(np.array([z])).variance[0]
    assert left == pytest.approx(1 + expected[1], abs=1e-14)


def test_the_formulas_of_the_probit_meet():
    z = -3.0 + np.array([-1e-9, 1e-9])  # where the continued fraction takes over
    for part in mills(z):
        assert part[0] == pytest.approx(part[1], rel=1e-8)


@pytest.mark.parametrize(
    ("x", "remainder", "slope"),
    [
        (0.01, 1.4340079537031842, -45.955715271880582),
        (1.5, 0.054814121051917654, -0.035641800796254528),
        (11.0, 0.0075736754879518408, -0.00068813827710398187),
        (13.0, 0.0064089941880042071, -0.00049280569085292444),
        (1e6, 8.3333333333330556e-8, -8.3333333333325e-14),
    ],
)
def test_what_is_left_of_the_gamma_function(x, remainder, slope):
    assert float(stirling_remainder(x)) == pytest.approx(remainder, rel=1e-12)
    assert float(stirling_slope(x)) == pytest.approx(slope, rel=1e-12)


def test_panels_are_halved_where_needed():
    edges = np.array([[-9.0, 0.0, 9.0], [-9.0, 9.0, 9.0]])
    calls = []

    def log_integrand(owner, x):
        calls.append(owner)
        return np.where(owner[:, None] == 0, -0.5 * x**2, -np.abs(x - 1.0) * 20.0)

    found = integrate(log_integrand, edges)
    np.testing.assert_allclose(np.exp(found.log_integral), [np.sqrt(2 * np.pi), 0.1], rtol=3e-8)
    np.testing.assert_allclose(found.mean, [0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(found.variance, [1.0, 2 / 400], rtol=3e-8)
    assert len(calls) > 5
    assert np.all(calls[-1] == 1)
    sums = found.expectation(np.ones_like(found.nodes))
    np.testing.assert_allclose(sums, 1.0, rtol=1e-14)
    fourth = found.expectation(found.nodes**4)
    assert fourth[0] == pytest.approx(3.0, rel=1e-8)


def test_the_rules_are_exact_for_polynomials():
    for rule, degree in ((GAUSS, 19), (KRONROD, 31)):
        for power in range(degree + 1):
            exact = 2 / (power + 1) if power % 2 == 0 else 0.0
            assert rule @ NODES**power == pytest.approx(exact, abs=1e-15)
