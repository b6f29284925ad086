"""Stand-ins: what takes the place of an input, at what cost, and what has none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.search.alternatives import INTERCHANGEABLE, MENTIONED, TRIED, known_units
from tests.fitting import fit_mode

GROUPS = {"first": ["a", "noise"], "second": ["twin", "other"]}


def copies(n=40, seed=0):
    """A twin of `a`, a noisy copy of `b`, nothing like `c`, two columns of noise, a constant."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 5)), columns=["a", "b", "c", "noise", "other"])
    y = np.sin(2.0 * X["a"]) + 0.7 * X["b"] + 0.5 * X["c"] ** 2 + 0.1 * rng.standard_normal(n)
    X.insert(3, "twin", X["a"])
    X.insert(4, "near", X["b"] + 0.05 * rng.standard_normal(n))
    X["constant"] = 1.0
    return X, y


@pytest.fixture(scope="module")
def ref():
    with pytest.warns(UserWarning, match="constant in X"):
        return fit_mode(*copies())


@pytest.fixture(scope="module")
def path(ref):
    return gpproj.forward_search(ref, 3, progress=False)


@pytest.fixture(scope="module")
def table(path):
    return path.alternatives(3)


def linear_reference(X, y, family="gaussian"):
    rng = np.random.default_rng(1)
    weights = np.zeros(X.shape[1])
    weights[[X.columns.get_loc("a"), X.columns.get_loc("b")]] = 1.0, 0.7
    draws = weights + 0.1 * rng.standard_normal((20, len(weights)))
    noise = {"noise_variance": np.full(20, 0.05)} if family == "gaussian" else {}
    return gpproj.from_linear_draws(X, y, draws, family=family, **noise)


def own_rows(table, name):
    """The stand-ins of an input, by name."""
    own = table[(table["input"] == name) & (table["stand_in"] != "")]
    return own.set_index("stand_in")


def assert_consistent(table, path, size):
    """What holds of every table, whatever the search."""
    span, known = path.null_error - path.full_error, path.best_errors[size]
    names = path.best_inputs(size)
    assert tuple(table["input"].unique()) == names
    np.testing.assert_allclose(table["cost"], (table["error"] - known) / span, atol=1e-12)
    for name in names:
        own = table[table["input"] == name]
        dropped, *errors = own["error"]
        assert own["stand_in"].tolist()[0] == ""
        assert "" not in own["stand_in"].tolist()[1:]
        assert own["stand_in"].is_unique
        assert not set(own["stand_in"]) & set(names)
        assert errors == sorted(errors)
        assert all(error <= dropped for error in errors)
        share = 1.0 - (own["error"] - known) / (dropped - known)
        if own["replaced"].notna().any():
            np.testing.assert_allclose(own["replaced"], share, atol=1e-9)
            assert (own["replaced"].iloc[2:] > MENTIONED).all()
        enough = (own["replaced"] >= INTERCHANGEABLE) & (own["stand_in"] != "")
        assert own["interchangeable"].tolist() == enough.tolist()


def test_twins_and_noisy_copies_are_interchangeable(path, table):
    assert_consistent(table, path, 3)
    kinds = [{"a", "twin"}, {"b", "near"}, {"c"}]
    chosen = [next(kind for kind in kinds if name in kind) for name in path.best_inputs(3)]
    assert sorted(map(len, chosen)) == [1, 2, 2]
    for name, kind in zip(path.best_inputs(3), chosen, strict=True):
        rows = own_rows(table, name)
        assert set(rows.index[rows["interchangeable"]]) == kind - {name}
        for other in kind - {name}:
            assert rows["replaced"].iloc[0] == rows["replaced"][other]
            assert rows["cost"][other] < 0.02
    first = "a" if "a" in path.best_inputs(3) else "twin"
    twin = own_rows(table, first).iloc[0]
    assert twin["replaced"] == pytest.approx(1.0, abs=1e-3)


def test_an_input_like_no_other_has_no_stand_in_but_the_best_one_is_told(table):
    rows = own_rows(table, "c")
    assert len(rows) >= 1
    assert (rows["replaced"] < 0.3).all()
    assert not rows["interchangeable"].any()
    assert "constant" not in set(table["stand_in"])


