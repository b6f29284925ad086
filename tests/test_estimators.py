"""scikit-learn's estimators: its own checks, and what they select and predict."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gpproj
from gpproj.data import raw_rows
from gpproj.kernels import Constant, Linear, SquaredExponential
from gpproj.likelihoods import Bernoulli, Gaussian


# Classes, whose instances print alike in every process: the names of the checks below contain them,
# and workers that share the tests must agree on the names.
@dataclass(frozen=True)
class PlainRegression:
    """Straight lines at given hyperparameters: what scikit-learn checks is not the fit."""

    def __call__(self, X, y):
        spread = float(np.var(y)) or 1.0
        kernel = Constant(spread) + Linear(spread / X.shape[1])
        return gpproj.condition(X, y, kernel, Gaussian(0.1 * spread), standardize=True)


@dataclass(frozen=True)
class PlainClassification:
    def __call__(self, X, y):
        kernel = Constant(1.0) + Linear(4.0 / X.shape[1])
        return gpproj.condition(X, y, kernel, Bernoulli(), standardize=True)


def quick_regression(X, y):
    """A reference at given hyperparameters."""
    d, spread = X.shape[1], float(np.var(y)) or 1.0
    kernel = Constant(spread) + SquaredExponential(spread, 2.0 * np.sqrt(d))
    return gpproj.condition(X, y, kernel, Gaussian(0.1 * spread), standardize=True)


def quick_classification(X, y):
    kernel = Constant(1.0) + SquaredExponential(4.0, 2.0 * np.sqrt(X.shape[1]))
    return gpproj.condition(X, y, kernel, Bernoulli(), standardize=True)


PLAIN = parametrize_with_checks(
    [
        gpproj.ProjectionRegressor(1, reference=PlainRegression()),
        gpproj.ProjectionClassifier(1, reference=PlainClassification()),
    ]
)


def with_slow(case):
    """A case of scikit-learn's, marked where it fits many rows many times."""
    _, check = case
    memory = "readonly_memmap" in check.keywords
    slow = memory or check.func.__name__ == "check_regressor_data_not_an_array"
    return pytest.param(*case, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(
    PLAIN.args[0], [with_slow(case) for case in PLAIN.args[1]], ids=PLAIN.kwargs["ids"]
)
@pytest.mark.filterwarnings("ignore:.*constant in X.*:UserWarning")
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@parametrize_with_checks([gpproj.ProjectionRegressor(), gpproj.ProjectionClassifier()])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_checks_of_scikit_learn_with_all_defaults(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
    f = np.sin(2 * X["b"]) + X["d"]
    return X, (f + 0.2 * rng.standard_normal(60)).to_numpy()


@pytest.fixture(scope="module")
def fitted(data):
    return gpproj.ProjectionRegressor(random_state=0).fit(*data)


def test_the_number_of_inputs_is_validated(fitted, data):
    X, y = data
    assert fitted.get_feature_names_out().tolist() == ["b", "d"]
    assert fitted.ranking_[fitted.support_].tolist() == [1, 1]
    assert sorted(fitted.ranking_[~fitted.support_]) == [2, 3]
    assert fitted.validation_.suggest_size() == 2
    assert set(fitted.submodel_.inputs) == {"b", "d"}
    assert (fitted.path_.learn, fitted.path_.criterion) == ("loo", "loo_divergence")
    assert fitted.n_features_in_ == 4
    mean, sd = fitted.predict(X, return_std=True)
    np.testing.assert_allclose(mean, fitted.submodel_.predict_response(X).mean)
    np.testing.assert_allclose(sd**2, fitted.submodel_.predict_response(X).variance)
    assert fitted.score(X, y) > 0.9
    assert fitted.reference_.training.n == 60


def test_transforms_keep_frames(fitted, data):
    X, _ = data
    chosen = clone(fitted).set_output(transform="pandas").set_params(n_features_to_select=1)
    assert chosen.fit_transform(*data).columns.tolist() in (["b"], ["d"])
    np.testing.assert_array_equal(fitted.transform(X), X[["b", "d"]])


def test_the_best_inputs_are_selected_not_the_first_that_entered(exchanged_cv, monkeypatch):
    monkeypatch.setattr(
        "gpproj.estimators.selecting.forward_search", lambda *_, **__: exchanged_cv.path
    )
    training = exchanged_cv.reference.training
    X = raw_rows(training, range(training.n)).X
    found = gpproj.ProjectionRegressor(2, reference=lambda X, y: exchanged_cv.reference)
    found.fit(X, X["a"] + X["b"])
    assert found.path_.order == ("c", "a")
    assert found.get_feature_names_out().tolist() == ["a", "b"]
    assert found.submodel_.inputs == ("a", "b")
    assert dict(zip("abcd", found.ranking_, strict=True)) == {"a": 1, "b": 1, "c": 2, "d": 3}
    np.testing.assert_allclose(found.predict(X), found.path_.best(2).predict_response(X).mean)


def test_submodels_are_learned_and_compared_as_asked_for(data):
    settings = {"reference": quick_regression, "learn": "projection"}
    own = gpproj.ProjectionRegressor(1, **settings).fit(*data).path_
    assert (own.learn, own.criterion) == ("projection", "projection_error")
    other = gpproj.ProjectionRegressor(1, criterion="loo_divergence", **settings).fit(*data).path_
    assert (other.learn, other.criterion) == ("projection", "loo_divergence")


@pytest.mark.parametrize(("asked", "size"), [(3, 3), (0.5, 2), (1.0, 4), (0.01, 1)])
def test_numbers_and_shares(data, asked, size):
    found = gpproj.ProjectionRegressor(asked, reference=quick_regression).fit(*data)
    assert found.support_.sum() == size
    assert found.validation_ is None


@pytest.mark.slow
def test_noise_needs_no_input_but_gets_the_least(data):
    X, _ = data
    y = np.random.default_rng(5).standard_normal(60)
    settings = {"reference": quick_regression, "random_state": 0, "max_features": 1}
    one = gpproj.ProjectionRegressor(**settings)
    none = gpproj.ProjectionRegressor(min_features_to_select=0, **settings)
    for selector in (one, none):
        with pytest.warns(UserWarning, match="null model"):
            selector.fit(X, y)
    assert one.support_.sum() == 1
    assert none.support_.sum() == 0
    assert np.ptp(none.predict(X)) == 0.0


def test_pipelines_searches_and_pickles(data):
    X, y = data
    pipeline = make_pipeline(
        StandardScaler(),
        gpproj.ProjectionRegressor(2, reference=quick_regression),
        LinearRegression(),
    )
    assert pipeline.fit(X, y).score(X, y) > 0.5
    grid = GridSearchCV(
        gpproj.ProjectionRegressor(reference=quick_regression),
        {"n_features_to_select": [1, 2]},
        cv=KFold(2),
    ).fit(X, y)
    assert grid.best_params_ == {"n_features_to_select": 2}
    again = pickle.loads(pickle.dumps(grid.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), grid.predict(X))


def test_references_of_scikit_learn(data):
    X, y = data
    gpr = GaussianProcessRegressor(RBF([1.0] * 4) + WhiteKernel(0.1), optimizer=None)
    found = gpproj.ProjectionRegressor(2, reference=gpr).fit(X, y)
    assert set(found.get_feature_names_out()) == {"b", "d"}
    assert not hasattr(gpr, "X_train_")
    gpc = GaussianProcessClassifier(RBF([1.0] * 4), optimizer=None)
    classes = gpproj.ProjectionClassifier(1, reference=gpc).fit(X, y > 0)
    assert pickle.loads(pickle.dumps(classes)).predict(X).dtype == bool


def test_a_sampled_reference(data, monkeypatch):
    pytest.importorskip("nutpie")
    monkeypatch.setattr("gpproj.estimators.selecting.sample", partial(gpproj.sample, tune=60))
    X, y = data
    found = gpproj.ProjectionRegressor(1, reference="sample", random_state=0)
    with pytest.warns(UserWarning, match="sampling"):
        found.fit(X[["b", "d"]].iloc[:25], y[:25])
    assert found.reference_.draws.count == 100


@pytest.mark.parametrize(
    "labels", [("no", "yes"), (-1, 1), pytest.param((False, True), marks=pytest.mark.slow)]
)
def test_classes_by_any_labels(data, labels):
    X, y = data
    target = np.array(labels)[(y > 0).astype(int)]
    found = gpproj.ProjectionClassifier(2).fit(X, target)
    assert set(found.get_feature_names_out()) == {"b", "d"}
    assert found.classes_.tolist() == list(labels)
    probabilities = found.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        found.predict(X), np.array(labels)[(probabilities[:, 1] > 0.5).astype(int)]
    )
    assert found.score(X, target) > 0.85


@pytest.mark.slow
def test_a_validated_classifier(data):
    X, y = data
    found = gpproj.ProjectionClassifier(
        reference=quick_classification, random_state=0, cv=3, max_features=3
    ).fit(X, np.where(y > 0, "up", "down"))
    assert {"accuracy", "auc"} <= set(found.validation_.summary().columns)
    assert 1 <= found.support_.sum() <= 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_features_to_select": 0}, "n_features_to_select must be"),
        ({"n_features_to_select": 9}, "n_features_to_select must be"),
        ({"n_features_to_select": 1.5}, "n_features_to_select must be"),
        ({"n_features_to_select": "best"}, "n_features_to_select must be"),
        ({"n_features_to_select": True}, "n_features_to_select must be"),
        ({"reference": "magic"}, "reference must be"),
        ({"reference": 3}, "reference must be"),
        ({"max_features": 0}, "max_features must be"),
        ({"learn": "guess", "reference": quick_regression}, "learn must be one of"),
        ({"criterion": "elpd", "reference": quick_regression}, "criterion must be one of"),
        ({"min_features_to_select": -1}, "min_features_to_select must be"),
    ],
)
def test_bad_settings_are_named_when_fitting(data, settings, words):
    with pytest.raises(ValueError, match=words):
        gpproj.ProjectionRegressor(**settings).fit(*data)


