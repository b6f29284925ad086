"""Priors of hyperparameters: densities, gradients, units, bounds, and what fits make of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import gpproj
from gpproj.data import training_set
from gpproj.kernels import Constant, Linear, SquaredExponential
from gpproj.priors import (
    Gamma,
    InverseGamma,
    LogNormal,
    LogUniform,
    Scales,
    around_reference,
    bounds,
    prior_of,
    scales,
    weak,
)
from gpproj.projection import OBJECTIVES, ProjectionOptions, family_of, mask_of, projector_of
from gpproj.projection.family import null_family
from gpproj.projection.loss import PRIOR_WEIGHT, Loss
from gpproj.projection.starts import usual_starts
from tests.fitting import fit_mode

KERNEL = Constant() + SquaredExponential() + Linear()

# Each distribution with SciPy's of the same name, and where the density of log x is highest.
KNOWN = [
    (LogNormal(2.0, 0.7), stats.lognorm(0.7, scale=2.0), 2.0),
    (LogNormal(0.1, 3.0), stats.lognorm(3.0, scale=0.1), 0.1),
    (InverseGamma(2.5, 0.4), stats.invgamma(2.5, scale=0.4), 0.4 / 2.5),
    (InverseGamma(0.5, 3.0), stats.invgamma(0.5, scale=3.0), 6.0),
    (Gamma(1.5, 4.0), stats.gamma(1.5, scale=1 / 4.0), 1.5 / 4.0),
    (Gamma(6.0, 0.2), stats.gamma(6.0, scale=1 / 0.2), 30.0),
    (LogUniform(1e-3, 1e3), stats.loguniform(1e-3, 1e3), 1.0),
]
named = pytest.mark.parametrize(
    ("given", "known", "mode"), KNOWN, ids=[repr(given) for given, _, _ in KNOWN]
)


def differences(function, x, step=1e-5):
    moves = step * np.eye(x.size)
    return np.array([(function(x + move) - function(x - move)) / (2 * step) for move in moves])


def units(rng, d=3):
    return Scales(np.exp(rng.standard_normal(d)), 7.0, 2.5)


@named
def test_the_density_of_the_logarithm_is_known(given, known, mode):
    t = np.linspace(-5.0, 5.0, 41)
    expected = known.logpdf(np.exp(t)) + t  # p(t) = p(x) dx/dt
    value, _ = given.log_ratio(t)
    np.testing.assert_allclose(value - value[0], expected - expected[0], rtol=0, atol=1e-8)


@named
def test_the_highest_density_is_one(given, known, mode):
    t = math.log(mode) + np.linspace(-3.0, 3.0, 61)
    value, slope = given.log_ratio(t)
    middle = 30
    assert value[middle] == pytest.approx(0.0, abs=1e-12)
    assert slope[middle] == pytest.approx(0.0, abs=1e-12)
    if isinstance(given, LogUniform):
        assert not value.any()
    else:
        assert np.delete(value, middle).max() < 0
        assert np.all(slope[:middle] > 0)
        assert np.all(slope[middle + 1 :] < 0)


@named
def test_the_slope_is_that_of_the_density(given, known, mode):
    t, step = np.linspace(-3.0, 3.0, 31), 1e-5
    above, below = given.log_ratio(t + step)[0], given.log_ratio(t - step)[0]
    np.testing.assert_allclose(
        given.log_ratio(t)[1], (above - below) / (2 * step), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize(
    "prior",
    [
        "weak",
        "log-uniform",
        {
            "constant_variance": Gamma(2.0, 1.0),
            "signal_variance": InverseGamma(2.0, 3.0),
            "lengthscale": InverseGamma(3.0, 2.0),
            "slope_variance": Gamma(0.5, 0.1),
        },
    ],
    ids=["weak", "log-uniform", "mapping"],
)
@pytest.mark.parametrize("last", ["noise_variance", "extra_variance"])
def test_the_gradient_of_a_joint_prior(prior, last):
    rng = np.random.default_rng(0)
    joint = prior_of(prior, KERNEL, units(rng), (last,))
    mask = np.array([[True, True, True], [True, False, True]])
    parameters = rng.standard_normal((2, 9))
    _, gradient = joint(parameters, mask)
    for lane in range(2):

        def value(x, own=mask[lane : lane + 1]):
            return joint(x[None, :], own).value[0]

        np.testing.assert_allclose(
            gradient[lane], differences(value, parameters[lane]), rtol=1e-6, atol=1e-8
        )
    assert gradient.any() == (prior != "log-uniform")


def test_a_joint_prior_is_the_sum_over_its_parameters():
    rng = np.random.default_rng(1)
    scale = units(rng)
    given = {"signal_variance": Gamma(2.0, 0.5), "lengthscale": InverseGamma(2.0, 3.0)}
    joint = prior_of(given, KERNEL, scale, ("noise_variance",))
    assert [term.__class__.__name__ for term in joint.terms] == [
        "LogNormal", "Gamma", *["InverseGamma"] * 3, *["LogNormal"] * 3, "LogNormal"
    ]  # fmt: skip
    terms = {**weak(3), **given}
    x = np.exp(rng.standard_normal(9))
    relative = [
        ("constant_variance", x[0] / 7.0),
        ("signal_variance", x[1] / 2.5),
        *[("lengthscale", x[2 + j] / scale.inputs[j]) for j in range(3)],
        *[("slope_variance", x[5 + j] * scale.inputs[j] ** 2 / 2.5) for j in range(3)],
        ("noise_variance", x[8] / 2.5),
    ]
    expected = sum(terms[name].log_ratio(np.log(value))[0] for name, value in relative)
    found = joint(np.log(x)[None, :], np.ones((1, 3), dtype=bool))
    assert found.value[0] == pytest.approx(expected, rel=1e-12)


def test_one_distribution_may_stand_in_columns_that_are_apart():
    rng = np.random.default_rng(4)
    shared = Gamma(2.0, 0.5)
    given = {"constant_variance": shared, "lengthscale": shared, "noise_variance": shared}
    joint = prior_of(given, KERNEL, units(rng), ("noise_variance",))
    assert [term == shared for term in joint.terms] == [
        True,
        False,
        *[True] * 3,
        *[False] * 3,
        True,
    ]
    parameters = rng.standard_normal((2, 9))
    found = joint(parameters, np.ones((2, 3), dtype=bool))
    own = [
        term.log_ratio(column)
        for term, column in zip(joint.terms, (parameters - joint.log_units).T, strict=True)
    ]
    np.testing.assert_allclose(found.value, sum(value for value, _ in own), rtol=1e-12)
    np.testing.assert_array_equal(found.gradient.T, [slope for _, slope in own])


def test_inputs_that_are_out_do_not_count():
    rng = np.random.default_rng(2)
    joint = prior_of("weak", KERNEL, units(rng), ("extra_variance",))
    parameters = rng.standard_normal((1, 9))
    mask = np.array([[True, False, True]])
    found = joint(parameters, mask)
    moved = parameters.copy()
    moved[0, [3, 6]] = [50.0, -50.0]  # length-scale and slope of the input that is out
    again = joint(moved, mask)
    assert again.value == found.value
    np.testing.assert_array_equal(again.gradient, found.gradient)
    assert not found.gradient[0, [3, 6]].any()
    everything = joint(parameters, np.ones((1, 3), dtype=bool))
    own = joint.terms[3].log_ratio(parameters[0, 3] - joint.log_units[3])[0]
    own += joint.terms[6].log_ratio(parameters[0, 6] - joint.log_units[6])[0]
    assert everything.value[0] == pytest.approx(found.value[0] + own, rel=1e-12)
    empty = joint(parameters, np.zeros((1, 3), dtype=bool))
    assert not empty.gradient[0, 2:8].any()
    assert empty.gradient[0, :2].all()


@pytest.mark.parametrize("prior", ["weak", "log-uniform", {"noise_variance": Gamma(2.0, 3.0)}])
def test_the_units_of_the_data_do_not_matter(prior):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((30, 3)) + 1.0, rng.standard_normal(30) + 4.0
    change, factor = np.array([10.0, 0.02, 3.0]), 50.0
    plain = prior_of(
        prior, KERNEL, scales(training_set(X, y, standardize=False)), ("noise_variance",)
    )
    other = prior_of(
        prior,
        KERNEL,
        scales(training_set(X * change, factor * y, standardize=False)),
        ("noise_variance",),
    )
    shift = np.log([factor**2, factor**2, *change, *(factor / change) ** 2, factor**2])
    parameters, mask = rng.standard_normal((4, 9)), np.ones((4, 3), dtype=bool)
    one, two = plain(parameters, mask), other(parameters + shift, mask)
    np.testing.assert_allclose(two.value, one.value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(two.gradient, one.gradient, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(other.bounds.lower, plain.bounds.lower + shift, rtol=1e-12)
    standardised = scales(training_set(X, y, standardize=True))
    np.testing.assert_allclose(standardised.inputs, 1.0, rtol=1e-12)
    assert standardised.level == pytest.approx(1.0)
    assert standardised.spread == pytest.approx(1.0)


def test_bounds_are_those_of_flat_priors():
    scale = Scales(np.array([2.0, 0.5]), 9.0, 4.0)
    kernel = Constant() + SquaredExponential()
    given = {"lengthscale": LogUniform(0.5, 8.0), "noise_variance": LogUniform(0.01, 1.0)}
    joint = prior_of(given, kernel, scale, ("noise_variance",))
    np.testing.assert_allclose(np.exp(joint.bounds.lower), [0.0, 0.0, 1.0, 0.25, 0.04])
    np.testing.assert_allclose(np.exp(joint.bounds.upper), [np.inf, np.inf, 16.0, 4.0, 4.0])
    wide = bounds(kernel, scale)
    flat = prior_of("log-uniform", kernel, scale, ("extra_variance",)).bounds
    np.testing.assert_allclose(flat.lower[:-1], wide.lower)
    np.testing.assert_allclose(flat.upper[:-1], wide.upper)
    assert prior_of(None, kernel, scale, ("noise_variance",)) is None


def test_the_weak_prior_follows_the_number_of_inputs():
    assert weak(9)["lengthscale"].median == pytest.approx(3 * weak(1)["lengthscale"].median)
    assert weak(8)["slope_variance"].median == pytest.approx(1 / 8)
    assert weak(0).keys() == weak(3).keys()


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: LogNormal(median=-1.0), ValueError, "median must be positive.* -1"),
        (lambda: LogNormal(sigma=0.0), ValueError, "sigma must be positive"),
        (lambda: LogNormal(median=math.nan), ValueError, "median must be positive"),
        (lambda: InverseGamma(shape="wide"), TypeError, "shape must be a positive number.*'wide'"),
        (lambda: InverseGamma(scale=-2.0), ValueError, "scale must be positive"),
        (lambda: Gamma(shape=None), TypeError, "shape must be a positive number"),
        (lambda: Gamma(rate=math.inf), ValueError, "rate must be positive and finite"),
        (lambda: LogUniform(lower=0.0), ValueError, "lower must be positive"),
        (lambda: LogUniform(2.0, 1.0), ValueError, "lower must be below upper, got 2.0 and 1.0"),
        (lambda: LogUniform(2.0, 2.0), ValueError, "lower must be below upper"),
    ],
)
def test_bad_parameters_are_named(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize(
    ("prior", "error", "text"),
    [
        ("strong", ValueError, "prior must be .*'strong'"),
        (3.0, TypeError, "prior must be a name, a mapping or None; got float"),
        ({"length": LogNormal()}, ValueError, "prior must name .*lengthscale.*; saw 'length'"),
        ({"lengthscale": 2.0}, TypeError, r"prior\['lengthscale'\] must be .* got 2.0"),
        ({"lengthscale": LogNormal}, TypeError, r"prior\['lengthscale'\] must be"),
    ],
)
def test_bad_priors_are_named(prior, error, text):
    X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 0.5, 2.0, 1.5, 3.0])
    with pytest.raises(error, match=text):
        fit_mode(X, y, prior=prior)
    with pytest.raises(error, match=text):
        gpproj.project(fit_mode(X, y), [0], prior=prior)


def test_a_fit_keeps_to_a_flat_prior():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((50, 3)) * [1.0, 20.0, 0.1]
    y = np.sin(6 * X[:, 0]) + 0.05 * X[:, 1] + 0.1 * rng.standard_normal(50)
    free = fit_mode(X, y, prior=None).kernel.right.lengthscales
    assert free.min() < 0.5
    assert free.max() > 2.0
    held = fit_mode(X, y, prior={"lengthscale": LogUniform(0.5, 2.0)}).kernel.right.lengthscales
    assert held.min() == pytest.approx(0.5)
    assert held.max() == pytest.approx(2.0)
    plain = fit_mode(X, y, standardize=False, prior={"lengthscale": LogUniform(0.5, 2.0)})
    relative = plain.kernel.right.lengthscales / X.std(axis=0)
    assert np.all((relative > 0.5 - 1e-9) & (relative < 2.0 + 1e-9))


def test_a_fit_is_where_posterior_density_is_highest():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 2))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(40)
    given = {"lengthscale": LogNormal(0.7, 0.2), "noise_variance": Gamma(3.0, 30.0)}

    def log_density(ref):
        training = ref.training
        joint = prior_of(given, ref.structure, scales(training), ("noise_variance",))
        jacobian = training.n * np.log(training.scaling.target_scale)
        prior = joint(ref.draws.parameters, np.ones((1, 2), dtype=bool)).value[0]
        return ref.log_marginal_likelihood + jacobian + prior

    by_posterior, by_data = fit_mode(X, y, prior=given), fit_mode(X, y, prior=None)
    assert by_posterior.log_marginal_likelihood < by_data.log_marginal_likelihood
    assert log_density(by_posterior) > log_density(by_data) + 0.1
    assert by_posterior.optimum.value.min() == pytest.approx(-log_density(by_posterior))
    assert by_data.optimum.value.min() == pytest.approx(
        -by_data.log_marginal_likelihood - 40 * np.log(by_data.training.scaling.target_scale)
    )


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))]
)
def test_the_weak_prior_does_not_let_pure_noise_be_interpolated(seed):
    """Twenty inputs that do nothing: the marginal likelihood alone puts no variance in noise."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((200, 20)), rng.standard_normal(200)
    floor = 1e-6 * np.var(y)
    assert fit_mode(X, y, prior=None).noise_variance == pytest.approx(floor)
    assert fit_mode(X, y).noise_variance > 1e4 * floor