def test_stand_ins_are_those_of_brute_force(ref, path, table):
    span = path.null_error - path.full_error
    for name in ("b", "near"):
        if name not in path.best_inputs(3):
            continue
        others = [one for one in path.best_inputs(3) if one != name]
        left = [one for one in ref.feature_names if one not in (*others, name, "constant")]
        found = {one: gpproj.project(ref, [*others, one]).loo_divergence for one in left}
        dropped = gpproj.project(ref, others).loo_divergence
        rows = table[table["input"] == name].set_index("stand_in")
        assert rows["error"][""] == pytest.approx(dropped, abs=1e-3 * span)
        for other in rows.index[1:]:
            best = min(found[other], dropped)
            assert rows["error"][other] == pytest.approx(best, abs=1e-3 * span)
        assert rows.index[1] == min(found, key=found.get)


@pytest.mark.slow
def test_stand_ins_of_real_data_are_those_of_brute_force():
    X, y = gpproj.datasets.diabetes()
    X = X[["bmi", "bp", "s3", "s4", "s5", "s6"]]
    ref = fit_mode(X[:100], y[:100])
    path = gpproj.forward_search(ref, 2, progress=False)
    table = path.alternatives(2, most=3)
    assert_consistent(table, path, 2)
    span = path.null_error - path.full_error
    for name in path.best_inputs(2):
        others = [one for one in path.best_inputs(2) if one != name]
        dropped = gpproj.project(ref, others).loo_divergence
        left = [one for one in X.columns if one not in (*others, name)]
        found = [gpproj.project(ref, [*others, one]).loo_divergence for one in left]
        shown = table[table["input"] == name]["error"].tolist()[1:]
        best = np.minimum(sorted(found)[: len(shown)], dropped)
        np.testing.assert_allclose(shown, best, atol=1e-2 * span)
        assert shown[0] == pytest.approx(best[0], abs=1e-3 * span)


def test_as_many_as_asked_for_of_the_inputs_asked_for(path, table):
    name = path.best_inputs(3)[1]
    few = path.alternatives(3, most=1, inputs=[name])
    assert few["input"].tolist() == [name, name]
    pd.testing.assert_frame_equal(path.alternatives(3, most=1, inputs=name), few)
    whole = table[table["input"] == name]
    assert few["stand_in"].tolist() == whole["stand_in"].tolist()[:2]
    assert path.alternatives(3, inputs=[]).empty


def test_the_number_of_workers_changes_nothing(path):
    pd.testing.assert_frame_equal(
        path.alternatives(2, most=1), path.alternatives(2, most=1, n_jobs=2)
    )


def test_no_inputs_have_none_and_all_inputs_have_nobody_left(path, table):
    nothing = path.alternatives(0)
    assert nothing.empty
    assert list(nothing.columns) == list(table.columns)
    X, y = copies()
    order = ["a", "b", "twin", "constant"]
    with pytest.warns(UserWarning, match="constant in X"):
        ref = fit_mode(X[order], y)
    everything = gpproj.project_path(ref, order).alternatives(4)
    assert everything["input"].tolist() == order
    assert (everything["stand_in"] == "").all()
    # Of two twins that are in, neither adds anything to speak of, nor does a constant.
    costs = everything.set_index("input")["cost"]
    assert (costs[["a", "twin"]] < 0.01).all()
    assert costs["constant"] == 0.0
    assert np.isnan(everything["replaced"][3])


def test_one_input_has_stand_ins_beside_the_null_model(path):
    found = path.alternatives(1, most=2)
    assert_consistent(found, path, 1)
    assert found["error"][0] == pytest.approx(path.null_error)


def test_what_adds_nothing_has_no_stand_ins(ref):
    own = gpproj.project_path(ref, ["constant", "a"])
    found = own.alternatives(2, most=2)
    assert found["input"].tolist() == ["constant", "a", "a", "a"]
    assert found["cost"][0] == 0.0
    assert np.isnan(found["replaced"][0])
    assert not found["interchangeable"][0]
    assert own.alternatives(1)["stand_in"].tolist() == [""]


