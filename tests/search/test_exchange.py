"""Exchanges: sets that no greedy path finds, and what a path tells of them."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.projection import projector_of
from gpproj.search.results import null_and_full, relative
from gpproj.search.rivals import eliminated
from gpproj.search.space import SearchSpace
from gpproj.search.units import Unit
from tests.fitting import fit_mode


def decoy(n=90, seed=0):
    """The best single input is in no good pair."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 5)), columns=list("abcde"))
    X["c"] = X["a"] + X["b"] + 0.4 * rng.standard_normal(n)
    return X, X["a"] + X["b"] + 0.2 * rng.standard_normal(n)


def product(n=120, seed=0):
    """Two inputs that act only together, and a weak third."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 6)), columns=list("abcdef"))
    return X, X["a"] * X["b"] + 0.3 * X["c"] + 0.2 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def ref():
    return fit_mode(*decoy())


@pytest.fixture(scope="module")
def path(ref):
    return gpproj.forward_search(ref, 3, progress=False)


def test_the_best_pair_need_not_hold_the_best_input(ref, path):
    assert path.order[0] == "c"
    assert path.best_inputs(1) == ("c",)
    assert path.best_inputs(2) == ("a", "b")
    assert path.is_better(2)
    assert not path.is_better(1)
    assert path.best_errors[2] < 0.5 * path.errors[2]
    assert np.all(np.diff(path.best_errors) <= 0.0)
    assert path.best(2).inputs == ("a", "b")
    assert set(path[2].inputs) == set(path.order[:2])


def test_a_path_without_exchanges_is_the_greedy_one(ref, path):
    greedy = gpproj.forward_search(ref, 3, exchange=False, progress=False)
    assert greedy.order == path.order
    np.testing.assert_allclose(greedy.errors, path.errors, rtol=1e-4, atol=1e-4)
    assert not any(greedy.is_better(size) for size in range(4))
    np.testing.assert_array_equal(greedy.best_errors, greedy.errors)


def test_both_are_in_the_summary(path):
    table = path.summary()
    assert table["best_inputs"].tolist() == [
        ", ".join(path.best_inputs(size)) for size in range(len(path))
    ]
    expected = relative(path.best_errors, path.null_error, path.full_error)
    np.testing.assert_array_equal(table["best_relative_error"], expected)
    assert (table["best_relative_error"] <= table["relative_error"]).all()
    assert table["loo_divergence"].tolist() == pytest.approx(table["error"].tolist())


@pytest.mark.slow
def test_the_best_sets_are_those_of_brute_force(ref, path):
    for size in (2, 3):
        every = [
            gpproj.project(ref, list(inputs)).loo_divergence
            for inputs in itertools.combinations("abcde", size)
        ]
        span = path.null_error - path.full_error
        assert path.best_errors[size] <= min(every) + 0.001 * span


def test_errors_of_best_sets_never_rise():
    """Also where so little is left that no other set is looked for."""
    path = gpproj.forward_search(fit_mode(*decoy(80, 5)), progress=False)
    assert path.relative_errors[-1] < 0.01
    assert np.all(np.diff(path.best_errors) <= 1e-3)
    found = [path.best_subset(size) for size in range(len(path))]
    assert [len(own.units) for own in found] == list(range(len(path)))
    for own in found:
        assert set(np.flatnonzero(own.projection.inputs)) == {
            position for unit in own.units for position in unit.positions
        }


def test_an_elimination_sees_what_acts_only_together():
    ref = fit_mode(*product(100, 4))
    projector = projector_of(ref)
    space = SearchSpace(
        projector, (), tuple(Unit(name, (j,), 1.0) for j, name in enumerate("abcdef"))
    )
    left = eliminated(space, range(len(space.units)), null_and_full(projector)[1])
    assert left[2][0] == {0, 1}
    assert left[3][0] == {0, 1, 2}
    errors = [left[size][1].error for size in range(1, 6)]
    assert np.all(np.diff(errors) <= 1e-3)
    for members, found in left.values():
        np.testing.assert_array_equal(found.inputs, space.inputs(members))


def test_inputs_that_act_only_together_are_found():
    ref = fit_mode(*product())
    path = gpproj.forward_search(ref, 3, progress=False)
    assert path.best_inputs(2) == ("a", "b")
    assert set(path.best_inputs(3)) == {"a", "b", "c"}


@pytest.mark.slow
@pytest.mark.parametrize("make", [decoy, product])
def test_no_order_of_a_usual_measure_is_better(make):
    ref = fit_mode(*make(80, 3))
    path = gpproj.forward_search(ref, 3, progress=False)
    for method in ("ard", "kl", "permutation"):
        rival = gpproj.project_path(ref, method, max_inputs=3)
        excess = (path.best_errors - rival.errors) / (path.null_error - path.full_error)
        assert excess.max() <= 0.005  # where less is left, nothing else is looked at


@pytest.mark.slow
def test_floating_grows_a_better_set_again(ref):
    path = gpproj.forward_search(ref, 3, floating=True, progress=False)
    plain = gpproj.forward_search(ref, 3, progress=False)
    assert np.all(path.best_errors <= plain.best_errors + 1e-3)
    assert path.order == plain.order


@pytest.mark.parametrize(
    "fitted", [gpproj.fit, partial(gpproj.sample_linear, draws=50, random_state=0)]
)
def test_exchanges_never_make_a_set_dearer(fitted):
    ref = fitted(*decoy())
    dear = gpproj.forward_search(ref, 2, costs={"a": 3.0, "b": 3.0}, progress=False)
    assert dear.order[0] == "c"
    spent = [sum(unit.cost for unit in dear.best_subset(size).units) for size in range(3)]
    assert spent[2] <= sum(unit.cost for unit in dear.units[:2])


def test_groups_are_exchanged_whole():
    X, y = product()
    ref = fit_mode(X, y)
    path = gpproj.forward_search(
        ref, 2, groups={"ab": ["a", "b"], "de": ["d", "e"]}, progress=False
    )
    assert set(path.best_inputs(2)) == {"ab", "c"}
    assert set(path.best(2).inputs) == {"a", "b", "c"}


def test_inputs_that_are_always_in_stay():
    ref = fit_mode(*decoy())
    path = gpproj.forward_search(ref, 2, always=["e"], progress=False)
    for size in range(3):
        assert "e" in path.best(size).inputs
        assert len(path.best(size).inputs) == size + 1


def test_a_search_that_was_interrupted_goes_on_to_the_same_sets(ref, path, tmp_path):
    file = tmp_path / "search.npz"
    gpproj.forward_search(ref, 1, checkpoint=file, progress=False)
    resumed = gpproj.forward_search(ref, 3, checkpoint=file, progress=False)
    assert resumed.order == path.order
    np.testing.assert_array_equal(resumed.errors, path.errors)
    np.testing.assert_array_equal(resumed.best_errors, path.best_errors)
    assert [own and own.units for own in resumed.better] == [
        own and own.units for own in path.better
    ]
    again = gpproj.forward_search(ref, 3, checkpoint=file, progress=False)
    np.testing.assert_array_equal(again.best_errors, path.best_errors)
    with pytest.raises(ValueError, match="other data or settings"):
        gpproj.forward_search(ref, 3, exchange=False, checkpoint=file, progress=False)


def test_the_number_of_workers_changes_nothing(ref, path):
    two = gpproj.forward_search(ref, 3, n_jobs=2, progress=False)
    np.testing.assert_array_equal(two.best_errors, path.best_errors)
    np.testing.assert_array_equal(two.errors, path.errors)


def test_the_exhaustive_search_exchanges_too(ref, path):
    exhaustive = gpproj.forward_search(ref, 3, "exhaustive", progress=False)
    span = path.null_error - path.full_error
    assert np.abs(exhaustive.best_errors - path.best_errors).max() <= 0.01 * span


@pytest.mark.slow
def test_searches_on_some_rows_keep_their_best_sets(ref):
    path = gpproj.forward_search(ref, 2, search_rows=60, progress=False)
    assert path.best_inputs(2) == ("a", "b")
    own = gpproj.project(ref, ["a", "b"])
    assert path.best(2).loo_divergence == pytest.approx(own.loo_divergence, rel=1e-3)


@pytest.mark.slow
def test_folds_score_the_best_sets_and_the_path(ref):
    path = gpproj.forward_search(ref, 2, progress=False)
    cv = gpproj.validate(ref, path, folds=3, random_state=0, progress=False)
    assert cv.along is not None
    nested = cv.along_path()
    assert nested.along is None
    table, along = cv.summary(), nested.summary()
    np.testing.assert_allclose(table["path_elpd_diff"], along["elpd_diff"])
    assert "path_elpd_diff" not in along
    assert table["elpd"][2] > along["elpd"][2] + 10.0
    assert cv.submodel(2).inputs == ("a", "b")
    assert nested.submodel(2).inputs == path[2].inputs


def test_leave_one_out_scores_the_best_sets_and_the_path(ref):
    path = gpproj.forward_search(ref, 2, progress=False)
    cv = gpproj.validate(
        ref, path, "loo", hyperparameters="held", points=20, random_state=0, progress=False
    )
    assert cv.along is not None
    np.testing.assert_array_equal(cv.along.mean[:2], cv.scores.mean[:2])
    assert not np.allclose(cv.along.mean[3], cv.scores.mean[3])
    assert cv.scores.log_density[3].sum() > cv.along.log_density[3].sum()


def test_linear_models_exchange_too():
    X, y = decoy(200)
    ref = gpproj.sample_linear(X, y, draws=50, random_state=0)
    path = gpproj.forward_search(ref, 3, progress=False)
    assert path.order[0] == "c"
    assert set(path.best_inputs(2)) == {"a", "b"}
    assert path.best_errors[2] < 0.5 * path.errors[2]
    assert np.all(np.diff(path.best_errors) <= 0.0)
    assert set(path.best(2).inputs) == {"a", "b"}
    every = [
        gpproj.project(ref, list(inputs)).projection_error
        for inputs in itertools.combinations("abcde", 2)
    ]
    assert path.best_errors[2] == pytest.approx(min(every))
    greedy = gpproj.forward_search(ref, 3, exchange=False, progress=False)
    np.testing.assert_allclose(greedy.errors, path.errors)
