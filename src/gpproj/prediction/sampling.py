"""Draws from joint predictions at several new rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gpproj.linalg import Host, JitterWarning, cholesky, lower_triangle

MOST_ROWS = 10_000
"""Rows that are drawn together at most: their covariance has the square of them, and its factor
takes the cube."""


def check_draws(draws: Any, rows: int) -> int:
    """Return the number of draws; refuse what is none, and too many rows to be drawn together."""
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
        raise ValueError(f"draws must be a whole number of at least 1, got {draws!r}")
    if rows > MOST_ROWS:
        raise ValueError(
            f"X must have at most {MOST_ROWS} rows to be drawn together; saw {rows}: draw some of "
            "them at a time, or ask for predict_interval"
        )
    return int(draws)


def normal_draws(mean: Host, cov: Host, draws: int, rng: np.random.Generator) -> Host:
    """Return draws of a normal vector, `(draws, m)`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JitterWarning)  # far below what draws can show
        factor = cholesky(cov[None, :, :])
    if factor.failed[0]:
        raise np.linalg.LinAlgError("the joint covariance at X is not positive definite")
    found: Host = mean + rng.standard_normal((draws, mean.size)) @ lower_triangle(factor)[0].T
    return found
