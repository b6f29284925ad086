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
    """E, `(b,)`."""
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
    value = 0.5 * xp.sum(target.count * (spread - 1.0 - xp.log(ratio)), axis=-1)
    return Compared(value, target.count * standing, 0.5 * target.count * (1.0 - spread) / variance)
