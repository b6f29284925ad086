"""Iteratively reweighted least squares with a reference's fit as the target, all draws at once.

Submodels are held in an orthonormal basis of their columns, so that collinear inputs need no
care here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host
from gpproj.reference import Aim, Link

MAX_ITERATIONS = 200

TOLERANCE = 1e-12
"""Promised fall of the mean divergence, in units of the mean variance of y (one at least), that
ends the iterations."""

ROUNDING = 1e-14
"""By which, in the same units, a divergence may rise for rounding alone."""

HALVINGS = 60

DAMPING = 1e-13
"""Damping of Newton steps, as a fraction of the mean curvature: weights may underflow."""

BLOCK = 4_000_000
"""Numbers held at a time."""


class Fit(NamedTuple):
    """Linear predictors of a submodel, for every draw."""

    eta: Host
    """`(s, n)`."""
    divergence: Host
    """Mean divergence from the reference's fit, `(s,)`."""
    converged: NDArray[np.bool_]
    """`(s,)`."""
    iterations: int
    """Iterations of the draw that took most."""


def irls(link: Link, basis: Host, aim: Aim, start: Host) -> Fit:
    """Minimise the mean divergence from the reference's fit to a submodel's.

    With the canonical link this is iteratively reweighted least squares on the means that the
    reference has fitted: Newton's method, its steps halved until the divergence falls.

    Parameters
    ----------
    basis : array `(n, r)`
        Orthonormal; linear predictors move along it from where they start.
    aim : Aim
        Linear predictors of the reference, `(s, n)`.
    start : array `(s, n)`
        Linear predictors of the submodel.
    """
    eta = start.copy()
    value = mean_divergence(link, aim, eta)
    unit = np.maximum(np.mean(link.variance(aim.eta), axis=1), 1.0)
    converged = np.zeros(len(eta), dtype=np.bool_)
    active = np.arange(len(eta))
    taken = 0
    while active.size and taken < MAX_ITERATIONS:
        taken += 1
        own = aim if active.size == len(eta) else aim.take(active)
        step, promised = newton_step(link, basis, own, eta[active])
        end, found = _shortened(link, own, eta[active], step, promised, value[active], unit[active])
        fell = np.isfinite(found)
        eta[active[fell]], value[active[fell]] = end[fell], found[fell]
        # A small promise is kept to second order by the step that was just taken.
        small = promised <= TOLERANCE * unit[active]
        converged[active[small]] = True
        active = active[~small & fell]
    return Fit(eta, value, converged, taken)


def best_start(link: Link, basis: Host, offset: Host, aim: Aim, missing: Host) -> Host:
    """Return linear predictors to start from: for every draw the better of two.

    They are weighted least squares at the reference's fit, and the constant that is its weighted
    mean.

    Parameters
    ----------
    basis : array `(n, r)`
        Constants are in its space.
    offset : array `(n,)`
    aim : Aim
        Linear predictors of the reference, `(s, n)`.
    missing : array `(s, n)`
        What they have beyond the space of the basis, as far as is known.
    """
    own, level = aim.eta - missing, np.empty_like(missing)
    for some in blocks(len(missing), basis.size):
        weights = link.variance(aim.eta[some]) + np.finfo(float).tiny
        curvature = weighted_gram(basis, weights)
        right = (weights * missing[some]) @ basis
        own[some] += damped_solve(curvature, right[:, :, None])[:, :, 0] @ basis.T
        mean = np.average(aim.eta[some] - offset, axis=1, weights=weights)
        level[some] = offset + mean[:, None]
    starts = [own, level]
    values = np.stack([mean_divergence(link, aim, eta) for eta in starts])
    best: Host = np.stack(starts)[np.argmin(values, axis=0), np.arange(len(missing))]
    return best


def mean_divergence(link: Link, aim: Aim, eta: Host) -> Host:
    """Return the mean divergence over the rows, `(s,)`; infinite where it overflows."""
    mean = np.mean(link.divergence(aim, eta), axis=1)
    found: Host = np.where(np.isnan(mean), np.inf, mean)
    return found


def newton_step(link: Link, basis: Host, aim: Aim, eta: Host) -> tuple[Host, Host]:
    """Return Newton steps of the linear predictors, `(s, n)`, and the fall they promise, `(s,)`."""
    n = eta.shape[1]
    steps, promised = np.empty_like(eta), np.empty(len(eta))
    for some in blocks(len(eta), basis.size):
        gradient = (aim.mean[some] - link.mean(eta[some])) @ basis
        curvature = weighted_gram(basis, link.variance(eta[some]))
        move = damped_solve(curvature, gradient[:, :, None])[:, :, 0]
        steps[some] = move @ basis.T
        promised[some] = np.sum(gradient * move, axis=1) / n
    return steps, promised


