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
    """Which observations they are, `(m,)`."""
    fold: NDArray[np.intp]
    """The fold that each was predicted in, `(m,)`."""
    y: Host
    """`(m,)`; of classes 0 and 1."""
    mean: Host
    """`(1 + sizes, m)`, predicted mean of y: of classes the probability of the second one."""
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

    def models(self, lines: NDArray[np.intp]) -> Scores:
        """Return the predictions of some of the models, the reference first."""
        return self._replace(mean=self.mean[lines], log_density=self.log_density[lines])

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


def accuracy(scores: Scores, n: int) -> Statistic:
    """Share of the rows whose class was given a probability of one half or more."""
    right = (scores.mean >= 0.5) == (scores.y == 1.0)
    return _mean_of(right.astype(float), 1)


def brier(scores: Scores, n: int) -> Statistic:
    """Mean squared error of the probability of the second class."""
    return _mean_of((scores.y - scores.mean) ** 2, 1)


def auc(scores: Scores, n: int) -> Statistic:
    """Area under the ROC curve: how often the second class has the larger probability.

    Over all pairs of a row of either class; ties count one half. Standard errors are DeLong's:
    those of the mean, over the rows of each class, of the share of the other class that a row is
    on the right side of. NaN where there is one class only.
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
    return _mean_of(-2.0 * scores.log_density, 1)


def count_deviance(scores: Scores, n: int) -> Statistic:
    """Mean unit deviance of a Poisson distribution with the predicted means."""
    return _mean_of(2.0 * kl_div(scores.y, scores.mean), 1)


_ANY = {"elpd": elpd, "mlpd": mlpd}

STATISTICS: dict[TargetKind, dict[str, Callable[[Scores, int], Statistic]]] = {
    TargetKind.REAL: _ANY | {"rmse": rmse, "r2": r2},
    TargetKind.BINARY: _ANY
    | {"accuracy": accuracy, "auc": auc, "brier": brier, "deviance": class_deviance},
    TargetKind.COUNT: _ANY | {"rmse": rmse, "r2": r2, "deviance": count_deviance},
}
"""Of each kind of targets, those that make sense, by name."""

DEFAULTS: dict[TargetKind, tuple[str, ...]] = {
    TargetKind.REAL: ("elpd", "rmse", "r2"),
    TargetKind.BINARY: ("elpd", "mlpd", "accuracy", "auc"),
    TargetKind.COUNT: ("elpd", "mlpd", "rmse", "deviance"),
}
"""Those that are shown unless others are asked for."""

TARGETS: dict[TargetKind, str] = {
    TargetKind.REAL: "real targets",
    TargetKind.BINARY: "classes",
    TargetKind.COUNT: "counts",
}


def check_stats(stats: str | Iterable[str] | None, kind: TargetKind) -> tuple[str, ...]:
    """Return the names of statistics, or refuse those that do not suit the targets.

    Parameters
    ----------
    stats : str, iterable of str or None
        None for those that are shown unless others are asked for.
    kind : TargetKind
        Of the targets.
    """
    if stats is None:
        return DEFAULTS[kind]
    names = (stats,) if isinstance(stats, str) else tuple(stats)
    suitable = STATISTICS[kind]
    for name in names:
        if name not in suitable:
            known = any(name in others for others in STATISTICS.values())
            why = f", which does not suit {TARGETS[kind]}" if known else ""
            raise ValueError(f"stats must be among {', '.join(suitable)}; got {name!r}{why}")
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
