"""Newton steps: where an optimum moves when the data change a little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host
from gpproj.priors import Bounds

STEP = 1e-3
"""Step of finite differences, on the log scale: their error is about its square."""

FLATTEST = 1e-2
"""Smallest curvature that is believed: parameters that hardly matter must not run away."""

REACH = 1.0
"""Farthest that a parameter moves, on the log scale."""

HALVINGS = 4
"""How often a step that does not lead downhill is halved before it is given up."""


def gradients(function: Callable[[Host], Host], x: Host, free: NDArray[np.intp]) -> Host:
    """Return the gradient of a function in the free parameters, `(f, ...)`, by differences."""
    columns = [(function(x + step) - function(x - step)) / (2 * STEP) for step in _steps(x, free)]
    return np.stack(columns) if columns else np.zeros((0, *np.shape(function(x))))


def hessians(function: Callable[[Host], Host], x: Host, free: NDArray[np.intp]) -> Host:
    """Return the Hessian of a function in the free parameters, `(f, f, ...)`, by differences."""
    centre, steps = function(x), list(_steps(x, free))
    ahead, back = ([function(x + sign * step) for step in steps] for sign in (1.0, -1.0))
    hessian = np.zeros((len(steps), len(steps), *np.shape(centre)))
    for j in range(len(steps)):
        hessian[j, j] = ahead[j] + back[j] - 2 * centre
    for j, k in combinations(range(len(steps)), 2):
        both = function(x + steps[j] + steps[k]) + function(x - steps[j] - steps[k])
        mixed = 0.5 * (both - ahead[j] - ahead[k] - back[j] - back[k] + 2 * centre)
        hessian[j, k] = hessian[k, j] = mixed
    return hessian / STEP**2


def newton_step(gradient: Host, hessian: Host) -> Host:
    """Return `-H^-1 g`, with curvatures made positive and the step kept within reach.

    >>> newton_step(np.array([1.0, -0.5]), np.diag([2.0, -1.0]))
    array([-0.5,  0.5])
    """
    values, vectors = np.linalg.eigh(hessian)
    step: Host = -vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), FLATTEST))
    farthest = float(np.max(np.abs(step), initial=REACH))
    return step * (REACH / farthest)


def backtrack(
    value: Callable[[Host], float], x: Host, free: NDArray[np.intp], step: Host, bounds: Bounds
) -> Host:
    """Return x after a step, which is halved until the value falls; x if it never does."""
    start = value(x)
    for halving in range(HALVINGS):
        trial = x.copy()
        trial[free] += 0.5**halving * step
        trial = np.clip(trial, bounds.lower, bounds.upper)
        if value(trial) <= start:
            return trial
    return x


def _steps(x: Host, free: NDArray[np.intp]) -> Iterator[Host]:
    for place in free:
        step = np.zeros_like(x)
        step[place] = STEP
        yield step
