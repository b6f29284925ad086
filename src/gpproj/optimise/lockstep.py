"""All lanes advance at once: each round is one call of the objective with one point per lane."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from gpproj.execute import check_stop
from gpproj.optimise.direction import (
    Line,
    Point,
    into_box,
    probing_line,
    projected_gradient_norm,
    quasi_newton_line,
)
from gpproj.optimise.line_search import Search, judge, open_search
from gpproj.optimise.memory import Floats, Integers, empty_memory, forget, inner, remember
from gpproj.optimise.state import (
    GRADIENT,
    INFEASIBLE_START,
    ITERATIONS,
    LINE_SEARCH,
    VALUE,
    Outcome,
    State,
)

Objective = Callable[[Floats, Integers], tuple[ArrayLike, ArrayLike]]


def minimise(
    objective: Objective,
    starts: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    max_iterations: int = 200,
    gradient_tolerance: float = 1e-5,
    value_tolerance: float = 1e-9,
    memory: int = 10,
) -> Outcome:
    """Minimise one objective per lane inside a box, from one start per lane.

    Parameters
    ----------
    objective : callable
        `objective(x, lanes) -> (value, gradient)` with x `(a, p)`, lanes `(a,)` the numbers of the
        lanes asked for, value `(a,)`, gradient `(a, p)`. A value or gradient that is not finite
        says that the point is infeasible: the lane backs off.
    starts : (b, p) array
        Clipped into the box. Parameters should be of order one, such as logarithms.
    lower, upper : (b, p) or (p,) arrays
        May be infinite, and equal where a parameter is fixed.
    max_iterations : int
    gradient_tolerance : float
        A lane has converged when no coordinate of its projected gradient exceeds this, or
    value_tolerance : float
        when a step has lowered the value by no more than this times `max(1, |value|)`; and when,
        after that, a look along its flat coordinates promises or gives no more either.
    memory : int
        Pairs of step and change of gradient that a lane remembers.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> centres = np.array([[0.5, -3.0], [2.0, 0.0]])
    >>> def objective(x, lanes):
    ...     away = x - centres[lanes]
    ...     return (away**2).sum(axis=1), 2.0 * away
    >>> outcome = minimise(objective, np.zeros((2, 2)), [-1.0, -1.0], [1.0, 1.0])
    >>> outcome.x.round(6).tolist()
    [[0.5, -1.0], [1.0, 0.0]]
    >>> outcome.reason.tolist()
    ['gradient', 'gradient']
    """
    state = begin(
        objective,
        starts,
        lower,
        upper,
        gradient_tolerance=gradient_tolerance,
        value_tolerance=value_tolerance,
        memory=memory,
    )
    return advance(objective, state, max_iterations).outcome()


def begin(
    objective: Objective,
    starts: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    gradient_tolerance: float = 1e-5,
    value_tolerance: float = 1e-9,
    value_scale: float = 1.0,
    memory: int = 10,
) -> State:
    """Evaluate the starts; parameters as for `minimise`.

    Values below `value_scale` have the tolerance of that value.
    """
    x, low, high = _box(starts, lower, upper)
    for name, tolerance in (
        ("gradient_tolerance", gradient_tolerance),
        ("value_tolerance", value_tolerance),
    ):
        if not 0.0 <= tolerance < np.inf:
            raise ValueError(f"{name} must be zero or positive and finite, got {tolerance!r}")
    if memory < 1:
        raise ValueError(f"memory must be at least 1 pair, got {memory!r}")
    lanes = np.arange(x.shape[0])
    check_stop()
    found = objective(x, lanes) if lanes.size else (np.empty(0), np.empty_like(x))
    value, gradient = _checked(x, *found)
    feasible = np.isfinite(value)
    flat = projected_gradient_norm(Point(x, np.where(feasible[:, None], gradient, 0.0), low, high))
    return State(
        lanes=lanes,
        x=x,
        value=value,
        gradient=gradient.copy(),
        lower=low,
        upper=high,
        memory=empty_memory(x.shape[0], memory, x.shape[1]),
        iterations=np.zeros_like(lanes),
        evaluations=np.ones_like(lanes),
        ending=np.select(
            [~feasible, flat <= gradient_tolerance], [INFEASIBLE_START, GRADIENT], ITERATIONS
        ),
        finished=~feasible,
        gradient_tolerance=gradient_tolerance,
        value_tolerance=value_tolerance,
        value_scale=value_scale,
    )


def advance(objective: Objective, state: State, iterations: int | Integers) -> State:
    """Return the state after at most that many more iterations of every unfinished lane.

    A lane takes the same steps however its iterations are shared out between calls.

    Parameters
    ----------
    objective : callable
        As for `minimise`; it is asked about unfinished lanes only.
    state : State
    iterations : int or (b,) integers
        For all lanes, or for each of them.
    """
    if np.any(np.less(iterations, 0)):
        raise ValueError(f"iterations must be zero or positive, got {iterations!r}")
    state = state.take(np.arange(state.lanes.size))  # a copy, so that what follows may write
    limit = state.iterations + iterations
    line = Line(*(np.zeros_like(field) for field in (state.x, state.x, state.value, state.value)))
    search = Search(*(np.zeros_like(state.value) for _ in Search._fields))
    under_way = np.zeros_like(state.finished)
    workspace = np.empty((2, state.memory.steps.size))
    while True:
        rows = np.flatnonzero(~state.finished & (state.iterations < limit))
        fresh = rows[~under_way[rows]]
        if fresh.size:
            _begin_lines(state, fresh, line, search, workspace)
            rows = rows[~state.finished[rows]]
        if not rows.size:
            return state
        here = search.take(rows)
        trial = _trial_points(state, rows, line, here.step)
        check_stop()
        value, gradient = _checked(trial, *objective(trial, state.lanes[rows]))
        state.evaluations[rows] += 1
        feasible = np.isfinite(value)[:, None]
        slope = inner(np.where(feasible, gradient, 0.0), line.direction[rows])
        accepted, failed, onward = judge(here, value, slope)
        trying = ~(accepted | failed)
        under_way[rows] = trying
        if trying.any():
            search.put(rows[trying], onward)
        if accepted.any():
            _accept_steps(
                state, rows[accepted], trial[accepted], value[accepted], gradient[accepted]
            )
        if failed.any():
            _give_up_lines(state, rows[failed])


def _begin_lines(
    state: State, rows: Integers, line: Line, search: Search, workspace: Floats
) -> None:
    """Give the rows a line each; finish those that have converged and have nothing to gain."""
    content = state.ending[rows] != ITERATIONS
    walking, looking = rows[~content], rows[content]
    with np.errstate(over="ignore", invalid="ignore"):
        if walking.size:
            line.put(
                walking, quasi_newton_line(state.point(walking), state.memory, walking, workspace)
            )
        if looking.size:
            line.put(looking, probing_line(state.point(looking), state.memory, looking))
    slope = line.slope[rows]
    required = np.where(content, _tolerance(state, rows), -np.inf)
    # a convex objective cannot gain more than -slope by the full step
    state.finished[rows] = -slope <= required
    search.put(rows, open_search(state.value[rows], slope, line.longest[rows], required))


def _trial_points(state: State, rows: Integers, line: Line, step: Floats) -> Floats:
    """Return the points at the given steps; at step one the target, bounds met exactly."""
    step = step[:, None]
    along = state.x[rows] + step * line.direction[rows]
    inside = into_box(along, state.lower[rows], state.upper[rows])
    return np.where(step == 1.0, line.target[rows], inside)


def _accept_steps(state: State, rows: Integers, x: Floats, value: Floats, gradient: Floats) -> None:
    """Move the rows to their accepted points, and see whether they have converged."""
    remember(state.memory, rows, x - state.x[rows], gradient - state.gradient[rows])
    still = state.value[rows] - value <= _tolerance(state, rows)
    here = Point(x, gradient, state.lower[rows], state.upper[rows])
    flat = projected_gradient_norm(here) <= state.gradient_tolerance
    state.x[rows] = x
    state.value[rows] = value
    state.gradient[rows] = gradient
    state.iterations[rows] += 1
    state.ending[rows] = np.where(flat, GRADIENT, np.where(still, VALUE, ITERATIONS))


def _give_up_lines(state: State, rows: Integers) -> None:
    """Finish the rows whose line led nowhere, unless it was their memory that misled them."""
    content = state.ending[rows] != ITERATIONS
    blank = np.isinf(state.memory.floors[rows]).all(axis=-1)
    state.ending[rows[~content & blank]] = LINE_SEARCH
    state.finished[rows] = content | blank
    forget(state.memory, rows[~content])


def _tolerance(state: State, rows: Integers) -> Floats:
    """Return the change of value that counts as none."""
    return state.value_tolerance * np.maximum(state.value_scale, np.abs(state.value[rows]))


def _checked(x: Floats, value: ArrayLike, gradient: ArrayLike) -> tuple[Floats, Floats]:
    """Return value and gradient at x as arrays; the value is infinity at infeasible points."""
    value, gradient = np.asarray(value, np.float64), np.asarray(gradient, np.float64)
    if value.shape != x.shape[:1] or gradient.shape != x.shape:
        raise ValueError(
            f"objective must return a value {x.shape[:1]} and a gradient {x.shape}, "
            f"got {value.shape} and {gradient.shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        feasible = np.isfinite(value) & np.isfinite(inner(gradient, gradient))
    return np.where(feasible, value, np.inf), gradient


def _box(starts: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return the starts inside their box and both bounds, all `(b, p)`."""
    x = np.array(starts, dtype=np.float64)
    if x.ndim != 2 or not np.isfinite(x).all():
        raise ValueError(f"starts must be finite and of shape (b, p), got {starts!r}")
    bounds = []
    for name, bound in (("lower", lower), ("upper", upper)):
        side = np.asarray(bound, dtype=np.float64)
        if side.shape not in (x.shape, x.shape[1:]) or np.isnan(side).any():
            raise ValueError(
                f"{name} must be numbers of shape {x.shape} or {x.shape[1:]}, got {bound!r}"
            )
        bounds.append(np.broadcast_to(side, x.shape).copy())
    low, high = bounds
    crossed = np.argwhere(low > high)
    if crossed.size:
        lane, parameter = crossed[0]
        raise ValueError(
            f"lower must not exceed upper, got {low[lane, parameter]} and "
            f"{high[lane, parameter]} for parameter {parameter} of lane {lane}"
        )
    return into_box(x, low, high), low, high
