"""Rows that leave in groups: predictions by hand, differences, and models that know persons."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.data import groups_of_distinct_rows, read_row_groups, repeats_of
from gpproj.inference import Sparse
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian, Poisson
from gpproj.linalg import Blocks, to_host
from gpproj.projection import CRITERIA, OBJECTIVES
from tests.fitting import fit_mode

N, D = 24, 3
LOO = OBJECTIVES["loo"]
KERNEL = Constant(0.5) + SquaredExponential(1.5, [0.8, 1.5, 3.0])
MASKS = np.array([[True, True, True], [True, False, True], [False, True, False]])
LABELS = np.array([0, 1, 2, 3] * 4 + [4, 5, 6, 7, 4, 5, 4, 8])
"""Groups of four, three, two and one rows, none of them side by side."""


def data(repeats=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    if repeats:
        X[-repeats:] = X[:repeats]
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(N)


def reference(repeats=0, inference="exact"):
    ref = gpproj.condition(*data(repeats), KERNEL, Gaussian(0.2), inference=inference)
    return ref.with_row_groups(LABELS)


def parameters_of(lanes=3, seed=1):
    centre = np.append(KERNEL.log_parameters(D), np.log(0.3))
    return centre + 0.3 * np.random.default_rng(seed).standard_normal((lanes, centre.size))


def predicted_by_hand(K, tau, t, rows, observed):
    """Means and variances of some rows given all others, by conditioning."""
    rest = np.setdiff1d(np.arange(len(t)), rows)
    A = K[np.ix_(rest, rest)] + np.diag(1.0 / tau[rest])
    gain = np.linalg.solve(A, K[np.ix_(rest, rows)])
    variance = np.diag(K)[rows] - np.sum(gain * K[np.ix_(rest, rows)], axis=0)
    return gain.T @ t[rest], variance + (1.0 / tau[rows] if observed else 0.0)


def divergence(m, v, mean, variance):
    return 0.5 * (np.log(variance / v) + (v + (m - mean) ** 2) / variance - 1.0)


def explicit(ref, theta, mask, observed=True):
    """The objective of one lane, group by group."""
    held = ref.target.left_out
    K = KERNEL.evaluate(theta[None, :-1], held.X, mask[None]).value[0]
    K = K + (np.exp(theta[-1]) + held.nugget) * np.eye(len(K))
    t, total = held.site_shift / held.site_precision, 0.0
    for rows in ref.problem.row_groups:
        own = predicted_by_hand(K, held.site_precision, t, rows, observed)
        total += held.count[rows] @ divergence(held.mean[rows], held.variance[rows], *own)
    return total


def slopes_by_differences(held, theta, step=1e-5):
    slopes = np.empty_like(theta)
    for j in range(theta.shape[1]):
        move = step * np.eye(theta.shape[1])[j]
        above, below = (LOO.value(held, KERNEL, theta + way * move, MASKS) for way in (1, -1))
        slopes[:, j] = (above.value - below.value) / (2.0 * step)
    return slopes


def counts_reference():
    X, f = data()
    y = np.random.default_rng(3).poisson(np.exp(0.5 * f))
    return gpproj.condition(X, y, KERNEL, Poisson()).with_row_groups(LABELS)


@pytest.mark.parametrize("repeats", [0, 5])
def test_the_reference_predicts_each_group_from_the_others(repeats):
    ref = reference(repeats)
    held = ref.target.left_out
    K = ref.model_kernel(to_host(held.X)) + held.nugget * np.eye(len(held.X))
    t = held.site_shift / held.site_precision
    for rows in ref.problem.row_groups:
        mean, variance = predicted_by_hand(K, held.site_precision, t, rows, observed=True)
        np.testing.assert_allclose(held.mean[rows], mean, atol=1e-10)
        np.testing.assert_allclose(held.variance[rows], variance, rtol=1e-9)


@pytest.mark.parametrize("repeats", [0, 5])
def test_the_objective_is_the_sum_over_rows_given_other_groups(repeats):
    ref, theta = reference(repeats), parameters_of()
    value, gradient = LOO.value(ref.target.left_out, KERNEL, theta, MASKS)
    wanted = [explicit(ref, at, mask) for at, mask in zip(theta, MASKS, strict=True)]
    np.testing.assert_allclose(value, wanted, rtol=1e-9)
    slopes = slopes_by_differences(ref.target.left_out, theta)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)


def test_other_likelihoods_remove_the_sites_of_a_group_together():
    ref, theta = counts_reference(), parameters_of()
    held = ref.target.left_out
    K = ref.model_kernel(to_host(held.X)) + held.nugget * np.eye(N)
    t = held.site_shift / held.site_precision
    for rows in ref.problem.row_groups:
        mean, variance = predicted_by_hand(K, held.site_precision, t, rows, observed=False)
        np.testing.assert_allclose(held.mean[rows], mean, atol=1e-8)
        np.testing.assert_allclose(held.variance[rows], variance, rtol=1e-8)
    value, gradient = LOO.value(held, KERNEL, theta, MASKS)
    wanted = [explicit(ref, at, mask, False) for at, mask in zip(theta, MASKS, strict=True)]
    np.testing.assert_allclose(value, wanted, rtol=1e-8)
    slopes = slopes_by_differences(held, theta)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)


def test_slopes_of_inputs_that_are_out_are_those_of_differences():
    ref, theta = reference(), parameters_of(1)
    held, mask = ref.target.left_out, np.array([[True, False, False]])
    found = LOO.relevance_slopes(ref.target, KERNEL, theta, mask)[0]
    place = [one.input for one in KERNEL.parameters(D)].index(2)
    open_mask = np.array([[True, False, True]])

    def value(relevance):
        at = theta.copy()
        at[0, place] = -0.5 * np.log(relevance)
        return LOO.value(held, KERNEL, at, open_mask).value[0]

    step = 1e-4
    slope = (4.0 * value(step) - value(2.0 * step) - 3.0 * value(1e-12)) / (2.0 * step)
    assert found[2] == pytest.approx(slope, rel=1e-3)


def test_groups_of_single_rows_change_nothing():
    plain = gpproj.condition(*data(), KERNEL, Gaussian(0.2))
    single, theta = plain.with_row_groups(np.arange(N)), parameters_of()
    assert single.problem.row_groups is None
    for one in (plain, single):
        value = LOO.value(one.target.left_out, KERNEL, theta, MASKS).value
        np.testing.assert_array_equal(
            value, LOO.value(plain.target.left_out, KERNEL, theta, MASKS).value
        )
    assert reference().with_row_groups(None).problem.row_groups is None


def test_inducing_points_at_all_rows_change_nothing():
    X, _ = data()
    dense, theta = reference(), parameters_of()
    sparse = reference(inference=Sparse(X))
    np.testing.assert_allclose(sparse.target.left_out.mean, dense.target.left_out.mean, atol=1e-5)
    # Submodels of the reference's points have others for each subset: compare with all inputs.
    everything = np.ones((3, D), dtype=bool)
    for name in ("value", "gradient"):
        np.testing.assert_allclose(
            getattr(LOO.value(sparse.target.left_out, KERNEL, theta, everything), name),
            getattr(LOO.value(dense.target.left_out, KERNEL, theta, everything), name),
            rtol=1e-4,
            atol=1e-4,
        )


def test_the_gradient_through_inducing_points_is_that_of_differences():
    held, theta = reference(inference=Sparse(6)).target.left_out, parameters_of()
    gradient = LOO.value(held, KERNEL, theta, MASKS).gradient
    slopes = slopes_by_differences(held, theta)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make", [reference, counts_reference])
def test_the_reference_itself_loses_nothing(make):
    ref = make()
    full = np.append(ref.known_parameters, -40.0)[None]
    value = LOO.value(ref.target.left_out, KERNEL, full, np.ones((1, D), dtype=bool)).value
    assert value[0] == pytest.approx(0.0, abs=1e-8)
    sub = gpproj.project(ref, [0, 1, 2])
    assert sub.loo_divergence == pytest.approx(0.0, abs=1e-3)


def test_the_criterion_is_the_objective():
    target, theta = reference().target, parameters_of()
    figure = CRITERIA["loo_divergence"](target, KERNEL, theta, MASKS)
    np.testing.assert_allclose(figure, LOO.value(target.left_out, KERNEL, theta, MASKS).value)


def test_moments_of_a_gaussian_process_lose_a_group_as_the_process_does():
    own = reference()
    same = gpproj.from_moments(
        *data(), own.latent_mean, own.latent_cov, 0.2, standardize=False, nugget=0.0
    )
    held, wanted = same.with_row_groups(LABELS).target.left_out, own.target.left_out
    np.testing.assert_allclose(held.mean, wanted.mean, atol=1e-8)
    np.testing.assert_allclose(held.variance, wanted.variance, rtol=1e-8)
    assert held.separable


def test_moments_that_hold_no_sites_stand_for_unseen_rows():
    X, y = data()
    cov = 2.0 * 0.2 * np.eye(N)  # more than the noise: no Gaussian process has such a posterior
    ref = gpproj.from_moments(X, y, np.zeros(N), cov, 0.2).with_row_groups(LABELS)
    assert not ref.target.left_out.separable
    np.testing.assert_allclose(ref.target.left_out.mean, ref.target.latent_mean)


def test_draws_are_weighted_by_the_joint_density_of_a_group():
    single = reference()
    draws = np.stack([single.draws.parameters[0], single.draws.parameters[0] + 0.4])
    both = single.__class__(
        training=single.training,
        problem=single.problem,
        draws=gpproj.reference.Draws.equal(draws),
    )
    parts, densities = [], []
    y = to_host(both.training.y)
    for theta in draws:
        kernel = KERNEL.with_log_parameters(theta[:-1], D)
        noise = float(np.exp(theta[-1]))
        K = kernel(to_host(both.training.X)) + 1e-4 * noise * np.eye(N)
        tau = np.full(N, 1.0 / noise)
        mean, variance, density = np.empty(N), np.empty(N), np.empty(N)
        for rows in both.problem.row_groups:
            mean[rows], variance[rows] = predicted_by_hand(K, tau, y, rows, observed=True)
            rest = np.setdiff1d(np.arange(N), rows)
            A = K + noise * np.eye(N)

            def evidence(some, A=A):
                block = A[np.ix_(some, some)]
                return -0.5 * (
                    y[some] @ np.linalg.solve(block, y[some])
                    + np.linalg.slogdet(block)[1]
                    + some.size * np.log(2.0 * np.pi)
                )

            density[rows] = evidence(np.arange(N)) - evidence(rest)
        parts.append((mean, variance))
        densities.append(density)
    weights = 1.0 / np.exp(np.stack(densities))
    weights /= weights.sum(axis=0)
    means = np.stack([one[0] for one in parts])
    variances = np.stack([one[1] for one in parts])
    mean = np.sum(weights * means, axis=0)
    held = both.target.left_out
    np.testing.assert_allclose(held.mean, mean, atol=1e-8)
    spread = np.sum(weights * (variances + (means - mean) ** 2), axis=0)
    np.testing.assert_allclose(held.variance, spread, rtol=1e-8)


def test_other_array_libraries_compute_the_same():
    X, y = (array_api_strict.asarray(part) for part in data())
    theta = parameters_of()
    other = gpproj.condition(X, y, KERNEL, Gaussian(0.2)).with_row_groups(LABELS)
    wanted = LOO.value(reference().target.left_out, KERNEL, theta, MASKS)
    found = LOO.value(other.target.left_out, KERNEL, theta, MASKS)
    np.testing.assert_allclose(found.value, wanted.value, rtol=1e-8)
    np.testing.assert_allclose(found.gradient, wanted.gradient, rtol=1e-6, atol=1e-8)


def persons(seed, count=20, each=6):
    """Rows of persons with a level of their own: the last input tells them apart, and no more."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(count), each)
    x = rng.standard_normal(who.size)
    y = np.sin(2.0 * x) + 1.5 * rng.standard_normal(count)[who]
    fingerprint = 10.0 * rng.permutation(count)[who] + 0.01 * rng.standard_normal(who.size)
    return np.column_stack([x, fingerprint]), y + 0.2 * rng.standard_normal(who.size), who


