"""A submodel on one set of inputs while it is optimised: a lane for each of its starts.

Such fits can be paused, compared and dropped; searches race them. What a fit arrives at does not
depend on the others that it is advanced with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host
from gpproj.optimise import Memory, State

NEAR = 0.5
"""Nats within which two optima are about equally good."""

MOVED = 0.1
"""Change of a log parameter that makes it another one."""


class Lane(NamedTuple):
    """One start of a set of inputs, and the point that it has come to."""

    active: NDArray[np.bool_]
    """Inputs it uses, `(d,)`."""
    state: State
    """The optimiser's state of this one lane."""

    @property
    def value(self) -> float:
        """The objective at its present point."""
        return float(self.state.value[0])


class MultiStartFit(NamedTuple):
    """A set of inputs whose submodel is optimised from several starts."""

    inputs: NDArray[np.bool_]
    """The set, `(d,)`."""
    lanes: tuple[Lane, ...]
    spent: int = 0
    """Values and gradients of lanes that were dropped, or came from fewer rows."""
    rows: int = 0
    """Rows that its lanes are learned on."""

    @property
    def best(self) -> Lane:
        """The lane that is lowest; the first of several."""
        return min(self.lanes, key=lambda lane: lane.value)

    @property
    def evaluations(self) -> int:
        """Values and gradients so far."""
        return self.spent + sum(int(lane.state.evaluations[0]) for lane in self.lanes)

    @property
    def point(self) -> Host:
        """Parameters of the lowest lane, `(p,)`."""
        found: Host = self.best.state.x[0]
        return found

    def keep_best(self, count: int) -> MultiStartFit:
        """Return the fit with so many of its lowest lanes, in their order."""
        values = np.array([lane.value for lane in self.lanes])
        kept = np.sort(np.argsort(values, kind="stable")[: max(count, 1)])
        return self.with_only([self.lanes[place] for place in kept])

    def with_memory(self, memory: Memory) -> MultiStartFit:
        """Return the fit with lanes that remember the curvature of a similar objective."""
        return self._replace(
            lanes=tuple(one._replace(state=one.state.with_memory(memory)) for one in self.lanes)
        )

    def with_only(self, lanes: Sequence[Lane]) -> MultiStartFit:
        """Return the fit with some of its lanes; what the others took is not forgotten."""
        own = sum(int(lane.state.evaluations[0]) for lane in lanes)
        return self._replace(lanes=tuple(lanes), spent=self.evaluations - own)

    def with_lanes(self, other: MultiStartFit) -> MultiStartFit:
        """Return the fit with the lanes of another fit of the same set besides."""
        lanes = (*self.lanes, *other.lanes)
        return self._replace(lanes=lanes, spent=self.spent + other.spent)


def is_another(lane: Lane, best: Lane) -> bool:
    """Say whether a lane ended somewhere else than the best one, and about as well."""
    if lane is best or lane.value > best.value + NEAR:
        return False
    return are_apart(lane, best)


def are_apart(lane: Lane, other: Lane) -> bool:
    """Say whether two lanes ended at different points."""
    away = np.abs(lane.state.x[0] - other.state.x[0])
    return bool(away.max() > MOVED or np.any(lane.active != other.active))
