"""The forward search: step after step the unit that lowers the error most, and exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from gpproj.linalg import Host
from gpproj.projection import Projection, Projector
from gpproj.reference import Reference
from gpproj.search.exchange import Standing, exchanged, exchanged_freely
from gpproj.search.path import SearchPath, Subset, ends
from gpproj.search.race import race
from gpproj.search.rivals import along_orders, eliminated, relevances
from gpproj.search.space import Ledger, Members, Space
from gpproj.search.step import (
    Compare,
    Step,
    compared,
    exhaust,
    grow,
    keep,
    recorded,
    winner,
    worth,
)
from gpproj.search.units import Unit, no_dearer

Strategy: TypeAlias = Literal["race", "exhaustive"]

STRATEGIES: dict[str, Compare] = {
    "race": race,
    "exhaustive": exhaust,
}

SETTLED = 1e-2
"""Relative error below which no other set of the size is looked for: nothing is left to win."""

FOLLOWED = 8
"""Units that are tried beside the best set, where it is not the one of the path."""


class Search:
    """A forward search as it stands, and its steps.

    The path is nested: each step adds the unit that lowers the error most. Beside it stands the
    best set of every size, which exchanges, the orders of other measures and the removal of single
    units may have found.

    Parameters
    ----------
    reference : Reference
    space : Space
    strategy : {"race", "exhaustive"}
        How the candidates of a step are compared.
    exchange : bool
        Whether other sets of each size are looked for.
    floating : bool
        Whether a better set of a smaller size is grown again at once.
    """

    def __init__(
        self,
        reference: Reference,
        space: Space,
        strategy: Strategy,
        *,
        exchange: bool = True,
        floating: bool = False,
    ) -> None:
        self.reference, self.space = reference, space
        self._compare = comparison(strategy, space.projector)
        self._quick = space.projector.effort is not None
        self._exchange, self._floating = exchange, floating
        self._rankings: list[Host] | None = None
        self._full: Projection | None = None
        self._left: dict[int, tuple[Members, Projection]] | None = None

    def begun(self) -> SearchPath:
        """Return the path before its first step."""
        projector, always = self.space.projector, self.space.always
        null, self._full = ends(projector)
        first = null
        if always:
            first = projector.project([self.space.asked(())], [null])[0]
        return SearchPath(
            reference=self.reference,
            projector=projector,
            units=(),
            projections=(projector.completed(first),),
            null_error=null.error,
            full_error=self._full.error,
            always=always,
            better=(None,),
        )

    def stepped(self, path: SearchPath) -> SearchPath:
        """Return the path after one more step."""
        space, size = self.space, len(path.units) + 1
        base = self._members(path.units)
        left = [number for number in range(len(space.units)) if number not in base]
        step = Step(space, base, path.projections[-1], float(path.relative_errors[-1]))
        ledger = self._ledger(path)
        found = compared(self._compare, step, left, _hopes(path, space, left))
        keep(ledger, step, left, found)
        best, _ = winner(step, left, found)
        members = step.members(left[best])
        chosen = ledger[members]
        if step.left > SETTLED:
            chosen = ledger.add(members, space.projector.polished(chosen))
        grown = replace(
            path,
            units=(*path.units, space.units[left[best]]),
            projections=(*path.projections, space.projector.completed(chosen)),
            tried=(*path.tried, *recorded(step, size, left, found)),
            better=(*path.better, None),
        )
        if self._exchange:
            grown = self._with_better(grown, ledger)
        if self._quick:  # another search has them again at once
            return grown
        others = (own for own in ledger.of_size(size) if own[0] != members)
        pool = tuple(Subset(self._units(own), one) for own, one in others)
        return replace(grown, pool=pool)

    def _ledger(self, path: SearchPath) -> Ledger:
        """Return all that the path knows of sets of its last size."""
        ledger = Ledger()
        known = [Subset(path.units, path.projections[-1]), path.better[-1], *path.pool]
        for own in known:
            if own is not None and own.units:
                ledger.add(self._members(own.units), own.projection)
        return ledger

    # Other sets of the same size -------------------------------------------------------------

    def _with_better(self, path: SearchPath, ledger: Ledger) -> SearchPath:
        """Return the path with the best set of its last size, and of the size before."""
        size, span = len(path.units), path.null_error - path.full_error
        if span <= 0.0 or path.relative_errors[-1] < (0.0 if self._quick else SETTLED):
            return self._carried(path)
        if self._quick:
            return self._with_all_tried(path, ledger, span)
        promises = _promises(path, self.space)
        along_orders(self.space, ledger, self._relevances(), size, path.projections[0])
        if size in self._elimination():
            ledger.add(*self._elimination()[size])
        self._follow(path, ledger, promises)
        (best,) = self._best(path, ledger, size)
        rankings = [promises, *self._relevances()]
        best = exchanged(self.space, ledger, best, rankings, span)
        return self._floated(self._kept(path, size, best), ledger, promises)

    def _with_all_tried(self, path: SearchPath, ledger: Ledger, span: float) -> SearchPath:
        """Return the path with the best set of its last size, where candidates cost nothing.

        Every unit is tried beside the best set of the size before, and in all exchanges; orders of
        other measures would find nothing that these do not.
        """
        size, before = len(path.units), path.better[-2]
        if before is not None:
            base = self._members(before.units)
            step = Step(self.space, base, before.projection)
            wanted = [
                number
                for number, unit in enumerate(self.space.units)
                if number not in base and no_dearer((*before.units, unit), path.units)
            ]
            grow(self._compare, ledger, step, wanted)
        (best,) = self._best(path, ledger, size)
        best = exchanged_freely(self.space, ledger, best, self._compare, span)
        return self._kept(path, size, best)

    def _carried(self, path: SearchPath) -> SearchPath:
        """Return the path with the best set before and one unit more, if that is better.

        So nothing is lost where no other set is looked for any more.
        """
        before = path.better[-2]
        if before is None or before.projection.error >= path.projections[-1].error:
            return path
        waiting = (unit for unit in path.units if unit not in before.units)
        more = min(waiting, key=lambda unit: unit.cost)
        if not no_dearer((*before.units, more), path.units):
            return path
        members = self._members((*before.units, more))
        same = before.projection._replace(inputs=self.space.asked(members))
        return replace(path, better=(*path.better[:-1], Subset(self._units(members), same)))

    def _relevances(self) -> list[Host]:
        if self._rankings is None:
            self._rankings = relevances(self.reference, self.space)
        return self._rankings

    def _elimination(self) -> dict[int, tuple[Members, Projection]]:
        if self._left is None:
            full = ends(self.space.projector).full if self._full is None else self._full
            self._left = eliminated(self.space, full)
        return self._left

    def _follow(self, path: SearchPath, ledger: Ledger, promises: Host) -> None:
        """Learn sets that add one unit to the best set of the size before, if it is not nested."""
        before = path.better[-2]
        if before is None:
            return
        base = self._members(before.units)
        left = np.array([u for u in range(len(self.space.units)) if u not in base], dtype=np.intp)
        slopes = self.space.slopes(before.projection)
        orders = [left[np.argsort(slopes[left])], left[np.argsort(-promises[left])]]
        wanted = list(dict.fromkeys(np.stack(orders, axis=1).ravel().tolist()))[:FOLLOWED]
        step = Step(self.space, base, before.projection, float(path.relative_errors[-1]))
        keep(ledger, step, wanted, race(step, wanted, np.full(len(wanted), np.inf)))

    def _floated(self, path: SearchPath, ledger: Ledger, promises: Host) -> SearchPath:
        """Return the path with a better set of the size before, if leaving one out showed it."""
        size = len(path.units)
        moved = self._kept(path, size - 1, *self._best(path, ledger, size - 1))
        if not self._floating or moved is path:
            return moved
        self._follow(moved, ledger, promises)
        return self._kept(moved, size, *self._best(moved, ledger, size))

    def _best(self, path: SearchPath, ledger: Ledger, size: int) -> list[Standing]:
        """Return the best set of a size that is no dearer than the nested one, if any is known."""
        known = [Standing(*one) for one in ledger.of_size(size)]
        nested = path.units[:size]
        known = [one for one in known if no_dearer(self._units(one.members), nested)]
        return [min(known, key=lambda one: one.projection.error)] if known else []

    def _kept(self, path: SearchPath, size: int, *found: Standing) -> SearchPath:
        """Return the path with a set as the best of its size, if it is better than the present."""
        for one in found:
            if one.projection.error < path.best_subset(size).projection.error:
                polished = self.space.projector.polished(one.projection)
                completed = self.space.projector.completed(polished)
                own = Subset(self._units(one.members), completed)
                better = (*path.better[:size], own, *path.better[size + 1 :])
                path = replace(path, better=better)
        return path

    def _members(self, units: Sequence[Unit]) -> Members:
        return frozenset(self.space.units.index(unit) for unit in units)

    def _units(self, members: Members) -> tuple[Unit, ...]:
        return tuple(self.space.units[number] for number in sorted(members))


def comparison(strategy: Strategy, projector: Projector, *, removing: bool = False) -> Compare:
    """Return how the candidates of a step are compared.

    There is no race where they are at their optima as soon as they are begun, as all are in closed
    form, and linear submodels without one of their units.
    """
    effort = projector.effort
    if effort is not None and (removing or effort.closed_form):
        return exhaust
    return STRATEGIES[strategy]


def _hopes(path: SearchPath, space: Space, numbers: Sequence[int]) -> Host:
    """Return the fall of the error per cost that each unit promised when it last ran."""
    last = {one.input: one for one in path.tried if one.evaluations}
    errors, names = path.errors, [space.units[number].name for number in numbers]
    falls = [
        errors[last[name].step - 1] - last[name].error if name in last else np.inf for name in names
    ]
    return worth(np.array(falls), space.costs(numbers))


def _promises(path: SearchPath, space: Space) -> Host:
    """Return the same for all units, nothing for those that never ran, `(units,)`."""
    hopes = _hopes(path, space, range(len(space.units)))
    return np.where(np.isfinite(hopes), hopes, -np.inf)
