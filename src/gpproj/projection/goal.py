"""What projections minimise, lane by lane, and its minimisation.

Where several references are projected at the same time (`execute.together`), on a device, the lanes
of all of them go into one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import ask
from gpproj.linalg import Host
from gpproj.optimise import State, advance, begin, joined
from gpproj.priors import Bounds, LogPrior
from gpproj.projection.family import Family
from gpproj.projection.objective import Criterion, Objective
from gpproj.reference import Groups, Held, Target, Targets, go_together

TIGHT, LOOSE = 1e-7, 1e-5
"""Relative change of the objective that counts as none: 1e-5 nats in a divergence of 100, and 1e-3
where candidates are compared."""

MEMORY = 20
"""Of the optimiser: the curvature is uneven, and a long memory saves a tenth of the evaluations."""

PRIOR_WEIGHT = 2.0
"""How often the log prior is subtracted from an objective. E of the posteriors and the negative
evidence are twice a divergence. That of leave-one-out predictions is not, but its rows are not
independent either: they overstate what is known of the parameters, most of all where the inputs
tell little."""


@dataclass(frozen=True, eq=False)
class Goal:
    """An objective less the log prior of its parameters, to be minimised."""

    target: Target | Targets
    family: Family
    masks: NDArray[np.bool_]
    """The inputs of every lane, `(b, d)`."""
    learn: Objective
    tolerance: float = TIGHT
    """Relative change of the value that counts as none."""
    others: tuple[Family, ...] = ()
    """Families of lanes that have their own prior, where several references are in one batch."""
    whose: NDArray[np.intp] | None = None
    """Which of these each lane has, `(b,)`."""

    def __call__(self, parameters: Host, lanes: NDArray[np.intp]) -> tuple[Host, Host]:
        """Return value and gradient for some of the lanes, `(a,)` and `(a, p)`."""
        masks, family = self.masks[lanes], self.family
        held = self.compared_with.at(lanes)
        value, gradient = self.learn.value(held, family.kernel, parameters, masks)
        if family.log_prior is None:
            return value, gradient
        prior = self.at(lanes).log_prior(parameters)
        return value - PRIOR_WEIGHT * prior.value, gradient - PRIOR_WEIGHT * prior.gradient

    def log_prior(self, parameters: Host) -> LogPrior:
        """Return the log prior of every lane at its own parameters, `(b, p)`."""
        if self.whose is None:
            assert self.family.log_prior is not None  # whoever asks has seen that
            return self.family.log_prior(parameters, self.masks)
        value, gradient = np.empty(len(parameters)), np.empty_like(parameters)
        for number, family in enumerate(self.others):
            own = np.flatnonzero(self.whose == number)
            assert family.log_prior is not None  # as the first one has one
            value[own], gradient[own] = family.log_prior(parameters[own], self.masks[own])
        return LogPrior(value, gradient)

    @cached_property
    def compared_with(self) -> Held:
        """What of the target the objective looks at."""
        return self.learn.compared_with(self.target)

    @property
    def bounds(self) -> Bounds:
        """Bounds of the parameters of every lane, `(b, p)` each."""
        families, whose = self.families
        lower, upper = (np.stack([one.bounds[side] for one in families]) for side in (0, 1))
        return Bounds(lower[whose], upper[whose])

    @property
    def families(self) -> tuple[tuple[Family, ...], NDArray[np.intp]]:
        """The families of the lanes, and which of them each lane has, `(b,)`."""
        if self.whose is None:
            return (self.family,), np.zeros(len(self.masks), dtype=np.intp)
        return self.others, self.whose

    def at(self, lanes: NDArray[np.intp]) -> Goal:
        """Return the goal of some of the lanes."""
        whose = None if self.whose is None else self.whose[lanes]
        return replace(self, target=self.target.at(lanes), masks=self.masks[lanes], whose=whose)

    def begin(self, starts: Host) -> State:
        """Evaluate a start for each lane, `(b, p)`."""
        state: State = ask(_begun, _Point(self, starts))
        return state

    def advance(self, state: State, iterations: int | NDArray[np.intp]) -> State:
        """Run lanes on, as `optimise.advance` does."""
        further = np.broadcast_to(iterations, state.lanes.shape)
        moved: State = ask(_advanced, _Run(self, state, further), int(further.max(initial=0)))
        return moved

    def divergences(self, parameters: Host, values: Host) -> Host:
        """Return the objective without the prior, `(b,)`, of parameters whose value is known."""
        if self.family.log_prior is None:
            return values
        return values + PRIOR_WEIGHT * self.log_prior(parameters).value

    def figures(self, criterion: Criterion, parameters: Host) -> Host:
        """Return what a criterion says of parameters of each lane, `(b,)`."""
        asked = _Figure(self, parameters, criterion)
        figures: Host = ask(_figures, asked, criterion.name)
        return figures


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
