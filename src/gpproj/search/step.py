"""One step of a search: what it starts from, and what it finds out about every candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run_in_batches
from gpproj.linalg import Host
from gpproj.projection import Family, Projection, masks_of, project_subsets
from gpproj.reference import Reference
from gpproj.search.path import Tried
from gpproj.search.units import Unit


class Field(NamedTuple):
    """What a step starts from."""

    reference: Reference
    family: Family
    chosen: tuple[int, ...]
    """Positions of the inputs that are in."""
    parent: Projection
    """The submodel on them."""
    left: float = 1.0
    """The relative error that is left to explain."""
    removing: bool = False
    """Whether units leave (a backward search) rather than enter."""

    def positions(self, unit: Unit) -> tuple[int, ...]:
        """Return the inputs of the submodel that a unit makes by entering or leaving."""
        if not self.removing:
            return (*self.chosen, *unit.positions)
        return tuple(one for one in self.chosen if one not in unit.positions)

    def project(self, units: Sequence[Unit]) -> list[Projection]:
        """Return the submodels of several units, optimised from all starts to convergence."""
        subsets = [self.positions(unit) for unit in units]
        if not self.removing:
            return project_subsets(self.reference, self.family, subsets, parent=self.parent)
        warm = self.parent.parameters, self.parent.active
        return project_subsets(self.reference, self.family, subsets, warm=warm)

    def mask(self, unit: Unit) -> NDArray[np.bool_]:
        """Return the inputs that it can use, `(d,)`: constant ones are never used."""
        training = self.reference.training
        asked = masks_of([self.positions(unit)], training.d)[0]
        mask: NDArray[np.bool_] = asked & np.asarray(training.varying)
        return mask


class Candidate(NamedTuple):
    """What a step has found out about one unit."""

    error: float
    """The best projection error known; the parent's if the unit was not looked at."""
    evaluations: int
    """Values and gradients spent on it."""
    projection: Projection | None
    """Its submodel, where it was optimised to the end."""


def exhaust(field: Field, units: Sequence[Unit], n_jobs: int | None) -> list[Candidate]:
    """Optimise every candidate to convergence, as in the paper."""
    found = run_in_batches(field.project, units, n_jobs, alike=False)
    return [Candidate(one.projection_error, one.evaluations, one) for one in found]


def gains(field: Field, errors: Sequence[float], costs: Host) -> Host:
    """Return what each unit is worth: the fall of the projection error per cost, `(u,)`.

    An input that enters and makes the error worse is no better for being dear: its rise counts
    times its cost. One that leaves makes it worse as a rule, and the dear one should leave first.
    """
    falls = field.parent.projection_error - np.asarray(errors)
    return falls / costs if field.removing else worth(falls, costs)


def worth(falls: Host, costs: Host) -> Host:
    """Return falls of the error per cost, and rises of it times their cost, `(u,)`."""
    return np.where(falls < 0.0, falls * costs, falls / costs)


def winner(
    field: Field, units: Sequence[Unit], found: Sequence[Candidate]
) -> tuple[int, Projection]:
    """Return the best of the candidates that were optimised to the end, and its submodel."""
    ended = [(u, one.projection) for u, one in enumerate(found) if one.projection is not None]
    costs = np.array([units[u].cost for u, _ in ended])
    best = np.argmax(gains(field, [projection.projection_error for _, projection in ended], costs))
    return ended[int(best)]


def recorded(
    field: Field, step: int, units: Sequence[Unit], found: Sequence[Candidate]
) -> list[Tried]:
    """Return what a step has found out about every unit, for the path's record."""
    known = field.parent.projection_error
    return [
        Tried(
            step=step,
            input=unit.name,
            error=one.error if np.isfinite(one.error) else known,  # nothing could be factorised
            evaluations=one.evaluations,
            converged=one.projection is not None and one.projection.converged,
        )
        for unit, one in zip(units, found, strict=True)
    ]
