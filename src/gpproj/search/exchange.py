"""Exchanges: a unit that is in against one that is out, where that lowers the error.

A forward search is greedy: the best single input may be in no good pair. After each step the units
that are missed least are tried against those that promise most, as the splicing of best-subset
selection does; an exchange is made only if the error of the converged submodel falls.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np

from gpproj.linalg import Host
from gpproj.projection import Projection
from gpproj.search.space import Members, ProjectionCache, SearchSpace, finish_contenders
from gpproj.search.step import Compare, Step, grow


class Limits(NamedTuple):
    """How much is tried in a round."""

    fitted: int
    """Sets without one unit that are optimised to convergence."""
    leaving: int
    """The best of these, whose unit may leave."""
    entering: int
    """Units that are tried in the place of each."""


SMALL, LIMITS = 6, (Limits(4, 2, 5), Limits(2, 1, 4))
"""Sets of so many units, and what is tried around these and around larger ones: the first inputs
decide most, and there are fewest of them."""

ARRIVING = 1
"""Exchanges for a unit that leaves which are optimised to convergence."""

ROUNDS = 4
"""Rounds of exchanges at one size at most."""

ITERATIONS = 6
"""Iterations of candidates before they are compared."""

TOLERANCE = 1e-4
"""Fall of the relative error below which an exchange is not worth the name."""


@dataclass(frozen=True, eq=False)
class Exchanges(ABC):
    """The exchanges that are tried around a set.

    Sets without one of the units are learned on the way, and kept in the cache: one of them may be
    the best of its size.
    """

    space: SearchSpace
    cache: ProjectionCache
    settled: dict[Members, Projection] = field(default_factory=dict, init=False)
    """Submodels that others start from, and that are not the best of their size."""

    @abstractmethod
    def remove_one(self, members: Members) -> list[Members]:
        """Return sets without one of the units, and learn their submodels."""

    @abstractmethod
    def add_one(self, smaller: Members, entering: Sequence[int], best: Members) -> list[Members]:
        """Return sets with one of several units more that may be better, and learn their submodels.

        Parameters
        ----------
        smaller : frozenset of int
            The set that a unit enters.
        entering : sequence of int
            Numbers of the units.
        best : frozenset of int
            The set that they compete with.
        """

    def improve(self, best: Members, span: float) -> Members:
        """Return a set of the same size that no exchange tried here makes better.

        Parameters
        ----------
        best : frozenset of int
            The best set so far.
        span : float
            Distance from the null model's error to that of all inputs.
        """
        units, cache = self.space.units, self.cache
        for _ in range(ROUNDS):
            out = self.space.outside(best)
            if not out or len(best) < 2:
                break
            found: list[Members] = []
            for smaller in self.remove_one(best):
                (left,) = best - smaller
                affordable = [one for one in out if units[one].cost <= units[left].cost]
                found += self.add_one(smaller, affordable, best)
            better = min(found, key=lambda own: cache[own].error, default=best)
            if cache[better].error > cache[best].error - TOLERANCE * span:
                break
            best = better
        return best


@dataclass(frozen=True, eq=False)
class PromisingExchanges(Exchanges):
    """A few exchanges: units that are missed least against units that promise most."""

    rankings: Sequence[Host]
    """What each unit promises, by several measures, `(units,)` each."""

    def remove_one(self, members: Members) -> list[Members]:
        """Return the sets without the units that are missed least."""
        space, cache, limits = self.space, self.cache, LIMITS[len(members) > SMALL]
        sets = [members - {number} for number in sorted(members)]
        sets = [own for own in sets if space.varying_inputs(own).any()]
        unknown = [own for own in sets if own not in cache]
        begun = space.begin(unknown, (cache[members],), 0, near=True)
        fits = dict(zip(unknown, begun, strict=True))
        known = {own: cache[own].error for own in sets if own in cache}
        for iterations, count in ((0, 2 * limits.fitted), (ITERATIONS, limits.fitted)):
            if iterations:
                fits = dict(zip(fits, space.advance(list(fits.values()), iterations), strict=True))
            present = space.projector.errors(list(fits.values())).tolist()
            errors = known | dict(zip(fits, present, strict=True))
            sets = sorted(sets, key=errors.__getitem__)[:count]
            fits = {own: fits[own] for own in sets if own in fits}
        ends = finish_contenders(space, fits, cache.best_of(members - {min(members)}))
        others = {own: fit for own, fit in fits.items() if own not in ends}
        for own, end in ends.items():
            cache.add(own, end)
        self.settled.update(zip(others, space.settle(list(others.values())), strict=True))
        return sorted(sets, key=lambda own: self._known(own).error)[: limits.leaving]

    def _known(self, members: Members) -> Projection:
        return self.cache[members] if members in self.cache else self.settled[members]

    def add_one(self, smaller: Members, entering: Sequence[int], best: Members) -> list[Members]:
        """Return sets with the units that promise most, the best new one and all that are known."""
        space, cache, parent = self.space, self.cache, self._known(smaller)
        limits = LIMITS[len(smaller) + 1 > SMALL]
        wanted = self._promising(parent, entering)[: limits.entering]
        sets = [smaller | {number} for number in wanted]
        known, new = (
            [own for own in sets if own in cache],
            [own for own in sets if own not in cache],
        )
        if not new:
            return known
        fits = space.begin(new, (parent,), ITERATIONS, near=True)
        first = np.argsort(space.projector.errors(fits), kind="stable")[:ARRIVING]
        arriving = {new[place]: fits[place].keep_best(1) for place in first}
        smaller_known = (parent,) if smaller in cache else ()
        ends = finish_contenders(space, arriving, (cache[best],), smaller_known)
        for own, end in ends.items():
            cache.add(own, end)
        return known + list(ends)

    def _promising(self, parent: Projection, units: Sequence[int]) -> list[int]:
        """Return the units that promise most: by their slopes and by other rankings in turn."""
        numbers = np.array(units, dtype=np.intp)
        orders = [numbers[np.argsort(self.space.slopes(parent)[numbers], kind="stable")]]
        orders += [numbers[np.argsort(-own[numbers], kind="stable")] for own in self.rankings]
        turns = chain.from_iterable(zip(*(order.tolist() for order in orders), strict=True))
        return list(dict.fromkeys(turns))


@dataclass(frozen=True, eq=False)
class AllExchanges(Exchanges):
    """All exchanges of the units that may leave, for where candidates cost next to nothing."""

    compare: Compare
    """How candidates are compared."""

    def remove_one(self, members: Members) -> list[Members]:
        """Return the sets without the units that are missed least; all are projected."""
        effort, sets = self.space.projector.effort, [members - {one} for one in sorted(members)]
        assert effort is not None  # else candidates cost much
        unknown = [own for own in sets if own not in self.cache]
        for own, found in zip(unknown, self.space.project(unknown), strict=True):
            self.cache.add(own, found)
        return sorted(sets, key=lambda own: self.cache[own].error)[: effort.leaving]

    def add_one(self, smaller: Members, entering: Sequence[int], best: Members) -> list[Members]:
        """Return the sets with every unit that were optimised to the end."""
        grow(self.compare, self.cache, Step(self.space, smaller, self.cache[smaller]), entering)
        grown = (smaller | {number} for number in entering)
        return [own for own in grown if own in self.cache]
