"""The sets of inputs that a search goes through, and all submodels that it has learned so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run_in_batches
from gpproj.linalg import Host
from gpproj.projection import AnyRunner, Projection, Projector, mask_of
from gpproj.search.units import Unit

Members: TypeAlias = frozenset[int]
"""A set of units, by their numbers."""


@dataclass(frozen=True, eq=False)
class Space:
    """Sets of units, each of them an input or a group of inputs.

    Parameters
    ----------
    projector : Projector
    always : tuple of int
        Positions of inputs that are in every set.
    units : tuple of Unit
    n_jobs : int or None
        Workers that learn submodels.
    """

    projector: Projector
    always: tuple[int, ...]
    units: tuple[Unit, ...]
    n_jobs: int | None = 1

    def asked(self, members: Iterable[int]) -> NDArray[np.bool_]:
        """Return the inputs of a set, `(d,)`."""
        entered = (position for unit in members for position in self.units[unit].positions)
        return mask_of((*self.always, *entered), self.projector.d)

    def mask(self, members: Iterable[int]) -> NDArray[np.bool_]:
        """Return the inputs of a set that can be used, `(d,)`: constant ones never are."""
        mask = self.asked(members)
        mask &= self.projector.varying
        return mask

    def costs(self, numbers: Iterable[int]) -> Host:
        """Return what units cost."""
        return np.array([self.units[number].cost for number in numbers])

    def slopes(self, known: Projection) -> Host:
        """Return the slope of the objective as each unit enters, per cost, `(units,)`."""
        slopes = self.projector.hints(known)
        return np.array([slopes[list(unit.positions)].sum() / unit.cost for unit in self.units])

    def begin(
        self,
        sets: Sequence[Members],
        known: Iterable[Projection],
        iterations: int,
        *,
        near: bool = False,
    ) -> list[AnyRunner]:
        """Begin several sets from the same known submodels, and run them a little.

        Parameters
        ----------
        sets : sequence of frozenset of int
        known : iterable of Projection
        iterations : int
        near : bool
            Not from the reference's own values too.
        """
        begin = self.projector.begin
        work = partial(begin, known=tuple(known), iterations=iterations, near=near)
        # What costs next to nothing is not worth a worker.
        n_jobs = self.n_jobs if self.projector.effort is None else 1
        return run_in_batches(work, [self.mask(own) for own in sets], n_jobs)

    def advance(self, runners: Sequence[AnyRunner], iterations: int) -> list[AnyRunner]:
        """Run on."""
        work = partial(self.projector.advance, iterations=iterations)
        return run_in_batches(work, runners, self.n_jobs)

    def project(self, sets: Sequence[Members]) -> list[Projection]:
        """Project onto several sets, each by itself."""
        masks = [self.asked(own) for own in sets]
        return run_in_batches(self.projector.project, masks, self.n_jobs, alike=False)

    def end(
        self,
        runners: Sequence[AnyRunner],
        sets: Sequence[Members],
        smaller: Iterable[Projection] = (),
    ) -> list[Projection]:
        """Run to convergence; no end is worse than the submodels on fewer inputs that are given."""
        known = tuple(smaller)
        pairs = list(zip(runners, sets, strict=True))
        found = run_in_batches(self._end, pairs, self.n_jobs, alike=False)
        return [
            self.projector.not_worse(one._replace(inputs=self.asked(own)), known)
            for one, own in zip(found, sets, strict=True)
        ]

    def _end(self, pairs: Sequence[tuple[AnyRunner, Members]]) -> list[Projection]:
        return self.projector.finish(
            [runner for runner, _ in pairs], [self.mask(own) for _, own in pairs]
        )


class Ledger:
    """All submodels that a search has learned to the end, the best of each set."""

    def __init__(self) -> None:
        self._known: dict[Members, Projection] = {}

    def __contains__(self, members: Members) -> bool:
        """Say whether a set was learned."""
        return members in self._known

    def __getitem__(self, members: Members) -> Projection:
        """Return the submodel of a set."""
        return self._known[members]

    def add(self, members: Members, found: Projection) -> Projection:
        """Keep a submodel unless a better one of the same set is known; return the better one."""
        old = self._known.get(members)
        if old is None or found.value < old.value:
            self._known[members] = found
        return self._known[members]

    def of_size(self, size: int) -> Iterator[tuple[Members, Projection]]:
        """Go through the sets of some size."""
        return ((own, found) for own, found in self._known.items() if len(own) == size)
