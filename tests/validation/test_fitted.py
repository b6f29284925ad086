"""Plain models beside submodels: what a process or a regression on the same inputs predicts."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy.stats import nbinom, norm, poisson
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gpproj
from gpproj.data import raw_rows
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Bernoulli, Gaussian, NegativeBinomial, Poisson, StudentT
from gpproj.reference import fitting
from gpproj.store import StoreError
from gpproj.validation import fitted
from gpproj.validation.fitted import PLAIN, Task, check_compare, fitted_scores
from gpproj.validation.folds import _in_fold
from gpproj.validation.scores import Scores

TRAIN, TEST = np.arange(24), np.arange(24, 32)
LIKELIHOODS = {"real": Gaussian(0.1), "binary": Bernoulli(), "count": Poisson()}
NAMES = ("process", "linear")


def make_data(kind="real", n=32, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 3)), columns=list("abc"))
    f = X["a"] + 0.5 * X["b"]
    if kind == "binary":
        return X, np.where(f + 0.5 * rng.logistic(size=n) > 0.0, "yes", "no"), None
    if kind == "count":
        exposure = rng.uniform(0.5, 2.0, n)
        return X, rng.poisson(exposure * np.exp(f)), exposure
    return X, (f + 0.3 * rng.standard_normal(n)).to_numpy(), None


def conditioned(X, y, kind="real", exposure=None, likelihood=None):
    kernel = Constant() + SquaredExponential(1.0, np.full(np.shape(X)[1], 2.0))
    given = {} if exposure is None else {"exposure": exposure}
    likelihood = likelihood or LIKELIHOODS[kind]
    return gpproj.condition(X, y, kernel, likelihood, standardize=True, **given)


def validated(path, **options):
    usual = {"method": "kfold", "folds": [(TRAIN, TEST)], "search": "once", "progress": False}
    with warnings.catch_warnings():  # the answer of so few rows is no matter here
        warnings.filterwarnings("ignore", category=UserWarning, module=__name__)
        return gpproj.validate(path.reference, path, **(usual | options))


@pytest.fixture(scope="module")
def paths():
    """The path of each kind of targets; nothing is learned but submodels."""
    found = {}
    for kind in LIKELIHOODS:
        X, y, exposure = make_data(kind)
        ref = conditioned(X, y, kind, exposure)
        found[kind] = gpproj.project_path(ref, ["a", "b"])
    return found


@pytest.fixture(scope="module")
def both(paths):
    """Validations with both plain models."""
    return {kind: validated(path, compare=NAMES) for kind, path in paths.items()}


def predictions(name, X, y, X_new, y_new, likelihood, exposure=None, exposure_new=None):
    return PLAIN[name](Task(likelihood, X, y, exposure, X_new, y_new, exposure_new))


# Agreement with the models themselves


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_the_process_is_one_fit_on_the_rows_of_the_fold(both, kind):
    X, y, exposure = make_data(kind)
    given, new = {}, None
    if exposure is not None:
        given, new = {"exposure": exposure[TRAIN]}, exposure[TEST]
    likelihood = {"real": "gaussian", "binary": "bernoulli", "count": "poisson"}[kind]
    own = X[["a", "b"]]
    model = gpproj.fit(own.iloc[TRAIN], y[TRAIN], likelihood, draws=1, check=False, **given)
    found = both[kind].compared["process"]
    mean = model.predict_response(own.iloc[TEST], new).mean
    np.testing.assert_allclose(found.mean[3], mean, rtol=1e-4)
    density = model.log_density(own.iloc[TEST], y[TEST], new)
    np.testing.assert_allclose(found.log_density[3], density, rtol=1e-3, atol=1e-4)


def linear_predictions(kind, X, y, exposure):
    """What scikit-learn's own regressions predict."""
    scaler = StandardScaler().fit(X[TRAIN])
    Z, Z_new = scaler.transform(X[TRAIN]), scaler.transform(X[TEST])
    if kind == "real":
        centre, scale = y[TRAIN].mean(), y[TRAIN].std()
        model = BayesianRidge().fit(Z, (y[TRAIN] - centre) / scale)
        mean, sd = model.predict(Z_new, return_std=True)
        mean = centre + scale * mean
        return mean, norm.logpdf(y[TEST], mean, scale * sd)
    if kind == "binary":
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[TRAIN], y[TRAIN])
        share = model.predict_proba(X[TEST])
        place = model.classes_.tolist().index("yes")
        own = share[np.arange(TEST.size), np.searchsorted(model.classes_, y[TEST])]
        return share[:, place], np.log(own)
    rate, e = y[TRAIN] / exposure[TRAIN], exposure[TRAIN]
    # One over the sum of counts: a prior of variance one for each coefficient.
    penalty = y[TRAIN].sum() / e.sum() / y[TRAIN].sum()
    model = PoissonRegressor(alpha=penalty, tol=1e-9, max_iter=1000)
    mean = exposure[TEST] * model.fit(Z, rate, sample_weight=e).predict(Z_new)
    return mean, poisson.logpmf(y[TEST], mean)


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_the_regression_is_that_of_scikit_learn(both, kind):
    X, y, exposure = make_data(kind)
    mean, density = linear_predictions(kind, X[["a", "b"]].to_numpy(), y, exposure)
    found = both[kind].compared["linear"]
    tolerance = 1e-5 if kind == "real" else 2e-3  # what optimisers stop at
    np.testing.assert_allclose(found.mean[3], mean, rtol=tolerance)
    np.testing.assert_allclose(found.log_density[3], density, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_without_inputs_both_are_a_constant(both, kind):
    _, y, exposure = make_data(kind)
    process, linear = (both[kind].compared[name] for name in NAMES)
    np.testing.assert_array_equal(process.mean[1], linear.mean[1])
    np.testing.assert_array_equal(process.log_density[1], linear.log_density[1])
    y_new = both[kind].scores.y
    if kind == "real":
        mean, sd = np.mean(y[TRAIN]), np.std(y[TRAIN], ddof=1) * np.sqrt(1.0 + 1.0 / TRAIN.size)
        density = norm.logpdf(y_new, mean, sd)
    elif kind == "binary":
        mean = np.mean(y[TRAIN] == "yes")
        density = np.log(np.where(y_new == 1.0, mean, 1.0 - mean))
    else:
        mean = exposure[TEST] * y[TRAIN].sum() / exposure[TRAIN].sum()
        density = poisson.logpmf(y_new, mean)
    np.testing.assert_allclose(linear.mean[1], np.broadcast_to(mean, TEST.size), rtol=1e-12)
    np.testing.assert_allclose(linear.log_density[1], density, rtol=1e-12)


def test_folds_that_search_compare_with_the_inputs_that_they_found(paths):
    ref = paths["real"].reference
    path = gpproj.forward_search(ref, 1, progress=False)
    folds = [(TRAIN, TEST), (np.arange(8, 32), np.arange(8))]
    cv = validated(path, folds=folds, search="inside", compare="linear")
    assert list(cv.compared) == ["linear"]
    X, y, _ = make_data()
    for number, (train, test) in enumerate(folds):
        own = X[[cv.orders[number][0]]].to_numpy()
        mean, _ = predictions("linear", own[train], y[train], own[test], y[test], Gaussian())
        here = cv.compared["linear"].fold == number
        np.testing.assert_allclose(cv.compared["linear"].mean[2, here], mean, rtol=1e-9)


def test_inputs_that_are_always_in_are_in(paths):
    path = gpproj.forward_search(paths["real"].reference, 1, always=["c"], progress=False)
    cv = validated(path, compare="linear")
    X, y, _ = make_data()
    for size, inputs in enumerate((["c"], ["c", *path.best_inputs(1)])):
        own = X[sorted(inputs)].to_numpy()
        mean, _ = predictions("linear", own[TRAIN], y[TRAIN], own[TEST], y[TEST], Gaussian())
        np.testing.assert_allclose(cv.compared["linear"].mean[1 + size], mean, rtol=1e-9)


@pytest.mark.parametrize("library", [pl.DataFrame, np.asarray, array_api_strict.asarray])
def test_inputs_come_from_any_library(paths, both, library):
    X, y, _ = make_data()
    columns = {name: X[name].to_numpy() for name in X} if library is pl.DataFrame else X.to_numpy()
    target = array_api_strict.asarray(y) if library is array_api_strict.asarray else y
    ref = conditioned(library(columns), target)
    cv = validated(gpproj.project_path(ref, [0, 1]), compare="linear")
    expected = both["real"].compared["linear"]
    np.testing.assert_allclose(cv.compared["linear"].mean, expected.mean, rtol=1e-9)
    np.testing.assert_allclose(cv.compared["linear"].log_density, expected.log_density, rtol=1e-9)


# Whatever the rows are like


def make_task(kind, X, X_new, seed=0):
    """Targets of a kind that inputs say nothing of."""
    rng = np.random.default_rng(seed)
    n, m = len(X), len(X_new)
    draw = {
        "real": rng.standard_normal,
        "binary": lambda rows: np.arange(rows) % 2.0,
        "count": lambda rows: rng.poisson(3.0, rows) * 1.0,
    }[kind]
    return Task(LIKELIHOODS[kind], X, draw(n), None, X_new, draw(m), None)


@pytest.mark.parametrize("name", NAMES)
def test_columns_that_are_constant_in_the_fold_are_left_out(name):
    X, y, _ = make_data()
    X["c"] = np.where(np.arange(32) < 24, 2.0, np.arange(32))  # constant in the training rows
    ref = conditioned(X, y)
    path = gpproj.project_path(ref, ["c"] if name == "process" else ["c", "a"])
    rows = [raw_rows(ref.training, one) for one in (TRAIN, TEST)]
    scores = Scores(TEST, np.zeros(8, int), y[TEST], np.zeros((1, 8)), np.zeros((1, 8)))
    found = fitted_scores([name], ref, path, *rows, scores)[name]
    np.testing.assert_array_equal(found.mean[1], found.mean[2])
    assert np.ptp(found.mean[1]) == 0.0
    if name == "linear":
        own = X[["a"]].to_numpy()
        alone = predictions(name, own[TRAIN], y[TRAIN], own[TEST], y[TEST], Gaussian())
        np.testing.assert_allclose(found.mean[3], alone.mean, rtol=1e-12)


@pytest.mark.parametrize("kind", LIKELIHOODS)
@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_the_unit_of_inputs_changes_nothing(kind, scale):
    rng = np.random.default_rng(1)
    X, X_new = rng.standard_normal((20, 2)), rng.standard_normal((5, 2))
    task = make_task(kind, X, X_new)
    one = PLAIN["linear"](task)
    other = PLAIN["linear"](task._replace(X=scale * X, X_new=scale * X_new))
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.log_density, other.log_density, rtol=1e-6)


