"""Lanes of several goals in one batch: where a device projects several references at the same time.

Each of them runs in a thread of its own until it asks for evaluations (`execute.together`); what
all of them ask is answered in as few batches as their goals allow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import ask
from gpproj.linalg import Host
from gpproj.optimise import State, advance, begin, joined
from gpproj.reference import Groups, go_together

if TYPE_CHECKING:
    from gpproj.projection.family import Family
    from gpproj.projection.goal import Goal
    from gpproj.projection.objective import Criterion

MEMORY = 20
"""Of the optimiser: the curvature is uneven, and a long memory saves a tenth of the evaluations."""


class _Run(NamedTuple):
    goal: Goal
    state: State
    iterations: NDArray[np.intp]


class _Point(NamedTuple):
    goal: Goal
    parameters: Host


class _Figure(NamedTuple):
    goal: Goal
    parameters: Host
    criterion: Criterion


Question = TypeVar("Question", _Run, _Point, _Figure)
Told = TypeVar("Told")


def begun(goal: Goal, starts: Host) -> State:
    """Evaluate a start for each lane of a goal, `(b, p)`, together with those of other goals."""
    state: State = ask(_begun, _Point(goal, starts))
    return state


def advanced(goal: Goal, state: State, iterations: NDArray[np.intp]) -> State:
    """Run lanes on, together with those of other goals that have as far to go."""
    moved: State = ask(_advanced, _Run(goal, state, iterations), int(iterations.max(initial=0)))
    return moved


def figures(goal: Goal, criterion: Criterion, parameters: Host) -> Host:
    """Return what a criterion says of parameters of each lane, `(b,)`, likewise."""
    found: Host = ask(_figures, _Figure(goal, parameters, criterion), criterion.name)
    return found


def _begun(questions: Sequence[_Point], kept: dict[str, Groups]) -> list[State]:
    def answer(goal: Goal, own: Sequence[_Point]) -> list[State]:
        starts = np.concatenate([one.parameters for one in own])
        tolerance = goal.tolerance
        state = begin(goal, starts, *goal.bounds, value_tolerance=tolerance, memory=MEMORY)
        return _apart(state, [np.arange(len(one.parameters)) for one in own])

    return _batched(questions, kept, answer)


def _advanced(questions: Sequence[_Run], kept: dict[str, Groups]) -> list[State]:
    def answer(goal: Goal, own: Sequence[_Run]) -> list[State]:
        further = np.concatenate([one.iterations for one in own])
        state = advance(goal, joined([one.state for one in own]), further)
        return _apart(state, [one.state.lanes for one in own])

    # Goals of the lanes that are left, in their order.
    left = [one._replace(goal=one.goal.at(one.state.lanes)) for one in questions]
    return _batched(left, kept, answer)


def _figures(questions: Sequence[_Figure], kept: dict[str, Groups]) -> list[Host]:
    def answer(goal: Goal, own: Sequence[_Figure]) -> list[Host]:
        parameters = np.concatenate([one.parameters for one in own])
        found = own[0].criterion(goal.target, goal.family.kernel, parameters, goal.masks)
        return np.split(found, np.cumsum([len(one.parameters) for one in own])[:-1])

    return _batched(questions, kept, answer)


def _apart(state: State, numbers: Sequence[NDArray[np.intp]]) -> list[State]:
    """Return the states of several questions, whose lanes have their own numbers again."""
    ends = np.cumsum([len(own) for own in numbers])
    return [
        replace(state.take(np.arange(end - len(own), end)), lanes=own)
        for own, end in zip(numbers, ends, strict=True)
    ]


def _batched(
    questions: Sequence[Question],
    kept: dict[str, Groups],
    answer: Callable[[Goal, Sequence[Question]], Sequence[Told]],
) -> list[Told]:
    """Answer questions in as few batches as their goals allow."""
    told: dict[int, Told] = {}
    left = list(range(len(questions)))
    while left:
        first = questions[left[0]].goal
        own = [place for place in left if place == left[0] or _alike(questions[place].goal, first)]
        left = [place for place in left if place not in own]
        asked = [questions[place] for place in own]
        told |= zip(own, answer(_joined([one.goal for one in asked], kept), asked), strict=True)
    return [told[place] for place in range(len(questions))]


def _alike(goal: Goal, first: Goal) -> bool:
    """Say whether two goals go into one batch."""
    return (
        (goal.learn, goal.tolerance) == (first.learn, first.tolerance)
        and go_together(goal.target, first.target)
        and go_together(goal.compared_with, first.compared_with)
        and goal.family.alike(first.family)
    )


def _joined(goals: Sequence[Goal], kept: dict[str, Groups]) -> Goal:
    """Return goals as one, their lanes one after the other."""
    first = goals[0]
    if len(goals) == 1:
        return first
    groups = kept.setdefault("groups", Groups())
    counts = [len(one.masks) for one in goals]
    others: list[Family] = []
    whose = []
    for goal in goals:
        families, own = goal.families
        whose.append(len(others) + own)
        others += families
    return replace(
        first,
        target=groups.of([one.target for one in goals], counts),
        masks=np.concatenate([one.masks for one in goals]),
        others=tuple(others),
        whose=np.concatenate(whose),
    )
