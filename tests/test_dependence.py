"""`effects`: the posterior of an average against its definition, grids, units, mixtures."""

from __future__ import annotations

from dataclasses import replace

import array_api_strict
import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import Constant, Linear, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.reference.draws import Draws

NUGGET, NOISE = 0.01, 0.1
KERNEL = Constant(2.0) + SquaredExponential(1.5, [1.0, 0.7, 2.0]) + Linear(0.3)


def make_data(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "c"])
    y = 3.0 + np.sin(2 * X["a"]) + 0.5 * X["b"] + 0.3 * X["c"] ** 2
    return X, y + 0.2 * rng.standard_normal(n)


def make_reference(X, y, kernel=KERNEL, noise=NOISE, **options):
    return gpproj.condition(X, y, kernel, Gaussian(noise), nugget=NUGGET, **options)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def ref(data):
    return make_reference(*data)


@pytest.fixture(scope="module")
def sub(data):
    return gpproj.project(make_reference(*data, standardize=True), ["c", "a"])


def sd_of(table):
    np.testing.assert_allclose(table["upper"] - table["mean"], table["mean"] - table["lower"])
    return (table["upper"] - table["mean"]).to_numpy() / 1.959963984540054


def test_the_band_is_that_of_the_average_of_the_joint_posterior(data, ref):
    X, y = data[0].to_numpy(), data[1].to_numpy()
    rows = X[:7]
    table = gpproj.effects(ref, data[0].iloc[:7], ["b"], points=4)
    A = KERNEL(X) + NOISE * (1.0 + NUGGET) * np.eye(len(X))
    np.testing.assert_allclose(table["x"], np.unique(rows[:, 1]))
    for x, mean, sd in zip(table["x"], table["mean"], sd_of(table), strict=True):
        moved = rows.copy()
        moved[:, 1] = x
        cross = KERNEL(X, moved)
        joint = KERNEL(moved) + NUGGET * NOISE * np.eye(7) - cross.T @ np.linalg.solve(A, cross)
        assert mean == pytest.approx(np.mean(cross.T @ np.linalg.solve(A, y)))
        assert sd == pytest.approx(np.sqrt(joint.mean()))


@pytest.mark.parametrize("which", ["reference", "submodel"])
def test_a_single_row_is_a_prediction(data, ref, sub, which):
    model = ref if which == "reference" else sub
    row = data[0].iloc[[3]]
    table = gpproj.effects(model, row, ["a"])
    expected = model.predict(row)
    assert table["x"].tolist() == pytest.approx(row["a"].tolist())
    np.testing.assert_allclose(table["mean"], expected.mean)
    np.testing.assert_allclose(sd_of(table), np.sqrt(expected.variance))


@pytest.mark.parametrize("which", ["reference", "submodel"])
def test_means_are_averages_of_predictions(data, ref, sub, which):
    model = ref if which == "reference" else sub
    table = gpproj.effects(model, data[0], points=5)
    names = model.feature_names if which == "reference" else model.inputs
    assert list(dict.fromkeys(table["input"])) == list(names)
    for name, x, mean in zip(table["input"], table["x"], table["mean"], strict=True):
        found = model.predict(data[0].assign(**{name: x})).mean
        assert mean == pytest.approx(found.mean())


def test_the_average_is_known_better_than_single_predictions(data, sub):
    table = gpproj.effects(sub, data[0], ["a"], points=5)
    for x, sd in zip(table["x"], sd_of(table), strict=True):
        variance = sub.predict(data[0].assign(a=x)).variance
        assert sd <= np.sqrt(variance.mean())


def test_draws_are_mixed_by_the_law_of_total_variance(data):
    X, y = data
    kernels = [KERNEL, Constant(0.5) + SquaredExponential(3.0, [2.0, 0.5, 1.0]) + Linear(0.1)]
    single = [make_reference(X, y, kernels[0]), make_reference(X, y, kernels[1], noise=0.02)]
    weights = np.array([0.3, 0.7])
    parameters = np.vstack([one.draws.parameters for one in single])
    mixture = replace(single[0], draws=Draws(parameters, weights))
    tables = [gpproj.effects(one, X, ["a"], points=4) for one in single]
    means = np.array([table["mean"] for table in tables])
    variances = np.array([sd_of(table) for table in tables]) ** 2
    found = gpproj.effects(mixture, X, ["a"], points=4)
    mean = weights @ means
    np.testing.assert_allclose(found["mean"], mean)
    expected = weights @ (variances + (means - mean) ** 2)
    np.testing.assert_allclose(sd_of(found), np.sqrt(expected))


