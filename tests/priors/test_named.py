"""Priors of the literature by name: densities by other means, and where each one may be used."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize

import gpproj
from gpproj.data import training_set
from gpproj.io.plain import plain, restored
from gpproj.kernels import Constant, SquaredExponential
from gpproj.priors import LogNormal, Scales, SparseScales, prior_of, scales, weak
from gpproj.priors.inverse_gamma import FINEST, OUTSIDE, within
from tests.fitting import fit_mode

KERNEL = Constant() + SquaredExponential()
NAMES = ("saas", "weak", "botorch", "inverse-gamma", "log-uniform")


def everything(t):
    return np.ones(np.shape(t), dtype=bool)


def joint(prior, t):
    """The value at one vector of log length-scales."""
    t = np.asarray(t, dtype=float)[None, :]
    return prior.joint(t, everything(t))[0][0]


def half_cauchy(x, scale):
    """The log density of the logarithm of a half-Cauchy number, by its textbook form."""
    return np.log(2.0 * x / (np.pi * scale * (1.0 + (x / scale) ** 2)))


def integrated(t, scale):
    """The log density of log length-scales: half-Cauchy densities, integrated over tau itself.

    Up to the factor 2^k of the change from log rho to log length-scales, which is a constant.
    """
    rho = np.exp(-2.0 * np.asarray(t, dtype=float))

    def density(log_tau):
        tau = math.exp(log_tau)
        return np.sum(half_cauchy(rho, tau)) + half_cauchy(tau, scale)

    # The integrand bends at each of these, and has its largest value between the outermost.
    bends = np.sort(np.append(np.log(rho), math.log(scale)))
    top = max(density(at) for at in np.linspace(bends[0], bends[-1], 201))
    edges = [bends[0] - 45.0, *bends, bends[-1] + 45.0]
    mass = sum(
        quad(lambda at: math.exp(density(at) - top), a, b, epsabs=1e-14, epsrel=1e-11)[0]
        for a, b in pairwise(edges)
    )
    return top + math.log(mass)


def test_the_half_cauchy_of_this_file_is_that_of_scipy():
    x = np.array([0.1, 2.0])
    expected = stats.halfcauchy.logpdf(x, scale=0.7) + np.log(x)
    np.testing.assert_allclose(half_cauchy(x, 0.7), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("count", "scale"), [(1, 0.1 / 12.0), (2, 2.0), (5, 0.1 / 12.0), (30, 0.1 / 12.0)]
)
def test_sparse_scales_are_half_cauchy_with_the_global_scale_integrated_out(count, scale):
    prior, rng = SparseScales(scale), np.random.default_rng(count)
    equal = np.full(count, -0.5 * math.log(scale))
    highest = integrated(equal, scale)
    # Ordinary ones, all at the limits of what is allowed, and some of each.
    for low, high in [(-1.0, 3.0), (8.0, math.log(1e4)), (math.log(1e-2), math.log(1e4))]:
        t = rng.uniform(low, high, count)
        assert joint(prior, t) == pytest.approx(integrated(t, scale) - highest, abs=1e-8)


@pytest.mark.parametrize("count", [1, 3, 16, 100])
def test_sparse_scales_are_highest_at_equal_scales_and_zero_there(count):
    prior, rng = SparseScales(0.05), np.random.default_rng(count)
    equal = np.full((1, count), -0.5 * math.log(0.05))
    value, gradient = prior.joint(equal, everything(equal))
    assert value[0] == pytest.approx(0.0, abs=1e-10)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-10)
    found = minimize(
        lambda t: [-part[0] for part in prior.joint(t[None, :], everything(t[None, :]))],
        equal[0] + rng.standard_normal(count),
        jac=True,
    )
    np.testing.assert_allclose(found.x, equal[0], atol=1e-3)
    away = equal + rng.standard_normal((20, count))
    assert prior.joint(away, everything(away))[0].max() < 0.0


@pytest.mark.parametrize("count", [1, 4, 40])
def test_the_gradient_of_sparse_scales(count):
    prior, rng = SparseScales(), np.random.default_rng(count)
    t = rng.uniform(-3.0, 9.0, (3, count))
    _, gradient = prior.joint(t, everything(t))
    moves = 1e-5 * np.eye(count)
    for row, own in zip(gradient, t, strict=True):
        expected = [(joint(prior, own + h) - joint(prior, own - h)) / 2e-5 for h in moves]
        np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-7)


def test_inputs_that_are_out_are_deleted_columns_of_sparse_scales():
    prior, rng = SparseScales(), np.random.default_rng(0)
    t, mask = rng.standard_normal((4, 6)), rng.random((4, 6)) < 0.5
    mask[3] = False
    value, gradient = prior.joint(t, mask)
    for row in range(4):
        own = t[row, mask[row]][None, :]
        alone, slope = prior.joint(own, everything(own))
        assert value[row] == alone[0]
        np.testing.assert_array_equal(gradient[row, mask[row]], slope[0])
    assert not gradient[~mask].any()
    assert value[3] == pytest.approx(0.0, abs=1e-12)


def test_each_number_by_itself_has_the_density_of_one_alone():
    prior, t = SparseScales(0.3), np.array([[-1.0, 2.0], [0.5, 7.0]])
    value, gradient = prior.log_ratio(t)
    assert value.shape == gradient.shape == (2, 2)
    assert value[1, 1] == pytest.approx(joint(prior, [7.0]), rel=1e-12)


def test_useless_inputs_make_a_useful_one_dearer():
    """One short length-scale among many long ones costs more than among few."""
    prior, cost = SparseScales(), []
    for others in (1, 5, 50):
        long = np.full(others, 4.0)
        cost.append(joint(prior, [4.0, *long]) - joint(prior, [0.0, *long]))
    assert np.all(np.diff(cost) > 0.1)


# Distances in the data


def test_the_inverse_gamma_keeps_to_the_distances_of_real_data():
    X, y = real()
    training = training_set(X, y, standardize=True)
    prior = prior_of("inverse-gamma", KERNEL, scales(training), ("noise_variance",))
    seen = 0
    for j, term in enumerate(prior.terms[2:-1]):
        values = np.unique(np.asarray(training.X)[:, j])
        steps = np.diff(values)
        smallest, largest = steps[steps > 0].min(), values[-1] - values[0]
        if values.size == 2:
            assert term == weak(X.shape[1])["lengthscale"]
            continue
        known = stats.invgamma(term.shape, scale=term.scale)
        smallest = max(smallest, FINEST * largest)
        assert known.cdf(smallest) == pytest.approx(OUTSIDE, rel=1e-6)
        assert known.sf(largest) == pytest.approx(OUTSIDE, rel=1e-6)
        seen += 1
    assert seen >= 8
    assert prior.terms[0] == weak(1)["constant_variance"]


def real():
    """Diabetes has an input of two values and some of few."""
    from sklearn.datasets import load_diabetes

    return load_diabetes(return_X_y=True)


def test_distances_do_not_depend_on_units():
    X, y = real()
    plain_units, other = (
        prior_of("inverse-gamma", KERNEL, scales(training_set(factor * X, y, standardize=one)), ())
        for factor, one in [(1.0, True), (1e3, False)]
    )
    for one, two in zip(plain_units.terms[2:], other.terms[2:], strict=True):
        np.testing.assert_allclose(
            np.array([*vars(one).values()]), np.array([*vars(two).values()]), rtol=1e-5
        )


@pytest.mark.parametrize("ratio", [1.0, 0.95])
def test_nearly_equal_distances_have_no_inverse_gamma(ratio):
    assert within(ratio, 1.0) is None


def test_a_constant_column_has_no_distances_and_does_no_harm():
    rng = np.random.default_rng(0)
    X = np.c_[rng.standard_normal((30, 2)), np.ones(30)]
    with pytest.warns(UserWarning, match="constant"):
        ref = fit_mode(X, X[:, 0] + 0.1 * rng.standard_normal(30), prior="inverse-gamma")
    assert np.isfinite(ref.log_marginal_likelihood)


# BoTorch's


@pytest.mark.parametrize("d", [1, 5, 40])
def test_the_medians_of_botorch_are_those_of_the_unit_cube(d):
    """Its length-scales for inputs in the unit cube, given in standard deviations."""
    rng = np.random.default_rng(d)
    X, y = rng.uniform(size=(4000, d)), rng.standard_normal(4000)
    units = scales(training_set(X, y, standardize=False))
    prior = prior_of("botorch", KERNEL, units, ("noise_variance",))
    medians = [
        math.exp(unit) * term.median
        for unit, term in zip(prior.log_units, prior.terms, strict=True)
    ]
    # BoTorch: LogNormal(sqrt 2 + log(d) / 2, sqrt 3), and LogNormal(-4, 1) of standardised targets.
    np.testing.assert_allclose(
        medians[2:-1], math.exp(math.sqrt(2.0) + 0.5 * math.log(d)), rtol=0.03
    )
    assert prior.terms[2].sigma == pytest.approx(math.sqrt(3.0))
    assert medians[-1] == pytest.approx(math.exp(-4.0) * np.var(y))
    assert prior.terms[-1].sigma == 1.0


# Names


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(40)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_a_curvature(name, data):
    X, y = data
    prior = prior_of(
        name, KERNEL, scales(training_set(X, y, standardize=True)), ("noise_variance",)
    )
    parameters = np.random.default_rng(3).standard_normal(6)
    for mask in ([True, True, True], [True, False, True]):
        own = np.array(mask)
        steps = parameters + 1e-5 * np.vstack([np.eye(6), -np.eye(6)])
        slopes = prior(steps, np.tile(own, (12, 1))).gradient
        expected = (slopes[:6] - slopes[6:]) / 2e-5
        np.testing.assert_allclose(prior.curvature(parameters, own), expected, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_a_gradient(name, data):
    X, y = data
    prior = prior_of(
        name, KERNEL, scales(training_set(X, y, standardize=True)), ("noise_variance",)
    )
    rng = np.random.default_rng(3)
    mask = np.array([[True, True, True], [True, False, True]])
    parameters = rng.standard_normal((2, 6))
    _, gradient = prior(parameters, mask)
    for lane in range(2):
        values = [
            [
                prior((parameters[lane] + side * h)[None, :], mask[[lane]]).value[0]
                for side in (1, -1)
            ]
            for h in 1e-5 * np.eye(6)
        ]
        np.testing.assert_allclose(
            gradient[lane], -np.diff(values, axis=1)[:, 0] / 2e-5, rtol=1e-5, atol=1e-7
        )


@pytest.mark.parametrize("name", NAMES)
def test_fits_take_every_name_and_are_saved_with_it(name, data, tmp_path):
    X, y = data
    ref = gpproj.fit(X, y, kernel=KERNEL, prior=name, draws=3, check=False)
    assert ref.prior == name
    ref.save(tmp_path / "reference")
    loaded = gpproj.load(tmp_path / "reference")
    assert loaded.prior == name
    np.testing.assert_allclose(loaded.draws.parameters, ref.draws.parameters)
    again = loaded.refit(X[:30], y[:30])
    assert again.prior == name
    assert again.draws.count == 3


@pytest.mark.parametrize("name", [name for name in NAMES if name != "saas"])
def test_submodels_take_names_in_which_inputs_are_apart(name, data, tmp_path):
    ref = fit_mode(*data)
    path = gpproj.forward_search(ref, 2, prior=name, progress=False)
    assert path.order[0] in {"x0", "x1"}
    path.save(tmp_path / "path")
    assert gpproj.load(tmp_path / "path").projector.family.prior == name


@pytest.mark.parametrize(
    ("prior", "text"),
    [
        ("saas", 'prior must be "auto", "reference", .* in submodels; got \'saas\''),
        ({"lengthscale": SparseScales()}, r"prior\['lengthscale'\]: SparseScales .* submodels"),
    ],
)
def test_submodels_refuse_a_prior_that_ties_their_inputs(prior, text, data):
    ref = fit_mode(*data)
    for function in (gpproj.forward_search, lambda one, **rest: gpproj.project(one, [0], **rest)):
        with pytest.raises(ValueError, match=text):
            function(ref, prior=prior)


def test_a_new_input_is_never_free_in_sparse_scales():
    """Why submodels refuse it: what is minimised would grow along a path."""
    prior, t = SparseScales(), [0.0, 0.0, 4.0]
    best = max(joint(prior, [*t, at]) for at in np.linspace(-4.0, 9.0, 400))
    assert best < joint(prior, t) - 0.1


def test_sparse_scales_are_a_prior_of_length_scales_alone(data):
    with pytest.raises(ValueError, match=r"prior\['signal_variance'\]: SparseScales"):
        gpproj.fit(*data, prior={"signal_variance": SparseScales()})
    with pytest.raises(ValueError, match="scale must be positive"):
        SparseScales(scale=0.0)


def test_a_mapping_may_have_sparse_scales_of_another_scale(data, tmp_path):
    prior = {"lengthscale": SparseScales(0.5), "noise_variance": LogNormal(0.1, 1.0)}
    ref = gpproj.fit(*data, kernel=KERNEL, prior=prior, draws=2, check=False)
    assert restored(json.loads(json.dumps(plain(prior)))) == prior
    ref.save(tmp_path / "reference")
    assert gpproj.load(tmp_path / "reference").prior == prior
    usual = gpproj.fit(*data, kernel=KERNEL, draws=1, check=False)
    tight = {"lengthscale": SparseScales(1e-6)}
    longer = gpproj.fit(*data, kernel=KERNEL, prior=tight, draws=1, check=False)
    assert longer.kernel.right.lengthscales[2] > usual.kernel.right.lengthscales[2]


def test_units_of_no_data_have_usual_distances():
    prior = prior_of("inverse-gamma", KERNEL, Scales(np.ones(2), 1.0, 1.0), ())
    assert prior.terms[2] == prior.terms[3] == within(0.1, 4.0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # of so few draws
def test_samples_have_the_prior_of_sparse_axes_by_default(data):
    pytest.importorskip("nutpie")
    X, y = data
    ref = gpproj.sample(X, y, 16, tune=60, random_state=0, progress=False)
    assert ref.prior == "saas"
    lengthscales = np.asarray(ref.posterior.posterior["lengthscale"]).reshape(-1, 3)
    assert np.median(lengthscales[:, 2]) > 2.0 * np.median(lengthscales[:, 0])
    assert np.isfinite(lengthscales).all()
