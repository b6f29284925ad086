"""The race between the candidates of a step: many start, fewer go on, the best arrive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run_in_batches
from gpproj.linalg import Host
from gpproj.optimise import State, joined
from gpproj.projection import Goal, Projection, elsewhere, enter, finish, masks_of
from gpproj.projection.objective import relevance_slopes
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
    runners = run_in_batches(partial(_start, field), [units[u] for u in running], n_jobs)
    for heat, count in (("go on", heats.go_on), ("arrive", heats.arrive)):
        errors = [runner.error for runner in runners]
        for u, runner in zip(running, runners, strict=True):
            found[u] = Candidate(runner.error, _spent(runner), None)
        best = np.argsort(-gains(field, errors, costs[running]), kind="stable")[:count]
        running, runners = running[best], [runners[place] for place in best]
        if heat == heats.elsewhere:
            runners = [runner._replace(states=(*runner.states, None)) for runner in runners]
        if heat == "go on":
            runners = run_in_batches(partial(_run, field, FURTHER), runners, n_jobs)
    ends = _ends(field, _arrived(field, runners, n_jobs))
    for u, end in zip(running, ends, strict=True):
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
    state: State | None
    """Where it stands; None if it has yet to begin, elsewhere."""


class _Runner(NamedTuple):
    """One candidate and the ways that it goes, one lane each."""

    unit: Unit
    states: tuple[State | None, ...]
    error: float = np.inf
    """Projection error of the better lane."""

    def lanes(self) -> list[_Lane]:
        return [_Lane(self.unit, state) for state in self.states]

    def begun(self) -> list[State]:
        return [state for state in self.states if state is not None]


def _start(field: Field, units: Sequence[Unit]) -> list[_Runner]:
    """Run a few iterations from the parent's optimum."""
    states = enter(field.reference.target, field.family, _masks(field, units), field.parent)
    runners = [_Runner(unit, (state,)) for unit, state in zip(units, states, strict=True)]
    return _run(field, WARM, runners)


def _masks(field: Field, units: Iterable[Unit]) -> NDArray[np.bool_]:
    """Return the inputs that the units' submodels can use, `(c, d)`."""
    rows = [field.mask(unit) for unit in units]
    return np.array(rows).reshape(len(rows), field.reference.training.d)


def _run(field: Field, iterations: int, runners: Sequence[_Runner]) -> list[_Runner]:
    """Run candidates on, all lanes of all of them together, and score the better lanes."""
    lanes = chain.from_iterable(runner.lanes() for runner in runners)
    moved = _regrouped(runners, _advance(field, iterations, list(lanes)))
    return [
        runner._replace(error=error)
        for runner, error in zip(moved, _errors(field, moved), strict=True)
    ]


def _advance(field: Field, iterations: int, lanes: Sequence[_Lane]) -> list[State]:
    """Run lanes on in one batch; those that begin elsewhere run as far as the others."""
    target, family = field.reference.target, field.family
    fresh = [lane.unit for lane in lanes if lane.state is None]
    begun = iter(elsewhere(target, family, _masks(field, fresh)))
    states = [next(begun) if lane.state is None else lane.state for lane in lanes]
    further = np.array([iterations + WARM * (lane.state is None) for lane in lanes])
    goal = Goal(target, family, _masks(field, (lane.unit for lane in lanes)))
    return goal.advance(joined(states), further).apart()


def _regrouped(runners: Sequence[_Runner], states: Iterable[State]) -> list[_Runner]:
    """Give the lanes of all runners back to their runners."""
    moved = iter(states)
    return [runner._replace(states=tuple(islice(moved, len(runner.states)))) for runner in runners]


def _errors(field: Field, runners: Sequence[_Runner]) -> list[float]:
    """Return the projection errors of the better lanes."""
    best = [min(runner.begun(), key=lambda state: float(state.value[0])) for runner in runners]
    masks = _masks(field, (runner.unit for runner in runners))
    goal = Goal(field.reference.target, field.family, masks)
    return [float(error) for error in goal.errors(np.concatenate([state.x for state in best]))]


def _arrived(field: Field, runners: Sequence[_Runner], n_jobs: int | None) -> list[_Runner]:
    """Run candidates to convergence."""
    lanes = list(chain.from_iterable(runner.lanes() for runner in runners))
    work = partial(_advance, field, MAX_ITERATIONS)
    return _regrouped(runners, run_in_batches(work, lanes, n_jobs, alike=False))


def _spent(runner: _Runner) -> int:
    return sum(int(state.evaluations[0]) for state in runner.begun())


def _ends(field: Field, runners: Sequence[_Runner]) -> list[Projection]:
    """Return the submodels that the better lanes have arrived at."""
    masks = _masks(field, (runner.unit for runner in runners))
    some: NDArray[np.bool_] = np.asarray(masks.any(axis=1))
    parent = None if field.removing else field.parent
    states = [runner.begun() for runner, own in zip(runners, some, strict=True) if own]
    found = iter(finish(field.reference.target, field.family, masks[some], states, parent))
    ends = []
    for runner, own in zip(runners, some, strict=True):
        if own:
            ends.append(next(found)._replace(inputs=_asked(field, runner.unit)))
        else:  # the null model, which has a kernel of its own
            (null,) = field.project([runner.unit])
            ends.append(null._replace(evaluations=_spent(runner) + null.evaluations))
    return ends
