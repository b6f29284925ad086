"""One step of a search: every candidate to convergence, or a race between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run
from gpproj.linalg import Host
from gpproj.optimise import Objective, State, advance
from gpproj.projection import (
    Family,
    Projection,
    begin_in,
    masks_of,
    objective_of,
    project_positions,
)
from gpproj.projection.objective import projection_error, relevance_slopes
from gpproj.reference import Reference
from gpproj.search.path import Tried
from gpproj.search.units import Unit

WARM, FURTHER = 4, 6
"""Iterations of a candidate in the first and in the second heat of a race."""

FINALISTS = 2
"""Candidates of a race that are optimised to convergence."""

EARLY, MIDDLE = 5, 8
"""Inputs up to which everybody starts and many finish, and up to which they do so from all starts:
it is early that a new input may change the picture."""

LITTLE_LEFT = 5e-3
"""A relative error below which races are narrow: who wins them hardly matters."""

NOTHING_LEFT = 1e-4
"""A posterior divergence (in nats) below which there is no race: all is explained."""


PER_PROJECTION = 130
"""Values and gradients of one projection from all starts, about."""


class Field(NamedTuple):
    """What a step starts from."""

    reference: Reference
    family: Family
    chosen: tuple[int, ...]
    """Positions of the inputs that are in."""
    parent: Projection
    """The submodel on them."""
    left: float
    """Its relative error."""
    removing: bool = False
    """Whether units leave (a backward search) rather than enter."""

    @property
    def early(self) -> bool:
        """Whether the race is a wide one."""
        return not self.removing and len(self.chosen) < EARLY

    @property
    def late(self) -> bool:
        """Whether the race is a narrow one."""
        return not self.removing and self.left < LITTLE_LEFT

    def positions(self, unit: Unit) -> tuple[int, ...]:
        """Return the inputs of the submodel that a unit makes by entering or leaving."""
        if not self.removing:
            return (*self.chosen, *unit.positions)
        return tuple(one for one in self.chosen if one not in unit.positions)

    def project(self, unit: Unit) -> Projection:
        """Return that submodel, optimised from all starts to convergence."""
        parent, warm = (None, self.parent) if self.removing else (self.parent, None)
        positions = self.positions(unit)
        return project_positions(self.reference, self.family, positions, parent=parent, warm=warm)

    def finish(self, unit: Unit, found: Projection) -> Projection:
        """Return that submodel, optimised from what a race has found and a few other starts."""
        family = self.family
        if self.parent.kernel != family.kernel:
            return self.project(unit)  # the null model tells nothing of where to start
        parent = None if self.removing else self.parent
        return project_positions(
            self.reference,
            family,
            self.positions(unit),
            parent=parent,
            warm=found,
            starts_of=family.starts if len(self.chosen) < MIDDLE else family.best_starts,
        )

    def mask(self, unit: Unit) -> NDArray[np.bool_]:
        """Return the inputs that it can use, `(1, d)`: constant ones are never used."""
        training = self.reference.training
        varying: NDArray[np.bool_] = np.asarray(training.varying)
        return masks_of([self.positions(unit)], training.d) & varying

    def objective(self, mask: NDArray[np.bool_]) -> Objective:
        """Return what is minimised for a submodel with these inputs, whatever its starts."""
        target = self.reference.target
        return lambda x, lanes: objective_of(target, self.family, mask)(x, np.zeros_like(lanes))


class Candidate(NamedTuple):
    """What a step has found out about one unit."""

    error: float
    """The best projection error known; the parent's if the unit was not looked at."""
    evaluations: int
    """Values and gradients spent on it."""
    projection: Projection | None
    """Its submodel, where it was optimised to the end."""