@pytest.mark.parametrize("seed", range(3))
def test_an_input_that_only_tells_persons_apart_says_nothing_of_new_ones(seed):
    X, y, who = persons(seed)
    kernel = SquaredExponential(1.0, [1.0, 1e3]) + SquaredExponential(2.0, [1e3, 1.0])
    ref = gpproj.condition(X, y, kernel, Gaussian(0.04))
    alone = gpproj.forward_search(ref, 1, progress=False)
    grouped = gpproj.forward_search(ref.with_row_groups(who), 1, progress=False)
    assert (alone.order, grouped.order) == (("x1",), ("x0",))
    assert grouped.errors[1] < 0.5 * grouped.null_error


@pytest.mark.filterwarnings("ignore:the null model predicts better:UserWarning")
@pytest.mark.filterwarnings("ignore:folds disagree:UserWarning")
def test_folds_keep_groups_together_and_repeat_the_search_with_them():
    X, y, who = persons(0, 12, each=5)
    names = np.array([f"person {one}" for one in who])
    ref = fit_mode(X, y).with_row_groups(names)
    seen = []
    path = gpproj.forward_search(ref, 1, progress=False)
    cv = gpproj.validate(ref, path, folds=3, random_state=0, progress=False)
    for one in np.unique(who):
        seen.append(set(cv.scores.fold[np.isin(cv.scores.rows, np.flatnonzero(who == one))]))
    assert all(len(folds) == 1 for folds in seen)
    assert len(set.union(*seen)) == 3
    again = ref.refit(X[:30], y[:30], row_groups=names[:30])
    assert len(again.problem.row_groups) == 6