def test_functions_must_return_references(data):
    with pytest.raises(TypeError, match=r"reference must return a gpproj\.Reference"):
        gpproj.ProjectionRegressor(reference=lambda X, y: 3).fit(*data)


def test_three_classes_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        gpproj.ProjectionClassifier().fit(X, np.digitize(y, [-0.5, 0.5]))


def test_a_notebook_shows_the_settings(fitted):
    shown = fitted._repr_html_()
    assert "ProjectionRegressor" in shown
    assert "n_features_to_select" in shown


def make_frame(library=pd, holes=False, n=40):
    rng = np.random.default_rng(3)
    town = rng.choice(["north", "south", "west"], n)
    area = rng.standard_normal(n)
    y = 2.0 * (town == "south") + area + 0.3 * rng.standard_normal(n)
    cells = {"door": rng.standard_normal(n).tolist(), "town": town.tolist(), "area": area.tolist()}
    if holes:
        cells["town"][4], cells["area"][7] = None, None
    return library.DataFrame(cells), y


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_with_text_and_missing_cells(library):
    X, y = make_frame(library, holes=True)
    settings = {"kernel": SquaredExponential(1.0, 2.0), "prior": "weak"}
    found = gpproj.ProjectionRegressor(2, missing="indicate", **settings).fit(X, y)
    assert found.get_feature_names_out().tolist() == ["town", "area"]
    assert found.ranking_.tolist() == [2, 1, 1]
    assert found.n_features_in_ == 3
    assert "area is missing" in found.submodel_.inputs
    assert np.isfinite(found.predict(X)).all()
    assert found.score(X, y) > 0.8
    chosen = found.transform(X)
    assert chosen.shape == (40, 2)
    if library is pd:
        frame = clone(found).set_output(transform="pandas").fit(X, y).transform(X)
        assert frame.columns.tolist() == ["town", "area"]
    with pytest.raises(ValueError, match="X has missing cells in 2 of 40 rows"):
        gpproj.ProjectionRegressor(2, **settings).fit(X, y)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))


