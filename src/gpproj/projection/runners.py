"""A `Runner` is one set of inputs on its way to an optimum: a lane for each of its starts.

Runners can be paused, compared and dropped; searches race them. What a runner finds does not depend
on the others that it is advanced with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.optimise import State

NEAR = 0.5
"""Nats within which two optima are about equally good."""

MOVED = 0.1
"""Change of a log parameter that makes it another one."""


class Lane(NamedTuple):
    """One start of a set of inputs, and where it has come to."""

    active: NDArray[np.bool_]
    """Inputs it uses, `(d,)`."""
    state: State
    """Of one lane."""

    @property
    def value(self) -> float:
        """The objective where it stands."""
        return float(self.state.value[0])


class Runner(NamedTuple):
    """A set of inputs on its way to an optimum."""

    lanes: tuple[Lane, ...]
    spent: int = 0
    """Values and gradients of lanes that were dropped."""

    @property
    def best(self) -> Lane:
        """The lane that is lowest; the first of several."""
        return min(self.lanes, key=lambda lane: lane.value)

    @property
    def evaluations(self) -> int:
        """Values and gradients so far."""
        return self.spent + sum(int(lane.state.evaluations[0]) for lane in self.lanes)

    def narrowed(self, count: int) -> Runner:
        """Return the runner with so many of its lowest lanes, in their order."""
        values = np.array([lane.value for lane in self.lanes])
        kept = np.sort(np.argsort(values, kind="stable")[: max(count, 1)])
        lanes = tuple(self.lanes[place] for place in kept)
        return Runner(lanes, self.evaluations - Runner(lanes).evaluations)

    def with_lanes(self, other: Runner) -> Runner:
        """Return the runner with the lanes of another one of the same set besides."""
        return Runner((*self.lanes, *other.lanes), self.spent + other.spent)


def is_another(lane: Lane, best: Lane) -> bool:
    """Say whether a lane ended somewhere else than the best one, and about as well."""
    if lane is best or lane.value > best.value + NEAR:
        return False
    away = np.abs(lane.state.x[0] - best.state.x[0])
    return bool(away.max() > MOVED or np.any(lane.active != best.active))
