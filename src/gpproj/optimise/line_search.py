"""A search along one line for every lane, one trial point per lane and round."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpproj.optimise.memory import Flags, Floats, Integers

SUFFICIENT_DECREASE = 1e-4
CURVATURE = 0.9
# Relative rounding error of the objective: below it values say nothing and slopes decide.
ROUNDING = 1e-12
# From the first number of trials on a decrease is enough; with the second the line is given up.
PATIENT_TRIALS = 10
LAST_TRIAL = 20


class Search(NamedTuple):
    """The state of the line searches; every field is `(a,)`, one entry per lane."""

    step: Floats
    """Step of the next trial."""
    longest: Floats
    """Largest step that stays in the box."""
    value: Floats
    """Value at step zero."""
    slope: Floats
    """Slope at step zero, not positive."""
    low: Floats
    """Largest step known to be too short: low enough, and still falling steeply."""
    low_value: Floats
    low_slope: Floats
    high: Floats
    """Smallest step known to be too long, or infinity."""
    high_value: Floats
    """Infinity where the objective was not finite."""
    high_slope: Floats
    required: Floats
    """What the line must gain to be worth taking; minus infinity when anything will do."""
    trials: Floats
    """Trials so far on this line."""

    def take(self, rows: Integers | Flags) -> Search:
        """Return a copy of some rows."""
        return Search(*(field[rows] for field in self))

    def put(self, rows: Integers, other: Search) -> None:
        """Write some rows in place."""
        for field, new in zip(self, other, strict=True):
            field[rows] = new


def open_search(value: Floats, slope: Floats, longest: Floats, required: Floats) -> Search:
    """Return searches that are about to try the full step."""
    zero = np.zeros_like(value)
    infinite = np.full_like(value, np.inf)
    return Search(
        step=np.ones_like(value),
        longest=longest,
        value=value,
        slope=slope,
        low=zero,
        low_value=value,
        low_slope=slope,
        high=infinite,
        high_value=infinite,
        high_slope=infinite,
        required=required,
        trials=zero,
    )


def judge(search: Search, value: Floats, slope: Floats) -> tuple[Flags, Flags, Search]:
    """Judge the trial points and choose the next ones.

    A step t is taken when it satisfies the weak Wolfe conditions

        f(t) <= f(0) + c1 t f'(0),   f'(t) >= c2 f'(0),   c1 = 1e-4, c2 = 0.9,

    or reaches the end of the box while still falling. Where f(t) and f(0) differ by rounding
    only, `f'(t) <= (2 c1 - 1) f'(0)` stands in for the first: both say the same of a parabola.

    Parameters
    ----------
    search : Search
    value, slope : (a,) arrays
        Value and slope of the objective at `search.step`; infinity marks an infeasible point.

    Returns
    -------
    accepted : (a,) flags
        Steps to be taken.
    failed : (a,) flags
        Lines to be given up.
    search : Search
        The searches of the lanes that are neither, with their next step.
    """
    step = search.step
    decreased = value <= search.value + SUFFICIENT_DECREASE * step * search.slope
    slack = ROUNDING * np.maximum(1.0, np.abs(search.value))
    parabolic = slope <= (2.0 * SUFFICIENT_DECREASE - 1.0) * search.slope
    low_enough = decreased | ((value <= search.value + slack) & parabolic)
    good = low_enough & ((slope >= CURVATURE * search.slope) | (step >= search.longest))
    good |= decreased & (search.trials + 1.0 >= PATIENT_TRIALS)
    accepted = good & (search.value - value > search.required)
    failed = good & ~accepted
    if good.all():
        return accepted, failed, search.take(~good)
    onward = _narrow(search.take(~good), value[~good], slope[~good], low_enough[~good])
    # a convex objective cannot gain more than this on the way to the next trial
    prospect = -onward.step * onward.slope
    hopeless = (onward.trials >= LAST_TRIAL) | (prospect <= onward.required)
    failed[~good] = hopeless
    return accepted, failed, onward.take(~hopeless)


def _narrow(search: Search, value: Floats, slope: Floats, short: Flags) -> Search:
    """Make the trial the lower end of the bracket where it was too short, else the upper one."""
    with np.errstate(all="ignore"):
        farther = _extrapolate(search, value, slope)
        search = search._replace(
            low=np.where(short, search.step, search.low),
            low_value=np.where(short, value, search.low_value),
            low_slope=np.where(short, slope, search.low_slope),
            high=np.where(short, search.high, search.step),
            high_value=np.where(short, search.high_value, value),
            high_slope=np.where(short, search.high_slope, slope),
            trials=search.trials + 1.0,
        )
        between = _interpolate(search)
    return search._replace(step=np.where(np.isfinite(search.high), between, farther))


def _extrapolate(search: Search, value: Floats, slope: Floats) -> Floats:
    """Return a step that goes on by 1.1 to 4 times the last stretch, inside the box."""
    stretch = search.step - search.low
    guess = _cubic_minimum(
        search.low, search.low_value, search.low_slope, search.step, value, slope
    )
    guess = np.where(guess > search.step, guess, np.inf)
    guess = np.clip(guess, search.step + 1.1 * stretch, search.step + 4.0 * stretch)
    return np.minimum(guess, search.longest)


def _interpolate(search: Search) -> Floats:
    """Return a step inside the bracket: the minimum of the cubic through both ends, guarded."""
    width = search.high - search.low
    guess = _cubic_minimum(
        search.low,
        search.low_value,
        search.low_slope,
        search.high,
        search.high_value,
        search.high_slope,
    )
    # cubics can keep moving one end of the bracket only; halving now and then ends that
    halve = ~np.isfinite(guess) | (search.trials % 3.0 == 0.0)
    share = np.where(halve, 0.5, np.clip((guess - search.low) / width, 0.1, 0.9))
    share = np.where(np.isinf(search.high_value), 0.25, share)
    return search.low + share * width


def _cubic_minimum(
    left: Floats,
    left_value: Floats,
    left_slope: Floats,
    right: Floats,
    right_value: Floats,
    right_slope: Floats,
) -> Floats:
    """Return the minimiser of the cubic with these values and slopes, NaN where it has none."""
    width = right - left
    bend = left_slope + right_slope - 3.0 * (right_value - left_value) / width
    root = np.sqrt(bend * bend - left_slope * right_slope)
    return right - width * (right_slope + root - bend) / (right_slope - left_slope + 2.0 * root)
