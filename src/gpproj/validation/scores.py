"""Pointwise predictions of a reference and its submodels, and statistics of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import kl_div
from scipy.stats import rankdata

from gpproj.data import TargetKind
from gpproj.linalg import Host


class Scores(NamedTuple):
    """Predictions of rows that the models have not seen, in the user's units.

    The first line of every table is the reference, then come the submodels by size.
    """

    rows: NDArray[np.intp]
    """Positions of the observations, `(m,)`."""
    fold: NDArray[np.intp]
    """The fold that each was predicted in, `(m,)`."""
    y: Host
    """Targets, `(m,)`; classes are 0 and 1."""
    mean: Host
    """Predicted means of y, `(1 + sizes, m)`; for classes, probabilities of the second one."""
    log_density: Host
    """Log predictive densities of y, `(1 + sizes, m)`."""
    divergence: Host | None = None
    """Divergences from the predictions of the reference to those of each model: what it loses in
    log density if the reference is right, `(1 + sizes, m)`. None where they were not computed."""
    approximate: Host | None = None
    """Log predictive densities of all n observations, of which those in `rows` are a random choice,
    by a cheaper and less exact method, `(1 + sizes, n)`. None where there are none."""

    @property
    def density(self) -> Host:
        """Log predictive densities for means over the rows, `(1 + sizes, m)` or `(1 + sizes, n)`.

        Where all rows were predicted approximately, with a_i, and the m rows of a random choice S
        exactly as well, with b_i = a_i + e_i, these are the n values

            a_i + e + (n / m) (e_i - e) [i in S],   e = mean of e_i over S,

        whose mean is the difference estimator mean(a) + e (Magnusson et al., 2020), and whose
        variance divided by n is var(a) / n + var(e) / m + 2 cov(a, e) / n, the square of its error.
        """
        if self.approximate is None:
            return self.log_density
        n, m = self.approximate.shape[1], self.rows.size
        error = self.log_density - self.approximate[:, self.rows]
        mean = error.mean(axis=1, keepdims=True)
        found: Host = self.approximate + mean
        found[:, self.rows] += (n / m) * (error - mean)
        return found

    def take(self, columns: NDArray[np.intp]) -> Scores:
        """Return some of the predictions."""
        own = self._replace(approximate=None)
        taken = Scores._make(None if field is None else field[..., columns] for field in own)
        return taken._replace(approximate=self.approximate)

    def models(self, lines: NDArray[np.intp]) -> Scores:
        """Return the predictions of some of the models, the reference first."""
        divergence, approximate = (
            None if table is None else table[lines] for table in (self.divergence, self.approximate)
        )
        return self._replace(
            mean=self.mean[lines],
            log_density=self.log_density[lines],
            divergence=divergence,
            approximate=approximate,
        )

    def averaged(self) -> Scores:
        """Return one prediction for each observation: the average, if it was predicted often."""
        rows, first, place, count = np.unique(
            self.rows, return_index=True, return_inverse=True, return_counts=True
        )
        if len(rows) == len(self.rows):
            return self.take(first)

        def average(table: Host) -> Host:
            return np.stack([np.bincount(place, weights=line) for line in table]) / count

        divergence = None if self.divergence is None else average(self.divergence)
        means, densities = average(self.mean), average(self.log_density)
        return self._replace(
            rows=rows,
            fold=self.fold[first],
            y=self.y[first],
            mean=means,
            log_density=densities,
            divergence=divergence,
        )


def joined(parts: list[Scores]) -> Scores:
    """Return the predictions of several folds together."""
    rows, fold, y, mean, density, divergences, _ = zip(*parts, strict=True)
    known = [one for one in divergences if one is not None]
    fields = [rows, fold, y, mean, density, *([known] if len(known) == len(parts) else [])]
    return Scores(*(np.concatenate(field, axis=-1) for field in fields))


class Statistic(NamedTuple):
    """A statistic of every model, and its difference to the reference's."""

    value: Host
    """Values, `(models,)`."""
    se: Host
    """Standard errors, `(models,)`."""
    difference: Host
    """To the reference, positive where it is larger, `(models,)`."""
    difference_se: Host
    """Standard errors of the differences, from differences point by point, `(models,)`."""


