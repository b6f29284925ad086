"""Columns of text and missing cells, from the frame to the answer: a column is one of its own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import gpproj
from gpproj.search.units import units_of
from gpproj.store import StoreError
from tests.fitting import fit_mode


def make_data(n=60):
    rng = np.random.default_rng(1)
    town = rng.choice(["north", "south", "west"], n)
    X = pd.DataFrame(
        {
            "town": town,
            "area": rng.standard_normal(n),
            "door": rng.standard_normal(n),
            "sold": rng.choice([True, False], n),
        }
    )
    y = 1.5 * (town == "south") + 1.5 * np.tanh(X["area"]) + 0.4 * rng.standard_normal(n)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def ref(data):
    return fit_mode(*data)


@pytest.fixture(scope="module")
def path(ref):
    return gpproj.forward_search(ref, 3, progress=False)


@pytest.fixture(scope="module")
def cv(ref, path):
    return gpproj.validate(ref, path, folds=3, random_state=0, progress=False)


def test_a_column_is_one_unit(path):
    assert set(path.order[:2]) == {"town", "area"}
    town = next(unit for unit in path.units if unit.name == "town")
    assert (town.positions, town.cost) == ((0, 1, 2), 1.0)
    assert path[2].column_names == path.order[:2]
    assert "town=south" in path[2].inputs
    assert repr(path[2]).startswith(f"GaussianProcessSubmodel({', '.join(path.order[:2])};")
    assert path.summary()["input"].tolist() == ["", *path.order]
    assert "inputs=4" in repr(path.reference)


def test_submodels_read_the_columns_they_need_from_raw_frames(data, path):
    X, _ = data
    sub, known = path[2], path[2].predict(X).mean
    names = list(reversed(sub.column_names))
    assert_array_equal(sub.predict(X[names]).mean, known)
    assert_array_equal(sub.predict(pl.DataFrame(X[names].to_dict("list"))).mean, known)
    with pytest.raises(ValueError, match="X: column 'town' has 'east' in row 1, which the model"):
        sub.predict(X.assign(town=["north", "east"] * 30))
    assert len(path[0].predict(X[["door"]]).mean) == len(X)


def test_polars_frames_give_the_same_models(data, ref):
    X, y = data
    other = fit_mode(pl.DataFrame(X.to_dict("list")), pl.Series(y))
    assert_array_equal(other.latent_mean, ref.latent_mean)


def test_answers_count_and_name_columns(cv):
    sentence, names = cv.verdict()
    assert sentence == "3 of 4 inputs predict as well as all"
    assert {"town", "area"} < set(names) < {"town", "area", "door", "sold"}
    assert cv.trade_off().startswith("2 inputs keep")
    assert list(cv.ranking_proportions().columns)[:2] == list(cv.path.order[:2])
    assert not any("=" in text for text in cv.summary()["best_inputs"])
    assert "=" not in cv.answer()


def test_stand_ins_and_single_losses_are_columns(ref, path):
    table = path.alternatives(2, 1)
    assert set(table["input"]) == {"town", "area"}
    assert not table["stand_in"].str.contains("=").any()
    lost = gpproj.leave_input_out(ref)
    assert list(lost.index) == ["town", "area", "door", "sold"]
    assert lost.nlargest(2).index.sort_values().tolist() == ["area", "town"]
    assert lost["town"] > 5 * lost["door"]


def test_orders_name_columns(ref):
    assert gpproj.project_path(ref, ["area", "town"]).order == ("area", "town")
    order = gpproj.project_path(ref, "ard", max_inputs=2).order
    assert set(order) <= {"town", "area", "door", "sold"}
    single = gpproj.project_path(ref, ["town=south", 3])
    assert single.order == ("town=south", "area")
    with pytest.raises(ValueError, match="not repeat; saw 'town=south'"):
        gpproj.project_path(ref, ["town", "town=south"])
    assert gpproj.project(ref, "town").inputs == ("town=north", "town=south", "town=west")


def test_users_may_group_columns_and_part_levels(ref):
    _, units = units_of(ref, {"both": ["town", "door"]})
    assert [unit.name for unit in units] == ["both", "area", "sold"]
    assert (units[0].positions, units[0].cost) == ((0, 1, 2, 4), 2.0)
    _, units = units_of(ref, {"south": "town=south"}, costs={"south": 3.0})
    names = ["town=north", "south", "town=west", "area", "door", "sold"]
    assert [unit.name for unit in units] == names
    forced, units = units_of(ref, always="town", costs={"area": 2.0})
    assert forced == (0, 1, 2)
    assert units[0].cost == 2.0
    _, units = units_of(ref, costs={"town": 5.0})
    assert units[0].cost == 5.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"always": ["town=south"]}, "always: it holds only a part of the group 'town'"),
        ({"costs": {"town=south": 2.0}}, "'town=south' does not enter by itself.*of 'town'"),
        ({"costs": {"street": 2.0}}, "costs must name inputs or groups; saw 'street'"),
        ({"groups": {"town": ["area", "door"]}}, "'town' is also the name of an input outside"),
        ({"always": "towns"}, "saw the name 'towns'"),
    ],
)
def test_what_does_not_fit_columns_is_refused(ref, settings, message):
    with pytest.raises(ValueError, match=message):
        units_of(ref, **settings)


def test_everything_comes_back_with_its_encoding(data, path, cv, tmp_path):
    X, _ = data
    path[2].save(tmp_path / "sub")
    cv.save(tmp_path / "cv")
    sub, again = gpproj.load(tmp_path / "sub"), gpproj.load(tmp_path / "cv")
    assert_array_equal(sub.predict(X).mean, path[2].predict(X).mean)
    assert sub.column_names == path[2].column_names
    assert again.reference.training.encoding == path.reference.training.encoding
    assert again.answer() == cv.answer()
    assert_array_equal(again.reference.predict(X).mean, path.reference.predict(X).mean)


def test_a_saved_encoding_that_makes_no_sense_is_refused(path, tmp_path):
    path[1].save(tmp_path / "sub")
    from gpproj import store

    file = tmp_path / "sub" / "submodel.npz"
    content, arrays = store.read(file, "submodel")
    columns = content["GaussianProcessSubmodel"]["data_columns"]["Columns"]
    columns["encoding"] = {"Encoding": {"column": [], "missing": "error"}}
    store.write(file, "submodel", content, arrays)
    with pytest.raises(StoreError):
        gpproj.load(tmp_path / "sub")


def test_refits_learn_of_raw_frames_and_keep_to_the_encoding_of_their_own_rows(data, ref):
    X, y = data
    fewer = ref.refit(X[X["town"] != "west"], y[X["town"] != "west"])
    assert fewer.feature_names == ("town=south", "area", "door", "sold")
    rows = pd.DataFrame(ref.training.X * ref.training.scaling.input_scale)
    rows = (rows + np.asarray(ref.training.scaling.input_mean)).round(12)
    own = ref.refit(rows.set_axis(list(ref.feature_names), axis=1), y)
    assert own.training.encoding == ref.training.encoding


@pytest.mark.parametrize("missing", ["drop", "impute", "indicate"])
def test_missing_cells_go_through_search_and_folds(missing):
    X, y = make_data(60)
    X = X.astype({"town": object})
    X.loc[[3, 9, 20], "town"] = None
    X.loc[[3, 30, 31], "area"] = np.nan
    ref = fit_mode(X, y, missing=missing)
    path = gpproj.forward_search(ref, 2, strategy="race", exchange=False, progress=False)
    assert set(path.order) == {"town", "area"}
    labels = [row // 4 for row in range(60)]
    grouped = ref.with_row_groups(labels)
    assert grouped.training.row_groups.size == ref.training.n
    cv = gpproj.validate(ref, path, folds=2, row_groups=labels, progress=False, random_state=0)
    assert cv.verdict()[1] in (("town", "area"), ("area", "town"), ())
    if missing == "drop":
        assert ref.training.n == 55
        with pytest.raises(ValueError, match=r"has 1 missing cells, .* leave out"):
            path[2].predict(X.iloc[2:5])
    else:
        assert np.isfinite(path[2].predict(X.iloc[2:5]).mean).all()
    if missing == "indicate":
        assert "area is missing" in path[2].inputs


def test_conditioned_references_take_frames(data):
    X, y = data
    kernel = gpproj.kernels.SquaredExponential(1.0, [1.0] * 6)
    ref = gpproj.condition(X, y, kernel, gpproj.likelihoods.Gaussian(0.1), standardize=True)
    assert ref.column_names == ("town", "area", "door", "sold")
    linear = gpproj.sample_linear(X, y, 50, random_state=0)
    path = gpproj.forward_search(linear, 2, progress=False)
    assert set(path.order) == {"town", "area"}
    assert np.isfinite(path[2].predict(X[list(path.order)]).mean).all()
    effects = gpproj.effects(path[2], X, "town")
    assert set(effects["input"]) == {"town"}
