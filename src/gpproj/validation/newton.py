"""Newton steps: where an optimum moves to when the data change a little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Host
from gpproj.priors import Bounds

STEP = 1e-3
"""Of the differences, on the log scale: their error is about its square."""

FLATTEST = 1e-2
"""Smallest curvature that is believed: parameters that hardly matter must not run away."""

REACH = 1.0
"""Farthest that a parameter moves, on the log scale."""

HALVINGS = 4
"""Of a step that does not lead downhill, before it is given up."""


def free_parameters(
    kernel: Kernel, mask: NDArray[np.bool_], parameters: Host, bounds: Bounds
) -> NDArray[np.intp]:
    """Return the parameters that can move: of inputs that are in, and not at a bound.

    Parameters
    ----------
    kernel : Kernel
    mask : bool array `(d,)`
    parameters : array `(p,)`
        Of the kernel, and others after them.
    bounds : Bounds
    """
    owners = [parameter.input for parameter in kernel.parameters(len(mask))]
    used = np.ones(parameters.size, dtype=bool)
    used[: len(owners)] = [owner is None or bool(mask[owner]) for owner in owners]
    inside = (parameters > bounds.lower + 2 * STEP) & (parameters < bounds.upper - 2 * STEP)
    return np.flatnonzero(used & inside)


def slopes(function: Callable[[Host], Host], x: Host, free: NDArray[np.intp]) -> Host:
    """Return the derivative of a function in the free parameters, `(f, ...)`, by differences."""
    found = [(function(x + move) - function(x - move)) / (2 * STEP) for move in _moves(x, free)]
    return np.stack(found) if found else np.zeros((0, *np.shape(function(x))))


def curvatures(function: Callable[[Host], Host], x: Host, free: NDArray[np.intp]) -> Host:
    """Return the second derivatives of a function, `(f, f, ...)`, by differences of its values."""
    centre, moves = function(x), list(_moves(x, free))
    ahead, back = ([function(x + sign * move) for move in moves] for sign in (1.0, -1.0))
    found = np.zeros((len(moves), len(moves), *np.shape(centre)))
    for j in range(len(moves)):
        found[j, j] = ahead[j] + back[j] - 2 * centre
    for j, k in combinations(range(len(moves)), 2):
        both = function(x + moves[j] + moves[k]) + function(x - moves[j] - moves[k])
        mixed = 0.5 * (both - ahead[j] - ahead[k] - back[j] - back[k] + 2 * centre)
        found[j, k] = found[k, j] = mixed
    return found / STEP**2


def newton_step(gradient: Host, hessian: Host) -> Host:
    """Return `-H^-1 g`, with curvatures made positive and the step kept within reach.

    >>> newton_step(np.array([1.0, -0.5]), np.diag([2.0, -1.0]))
    array([-0.5,  0.5])
    """
    values, vectors = np.linalg.eigh(hessian)
    step: Host = -vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), FLATTEST))
    farthest = float(np.max(np.abs(step), initial=REACH))
    return step * (REACH / farthest)


def moved(
    value: Callable[[Host], float], x: Host, free: NDArray[np.intp], step: Host, bounds: Bounds
) -> Host:
    """Return where a step leads, halved until the value falls; the start if it never does."""
    start = value(x)
    for halving in range(HALVINGS):
        trial = x.copy()
        trial[free] += 0.5**halving * step
        trial = np.clip(trial, bounds.lower, bounds.upper)
        if value(trial) <= start:
            return trial
    return x


def _moves(x: Host, free: NDArray[np.intp]) -> Iterator[Host]:
    for place in free:
        move = np.zeros_like(x)
        move[place] = STEP
        yield move