def test_the_unit_of_targets_scales_what_is_predicted():
    rng = np.random.default_rng(1)
    task = make_task("real", rng.standard_normal((20, 2)), rng.standard_normal((5, 2)))
    one = PLAIN["linear"](task)
    other = PLAIN["linear"](task._replace(y=1e100 * task.y, y_new=1e100 * task.y_new))
    np.testing.assert_allclose(1e100 * one.mean, other.mean, rtol=1e-9)
    np.testing.assert_allclose(one.log_density - np.log(1e100), other.log_density, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_exposures_changes_nothing(unit):
    rng = np.random.default_rng(1)
    task = make_task("count", rng.standard_normal((20, 2)), rng.standard_normal((5, 2)))
    task = task._replace(exposure=rng.uniform(0.5, 2.0, 20), exposure_new=np.arange(1.0, 6.0))
    one = PLAIN["linear"](task)
    other = PLAIN["linear"](
        task._replace(exposure=unit * task.exposure, exposure_new=unit * task.exposure_new)
    )
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-9)


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_more_inputs_than_rows_and_rows_far_away_give_numbers(kind):
    rng = np.random.default_rng(2)
    X_new = rng.standard_normal((6, 40))
    X_new[0] *= 1e200
    X_new[1] *= -1e4
    found = PLAIN["linear"](make_task(kind, rng.standard_normal((12, 40)), X_new))
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.log_density).all()
    assert np.isfinite(found.mean**4).all()