def evaluations_expected(units: NDArray[np.intp], strategy: str) -> Host:
    """Return about how many values and gradients steps with that many candidates take."""
    if strategy == "exhaustive":
        return np.asarray(PER_PROJECTION * units, dtype=np.float64)
    width = np.maximum(4, units // 8)
    heats = np.minimum(2 * width, units) * (WARM + 3) + np.minimum(width, units) * FURTHER
    return np.asarray(heats + PER_PROJECTION * np.minimum(FINALISTS, units), dtype=np.float64)


def exhaust(field: Field, units: Sequence[Unit], n_jobs: int | None) -> list[Candidate]:
    """Optimise every candidate to convergence, as in the paper."""
    found = run(field.project, units, n_jobs)
    return [Candidate(one.projection_error, one.evaluations, one) for one in found]


def race(field: Field, units: Sequence[Unit], hopes: Host, n_jobs: int | None) -> list[Candidate]:
    """Optimise the promising candidates a little, fewer further, the best to convergence.

    Candidates run on from the parent's optimum. Who starts is decided by two rankings in turn: the
    slope of the objective as the unit enters, and how much the unit promised at the last step it
    was looked at; no candidate is left out on its slope alone.

    Parameters
    ----------
    field : Field
    units : sequence of Unit
    hopes : array `(u,)`
        Fall of the error that each unit promised when it last ran; infinite if it never did.
    n_jobs : int or None

    Returns
    -------
    list of Candidate
        One for each unit, in their order.
    """
    found = [Candidate(field.parent.projection_error, 0, None) for _ in units]
    starters = _starters(field, units, hopes)
    if not field.removing and field.parent.posterior_kl < NOTHING_LEFT:
        first = starters[:1]
        return [
            one._replace(projection=_adopted(field, units[u])) if u in first else one
            for u, one in enumerate(found)
        ]
    runners = run(partial(_start, field), [units[u] for u in starters], n_jobs)
    for heat in (FURTHER, None):
        prices = np.array([units[u].cost for u in starters])
        ranking = np.argsort(-gains(field, [one.error for one in runners], prices), kind="stable")
        for place in range(len(starters)):
            found[starters[place]] = Candidate(runners[place].error, runners[place].spent, None)
        kept = ranking[: _width(field, len(units)) if heat else _finalists(field, len(units))]
        starters, runners = starters[kept], [runners[k] for k in kept]
        if heat:
            runners = run(partial(_further, field, heat), runners, n_jobs)
    entries = [(units[u], runner) for u, runner in zip(starters, runners, strict=True)]
    finals = run(partial(_finish, field), entries, n_jobs)
    for u, final in zip(starters, finals, strict=True):
        found[u] = Candidate(final.projection_error, final.evaluations, final)
    return found


def gains(field: Field, errors: Sequence[float], costs: Host) -> Host:
    """Return what each unit is worth: the fall of the projection error per cost, `(u,)`.

    An input that enters and makes the error worse is no better for being dear: its rise counts
    times its cost. One that leaves makes it worse as a rule, and the dear one should leave first.
    """
    falls = field.parent.projection_error - np.asarray(errors)
    return np.where((falls < 0.0) & (not field.removing), falls * costs, falls / costs)


def winner(
    field: Field, units: Sequence[Unit], found: Sequence[Candidate]
) -> tuple[int, Projection]:
    """Return the best of the candidates that were optimised to the end, and its submodel."""
    ended = [(u, one.projection) for u, one in enumerate(found) if one.projection is not None]
    costs = np.array([units[u].cost for u, _ in ended])
    best = np.argmax(gains(field, [projection.projection_error for _, projection in ended], costs))
    return ended[int(best)]


def recorded(step: int, units: Sequence[Unit], found: Sequence[Candidate]) -> list[Tried]:
    """Return what a step has found out about every unit, for the path's record."""
    return [
        Tried(
            step=step,
            input=unit.name,
            error=one.error,
            evaluations=one.evaluations,
            converged=one.projection is not None and one.projection.converged,
        )
        for unit, one in zip(units, found, strict=True)
    ]


def _adopted(field: Field, unit: Unit) -> Projection:
    """Return the parent as it is, with the unit among the inputs it may use."""
    inputs = masks_of([field.positions(unit)], field.reference.training.d)[0]
    return field.parent._replace(inputs=inputs, evaluations=0)


class _Runner(NamedTuple):
    mask: NDArray[np.bool_]
    """`(1, d)`."""
    state: State
    error: float
    spent: int


def _finish(field: Field, entry: tuple[Unit, _Runner]) -> Projection:
    unit, runner = entry
    found = Projection(
        kernel=field.family.kernel,
        parameters=runner.state.x[0],
        inputs=runner.mask[0],
        active=runner.mask[0],
        value=float(runner.state.value[0]),
        posterior_kl=0.5 * float(runner.state.value[0]),
        projection_error=runner.error,
        converged=False,
        evaluations=runner.spent,
    )
    final = field.finish(unit, found)
    return final._replace(evaluations=final.evaluations + runner.spent)


def _starters(field: Field, units: Sequence[Unit], hopes: Host) -> NDArray[np.intp]:
    """Return the units that run, by slope and by hope in turn; constant inputs come last."""
    wide = field.early or np.isinf(hopes).all()
    count = len(units) if wide else 2 * _width(field, len(units))
    by_hope = np.argsort(-hopes, kind="stable")
    by_slope = np.argsort(_slopes(field, units), kind="stable")
    turns = np.stack([by_slope, by_hope], axis=1).ravel()
    _, first = np.unique(turns, return_index=True)
    return turns[np.sort(first)][:count]


def _width(field: Field, units: int) -> int:
    """Return how many candidates run in the second heat; late, twice as many in the first."""
    if field.late:
        return 2
    return max(6 if len(field.chosen) < MIDDLE else 4, units // 2 if field.early else units // 8)


def _finalists(field: Field, units: int) -> int:
    """Return how many candidates are optimised to the end."""
    if field.late:
        return 1
    if field.early:
        return min(max(FINALISTS + 1, units // 4), 10)
    return FINALISTS + (len(field.chosen) < MIDDLE)


def _slopes(field: Field, units: Sequence[Unit]) -> Host:
    """Return the slope of the objective as each unit enters, in the units of the data."""
    parent, family = field.parent, field.family
    if field.removing or parent.kernel != family.kernel:
        return np.zeros(len(units))  # nothing enters, or the null model lacks the component
    slopes = relevance_slopes(
        field.reference.target, parent.kernel, parent.parameters[None], parent.active[None]
    )[0]
    scaled = slopes / family.units.inputs**2
    return np.array([scaled[list(unit.positions)].sum() for unit in units])


def _start(field: Field, unit: Unit) -> _Runner:
    """Run a few iterations from the parent's optimum, by the better of its ways in."""
    mask = field.mask(unit)
    parent, family = field.parent, field.family
    if parent.kernel == family.kernel:
        starts = family.extended(parent.parameters, parent.active, mask[0])
    else:
        starts = family.starts(mask[0])
    state = begin_in(family, field.objective(mask), starts)
    best = int(np.argmin(state.value))
    state = state.keep([best])
    state = advance(field.objective(mask), state, WARM)
    spent = len(starts) - 1 + int(state.evaluations[0])
    return _Runner(mask, state, _score(field, mask, state), spent)


def _further(field: Field, iterations: int, runner: _Runner) -> _Runner:
    state = advance(field.objective(runner.mask), runner.state, iterations)
    spent = runner.spent + int(state.evaluations[0] - runner.state.evaluations[0])
    return _Runner(runner.mask, state, _score(field, runner.mask, state), spent)


def _score(field: Field, mask: NDArray[np.bool_], state: State) -> float:
    found = projection_error(field.reference.target, field.family.kernel, state.x, mask)
    return float(found[0])
