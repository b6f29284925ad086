"""Exchanges in searches of linear submodels: all single ones, as they are cheap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from gpproj.execute import run
from gpproj.projection import LinearSubmodel, project_draws
from gpproj.reference import LinearReference
from gpproj.search.exchange import ROUNDS, TOLERANCE
from gpproj.search.linear_step import Standing, beginning, gaussian_step, iterated_step
from gpproj.search.units import Unit

LEAVING = 3
"""Units that may leave in a round, where submodels take iterations."""


class LinearSubset(NamedTuple):
    """A set of units and its submodel."""

    units: tuple[Unit, ...]
    submodel: LinearSubmodel


def linear_exchanged(
    reference: LinearReference,
    forced: tuple[int, ...],
    units: Sequence[Unit],
    start: LinearSubset,
    strategy: Literal["race", "exhaustive"],
    null_error: float,
    n_jobs: int | None,
) -> LinearSubset:
    """Return a set of the same size that no exchange of two units makes better.

    Parameters
    ----------
    reference : LinearReference
    forced : tuple of int
        Inputs that are in every set.
    units : sequence of Unit
    start : LinearSubset
    strategy : {"race", "exhaustive"}
    null_error : float
    n_jobs : int or None
    """
    best = start
    for _ in range(ROUNDS):
        out = [unit for unit in units if unit not in best.units]
        if not out or len(best.units) < 2:
            return best
        tried = [
            followed(
                reference,
                forced,
                [unit for unit in out if unit.cost <= left.cost],
                LinearSubset(rest, submodel),
                strategy,
                n_jobs,
            )
            for left, rest, submodel in _without_one(reference, forced, best, n_jobs)
        ]
        found = min(tried, key=lambda one: one.submodel.projection_error)
        fall = best.submodel.projection_error - found.submodel.projection_error
        if fall <= TOLERANCE * null_error:
            return best
        best = found
    return best


def followed(
    reference: LinearReference,
    forced: tuple[int, ...],
    units: Sequence[Unit],
    begun: LinearSubset,
    strategy: Literal["race", "exhaustive"],
    n_jobs: int | None,
) -> LinearSubset:
    """Return a set with the unit added that lowers the error most; as it is if there is none."""
    waiting = [unit for unit in units if unit not in begun.units]
    if not waiting:
        return begun
    entered = tuple(position for unit in begun.units for position in unit.positions)
    standing: Standing = beginning(reference, (*forced, *entered))
    if reference.linear.link is None:
        seen = gaussian_step(standing, waiting)
    else:
        seen = iterated_step(standing, waiting, strategy, n_jobs)
    errors = [one.error if one.arrived else np.inf for one in seen]
    best = int(np.argmin(errors))
    grown = standing.entered(waiting[best], seen[best].start)
    return LinearSubset((*begun.units, waiting[best]), grown.submodel)


def _without_one(
    reference: LinearReference,
    forced: tuple[int, ...],
    subset: LinearSubset,
    n_jobs: int | None,
) -> list[tuple[Unit, tuple[Unit, ...], LinearSubmodel]]:
    """Return the units that may leave, what is left without each, and the submodel on that."""
    rests = [tuple(one for one in subset.units if one != unit) for unit in subset.units]
    sets = [(*forced, *(place for unit in rest for place in unit.positions)) for rest in rests]
    found = run(partial(project_draws, reference), sets, n_jobs)
    every = list(zip(subset.units, rests, found, strict=True))
    if reference.linear.link is None:
        return every
    return sorted(every, key=lambda one: one[2].projection_error)[:LEAVING]