def test_folds_of_classes_keep_groups_together():
    X, _, who = persons(0, 12, each=5)
    ref = fit_mode(X[:, :1], X[:, 0] > 0, "bernoulli").with_row_groups(who)
    path = gpproj.forward_search(ref, 0, progress=False)
    cv = gpproj.validate(ref, path, folds=3, random_state=0, progress=False)
    for one in np.unique(who):
        assert len(set(cv.scores.fold[np.isin(cv.scores.rows, np.flatnonzero(who == one))])) == 1


def test_single_rows_of_groups_are_not_validated():
    ref = reference()
    with pytest.raises(ValueError, match=r'method="loo".*groups'):
        gpproj.validate(ref, method="loo", progress=False)
    with pytest.raises(ValueError, match=r"row_groups: .*with_row_groups"):
        gpproj.validate(ref, max_inputs=0, row_groups=LABELS, nested=True, progress=False)
    with pytest.raises(ValueError, match="number of groups of rows, 9"):
        gpproj.validate(ref, max_inputs=0, folds=10, progress=False)


def test_groups_are_saved_and_taken_along(tmp_path):
    ref = reference()
    ref.save(tmp_path / "ref")
    again = gpproj.load(tmp_path / "ref")
    np.testing.assert_array_equal(again.training.row_groups, LABELS)
    np.testing.assert_array_equal(again.target.left_out.mean, ref.target.left_out.mean)
    some = np.array([0, 4, 1, 5, 20])
    assert [rows.tolist() for rows in ref.on_rows(some).problem.row_groups] == [[0, 1], [2, 3], [4]]


