"""Stand-ins: what a submodel loses where another input takes the place of one of its own.

With the error E of a set S, which is what the path compares submodels by, a unit i that is in and a
unit j that is out,

    cost of j for i     (E(S - i + j) - E(S)) / (null - full),
    cost of no unit     (E(S - i) - E(S)) / (null - full),
    replaced            1 - (cost of j for i) / (cost of no unit).

A unit that replaces nearly all of what i adds is interchangeable with it in S. Since j may be left
without effect, E(S - i + j) is never above E(S - i), and the share that is replaced never negative.
It is above one where the exchange lowers the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpproj.execute import partners, same_workers, uses_processes
from gpproj.linalg import Host, is_numpy, one_blas_thread, to_host
from gpproj.projection import CandidateFit, Projection, staged
from gpproj.search.growing import RANKED
from gpproj.search.results import ROUNDING, Subset
from gpproj.search.rivals import relevances
from gpproj.search.space import Members, ProjectionCache, SearchSpace
from gpproj.search.units import Inputs, Unit, units_of

if TYPE_CHECKING:
    from gpproj.search.path import SearchPath

TRIED = 20
"""Stand-ins of each unit that start, where there are more: those that promise most."""

WARM, LANES = 4, 1
"""Iterations of the starts of a set before they are compared, and how many of these go on."""

FURTHER, GOING = 8, 2
"""Further iterations of the better sets, and how many of these there are for each one that is
learned to the end."""

INTERCHANGEABLE = 0.95
"""Share of what a unit adds that another one replaces if the two are interchangeable."""

NOTHING = 1e-4
"""Share of what all inputs explain that a unit adds at least, if it adds anything."""


MENTIONED = 0.05
"""Share of what a unit adds that stand-ins replace at least, but for the best one."""


class Alternative(NamedTuple):
    """What one unit does in the place of another."""

    input: str
    """The unit that is in."""
    stand_in: str
    """The one in its place; empty for none."""
    error: float
    """What the submodel with it loses, by the criterion of the path."""
    cost: float
    """Rise of the error as a share of what all inputs explain; NaN where they explain nothing."""
    replaced: float
    """Share of what the unit adds that its stand-in replaces; NaN where it adds nothing."""
    interchangeable: bool
    """Whether that is nearly all."""


def alternatives_of(
    path: SearchPath,
    size: int,
    most: int,
    n_jobs: int | None = 1,
    inputs: Iterable[str] | None = None,
) -> list[Alternative]:
    """Return the stand-ins of units of the best set of a size, the cheapest first.

    Parameters
    ----------
    path : SearchPath
    size : int
    most : int
        Stand-ins of each unit that are learned to the end.
    n_jobs : int or None
        Workers that share the evaluations.
    inputs : iterable of str, optional
        Names of the units; all when left out.
    """
    subset = path.best_subset(size)
    units = _chosen_of(subset, inputs)
    span, known = path.null_error - path.full_error, subset.projection.error
    if span <= ROUNDING * max(abs(path.null_error), abs(path.full_error)):
        span = np.nan
    on_host = is_numpy(path.reference.training.X)
    elsewhere = uses_processes(n_jobs) or not on_host  # where others than partners share the work
    crew = partners(n_jobs if on_host else 1)
    with one_blas_thread(), crew, same_workers(n_jobs):
        around = Surroundings.of(path, subset, span, n_jobs if elsewhere else 1)
        numbers = [around.space.units.index(unit) for unit in units]
        every = [around.stand_ins(number, most) for number in numbers]
    found: list[Alternative] = []
    for unit, errors in zip(units, every, strict=True):
        adds = (errors[""] - known) / span
        for name, error in errors.items():
            cost = (error - known) / span
            replaced = 1.0 - cost / adds if adds > NOTHING else np.nan
            alike = bool(name) and bool(replaced >= INTERCHANGEABLE)
            found.append(Alternative(unit.name, name, error, cost, replaced, alike))
    return found


def _chosen_of(subset: Subset, inputs: Iterable[str] | None) -> tuple[Unit, ...]:
    """Return the units of a set that are asked for, in the order of the set."""
    if inputs is None:
        return subset.units
    wanted = (inputs,) if isinstance(inputs, str) else tuple(inputs)
    names = [unit.name for unit in subset.units]
    for one in wanted:
        if one not in names:
            raise ValueError(f"inputs must be among those of the set, {names}; got {one!r}")
    return tuple(unit for unit in subset.units if unit.name in wanted)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """A set of units, and what is known of the sets that differ from it by one or two of them."""

    space: SearchSpace
    members: Members
    best: Projection
    """The submodel on the set."""
    span: float
    """Distance from the null model's error to that of all inputs."""
    null: Projection
    """The submodel before the first step."""
    known: ProjectionCache
    """What the search has learned with care."""
    rankings: Sequence[Host]
    """What other measures of relevance say of all units, where these are many, `(units,)` each."""
    X: Host
    """Inputs of the training rows, `(n, d)`."""

    @classmethod
    def of(
        cls, path: SearchPath, subset: Subset, span: float, n_jobs: int | None = 1
    ) -> Surroundings:
        """Return what is around a set of a path."""
        null, best = path.projections[0], subset.projection
        projector = staged(path.projector, path.reference)
        if best.error < null.error:
            # Any two submodels put the errors of few rows on the scale of those of all rows.
            projector = projector.between(null, best)
        space = SearchSpace(projector, path.always, known_units(path), n_jobs)
        sets = [path.nested_subset(size) for size in range(len(path))]
        sets += [one for one in path.better if one is not None]
        known = ProjectionCache()
        for one in sets:
            known.add(space.members_of(one.units), one.projection)
        many = projector.effort is None and len(space.units) - len(subset.units) > TRIED
        reference = path.reference
        if many and reference.training.n > RANKED:  # they are hints, and take the cube of the rows
            rows = np.linspace(0, reference.training.n - 1, RANKED).astype(np.intp)
            reference = reference.on_rows(rows)
        rankings = relevances(reference, space) if many else []
        X = to_host(reference.training.X)
        return cls(space, space.members_of(subset.units), best, span, null, known, rankings, X)

    def without(self, number: int) -> Projection:
        """Return the submodel without a unit."""
        space, smaller = self.space, self.members - {number}
        mask = space.varying_inputs(smaller)
        if np.array_equal(mask, space.varying_inputs(self.members)):
            return self.best
        if smaller in self.known or not mask.any():
            return self.known.get(smaller, self.null)
        (fit,) = space.begin([smaller], (self.null, self.best), WARM)
        (end,) = space.finish([fit.keep_best(LANES)], [smaller], (self.null,))
        return space.projector.refine(end)

    def stand_ins(self, number: int, most: int) -> dict[str, float]:
        """Return the error without a unit, under an empty name, then those with its stand-ins.

        All stand-ins have the same starts: the reference's values, the submodel without the unit,
        and the one with it. Those that are best after some iterations are learned to the end, and
        the first of them with as much care as the submodels of a path.
        """
        space, parent, smaller = self.space, self.without(number), self.members - {number}
        if not parent.error - self.best.error > NOTHING * self.span:
            return {"": parent.error}
        entering = self._promising(parent, number)
        fits = space.begin([smaller | {one} for one in entering], (parent, self.best), WARM)
        begun = {one: fit.keep_best(LANES) for one, fit in zip(entering, fits, strict=True)}
        going = self._first(begun, GOING * most)
        advanced = space.advance([begun[one] for one in going], FURTHER)
        begun = dict(zip(going, advanced, strict=True))
        first = self._first(begun, most)
        sets = [smaller | {one} for one in first]
        found = space.finish([begun[one] for one in first], sets, (parent,))
        ends = dict(zip(first, found, strict=True))
        ends |= {one: space.projector.refine(ends[one]) for one in first[:1]}
        # The criterion may rise where the objective falls; what stands in need not be used.
        errors = {one: min(parent.error, end.error) for one, end in ends.items()}
        order = sorted(errors, key=errors.__getitem__)
        bound = parent.error - MENTIONED * (parent.error - self.best.error)
        order = order[:1] + [one for one in order[1:] if errors[one] < bound]
        return {"": parent.error} | {space.units[one].name: errors[one] for one in order}

    def _first(self, fits: Mapping[int, CandidateFit], count: int) -> list[int]:
        """Return the units whose fits are best at present, so many of them."""
        numbers, errors = list(fits), self.space.projector.errors(list(fits.values()))
        return [numbers[place] for place in np.argsort(errors, kind="stable")[:count]]

    def _promising(self, parent: Projection, number: int) -> list[int]:
        """Return the stand-ins of a unit that start, those that promise most where they are many.

        By the slope of the objective, by how alike they are to the unit, and by other measures of
        relevance, in turn.
        """
        space = self.space
        varies = [space.projector.varying[list(unit.positions)].any() for unit in space.units]
        others = [one for one in space.outside(self.members) if varies[one]]
        if not self.rankings or len(others) <= TRIED:
            return others
        measures = [-space.slopes(parent), self._likeness(number), *self.rankings]
        orders = [sorted(others, key=lambda one: -own[one]) for own in measures]
        wanted = dict.fromkeys(chain.from_iterable(zip(*orders, strict=True)))
        return sorted(list(wanted)[:TRIED])

    def _likeness(self, number: int) -> Host:
        """Return how alike all units are to one of them, `(units,)`: their rank correlations.

        Of groups, that of the two inputs that are most alike.
        """
        ranks = np.argsort(np.argsort(self.X, axis=0, kind="stable"), axis=0)
        ranks = ranks - ranks.mean(axis=0)
        own = ranks[:, list(self.space.units[number].positions)]
        found = np.abs(own.T @ ranks).max(axis=0)
        return np.array([found[list(unit.positions)].max() for unit in self.space.units])


def known_units(path: SearchPath) -> tuple[Unit, ...]:
    """Return all units that a search of the path's kind may choose from.

    Groups are those of the recipe, and those that have entered. Paths without a recipe know the
    latter alone; all other inputs are units of their own.
    """
    sets = [path.units, *(one.units for one in (*path.better, *path.pool) if one is not None)]
    entered = {unit.positions: unit for units in sets for unit in units}
    groups: dict[str, Inputs] = dict(_groups_of(path.recipe))
    groups |= {one.name: one.positions for one in entered.values() if len(one.positions) > 1}
    _, units = units_of(path.reference, groups, path.always)
    return tuple(entered.get(unit.positions, unit) for unit in units)


def _groups_of(recipe: Callable[..., SearchPath] | None) -> Mapping[str, Inputs]:
    """Return the groups of the search that found a path; none if nothing is known of it."""
    settings = getattr(recipe, "keywords", {})
    if "again" in settings:  # a path that went on from another one, in the same way
        return _groups_of(settings["again"])
    return settings.get("groups") or {}
