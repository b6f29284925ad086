"""The race between the candidates of a step: many start, fewer go on, the best arrive."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run
from gpproj.linalg import Host
from gpproj.optimise import State, advance
from gpproj.projection import Projection, elsewhere, enter, finish, masks_of, objective_on
from gpproj.projection.objective import projection_error, relevance_slopes
from gpproj.projection.solving import MAX_ITERATIONS
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
    elsewhere: Literal["go on", "arrive", "never"]
    """The heat from which candidates also run from a start that has nothing to do with the parent's
    optimum."""


def heats_of(inputs: int, left: float, units: int) -> Heats:
    """Return the plan of a race.

    The first inputs decide what later ones can add, and the warm start tells least about them: all
    candidates start, and many go on from two starts. Where hardly any error is left it hardly
    matters who wins.

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
    Heats(start=100, go_on=24, arrive=9, elsewhere='go on')
    >>> heats_of(inputs=20, left=0.04, units=80)
    Heats(start=6, go_on=2, arrive=1, elsewhere='never')
    """
    if left < 0.01:
        plan = Heats(3, 1, 1, "never")
    elif inputs < 5:
        plan = Heats(units, min(max(5, units // 2), 24), min(max(2, units // 4), 9), "go on")
    elif inputs < 8:
        plan = Heats(max(12, units // 2), max(6, units // 4), 3, "arrive")
    elif left > 0.05:
        plan = Heats(max(8, units // 4), max(4, units // 8), 2, "arrive")
    else:
        plan = Heats(max(5, units // 12), 2, 1, "never")
    start, go_on, arrive = (min(count, units) for count in plan[:3])
    return Heats(start, go_on, arrive, plan.elsewhere)


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

    costs = np.array([unit.cost for unit in units])
    runners = [[lane] for lane in run(partial(_start, field), [units[u] for u in running], n_jobs)]
    for heat, count, iterations in (
        ("go on", heats.go_on, FURTHER),
        ("arrive", heats.arrive, MAX_ITERATIONS),
    ):
        errors = [_best(lanes).error for lanes in runners]
        for u, error, lanes in zip(running, errors, runners, strict=True):
            found[u] = Candidate(error, _spent(lanes), None)
        best = np.argsort(-gains(field, errors, costs[running]), kind="stable")[:count]
        running, runners = running[best], [runners[place] for place in best]
        if heat == heats.elsewhere:
            runners = [[*lanes, _Lane(lanes[0].unit)] for lanes in runners]
        moved = iter(run(partial(_run, field, iterations), list(chain(*runners)), n_jobs))
        runners = [[next(moved) for _ in lanes] for lanes in runners]
    for u, lanes in zip(running, runners, strict=True):
        end = _end(field, lanes)
        found[u] = Candidate(end.projection_error, end.evaluations, end)
    return found


def evaluations_expected(inputs: int, units: int) -> int:
    """Return about how many values and gradients a race takes."""
    start, go_on, arrive, second = heats_of(inputs, 1.0, units)
    further = FURTHER + 1 + (WARM + FURTHER + 1 if second == "go on" else 0)
    return start * (WARM + 2) + go_on * further + arrive * 45


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
    return field.parent._replace(inputs=_asked(field, unit), evaluations=0)


def _asked(field: Field, unit: Unit) -> NDArray[np.bool_]:
    """Return the inputs that the unit's submodel may use, `(d,)`."""
    asked: NDArray[np.bool_] = masks_of([field.positions(unit)], field.reference.training.d)[0]
    return asked


class _Lane(NamedTuple):
    """One way that one candidate goes."""

    unit: Unit
    state: State | None = None
    """Where it stands; None if it has yet to begin, elsewhere."""
    error: float = np.inf


def _start(field: Field, unit: Unit) -> _Lane:
    """Run a few iterations from the parent's optimum."""
    state = enter(field.reference.target, field.family, field.mask(unit), field.parent)
    return _run(field, WARM, _Lane(unit, state))


def _run(field: Field, iterations: int, lane: _Lane) -> _Lane:
    """Run on; a lane that begins elsewhere runs as far as the others."""
    target, family, mask = field.reference.target, field.family, field.mask(lane.unit)
    state = lane.state
    if state is None:
        state, iterations = elsewhere(target, family, mask), iterations + WARM
    state = advance(objective_on(target, family, mask), state, iterations)
    error = projection_error(target, family.kernel, state.x, mask[None, :])
    return _Lane(lane.unit, state, float(error[0]))


def _best(lanes: Sequence[_Lane]) -> _Lane:
    return min(lanes, key=lambda lane: np.inf if lane.state is None else float(lane.state.value[0]))


def _spent(lanes: Sequence[_Lane]) -> int:
    return sum(int(lane.state.evaluations[0]) for lane in lanes if lane.state is not None)


def _end(field: Field, lanes: Sequence[_Lane]) -> Projection:
    """Return the submodel that the better lane has arrived at."""
    unit, states = lanes[0].unit, [lane.state for lane in lanes if lane.state is not None]
    mask, parent = field.mask(unit), None if field.removing else field.parent
    if not mask.any():  # the null model, which has a kernel of its own
        null = field.project(unit)
        return null._replace(evaluations=_spent(lanes) + null.evaluations)
    found = finish(field.reference.target, field.family, mask, states, parent)
    return found._replace(inputs=_asked(field, unit))
