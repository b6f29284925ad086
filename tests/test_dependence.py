"""`effects`: the posterior of an average against its definition, grids, units, mixtures."""

from __future__ import annotations

from dataclasses import replace

import array_api_strict
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm

import gpproj
from gpproj.dependence import joint_effect
from gpproj.dependence.pairs import QUANTILES
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
    monkeypatch.setattr("gpproj.dependence.averages.ROWS", 7)
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


# Classes and counts


@pytest.fixture(scope="module", params=["probit", "logit", "poisson", "negative-binomial"])
def linked(request, data):
    X, y = data
    if request.param in ("probit", "logit"):
        targets = np.where(y > y.median(), "yes", "no")
    else:
        targets = np.random.default_rng(0).poisson(np.exp(y - 2.0))
    return gpproj.condition(X, targets, SquaredExponential(1.5, [1.0, 0.7, 2.0]), request.param)


def test_responses_are_averages_of_predicted_responses(data, linked):
    X = data[0].iloc[:9]
    table = gpproj.effects(linked, X, ["b"], points=4, scale="response")
    for x, mean in zip(table["x"], table["mean"], strict=True):
        assert mean == pytest.approx(linked.predict_response(X.assign(b=x)).mean.mean())
    assert (table["lower"] < table["mean"]).all()
    assert (table["mean"] < table["upper"]).all()
    assert table["lower"].min() >= 0.0
    if linked.classes is not None:
        assert table["upper"].max() <= 1.0


def test_the_band_of_responses_holds_the_averages_of_joint_draws(data):
    X, y = data
    rows = X.iloc[:6]
    ref = gpproj.condition(X, (y > y.median()).astype(int), KERNEL, "probit")
    (row,) = gpproj.effects(ref, rows.assign(b=0.3), ["b"], scale="response").itertuples()
    ((_, predictor, _),) = ref._components()
    new, theta = ref._read(rows.assign(b=0.3)), predictor.log_parameters[None, :]
    cross = predictor.kernel.cross(theta, predictor.X, new, predictor.mask[None, :])[0]
    prior = predictor.kernel.cross(theta, new, new, predictor.mask[None, :])[0]
    part = predictor.root @ cross
    joint = prior - part.T @ part + predictor.extra * np.eye(6)
    drawn = np.random.default_rng(0).multivariate_normal(
        predictor.coefficients @ cross, joint, 20000
    )
    averages = norm.cdf(drawn + ref._offset(None, 6)).mean(axis=1)
    assert row.mean == pytest.approx(averages.mean(), abs=0.005)
    inside = np.mean((averages > row.lower) & (averages < row.upper))
    assert inside == pytest.approx(0.95, abs=0.04)  # to first order


def test_real_targets_have_one_scale(data, sub):
    one, two = (gpproj.effects(sub, data[0], points=3, scale=name) for name in SCALES)
    pd.testing.assert_frame_equal(one, two)
    with pytest.raises(ValueError, match='scale must be "latent" or "response", got \'odds\''):
        gpproj.effects(sub, data[0], scale="odds")


SCALES = ("latent", "response")


def test_linear_models_have_the_average_of_every_draw(data):
    X, y = data
    weights = np.random.default_rng(1).normal([1.0, -0.5, 0.2], 0.3, (200, 3))
    ref = gpproj.from_linear_draws(X, (y > y.median()).astype(int), weights, family="binomial")
    rows = X.iloc[:7]
    for scale, link in (("latent", lambda f: f), ("response", expit)):
        table = gpproj.effects(ref, rows, ["a"], points=3, scale=scale)
        for x, mean, upper in zip(table["x"], table["mean"], table["upper"], strict=True):
            latent = ref.weights @ rows.assign(a=x).to_numpy().T + ref.intercept[:, None]
            drawn = link(latent).mean(axis=1)
            assert mean == pytest.approx(drawn.mean())
            if scale == "latent":
                assert upper == pytest.approx(mean + 1.959963984540054 * drawn.std())


# Categorical columns


GROUPS = {"colour": ["colour=blue", "colour=green", "colour=red"], "sex": ["sex=m"]}


@pytest.fixture(scope="module")
def coded():
    rng = np.random.default_rng(3)
    colour, sex = rng.choice(["blue", "green", "red"], 30), rng.choice(["f", "m"], 30)
    X = pd.DataFrame({f"colour={one}": (colour == one).astype(float) for one in np.unique(colour)})
    X = X.assign(**{"sex=m": (sex == "m").astype(float), "size": rng.standard_normal(30)})
    y = 2.0 * (colour == "red") - (colour == "blue") + (sex == "m") + X["size"]
    ref = gpproj.condition(
        X, y + 0.1 * rng.standard_normal(30), Linear(4.0), Gaussian(0.05), standardize=True
    )
    return X, ref


def test_levels_of_a_column_move_together(coded):
    X, ref = coded
    table = gpproj.effects(ref, X, points=3, groups=GROUPS)
    assert table["input"].tolist() == ["colour"] * 3 + ["sex"] * 2 + ["size"] * 3
    assert table["x"].tolist()[:5] == ["blue", "green", "red", "not m", "m"]
    for level, mean in zip(("blue", "green", "red"), table["mean"], strict=False):
        all_of_it = {f"colour={one}": float(one == level) for one in ("blue", "green", "red")}
        assert mean == pytest.approx(ref.predict(X.assign(**all_of_it)).mean.mean())
    assert table["mean"][4] - table["mean"][3] == pytest.approx(1.0, abs=0.2)


