"""Validation of linear references: K-fold with the search inside, leave-one-out by weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import gpproj
from gpproj.validation.linear_loo import without_each

NAMES = list("abcdef")
TRUTH = np.array([1.5, 0.0, 0.0, -1.0, 0.0, 0.0])

# With so little noise in the inputs that matter not, the true submodel does predict better.
better = pytest.mark.filterwarnings("ignore:some submodels seem to predict better")


def make_data(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 6)), columns=NAMES)
    return X, 3.0 + X.to_numpy() @ TRUTH + 0.8 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def ref():
    return gpproj.sample_linear(*make_data(), 200, random_state=0)


@pytest.fixture(scope="module")
def cv(ref):
    return gpproj.validate(ref, random_state=0, progress=False)


def test_folds_suggest_the_truth(cv):
    assert (cv.method, cv.search) == ("kfold", "inside")
    assert cv.suggest_size() == 2
    assert set(cv.submodel().inputs) == {"a", "d"}
    assert isinstance(cv.submodel(), gpproj.LinearSubmodel)
    assert cv.answer() == "2 of 6 inputs predict as well as all: a, d."
    table = cv.summary()
    assert table["input"].tolist()[:3] == ["", "a", "d"]
    assert table["agreement"][1] == table["agreement"][2] == 1.0
    # All inputs are the reference itself.
    assert table["elpd_diff"].iloc[-1] == pytest.approx(0.0, abs=1e-8)
    assert cv.ranking_proportions(cumulate=True).loc[2, ["a", "d"]].tolist() == [1.0, 1.0]
    assert cv.plot().get_ylabel() == "elpd, difference to all inputs"


def test_scores_of_folds_are_those_of_refits(ref):
    X, y = make_data()
    train, test = np.arange(0, 60), np.arange(60, 80)
    cv = gpproj.validate(ref, folds=[(train, test)], progress=False)
    own = ref.refit(X.iloc[train], y[train])
    path = gpproj.forward_search(own, progress=False)
    table = cv.pointwise
    for size, model in ((None, own), (2, path[2])):
        rows = table[table["size"].isna()] if size is None else table[table["size"] == size]
        expected = model.log_density(X.iloc[test], y[test])
        np.testing.assert_allclose(rows["log_density"], expected, rtol=1e-8)
        np.testing.assert_allclose(
            rows["mean"], model.predict_response(X.iloc[test]).mean, rtol=1e-8
        )


@better
def test_nested_folds_and_a_path_of_ones_own(ref):
    path = gpproj.forward_search(ref, 3, groups={"pair": ["b", "c"]}, progress=False)
    cv = gpproj.validate(ref, path, folds=3, nested=True, random_state=0, progress=False)
    assert cv.nested_summary().loc["chosen", "size"] == pytest.approx(2.0, abs=0.5)
    along = gpproj.validate(ref, path, folds=3, search="once", random_state=0, progress=False)
    assert along.path is path
    assert along.suggest_size() == 2


@better
def test_leave_one_out_agrees_with_folds_of_one_row():
    pytest.importorskip("nutpie")
    X, y = make_data(n=40)
    ref = gpproj.sample_linear(X, y, 400, random_state=0)
    path = gpproj.forward_search(ref, 3, progress=False)
    loo = gpproj.validate(ref, path, "loo", progress=False)
    assert (loo.method, loo.search) == ("loo", "once")
    assert loo.k_hat.shape == (40,)
    assert loo.suggest_size() == 2
    rows = [(np.delete(np.arange(40), i), [i]) for i in range(40)]
    folds = gpproj.validate(ref, path, folds=rows, search="once", progress=False)
    one, two = loo.summary("elpd"), folds.summary("elpd")
    np.testing.assert_allclose(one["elpd"], two["elpd"], atol=0.6)
    np.testing.assert_allclose(one["elpd_diff"], two["elpd_diff"], atol=0.6)
    reference = ref.loo()
    found = loo.pointwise[loo.pointwise["size"].isna()].set_index("observation")
    kept = np.setdiff1d(np.arange(40), loo.refitted)
    np.testing.assert_allclose(found.loc[kept, "log_density"], reference.log_density[kept])
    np.testing.assert_allclose(found.loc[kept, "mean"], reference.mean[kept])


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_projections_without_a_row_are_those_of_the_other_rows(family):
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((30, 6)), TRUTH + 0.3 * rng.standard_normal((25, 6))
    y = rng.integers(0, 2, 30)
    y[:4] = 0, 1, 0, 1
    noise = rng.uniform(0.5, 1.0, 25) if family == "gaussian" else None

    def project(rows, inputs):
        ref = gpproj.from_linear_draws(X[rows], y[rows], weights, noise, family, intercept=0.2)
        return ref, gpproj.project(ref, inputs)

    for inputs in ([], [0, 1], list(range(6))):
        ref, sub = project(np.arange(30), inputs)
        found = without_each(ref, sub)
        scaling = ref.training.scaling
        for i in (3, 17, 29):
            _, own = project(np.delete(np.arange(30), i), inputs)
            eta = own.intercept + own.weights @ X[i, inputs]
            seen = found.eta[:, i]
            if family == "gaussian":
                np.testing.assert_allclose(scaling.restore_mean(seen), eta, rtol=1e-8, atol=1e-10)
                seen_noise = scaling.restore_variance(found.noise[:, i])
                np.testing.assert_allclose(seen_noise, own.noise_draws, rtol=1e-8)
            else:  # one Newton step towards it
                before = sub.intercept + sub.weights @ X[i, inputs]
                assert np.all(np.abs(seen - eta) <= 0.35 * np.abs(before - eta) + 1e-10)


@better
def test_some_points_and_a_search_for_every_row(ref):
    pytest.importorskip("nutpie")
    some = gpproj.validate(ref, method="loo", points=10, random_state=0, progress=False)
    assert some.scores.rows.size == 10
    inside = gpproj.validate(
        ref, None, "loo", search="inside", points=3, max_inputs=1, random_state=0, progress=False
    )
    assert len(inside.orders) == 3


def glm(family, refit=True, s=100, n=100):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.standard_normal((n, 6)), columns=NAMES)
    eta = X.to_numpy() @ TRUTH
    exposure = rng.uniform(0.5, 2.0, n) if family == "poisson" else None
    if family == "binomial":
        y = np.where(rng.random(n) < expit(eta), "ill", "healthy")
    else:
        y = rng.poisson(exposure * np.exp(eta))

    def make(X, y, exposure=None):
        """A normal approximation at the maximum of a ridge-penalised likelihood."""
        A = np.column_stack([np.ones(len(X)), X.to_numpy()])
        seen = (np.asarray(y) == np.unique(y)[-1]) * 1.0 if family == "binomial" else np.asarray(y)
        added = 0.0 if exposure is None else np.log(exposure)
        w = np.zeros(7)
        for _ in range(30):
            f = A @ w + added
            mean = expit(f) if family == "binomial" else np.exp(f)
            variance = mean * (1 - mean) if family == "binomial" else mean
            hessian = A.T @ (variance[:, None] * A) + 0.1 * np.eye(7)
            w = w + np.linalg.solve(hessian, A.T @ (seen - mean) - 0.1 * w)
        draws = np.random.default_rng(0).multivariate_normal(w, np.linalg.inv(hessian), s)
        return gpproj.from_linear_draws(
            X,
            y,
            draws[:, 1:],
            family=family,
            intercept=draws[:, 0],
            exposure=exposure,
            refit=make if refit else None,
        )

    return make(X, y, exposure)


@pytest.mark.slow
@better
@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_classes_and_counts_suggest_the_truth(family):
    pytest.importorskip("nutpie")
    ref = glm(family)
    cv = gpproj.validate(ref, max_inputs=4, folds=4, random_state=0, progress=False)
    assert cv.method == "kfold"
    size = cv.suggest_size()
    assert size in (1, 2, 3)
    assert cv.sizes.smallest_possible in (1, 2)
    assert set(cv.path.order[:2]) == {"a", "d"}
    assert (cv.summary()["elpd_diff"].iloc[2:] > -4).all()
    loo = gpproj.validate(ref, cv.path, "loo", progress=False)
    np.testing.assert_allclose(loo.summary("elpd")["elpd"], cv.summary("elpd")["elpd"], atol=8.0)
    kind = {"binomial": "auc", "poisson": "deviance"}[family]
    assert np.isfinite(cv.summary(kind)[kind]).all()


@pytest.mark.slow
@better
def test_without_refits_there_is_leave_one_out_alone():
    pytest.importorskip("nutpie")
    ref = glm("binomial", refit=False, s=600)
    cv = gpproj.validate(ref, max_inputs=3, progress=False)
    assert (cv.method, cv.search) == ("loo", "once")
    with pytest.raises(ValueError, match="from_linear_draws was called without refit="):
        gpproj.validate(ref, method="kfold", progress=False)


@better
def test_weights_that_cannot_be_trusted_are_told_where_there_is_no_refit(ref):
    pytest.importorskip("nutpie")
    X, y = make_data()
    y = y.copy()
    y[5] += 6.0
    odd = gpproj.from_linear_draws(X, y, ref.weights, ref.noise_draws, intercept=ref.intercept)
    with pytest.warns(UserWarning, match="weights of .* rows cannot be trusted"):
        cv = gpproj.validate(odd, max_inputs=2, method="loo", progress=False)
    assert cv.k_hat[5] > 0.5
    assert cv.refitted == ()


def test_what_has_no_meaning_is_refused(ref):
    with pytest.raises(ValueError, match='hyperparameters="held" is for Gaussian processes'):
        gpproj.validate(ref, method="loo", hyperparameters="held", progress=False)
    few = gpproj.sample_linear(*make_data(), 5, random_state=0)
    with pytest.raises(ValueError, match="5 are too few"):
        gpproj.validate(few, method="loo", progress=False)


def test_finished_folds_are_kept(ref, tmp_path):
    options = {"max_inputs": 2, "folds": 3, "random_state": 0, "progress": False}
    one = gpproj.validate(ref, checkpoint=tmp_path / "folds", **options)
    assert len(list((tmp_path / "folds").iterdir())) == 3
    two = gpproj.validate(ref, checkpoint=tmp_path / "folds", **options)
    pd.testing.assert_frame_equal(one.summary(), two.summary())


def test_a_report_is_written(cv, tmp_path):
    file = gpproj.write_report(cv, tmp_path / "report.html")
    text = file.read_text(encoding="utf-8")
    assert "LinearReference(n=80, inputs=6, draws=200" in text
    assert "2 of 6 inputs predict as well as all" in text


@better
@pytest.mark.parametrize("method", ["kfold", "loo"])
def test_best_sets_of_a_fixed_path_are_scored_as_such(method):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((90, 4)), columns=list("abcd"))
    X["c"] = X["a"] + X["b"] + 0.4 * rng.standard_normal(90)
    ref = gpproj.sample_linear(
        X, X["a"] + X["b"] + 0.2 * rng.standard_normal(90), 200, random_state=0
    )
    path = gpproj.forward_search(ref, progress=False)
    assert path.is_better(2)
    cv = gpproj.validate(ref, path, method, search="once", random_state=0, progress=False)
    best, nested = cv.summary()["elpd_diff"][2], cv.along_path().summary()["elpd_diff"][2]
    assert best > nested + 20.0
    assert set(cv.submodel(2).inputs) == {"a", "b"}
    assert "c" in cv.along_path().submodel(2).inputs