def elpd(scores: Scores, n: int) -> Statistic:
    """Sum of log predictive densities of n observations, of which some were predicted."""
    return _mean_of(scores.density, n)


def mlpd(scores: Scores, n: int) -> Statistic:
    """Mean log predictive density."""
    return _mean_of(scores.density, 1)


def rmse(scores: Scores, n: int) -> Statistic:
    """Root of the mean squared error of the predicted means; standard errors to first order."""
    squares = (scores.y - scores.mean) ** 2
    value = np.sqrt(squares.mean(axis=1))
    # d sqrt(a) = da / (2 sqrt(a)), for both terms of a difference
    pointwise = squares / (2.0 * np.maximum(value, np.finfo(float).tiny)[:, None])
    linear = _mean_of(pointwise, 1)
    return Statistic(value, linear.se, value - value[0], linear.difference_se)


def r2(scores: Scores, n: int) -> Statistic:
    """Share of the variance of y that the predicted means explain, with errors to first order."""
    squares, away = (scores.y - scores.mean) ** 2, (scores.y - scores.y.mean()) ** 2
    variance = float(away.mean()) or np.nan  # nothing to explain: no share of it
    value = 1.0 - squares.mean(axis=1) / variance
    # d (a / b) = (da - (a / b) db) / b: the variance of y is an estimate too
    linear = _mean_of((squares - (1.0 - value)[:, None] * away) / variance, 1)
    return Statistic(value, linear.se, value - value[0], linear.difference_se)


def accuracy(scores: Scores, n: int) -> Statistic:
    """Share of the rows whose class was given a probability of one half or more."""
    right = (scores.mean >= 0.5) == (scores.y == 1.0)
    return _mean_of(right.astype(float), 1)


def brier(scores: Scores, n: int) -> Statistic:
    """Mean squared error of the probability of the second class."""
    return _mean_of((scores.y - scores.mean) ** 2, 1)


def auc(scores: Scores, n: int) -> Statistic:
    """Area under the ROC curve: how often the second class has the larger probability.

    The pairs are all of a row of one class and a row of the other; ties count one half. Standard
    errors are DeLong's: those of the mean, over the rows of each class, of the share of the other
    class that a row is on the right side of. All are NaN where there is one class only.
    """
    second = scores.y == 1.0
    ones, zeros = int(second.sum()), int((~second).sum())
    if not (ones and zeros):
        unknown = np.full(len(scores.mean), np.nan)
        return Statistic(unknown, unknown, unknown, unknown)
    mean = np.round(scores.mean, 12)  # what rounding errors tell apart is a tie
    everyone = rankdata(mean, axis=1)
    # A rank among all less the one within the class: how many of the other class are below.
    above = (everyone[:, second] - rankdata(mean[:, second], axis=1)) / zeros
    below = 1.0 - (everyone[:, ~second] - rankdata(mean[:, ~second], axis=1)) / ones
    parts = [_mean_of(above, 1), _mean_of(below, 1)]
    return Statistic(
        parts[0].value,
        np.hypot(parts[0].se, parts[1].se),
        parts[0].difference,
        np.hypot(parts[0].difference_se, parts[1].difference_se),
    )


def class_deviance(scores: Scores, n: int) -> Statistic:
    """Mean of minus two log probabilities of the classes seen."""
    return _mean_of(-2.0 * scores.density, 1)


def count_deviance(scores: Scores, n: int) -> Statistic:
    """Mean unit deviance of a Poisson distribution with the predicted means."""
    return _mean_of(2.0 * kl_div(scores.y, scores.mean), 1)


