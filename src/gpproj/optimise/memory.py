"""What each lane remembers of the way it came: steps, and how the gradient changed along them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Flags = NDArray[np.bool_]

# For a Hessian of condition number c, the cosine between a step and its change of gradient is at
# least 2 / sqrt(c): a pair below this shows rounding or a saddle, not curvature.
SMALLEST_COSINE = 1e-8


class Memory(NamedTuple):
    """The last pairs of step and change of gradient, every lane in a ring of its own."""

    steps: Floats
    """`(b, m, p)`: differences of successive positions."""
    changes: Floats
    """`(b, m, p)`: differences of successive gradients."""
    floors: Floats
    """`(b, m)`: the `step . change` above which a pair counts; infinity where none is held."""
    written: Integers
    """`(b,)`: pairs written so far; the next goes to place `written % m`."""

    def take(self, rows: Integers) -> Memory:
        """Return a copy of the given rows."""
        return Memory(self.steps[rows], self.changes[rows], self.floors[rows], self.written[rows])

    def scaled(self, factor: float) -> Memory:
        """Return the memory of an objective that is about so many times as large."""
        return self._replace(changes=self.changes * factor, floors=self.floors * factor)


def empty_memory(lanes: int, pairs: int, parameters: int) -> Memory:
    """Return a memory with room for `m = pairs` pairs and nothing in it."""
    shape = (lanes, pairs, parameters)
    floors = np.full((lanes, pairs), np.inf)
    return Memory(np.zeros(shape), np.zeros(shape), floors, np.zeros(lanes, dtype=np.intp))


def remember(memory: Memory, rows: Integers, steps: Floats, changes: Floats) -> None:
    """Write one pair for each row in place, over the oldest, unless it shows no curvature.

    Parameters
    ----------
    memory : Memory
    rows : (a,) integers
    steps, changes : (a, p) arrays
    """
    floors = SMALLEST_COSINE * np.sqrt(inner(steps, steps)) * np.sqrt(inner(changes, changes))
    convex = inner(steps, changes) > floors
    rows = rows[convex]
    place = memory.written[rows] % memory.steps.shape[1]
    memory.steps[rows, place] = steps[convex]
    memory.changes[rows, place] = changes[convex]
    memory.floors[rows, place] = floors[convex]
    memory.written[rows] += 1


def forget(memory: Memory, rows: Integers) -> None:
    """Drop all pairs of the given rows, in place."""
    memory.floors[rows] = np.inf


def latest_places(memory: Memory, rows: Integers, number: int) -> Integers:
    """Return where the latest pairs of the rows lie in their rings, `(number, a)`, newest first."""
    pairs = memory.steps.shape[1]
    places: Integers = (memory.written[rows] - 1 - np.arange(min(number, pairs))[:, None]) % pairs
    return places


def inner(left: Floats, right: Floats) -> Floats:
    """Return the inner products along the last axis, the same bits alone and in a batch.

    >>> inner(np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones((2, 2)))
    array([3., 7.])
    """
    result: Floats = np.einsum("...p,...p->...", left, right)
    return result
