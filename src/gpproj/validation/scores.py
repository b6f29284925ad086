"""Pointwise predictions of a reference and its submodels, and statistics of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host


class Scores(NamedTuple):
    """Predictions of rows that the models have not seen, in the user's units.

    The first line of every table is the reference, then come the submodels by size.
    """

    rows: NDArray[np.intp]
    """Which observations they are, `(m,)`."""
    fold: NDArray[np.intp]
    """The fold that each was predicted in, `(m,)`."""
    y: Host
    """`(m,)`."""
    mean: Host
    """`(1 + sizes, m)`, predicted mean of y."""
    log_density: Host
    """`(1 + sizes, m)`, log predictive density of y."""

    def take(self, columns: NDArray[np.intp]) -> Scores:
        """Return some of the predictions."""
        return Scores(
            self.rows[columns],
            self.fold[columns],
            self.y[columns],
            self.mean[:, columns],
            self.log_density[:, columns],
        )

    def averaged(self) -> Scores:
        """Return one prediction for each observation: the average, if it was predicted often."""
        rows, place, count = np.unique(self.rows, return_inverse=True, return_counts=True)
        if len(rows) == len(self.rows):
            return self.take(np.argsort(self.rows))

        def average(table: Host) -> Host:
            sums = [np.bincount(place, weights=line) for line in table]
            return np.stack(sums) / count

        first = np.array([np.flatnonzero(place == one)[0] for one in range(len(rows))])
        return Scores(
            rows, self.fold[first], self.y[first], average(self.mean), average(self.log_density)
        )


def joined(parts: list[Scores]) -> Scores:
    """Return the predictions of several folds together."""
    return Scores(*(np.concatenate(field, axis=-1) for field in zip(*parts, strict=True)))


class Statistic(NamedTuple):
    """A statistic of every model, and its difference to the reference's."""

    value: Host
    """`(models,)`."""
    se: Host
    """Standard errors, `(models,)`."""
    difference: Host
    """To the reference, positive where it is larger, `(models,)`."""
    difference_se: Host
    """Standard errors of the differences, from differences point by point, `(models,)`."""


def elpd(scores: Scores, n: int) -> Statistic:
    """Sum of log predictive densities of n observations, of which some were predicted."""
    return _mean_of(scores.log_density, n)


def mlpd(scores: Scores, n: int) -> Statistic:
    """Mean log predictive density."""
    return _mean_of(scores.log_density, 1)


def rmse(scores: Scores, n: int) -> Statistic:
    """Root of the mean squared error of the predicted means; standard errors to first order."""
    squares = (scores.y - scores.mean) ** 2
    value = np.sqrt(squares.mean(axis=1))
    # d sqrt(a) = da / (2 sqrt(a)), for both terms of a difference
    pointwise = squares / (2.0 * np.maximum(value, np.finfo(float).tiny)[:, None])
    linear = _mean_of(pointwise, 1)
    return Statistic(value, linear.se, value - value[0], linear.difference_se)


def r2(scores: Scores, n: int) -> Statistic:
    """Share of the variance of y that the predicted means explain; standard errors likewise."""
    squares, away = (scores.y - scores.mean) ** 2, (scores.y - scores.y.mean()) ** 2
    variance = float(away.mean()) or np.nan  # nothing to explain: no share of it
    value = 1.0 - squares.mean(axis=1) / variance
    # d (a / b) = (da - (a / b) db) / b: the variance of y is an estimate too
    linear = _mean_of((squares - (1.0 - value)[:, None] * away) / variance, 1)
    return Statistic(value, linear.se, value - value[0], linear.difference_se)


STATISTICS: dict[str, Callable[[Scores, int], Statistic]] = {
    "elpd": elpd,
    "mlpd": mlpd,
    "rmse": rmse,
    "r2": r2,
}


def check_stats(stats: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of statistics, or refuse those that do not exist."""
    names = (stats,) if isinstance(stats, str) else tuple(stats)
    for name in names:
        if name not in STATISTICS:
            raise ValueError(f"stats must be among {', '.join(STATISTICS)}; got {name!r}")
    return names


def _mean_of(pointwise: Host, times: int) -> Statistic:
    """Return `times` the means over the points, with standard errors."""

    def se(values: Host) -> Host:
        m = values.shape[1]
        if m < 2:
            return np.full(values.shape[0], np.nan)
        found: Host = times * np.std(values, axis=1, ddof=1) / np.sqrt(m)
        return found

    away = pointwise - pointwise[0]
    return Statistic(
        times * pointwise.mean(axis=1), se(pointwise), times * away.mean(axis=1), se(away)
    )
