"""Stand-ins: what a submodel loses where another input takes the place of one of its own.

With the error E of a set S, a unit i that is in and a unit j that is out,

    cost of j for i     E(S - i + j) - E(S)      as a share of (null - full),
    cost of no unit     E(S - i) - E(S),
    replaced            1 - (cost of j for i) / (cost of no unit).

A unit that replaces nearly all of what i adds is interchangeable with it in S.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpproj.linalg import one_blas_thread
from gpproj.search.space import SearchSpace, finish_contenders
from gpproj.search.units import Unit, units_of

if TYPE_CHECKING:
    from gpproj.projection import Projection
    from gpproj.search.path import SearchPath
    from gpproj.search.space import Members

ITERATIONS = 6
"""Iterations of all stand-ins before the most promising ones are learned to the end."""

INTERCHANGEABLE = 0.95
"""Share of what a unit adds that another one replaces if the two are interchangeable."""


class Alternative(NamedTuple):
    """What one unit does in the place of another."""

    input: str
    """The unit that is in."""
    stand_in: str
    """The one in its place; empty for none."""
    error: float
    cost: float
    """Rise of the error as a share of what all inputs explain."""
    replaced: float
    """Share of what the unit adds that its stand-in replaces; NaN where it adds nothing."""
    interchangeable: bool


def alternatives_of(path: SearchPath, size: int, most: int, n_jobs: int | None) -> list[Alternative]:
    """Return the stand-ins of every unit of the best set of a size, the cheapest first.

    Parameters
    ----------
    path : SearchPath
    size : int
    most : int
        Stand-ins of each unit that are learned to the end.
    n_jobs : int or None
    """
    subset, span = path.best_subset(size), path.null_error - path.full_error
    space = _space_of(path, n_jobs)
    best, members = subset.projection, space.members_of(subset.units)
    span = span if span > 0.0 else np.nan
    found: list[Alternative] = []
    with one_blas_thread():
        for unit in subset.units:
            number = space.units.index(unit)
            ends = _without(space, members, number, best, path.projections[0], most)
            dropped = ends.pop("").error
            for name, end in [("", None), *sorted(ends.items(), key=lambda one: one[1].error)]:
                error = dropped if end is None else min(end.error, dropped)
                adds, cost = dropped - best.error, error - best.error
                replaced = 1.0 - cost / adds if adds > 0.0 else np.nan
                alike = bool(name) and bool(replaced >= INTERCHANGEABLE)
                found.append(Alternative(unit.name, name, error, cost / span, replaced, alike))
    return found


def _without(
    space: SearchSpace,
    members: Members,
    number: int,
    best: Projection,
    null: Projection,
    most: int,
) -> Mapping[str, Any]:
    """Return the submodel without a unit, under an empty name, and those with a stand-in."""
    smaller = members - {number}
    if space.varying_inputs(smaller).any():
        (fit,) = space.begin([smaller], (best,), ITERATIONS, near=True)
        (parent,) = space.finish([fit], [smaller], (null,))
    else:
        parent = null
    ends: dict[str, Projection] = {"": parent}
    sets = {other: smaller | {other} for other in space.outside(members)}
    sets = {other: own for other, own in sets.items() if space.varying_inputs(own).any()}
    if not sets:
        return ends
    fits = space.begin(list(sets.values()), (parent,), ITERATIONS, near=smaller != frozenset())
    order = np.argsort(space.projector.errors(fits), kind="stable")[:most]
    others = list(sets)
    for place in order.tolist():
        own = sets[others[place]]
        found = finish_contenders(space, {own: fits[place].keep_best(1)}, (), (parent,))
        if own in found:
            ends[space.units[others[place]].name] = found[own]
    return ends


def _space_of(path: SearchPath, n_jobs: int | None) -> SearchSpace:
    """Return the sets that a search of the path's kind goes through."""
    names = path.reference.feature_names
    given = getattr(path.recipe, "keywords", {}).get("groups") or {}
    grouped = {one.name: one for one in path.units if len(one.positions) > 1}
    groups = dict(given) | {
        name: [names[position] for position in unit.positions] for name, unit in grouped.items()
    }
    always = [names[position] for position in path.always]
    _, units = units_of(path.reference, groups, always)
    priced = {unit.positions: unit for unit in path.units}
    own: tuple[Unit, ...] = tuple(priced.get(unit.positions, unit) for unit in units)
    return SearchSpace(path.projector, path.always, own, n_jobs)
