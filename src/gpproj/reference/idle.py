"""Length-scales so long that their inputs hardly act, and what they spare a fit of many inputs.

Let w = 1 / l^2 be the relevance of an input and `c = w (max x - min x)^2 / 2` the most by which it
changes the exponent of a kernel. Where c is small, the log evidence L is linear in w,

    dL/dlog l = -2 w dL/dw = g,    L(w = 0) - L = g / 2,    d^2 L / (dlog l)^2 = -2 g,

up to terms of the order of c^2, and one gradient tells of all such inputs what would take an
evaluation, or a gradient, for each. With a thousand inputs nearly all are of this kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import Evidence, log_evidence
from gpproj.kernels import reach_of
from gpproj.linalg import Host
from gpproj.reference.log_posterior import LogPosterior

IDLE = 1e-2
"""The c below which an input is idle."""

STEP = 1e-4
"""In log hyperparameters, for differences of gradients."""

BATCH = 16
"""Gradients that are computed at a time."""


def idle_entries(posterior: LogPosterior, parameters: Host) -> NDArray[np.bool_]:
    """Return which entries are length-scales of idle inputs, `(p,)`."""
    kernel, X = posterior.problem.kernel, posterior.problem.X
    found: NDArray[np.bool_] = reach_of(kernel, parameters, X) < IDLE
    return found


def curvature(posterior: LogPosterior, x: Host, places: NDArray[np.intp]) -> Host:
    """Return the curvature of minus the log density in some entries, `(k, k)`.

    That of the evidence is seen by differences of gradients, one for each entry that is not idle;
    the prior has its own.
    """
    own = posterior.for_curvature
    acting = places[~idle_entries(own, x)[places]]
    points = np.repeat(x[None, :], acting.size + 1, axis=0)
    points[np.arange(acting.size), acting] += STEP
    gradients = _gradients(own, points)
    H = np.diag(2.0 * gradients[-1])
    H[acting] = (gradients[-1] - gradients[:-1]) / STEP
    H[:, acting] = H[acting].T
    H = H[np.ix_(places, places)]
    if own.log_prior is not None:
        H -= own.log_prior.curvature(x, own.problem.mask)[np.ix_(places, places)]
    return 0.5 * (H + H.T)


def evidence_without_each(
    posterior: LogPosterior, x: Host, entries: Sequence[Sequence[int]], each_off: Host
) -> Host:
    """Return the log evidence with each of some inputs off, `(k,)`.

    Parameters
    ----------
    x : array `(p,)`
        With all of them in.
    entries : sequence of sequences of int
        The length-scales of each input.
    each_off : array `(k, p)`
        The parameters with each of them off.
    """
    idle = idle_entries(posterior, x)
    linear = np.array([bool(idle[list(own)].all()) for own in entries])
    found = np.empty(len(entries))
    if linear.any():
        now = _evidence(posterior, x[None, :])
        gain = 0.5 * np.array([now.gradient[0, list(own)].sum() for own in entries])
        found[linear] = (now.value[0] + gain)[linear]
    if not linear.all():
        found[~linear] = _evidence(posterior, each_off[~linear]).value
    return found


def _evidence(posterior: LogPosterior, points: Host) -> Evidence:
    value, gradient = log_evidence(posterior.problem, points)
    return Evidence(posterior.times * value, posterior.times * gradient)


def _gradients(posterior: LogPosterior, points: Host) -> Host:
    """Return gradients of the log evidence; a few at a time, as each is a matrix of all rows."""
    blocks = np.split(points, range(BATCH, len(points), BATCH))
    return np.concatenate([_evidence(posterior, block).gradient for block in blocks])
