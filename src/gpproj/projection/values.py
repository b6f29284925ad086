"""The results of objectives, and predictions of single rows compared with the reference's."""

from __future__ import annotations

from typing import NamedTuple

from gpproj.linalg import Array, Host, namespace
from gpproj.reference import LeaveOneOut, StackedLeaveOneOut


class Value(NamedTuple):
    """An objective to be minimised, lane by lane, on the host."""

    value: Host
    """`(b,)`; infinite in lanes whose covariance could not be factorised."""
    gradient: Host
    """`(b, p)` with respect to the log parameters."""


class Derivative(NamedTuple):
    """An objective and its derivative in the covariance of a submodel."""

    value: Array
    """`(b,)`."""
    G: Array
    """`(b, n, n)`, the derivative with respect to K."""
    failed: Array
    """`(b,)`: lanes whose covariance could not be factorised."""


class Compared(NamedTuple):
    """Predictions of single rows compared with the reference's, `(b, u)` each but the value."""

    value: Array
    """E, `(b,)`: the sum of `rows`."""
    rows: Array
    """What every row contributes to E."""
    by_mean: Array
    """a = dE/dm'."""
    by_variance: Array
    """h = dE/dV."""


def compared(target: LeaveOneOut | StackedLeaveOneOut, mean: Array, variance: Array) -> Compared:
    """Return E of predictions N(m', V), `(b, u)` each, and its derivatives in them."""
    xp = namespace(variance)
    away = mean - target.mean
    ratio = target.variance / variance
    standing = away / variance
    spread = ratio + away * standing
    rows = 0.5 * target.count * (spread - 1.0 - xp.log(ratio))
    by_variance = 0.5 * target.count * (1.0 - spread) / variance
    return Compared(xp.sum(rows, axis=-1), rows, target.count * standing, by_variance)
