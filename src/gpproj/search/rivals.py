"""Other ways to sets of inputs: orders of the usual relevances, and a quick elimination.

Their sets are candidates of every search, learned as its own are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from gpproj.linalg import Host
from gpproj.projection import CandidateFit, ProcessProjector, Projection
from gpproj.reference import Reference
from gpproj.search.space import Members, ProjectionCache, SearchSpace, finish_contenders
from gpproj.sensitivity import relevance

METHODS = ("ard", "kl", "permutation")

WARM, LANES = 6, 1
"""Iterations of the starts of a set, and how many of them then run on to convergence."""

AT_ONCE, FEW = 0.25, 24
"""Share of the units that an elimination drops in a step while there are more than a few."""


def relevances(reference: Reference, space: SearchSpace) -> list[Host]:
    """Return how relevant every unit is by each of the usual measures, per cost, `(units,)` each.

    References with posterior draws are asked at the centre of these. Those that are known by their
    moments alone have no measure but the length-scales that were fitted to their mean.
    """
    centre = reference.centred()
    found = [
        relevance(centre, method, random_state=0).to_numpy(dtype=np.float64)
        for method in METHODS
        if method in reference.measures
    ]
    if not found:
        found = [cast(ProcessProjector, space.projector).known_relevance()]
    return [
        np.array([max(values[list(unit.positions)]) / unit.cost for unit in space.units])
        for values in found
    ]


def fit_ranked_sets(
    space: SearchSpace,
    cache: ProjectionCache,
    rankings: Sequence[Host],
    size: int,
    null: Projection,
) -> None:
    """Learn the first units of several orders, unless they are known.

    Parameters
    ----------
    rankings : sequence of arrays `(units,)`
        The largest value first.
    size : int
        How many units.
    null : Projection
        The submodel before the first step.
    """
    orders = (np.argsort(-ranking, kind="stable")[:size] for ranking in rankings)
    for own in dict.fromkeys(frozenset(order.tolist()) for order in orders):
        if own not in cache and space.varying_inputs(own).any():
            fit, known = _begun(space, cache, own, null)
            rivals = cache.best_of(own)
            for found, end in finish_contenders(space, {own: fit}, rivals, known).items():
                cache.add(found, end)


def fit_set(
    space: SearchSpace, cache: ProjectionCache, members: Members, null: Projection
) -> Projection:
    """Return the submodel of one set, from the optima of its neighbours among others.

    Parameters
    ----------
    cache : ProjectionCache
        The submodels of its neighbours, as far as they are known.
    null : Projection
        The submodel before the first step, for where no neighbour is known.
    """
    fit, known = _begun(space, cache, members, null)
    return space.finish([fit], [members], known)[0]


def _begun(
    space: SearchSpace, cache: ProjectionCache, members: Members, null: Projection
) -> tuple[CandidateFit, list[Projection]]:
    """Return the fit of a set after a few iterations, and the submodel that it started from."""
    smaller = [members - {number} for number in sorted(members)]
    known = [cache[own] for own in smaller if own in cache] or [null]
    known = [min(known, key=lambda one: one.value)]
    (fit,) = space.begin([members], known, WARM)
    return fit.keep_best(LANES), known


def eliminated(
    space: SearchSpace, units: Sequence[int], full: Projection
) -> dict[int, tuple[Members, Projection]]:
    """Drop units from the submodel on all inputs, those first whose loss costs least at once.

    Unlike a forward search this sees units that tell something only together, and its submodels
    come by small steps from the reference's own valley. They are candidates of a search like any
    others.

    Parameters
    ----------
    units : sequence of int
        The units to begin with: all, or the most relevant ones where they are many.
    full : Projection
        The submodel on all inputs.

    Returns
    -------
    dict of int to (frozenset of int, Projection)
        The set that was left at each size, and a submodel to start from; large sizes are passed
        over.
    """
    left, known = frozenset(units), full
    found: dict[int, tuple[Members, Projection]] = {}
    while len(left) > 1:
        sets = {number: left - {number} for number in sorted(left)}
        sets = {number: own for number, own in sets.items() if space.varying_inputs(own).any()}
        if not sets:
            break
        errors = space.projector.errors(space.begin(list(sets.values()), [known], 0, near=True))
        losses = (errors - known.error) / space.costs(sets)
        drop = max(1, min(int(AT_ONCE * len(left)), len(left) - FEW))
        numbers = np.array(list(sets))[np.argsort(losses, kind="stable")[:drop]]
        left = left.difference(numbers.tolist())
        (fit,) = space.begin([left], [known], WARM, near=True)
        (known,) = space.settle([fit.keep_best(LANES)])
        found[len(left)] = left, known._replace(inputs=space.inputs(left))
    return found
