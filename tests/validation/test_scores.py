"""Statistics of classes and counts: values against scikit-learn, standard errors against others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import bernoulli, poisson
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    mean_poisson_deviance,
    roc_auc_score,
)

from gpproj.data import TargetKind
from gpproj.validation.scores import STATISTICS, Scores, check_stats


def make_classes(m=300, seed=0, decimals=2):
    """A reference, two submodels, of which one is much like it, and a null model."""
    rng = np.random.default_rng(seed)
    signal, noise = rng.standard_normal((2, m))
    y = (signal + noise > 0.5).astype(float)
    better = 0.35 + 0.2 * signal + 0.05 * rng.standard_normal(m)
    alike = better + 0.08 * rng.standard_normal(m)
    worse = 0.35 + 0.2 * (0.5 * signal + rng.standard_normal(m))
    lines = np.stack([better, alike, worse, np.full(m, 0.35)])
    mean = np.clip(np.round(lines, decimals), 0.01, 0.99)
    return Scores(np.arange(m), np.arange(m) % 5, y, mean, bernoulli.logpmf(y, mean))


def make_counts(m=200, seed=0):
    rng = np.random.default_rng(seed)
    mean = np.exp(rng.normal(0.0, 0.7, (3, m)))
    y = rng.poisson(mean[0]).astype(float)
    assert (y == 0.0).any()
    return Scores(np.arange(m), np.arange(m) % 5, y, mean, poisson.logpmf(y, mean))


def of(scores, kind, name):
    return STATISTICS[kind][name].compute(scores, scores.y.size)


# Values


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("accuracy", lambda y, p: accuracy_score(y, p >= 0.5)),
        ("auc", roc_auc_score),
        ("brier", brier_score_loss),
        ("deviance", lambda y, p: 2.0 * log_loss(y, p)),
    ],
)
def test_statistics_of_classes_are_those_of_scikit_learn(name, score):
    scores = make_classes()
    assert len(np.unique(scores.mean[0])) < 150  # there are ties
    found = of(scores, "binary", name)
    expected = np.array([score(scores.y, line) for line in scores.mean])
    np.testing.assert_allclose(found.value, expected, rtol=1e-12)
    np.testing.assert_allclose(found.difference, expected - expected[0], atol=1e-12)
    assert found.difference_se[0] == 0.0


def test_the_deviance_of_counts_is_that_of_scikit_learn():
    scores = make_counts()
    found = of(scores, "count", "deviance")
    expected = np.array([mean_poisson_deviance(scores.y, line) for line in scores.mean])
    np.testing.assert_allclose(found.value, expected, rtol=1e-12)
    np.testing.assert_allclose(found.difference, expected - expected[0], atol=1e-12)
    perfect = of(scores._replace(mean=np.maximum(scores.y, 1e-300)[None, :]), "count", "deviance")
    assert perfect.value[0] == pytest.approx(0.0, abs=1e-12)


def test_one_half_is_for_the_second_class():
    scores = make_classes(m=10)._replace(mean=np.full((1, 10), 0.5))
    assert of(scores, "binary", "accuracy").value[0] == pytest.approx(scores.y.mean())


def test_errors_of_means_are_those_of_their_points():
    scores, counts = make_classes(), make_counts()
    right = ((scores.mean >= 0.5) == (scores.y == 1.0)).astype(float)
    unit = 2.0 * (poisson.logpmf(counts.y, np.maximum(counts.y, 1e-300)) - counts.log_density)
    for found, points in (
        (of(scores, "binary", "accuracy"), right),
        (of(scores, "binary", "brier"), (scores.y - scores.mean) ** 2),
        (of(scores, "binary", "deviance"), -2.0 * scores.log_density),
        (of(counts, "count", "deviance"), unit),
    ):
        root = math.sqrt(points.shape[1])
        np.testing.assert_allclose(found.se, points.std(axis=1, ddof=1) / root, rtol=1e-9)
        away = (points - points[0]).std(axis=1, ddof=1) / root
        np.testing.assert_allclose(found.difference_se, away, rtol=1e-9, atol=1e-15)


# The area under the curve


def delong(y, mean):
    """Covariance of the areas by DeLong, DeLong and Clarke-Pearson (1988), from all pairs."""
    one, zero = mean[:, y == 1.0, None], mean[:, None, y == 0.0]
    pairs = (one > zero) + 0.5 * (one == zero)
    of_ones, of_zeros = pairs.mean(axis=2), pairs.mean(axis=1)
    return np.cov(of_ones) / of_ones.shape[1] + np.cov(of_zeros) / of_zeros.shape[1]


def test_errors_of_areas_are_those_of_delong():
    scores = make_classes()
    found = of(scores, "binary", "auc")
    covariance = delong(scores.y, scores.mean)
    variance = np.diag(covariance)
    np.testing.assert_allclose(found.se, np.sqrt(variance), rtol=1e-10)
    away = variance + variance[0] - 2.0 * covariance[0]
    np.testing.assert_allclose(found.difference_se[1:], np.sqrt(away[1:]), rtol=1e-10)
    assert found.se[3] == found.difference_se[0] == 0.0  # all tied


def test_errors_of_areas_against_the_bootstrap():
    scores = make_classes()
    found = of(scores, "binary", "auc")
    rng = np.random.default_rng(1)
    m = scores.y.size
    samples = [of(scores.take(rng.integers(0, m, m)), "binary", "auc").value for _ in range(1500)]
    se = np.std(samples, axis=0)
    np.testing.assert_allclose(found.se[:3], se[:3], rtol=0.1)
    away = np.std(np.array(samples) - np.array(samples)[:, :1], axis=0)
    np.testing.assert_allclose(found.difference_se[1:3], away[1:3], rtol=0.1)
    # Two that are much alike: their difference is known far better than either.
    assert found.difference_se[1] < 0.5 * found.se[1]


def test_classes_that_are_told_apart_have_an_area_of_one():
    scores = make_classes(m=20)
    mean = np.stack([0.2 + 0.6 * scores.y, 0.8 - 0.6 * scores.y])
    found = of(scores._replace(mean=mean), "binary", "auc")
    assert found.value.tolist() == [1.0, 0.0]
    assert found.se.tolist() == [0.0, 0.0]


def test_rounding_errors_do_not_break_ties():
    scores = make_classes()
    jitter = 1.0 + 1e-15 * np.random.default_rng(0).integers(-3, 4, (1, 300))
    constant = scores._replace(mean=0.35 * jitter)
    assert np.unique(constant.mean).size > 3
    assert of(constant, "binary", "auc").value[0] == 0.5


@pytest.mark.parametrize("seen", [0.0, 1.0])
def test_one_class_has_no_area(seen):
    scores = make_classes()
    found = of(scores.take(np.flatnonzero(scores.y == seen)), "binary", "auc")
    assert np.isnan(found).all()
    assert np.shape(found) == (4, 4)


def test_a_class_of_one_row_has_an_area_without_a_standard_error():
    scores = make_classes()
    rows = np.append(np.flatnonzero(scores.y == 0.0), np.flatnonzero(scores.y == 1.0)[3])
    few = scores.take(rows)
    found = of(few, "binary", "auc")
    expected = [roc_auc_score(few.y, line) for line in few.mean]
    np.testing.assert_allclose(found.value, expected)
    assert np.isnan(found.se).all()
    assert np.isnan(found.difference_se).all()


# Which suit what


@pytest.mark.parametrize(
    ("kind", "suitable"),
    [
        ("real", ["elpd", "mlpd", "rmse", "r2"]),
        ("binary", ["elpd", "mlpd", "accuracy", "auc", "brier", "deviance"]),
        ("count", ["elpd", "mlpd", "rmse", "r2", "deviance"]),
    ],
)
def test_statistics_suit_some_targets(kind, suitable):
    assert list(STATISTICS[kind]) == suitable
    assert check_stats(suitable, TargetKind(kind)) == tuple(suitable)
    assert check_stats(None, TargetKind(kind)) == TargetKind(kind).default_statistics
    assert set(TargetKind(kind).default_statistics) <= set(suitable)
    assert set(TargetKind(kind).reported_statistics) <= set(suitable)


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("real", "auc", "rmse, r2; got 'auc', which does not suit real targets"),
        ("binary", "r2", "deviance; got 'r2', which does not suit classes"),
        ("count", "brier", "r2, deviance; got 'brier', which does not suit counts"),
        ("count", "mean", "r2, deviance; got 'mean'$"),
    ],
)
def test_statistics_that_do_not_suit_are_refused(kind, name, said):
    with pytest.raises(ValueError, match=f"^stats must be among elpd, mlpd, .*{said}"):
        check_stats(["elpd", name], TargetKind(kind))


# The difference estimator


def make_approximate(n=400, m=80, seed=0):
    """Two models, and a cheaper method that is half a nat off, with little scatter."""
    rng = np.random.default_rng(seed)
    exact = np.stack([rng.standard_normal(n), rng.standard_normal(n) - 1.0])
    cheap = exact + 0.5 + 0.1 * rng.standard_normal((2, n))
    rows = np.sort(rng.choice(n, m, replace=False))
    zeros = np.zeros((2, m))
    scores = Scores(rows, rows, zeros[0], zeros, exact[:, rows], approximate=cheap)
    return scores, exact, cheap


def test_all_rows_are_corrected_by_what_the_exact_ones_are_off():
    scores, exact, cheap = make_approximate()
    n, m, rows = 400, 80, scores.rows
    found = of_n(scores, n)
    error = exact[:, rows] - cheap[:, rows]
    np.testing.assert_allclose(found.value, n * (cheap.mean(axis=1) + error.mean(axis=1)))
    covariance = [np.cov(cheap[k, rows], error[k])[0, 1] for k in range(2)]
    square = cheap.var(axis=1) / n + error.var(axis=1) / m + 2.0 * np.array(covariance) / n
    np.testing.assert_allclose(found.se, n * np.sqrt(square), rtol=0.02)
    np.testing.assert_allclose(found.difference[1], found.value[1] - found.value[0])


def of_n(scores, n):
    return STATISTICS[TargetKind.REAL]["elpd"].compute(scores, n)


def test_it_is_unbiased_and_its_error_is_the_one_told():
    found, told, plain = [], [], []
    for seed in range(300):
        scores, *_ = make_approximate(seed=seed)
        one = of_n(scores, 400)
        found.append(one.difference[1])
        told.append(one.difference_se[1])
        plain.append(of_n(scores._replace(approximate=None), 400).difference[1])
    assert np.mean(found) == pytest.approx(-400.0, abs=4.0 * np.std(found) / np.sqrt(300))
    assert np.std(found) == pytest.approx(np.mean(told), rel=0.15)
    assert np.std(plain) > 1.8 * np.std(found)


def test_other_statistics_are_those_of_the_exact_rows():
    scores, *_ = make_approximate()
    y = np.random.default_rng(1).standard_normal(80)
    scores = scores._replace(y=y)
    rmse = STATISTICS[TargetKind.REAL]["rmse"].compute(scores, 400)
    assert rmse.value[0] == pytest.approx(np.sqrt(np.mean(y**2)))


def test_models_and_averages_keep_all_rows():
    scores, *_ = make_approximate()
    assert scores.models(np.array([1])).approximate.shape == (1, 400)
    assert scores.averaged().approximate is scores.approximate
