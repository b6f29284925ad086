"""One step of a search: what it starts from, and what it finds out about every candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from gpproj.linalg import Host
from gpproj.projection import Projection
from gpproj.search.results import CandidateRecord
from gpproj.search.space import Members, ProjectionCache, SearchSpace

HALVING = ((8, 2), (16, 2))
"""Iterations of every candidate of an exhaustive step, and the starts that then run on."""


class Step(NamedTuple):
    """What a step starts from."""

    space: SearchSpace
    base: Members
    """Units that are in."""
    parent: Projection
    """The submodel on them."""
    left: float = 1.0
    """The relative error that is left to explain."""
    removing: bool = False
    """Whether units leave (a backward search) rather than enter."""
    rivals: tuple[Projection, ...] = ()
    """Submodels of the same size that are known: what is worse than them need not be finished."""
    rankings: tuple[Host, ...] = ()
    """What other measures say of all units, `(units,)` each, for where units are many."""

    def members(self, unit: int) -> Members:
        """Return the set that a unit makes by entering or leaving."""
        return self.base - {unit} if self.removing else self.base | {unit}

    @property
    def smaller(self) -> tuple[Projection, ...]:
        """Submodels that candidates may not be worse than: a unit that enters harms nothing."""
        return () if self.removing else (self.parent,)

    def gains(self, errors: Sequence[float] | Host, costs: Host) -> Host:
        """Return the gain by each unit, `(u,)`: the fall of the error per cost.

        An input that enters and makes the error worse is no better for being dear: its rise counts
        times its cost. One that leaves makes it worse as a rule, and the dear one should leave
        first.
        """
        falls = self.parent.error - np.asarray(errors)
        return falls / costs if self.removing else gain_per_cost(falls, costs)


class Candidate(NamedTuple):
    """What a step has found out about one unit."""

    error: float
    """The best error known; the parent's if the unit was not looked at."""
    evaluations: int
    """Values and gradients spent on it."""
    projection: Projection | None
    """Its submodel, where it was optimised to the end."""


Compare: TypeAlias = Callable[[Step, Sequence[int], Host], list[Candidate]]
"""A strategy: from a step, candidates and what they promised to what was found out about them."""


def compare_candidates(
    compare: Compare, step: Step, candidates: Sequence[int], expected_gains: Host
) -> list[Candidate]:
    """Compare candidates; a set without any input that varies is the null model."""
    space = step.space
    some = [bool(space.varying_inputs(step.members(number)).any()) for number in candidates]
    places = np.flatnonzero(some).tolist()
    found = iter(
        compare(step, [candidates[place] for place in places], expected_gains[places])
        if places
        else []
    )
    if all(some):
        return list(found)
    null = space.projector.null()
    empty = Candidate(null.error, null.evaluations, null)
    return [
        next(found)
        if own
        else empty._replace(projection=null._replace(inputs=space.inputs(step.members(number))))
        for number, own in zip(candidates, some, strict=True)
    ]


def exhaust(step: Step, candidates: Sequence[int], expected_gains: Host) -> list[Candidate]:
    """Optimise every candidate to convergence, as in the paper; parameters as for `race`."""
    space, sets = step.space, [step.members(number) for number in candidates]
    if step.removing and space.projector.effort is not None:
        found = space.project(sets)
    else:
        (begun, first), (further, second) = HALVING
        fits = [fit.keep_best(first) for fit in space.begin(sets, (step.parent,), begun)]
        fits = [fit.keep_best(second) for fit in space.advance(fits, further)]
        found = space.finish(fits, sets, step.smaller)
    return [Candidate(one.error, one.evaluations, one) for one in found]


def keep(
    cache: ProjectionCache, step: Step, units: Sequence[int], found: Sequence[Candidate]
) -> None:
    """Keep the submodels of candidates that were optimised to the end."""
    for number, one in zip(units, found, strict=True):
        if one.projection is not None:
            cache.add(step.members(number), one.projection)


def grow(compare: Compare, cache: ProjectionCache, step: Step, units: Sequence[int]) -> None:
    """Compare units that may enter and keep their submodels; what is known is not learned anew."""
    new = [number for number in units if step.members(number) not in cache]
    if new:
        unknown = np.full(len(new), np.inf)
        keep(cache, step, new, compare_candidates(compare, step, new, unknown))


def gain_per_cost(falls: Host, costs: Host) -> Host:
    """Return falls of the error per cost, and rises of it times their cost, `(u,)`."""
    return np.where(falls < 0.0, falls * costs, falls / costs)


def best_candidate(
    step: Step, candidates: Sequence[int], found: Sequence[Candidate]
) -> tuple[int, Projection]:
    """Return the best of the candidates that were optimised to the end, and its submodel."""
    ended = [(u, one.projection) for u, one in enumerate(found) if one.projection is not None]
    costs = step.space.costs([candidates[u] for u, _ in ended])
    best = np.argmax(step.gains([projection.error for _, projection in ended], costs))
    return ended[int(best)]


def records_of(
    step: Step, number: int, candidates: Sequence[int], found: Sequence[Candidate]
) -> list[CandidateRecord]:
    """Return the records of all candidates of a step, for the path."""
    known = step.parent.error
    return [
        CandidateRecord(
            step=number,
            input=step.space.units[unit].name,
            error=one.error if np.isfinite(one.error) else known,  # nothing could be factorised
            evaluations=one.evaluations,
            converged=one.projection is not None and one.projection.converged,
        )
        for unit, one in zip(candidates, found, strict=True)
    ]
