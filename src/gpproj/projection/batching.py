"""How the lanes of losses are evaluated: on a processor, or on a device in batches.

Where a device projects several references at once, each of them runs in a thread of its own until
it needs evaluations (`execute.run_gathered`). The requests of all of them are then computed in as
few batches as their losses allow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import call_gathered, has_partners
from gpproj.linalg import Host, is_numpy
from gpproj.optimise import State, advance, concatenate_states
from gpproj.projection.family import Family
from gpproj.projection.loss import Loss
from gpproj.projection.objective import Criterion
from gpproj.projection.shared_lanes import advance_shared, begin_shared
from gpproj.reference import StackCache, Target, Targets, can_be_stacked


class Evaluator(NamedTuple):
    """The functions that evaluate and minimise a loss."""

    begin: Callable[[Loss, Host], State]
    """Evaluates a start for each lane, `(b, p)`."""
    advance: Callable[[Loss, State, int], State]
    """Runs the lanes of a state on for some iterations."""
    figures: Callable[[Loss, Criterion, Host], Host]
    """Returns a criterion at the parameters of each lane, `(b,)`."""


def evaluator_for(target: Target | Targets) -> Evaluator:
    """Return plain functions, those that share lanes with partners, or batches on a device."""
    if not is_numpy(target.X):
        return BATCHED
    return SHARED if has_partners() else PLAIN


class _Run(NamedTuple):
    loss: Loss
    state: State
    iterations: int


class _Points(NamedTuple):
    loss: Loss
    parameters: Host
    criterion: Criterion | None = None


Request = TypeVar("Request", _Run, _Points)
Answer = TypeVar("Answer")


def _begun(loss: Loss, requests: Sequence[_Points]) -> list[State]:
    state = loss.begin(np.concatenate([one.parameters for one in requests]))
    return _apart(state, [np.arange(len(one.parameters)) for one in requests])


def _advanced(loss: Loss, requests: Sequence[_Run]) -> list[State]:
    states = [one.state for one in requests]
    further = np.repeat([one.iterations for one in requests], [len(own.x) for own in states])
    return _apart(advance(loss, concatenate_states(states), further), [own.lanes for own in states])


def _figures(loss: Loss, requests: Sequence[_Points]) -> list[Host]:
    criterion: Any = requests[0].criterion
    found = loss.figures(criterion, np.concatenate([one.parameters for one in requests]))
    return np.split(found, np.cumsum([len(one.parameters) for one in requests])[:-1])


def _apart(state: State, numbers: Sequence[NDArray[np.intp]]) -> list[State]:
    """Return the states of several requests, with lanes that have their own numbers again."""
    ends = np.cumsum([len(own) for own in numbers])
    return [
        replace(state.take(np.arange(end - len(own), end)), lanes=own)
        for own, end in zip(numbers, ends, strict=True)
    ]


def _batched(
    answer: Callable[[Loss, Sequence[Request]], Sequence[Answer]],
    requests: Sequence[Request],
    cache: dict[str, StackCache],
) -> list[Answer]:
    """Answer requests in as few batches as their losses allow."""
    answers: dict[int, Answer] = {}
    left = list(range(len(requests)))
    while left:
        first = requests[left[0]].loss
        own = [place for place in left if place == left[0] or _alike(requests[place].loss, first)]
        left = [place for place in left if place not in own]
        batch = [requests[place] for place in own]
        found = answer(_joined([one.loss for one in batch], cache), batch)
        answers |= zip(own, found, strict=True)
    return [answers[place] for place in range(len(requests))]


def _alike(loss: Loss, first: Loss) -> bool:
    """Say whether two losses go into one batch."""
    return (
        (loss.learn, loss.tolerance, loss.scale, loss.times)
        == (first.learn, first.tolerance, first.scale, first.times)
        and can_be_stacked(loss.target, first.target)
        and can_be_stacked(loss.compared_with, first.compared_with)
        and loss.family.alike(first.family)
    )


def _joined(losses: Sequence[Loss], cache: dict[str, StackCache]) -> Loss:
    """Return losses as one, their lanes one after the other."""
    first = losses[0]
    if len(losses) == 1:
        return first
    stacks = cache.setdefault("stacks", StackCache())
    counts = [len(one.masks) for one in losses]
    lane_families: list[Family] = []
    family_of_lane = []
    for loss in losses:
        families, own = loss.families
        family_of_lane.append(len(lane_families) + own)
        lane_families += families
    return replace(
        first,
        target=stacks.of([one.target for one in losses], counts),
        masks=np.concatenate([one.masks for one in losses]),
        lane_families=tuple(lane_families),
        family_of_lane=np.concatenate(family_of_lane),
    )


# Requests to the same function, of the same kind, are answered together.
_ASK_BEGIN = partial(_batched, _begun)
_ASK_ADVANCE = partial(_batched, _advanced)
_ASK_FIGURES = partial(_batched, _figures)


def _begin_batched(loss: Loss, starts: Host) -> State:
    state: State = call_gathered(_ASK_BEGIN, _Points(loss, starts))
    return state


def _advance_batched(loss: Loss, state: State, iterations: int) -> State:
    # Lanes that have as far to go make the best batches. The loss is that of the lanes left.
    run = _Run(loss.at(state.lanes), state, iterations)
    moved: State = call_gathered(_ASK_ADVANCE, run, iterations)
    return moved


def _figures_batched(loss: Loss, criterion: Criterion, parameters: Host) -> Host:
    found: Host = call_gathered(_ASK_FIGURES, _Points(loss, parameters, criterion), criterion.name)
    return found


PLAIN = Evaluator(Loss.begin, advance, Loss.figures)
SHARED = Evaluator(begin_shared, advance_shared, Loss.figures)
BATCHED = Evaluator(_begin_batched, _advance_batched, _figures_batched)