def test_arrays_with_missing_cells(data):
    X, y = data[0].to_numpy(copy=True), data[1]
    X[3, 1] = np.nan
    settings = {"kernel": SquaredExponential(1.0, 2.0), "prior": "weak"}
    found = gpproj.ProjectionRegressor(2, missing="impute", **settings).fit(X, y)
    assert found.support_.tolist() == [False, True, False, True]
    assert np.isfinite(found.predict(X)).all()
    with pytest.raises(ValueError, match="contains NaN"):
        gpproj.ProjectionRegressor(2, **settings).fit(X, y)


def test_a_classifier_of_frames(monkeypatch):
    seen = {}

    def made(X, y, **settings):
        seen.update(settings)
        return quick_classification(X, y)

    monkeypatch.setattr("gpproj.estimators.selecting.fit", made)
    X, y = make_frame()
    found = gpproj.ProjectionClassifier(1, prior="weak").fit(X, np.where(y > 0.8, "dear", "cheap"))
    assert seen == {"likelihood": "bernoulli", "kernel": None, "prior": "weak", "missing": "error"}
    assert found.get_feature_names_out().tolist() in (["town"], ["area"])
    assert set(found.predict(X)) == {"dear", "cheap"}
    gpproj.ProjectionClassifier(1, likelihood="logit").fit(X, y > 0.8)
    assert seen["likelihood"] == "logit"


def test_groups_costs_and_what_is_always_in(data):
    X, y = data
    settings = {"reference": quick_regression, "always": "c"}
    found = gpproj.ProjectionRegressor(1, groups={"both": ["b", "d"]}, **settings).fit(X, y)
    assert found.get_feature_names_out().tolist() == ["b", "c", "d"]
    assert found.ranking_.tolist() == [2, 1, 1, 1]
    dear = gpproj.ProjectionRegressor(1, costs={"b": 1e6, "d": 1e6}, **settings).fit(X, y)
    assert dear.get_feature_names_out().tolist() == ["a", "c"]
    with pytest.raises(ValueError, match=r"n_features_to_select must be .* from 1 to 2"):
        gpproj.ProjectionRegressor(3, groups={"both": ["b", "d"]}, **settings).fit(X, y)


@pytest.mark.parametrize(
    "setting",
    [{"kernel": SquaredExponential(1.0, 1.0)}, {"prior": None}, {"missing": "impute"}],
    ids=["kernel", "prior", "missing"],
)
def test_settings_of_the_model_are_refused_where_something_else_makes_it(data, setting):
    (name,) = setting
    with pytest.raises(ValueError, match=f'{name} is for reference="fit" or "sample"'):
        gpproj.ProjectionRegressor(1, reference=quick_regression, **setting).fit(*data)
