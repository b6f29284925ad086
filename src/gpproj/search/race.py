"""The race between the candidates of a step: many start, fewer go on, the best arrive."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run
from gpproj.linalg import Host
from gpproj.optimise import State, advance
from gpproj.projection import Projection, begin_in, masks_of, project_positions
from gpproj.projection.objective import projection_error, relevance_slopes
from gpproj.search.step import Candidate, Field, gains
from gpproj.search.units import Unit

WARM, FURTHER = 4, 6
"""Iterations of a candidate in the first and in the second heat."""

NOTHING_LEFT = 1e-4
"""A posterior divergence (in nats) below which there is no race: all is explained."""


class Heats(NamedTuple):
    """How many candidates run how far."""

    start: int
    """Run `WARM` iterations from the parent's optimum."""
    go_on: int
    """Run `FURTHER` ones."""
    arrive: int
    """Are optimised to convergence."""
    thorough: bool
    """Whether those that arrive try all starts, or only the most useful ones."""


def heats_of(inputs: int, left: float, units: int) -> Heats:
    """Return the plan of a race.

    The first inputs decide what later ones can add, and the warm start tells least about them: all
    candidates start, and many arrive. Where hardly any error is left it hardly matters who wins.

    Parameters
    ----------
    inputs : int
        That are in.
    left : float
        Relative error that is left.
    units : int
        Candidates.

    Examples
    --------
    >>> heats_of(inputs=0, left=1.0, units=100)
    Heats(start=100, go_on=50, arrive=10, thorough=True)
    >>> heats_of(inputs=20, left=0.1, units=80)
    Heats(start=20, go_on=10, arrive=2, thorough=False)
    """
    if left < 5e-3:
        plan = Heats(4, 2, 1, False)
    elif inputs < 5:
        plan = Heats(units, max(6, units // 2), min(max(3, units // 4), 10), True)
    elif inputs < 8:
        plan = Heats(max(12, units // 4), max(6, units // 8), 3, True)
    else:
        plan = Heats(max(8, units // 4), max(4, units // 8), 2, False)
    start, go_on, arrive = (min(count, units) for count in plan[:3])
    return Heats(start, go_on, arrive, plan.thorough)


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
    heats = heats_of(len(field.chosen), field.left, len(units))
    everybody = np.isinf(hopes).all()  # nothing is known yet
    running = _ranked(field, units, hopes)[: None if everybody else heats.start]
    if not field.removing and field.parent.posterior_kl < NOTHING_LEFT:
        first = running[0]
        found[first] = found[first]._replace(projection=_adopted(field, units[first]))
        return found

    runners = run(partial(_start, field), [units[u] for u in running], n_jobs)
    for count, onward in (
        (heats.go_on, partial(_further, field)),
        (heats.arrive, partial(_arrive, field, heats.thorough)),
    ):
        for u, runner in zip(running, runners, strict=True):
            found[u] = Candidate(runner.error, runner.spent, runner.projection)
        worth = gains(
            field, [one.error for one in runners], np.array([units[u].cost for u in running])
        )
        best = np.argsort(-worth, kind="stable")[:count]
        running = running[best]
        runners = run(onward, [runners[place] for place in best], n_jobs)
    for u, runner in zip(running, runners, strict=True):
        found[u] = Candidate(runner.error, runner.spent, runner.projection)
    return found


def evaluations_expected(inputs: int, units: int) -> int:
    """Return about how many values and gradients a race takes."""
    start, go_on, arrive, thorough = heats_of(inputs, 1.0, units)
    return start * (WARM + 2) + go_on * (FURTHER + 1) + arrive * (80 if thorough else 55)


def _ranked(field: Field, units: Sequence[Unit], hopes: Host) -> NDArray[np.intp]:
    """Return the units in the order they may start: by slope and by hope in turn."""
    by_hope = np.argsort(-hopes, kind="stable")
    by_slope = np.argsort(_slopes(field, units), kind="stable")
    turns = np.stack([by_slope, by_hope], axis=1).ravel()
    _, first = np.unique(turns, return_index=True)
    return turns[np.sort(first)]


def _slopes(field: Field, units: Sequence[Unit]) -> Host:
    """Return the slope of the objective as each unit enters, per cost, in units of the data."""
    parent, family = field.parent, field.family
    if field.removing or parent.kernel != family.kernel:
        return np.zeros(len(units))  # nothing enters, or the null model lacks the component
    slopes = relevance_slopes(
        field.reference.target, parent.kernel, parent.parameters[None], parent.active[None]
    )[0]
    scaled = slopes / family.units.inputs**2
    return np.array([scaled[list(unit.positions)].sum() / unit.cost for unit in units])


def _adopted(field: Field, unit: Unit) -> Projection:
    """Return the parent as it is, with the unit among the inputs it may use."""
    inputs = masks_of([field.positions(unit)], field.reference.training.d)[0]
    return field.parent._replace(inputs=inputs, evaluations=0)


class _Runner(NamedTuple):
    unit: Unit
    mask: NDArray[np.bool_]
    """`(1, d)`."""
    state: State
    error: float
    spent: int
    projection: Projection | None = None
    """Where it has arrived."""


def _start(field: Field, unit: Unit) -> _Runner:
    """Run a few iterations from the parent's optimum, by the better of its ways in."""
    mask = field.mask(unit)
    parent, family = field.parent, field.family
    if parent.kernel == family.kernel:
        starts = family.extended(parent.parameters, parent.active, mask[0])
    else:
        starts = family.starts(mask[0])
    state = begin_in(family, field.objective(mask), starts)
    state = advance(field.objective(mask), state.keep([int(np.argmin(state.value))]), WARM)
    spent = len(starts) - 1 + int(state.evaluations[0])
    return _Runner(unit, mask, state, _score(field, mask, state), spent)


def _further(field: Field, runner: _Runner) -> _Runner:
    state = advance(field.objective(runner.mask), runner.state, FURTHER)
    spent = runner.spent + int(state.evaluations[0] - runner.state.evaluations[0])
    return runner._replace(state=state, error=_score(field, runner.mask, state), spent=spent)


def _arrive(field: Field, thorough: bool, runner: _Runner) -> _Runner:
    """Optimise to convergence, from where the runner stands and from other starts."""
    family = field.family
    if field.parent.kernel != family.kernel:  # the null model tells nothing of where to start
        found = field.project(runner.unit)
    else:
        found = project_positions(
            field.reference,
            family,
            field.positions(runner.unit),
            parent=None if field.removing else field.parent,
            warm=(runner.state.x[0], runner.mask[0]),
            starts_of=family.starts if thorough else family.best_starts,
        )
    spent = runner.spent + found.evaluations
    arrived = found._replace(evaluations=spent)
    return runner._replace(error=found.projection_error, spent=spent, projection=arrived)


def _score(field: Field, mask: NDArray[np.bool_], state: State) -> float:
    found = projection_error(field.reference.target, field.family.kernel, state.x, mask)
    return float(found[0])