def test_estimators_take_groups():
    X, y, who = persons(0, 12, each=5)
    found = gpproj.ProjectionRegressor(1, random_state=0).fit(X, y, row_groups=who)
    assert len(found.reference_.problem.row_groups) == 12


@pytest.mark.parametrize(
    ("labels", "error", "text"),
    [
        ([0, 1], ValueError, "24 labels, one a row; saw 2"),
        ("person", TypeError, "list of labels"),
        (7, TypeError, "list of labels"),
        (np.zeros((N, 2)), ValueError, "one column"),
        ([None, *range(N - 1)], ValueError, "missing"),
        ([1] * N, ValueError, "two groups"),
    ],
)
def test_odd_labels_are_refused(labels, error, text):
    with pytest.raises(error, match=f"row_groups must.*{text}"):
        reference().with_row_groups(labels)


@pytest.mark.parametrize("labels", [pd.Series(list("aba")), [1, 0, 1], np.array([[5], [2], [5]])])
def test_labels_are_anything_that_can_be_equal(labels):
    assert read_row_groups(labels, 3).tolist() == [0, 1, 0]


def test_groups_that_share_an_equal_row_are_one():
    X = np.array([[0.0], [1.0], [0.0], [2.0], [3.0]])
    found = groups_of_distinct_rows(np.array([0, 1, 1, 2, 3]), repeats_of(X))
    assert [rows.tolist() for rows in found] == [[0, 1], [2], [3]]


@pytest.mark.parametrize("xp", [np, array_api_strict])
def test_blocks_pick_and_put_back(xp):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((2, 5, 5))
    sets = [np.array([3, 0]), np.array([1]), np.array([2, 4])]
    blocks = Blocks(sets, xp.asarray(A))
    single, pairs = (to_host(part) for part in blocks.of_matrices(xp.asarray(A)))
    np.testing.assert_array_equal(single[:, 0, 0, 0], A[:, 1, 1])
    np.testing.assert_array_equal(pairs[:, 0], A[:, [3, 0]][:, :, [3, 0]])
    np.testing.assert_array_equal(pairs[:, 1], A[:, [2, 4]][:, :, [2, 4]])
    for part in (A, A[:, :, 0]):
        own = xp.asarray(part)
        picked = blocks.of_rows(own) if part.ndim == 3 else blocks.of_vectors(own)
        np.testing.assert_array_equal(to_host(blocks.joined(picked)), part)
