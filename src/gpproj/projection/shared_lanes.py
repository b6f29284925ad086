"""Lanes that partner processes help to run: each takes some of them all the way.

A partner that is asked for every evaluation waits at each of them for the slowest of all. Here it
gets lanes with all that they carry, runs them for some iterations, and gives them back. A lane
comes to the same point, to the last bit, whoever runs it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import Rows, shared
from gpproj.linalg import Host, is_numpy
from gpproj.optimise import State, advance
from gpproj.projection.family import Family
from gpproj.projection.loss import Loss
from gpproj.projection.objective import Objective
from gpproj.reference import Target

AT_ONCE = 8
"""Iterations after which lanes are dealt out anew: some end early."""

SETTINGS = ("tolerance", "scale", "times")
"""Numbers of a loss, which travel with every lane."""

Known: TypeAlias = tuple[Target, Family, Objective]
"""What partners remember."""


def begin_shared(loss: Loss, starts: Host) -> State:
    """Evaluate a start for each lane, `(b, p)`."""
    if len(starts) < 2 or not _can_be_shared(loss):
        return loss.begin(starts)
    return State.of_rows(shared(_begun, *_work(loss, loss.masks, starts)))


def advance_shared(loss: Loss, state: State, iterations: int) -> State:
    """Run the lanes of a state on for some iterations."""
    if not _can_be_shared(loss):
        return advance(loss, state, iterations)
    limit = state.iterations + iterations
    while True:
        going = np.flatnonzero(~state.finished & (state.iterations < limit))
        left = (limit - state.iterations)[going]
        if going.size < 2:
            alone = np.zeros_like(limit)
            alone[going] = left
            return advance(loss, state, alone)
        part = state.take(going)
        some = np.minimum(left, AT_ONCE)
        masks = loss.masks[part.lanes]
        found = shared(_advanced, *_work(loss, masks, some, *part.as_rows()))
        state = state.put(going, State.of_rows(found))


def _can_be_shared(loss: Loss) -> bool:
    """Say whether lanes have one target and family, which partners remember."""
    return (
        isinstance(loss.target, Target)
        and loss.family_of_lane is None
        and loss.compared_with.inducing is None
        and is_numpy(loss.target.X)
    )


def _work(loss: Loss, masks: NDArray[np.bool_], *rows: NDArray[Any]) -> tuple[Any, ...]:
    """Return what the functions below are called with."""
    known = loss.target, loss.family, loss.learn
    settings = np.array([getattr(loss, name) for name in SETTINGS], dtype=np.float64)
    return known, np.broadcast_to(settings, (len(masks), len(SETTINGS))), masks, *rows


def _loss(known: Known, settings: Host, masks: NDArray[np.bool_]) -> Loss:
    target, family, learn = known
    numbers = dict(zip(SETTINGS, settings[0].tolist(), strict=True))
    return Loss(target=target, family=family, masks=masks, learn=learn, **numbers)


def _begun(known: Known, settings: Host, masks: NDArray[np.bool_], starts: Host) -> Rows:
    return _loss(known, settings, masks).begin(starts).as_rows()


def _advanced(
    known: Known,
    settings: Host,
    masks: NDArray[np.bool_],
    iterations: NDArray[np.intp],
    *rows: NDArray[Any],
) -> Rows:
    return advance(_loss(known, settings, masks), State.of_rows(rows), iterations).as_rows()
