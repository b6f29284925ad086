"""The race between the candidates of a step: many start, fewer go on, the best arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host
from gpproj.projection import CandidateFit
from gpproj.search.step import Candidate, Step

WARM, FURTHER = 4, 8
"""Iterations of a candidate in the first and in the second heat."""

LANES = 1
"""Starts of a candidate that run on after the first heat. Where there are many valleys that is
often not the right one; hence winners are refined."""

FIRST_WARM, FIRST_LANES = 8, 2
"""Iterations and starts for a first input, before which nothing is known: it has the most valleys,
and all later ones depend on it."""

REFINE = 200
"""Values and gradients that the winner of a step takes, about."""

NOTHING_LEFT = 1e-4
"""An objective (in nats) below which there is no race: all is explained."""

BLOCK, SHARE = 100, 0.5
"""Candidates that start at a time, where there are more: the next ones start if any of the last
gains such a share of what the best one does."""

ARRIVE, OF = 3, 10
"""Candidates that are optimised to convergence, at least, where beginning costs next to nothing;
one of so many if that is more."""


class Heats(NamedTuple):
    """How many candidates run how far."""

    start: int
    """Run `WARM` iterations from all of their starts."""
    go_on: int
    """Run `FURTHER` ones from the best of these."""
    arrive: int
    """Are optimised to convergence."""


def heats_of(inputs: int, left: float, units: int) -> Heats:
    """Return the plan of a race.

    The first inputs decide what later ones can add, and what is known when they enter tells least
    about them: all candidates start, and many go on. Where hardly any error is left it hardly
    matters who wins.

    Parameters
    ----------
    inputs : int
        Number of inputs that are in.
    left : float
        Relative error that is left.
    units : int
        Number of candidates.

    Examples
    --------
    >>> heats_of(inputs=0, left=1.0, units=100)
    Heats(start=100, go_on=24, arrive=9)
    >>> heats_of(inputs=20, left=0.04, units=80)
    Heats(start=6, go_on=2, arrive=1)
    """
    if left < 0.01:
        plan = Heats(3, 1, 1)
    elif inputs < 5:
        plan = Heats(units, min(max(5, units // 2), 24), min(max(3, units // 4), 9))
    elif inputs < 8:
        plan = Heats(max(12, units // 2), max(6, units // 4), 3)
    elif left > 0.05:
        plan = Heats(max(8, units // 4), max(4, units // 8), 2)
    else:
        plan = Heats(max(5, units // 12), 2, 1)
    start, go_on, arrive = (min(count, units) for count in plan)
    return Heats(start, go_on, arrive)


def quick_heats(units: int) -> Heats:
    """Return the plan of a race where beginning costs next to nothing: everybody starts.

    >>> quick_heats(50)
    Heats(start=50, go_on=5, arrive=5)
    """
    arrive = min(max(ARRIVE, -(-units // OF)), units)
    return Heats(units, arrive, arrive)


def race(step: Step, candidates: Sequence[int], expected_gains: Host) -> list[Candidate]:
    """Optimise the promising candidates a little, fewer further, the best to convergence.

    Each has several starts: the optimum before the step, changed by its unit, and the reference's
    own values. All of them run before they are compared. Who starts is decided by two rankings in
    turn: the slope of the objective as the unit enters, and how much the unit promised at the last
    step it was looked at; no candidate is left out on its slope alone. More than a hundred start in
    blocks, in an order that other measures of relevance have a say in.

    Parameters
    ----------
    candidates : sequence of int
        Numbers of the units.
    expected_gains : array `(c,)`
        Fall of the error that each unit promised when it last ran; infinite if it never did.

    Returns
    -------
    list of Candidate
        One for each unit, in their order.
    """
    space, parent = step.space, step.parent
    found = [Candidate(parent.error, 0, None) for _ in candidates]
    if space.projector.effort is None:
        heats = heats_of(int(parent.inputs.sum()), step.left, len(candidates))
        settled = not step.removing and parent.value < NOTHING_LEFT
    else:
        heats, settled = quick_heats(len(candidates)), False
    everybody = np.isinf(expected_gains).all()  # nothing is known yet
    running = _ranked(step, candidates, expected_gains)[: None if everybody else heats.start]
    if settled:
        first = running[0]
        own = step.members(candidates[first])
        adopted = parent._replace(inputs=space.inputs(own), evaluations=0)
        found[first] = found[first]._replace(projection=adopted)
        return found

    first = not parent.inputs.any()
    running, fits = _started(step, candidates, running, FIRST_WARM if first else WARM)
    costs = space.costs(candidates)
    for count, iterations in ((heats.go_on, FURTHER), (heats.arrive, 0)):
        errors = space.projector.errors(fits)
        for place, fit, error in zip(running, fits, errors, strict=True):
            found[place] = Candidate(float(error), fit.evaluations, None)
        best = np.argsort(-step.gains(errors, costs[running]), kind="stable")[:count]
        running = running[best]
        fits = [fits[place].keep_best(FIRST_LANES if first else LANES) for place in best]
        if iterations:
            fits = space.advance(fits, iterations)
    if len(set(costs[running].tolist())) == 1:  # else the lowest error need not be the best
        left = space.contenders(fits, step.rivals)
        running = running[[fit is not None for fit in left]]
        fits = [fit for fit in left if fit is not None]
    sets = [step.members(candidates[place]) for place in running]
    for place, end in zip(running, space.finish(fits, sets, step.smaller), strict=True):
        found[place] = Candidate(end.error, end.evaluations, end)
    return found


def _started(
    step: Step, candidates: Sequence[int], places: NDArray[np.intp], iterations: int
) -> tuple[NDArray[np.intp], list[CandidateFit]]:
    """Begin candidates in their order, block by block, and return those that were begun.

    The next block is begun if any of the last one gains about as much as the best so far.
    """
    fits: list[CandidateFit] = []
    while len(fits) < len(places):
        block = places[len(fits) : len(fits) + BLOCK]
        sets = [step.members(candidates[place]) for place in block]
        fits += step.space.begin(sets, (step.parent,), iterations)
        costs = step.space.costs([candidates[place] for place in places[: len(fits)]])
        gains = step.gains(step.space.projector.errors(fits), costs)
        if len(fits) > BLOCK and gains[-len(block) :].max() < SHARE * gains.max():
            break
    return places[: len(fits)], fits


def evaluations_expected(inputs: int, units: int) -> int:
    """Return about how many values and gradients a race takes."""
    start, go_on, arrive = heats_of(inputs, 1.0, units)
    lanes, warm = (3, WARM) if inputs else (5, FIRST_WARM)
    start = min(start, 2 * BLOCK)
    return start * lanes * (warm + 2) + go_on * (FURTHER + 2) + arrive * 15 + REFINE


def _ranked(step: Step, candidates: Sequence[int], expected_gains: Host) -> NDArray[np.intp]:
    """Return the places of candidates in the order they may start.

    By slope and by gain in turn, and by other measures where they are more than a block.
    """
    slopes = np.zeros(len(candidates))
    if not step.removing:
        slopes = step.space.slopes(step.parent)[list(candidates)]
    orders = [slopes, -expected_gains]
    if len(candidates) > BLOCK:
        orders += [-ranking[list(candidates)] for ranking in step.rankings]
    turns = np.stack([np.argsort(one, kind="stable") for one in orders], axis=1).ravel()
    _, first = np.unique(turns, return_index=True)
    return turns[np.sort(first)]