def test_a_flat_prior_outside_of_the_bounds_is_refused():
    X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 0.5, 2.0, 1.5, 3.0])
    far = {"lengthscale": LogUniform(1e5, 1e6)}
    with pytest.raises(ValueError, match="prior: a LogUniform lies outside"):
        fit_mode(X, y, prior=far)
    with pytest.raises(ValueError, match="prior: a LogUniform lies outside"):
        gpproj.project(fit_mode(X, y), [0], prior=far)


@pytest.fixture(scope="module")
def ref():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((50, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * X[:, 2] * X[:, 3] + 0.2 * rng.standard_normal(50)
    return fit_mode(X, y)


MINIMISED = {"loo": ("loo_divergence", 1.0), "projection": ("posterior_kl", 0.5)}
"""The figure that each way to learn minimises, over its objective."""

both = pytest.mark.parametrize("learn", MINIMISED)


def objective_at(ref, learn, found):
    """Value and gradient where a projection ended, without any prior."""
    objective = OBJECTIVES[learn]
    at = found.kernel, found.parameters[None, :], found.active[None, :]
    return objective.value(objective.compared_with(ref.target), *at)


@both
def test_no_prior_is_the_plain_projection(ref, learn):
    (found,) = projector_of(ref, ProjectionOptions(learn, prior=None)).project(
        [mask_of([0, 1], 4)], check=True
    )
    value, gradient = objective_at(ref, learn, found)
    assert found.value == pytest.approx(value[0], rel=1e-12)
    assert np.abs(gradient).max() < 1e-2
    figure, share = MINIMISED[learn]
    sub = gpproj.project(ref, [0, 1], learn, prior=None)
    assert getattr(sub, figure) == pytest.approx(share * value[0], rel=1e-9)


@pytest.mark.parametrize(
    ("learn", "prior"), [("projection", "weak"), ("loo", "weak"), ("loo", "reference")]
)
@pytest.mark.parametrize(
    "inputs",
    [(0, 1), *(pytest.param(one, marks=pytest.mark.slow) for one in ((0,), (1, 2, 3)))],
    ids=str,
)
def test_a_prior_trades_divergence_for_density(ref, inputs, learn, prior):
    mask = mask_of(inputs, 4)
    (plain,) = projector_of(ref, ProjectionOptions(learn, prior=None)).project([mask])
    own = projector_of(ref, ProjectionOptions(learn, prior=prior))
    (weighed,) = own.project([mask], check=True)
    ends = np.stack([weighed.parameters, plain.parameters])
    value, _ = Loss(ref.target, own.family, mask[None, :], own.learn)(ends, np.array([0, 0]))
    assert value[0] <= value[1]
    assert weighed.value == pytest.approx(value[0], rel=1e-12)
    # The objective itself, without the prior that was minimised with it.
    alone = objective_at(ref, learn, weighed).value[0]
    assert alone >= plain.value - 1e-6
    cost = own.family.log_prior(weighed.parameters[None, :], mask[None, :]).value[0]
    assert weighed.value == pytest.approx(alone - PRIOR_WEIGHT * cost, rel=1e-9)
    figure, share = MINIMISED[learn]
    sub = gpproj.project(ref, inputs, learn, prior=prior)
    assert getattr(sub, figure) == pytest.approx(share * alone, rel=1e-9)
    assert own.learn.prior == {"loo": "reference", "projection": "weak"}[learn]


@both
def test_the_gradient_of_a_projection_with_a_prior(ref, learn):
    mask = np.array([True, False, True, True])
    own = projector_of(ref, ProjectionOptions(learn, prior={"lengthscale": InverseGamma(2.0, 3.0)}))
    objective = Loss(ref.target, own.family, mask[None, :], own.learn)
    x = usual_starts(own.family, mask).parameters[0]
    _, gradient = objective(x[None, :], np.array([0]))
    expected = differences(lambda x: objective(x[None, :], np.array([0]))[0][0], x)
    np.testing.assert_allclose(gradient[0], expected, rtol=1e-4, atol=1e-4)
    assert gradient[0, 3] == 0.0


@both
def test_a_projection_keeps_to_a_flat_prior(ref, learn):
    sub = gpproj.project(ref, [0, 1], learn, prior={"lengthscale": LogUniform(1.2, 1.5)})
    assert np.all((sub.kernel.right.lengthscales > 1.19) & (sub.kernel.right.lengthscales < 1.51))
    free = gpproj.project(ref, [0, 1], learn, prior=None).kernel.right.lengthscales
    assert free.max() > 1.51


# The prior around a reference


@pytest.fixture
def around():
    """Weak medians of a kernel's parameters, and a reference that is more extreme or less."""
    rng = np.random.default_rng(7)
    joint = prior_of("weak", KERNEL, units(rng), ("extra_variance",))
    middle = np.log([getattr(term, "median", 1.0) for term in joint.terms]) + joint.log_units
    known = middle[:-1] + np.array([0.5, -0.5, 2.0, -2.0, 0.0, 1.0, -1.0, 3.0])
    return around_reference(joint, known), joint, middle, known


EVERYTHING = np.ones((1, 3), dtype=bool)


def test_around_a_reference_nothing_costs_between_the_median_and_its_value(around):
    prior, _, middle, known = around
    for share in (0.0, 0.3, 1.0):
        between = np.append(middle[:-1] + share * (known - middle[:-1]), 55.0)
        found = prior(between[None, :], EVERYTHING)
        assert found.value[0] == pytest.approx(0.0, abs=1e-24)
        np.testing.assert_allclose(found.gradient, 0.0, atol=1e-12)


@pytest.mark.parametrize("place", range(8))
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_beyond_either_it_is_log_normal_around_the_nearer_end(around, place, side):
    prior, joint, middle, known = around
    ends = (middle[place], known[place])
    end, sigma = (min(ends) if side < 0 else max(ends)), joint.terms[place].sigma
    at = middle.copy()
    at[place] = end + side * 1.7
    found = prior(at[None, :], EVERYTHING)
    expected, slope = LogNormal(1.0, sigma).log_ratio(np.array([side * 1.7]))
    assert found.value[0] == pytest.approx(expected[0], rel=1e-12)
    assert found.gradient[0, place] == pytest.approx(slope[0], rel=1e-12)
    assert not np.delete(found.gradient[0], place).any()


def test_the_gradient_of_the_prior_around_a_reference(around):
    prior, _, middle, _ = around
    rng = np.random.default_rng(8)
    mask = np.array([[True, True, True], [False, True, True]])
    parameters = middle + 4.0 * rng.standard_normal((2, middle.size))
    found = prior(parameters, mask)
    for lane in range(2):

        def value(x, own=mask[lane : lane + 1]):
            return prior(x[None, :], own).value[0]

        expected = differences(value, parameters[lane])
        np.testing.assert_allclose(found.gradient[lane], expected, rtol=1e-6, atol=1e-8)
    assert np.count_nonzero(found.gradient) > 6
    # Length-scale and slope of the input that is out do not count, and neither does what is flat.
    assert not found.gradient[1, [2, 5]].any()
    assert not found.gradient[:, -1].any()
    assert np.all(np.isinf(prior.bounds.lower) & np.isinf(prior.bounds.upper))


def test_without_a_reference_it_is_the_weak_prior(around):
    _, joint, middle, _ = around
    prior = around_reference(joint, None)
    parameters = middle + np.random.default_rng(9).standard_normal((5, middle.size))
    mask = np.ones((5, 3), dtype=bool)
    found, expected = prior(parameters, mask), joint(parameters, mask)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-10, atol=1e-14)


def test_the_reference_of_a_family_costs_nothing(ref):
    family = family_of(ref, prior="reference")
    at = family.at(family.known, 0.0)[None, :]
    everything = np.ones((1, 4), dtype=bool)
    assert family.log_prior(at, everything).value[0] == 0.0
    assert family_of(ref, prior="weak").log_prior(at, everything).value[0] < -0.1
    # Beyond the reference's fastest input is beyond what anybody knows.
    fast = 2 + int(np.argmin(family.known[2:]))
    at[0, fast] -= 1.0
    assert family.log_prior(at, everything).value[0] == pytest.approx(-1.0 / 6.0)  # sigma^2 is 3
    lower, upper = family.bounds
    plain = family_of(ref, prior=None).bounds
    np.testing.assert_array_equal(lower, plain.lower)
    np.testing.assert_array_equal(upper, plain.upper)


def test_priors_around_other_references_have_other_names(ref):
    family = family_of(ref, prior="reference")
    again = family_of(ref, prior="reference")
    assert repr(family.log_prior) == repr(again.log_prior)
    assert repr(family.log_prior) != repr(
        around_reference(
            prior_of("weak", family.kernel, family.units, ("extra_variance",)), family.known - 3.0
        )
    )
    # A null model has no reference's values: its constant has the weak prior.
    null = null_family(family)
    parameters = np.array([[4.0, 0.0]])
    expected = prior_of("weak", null.kernel, null.units, ("extra_variance",))
    nothing = np.zeros((1, 4), dtype=bool)
    assert null.log_prior(parameters, nothing).value[0] == pytest.approx(
        expected(parameters, nothing).value[0], rel=1e-12
    )


@pytest.mark.parametrize("prior", ["reference", "auto"])
def test_only_submodels_have_a_prior_around_their_reference(prior):
    X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 0.5, 2.0, 1.5, 3.0])
    with pytest.raises(ValueError, match=f"prior must be .*'{prior}'"):
        fit_mode(X, y, prior=prior)
