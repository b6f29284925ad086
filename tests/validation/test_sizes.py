"""Which sizes are enough: three verdicts, from what was observed and what the reference expects."""

from __future__ import annotations

import numpy as np
import pytest

from gpproj.data import TargetKind
from gpproj.validation.scores import Scores
from gpproj.validation.sizes import (
    ERRORS,
    Margin,
    assess,
    bounded,
    heavy_rows,
    percentage,
)

REAL = TargetKind.REAL


def make(lost, m=400, gain=1.0, noise=0.0, expected=None, seed=0):
    """Scores of submodels that lose shares of the reference's gain; the null model is first."""
    rng = np.random.default_rng(seed)
    lost = np.array([1.0, *lost])[:, None] * gain
    away = lost + noise * rng.standard_normal((len(lost), m))
    density = np.vstack([np.zeros(m), -away])
    y = rng.standard_normal(m)
    mean = np.vstack([y, np.tile(y, (len(lost), 1))])
    divergence = None
    if expected is not None:
        own = np.array([1.0, *expected])[:, None] * gain * np.ones(m)
        divergence = np.vstack([np.zeros(m), own])
    rows = np.arange(m)
    return Scores(rows, rows % 5, y, mean, density, divergence)


def judged(scores, margin=Margin(), kind=REAL):  # noqa: B008
    return assess(scores, scores.y.size, kind, margin)


@pytest.mark.parametrize(
    ("lost", "noise", "expected", "verdicts", "size"),
    [
        # Observed alone: below the margin, within its error, above it.
        ((0.3, 0.01, 0.0), 0.1, None, ("not enough", "enough", "enough"), 2),
        ((0.3, 0.04, 0.0), 2.0, None, ("not enough", "not shown", "not shown"), None),
        ((0.3, 0.2, 0.2), 0.1, None, ("not enough",) * 3, None),
        # The reference expects the same, without noise.
        ((0.3, 0.01, 0.0), 0.4, (0.3, 0.02, 0.01), ("not enough", "enough", "enough"), 2),
        ((0.2, 0.0, 0.0), 0.4, (0.2, 0.02, 0.01), ("not enough", "enough", "enough"), 2),
        # What was lost is above the margin, although not clearly so.
        ((0.4, 0.15, 0.05), 1.5, (0.3, 0.02, 0.01), ("not enough", "not shown", "not shown"), None),
        # It expects little and much is lost: it is not trusted.
        ((0.3, 0.3, 0.0), 0.1, (0.01, 0.01, 0.01), ("not enough", "not enough", "enough"), 3),
        # It expects much and nothing is lost.
        ((0.0, 0.0, 0.0), 0.1, (0.3, 0.3, 0.01), ("enough",) * 3, 1),
    ],
)
def test_verdicts(lost, noise, expected, verdicts, size):
    found = judged(make(lost, noise=noise, expected=expected))
    assert found.verdict == ("not enough", *verdicts)
    assert found.smallest == size


def test_sizes_are_tested_from_the_largest_down():
    found = judged(make((0.01, 0.3, 0.01), noise=0.01))
    assert found.verdict == ("not enough", "enough", "not enough", "enough")
    assert found.smallest == found.smallest_possible == 3
    none = judged(make((0.3, 0.01, 0.3), noise=0.01))
    assert none.smallest is None
    assert none.smallest_possible is None


def test_no_gain_needs_no_input():
    found = judged(make((0.0, 0.0), gain=0.0, noise=1.0))
    assert not found.gains
    assert found.smallest == 0
    assert np.isnan(found.kept_low).all()


def test_a_reference_that_overfits_does_not_hide_an_input():
    """It is no better than the null model, and the first submodel much better than both."""
    rng = np.random.default_rng(0)
    scores = make((0.0, 0.0), gain=0.0, noise=0.5)
    density = scores.log_density.copy()
    density[2] += 0.5 + 0.1 * rng.standard_normal(400)
    found = judged(scores._replace(log_density=density))
    assert found.gains
    assert found.verdict[:2] == ("not enough", "enough")


def test_wrong_means_are_not_enough():
    """A large variance can forgive a wrong mean."""
    scores = make((0.0, 0.0), noise=0.01)
    mean = scores.mean.copy()
    rng = np.random.default_rng(1)
    mean[1] += rng.standard_normal(400)
    mean[2] += 0.5 * rng.standard_normal(400)
    found = judged(scores._replace(mean=mean))
    assert found.verdict == ("not enough", "not enough", "enough")


@pytest.mark.parametrize(
    ("margin", "smallest"),
    [
        (Margin(0.05), 3),
        (Margin(0.3), 2),
        (Margin(0.5), 1),
        (Margin(400 * 0.5, "elpd"), 1),
        (Margin(0.5, "mlpd"), 1),
        (Margin(400 * 0.3, "elpd"), 2),
        (Margin(0.3, "mlpd"), 2),
        (Margin(0.01, "rmse"), 3),
        (Margin(0.3, "rmse"), 2),
        (Margin(10.0, "rmse"), 0),
    ],
)
def test_margins_in_the_users_terms(margin, smallest):
    scores = make((0.4, 0.2, 0.0), noise=0.1)
    mean = scores.mean.copy()
    for line, error in enumerate((2.0, 1.0, 0.2), start=1):
        mean[line] += error * np.random.default_rng(line).standard_normal(400)
    # Means are judged where the margin is one of them.
    means = mean if margin.unit == "rmse" else scores.mean
    assert judged(scores._replace(mean=means), margin).smallest == smallest


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        (Margin(0.1, "inches"), "unit must be among gain, elpd, mlpd, rmse, r2; got 'inches'"),
        (Margin(0.1, "auc"), "unit must be among"),
        (Margin(0.0), "margin must be a number above 0"),
        (Margin(True), "margin must be a number above 0"),
        (Margin("a"), "margin must be a number above 0"),
        (Margin(1.0), "margin must be a share below 1"),
    ],
)
def test_margins_that_are_none(margin, message):
    with pytest.raises(ValueError, match=message):
        margin.check(REAL)