def test_columns_can_be_named_and_groups_of_other_inputs_are_no_columns(coded):
    X, ref = coded
    named = gpproj.effects(ref, X, ["size", "colour"], points=2, groups=GROUPS)
    assert list(dict.fromkeys(named["input"])) == ["size", "colour"]
    by_level = gpproj.effects(ref, X, ["colour=red"], groups=GROUPS)
    assert by_level["input"].tolist() == ["colour"] * 3
    mixed = gpproj.effects(ref, X, points=2, groups={"both": ["size", "sex=m"]})
    assert list(dict.fromkeys(mixed["input"])) == list(X.columns)
    part = gpproj.project(ref, ["colour=red", "size"])
    found = gpproj.effects(part, X, points=2, groups=GROUPS)
    assert list(dict.fromkeys(found["input"])) == ["colour=red", "size"]
    with pytest.raises(ValueError, match="saw the name 'colour'"):
        gpproj.effects(ref, X, ["colour"])


# Interactions


@pytest.fixture(scope="module")
def product():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1.0, 1.0, (40, 3)), columns=["a", "b", "c"])
    y = 3.0 * X["a"] * X["b"] + X["c"]
    ref = gpproj.condition(X, y, SquaredExponential(4.0, [1.0, 1.0, 2.0]), Gaussian(1e-3))
    return X, ref


def test_interactions_are_those_of_the_definition(product):
    X, ref = product
    X = X.iloc[:12]
    table = gpproj.interactions(ref, X).set_index(["input", "other"])

    def dependence(*names):
        moved = [ref.predict(X.assign(**X.iloc[i][list(names)])).mean.mean() for i in range(12)]
        return np.array(moved) - np.mean(moved)

    whole = ref.predict(X).mean
    for (one, two), row in table.iterrows():
        joint = dependence(one, two)
        apart = np.sum((joint - dependence(one) - dependence(two)) ** 2)
        assert row["share"] == pytest.approx(apart / np.sum((whole - whole.mean()) ** 2))
        assert row["h"] == pytest.approx(np.sqrt(apart / np.sum(joint**2)))
    assert table.index[0] == ("a", "b")
    assert table["share"].iloc[0] > 0.3
    assert table["share"].iloc[1:].max() < 0.02


def test_sums_have_no_interactions(coded):
    X, ref = coded
    table = gpproj.interactions(ref, X.iloc[:8], groups=GROUPS)
    assert set(map(tuple, table[["input", "other"]].to_numpy())) == {
        ("colour", "sex"),
        ("colour", "size"),
        ("sex", "size"),
    }
    assert table["share"].max() < 1e-12
    weights = np.ones((5, 2))
    linear = gpproj.from_linear_draws(X[["sex=m", "size"]], X["size"], weights, 0.1)
    assert gpproj.interactions(linear, X)["share"].tolist() == [0.0]
    assert len(gpproj.interactions(gpproj.project(ref, ["size"]), X)) == 0


def test_a_joint_effect_is_the_average_with_both_moved(product):
    X, ref = product
    table = joint_effect(ref, X, ("a", "b"), points=4)
    assert len(table) == 12
    assert (
        table["at"].unique().tolist() == np.quantile(X["b"], QUANTILES, method="nearest").tolist()
    )
    for row in table.itertuples():
        moved = X.assign(**{row.input: row.x, row.other: row.at})
        assert row.mean == pytest.approx(ref.predict(moved).mean.mean())


def test_lines_of_a_joint_effect_are_the_levels_of_a_column(coded):
    X, ref = coded
    table = joint_effect(ref, X, ("colour", "size"), points=3, groups=GROUPS)
    assert set(table["input"]) == {"size"}
    assert table["at"].unique().tolist() == ["blue", "green", "red"]
    with pytest.raises(ValueError, match="pair must be two inputs"):
        joint_effect(ref, X, ("size",))


def test_columns_of_a_frame_with_text_are_known_without_groups():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "colour": rng.choice(["blue", "green", "red"], 40),
            "sex": rng.choice(["f", "m"], 40),
            "age": np.where(np.arange(40) % 5, rng.standard_normal(40).round(1), np.nan),
        }
    )
    y = (X["colour"] == "red") + 2.0 * (X["sex"] == "m") + X["age"].fillna(3.0)
    ref = gpproj.fit(X, y, missing="indicate", draws=1)
    table = gpproj.effects(ref, X, points=3)
    assert list(dict.fromkeys(table["input"])) == ["colour", "sex", "age"]
    assert table.loc[table["input"] == "sex", "x"].tolist() == ["f", "m"]
    assert gpproj.effects(ref, X, "age", points=3)["input"].tolist() == ["age"] * 3
    means = table[table["input"] == "sex"].set_index("x")["mean"]
    assert means["m"] == pytest.approx(ref.predict(X.assign(sex="m")).mean.mean())
    known = X.assign(age=0.5)  # which is not missing then
    one = gpproj.effects(ref, known, ["age"])
    assert one["mean"].item() == pytest.approx(ref.predict(known).mean.mean())
    assert len(gpproj.interactions(ref, X.iloc[:6])) == 3


def test_effects_on_a_transformed_target_are_in_its_units():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 2))
    y = np.exp(X[:, 0] + 0.2 * rng.standard_normal(60))
    ref = gpproj.fit(X, y, transform="log", draws=1, check=False)
    table = gpproj.effects(ref, X, ["x0"], points=5, scale="response")
    moved = X.copy()
    for x, mean in zip(table["x"], table["mean"], strict=True):
        moved[:, 0] = x
        assert mean == pytest.approx(ref.predict_response(moved).mean.mean(), rel=1e-6)
    assert (table["lower"] < table["mean"]).all()