def test_classes_that_a_line_separates_have_finite_densities():
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    y = (X[:, 0] > 0.0) * 1.0
    new = np.array([[-500.0], [900.0]])
    found = predictions("linear", X, y, new, np.array([1.0, 0.0]), Bernoulli())
    assert np.isfinite(found.log_density).all()
    assert (found.log_density < -100.0).all()


def test_rows_to_predict_may_be_of_one_class(paths):
    _, y, _ = make_data("binary")
    no = np.flatnonzero(y == "no")[:3]
    folds = [(np.setdiff1d(np.arange(32), no), no)]
    cv = validated(paths["binary"], folds=folds, compare=["linear"])
    assert (cv.scores.y == 0.0).all()
    assert np.isfinite(cv.comparison("elpd")["elpd_diff"]).all()


def test_counts_that_vary_more_have_a_dispersion():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 1))
    rate = np.exp(1.5 + 0.5 * X[:, 0])
    y = rng.negative_binomial(2.0, 2.0 / (2.0 + rate)) * 1.0  # a dispersion of 1 / 2
    task = (X[:300], y[:300], X[300:], y[300:])
    found = predictions("linear", *task, NegativeBinomial(3.0))
    np.testing.assert_array_equal(found.mean, predictions("linear", *task, Poisson()).mean)
    r = 1.0 / fitted._dispersed(y, np.log(rate)).dispersion
    assert r == pytest.approx(2.0, rel=0.2)
    expected = nbinom.logpmf(y[300:], 2.0, 2.0 / (2.0 + found.mean))
    assert found.log_density.mean() == pytest.approx(expected.mean(), abs=0.02)


