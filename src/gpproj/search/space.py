"""The sets of inputs that a search goes through, and the best submodels that it knows of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run_in_batches
from gpproj.linalg import Host
from gpproj.projection import CandidateFit, Learned, Projection, Projector, mask_of
from gpproj.search.units import Unit

Members: TypeAlias = frozenset[int]
"""A set of units, by their numbers."""


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """Sets of units, each of them an input or a group of inputs.

    Parameters
    ----------
    always : tuple of int
        Positions of inputs that are in every set.
    n_jobs : int or None
        Workers that learn submodels.
    learned : dict of bytes to array
        Starts of sets, which were learned from other rows.
    visited : dict of bytes to array
        Where the submodels of all sets have come to that were begun here.
    """

    projector: Projector
    always: tuple[int, ...]
    units: tuple[Unit, ...]
    n_jobs: int | None = 1
    learned: Learned = field(default_factory=dict)
    visited: Learned = field(default_factory=dict)

    def inputs(self, members: Iterable[int]) -> NDArray[np.bool_]:
        """Return the inputs of a set, `(d,)`."""
        entered = (position for unit in members for position in self.units[unit].positions)
        return mask_of((*self.always, *entered), self.projector.d)

    def varying_inputs(self, members: Iterable[int]) -> NDArray[np.bool_]:
        """Return the inputs of a set that can be used, `(d,)`: constant ones never are."""
        return self.inputs(members) & self.projector.varying

    def members_of(self, units: Iterable[Unit]) -> Members:
        """Return the set that consists of some units."""
        return frozenset(self.units.index(unit) for unit in units)

    def units_of(self, members: Members) -> tuple[Unit, ...]:
        """Return the units of a set, in their order."""
        return tuple(self.units[number] for number in sorted(members))

    def outside(self, members: Members) -> list[int]:
        """Return the numbers of the units that are not in a set."""
        return [number for number in range(len(self.units)) if number not in members]

    def costs(self, numbers: Iterable[int]) -> Host:
        """Return the costs of units."""
        return np.array([self.units[number].cost for number in numbers])

    def slopes(self, known: Projection) -> Host:
        """Return the slope of the objective as each unit enters, per cost, `(units,)`."""
        slopes = self.projector.entry_slopes(known)
        return np.array([slopes[list(unit.positions)].sum() / unit.cost for unit in self.units])

    def begin(
        self,
        sets: Sequence[Members],
        known: Iterable[Projection],
        iterations: int,
        *,
        near: bool = False,
    ) -> list[CandidateFit]:
        """Begin several sets, and run them a little; parameters as for `Projector.begin`."""
        masks = [self.varying_inputs(own) for own in sets]
        # Sets that are begun near a parent are compared as they stand: all have the same start.
        all_learned = all(mask.tobytes() in self.learned for mask in masks)
        learned = self.learned if all_learned or not near else None
        if all_learned:  # other rows have taken them most of the way
            iterations = -(-iterations // 2)
        begin, parents = self.projector.begin, tuple(known)
        work = partial(begin, known=parents, iterations=iterations, near=near, learned=learned)
        # What costs next to nothing is not worth a worker.
        n_jobs = self.n_jobs if self.projector.effort is None else 1
        found = run_in_batches(work, masks, n_jobs)
        return self._seen(found) if iterations else found

    def _seen(self, fits: list[CandidateFit]) -> list[CandidateFit]:
        """Return fits, and remember where they have come to."""
        for fit in fits:
            if (point := fit.point) is not None:
                self.visited[fit.inputs.tobytes()] = point
        return fits

    def advance(self, fits: Sequence[CandidateFit], iterations: int) -> list[CandidateFit]:
        """Run fits on for some iterations."""
        work = partial(self.projector.advance, iterations=iterations)
        return self._seen(run_in_batches(work, fits, self.n_jobs))

    def project(self, sets: Sequence[Members]) -> list[Projection]:
        """Project onto several sets, each by itself."""
        masks = [self.inputs(own) for own in sets]
        return run_in_batches(self.projector.project, masks, self.n_jobs, alike=False)

    def contenders(
        self, fits: Sequence[CandidateFit], known: Sequence[Projection] = ()
    ) -> list[CandidateFit | None]:
        """Return the fits that may be better than what is known, and None for the others."""
        return self.projector.contenders(fits, known)

    def settle(self, fits: Sequence[CandidateFit]) -> list[Projection]:
        """Return submodels that are good enough for others to start from."""
        return run_in_batches(self.projector.settle, fits, self.n_jobs, alike=False)

    def finish(
        self,
        fits: Sequence[CandidateFit],
        sets: Sequence[Members],
        smaller: Sequence[Projection] = (),
    ) -> list[Projection]:
        """Run fits to convergence; none ends worse than the given submodels on fewer inputs."""
        found = run_in_batches(self.projector.finish, fits, self.n_jobs, alike=False)
        for own, fit, end in zip(sets, fits, found, strict=True):
            if fit.point is not None and np.isfinite(end.value):
                self.visited[self.varying_inputs(own).tobytes()] = end.parameters
        return [
            self.projector.not_worse(one._replace(inputs=self.inputs(own)), smaller)
            for one, own in zip(found, sets, strict=True)
        ]


def finish_contenders(
    space: SearchSpace,
    fits: Mapping[Members, CandidateFit],
    known: Sequence[Projection] = (),
    smaller: Sequence[Projection] = (),
) -> dict[Members, Projection]:
    """Run those fits to convergence that may be better than each other and than what is known."""
    left = space.contenders(list(fits.values()), known)
    going = {own: fit for own, fit in zip(fits, left, strict=True) if fit is not None}
    ends = space.finish(list(going.values()), list(going), smaller)
    return dict(zip(going, ends, strict=True))


class ProjectionCache(dict[Members, Projection]):
    """The submodels that a search has learned to the end, the best of each set."""

    def add(self, members: Members, found: Projection) -> Projection:
        """Keep a submodel unless a better one of the same set is known; return the better one."""
        if members not in self or found.value < self[members].value:
            self[members] = found
        return self[members]

    def best_of(self, members: Members) -> list[Projection]:
        """Return the best submodel that is known of the size of a set, in a list."""
        known = [self[own] for own in self.of_size(len(members))]
        return [min(known, key=lambda one: one.error)] if known else []

    def of_size(self, size: int) -> list[Members]:
        """Return the sets of some size."""
        return [own for own in self if len(own) == size]