def test_groups_stand_in_for_groups_and_costs_change_nothing(ref, tmp_path):
    options = {"groups": GROUPS, "always": ["c"], "progress": False}
    path = gpproj.forward_search(ref, 2, costs={"second": 1.0, "near": 3.0}, **options)
    found = path.alternatives(2, most=2)
    assert_consistent(found, path, 2)
    (group,) = set(path.best_inputs(2)) & set(GROUPS)
    rows = own_rows(found, group)
    (other,) = set(GROUPS) - {group}
    assert rows.index[0] == other
    assert rows["interchangeable"].iloc[0]
    assert not set(found["stand_in"]) & {"a", "twin", "noise", "other", "c", "constant"}
    path.save(tmp_path / "path")
    loaded = gpproj.load(tmp_path / "path").alternatives(2, most=2)
    pd.testing.assert_frame_equal(loaded, found)
    # What went on from another path has the groups of both, and best sets units of their own.
    longer = gpproj.forward_search(
        ref, 2, extend=gpproj.forward_search(ref, 1, **options), **options
    )
    assert {unit.name for unit in known_units(longer)} == {*GROUPS, "b", "near", "constant"}


@pytest.mark.slow
def test_paths_of_every_kind_have_them(ref, path):
    order = path.best_inputs(2)
    few = fit_mode(*(part[:40] for part in (copies()[0][["a", "b", "twin"]], copies()[1])))
    backward = gpproj.backward_search(few, min_inputs=1, progress=False)
    some_rows = gpproj.forward_search(ref, 2, search_rows=30, progress=False)
    own = gpproj.project_path(ref, order)
    for found, size in (
        (backward, 1),
        (some_rows, 2),
        (own, 2),
        (own.reproject(ref), 2),
        (path.with_clusters(1), 2),
    ):
        assert_consistent(found.alternatives(size, most=1), found, size)
    assert own.reproject(ref).recipe is None


@pytest.mark.parametrize("learn", ["projection", "marginal_likelihood"])
def test_other_ways_to_learn_have_them_too(ref, learn):
    path = gpproj.project_path(ref, ["a", "b"], learn)
    found = path.alternatives(2, most=2)
    assert_consistent(found, path, 2)
    assert own_rows(found, "a")["replaced"]["twin"] == pytest.approx(1.0, abs=1e-2)
    assert own_rows(found, "b")["interchangeable"]["near"]


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_linear_references(family):
    X, y = copies()
    X = X.drop(columns="constant")
    y = (y > 0).astype(int) if family == "binomial" else y
    ref = linear_reference(X, y, family)
    path = gpproj.forward_search(ref, 2, progress=False)
    found = path.alternatives(2, most=8)
    assert_consistent(found, path, 2)
    names = path.best_inputs(2)
    for name in names:
        rows = own_rows(found, name)
        others = [one for one in names if one != name]
        for stand_in, row in rows.iterrows():
            exact = gpproj.project(ref, [*others, stand_in]).projection_error
            assert row["error"] == pytest.approx(exact, abs=1e-6)
        twin = {"a": "twin", "twin": "a", "b": "near", "near": "b"}[name]
        assert rows.index[0] == twin
        assert rows["interchangeable"][twin]


def test_of_many_inputs_those_start_that_are_alike_or_promise_much():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, TRIED + 15))
    X[:, -1] = np.exp(X[:, 0] + 0.05 * X[:, -1])  # the same ranks, on another scale
    ref = fit_mode(X, np.sin(2.0 * X[:, 0]) + X[:, 1])
    path = gpproj.project_path(ref, [0, 1])
    found = path.alternatives(2, most=1)
    assert_consistent(found, path, 2)
    assert own_rows(found, "x0").index[0] == f"x{TRIED + 14}"


def test_few_rows_decide_first_where_there_are_many():
    X, y = copies(260)
    ref = fit_mode(X[["a", "twin", "noise"]], y - 0.5 * X["c"] ** 2)
    path = gpproj.project_path(ref, ["a"])
    found = path.alternatives(1, most=1)
    assert_consistent(found, path, 1)
    rows = own_rows(found, "a")
    assert rows["replaced"]["twin"] == pytest.approx(1.0, abs=1e-3)
    assert rows["interchangeable"]["twin"]


def test_bad_arguments_are_named(path):
    with pytest.raises(IndexError, match="size must be from 0 to 3, got 4"):
        path.alternatives(4)
    with pytest.raises(TypeError, match="size must be a whole number"):
        path.alternatives("3")
    with pytest.raises(ValueError, match="most must be at least 1, got 0"):
        path.alternatives(2, most=0)
    with pytest.raises(TypeError, match="most must be a whole number"):
        path.alternatives(2, most=1.5)
    with pytest.raises(ValueError, match=r"inputs must be among those .*; got 'noise'"):
        path.alternatives(3, inputs=["noise"])
