"""The objectives of the projection: explicit Gaussians, the paper's formulas, differences.

That the divergence between leave-one-out predictions is the sum of what rows left out by hand lose
is tested in `test_leave_one_out`; what all objectives have in common is tested here.
"""

from __future__ import annotations

from dataclasses import replace

import array_api_strict
import numpy as np
import pytest

import gpproj
from gpproj.kernels import Constant, Linear, Matern32, Matern52, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import DenseCovariance
from gpproj.projection import CRITERIA, OBJECTIVES, check_criterion, check_learn
from gpproj.projection.dense import conditioned
from gpproj.projection.objective import left_out_means
from gpproj.reference import LeaveOneOut, Target

PAPER = Constant() + SquaredExponential()
MASKS = np.array([[True, True, True], [True, False, True], [False, True, False]])
N, D = 20, 3


def make_target(noise=0.2, xp=np, seed=2):
    """A reference on three inputs; `noise` may differ from row to row."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(N)
    V = np.diag(np.broadcast_to(noise, N).astype(float))
    nugget = 1e-4 * float(np.mean(noise))
    K = (Constant(0.5) + SquaredExponential(1.5, [1.0, 2.0, 3.0]))(X) + nugget * np.eye(N)
    precision = np.linalg.inv(K + V)
    gain = K @ precision
    sites = {
        "X": xp.asarray(X),
        "site_precision": xp.asarray(1.0 / np.diag(V)),
        "site_shift": xp.asarray(y / np.diag(V)),
        "nugget": nugget,
    }
    left_out = LeaveOneOut(
        **sites,
        mean=xp.asarray(y - precision @ y / np.diag(precision)),
        variance=xp.asarray(1.0 / np.diag(precision)),
        count=xp.asarray(np.ones(N)),
        latent=xp.asarray(np.zeros(N)),
    )
    return Target(
        **sites,
        latent_mean=xp.asarray(gain @ y),
        latent_cov=DenseCovariance(xp.asarray(K - gain @ K)),
        left_out=left_out,
    )


def projection_error(target, *at):
    return CRITERIA["projection_error"](target, *at)


def value_of(learn, target, *at):
    """Value and gradient of an objective at a target."""
    return OBJECTIVES[learn].value(OBJECTIVES[learn].compared_with(target), *at)


def make_parameters(kernel, lanes, seed=3):
    rng = np.random.default_rng(seed)
    centre = np.append(kernel.log_parameters(D), np.log(0.3))
    return centre + 0.3 * rng.standard_normal((lanes, centre.size))


def submodel(target, kernel, parameters, mask):
    """K, K_smooth, V, y of one lane, plainly."""
    K_smooth = kernel.evaluate(parameters[None, :-1], target.X, mask[None]).value[0]
    K = K_smooth + (np.exp(parameters[-1]) + target.nugget) * np.eye(N)
    V = np.diag(1.0 / target.site_precision)
    return K, K_smooth, V, target.site_shift / target.site_precision


def explicit_kl(mu, Sigma, mu_other, Sigma_other):
    difference = mu_other - mu
    return 0.5 * (
        np.trace(np.linalg.solve(Sigma_other, Sigma))
        + difference @ np.linalg.solve(Sigma_other, difference)
        + np.linalg.slogdet(Sigma_other).logabsdet
        - np.linalg.slogdet(Sigma).logabsdet
        - len(mu)
    )


noises = pytest.mark.parametrize(
    "noise", [0.2, np.linspace(0.05, 2.0, N)], ids=["equal noise", "unequal noise"]
)
kernels = pytest.mark.parametrize(
    "kernel",
    [PAPER, Matern32() + Linear(), Matern52() * Linear() + Constant()],
    ids=["paper", "matern32 + linear", "matern52 * linear"],
)
objectives = pytest.mark.parametrize("learn", OBJECTIVES)
criteria = pytest.mark.parametrize("criterion", CRITERIA)


@noises
@kernels
@pytest.mark.parametrize("lane", range(3))
def test_half_of_E_is_the_divergence_of_the_posteriors(noise, kernel, lane):
    target = make_target(noise)
    parameters = make_parameters(kernel, 3)
    K, _, V, y = submodel(target, kernel, parameters[lane], MASKS[lane])
    assert np.linalg.cond(K) <= 1e6
    gain = K @ np.linalg.inv(K + V)
    expected = explicit_kl(
        target.latent_mean, np.asarray(target.latent_cov), gain @ y, K - gain @ K
    )
    found = OBJECTIVES["projection"].value(target, kernel, parameters, MASKS).value[lane] / 2
    assert found == pytest.approx(expected, rel=1e-10)


@noises
@pytest.mark.parametrize("lane", range(3))
def test_E_and_its_derivative_are_those_printed_in_the_paper(noise, lane):
    target = make_target(noise)
    parameters = make_parameters(PAPER, 3)
    K, _, V, y = submodel(target, PAPER, parameters[lane], MASKS[lane])
    mu, Sigma = target.latent_mean, np.asarray(target.latent_cov)
    gain = K @ np.linalg.inv(K + V)
    mu_perp, Sigma_perp = gain @ y, K - gain @ K
    away = mu - mu_perp
    E = (
        np.trace(np.linalg.solve(Sigma_perp, Sigma))
        + away @ np.linalg.solve(Sigma_perp, away)
        + np.linalg.slogdet(Sigma_perp).logabsdet
        - np.linalg.slogdet(Sigma).logabsdet
        - N
    )
    found = OBJECTIVES["projection"].value(target, PAPER, parameters, MASKS)
    assert found.value[lane] == pytest.approx(E, rel=1e-9)

    # v = V^-1 Sigma_perp y in the paper's equal noise: the part of mu_perp that moves with K
    v = Sigma_perp @ np.linalg.solve(V, y)
    K_inverse = np.linalg.inv(K)

    def printed_derivative(dK):
        change = -K_inverse @ dK @ K_inverse
        return np.trace(change @ (Sigma - Sigma_perp)) + mu @ change @ mu - v @ change @ v

    step = 1e-6
    for index in range(parameters.shape[1]):
        up, down = parameters[lane].copy(), parameters[lane].copy()
        up[index] += step
        down[index] -= step
        dK = submodel(target, PAPER, up, MASKS[lane])[0]
        dK = (dK - submodel(target, PAPER, down, MASKS[lane])[0]) / (2 * step)
        expected = printed_derivative(dK)
        assert found.gradient[lane, index] == pytest.approx(expected, rel=1e-7, abs=1e-7)
    # The extra variance and the constant have an exact dK: no differences, nine digits.
    exact = {-1: np.exp(parameters[lane, -1]) * np.eye(N)}
    exact[0] = np.exp(parameters[lane, 0]) * np.ones((N, N))
    for index, dK in exact.items():
        expected = printed_derivative(dK)
        assert found.gradient[lane, index] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@noises
@kernels
@objectives
def test_gradients_against_central_differences(noise, kernel, learn):
    target = make_target(noise)
    for lane, parameters in enumerate(make_parameters(kernel, 3)):
        steps = 1e-5 * np.eye(parameters.size)
        masks = np.repeat(MASKS[lane][None], parameters.size, axis=0)
        up = value_of(learn, target, kernel, parameters + steps, masks).value
        down = value_of(learn, target, kernel, parameters - steps, masks).value
        found = value_of(learn, target, kernel, parameters[None], MASKS[lane][None]).gradient[0]
        expected = (up - down) / 2e-5
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7 * scale)


@objectives
@pytest.mark.parametrize("kernel", [PAPER, Matern32() + Constant()], ids=["paper", "matern32"])
def test_slopes_of_inputs_that_are_out_are_limits_of_small_relevances(learn, kernel):
    """The parabola through small relevances tells how the objective starts to fall."""
    target, parameters = make_target(), make_parameters(kernel, 1)
    mask, everything = MASKS[1:2], MASKS[:1]
    slopes = OBJECTIVES[learn].relevance_slopes(target, kernel, parameters, mask)
    assert slopes.shape == (1, D)
    place = 1 + next(number for number, one in enumerate(kernel.parameters(D)) if one.kind.is_scale)
    values = [value_of(learn, target, kernel, parameters, mask).value[0]]
    for relevance in (1e-4, 2e-4):
        entering = parameters.copy()
        entering[0, place] = -0.5 * np.log(relevance)
        values.append(value_of(learn, target, kernel, entering, everything).value[0])
    rise = (4.0 * values[1] - values[2] - 3.0 * values[0]) / 2e-4
    assert slopes[0, 1] == pytest.approx(rise, rel=1e-5)


@objectives
def test_slopes_of_inputs_that_are_in_are_their_gradients_in_other_units(learn):
    target, parameters = make_target(), make_parameters(PAPER, 3)
    slopes = OBJECTIVES[learn].relevance_slopes(target, PAPER, parameters, MASKS)
    gradient = value_of(learn, target, PAPER, parameters, MASKS).gradient[:, 2:-1]
    # With relevance r = 1 / l^2, dE/d log l = -2 r dE/dr.
    relevance = np.exp(-2.0 * parameters[:, 2:-1])
    np.testing.assert_allclose((-2.0 * relevance * slopes)[MASKS], gradient[MASKS], rtol=1e-9)


@noises
@pytest.mark.parametrize("lane", range(3))
def test_projection_error_is_the_predictive_divergence(noise, lane):
    target = make_target(noise)
    parameters = make_parameters(PAPER, 3)
    K, K_smooth, V, y = submodel(target, PAPER, parameters[lane], MASKS[lane])
    gain = K_smooth @ np.linalg.inv(K + V)
    expected = explicit_kl(
        target.latent_mean, np.asarray(target.latent_cov), gain @ y, K - gain @ K_smooth
    )
    found = projection_error(target, PAPER, parameters, MASKS)[lane]
    assert found == pytest.approx(expected, rel=1e-10)


def test_evidence_is_the_marginal_likelihood_up_to_a_constant():
    target = make_target()
    parameters = make_parameters(PAPER, 2)
    masks = MASKS[:2]
    values = []
    for lane in range(2):
        K, _, V, y = submodel(target, PAPER, parameters[lane], masks[lane])
        values.append(y @ np.linalg.solve(K + V, y) + np.linalg.slogdet(K + V).logabsdet)
    found = value_of("marginal_likelihood", target, PAPER, parameters, masks).value
    assert found[0] - found[1] == pytest.approx(values[0] - values[1], rel=1e-10)


@noises
def test_what_rows_are_predicted_with_from_the_others(noise):
    target = make_target(noise)
    parameters = make_parameters(PAPER, 3)
    means = left_out_means(target, PAPER, parameters, MASKS)
    for lane, mask in enumerate(MASKS):
        K, _, V, y = submodel(target, PAPER, parameters[lane], mask)
        for row in (0, 7):
            rest = np.delete(np.arange(N), row)
            A = (K + V)[np.ix_(rest, rest)]
            expected = K[row, rest] @ np.linalg.solve(A, y[rest])
            assert means[lane, row] == pytest.approx(expected, rel=1e-9)


def test_the_criterion_of_rows_is_the_objective_of_rows():
    target, parameters = make_target(), make_parameters(PAPER, 3)
    found = CRITERIA["loo_divergence"](target, PAPER, parameters, MASKS)
    np.testing.assert_array_equal(found, value_of("loo", target, PAPER, parameters, MASKS).value)


def test_objectives_and_criteria_are_known_by_their_names():
    assert [name for name, one in OBJECTIVES.items() if one.name == name] == [
        "loo",
        "projection",
        "marginal_likelihood",
    ]
    assert [name for name, one in CRITERIA.items() if one.name == name] == [
        "loo_divergence",
        "projection_error",
    ]
    for learn, criterion in (
        ("loo", "loo_divergence"),
        ("projection", "projection_error"),
        ("marginal_likelihood", "projection_error"),
    ):
        assert check_criterion(None, check_learn(learn)) is CRITERIA[criterion]
        for asked, one in CRITERIA.items():
            assert check_criterion(asked, check_learn(learn)) is one
    with pytest.raises(ValueError, match=r"learn must be one of loo, projection, .*got 'magic'"):
        check_learn("magic")
    with pytest.raises(ValueError, match=r"criterion must be one of loo_divergence, .*got 'magic'"):
        check_criterion("magic", check_learn("loo"))


def test_an_objective_looks_at_posteriors_or_at_single_rows():
    target = make_target()
    assert OBJECTIVES["loo"].compared_with(target) is target.left_out
    for learn in ("projection", "marginal_likelihood"):
        assert OBJECTIVES[learn].compared_with(target) is target


def test_conditioned_submodel_holds_the_predictive_equations():
    target = make_target(np.linspace(0.05, 2.0, N))
    parameters = make_parameters(PAPER, 1)
    K, _, V, y = submodel(target, PAPER, parameters[0], MASKS[1])
    state = conditioned(target, PAPER, parameters, MASKS[1:2])
    np.testing.assert_allclose(state.coefficients[0], np.linalg.solve(K + V, y), rtol=1e-9)
    R = state.root[0].T @ state.root[0]
    np.testing.assert_allclose(R, np.linalg.inv(K + V), rtol=1e-8, atol=1e-10)


def test_a_silent_site_has_no_say():
    """tau = nu = 0 leaves zero rows in R and b, while the latent value stays."""
    target = make_target(np.linspace(0.05, 2.0, N))
    quiet = target.site_precision.copy()
    quiet[4] = 0.0
    shift = target.site_shift.copy()
    shift[4] = 0.0
    silent = replace(target, site_precision=quiet, site_shift=shift)
    state = conditioned(silent, PAPER, make_parameters(PAPER, 1), MASKS[:1])
    assert state.coefficients[0, 4] == 0.0
    assert not state.root[0][:, 4].any()
    found = OBJECTIVES["projection"].value(silent, PAPER, make_parameters(PAPER, 1), MASKS[:1])
    faint = replace(silent, site_precision=np.where(quiet == 0, 1e-12, quiet))
    limit = OBJECTIVES["projection"].value(faint, PAPER, make_parameters(PAPER, 1), MASKS[:1])
    np.testing.assert_allclose(found.value, limit.value, rtol=1e-9)
    np.testing.assert_allclose(found.gradient, limit.gradient, rtol=1e-8)


def test_large_signal_variances_keep_their_digits():
    """The form b = nu - R K nu would lose every digit here."""
    target = make_target(1e-3)
    parameters = make_parameters(PAPER, 1)
    parameters[0, :2] = np.log([1e5, 1e6])
    parameters[0, 2:-1] = np.log(300.0)
    K, _, V, y = submodel(target, PAPER, parameters[0], MASKS[0])
    gain = K @ np.linalg.inv(K + V)
    Sigma_perp = V - V @ np.linalg.inv(K + V) @ V
    expected = explicit_kl(target.latent_mean, np.asarray(target.latent_cov), gain @ y, Sigma_perp)
    found = OBJECTIVES["projection"].value(target, PAPER, parameters, MASKS[:1]).value[0] / 2
    assert found == pytest.approx(expected, rel=1e-5)


def with_columns(target, mask):
    """The same target, whose other columns were deleted."""
    X = np.ascontiguousarray(target.X[:, mask])
    return replace(target, X=X, left_out=replace(target.left_out, X=X))


@objectives
def test_a_masked_batch_equals_a_loop_over_deleted_columns(learn):
    target = make_target()
    parameters = make_parameters(PAPER, 3)
    together = value_of(learn, target, PAPER, parameters, MASKS)
    figures = {name: one(target, PAPER, parameters, MASKS) for name, one in CRITERIA.items()}
    for lane, mask in enumerate(MASKS):
        kept = np.concatenate([[True, True], mask, [True]])
        small = with_columns(target, mask)
        own = parameters[lane, kept][None]
        everything = np.ones((1, mask.sum()), dtype=bool)
        alone = value_of(learn, small, PAPER, own, everything)
        assert alone.value[0] == pytest.approx(together.value[lane], rel=1e-12)
        np.testing.assert_allclose(
            together.gradient[lane, kept], alone.gradient[0], rtol=1e-10, atol=1e-12
        )
        assert not together.gradient[lane, ~kept].any()
        for name, one in CRITERIA.items():
            found = one(small, PAPER, own, everything)[0]
            assert found == pytest.approx(figures[name][lane], rel=1e-12)


@objectives
@criteria
def test_permutations_and_units_change_nothing_at_given_parameters(learn, criterion):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N, D))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(N)
    kernel = Constant(0.4) + SquaredExponential(1.2, [1.0, 2.0, 3.0])

    def evaluate(X, y, kernel, noise, extra, columns):
        ref = gpproj.condition(X, y, kernel, Gaussian(noise))
        parameters = np.append(kernel.log_parameters(D), np.log(extra))[None]
        mask = np.isin(columns, [0, 2])[None]
        found = value_of(learn, ref.target, kernel, parameters, mask)
        error = CRITERIA[criterion](ref.target, kernel, parameters, mask)
        return found.value[0], found.gradient[0], error[0]

    value, gradient, error = evaluate(X, y, kernel, 0.1, 0.3, np.arange(D))
    rows = rng.permutation(N)
    again = evaluate(X[rows], y[rows], kernel, 0.1, 0.3, np.arange(D))
    assert again[0] == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(again[1], gradient, rtol=1e-9, atol=1e-9)
    assert again[2] == pytest.approx(error, rel=1e-9)
    columns = np.array([2, 0, 1])
    moved = Constant(0.4) + SquaredExponential(1.2, np.array([1.0, 2.0, 3.0])[columns])
    again = evaluate(X[:, columns], y, moved, 0.1, 0.3, columns)
    assert again[0] == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(again[1][2:-1], gradient[2:-1][columns], rtol=1e-9, atol=1e-9)
    scaled = Constant(0.4 * 49) + SquaredExponential(1.2 * 49, np.array([1.0, 2.0, 3.0]) * 1e3)
    again = evaluate(1e3 * X, 7 * y, scaled, 0.1 * 49, 0.3 * 49, np.arange(D))
    assert again[0] == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(again[1], gradient, rtol=1e-9, atol=1e-9)
    assert again[2] == pytest.approx(error, rel=1e-9)


@objectives
def test_the_array_api_path_equals_numpy(learn):
    host, strict = make_target(), make_target(xp=array_api_strict)
    parameters = make_parameters(PAPER, 3)
    found, expected = (value_of(learn, one, PAPER, parameters, MASKS) for one in (strict, host))
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-10)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-8, atol=1e-8)
    found, expected = (
        OBJECTIVES[learn].relevance_slopes(one, PAPER, parameters, MASKS) for one in (strict, host)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@criteria
def test_figures_of_the_array_api_path_are_those_of_numpy(criterion):
    host, strict = make_target(), make_target(xp=array_api_strict)
    parameters = make_parameters(PAPER, 3)
    found, expected = (CRITERIA[criterion](one, PAPER, parameters, MASKS) for one in (strict, host))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    found, expected = (left_out_means(one, PAPER, parameters, MASKS) for one in (strict, host))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@objectives
def test_a_lane_does_not_depend_on_its_batch(learn):
    target = make_target()
    parameters = make_parameters(PAPER, 3)
    together = value_of(learn, target, PAPER, parameters, MASKS)
    for lane in range(3):
        one = slice(lane, lane + 1)
        alone = value_of(learn, target, PAPER, parameters[one], MASKS[one])
        assert alone.value[0] == together.value[lane]
        assert np.array_equal(alone.gradient[0], together.gradient[lane])


@objectives
def test_a_lane_that_cannot_be_factorised_fails_alone(learn):
    target, parameters = make_target(), make_parameters(PAPER, 3)
    expected = value_of(learn, target, PAPER, parameters, MASKS)
    parameters[1, 1] = 800.0  # a signal variance that no number holds
    with np.errstate(all="ignore"):
        found = value_of(learn, target, PAPER, parameters, MASKS)
    assert found.value[1] == np.inf
    assert not found.gradient[1].any()
    for part in ("value", "gradient"):
        others, own = (getattr(one, part)[[0, 2]] for one in (found, expected))
        np.testing.assert_array_equal(others, own)
