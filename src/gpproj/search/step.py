"""One step of a search: what it starts from, and what it finds out about every candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from gpproj.linalg import Host
from gpproj.projection import AnyRunner, Projection
from gpproj.search.path import Tried
from gpproj.search.space import Ledger, Members, Space

HALVING = ((8, 2), (16, 2))
"""Iterations of every candidate of an exhaustive step, and the starts that then run on."""


class Step(NamedTuple):
    """What a step starts from."""

    space: Space
    base: Members
    """Units that are in."""
    parent: Projection
    """The submodel on them."""
    left: float = 1.0
    """The relative error that is left to explain."""
    removing: bool = False
    """Whether units leave (a backward search) rather than enter."""
    others: tuple[Projection, ...] = ()
    """Submodels on other sets, which are starts too."""

    @property
    def known(self) -> tuple[Projection, ...]:
        """Submodels to start from."""
        return (self.parent, *self.others)

    def members(self, unit: int) -> Members:
        """Return the set that a unit makes by entering or leaving."""
        return self.base - {unit} if self.removing else self.base | {unit}

    def end(self, runners: Sequence[AnyRunner], sets: Sequence[Members]) -> list[Projection]:
        """Run candidates to convergence; a unit that enters makes nothing worse."""
        return self.space.end(runners, sets, () if self.removing else (self.parent,))

    def gains(self, errors: Sequence[float] | Host, costs: Host) -> Host:
        """Return what each unit is worth: the fall of the error per cost, `(u,)`.

        An input that enters and makes the error worse is no better for being dear: its rise counts
        times its cost. One that leaves makes it worse as a rule, and the dear one should leave
        first.
        """
        falls = self.parent.error - np.asarray(errors)
        return falls / costs if self.removing else worth(falls, costs)


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


def compared(
    compare: Compare, step: Step, candidates: Sequence[int], hopes: Host
) -> list[Candidate]:
    """Compare candidates; a set without any input that varies is the null model."""
    some = [bool(step.space.mask(step.members(number)).any()) for number in candidates]
    places = [place for place, own in enumerate(some) if own]
    found = iter(
        compare(step, [candidates[place] for place in places], hopes[places]) if places else []
    )
    null = None if all(some) else step.space.projector.null()
    every = []
    for number, own in zip(candidates, some, strict=True):
        if own:
            every.append(next(found))
            continue
        assert null is not None  # as not all have inputs
        asked = step.space.asked(step.members(number))
        every.append(Candidate(null.error, null.evaluations, null._replace(inputs=asked)))
    return every


def exhaust(step: Step, candidates: Sequence[int], hopes: Host) -> list[Candidate]:
    """Optimise every candidate to convergence, as in the paper; parameters as for `race`."""
    sets = [step.members(number) for number in candidates]
    if step.removing and step.space.projector.effort is not None:
        return [Candidate(one.error, one.evaluations, one) for one in step.space.project(sets)]
    runners = step.space.begin(sets, step.known, HALVING[0][0])
    runners = [runner.narrowed(HALVING[0][1]) for runner in runners]
    runners = step.space.advance(runners, HALVING[1][0])
    runners = [runner.narrowed(HALVING[1][1]) for runner in runners]
    return [Candidate(one.error, one.evaluations, one) for one in step.end(runners, sets)]


def keep(ledger: Ledger, step: Step, units: Sequence[int], found: Sequence[Candidate]) -> None:
    """Keep the submodels of candidates that were optimised to the end."""
    for number, one in zip(units, found, strict=True):
        if one.projection is not None:
            ledger.add(step.members(number), one.projection)


def grow(compare: Compare, ledger: Ledger, step: Step, units: Sequence[int]) -> None:
    """Compare units that may enter, and keep their submodels; what is known is not learned anew."""
    new = [number for number in units if step.members(number) not in ledger]
    if new:
        keep(ledger, step, new, compared(compare, step, new, np.full(len(new), np.inf)))


def worth(falls: Host, costs: Host) -> Host:
    """Return falls of the error per cost, and rises of it times their cost, `(u,)`."""
    return np.where(falls < 0.0, falls * costs, falls / costs)


def winner(
    step: Step, candidates: Sequence[int], found: Sequence[Candidate]
) -> tuple[int, Projection]:
    """Return the best of the candidates that were optimised to the end, and its submodel."""
    ended = [(u, one.projection) for u, one in enumerate(found) if one.projection is not None]
    costs = step.space.costs([candidates[u] for u, _ in ended])
    best = np.argmax(step.gains([projection.error for _, projection in ended], costs))
    return ended[int(best)]


def recorded(
    step: Step, number: int, candidates: Sequence[int], found: Sequence[Candidate]
) -> list[Tried]:
    """Return what a step has found out about every unit, for the path's record."""
    known = step.parent.error
    return [
        Tried(
            step=number,
            input=step.space.units[unit].name,
            error=one.error if np.isfinite(one.error) else known,  # nothing could be factorised
            evaluations=one.evaluations,
            converged=one.projection is not None and one.projection.converged,
        )
        for unit, one in zip(candidates, found, strict=True)
    ]
