"""The small values that a search path consists of, and the scale of its errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpproj.linalg import Host
from gpproj.projection import Learned, Projection, Projector
from gpproj.search.units import Unit

ROUNDING = 1e-10
"""A distance from null to full, relative to their size, that is no distance."""


class CandidateRecord(NamedTuple):
    """One candidate that a search has looked at."""

    step: int
    """The step it was a candidate of, from one."""
    input: str
    """Name of the input or group."""
    error: float
    """The best error known; the one before the step if it was not looked at."""
    evaluations: int
    """Values and gradients spent on it: how far it was optimised."""
    converged: bool
    """Whether it was optimised to convergence."""


class RowSample(NamedTuple):
    """The errors that a search has seen on some of the rows."""

    rows: int
    """The number of rows."""
    relative_errors: tuple[float, ...]
    """The relative error at each size, on these rows."""


class Subset(NamedTuple):
    """Some units, and the submodel on them."""

    units: tuple[Unit, ...]
    projection: Projection


def relative(errors: Host, null: float, full: float) -> Host:
    """Return errors on the scale from one (null) to zero (full).

    >>> relative(np.array([9.0, 4.0]), 9.0, 1.0)
    array([1.   , 0.375])
    >>> relative(np.array([1.0, 4.0]), 1.0, 4.0)
    array([0., 0.])
    """
    distance = null - full
    if distance <= ROUNDING * max(abs(null), abs(full)):
        return np.zeros_like(errors)
    return (errors - full) / distance


def null_and_full(
    projector: Projector, learned: Learned | None = None
) -> tuple[Projection, Projection]:
    """Return the null model and the submodel on all inputs: the ends of relative errors."""
    null = projector.null()
    return null, projector.full(null, learned)
