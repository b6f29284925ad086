"""Statistics of predictions, the size they suggest, and what a validation warns of."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpproj
from gpproj.validation import Validation
from gpproj.validation.folds import FoldResult
from gpproj.validation.loo import LooResult
from gpproj.validation.scores import Scores, joined
from tests.fitting import fit_mode

pytestmark = pytest.mark.filterwarnings(
    "ignore:some submodels seem to predict better:UserWarning",
    "ignore:the .* predicts better:UserWarning",
)

N = 24


@pytest.fixture(scope="module")
def path():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((N, 3)), columns=list("abc"))
    ref = fit_mode(X, X["a"] + 0.5 * X["b"] + 0.3 * rng.standard_normal(N))
    return gpproj.forward_search(ref, progress=False)


def make_scores(differences=(-1.0, -0.5, 0.0, 0.0), m=N, seed=0, noise=0.2):
    """Scores of four sizes; mean differences of log density to the reference are as given."""
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(m)
    base = -1.0 + rng.standard_normal(m)
    away = noise * rng.standard_normal((len(differences), m))
    away -= away.mean(axis=1, keepdims=True) - np.asarray(differences)[:, None]
    means = y + rng.standard_normal((1 + len(differences), m))
    return Scores(np.arange(m), np.arange(m) % 3, y, means, np.vstack([base, base + away]))


def make(path, scores=None, search="inside", orders=None, method="kfold", **options):
    scores = make_scores() if scores is None else scores
    orders = (path.order,) if orders is None else orders
    return Validation(path.reference, path, method, search, scores, orders, **options)


# Statistics


def test_sums_of_log_densities(path):
    scores = make_scores()
    table = make(path, scores).summary(["elpd", "mlpd"])
    assert table.index.name == "size"
    assert table.index.tolist() == [0, 1, 2, 3]
    assert table["input"].tolist() == ["", *path.order]
    reference = make(path, scores).reference_summary(["elpd", "mlpd"])
    for size in range(-1, 4):
        own = scores.log_density[1 + size]
        row = reference if size < 0 else table.loc[size]
        assert row["elpd"] == pytest.approx(own.sum())
        assert row["elpd_se"] == pytest.approx(math.sqrt(N) * own.std(ddof=1))
        assert row["mlpd"] == pytest.approx(own.mean())
        assert row["mlpd_se"] == pytest.approx(own.std(ddof=1) / math.sqrt(N))
        if size >= 0:
            away = own - scores.log_density[0]
            assert row["elpd_diff"] == pytest.approx(away.sum())
            assert row["elpd_diff_se"] == pytest.approx(math.sqrt(N) * away.std(ddof=1))
            assert row["mlpd_diff_se"] == pytest.approx(row["elpd_diff_se"] / N)


def test_differences_have_their_own_standard_errors(path):
    """Predictions of the same rows go together: a sum of variances would be far too large."""
    table = make(path).summary("elpd")
    se = make(path).reference_summary("elpd")["elpd_se"]
    assert (5 * table["elpd_diff_se"] < np.hypot(table["elpd_se"], se)).all()


def jackknife(statistic, m):
    """Standard error of a statistic of some rows, leaving out one row at a time."""
    values = np.array([statistic(np.delete(np.arange(m), i)) for i in range(m)])
    return np.sqrt((m - 1) * np.var(values, axis=0))


def test_errors_of_means_against_the_jackknife(path):
    m = 400
    scores = make_scores(m=m)
    scores.mean[1] = 0.01  # hardly better than a constant: its share is known to be zero
    scores.mean[2] = scores.mean[0] + 0.1
    table = make(path, scores).summary(["rmse", "r2"])
    reference = make(path, scores).reference_summary(["rmse", "r2"])

    def rmse(rows):
        return np.sqrt(np.mean((scores.y - scores.mean)[:, rows] ** 2, axis=1))

    def r2(rows):
        return 1.0 - rmse(rows) ** 2 / np.var(scores.y[rows])

    for name, statistic in (("rmse", rmse), ("r2", r2)):
        value = statistic(np.arange(m))
        np.testing.assert_allclose(table[name], value[1:])
        np.testing.assert_allclose(table[f"{name}_diff"], value[1:] - value[0])
        assert reference[name] == pytest.approx(value[0])
        se = jackknife(statistic, m)
        assert reference[f"{name}_se"] == pytest.approx(se[0], rel=0.03)
        np.testing.assert_allclose(table[f"{name}_se"], se[1:], rtol=0.03, atol=1e-4)
        away = jackknife(lambda rows: statistic(rows)[1:] - statistic(rows)[0], m)  # noqa: B023
        np.testing.assert_allclose(table[f"{name}_diff_se"], away, rtol=0.03)
    assert table["r2_se"][0] < 0.01 < table["r2_se"][2]


def test_some_of_the_rows_stand_for_all(path):
    scores = make_scores().take(np.array([3, 5, 8, 13, 20, 21]))
    table = make(path, scores).summary("elpd")
    own = scores.log_density[2]
    assert table["elpd"][1] == pytest.approx(N * own.mean())
    assert table["elpd_se"][1] == pytest.approx(N * own.std(ddof=1) / math.sqrt(6))


def test_rows_that_are_predicted_often_count_once(path):
    scores = make_scores()
    shift = np.linspace(-1, 1, N)
    high = scores._replace(log_density=scores.log_density + shift, mean=scores.mean + shift)
    low = scores._replace(log_density=scores.log_density - shift, mean=scores.mean - shift)
    twice = joined([high, low.take(np.arange(N)[::-1])])
    pd.testing.assert_frame_equal(make(path, twice).summary(), make(path, scores).summary())
    thrice = joined([high, low, scores.take(np.array([4, 4]))])
    pd.testing.assert_frame_equal(make(path, thrice).summary(), make(path, scores).summary())


@settings(max_examples=20)
@given(
    order=st.permutations(range(N)),
    seed=st.integers(0, 100),
    search=st.sampled_from(["inside", "once"]),
)
def test_the_order_of_the_rows_does_not_matter(path, order, seed, search):
    scores = make_scores(seed=seed)
    one, two = (make(path, own, search) for own in (scores, scores.take(np.array(order))))
    pd.testing.assert_frame_equal(one.summary(), two.summary())
    pd.testing.assert_series_equal(one.reference_summary(), two.reference_summary())
    assert one.smallest_enough() == two.smallest_enough()


def test_one_row_has_no_standard_error(path):
    table = make(path, make_scores().take(np.array([2]))).summary()
    assert table[["elpd_se", "elpd_diff_se", "rmse_se", "r2_diff_se"]].isna().all(axis=None)


def test_perfect_predictions_have_no_error(path):
    scores = make_scores()
    table = make(path, scores._replace(mean=np.tile(scores.y, (5, 1)))).summary()
    for name, value in (("rmse", 0.0), ("rmse_se", 0.0), ("r2", 1.0), ("r2_diff_se", 0.0)):
        np.testing.assert_array_equal(table[name], value)


def test_unknown_statistics_are_refused(path):
    for method in ("summary", "reference_summary"):
        with pytest.raises(ValueError, match="stats must be among elpd, mlpd, rmse, r2; got 'auc'"):
            getattr(make(path), method)(["elpd", "auc"])


STATS = ("", "_se", "_diff", "_diff_se")


@pytest.mark.parametrize(
    ("cv", "names", "others"),
    [
        ("small_cv", ("elpd", "rmse", "r2"), ("mlpd",)),
        ("class_cv", ("elpd", "mlpd", "accuracy", "auc"), ("brier", "deviance")),
        ("count_cv", ("elpd", "mlpd", "rmse", "deviance"), ("r2",)),
    ],
)
def test_statistics_follow_the_targets(request, cv, names, others):
    cv = request.getfixturevalue(cv)
    table = cv.summary()
    columns = [name + part for name in names for part in STATS]
    shares = ["verdict", "kept", "kept_low", "kept_high", "expected_kept"]
    assert table.columns.tolist() == ["input", "agreement", "best_inputs", *shares, *columns]
    reference = cv.reference_summary()
    assert reference.index.tolist() == [name + part for name in names for part in STATS[:2]]
    nested = replace(cv, chosen=(3,) * 4).nested_summary()
    assert nested.columns.tolist() == ["size", *columns]
    np.testing.assert_allclose(nested.loc["chosen", columns], table.loc[3, columns].astype(float))
    assert sorted(cv.statistics) == sorted([*names, *others])
    assert np.isfinite(cv.summary(cv.statistics).iloc[:, 8:]).all(axis=None)


def test_statistics_of_other_targets_are_refused(small_cv, class_cv, count_cv):
    for cv, name, targets in (
        (small_cv, "accuracy", "real targets"),
        (class_cv, "rmse", "classes"),
        (count_cv, "auc", "counts"),
    ):
        nested = replace(cv, chosen=(1,) * 4)
        for ask in (cv.summary, cv.reference_summary, nested.nested_summary):
            with pytest.raises(ValueError, match=f"stats must be .* not suit {targets}"):
                ask(name)


def test_a_null_model_of_classes_is_worse_by_every_statistic(class_cv):
    table, full = class_cv.summary(class_cv.statistics), class_cv.reference_summary("auc")["auc"]
    assert (table.loc[0, ["elpd_diff", "accuracy_diff", "auc_diff"]] < 0.0).all()
    assert table["auc_diff"][0] == pytest.approx(table["auc"][0] - full)
    assert (table.loc[0, ["deviance_diff", "brier_diff"]] > 0.0).all()
    np.testing.assert_allclose(table["deviance"], -2.0 * table["mlpd"])


def test_every_prediction_is_in_a_table(path):
    scores = make_scores()
    table = make(path, scores).pointwise
    assert len(table) == 5 * N
    assert set(table.columns) == {"observation", "fold", "size", "y", "mean", "log_density"}
    reference = table[table["size"].isna()]
    np.testing.assert_array_equal(reference["log_density"], scores.log_density[0])
    row = table[(table["size"] == 2) & (table["observation"] == 7)].iloc[0]
    assert row["fold"] == scores.fold[7]
    assert row["y"] == scores.y[7]
    assert row["mean"] == scores.mean[3, 7]
    assert row["log_density"] == scores.log_density[3, 7]
    total = table.groupby("size")["log_density"].sum()
    np.testing.assert_allclose(total, make(path, scores).summary()["elpd"])


# Folds that agree


def test_agreement_and_proportions(path):
    first, second, third = path.order
    orders = (path.order, (second, first, third), (third, first, second), path.order)
    cv = make(path, orders=orders)
    agreement = cv.summary()["agreement"]
    assert math.isnan(agreement[0])
    # third, first, second does not have the second input among its first two
    assert agreement[1:].tolist() == [0.5, 0.75, 1.0]
    table = cv.ranking_proportions()
    assert table.columns.tolist() == [first, second, third]
    assert table.index.tolist() == [1, 2, 3]
    expected = [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]
    np.testing.assert_allclose(table, expected)
    np.testing.assert_allclose(cv.ranking_proportions(cumulate=True), np.cumsum(expected, axis=0))


def test_proportions_show_inputs_that_the_path_has_not(path):
    short = replace(path, units=path.units[:1], projections=path.projections[:2])
    first, second, _ = path.order
    cv = make(short, make_scores((-1.0, 0.0)), orders=((first,), (second,), (first,)))
    table = cv.ranking_proportions()
    assert table.columns.tolist() == [first, second]
    np.testing.assert_allclose(table, [[2 / 3, 1 / 3]])
    assert cv.summary()["agreement"][1] == pytest.approx(2 / 3)


def test_proportions_need_the_search_in_every_fold(path):
    with pytest.raises(ValueError, match='search="inside"'):
        make(path, search="once").ranking_proportions()


# Sizes


@pytest.mark.parametrize(
    ("differences", "noise", "se", "elpd"),
    [
        ((-1.0, -0.5, -0.01, 0.0), 0.2, 2, 2),
        ((-1.0, -0.5, -0.1, 0.0), 0.1, 3, 2),  # 2.4 of elpd: many standard errors, yet small
        ((-1.0, -0.3, -0.1, 0.0), 3.0, 1, 2),  # 7.2 is within one standard error, yet large
        ((0.1, -0.5, -0.5, 0.0), 0.1, 0, 0),
    ],
)
def test_the_smallest_size_that_is_enough(path, differences, noise, se, elpd):
    cv = make(path, make_scores(differences, noise=noise))
    assert cv.suggest_size("se") == se
    assert cv.suggest_size("elpd") == elpd
    assert cv.submodel(1) is path[1]


def test_the_rules_at_their_limits(path):
    scores = make_scores((-4.0 / N - 1e-9, -4.0 / N + 1e-9, 0.0, 0.0), noise=0.01)
    assert make(path, scores).suggest_size("elpd") == 1
    away = np.tile([1.0, -1.0], N // 2)
    se = math.sqrt(N) * away.std(ddof=1)
    for excess, size in ((-1e-6, 0), (1e-6, 3)):
        scores = make_scores((-1.0, -1.0, -1.0, 0.0), noise=0.0)
        scores.log_density[1] = scores.log_density[0] + away - (se + excess) / N
        assert make(path, scores).suggest_size("se") == size


def test_no_size_is_enough(path):
    cv = make(path, make_scores((-1.0, -0.9, -0.8, -0.7)))
    for rule in ("margin", "se", "elpd"):
        with pytest.warns(UserWarning, match="no submodel of up to 3 inputs is shown to be"):
            assert cv.suggest_size(rule) is None
    with (
        pytest.warns(UserWarning, match="no submodel"),
        pytest.raises(ValueError, match="no size is suggested: give one"),
    ):
        cv.submodel()
    assert cv.submodel(3) is path[3]
    assert repr(cv) == "Validation(kfold, search inside; no size is enough)"
    with pytest.raises(ValueError, match='rule must be "margin", "se" or "elpd", got \'best\''):
        cv.suggest_size("best")


def test_a_validation_shows_itself_without_warnings(path):
    cv = make(path, make_scores((-1.0, -0.9, -0.8, -0.7)), "once", method="loo")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(cv) == "Validation(loo, search once; no size is enough)"


# The whole procedure


def test_the_score_of_the_whole_procedure(path):
    scores = make_scores()
    chosen = (2, None, 0)
    cv = make(path, scores, orders=(path.order,) * 3, chosen=chosen)
    table = cv.nested_summary()
    sizes = np.array([2, 3, 0])  # all inputs where no size was enough
    own = scores.log_density[1 + sizes[scores.fold], np.arange(N)]
    means = scores.mean[1 + sizes[scores.fold], np.arange(N)]
    row = table.loc["chosen"]
    assert len(table) == 1
    assert row["size"] == pytest.approx(5 / 3)
    assert row["elpd"] == pytest.approx(own.sum())
    assert row["elpd_diff"] == pytest.approx((own - scores.log_density[0]).sum())
    away = own - scores.log_density[0]
    assert row["elpd_diff_se"] == pytest.approx(math.sqrt(N) * away.std(ddof=1))
    assert row["rmse"] == pytest.approx(math.sqrt(np.mean((scores.y - means) ** 2)))
    assert list(cv.nested_summary("elpd").columns) == [
        "size", "elpd", "elpd_se", "elpd_diff", "elpd_diff_se"
    ]  # fmt: skip


def test_the_whole_procedure_of_repeated_folds(path):
    scores = make_scores()
    twice = joined([scores, scores._replace(fold=scores.fold + 3)])
    cv = make(path, twice, orders=(path.order,) * 6, chosen=(1, 1, 1, 3, 3, 3))
    own = 0.5 * (scores.log_density[2] + scores.log_density[4])
    row = cv.nested_summary("elpd").loc["chosen"]
    assert row["elpd"] == pytest.approx(own.sum())
    assert row["elpd_se"] == pytest.approx(math.sqrt(N) * own.std(ddof=1))


def test_nothing_was_nested(path):
    with pytest.raises(ValueError, match="validate with nested=True"):
        make(path).nested_summary()


# Warnings


def validated(path, monkeypatch, scores, search="once"):
    """What `gpproj.validate` says of some scores."""
    result = LooResult(scores, None, None, np.zeros(0, dtype=np.intp))
    monkeypatch.setattr("gpproj.validation.validating.validate_loo", lambda *rest: result)
    parts = [FoldResult(scores, path.order)]
    monkeypatch.setattr("gpproj.validation.validating.validate_folds", lambda *rest: parts)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gpproj.validate(path.reference, path, "loo", search=search, progress=False)
    assert {one.filename for one in caught} <= {__file__}
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("search", ["once", "inside"])
def test_a_null_model_that_is_better_is_told(path, monkeypatch, search):
    scores = make_scores((0.5, -0.5, 0.0, 0.0), noise=0.5)
    (message,) = validated(path, monkeypatch, scores, search)
    assert "the null model predicts better than the reference (elpd difference" in message
    assert "the reference overfits" in message
    hardly = make_scores((0.1, -0.5, 0.0, 0.0), noise=3.0)  # 2.4, less than its error
    assert validated(path, monkeypatch, hardly, search) == []


def test_submodels_that_seem_better_are_told_of_a_search_that_was_not_validated(path, monkeypatch):
    scores = make_scores((-1.0, -0.5, 0.2, 0.0), noise=0.5)
    (message,) = validated(path, monkeypatch, scores)
    assert "a sign that the search has overfitted" in message
    assert 'search="inside"' in message
    assert validated(path, monkeypatch, scores, "inside") == []
    assert validated(path, monkeypatch, make_scores((-1.0, -0.5, 0.05, 0.0), noise=0.5)) == []
    assert validated(path, monkeypatch, make_scores((-1.0, -0.5, -0.2, -0.1))) == []
