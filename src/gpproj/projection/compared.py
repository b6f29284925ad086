"""Predictions of single rows beside the reference's, whatever they are predicted from."""

from __future__ import annotations

from typing import NamedTuple

from gpproj.linalg import Array, namespace
from gpproj.reference import LeftOut, LeftOutLanes


class Compared(NamedTuple):
    """Predictions of single rows compared with the reference's, `(b, u)` each but the value."""

    value: Array
    """E, `(b,)`."""
    by_mean: Array
    """a = dE/dm'."""
    by_variance: Array
    """h = dE/dV."""


def compared(target: LeftOut | LeftOutLanes, mean: Array, variance: Array) -> Compared:
    """Return E of predictions N(m', V), `(b, u)` each, and its derivatives in them."""
    xp = namespace(variance)
    away = mean - target.mean
    ratio = target.variance / variance
    standing = away / variance
    spread = ratio + away * standing
    value = 0.5 * xp.sum(target.count * (spread - 1.0 - xp.log(ratio)), axis=-1)
    return Compared(value, target.count * standing, 0.5 * target.count * (1.0 - spread) / variance)