def weighted_gram(basis: Host, weights: Host) -> Host:
    """Return `B' W B` for every draw, `(s, r, r)`."""
    found: Host = (basis.T[None, :, :] * weights[:, None, :]) @ basis
    return found


def leverages(basis: Host, weights: Host) -> Host:
    """Return `b_i' (B' W B)^-1 b_i` for every row and draw, `(s, n)`: leverages over weights."""
    found = np.empty_like(weights)
    for some in blocks(len(weights), 2 * basis.size):
        curvature = weighted_gram(basis, weights[some])
        right = np.broadcast_to(basis.T, (len(curvature), *basis.T.shape))
        found[some] = np.sum(basis.T * damped_solve(curvature, right), axis=1)
    return found


def damped_solve(curvature: Host, right: Host) -> Host:
    """Solve symmetric systems `(s, r, r)`, a hair more curved than they are, for `(s, r, q)`."""
    r = curvature.shape[1]
    size = np.trace(curvature, axis1=1, axis2=2) / max(r, 1)
    damped = curvature + np.maximum(DAMPING * size, np.finfo(float).tiny)[:, None, None] * np.eye(r)
    with np.errstate(over="ignore", invalid="ignore"):
        found: Host = np.linalg.solve(damped, right)
    return found


def blocks(draws: int, numbers: int) -> Iterator[slice]:
    """Go through the draws in blocks, for so many numbers held for each of them."""
    size = max(1, BLOCK // max(numbers, 1))
    return (slice(start, start + size) for start in range(0, draws, size))


def _shortened(
    link: Link, aim: Aim, eta: Host, step: Host, promised: Host, value: Host, unit: Host
) -> tuple[Host, Host]:
    """Return the ends of steps that were halved until the divergence falls, and their value.

    The value is infinite where no step makes it fall.
    """
    end, found = eta.copy(), np.full(len(eta), np.inf)
    waiting, length = np.flatnonzero(np.isfinite(step).all(axis=1)), 1.0
    for _ in range(HALVINGS):
        if not waiting.size:
            break
        trial = eta[waiting] + length * step[waiting]
        reached = mean_divergence(
            link, aim if waiting.size == len(eta) else aim.take(waiting), trial
        )
        allowed = value[waiting] - 1e-4 * length * promised[waiting] + ROUNDING * unit[waiting]
        fine = reached <= allowed
        end[waiting[fine]], found[waiting[fine]] = trial[fine], reached[fine]
        waiting, length = waiting[~fine], 0.5 * length
    return end, found


def one_step_errors(
    link: Link,
    basis: Host,
    directions: Sequence[Host],
    aim: Aim,
    eta: Host,
    parent: Host,
) -> Host:
    """Return the divergence after one Newton step into each of several directions.

    What is common to all candidates is computed once: with H the curvature, c the basis and u a
    direction, the step is `(H_uu - H_uc H_cc^-1 H_cu)^-1 g_u`.

    Parameters
    ----------
    basis : array `(n, r)`
        Basis of the submodel that inputs are added to.
    directions : sequence of arrays `(n, q)`
        What each candidate adds to the basis, orthonormal to it.
    aim : Aim
        Linear predictors of the reference, `(s, n)`.
    eta : array `(s, n)`
        Linear predictors of that submodel, at its optimum.
    parent : array `(s,)`
        Divergence of that submodel: none of its candidates is worse.

    Returns
    -------
    array `(candidates, s)`
    """
    found = np.repeat(parent[None, :], len(directions), axis=0)
    added = np.hstack([np.empty((eta.shape[1], 0)), *directions])
    edges = np.cumsum([0, *(direction.shape[1] for direction in directions)])
    for some in blocks(len(eta), basis.size + eta.shape[1]):
        own_aim, weights = aim.take(some), link.variance(eta[some])
        weighted = basis.T[None, :, :] * weights[:, None, :]
        cross = weighted @ added
        explained = damped_solve(weighted @ basis, cross)
        gradient = (own_aim.mean - link.mean(eta[some])) @ added
        for place, direction in enumerate(directions):
            own = slice(edges[place], edges[place + 1])
            if not direction.shape[1]:
                continue
            across = cross[:, :, own].swapaxes(1, 2) @ explained[:, :, own]
            curvature = weighted_gram(direction, weights) - across
            move = damped_solve(curvature, gradient[:, own, None])
            back = explained[:, :, own] @ move
            trial = eta[some] + move[:, :, 0] @ direction.T - back[:, :, 0] @ basis.T
            reached = mean_divergence(link, own_aim, trial)
            found[place, some] = np.minimum(found[place, some], reached)
    return found