@pytest.mark.parametrize(
    "likelihood", [Gaussian(0.5), StudentT(0.5), Bernoulli("logit"), NegativeBinomial(0.5)]
)
def test_the_process_has_the_likelihood_of_the_reference_if_it_can_be_learned(likelihood):
    usual = {"real": Gaussian(), "binary": Bernoulli(), "count": Poisson()}[likelihood.kind]
    other = SimpleNamespace(kind=likelihood.kind)
    for own, expected in ((likelihood, likelihood), (other, usual)):
        reference = SimpleNamespace(likelihood=own, training=SimpleNamespace(kind=own.kind))
        assert fitted._likelihood_of(reference) == expected


def test_references_of_other_libraries_are_compared(paths):
    X, y, _ = make_data()

    def made(X, y):
        return gpproj.from_moments(
            X,
            y,
            np.asarray(y) * 0.8,
            0.05 * np.eye(len(y)),
            0.1,
            predict=lambda new: (np.zeros(len(new)), np.ones(len(new))),
            refit=made,
        )

    path = gpproj.project_path(made(X, y), ["a"])
    cv = validated(path, compare="linear")
    table = cv.comparison("elpd").set_index(["size", "model"])
    assert table.loc[(1, "linear"), "elpd"] > table.loc[(0, "linear"), "elpd"]


# The table


