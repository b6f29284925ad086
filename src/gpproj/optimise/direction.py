"""The line that a lane follows next inside its box."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpproj.optimise.memory import Floats, Integers, Memory, inner, latest_places
from gpproj.optimise.model import constrained_step, model_of, newton_step

# Parameters are logarithms: one is a factor of e. No coordinate is sent further at the first
# trial of a line, as longer leaps often land on a plateau; the line search may still go on.
REACH = 1.0
# Curvature changes on the way down an exponential tail: pairs older than these mislead about it.
RECENT = 3


class Point(NamedTuple):
    """The present points of lanes; every field is `(a, p)`."""

    x: Floats
    gradient: Floats
    lower: Floats
    upper: Floats


class Line(NamedTuple):
    """Straight lines from the present points of lanes."""

    target: Floats
    """`(a, p)`: the point at step one, in the box to the last bit."""
    direction: Floats
    """`(a, p)`: target minus present point."""
    slope: Floats
    """`(a,)`: slope of the objective at step zero, not positive."""
    longest: Floats
    """`(a,)`: largest step that stays in the box, at least one."""

    def put(self, rows: Integers, other: Line) -> None:
        """Write some rows in place."""
        for field, new in zip(self, other, strict=True):
            field[rows] = new


def projected_gradient_norm(point: Point) -> Floats:
    """Return the largest coordinate of the projected gradient, `|clip(x - g) - x|_inf`; `(a,)`.

    >>> zero, one = np.zeros((1, 2)), np.ones((1, 2))
    >>> projected_gradient_norm(Point(zero, np.array([[3.0, -0.5]]), lower=zero, upper=one))
    array([0.5])
    """
    move = into_box(point.x - point.gradient, point.lower, point.upper) - point.x
    result: Floats = np.max(np.abs(move), axis=-1, initial=0.0)
    return result


def quasi_newton_line(
    point: Point, memory: Memory, rows: Integers, workspace: Floats | None = None
) -> Line:
    """Return lines towards the minimisers of the lanes' models in their boxes.

    Coordinates at a bound that the gradient pushes outwards stay. The others take a Newton step;
    those which it brings to a bound are held there, and the rest is solved once more given their
    move. Without that second solve some bounded problems took 1.9 times the evaluations; a third
    one gained nothing.

    Parameters
    ----------
    point : Point
    memory : Memory
    rows : (a,) integers
        The rows of the memory that belong to the lanes.
    workspace : array, optional
        Work space, see `model_of`.
    """
    x, gradient, lower, upper = point
    pinned = ((x <= lower) & (gradient >= 0.0)) | ((x >= upper) & (gradient <= 0.0))
    model = model_of(memory, rows, gradient, ~pinned, workspace)
    step = newton_step(model)
    farthest = np.max(np.abs(step), axis=-1, initial=REACH)
    step *= (REACH / farthest)[:, None]
    target = into_box(x + step, lower, upper)

    reached = ~pinned & ((target == lower) | (target == upper))
    bent = reached.any(axis=-1)
    if bent.any():
        whole = model.take(bent).filled(memory.steps.shape[1])
        step = constrained_step(whole, (target - x)[bent], reached[bent])
        others = into_box(x[bent] + step, lower[bent], upper[bent])
        target[bent] = np.where(reached[bent], target[bent], others)
    # also where a singular or overflown model left NaN
    uphill = ~(inner(gradient, target - x) < 0.0)
    if uphill.any():
        length = np.sqrt(inner(model.gradient, model.gradient))[uphill, None]
        step = -model.gradient[uphill] / np.maximum(1.0, length)
        target[uphill] = into_box(x[uphill] + step, lower[uphill], upper[uphill])
    return _line(point, target)


def probing_line(point: Point, memory: Memory, rows: Integers) -> Line:
    """Return lines that send every coordinate as far downhill as its own curvature allows.

    A log likelihood is flat in the logarithm of a relevance near zero: gradient and curvature
    vanish together, quasi-Newton steps are tiny, and the lane looks converged. Coordinate i goes
    `min(1, |g_i| / h_i)` downhill, `h_i` the largest change of its gradient per length of step of
    late: next to nothing where the lane has converged, a whole unit where it is only flat.

    Parameters
    ----------
    point : Point
    memory : Memory
    rows : (a,) integers
        The rows of the memory that belong to the lanes.
    """
    places = latest_places(memory, rows, RECENT)
    steps, changes = memory.steps[rows, places], memory.changes[rows, places]
    held = np.isfinite(memory.floors[rows, places])
    lengths = np.where(held, np.sqrt(inner(steps, steps)), np.inf)
    curvature = np.max(np.abs(changes) / lengths[..., None], axis=0)
    size = np.abs(point.gradient)
    distance = size / np.maximum(np.maximum(curvature, size / REACH), np.finfo(np.float64).tiny)
    wish = point.x - np.sign(point.gradient) * distance
    return _line(point, into_box(wish, point.lower, point.upper))


def into_box(x: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return x clipped to its bounds, in half the time of `np.clip`."""
    result: Floats = np.minimum(np.maximum(x, lower), upper)
    return result


def _line(point: Point, target: Floats) -> Line:
    direction = target - point.x
    room = np.where(direction > 0.0, point.upper, point.lower) - point.x
    with np.errstate(invalid="ignore"):  # 0 / 0 at a bound, which fmax passes over
        used = np.fmax.reduce(direction / room, axis=-1, initial=np.finfo(np.float64).tiny)
    longest = np.maximum(1.0, 1.0 / used)
    return Line(target, direction, inner(point.gradient, direction), longest)
