"""The state that lanes carry forward, and the outcome that is reported about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpproj.optimise.direction import Point
from gpproj.optimise.memory import Flags, Floats, Integers, Memory

REASONS = ("iterations", "gradient", "value", "line search", "infeasible start")
ITERATIONS, GRADIENT, VALUE, LINE_SEARCH, INFEASIBLE_START = range(len(REASONS))

PER_LANE = (
    "x",
    "value",
    "gradient",
    "lower",
    "upper",
    "iterations",
    "evaluations",
    "ending",
    "finished",
)
"""Fields of a state that have one row for every lane, beside numbers and memory."""

TOLERANCES = ("gradient_tolerance", "value_tolerance", "value_scale")
"""Fields that all lanes have in common."""


class Outcome(NamedTuple):
    """The result of every lane."""

    lanes: Integers
    """`(b,)`: the numbers by which the objective was asked."""
    x: Floats
    """`(b, p)`: where the lane came to."""
    value: Floats
    """`(b,)`: the objective there; infinity after an infeasible start."""
    gradient: Floats
    """`(b, p)`: its gradient there."""
    converged: Flags
    """`(b,)`: whether the reason is "gradient" or "value"."""
    iterations: Integers
    """`(b,)`: steps taken."""
    evaluations: Integers
    """`(b,)`: points at which the objective was asked."""
    reason: NDArray[np.str_]
    """`(b,)`: why it ended there: "gradient", "value", "iterations", "line search" or
    "infeasible start"."""


@dataclass(frozen=True)
class State:
    """The lanes between one `advance` and the next; made by `begin`."""

    lanes: Integers
    """`(b,)`: the numbers of the lanes among the starts."""
    x: Floats
    """`(b, p)`."""
    value: Floats
    """`(b,)`."""
    gradient: Floats
    """`(b, p)`."""
    lower: Floats
    """`(b, p)`."""
    upper: Floats
    """`(b, p)`."""
    memory: Memory
    iterations: Integers
    """`(b,)`."""
    evaluations: Integers
    """`(b,)`."""
    ending: Integers
    """`(b,)`: position in `REASONS` of what the lane would answer now."""
    finished: Flags
    """`(b,)`: lanes that `advance` leaves alone. A lane that has converged but is not finished
    will look afar before it believes it."""
    gradient_tolerance: float
    value_tolerance: float
    value_scale: float = 1.0

    def keep(self, lanes: ArrayLike) -> State:
        """Return the state of some lanes, which keep their memory and their numbers.

        Parameters
        ----------
        lanes : (a,) integers
            Different numbers out of `state.lanes`, in any order.
        """
        wanted = np.asarray(lanes).tolist()
        rows = {lane: row for row, lane in enumerate(self.lanes.tolist())}
        if not set(wanted) <= set(rows) or len(set(wanted)) < len(wanted):
            raise ValueError(f"lanes must be different numbers out of {list(rows)}, got {wanted}")
        return self.take(np.array([rows[lane] for lane in wanted], dtype=np.intp))

    def split(self) -> list[State]:
        """Return the state of every lane by itself, in their order; each then has the number 0."""
        first = np.zeros(1, dtype=np.intp)
        return [replace(self.take(row), lanes=first) for row in np.arange(self.lanes.size)[:, None]]

    def outcome(self) -> Outcome:
        """Return the outcome of the lanes so far."""
        return Outcome(
            lanes=self.lanes,
            x=self.x,
            value=self.value,
            gradient=self.gradient,
            converged=(self.ending == GRADIENT) | (self.ending == VALUE),
            iterations=self.iterations,
            evaluations=self.evaluations,
            reason=np.array(REASONS)[self.ending],
        )

    def point(self, rows: Integers) -> Point:
        """Return the present points of the given rows."""
        return Point(self.x[rows], self.gradient[rows], self.lower[rows], self.upper[rows])

    def with_memory(self, memory: Memory) -> State:
        """Return the state with what its lanes remember of a similar objective."""
        return replace(self, memory=memory)

    def with_values(self, value: Floats) -> State:
        """Return the state with other values at its points, of an objective that is about equal."""
        return replace(self, value=value)

    def take(self, rows: Integers) -> State:
        """Return a copy of the given rows."""
        return replace(
            self,
            lanes=self.lanes[rows],
            memory=self.memory.take(rows),
            **{name: getattr(self, name)[rows] for name in PER_LANE},
        )

    def put(self, rows: Integers, other: State) -> State:
        """Return a copy with the lanes of another state in the given rows."""
        state = self.take(np.arange(self.lanes.size))
        pairs = [(getattr(state, name), getattr(other, name)) for name in PER_LANE]
        for own, new in (*pairs, *zip(state.memory, other.memory, strict=True)):
            own[rows] = new
        return state

    def as_rows(self) -> tuple[NDArray[Any], ...]:
        """Return all that the lanes carry, as arrays with a row for each, to be sent elsewhere."""
        common = np.array([getattr(self, name) for name in TOLERANCES])
        every = np.broadcast_to(common, (self.lanes.size, len(TOLERANCES)))
        return (every, *(getattr(self, name) for name in PER_LANE), *self.memory)

    @staticmethod
    def of_rows(rows: Sequence[NDArray[Any]]) -> State:
        """Return the state of at least one lane from `as_rows`; lanes are numbered from 0.

        >>> from gpproj.optimise import begin
        >>> state = begin(lambda x, lanes: (x[:, 0] ** 2, 2 * x), np.ones((3, 1)), [-2.0], [2.0])
        >>> State.of_rows([one[1:] for one in state.as_rows()]).lanes
        array([0, 1])
        """
        common, own, memory = rows[0], rows[1 : 1 + len(PER_LANE)], rows[1 + len(PER_LANE) :]
        fields: dict[str, Any] = dict(zip(PER_LANE, own, strict=True))
        fields |= zip(TOLERANCES, common[0].tolist(), strict=True)
        return State(lanes=np.arange(len(common)), memory=Memory(*memory), **fields)


def concatenate_states(states: Sequence[State]) -> State:
    """Return states as one, for one call of `advance`; their lanes are numbered anew from 0.

    Parameters
    ----------
    states : sequence of State
        At least one; with the same number of parameters, tolerances and room for pairs.
    """
    memories = zip(*(state.memory for state in states), strict=True)
    stacked: dict[str, Any] = {
        name: np.concatenate([getattr(state, name) for state in states]) for name in PER_LANE
    }
    return replace(
        states[0],
        lanes=np.arange(sum(state.lanes.size for state in states)),
        memory=Memory(*(np.concatenate(parts) for parts in memories)),
        **stacked,
    )