def test_a_row_for_each_size_and_model(both):
    cv = both["real"]
    table = cv.comparison()
    assert table["size"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert table["model"].tolist() == ["submodel", *NAMES] * 3
    labels = ("", "_se", "_diff", "_diff_se")
    stats = [name + label for name in ("elpd", "rmse", "r2") for label in labels]
    assert table.columns.tolist() == ["size", "model", *stats]
    own = table[table["model"] == "submodel"].set_index("size")
    pd.testing.assert_frame_equal(own[stats], cv.summary()[stats], check_index_type=False)
    assert cv.comparison("rmse").columns.tolist()[2:] == [f"rmse{label}" for label in labels]
    with pytest.raises(ValueError, match="stats must be among"):
        cv.comparison("auc")


def test_differences_to_the_submodel_are_those_of_the_values(both):
    for cv in both.values():
        table = cv.comparison("elpd", to="submodel").set_index(["size", "model"])
        for size in range(3):
            values, base = table.loc[size], table.loc[(size, "submodel"), "elpd"]
            np.testing.assert_allclose(values["elpd_diff"], values["elpd"] - base, atol=1e-9)
        density = cv.compared["linear"].log_density[2] - cv.scores.log_density[2]
        se = 32 * np.std(density, ddof=1) / np.sqrt(8)
        assert table.loc[(1, "linear"), "elpd_diff_se"] == pytest.approx(se)
    with pytest.raises(ValueError, match='to must be "reference" or "submodel", got'):
        cv.comparison(to="null")


def test_the_nested_submodels_have_no_comparison_where_others_are_better(both):
    cv = both["real"]
    assert cv.along_path().comparison().equals(cv.comparison())
    other = replace(cv, along=cv.scores)
    with pytest.raises(ValueError, match="nothing was compared"):
        other.along_path().comparison()


def test_repeated_folds_are_averaged(paths):
    cv = validated(paths["real"], folds=[(TRAIN, TEST), (TRAIN[4:], TEST)], compare="linear")
    assert cv.comparison("rmse")["rmse"].notna().all()
    assert cv.compared["linear"].averaged().mean.shape == (4, 8)


def test_without_a_comparison_there_is_no_table(paths):
    cv = validated(paths["real"])
    assert cv.compared == {}
    with pytest.raises(ValueError, match="nothing was compared: validate with compare="):
        cv.comparison()


# What is asked for


def test_names_are_checked(paths):
    ref = paths["real"].reference
    for wrong in ("ridge", ["linear", "ridge"], [3]):
        with pytest.raises(ValueError, match="compare must be among process, linear; got"):
            gpproj.validate(ref, compare=wrong)
    with pytest.raises(TypeError, match=r"compare must be a list of names .* got 3"):
        gpproj.validate(ref, compare=3)
    assert check_compare(None) == check_compare([]) == ()
    assert check_compare(["linear", "process", "linear"]) == NAMES


def test_leaving_out_rows_without_refits_is_refused(paths):
    path = paths["real"]
    with pytest.raises(ValueError, match=r'compare: plain .* method="kfold"'):
        gpproj.validate(path.reference, path, "loo", compare="linear")


def test_refits_of_single_rows_are_folds(paths):
    options = {"method": "loo", "search": "inside", "points": 2, "random_state": 0}
    cv = validated(paths["real"], compare="linear", **options)
    assert cv.compared["linear"].mean.shape == (4, 2)
    assert cv.comparison("rmse")["rmse"].notna().all()


def test_a_comparison_asks_for_folds(paths, monkeypatch):
    path = paths["real"]
    monkeypatch.setattr(type(path.reference), "usual_validation", property(lambda _: "loo"))
    assert validated(path, method=None, compare="linear").method == "kfold"


# Checkpoints, files, workers


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_validation_that_was_stopped_goes_on_with_its_comparison(
    paths, same_scores, tmp_path, monkeypatch
):
    options = {"folds": 2, "random_state": 0, "compare": ("linear",)}
    whole = validated(paths["count"], **options)
    work = _in_fold

    def stopped(*arguments):
        if arguments[-1].number == 1:
            raise KeyboardInterrupt
        return work(*arguments)

    monkeypatch.setattr("gpproj.validation.folds._in_fold", stopped)
    with pytest.raises(KeyboardInterrupt):
        validated(paths["count"], checkpoint=tmp_path / "cv", **options)
    monkeypatch.setattr("gpproj.validation.folds._in_fold", work)
    resumed = validated(paths["count"], checkpoint=tmp_path / "cv", **options)
    same_scores(resumed, whole)
    monkeypatch.setattr("gpproj.validation.folds._in_fold", stopped)  # nothing is left to do
    same_scores(validated(paths["count"], checkpoint=tmp_path / "cv", **options), whole)


@pytest.fixture
def same_scores():
    def same(one, other):
        assert list(one.compared) == list(other.compared)
        for name, scores in one.compared.items():
            for mine, its in zip(scores, other.compared[name], strict=True):
                np.testing.assert_array_equal(mine, its)

    return same


def test_a_checkpoint_of_other_plain_models_is_refused(paths, tmp_path):
    folder = tmp_path / "cv"
    validated(paths["real"], checkpoint=folder, compare="linear")
    before = contents(folder)
    for other in ((), "process", NAMES):
        with pytest.raises(StoreError, match="belongs to a validation of other data or settings"):
            validated(paths["real"], checkpoint=folder, compare=other)
    assert contents(folder) == before


def test_a_comparison_is_saved_and_loaded(both, same_scores, tmp_path):
    cv = both["binary"]
    cv.save(tmp_path / "cv")
    again = gpproj.load(tmp_path / "cv")
    same_scores(again, cv)
    pd.testing.assert_frame_equal(again.comparison(), cv.comparison())


def test_threads_change_nothing(paths, same_scores):
    options = {"folds": 3, "random_state": 0, "compare": "linear"}
    one = validated(paths["real"], **options)
    with parallel_config("threading"):
        two = validated(paths["real"], n_jobs=2, **options)
    same_scores(one, two)


@pytest.mark.slow
def test_processes_change_nothing(paths, both, same_scores):
    folds = [(TRAIN, TEST), (TRAIN, TEST)]
    one = validated(paths["real"], folds=folds, compare=NAMES)
    two = validated(paths["real"], folds=folds, compare=NAMES, n_jobs=2)
    same_scores(one, two)


def test_what_plain_models_did_not_converge_to_is_not_said(paths, monkeypatch):
    best_of = fitting.best_of

    def stopped(*arguments):
        posterior, optimum = best_of(*arguments)
        return posterior, optimum._replace(converged=np.zeros_like(optimum.converged))

    def odd(*_, **__):
        where = ("_glm.py", 1, "sklearn.linear_model._glm.glm")
        warnings.warn_explicit("it has not converged", ConvergenceWarning, *where)
        return BayesianRidge()

    monkeypatch.setattr(fitting, "best_of", stopped)
    monkeypatch.setattr("sklearn.linear_model.BayesianRidge", odd)
    X, y, _ = make_data()
    with pytest.warns(UserWarning, match="not optimised to convergence"):
        gpproj.fit(X[["a"]], y, draws=1, check=False)
    path = gpproj.project_path(paths["real"].reference, ["a"])
    assert list(validated(path, compare=NAMES).compared) == list(NAMES)
