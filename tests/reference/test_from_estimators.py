"""References of estimators of any kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import (
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
)
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import gpproj
from gpproj.reference.adapters.estimator_folds import fold_of_rows, rows_together


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((80, 4)), columns=list("abcd"))
    return X, (2.0 * X["a"] - X["b"]).to_numpy() + 0.5 * rng.standard_normal(80)


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.standard_normal((80, 4)), columns=list("abcd"))
    return X, np.where(2.0 * X["a"] + 0.5 * rng.standard_normal(80) > 0.5, "yes", "no")


def memory(X, y):
    """A model that knows its training rows by heart, and nothing else."""
    known = {tuple(row): target for row, target in zip(np.asarray(X), y, strict=True)}
    return lambda new: np.array([known.get(tuple(row), 0.0) for row in np.asarray(new)])


def test_every_row_is_predicted_by_a_model_of_the_other_folds(numbers):
    X, y = numbers
    ref = gpproj.from_estimator(LinearRegression(), X, y, folds=80)
    expected = cross_val_predict(LinearRegression(), X, y, cv=80)
    np.testing.assert_allclose(ref.loo().mean, expected, rtol=1e-9)
    np.testing.assert_allclose(ref.loo().variance, np.mean((y - expected) ** 2), rtol=1e-9)
    new = X + 0.1
    fitted = LinearRegression().fit(X, y)
    np.testing.assert_allclose(ref.predict_response(new).mean, fitted.predict(new), rtol=1e-9)


def test_what_was_memorised_does_not_count(numbers):
    """A callable sees no row that it predicts, nor one that is equal to it."""
    X, y = numbers
    twice = pd.concat([X, X], ignore_index=True)
    ref = gpproj.from_estimator(memory, twice, np.tile(y, 2))
    np.testing.assert_array_equal(np.round(ref.loo().mean, 12), 0.0)


def test_groups_stay_together_with_equal_rows():
    X = np.arange(12.0)[:, None] % 10.0  # rows 0 and 10, 1 and 11 are equal
    groups = np.arange(12) // 3
    label = rows_together(X, groups)
    assert len(set(label[groups == 0])) == 1
    assert label[10] == label[0] == label[11]
    assert len(set(label)) == 3
    np.testing.assert_array_equal(rows_together(np.arange(4.0)[:, None], None), np.arange(4))


def test_folds_are_even_and_have_their_share_of_each_class():
    rng = np.random.default_rng(0)
    strata = (rng.uniform(size=200) < 0.1).astype(float)
    fold = fold_of_rows(np.arange(200), strata, 5, seed=3)
    assert np.bincount(fold).tolist() == [40] * 5
    held = np.bincount(fold, strata)
    assert held.max() - held.min() <= 1.0
    assert not np.array_equal(fold, fold_of_rows(np.arange(200), strata, 5, seed=4))
    sizes = np.bincount(fold_of_rows(np.repeat(np.arange(20), np.arange(1, 21)), None, 4, 0))
    assert sizes.max() <= 1.4 * sizes.min()


@pytest.mark.parametrize("as_kind", ["list", "polars", "array"])
def test_lists_and_frames_are_one(numbers, as_kind):
    X, y = numbers
    expected = gpproj.from_estimator(LinearRegression(), X, y).loo()
    if as_kind == "polars":
        polars = pytest.importorskip("polars")
        found = gpproj.from_estimator(LinearRegression(), polars.from_pandas(X), polars.Series(y))
    elif as_kind == "list":
        found = gpproj.from_estimator(LinearRegression(), X.to_numpy().tolist(), y.tolist())
    else:
        found = gpproj.from_estimator(LinearRegression(), X.to_numpy(), y[:, None])
    np.testing.assert_allclose(found.loo().mean, expected.mean)
    np.testing.assert_allclose(found.loo().log_density, expected.log_density)


def test_a_frame_whose_index_is_its_own(numbers):
    X, y = numbers
    labelled = X.set_index(np.arange(80)[::-1] * 7)
    found = gpproj.from_estimator(LinearRegression(), labelled, pd.Series(y, labelled.index))
    expected = gpproj.from_estimator(LinearRegression(), X, y)
    np.testing.assert_allclose(found.loo().mean, expected.loo().mean)


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), KNeighborsRegressor(5)),
        make_pipeline(
            StandardScaler(),
            MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=2000, alpha=1.0),
        ),
        HistGradientBoostingRegressor(max_iter=20),
    ],
    ids=["pipeline", "network", "boosting"],
)
def test_regressors_of_all_kinds(numbers, estimator):
    X, y = numbers
    ref = gpproj.from_estimator(estimator, X, y)
    check = ref.check()
    assert check.log_density["reference"] > check.log_density["null"] + 0.2
    assert ref.predict_response(X.iloc[:3]).mean.shape == (3,)
    # The estimator that was given stays as it was.
    assert not hasattr(estimator, "n_features_in_")


def test_deviations_that_a_model_tells_are_taken(numbers):
    X, y = numbers
    for one in (BayesianRidge(), make_pipeline(StandardScaler(), BayesianRidge())):
        ref = gpproj.from_estimator(one, X, y)
        assert np.ptp(ref.loo().variance) > 0.0
        mean, sd = one.fit(X, y).predict(X + 0.1, return_std=True)
        found = ref.predict_response(X + 0.1)
        np.testing.assert_allclose(found.mean, mean)
        np.testing.assert_allclose(found.variance, sd**2)


def test_a_process_without_noise_of_its_own_is_found_out():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.3 * rng.standard_normal(60)
    ref = gpproj.from_estimator(GaussianProcessRegressor(alpha=0.09, optimizer=None), X, y)
    problems = " ".join(ref.check().problems)
    assert "too sure of itself" in problems
    assert "quantiles" in problems
    assert "gpproj.sample" not in problems


def test_quantile_regressors_tell_where_rows_are_uncertain():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (300, 2))
    y = X[:, 0] + np.where(X[:, 1] > 0.0, 1.0, 0.1) * rng.standard_normal(300)
    levels = {
        level: HistGradientBoostingRegressor(loss="quantile", quantile=level, max_iter=30)
        for level in (0.16, 0.84)
    }
    ref = gpproj.from_estimator(HistGradientBoostingRegressor(max_iter=30), X, y, quantiles=levels)
    variance = ref.loo().variance
    loud = X[:, 1] > 0.0
    assert np.median(variance[loud]) > 10.0 * np.median(variance[~loud])
    # A single new row, whose quantiles may cross, has a variance too.
    alone = [float(ref.predict_response(row[None, :]).variance[0]) for row in X[:20]]
    assert min(alone) >= 0.99 * variance.min()
    np.testing.assert_allclose(alone, ref.predict_response(X[:20]).variance)


def test_classes_of_a_forest(classes):
    X, y = classes
    forest = RandomForestClassifier(30, random_state=0, class_weight={"yes": 2.0, "no": 1.0})
    ref = gpproj.from_estimator(forest, X, y)
    assert ref.classes == ("no", "yes")
    own = forest.fit(X, y).predict_proba(X + 0.1)[:, 1]
    expected = np.clip(own, 0.5 / 80, 1.0 - 0.5 / 80)
    np.testing.assert_allclose(ref.predict_response(X + 0.1).mean, expected, rtol=1e-9)
    assert np.mean(ref.loo().mean[y == "yes"]) > np.mean(ref.loo().mean[y == "no"]) + 0.3
    # Folds train it with its own labels, which its weights know.
    codes = (y == "yes").astype(float)
    again = ref.refit(X.iloc[:60], codes[:60])
    assert np.mean(again.log_density(X.iloc[60:], codes[60:])) > np.log(0.5)


def test_a_callable_of_classes_predicts_probabilities(classes):
    X, y = classes

    def train(X, y):
        assert set(y) == {0.0, 1.0}
        model = LogisticRegression().fit(X, y)
        return lambda new: model.predict_proba(new)[:, 1]

    ref = gpproj.from_estimator(train, X, y, likelihood="bernoulli")
    other = gpproj.from_estimator(LogisticRegression(), X, y)
    np.testing.assert_allclose(ref.loo().mean, other.loo().mean)


def test_counts_of_a_regressor(numbers):
    X, _ = numbers
    y = np.random.default_rng(0).poisson(np.exp(1.0 + X["a"]))
    boosted = HistGradientBoostingRegressor(loss="poisson", max_iter=40)
    ref = gpproj.from_estimator(boosted, X, y, likelihood="poisson")
    np.testing.assert_allclose(
        ref.predict_response(X).mean, boosted.fit(X, y).predict(X), rtol=1e-9
    )
    assert ref.check().log_density["reference"] > ref.check().log_density["null"]


def test_validation_trains_anew_in_every_fold(numbers):
    X, y = numbers
    seen = []

    def train(X, y):
        seen.append(len(y))
        model = LinearRegression().fit(X, y)
        return model.predict

    ref = gpproj.from_estimator(train, X, y, folds=4)
    assert seen == [60] * 4 + [80]
    path = gpproj.forward_search(ref, 2, progress=False)
    assert path.order == ("a", "b")
    seen.clear()
    cv = gpproj.validate(ref, path, folds=2, search="once", random_state=0, progress=False)
    assert seen == ([30] * 4 + [40]) * 2
    expected = np.empty(80)
    for fold in np.unique(cv.scores.fold):
        test = cv.scores.rows[cv.scores.fold == fold]
        train_rows = np.setdiff1d(np.arange(80), test)
        model = LinearRegression().fit(X.iloc[train_rows], y[train_rows])
        expected[test] = model.predict(X.iloc[test])
    np.testing.assert_allclose(cv.scores.mean[0], expected[cv.scores.rows], rtol=1e-9)


def test_folds_of_a_validation_keep_groups_together(numbers):
    X, _ = numbers
    groups = np.arange(80) // 4
    shifts = np.random.default_rng(3).standard_normal(20)[groups] * 3.0
    X = X.assign(patient=groups.astype(float))
    tree = DecisionTreeRegressor(min_samples_leaf=2, random_state=0)
    # A tree that has seen a patient predicts the other visits well.
    mixed = gpproj.from_estimator(tree, X, shifts)
    apart = gpproj.from_estimator(tree, X, shifts, row_groups=groups)
    assert np.mean(apart.loo().log_density) < np.mean(mixed.loo().log_density) - 0.3
    np.testing.assert_array_equal(apart.training.row_groups, groups)
    again = apart.refit(X, shifts, row_groups=groups)
    np.testing.assert_allclose(again.loo().mean, apart.loo().mean)
    with pytest.raises(ValueError, match=r"row_groups: .* from_estimator"):
        mixed.with_row_groups(groups)


def test_saved_it_keeps_its_predictions(numbers, tmp_path):
    X, y = numbers
    ref = gpproj.from_estimator(LinearRegression(), X, y)
    ref.save(tmp_path / "ref")
    loaded = gpproj.load(tmp_path / "ref")
    np.testing.assert_array_equal(loaded.loo().log_density, ref.loo().log_density)
    with pytest.raises(ValueError, match="see from_estimator"):
        loaded.predict(X)
    with pytest.raises(ValueError, match="see from_estimator"):
        loaded.refit(X, y)


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (3, TypeError, "estimator must have fit"),
        (LinearRegression, TypeError, "got the class LinearRegression"),
        (RidgeClassifier(), ValueError, "no predict_proba"),
        (lambda X, y: 1.0, TypeError, "must return a function"),
        (lambda X, y: lambda new: np.zeros(3), ValueError, "one number for each of 16 rows; saw 3"),
        (
            lambda X, y: lambda new: np.full(len(new), np.nan),
            ValueError,
            "estimator must be finite",
        ),
    ],
)
def test_what_is_no_estimator_is_named(numbers, estimator, error, message):
    X, y = numbers
    y = y > 0.0 if isinstance(estimator, RidgeClassifier) else y
    with pytest.raises(error, match=message):
        gpproj.from_estimator(estimator, X, y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"folds": 81}, ValueError, "folds must be from 2 to 80"),
        ({"folds": 1}, ValueError, "folds must be from 2"),
        ({"folds": 2.5}, TypeError, "folds must be a whole number"),
        ({"row_groups": np.zeros(80)}, ValueError, "row_groups must be two groups"),
        ({"row_groups": np.arange(80) // 40}, ValueError, "folds must be from 2 to 2"),
        ({"row_groups": [1, 2]}, ValueError, "row_groups must be 80 labels"),
        ({"quantiles": {0.5: LinearRegression()}}, ValueError, "quantiles must map two"),
        ({"likelihood": "poisson"}, ValueError, "y must hold counts"),
    ],
)
def test_bad_settings_are_named(numbers, options, error, message):
    with pytest.raises(error, match=message):
        gpproj.from_estimator(LinearRegression(), *numbers, **options)


def test_bad_data_are_named(numbers, classes):
    X, y = numbers
    with pytest.raises(ValueError, match="y has 79"):
        gpproj.from_estimator(LinearRegression(), X, y[:79])
    with pytest.raises(ValueError, match="X must be finite"):
        gpproj.from_estimator(LinearRegression(), X.where(X > -2.0), y)
    with pytest.raises(ValueError, match="two classes"):
        gpproj.from_estimator(LogisticRegression(), X, np.arange(80) % 3)
    lonely = np.where(np.arange(80) == 0, "yes", "no")
    with pytest.raises(ValueError, match="each class in two groups"):
        gpproj.from_estimator(LogisticRegression(), X, lonely)
    with pytest.raises(ValueError, match="quantiles are for numbers"):
        gpproj.from_estimator(LogisticRegression(), *classes, quantiles={0.1: 1, 0.9: 2})
    with pytest.raises(ValueError, match="likelihood must be of classes"):
        gpproj.from_estimator(LogisticRegression(), *classes, likelihood="gaussian")
    calibrated = CalibratedClassifierCV(RidgeClassifier())
    assert gpproj.from_estimator(calibrated, *classes).classes == ("no", "yes")