def test_bounds_of_normal_sums_are_two_errors():
    rows = np.random.default_rng(0).standard_normal((1, 3000))
    found = bounded(rows)
    se = rows.std(ddof=1) / np.sqrt(3000)
    assert found.high[0] - found.mean[0] == pytest.approx(ERRORS * se, rel=0.01)
    assert 900 < found.effective[0] < 1100  # a third of them


def test_few_rows_that_carry_the_sum_have_wide_bounds():
    rows = 0.1 * np.random.default_rng(0).standard_normal((1, 300))
    rows[0, 7] = 100.0
    found = bounded(rows)
    assert found.effective[0] == pytest.approx(1.0, abs=0.05)
    se = rows.std(ddof=1) / np.sqrt(300)
    assert found.high[0] - found.mean[0] == pytest.approx(4.53 * se, rel=0.02)  # t, two degrees
    rows[0, 50:60] = 100.0
    assert 10.0 < bounded(rows).effective[0] < 13.0
    assert bounded(np.ones((1, 5))).high[0] == 1.0
    assert np.isinf(bounded(np.ones((1, 1))).high[0])
    assert np.isfinite(bounded(np.array([[1e150, 0.0, -1e150]])).high).all()


def test_shares_cover_the_truth():
    """Bounds of the share kept, over repetitions with known means."""
    covered, wrong = 0, 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        gain = 0.5 + rng.standard_normal(200)
        loss = 0.1 + 0.3 * (gain - 0.5) + 0.2 * rng.standard_normal(200)
        density = np.vstack([np.zeros(200), -gain, -loss])
        rows = np.arange(200)
        found = judged(Scores(rows, rows, rows * 1.0, np.tile(rows * 1.0, (3, 1)), density))
        wrong += found.kept_low[1] > 0.8
        covered += found.kept_low[1] <= 0.8 <= found.kept_high[1]
    assert 0.92 < covered / 300 <= 0.99
    assert wrong < 15


def test_rows_that_carry_the_loss_are_named():
    scores = make((0.1,), m=50, noise=0.1)
    density = scores.log_density.copy()
    density[0, 17] = -100.0
    assert heavy_rows(scores._replace(log_density=density), 1).tolist() == [17]


def test_percentages():
    assert percentage(0.9951) == "99.5 %"
    assert percentage(0.5) == "50 %"
    assert percentage(-0.1) == "-10 %"


def test_copies_of_a_reference_that_is_too_sure_are_enough():
    """It is worse than the null model in log density, and much better by its means."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal(200)
    mean = np.vstack([y + 0.5 * rng.standard_normal(200)] + [np.zeros(200)] * 3)
    mean[2:] = mean[0] + 0.001 * rng.standard_normal((2, 200))
    sd = np.array([0.2, 1.0, 0.2, 0.2])[:, None]
    density = -0.5 * ((y - mean) / sd) ** 2 - np.log(sd)
    rows = np.arange(200)
    found = judged(Scores(rows, rows % 5, y, mean, density))
    assert density[1].mean() > density[0].mean() + 1.0
    assert found.gains
    assert found.verdict == ("not enough", "enough", "enough")


def test_a_wrong_reference_seldom_decides():
    """It expects no loss, and twice the margin is lost: what was observed must agree clearly."""
    enough = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        gain, loss = 0.5 + rng.standard_normal(100), 0.05 + 0.35 * rng.standard_normal(100)
        density = np.stack([np.zeros(100), -gain, -loss])
        divergence = np.stack([np.zeros(100), np.full(100, 0.5), np.full(100, 0.005)])
        y = rng.standard_normal(100)
        mean = np.stack([y, np.zeros(100), y])
        rows = np.arange(100)
        scores = Scores(rows, rows % 5, y, mean, density, divergence)
        enough += judged(scores).verdict[1] == "enough"
    assert enough < 30


def test_what_was_kept_is_not_called_too_little():
    """Whatever the reference expects."""
    for seed in range(50):
        scores = make((0.05,), m=100, noise=0.6, expected=(0.12,), seed=seed)
        found = judged(scores)
        if found.kept[1] > 0.95:
            assert found.verdict[1] != "not enough"


@pytest.mark.parametrize("kind", [REAL, TargetKind.COUNT])
def test_rows_that_are_impossible_leave_everything_open(kind):
    scores = make((0.1, 0.0), noise=0.1)
    density = scores.log_density.copy()
    density[1, 7] = -np.inf
    found = judged(scores._replace(log_density=density), kind=kind)
    assert found.verdict == ("not shown",) * 3
    assert found.smallest is None
    assert judged(scores.take(np.arange(1))).verdict == ("not shown",) * 3


def test_many_larger_sizes_are_not_each_a_chance_of_their_own():
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores = make((0.0,) * 20, gain=0.0, m=100)
        noisy = scores.log_density + 0.1 * rng.standard_normal(scores.log_density.shape)
        wrong += judged(scores._replace(log_density=noisy)).gains
    assert wrong <= 14  # about 2.3 % for the gain, and as much for all sizes together