class Metric(NamedTuple):
    """A statistic by which predictions are compared, and the words for it."""

    compute: Callable[[Scores, int], Statistic]
    """From predictions, and the number of all observations, to the statistic of every model."""
    label: str
    """Its name in a sentence."""
    noun: str
    """What it stands for, in words."""
    larger_is_better: bool = True
    decimals: int | None = 2
    """How many decimals of its value are printed; None for a value in units of the target."""
    meaning: str = ""
    """An explanation, for statistics that not everyone knows."""


_ANY = {
    "elpd": Metric(elpd, "elpd", "expected log predictive density", decimals=1),
    "mlpd": Metric(mlpd, "mlpd", "mean log predictive density"),
}
_SQUARES = {
    "rmse": Metric(rmse, "RMSE", "error", larger_is_better=False, decimals=None),
    "r2": Metric(r2, "R²", "explained variance"),
}

STATISTICS: dict[TargetKind, dict[str, Metric]] = {
    TargetKind.REAL: _ANY | _SQUARES,
    TargetKind.BINARY: _ANY
    | {
        "accuracy": Metric(
            accuracy,
            "accuracy",
            "accuracy",
            meaning="Accuracy: the share of the rows whose own class was given a probability of "
            "one half or more.",
        ),
        "auc": Metric(
            auc,
            "AUC",
            "area under the ROC curve",
            meaning="AUC: over pairs of rows, one of each class, how often the probabilities are "
            "in the right order; one half is chance.",
        ),
        "brier": Metric(
            brier,
            "Brier score",
            "squared error of the probability",
            larger_is_better=False,
            decimals=3,
        ),
        "deviance": Metric(class_deviance, "mean deviance", "deviance", larger_is_better=False),
    },
    TargetKind.COUNT: _ANY
    | _SQUARES
    | {
        "deviance": Metric(
            count_deviance,
            "mean deviance",
            "deviance",
            larger_is_better=False,
            meaning="Deviance: twice the log probability that a Poisson distribution loses as its "
            "mean moves from the count itself to the prediction; smaller is better.",
        )
    },
}
"""The statistics that suit each kind of targets, by name."""


def check_stats(stats: str | Iterable[str] | None, kind: TargetKind) -> tuple[str, ...]:
    """Return the names of statistics, or refuse those that do not suit the targets.

    Parameters
    ----------
    stats : str, iterable of str or None
        None for the default statistics of the kind.
    kind : TargetKind
        The kind of the targets.
    """
    if stats is None:
        return kind.default_statistics
    names = (stats,) if isinstance(stats, str) else tuple(stats)
    suitable = STATISTICS[kind]
    for name in names:
        if name not in suitable:
            known = any(name in others for others in STATISTICS.values())
            why = f", which does not suit {kind.plural}" if known else ""
            raise ValueError(f"stats must be among {', '.join(suitable)}; got {name!r}{why}")
    return names


def statistics_table(
    scores: Scores, n: int, kind: TargetKind, stats: str | Iterable[str] | None
) -> dict[str, Host]:
    """Return the columns of statistics of every model, `(models,)` each.

    Every statistic has four columns: its value, `_se`, the standard error, and `_diff` and
    `_diff_se`, those of its difference to the reference.

    Parameters
    ----------
    scores : Scores
        One prediction for each observation.
    n : int
        Number of all observations.
    kind : TargetKind
    stats : str, iterable of str or None
        As for `check_stats`.
    """
    columns: dict[str, Host] = {}
    for name in check_stats(stats, kind):
        statistic = STATISTICS[kind][name].compute(scores, n)
        for label, column in zip(("", "_se", "_diff", "_diff_se"), statistic, strict=True):
            columns[name + label] = column
    return columns


def _mean_of(pointwise: Host, times: int) -> Statistic:
    """Return `times` the means over the points, with standard errors."""

    def se(values: Host) -> Host:
        m = values.shape[1]
        if m < 2:
            return np.full(values.shape[0], np.nan)
        return np.asarray(times * np.std(values, axis=1, ddof=1) / np.sqrt(m))

    away = pointwise - pointwise[0]
    return Statistic(
        times * pointwise.mean(axis=1), se(pointwise), times * away.mean(axis=1), se(away)
    )