def test_units_only_scale_the_table(data):
    X, y = data
    kernel = SquaredExponential(1.0, [1.0, 2.0, 3.0])
    plain = make_reference(X, y, kernel.scaled(np.var(y)), standardize=True)
    factors = {"a": 100.0, "b": 0.01, "c": 3.0}
    X_new, y_new = X * pd.Series(factors) + 7.0, 5.0 * y - 2.0
    other = make_reference(X_new, y_new, kernel.scaled(np.var(y_new)), 25 * NOISE, standardize=True)
    one, two = gpproj.effects(plain, X, points=4), gpproj.effects(other, X_new, points=4)
    assert two["input"].tolist() == one["input"].tolist()
    np.testing.assert_allclose(two["x"], one["x"] * one["input"].map(factors) + 7.0)
    for column in ("mean", "lower", "upper"):
        np.testing.assert_allclose(two[column], 5.0 * one[column] - 2.0, rtol=1e-9)


def test_grids_span_the_rows_or_take_their_few_values(ref, data):
    X = data[0].assign(b=np.arange(25) % 3)
    table = gpproj.effects(ref, X, ["b", "c"], points=6)
    own = table.groupby("input", sort=False)["x"].agg(list)
    np.testing.assert_allclose(own["b"], [0.0, 1.0, 2.0])
    np.testing.assert_allclose(own["c"], np.linspace(X["c"].min(), X["c"].max(), 6))


def test_a_linear_effect_has_its_slope():
    X = np.random.default_rng(1).standard_normal((40, 2))
    ref = gpproj.condition(X, X @ [2.0, -1.0], Linear(100.0), Gaussian(1e-4))
    for name, slope in [("x0", 2.0), ("x1", -1.0)]:
        table = gpproj.effects(ref, X, [name], points=3)
        np.testing.assert_allclose(np.diff(table["mean"]) / np.diff(table["x"]), slope, rtol=1e-3)


def test_arrays_positions_and_other_libraries(data, sub):
    X, y = data
    strict = make_reference(array_api_strict.asarray(X.to_numpy()), array_api_strict.asarray(y))
    expected = gpproj.effects(make_reference(X, y), X, ["b"], points=3)
    found = gpproj.effects(strict, array_api_strict.asarray(X.to_numpy()), [1], points=3)
    assert set(found["input"]) == {"x1"}
    pd.testing.assert_frame_equal(found.drop(columns="input"), expected.drop(columns="input"))
    own = X[["c", "a"]].to_numpy()  # a submodel's own columns, in its order
    pd.testing.assert_frame_equal(gpproj.effects(sub, own), gpproj.effects(sub, X))


def test_blocks_of_rows_change_nothing(data, ref, monkeypatch):
    expected = gpproj.effects(ref, data[0], ["a"], points=3)
    monkeypatch.setattr("gpproj.dependence.ROWS", 7)
    pd.testing.assert_frame_equal(gpproj.effects(ref, data[0], ["a"], points=3), expected)


def test_the_null_model_has_no_effects(data, ref):
    table = gpproj.effects(gpproj.project(ref, []), data[0])
    assert list(table.columns) == ["input", "x", "mean", "lower", "upper"]
    assert len(table) == 0


def test_bad_arguments_are_named(data, sub):
    X = data[0]
    with pytest.raises(ValueError, match="inputs must be among 'c', 'a'; saw 'b'"):
        gpproj.effects(sub, X, ["a", "b"])
    with pytest.raises(TypeError, match="inputs must be a list of names"):
        gpproj.effects(sub, X, 1)
    with pytest.raises(ValueError, match="points must be a whole number of at least 2, got 1"):
        gpproj.effects(sub, X, points=1)
