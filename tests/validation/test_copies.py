"""The share of useless inputs among the chosen: copies, what they are alike in, and the count."""

from __future__ import annotations

import itertools
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpproj
from gpproj.kernels import SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.validation.copies import (
    _by_distinct_rows,
    _wide,
    permuted,
    useless_counts,
)
from gpproj.validation.knockoffs import independent_parts, knockoffs, normal_scores
from tests.fitting import fit_mode

N = 40
estimate = partial(gpproj.false_selections, random_state=0, progress=False)


def mixed_inputs(n, seed=0):
    """Related inputs: skewed, of two, three and many values, and rounded."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, 6)) + np.eye(6)
    Z = rng.standard_normal((n, 6)) @ root
    Z /= Z.std(axis=0)
    binary = (Z[:, 2] > 0.5).astype(float)
    skewed, rounded = np.exp(0.5 * Z[:, 1]), np.round(3.0 * Z[:, 4])
    return np.c_[Z[:, 0], skewed, binary, np.digitize(Z[:, 3], [-0.5, 1.0]), rounded, Z[:, 5]]


def make_data(useful=2, d=4, n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, :useful].sum(axis=1) + 0.2 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def ref(data):
    return fit_mode(*data)


# Copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [knockoffs, permuted])
def test_copies_have_the_values_of_the_inputs(make):
    X = mixed_inputs(100)
    copy = make(X, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(copy, axis=0), np.sort(X, axis=0))
    assert (copy != X).any(axis=0).all()


def test_knockoffs_are_related_as_the_inputs_are():
    X = mixed_inputs(20_000)
    d = X.shape[1]
    joint = np.corrcoef(np.c_[X, knockoffs(X, np.random.default_rng(0))].T)
    assert np.abs(joint[:d, :d]).max(initial=0.0, where=~np.eye(d, dtype=bool)) > 0.5
    # Whichever inputs change places with their copies, correlations stay as they are.
    for swapped in ([0], [2, 3], [1, 4, 5], range(d)):
        order = np.arange(2 * d)
        for j in swapped:
            order[j], order[d + j] = d + j, j
        np.testing.assert_allclose(joint[np.ix_(order, order)], joint, atol=0.04)


def test_knockoffs_of_independent_inputs_are_independent_of_them():
    X = np.random.default_rng(0).standard_normal((5000, 5))
    copy = knockoffs(X, np.random.default_rng(1))
    joint = np.corrcoef(np.c_[X, copy].T) - np.eye(10)
    np.testing.assert_allclose(joint, 0.0, atol=0.06)


def test_few_rows_are_not_taken_at_their_word():
    # Their correlations are chance: copies that followed them all would be the inputs themselves.
    X = np.random.default_rng(0).standard_normal((30, 60))
    copy = knockoffs(X, np.random.default_rng(1))
    own = [np.corrcoef(one, other)[0, 1] for one, other in zip(X.T, copy.T, strict=True)]
    assert np.isfinite(copy).all()
    assert abs(np.mean(own)) < 0.6


def test_strong_correlations_are_not_shrunk_with_those_that_are_chance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 30))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    _, C = normal_scores(X, rng)
    assert C[0, 1] == pytest.approx(np.corrcoef(X[:, 0], X[:, 1])[0, 1], abs=0.03)
    assert np.median(np.abs(C[2:, 2:][np.triu_indices(28, 1)])) < 0.02


def test_an_input_that_is_there_twice_spoils_its_own_copies_alone():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 4))
    X[:, 1] = X[:, 0]
    copy = knockoffs(X, rng)
    own = [np.corrcoef(one, other)[0, 1] for one, other in zip(X.T, copy.T, strict=True)]
    assert min(own[:2]) > 0.95
    assert np.abs(own[2:]).max() < 0.1


def test_constant_inputs_stay_as_they_are():
    X = np.random.default_rng(0).standard_normal((50, 3))
    X[:, 1] = 7.0
    copy = knockoffs(X, np.random.default_rng(1))
    assert (copy[:, 1] == 7.0).all()
    assert np.isfinite(copy).all()
    np.testing.assert_array_equal(knockoffs(X[:, [1]], np.random.default_rng(1)), X[:, [1]])


def test_the_order_of_rows_says_nothing_about_ties():
    X = np.repeat([0.0, 1.0], 500)[:, None]
    scores, _ = normal_scores(X, np.random.default_rng(0))
    again, _ = normal_scores(X, np.random.default_rng(0))
    np.testing.assert_array_equal(scores, again)
    for rows in (slice(500), slice(500, 1000)):
        assert abs(np.corrcoef(scores[rows, 0], np.arange(500))[0, 1]) < 0.15
    assert scores[:500].max() < scores[500:].min()


def test_two_values_are_not_taken_for_less_related_than_they_are():
    rng = np.random.default_rng(0)
    Z = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], 4000)
    for X in (np.c_[Z[:, 0] > 0.0, Z[:, 1]], Z > 0.5):
        _, C = normal_scores(X.astype(float), rng)
        assert C[0, 1] == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize("related", [0.0, 0.5, 0.95])
def test_copies_of_alike_inputs_have_the_largest_entropy(related):
    C = related + (1.0 - related) * np.eye(8)
    s = independent_parts(C)
    D = 2.0 * C - np.diag(s)
    assert np.linalg.eigvalsh(D)[0] > 0.0
    np.testing.assert_allclose(s, 1.0 / np.diag(np.linalg.inv(D)), rtol=1e-3)
    np.testing.assert_allclose(s, s[0], rtol=1e-3)


def test_rows_repeated_by_design_have_equal_copies():
    rng = np.random.default_rng(0)
    design = rng.integers(4, size=(25, 6)).astype(float)
    label = rng.integers(25, size=100)
    copy = _by_distinct_rows(knockoffs, design[label], rng)
    rows = np.unique(label)
    for one in rows:
        assert (copy[label == one] == copy[label == one][0]).all()
    assert len(np.unique(copy, axis=0)) > 0.8 * len(rows)


def test_rows_that_are_equal_by_chance_have_copies_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(200, 2)).astype(float)
    copy = _by_distinct_rows(knockoffs, X, rng)
    assert 0.3 < copy[(X == 0.0).all(axis=1), 0].mean() < 0.7


def test_columns_stand_in_random_order():
    X = np.arange(12.0).reshape(4, 3)
    places = []
    for seed in range(20):
        wide = _wide(X, "permuted", (1,), np.random.default_rng(seed))
        np.testing.assert_array_equal(wide.X[:, wide.inputs], X)
        assert wide.X.shape == (4, 5)
        assert set(wide.copies) == {0, 2}
        assert sorted([*wide.inputs, *wide.copies.values()]) == list(range(5))
        places.append(wide.inputs[0] < wide.copies[0])
    assert 4 < sum(places) < 16


# The count -----------------------------------------------------------------------------------


def test_useless_inputs_alone_are_all_counted():
    both = [(name, is_copy) for name in "abc" for is_copy in (False, True)]
    counts = [useless_counts(list(order)) for order in itertools.permutations(both)]
    np.testing.assert_allclose(np.mean(counts, axis=0), [1.0, 2.0, 3.0])


@given(st.permutations([*range(3)] * 2 + [3, 4, 3, 4]))
def test_useless_inputs_are_counted_right_on_average(sequence):
    """Pairs enter as given; of pairs 0 to 2 either may be the input, of the others the first is."""
    counts, true = [], []
    for copy_first in itertools.product([False, True], repeat=3):
        first = [*copy_first, False, False]
        entered = [
            (str(pair), first[pair] != (pair in sequence[:place]))
            for place, pair in enumerate(sequence)
        ]
        counts.append(useless_counts(entered))
        useless = [int(pair) < 3 for pair, is_copy in entered if not is_copy]
        true.append(np.cumsum(useless))
    np.testing.assert_allclose(np.mean(counts, axis=0), np.mean(true, axis=0))


def test_useful_inputs_that_their_copies_beat_count_as_useless():
    np.testing.assert_array_equal(useless_counts([("a", True), ("a", False)]), [2.0])


# The estimate --------------------------------------------------------------------------------


def test_clear_effects_are_not_doubted(ref):
    found = estimate(ref, 2, repeats=2)
    assert found["share"].tolist() == [0.0, 0.0]
    assert found.index.tolist() == [1, 2]
    assert found.index.name == "size"
    assert found.columns.tolist() == ["share", "smallest", "largest", "useless"]


def test_the_same_seed_gives_the_same_whatever_the_workers():
    ref = fit_mode(*make_data(useful=0, d=3))
    alone = estimate(ref, 2, repeats=2)
    with joblib.parallel_config("threading"):
        pd.testing.assert_frame_equal(estimate(ref, 2, repeats=2, n_jobs=2), alone)
    other = gpproj.false_selections(ref, 2, repeats=2, random_state=2, progress=False)
    assert not other.equals(alone)
    assert (alone["smallest"] <= alone["share"] + 1e-12).all()
    assert (alone[["share", "smallest", "largest"]].to_numpy() <= 1.0).all()


def test_a_frame_is_read_as_its_numbers_are(data, ref):
    X, y = data
    names = ["x0", "copy of x0", "x1 copy", "y"]
    named = fit_mode(pd.DataFrame(X, columns=names), y)
    pd.testing.assert_frame_equal(estimate(named, 2, repeats=1), estimate(ref, 2, repeats=1))


def test_groups_are_copied_as_a_whole_and_inputs_that_are_always_in_are_not(ref):
    found = estimate(ref, repeats=1, groups={"both": [1, 2]}, always=["x0"])
    assert found.index.tolist() == [1, 2]  # the group, and x3
    assert found.loc[1, "share"] == 0.0
    with pytest.raises(ValueError, match="max_inputs must be from 1 to 2, got 3"):
        estimate(ref, 3, groups={"both": [1, 2]}, always=["x0"])


def test_permuted_copies_and_constant_inputs(data):
    X, y = data
    with pytest.warns(UserWarning, match="constant"):
        ref = fit_mode(np.c_[X[:, :3], np.ones(N)], y)
    for copies in ("permuted", "knockoffs"):
        found = estimate(ref, 3, copies=copies, repeats=1)
        assert found["share"].tolist()[:2] == [0.0, 0.0]
        assert found.notna().all(axis=None)


def test_linear_references_too(data):
    ref = gpproj.sample_linear(*data, draws=50, random_state=0)
    assert estimate(ref, 2, repeats=2)["share"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"copies": "swapped"}, 'copies must be "knockoffs" or "permuted", got \'swapped\''),
        ({"repeats": 0}, "repeats must be at least 1, got 0"),
        ({"max_inputs": 0}, "max_inputs must be from 1 to 4, got 0"),
        ({"max_inputs": 5}, "max_inputs must be from 1 to 4, got 5"),
    ],
)
def test_settings_that_mean_nothing_are_refused(ref, settings, message):
    with pytest.raises(ValueError, match=message):
        estimate(ref, **settings)


def test_a_reference_without_a_recipe_is_refused(data, ref):
    foreign = gpproj.from_moments(
        *data, ref.latent_mean, np.asarray(ref.latent_cov), noise_variance=ref.noise_variance
    )
    for other in (foreign, ref.on_rows(np.arange(30))):
        with pytest.raises(ValueError, match=r"does not know how it was made; .* refit="):
            estimate(other, 2)


def test_a_recipe_for_the_own_inputs_alone_is_refused(data):
    own = gpproj.condition(*data, SquaredExponential(1.0, [1.0] * 4), Gaussian(0.1))
    with pytest.raises(ValueError, match="an array of 8 columns, and its recipe is for 4"):
        estimate(own, 2)


def test_a_recipe_that_leaves_columns_out_is_refused(data, ref):
    def refit(X, y):
        first = fit_mode(X[:, :4], y)
        return gpproj.from_moments(
            X[:, :4],
            y,
            first.latent_mean,
            np.asarray(first.latent_cov),
            noise_variance=first.noise_variance,
        )

    moments = ref.latent_mean, np.asarray(ref.latent_cov)
    deaf = gpproj.from_moments(*data, *moments, noise_variance=ref.noise_variance, refit=refit)
    with pytest.raises(ValueError, match="it has 4 inputs; its recipe must take all"):
        estimate(deaf, 2)


def test_groups_of_rows_are_refused(ref):
    with pytest.raises(ValueError, match="this one has groups of rows"):
        estimate(ref.with_row_groups(np.arange(N) // 2), 2)


@pytest.mark.slow
def test_classes_and_counts():
    X, y = make_data(n=80)
    rate = np.random.default_rng(0).poisson(np.exp(1.0 + 0.7 * y))
    exposure = np.linspace(1.0, 2.0, 80)
    classes = fit_mode(X, np.where(y > 0.0, "yes", "no"), "bernoulli")
    counts = fit_mode(X, rate, "poisson", exposure=exposure)
    for one in (classes, counts):
        assert estimate(one, 2, repeats=2)["share"].tolist() == [0.0, 0.0]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_noise_is_useless():
    found = [
        estimate(fit_mode(*make_data(useful=0, seed=seed)), 3, repeats=2)["useless"]
        for seed in range(30)
    ]
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    np.testing.assert_array_less(np.abs(mean - [1.0, 2.0, 3.0]), 3.0 * error)
