"""The forward search: step after step the unit that lowers the error most, and exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpproj.linalg import Host
from gpproj.projection import Projection
from gpproj.reference import Reference
from gpproj.search.exchange import AllExchanges, PromisingExchanges
from gpproj.search.options import SearchOptions
from gpproj.search.path import SearchPath
from gpproj.search.race import BLOCK, race
from gpproj.search.results import Subset, null_and_full
from gpproj.search.rivals import eliminated, fit_ranked_sets, relevances
from gpproj.search.space import Members, ProjectionCache, SearchSpace, finish_contenders
from gpproj.search.step import (
    Step,
    best_candidate,
    compare_candidates,
    gain_per_cost,
    grow,
    keep,
    records_of,
)
from gpproj.search.strategies import comparison
from gpproj.search.units import no_dearer
from gpproj.search.visited import visited_of

SETTLED = 1e-2
"""Relative error below which no other set of the size is looked for: nothing is left to win."""

RANKED = 600
"""Rows that other measures of relevance see at most."""

FOLLOWED = 8
"""Units that are tried beside the best set, where it is not the one of the path."""


class ForwardSearch:
    """A forward search and its steps.

    The path is nested: each step adds the unit that lowers the error most. Beside it stands the
    best set of every size, which exchanges, the orders of other measures and the removal of single
    units may have found.

    Parameters
    ----------
    options : SearchOptions
        How candidates are compared, and whether other sets of each size are looked for.
    refined : set of bytes
        Masks of sets whose starts were learned with all care from other rows.
    """

    def __init__(
        self,
        reference: Reference,
        space: SearchSpace,
        options: SearchOptions,
        refined: frozenset[bytes] = frozenset(),
    ) -> None:
        self.reference, self._whole, self.options = reference, space, options
        self._refined = refined
        self._compare = comparison(options.strategy, space.projector)
        self._is_quick = space.projector.effort is not None
        self._ends: tuple[Projection, Projection] | None = None
        self._space: SearchSpace | None = None
        self._rankings: list[Host] | None = None
        self._eliminated: dict[int, tuple[Members, Projection]] | None = None

    # Not cached by functools: in Python 3.11 all searches would wait for the lock of one of them.
    @property
    def ends(self) -> tuple[Projection, Projection]:
        """The null model, and the submodel on all inputs."""
        if self._ends is None:
            self._ends = null_and_full(self._whole.projector, self._whole.learned)
        projector, full = self._whole.projector, self._ends[1]
        # Where nothing can be explained it is the null model, which has other parameters.
        if projector.effort is None and projector.in_family(full):
            mask = full.inputs & projector.varying
            self._whole.visited[mask.tobytes()] = full.parameters
        return self._ends

    def _refine(self, found: Projection) -> Projection:
        """Return a submodel learned with more care, unless its start was."""
        projector = self.space.projector
        if (found.inputs & projector.varying).tobytes() in self._refined:
            return found
        return projector.refine(found)

    @property
    def space(self) -> SearchSpace:
        """The sets of inputs, and a projector that knows the ends of its errors."""
        if self._space is None:
            projector = self._whole.projector.between(*self.ends)
            self._space = replace(self._whole, projector=projector)
        return self._space

    def begin(self) -> SearchPath:
        """Return the path before its first step."""
        (null, full), projector, always = self.ends, self.space.projector, self.space.always
        first = projector.project([self.space.inputs(())], [null])[0] if always else null
        return SearchPath(
            reference=self.reference,
            projector=projector,
            units=(),
            projections=(first,),
            null_error=null.error,
            full_error=full.error,
            always=always,
            better=(None,),
        )

    def step(self, path: SearchPath) -> SearchPath:
        """Return the path after one more step."""
        space, size = self.space, len(path.units) + 1
        if path.visited is not None:  # the path goes on from what another search has found
            space.visited.update(path.visited.as_starts() | space.visited)
        base = space.members_of(path.units)
        left = space.outside(base)
        rankings = tuple(self._relevances()) if len(left) > BLOCK and not self._is_quick else ()
        error = float(path.relative_errors[-1])
        step = Step(space, base, path.projections[-1], error, rankings=rankings)
        cache = self._cache(path)
        gains = _expected_gains(path, space, left)
        found = compare_candidates(self._compare, step, left, gains)
        keep(cache, step, left, found)
        best, _ = best_candidate(step, left, found)
        members = step.members(left[best])
        # The submodel on all inputs is known: a path that comes so far ends no worse.
        chosen = cache.add(members, space.projector.not_worse(cache[members], self.ends[1:]))
        if step.left > SETTLED:
            chosen = cache.add(members, self._refine(chosen))
        records = records_of(step, size, left, found)
        grown = replace(
            path,
            units=(*path.units, space.units[left[best]]),
            projections=(*path.projections, chosen),
            candidate_records=(*path.candidate_records, *records),
            better=(*path.better, None),
        )
        if self.options.exchange:
            grown = self._with_better(grown, cache)
        if self._is_quick:  # another search has them again at once
            return grown
        grown = replace(grown, visited=visited_of(space.visited, space.projector.d))
        others = (own for own in cache.of_size(size) if own != members)
        pool = tuple(Subset(space.units_of(own), cache[own]) for own in others)
        return replace(grown, pool=pool)

    def _cache(self, path: SearchPath) -> ProjectionCache:
        """Return all submodels that the path knows on sets of its last size."""
        cache = ProjectionCache()
        known = [Subset(path.units, path.projections[-1]), path.better[-1], *path.pool]
        for own in known:
            if own is not None and own.units:
                cache.add(self.space.members_of(own.units), own.projection)
        return cache

    # Other sets of the same size -------------------------------------------------------------

    def _with_better(self, path: SearchPath, cache: ProjectionCache) -> SearchPath:
        """Return the path with the best set of its last size, and of the size before."""
        size, span = len(path.units), path.null_error - path.full_error
        carried = self._carried(path)
        left = carried.best_errors[-1] - path.full_error
        if span <= 0.0 or left < (0.0 if self._is_quick else SETTLED) * span:
            return carried
        if self._is_quick:
            return self._with_all_tried(path, cache, span)
        promises = _promises(path, self.space)
        fit_ranked_sets(self.space, cache, self._relevances(), size, path.projections[0])
        self._finish_eliminated(cache, size)
        self._follow(path, cache, promises)
        (best,) = self._best(path, cache, size)
        exchanges = PromisingExchanges(self.space, cache, [promises, *self._relevances()])
        grown = self._with_best(path, cache, exchanges.improve(best, span))
        return self._floated(grown, cache, promises)

    def _with_all_tried(self, path: SearchPath, cache: ProjectionCache, span: float) -> SearchPath:
        """Return the path with the best set of its last size, where candidates cost nothing.

        Every unit is tried beside the best set of the size before, and in all exchanges; orders of
        other measures would find nothing that these do not.
        """
        before, space = path.better[-2], self.space
        if before is not None:
            base = space.members_of(before.units)
            wanted = [
                number
                for number in space.outside(base)
                if no_dearer((*before.units, space.units[number]), path.units)
            ]
            grow(self._compare, cache, Step(space, base, before.projection), wanted)
        (best,) = self._best(path, cache, len(path.units))
        best = AllExchanges(space, cache, self._compare).improve(best, span)
        return self._with_best(path, cache, best)

    def _carried(self, path: SearchPath) -> SearchPath:
        """Return the path with the best set before and one unit more, if that is better.

        So nothing is lost where no other set is looked for any more.
        """
        before = path.better[-2]
        if before is None or before.projection.error >= path.projections[-1].error:
            return path
        waiting = (unit for unit in path.units if unit not in before.units)
        units = (*before.units, min(waiting, key=lambda unit: unit.cost))
        if not no_dearer(units, path.units):
            return path
        members = self.space.members_of(units)
        same = before.projection._replace(inputs=self.space.inputs(members))
        own = Subset(self.space.units_of(members), same)
        return replace(path, better=(*path.better[:-1], own))

    def _relevances(self) -> list[Host]:
        if self._rankings is None:
            n, own = self.reference.training.n, self.reference
            if n > RANKED:  # they are hints, and take the cube of the rows
                own = own.on_rows(np.linspace(0, n - 1, RANKED).astype(np.intp))
            self._rankings = relevances(own, self.space)
        return self._rankings

    def _finish_eliminated(self, cache: ProjectionCache, size: int) -> None:
        """Learn the set of a size that the quick elimination has left."""
        members, settled = self._elimination().get(size, (frozenset(), None))
        if settled is None or members in cache:
            return
        fits = self.space.begin([members], (settled,), 0, near=True)
        begun = dict(zip([members], [fit.keep_best(1) for fit in fits], strict=True))
        for own, end in finish_contenders(self.space, begun, cache.best_of(members)).items():
            cache.add(own, end)

    def _elimination(self) -> dict[int, tuple[Members, Projection]]:
        if self._eliminated is None:
            units = range(len(self.space.units))
            if len(units) > BLOCK:
                total = sum(np.argsort(np.argsort(own)) for own in self._relevances())
                units = np.sort(np.argsort(-total, kind="stable")[:BLOCK]).tolist()
            self._eliminated = eliminated(self.space, units, self.ends[1])
        return self._eliminated

    def _follow(self, path: SearchPath, cache: ProjectionCache, promises: Host) -> None:
        """Learn sets that add one unit to the best set of the size before, if it is not nested."""
        before, space = path.better[-2], self.space
        if before is None:
            return
        base = space.members_of(before.units)
        left = np.array(space.outside(base), dtype=np.intp)
        slopes = space.slopes(before.projection)
        orders = [left[np.argsort(slopes[left])], left[np.argsort(-promises[left])]]
        wanted = list(dict.fromkeys(np.stack(orders, axis=1).ravel().tolist()))[:FOLLOWED]
        (best,) = self._best(path, cache, len(path.units))
        relative_error = float(path.relative_errors[-1])
        step = Step(space, base, before.projection, relative_error, rivals=(cache[best],))
        keep(cache, step, wanted, race(step, wanted, np.full(len(wanted), np.inf)))

    def _floated(self, path: SearchPath, cache: ProjectionCache, promises: Host) -> SearchPath:
        """Return the path with a better set of the size before, if leaving one out showed it."""
        size = len(path.units)
        moved = self._with_best(path, cache, *self._best(path, cache, size - 1))
        if not self.options.floating or moved is path:
            return moved
        self._follow(moved, cache, promises)
        return self._with_best(moved, cache, *self._best(moved, cache, size))

    def _best(self, path: SearchPath, cache: ProjectionCache, size: int) -> list[Members]:
        """Return the best set of a size that is no dearer than the nested one, if any is known."""
        nested, space = path.units[:size], self.space
        known = [own for own in cache.of_size(size) if no_dearer(space.units_of(own), nested)]
        return [min(known, key=lambda own: cache[own].error)] if known else []

    def _with_best(self, path: SearchPath, cache: ProjectionCache, *sets: Members) -> SearchPath:
        """Return the path with sets as the best of their size, if they are better than those."""
        for members in sets:
            size = len(members)
            if cache[members].error < path.best_subset(size).projection.error:
                refined = self._refine(cache[members])
                own = Subset(self.space.units_of(members), refined)
                path = replace(path, better=(*path.better[:size], own, *path.better[size + 1 :]))
        return path


def _expected_gains(path: SearchPath, space: SearchSpace, numbers: Sequence[int]) -> Host:
    """Return the fall of the error per cost that each unit promised when it last ran."""
    last = {one.input: one for one in path.candidate_records if one.evaluations}
    errors, names = path.errors, [space.units[number].name for number in numbers]
    falls = [
        errors[last[name].step - 1] - last[name].error if name in last else np.inf for name in names
    ]
    return gain_per_cost(np.array(falls), space.costs(numbers))


def _promises(path: SearchPath, space: SearchSpace) -> Host:
    """Return the expected gains of all units, minus infinity for those that never ran."""
    expected_gains = _expected_gains(path, space, range(len(space.units)))
    return np.where(np.isfinite(expected_gains), expected_gains, -np.inf)
