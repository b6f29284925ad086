"""Modes of the posterior of hyperparameters, and draws around them: Laplace's approximation.

A single mode bets on one vector of hyperparameters. Where inputs are many or the noise is small it
overfits: its density is high, but hardly any posterior mass is near it. Around a mode t of the log
hyperparameters, with H the curvature of minus the log posterior density g,

    p(theta | y) ~ N(t, H^-1),   integral of exp(g) = exp(g(t)) |2 pi H^-1|^1/2,

so that a few draws integrate over what the data leave open, and modes, or kernels, are weighed by
their mass instead of their height.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gpproj.linalg import Host
from gpproj.optimise import Outcome, State
from gpproj.priors import Bounds
from gpproj.reference.draws import Draws
from gpproj.reference.log_posterior import MEMORY, LogPosterior

WIDEST = 2.0
"""Largest standard deviation of a log hyperparameter: the posterior is no Gaussian beyond it, least
of all where the data say nothing and the mode is at a bound."""

NEAR = 1e-3
"""Distance of a log hyperparameter from its bound that counts as none."""

APART = 0.3
"""Optima whose log hyperparameters all differ by less are the same mode; so are those within one
standard deviation of each other, where the data hardly tell them apart."""


AWAY = 10.0
"""How far beyond its bound the logarithm of a length-scale is where the input does not act: the
bound is at a length-scale where inputs still act if the signal variance is very large."""


LITTLE, RELATIVE, MOST = 0.1, 1e-6, 60
"""Slope in a standard deviation, and relative change of the density, that are none on more rows;
and values and gradients there at most."""

IMPOSSIBLE = 1e10
"""What stands for minus the log density where it cannot be computed."""


class Mode(NamedTuple):
    """A maximum of the log posterior density, and the Gaussian around it."""

    parameters: Host
    """`(p,)`."""
    spread: Host
    """`W` with `H^-1 = W W'`, `(p, q)`."""
    log_mass: float
    """Log of the posterior mass around it, up to a constant."""
    off: NDArray[np.bool_] | None = None
    """`(p,)`: parameters of inputs that are in elsewhere and do not act here, if there are any."""


def modes_of(posterior: LogPosterior, optimum: Outcome | State) -> list[Mode]:
    """Return the distinct modes that an optimisation has found, those of largest mass first.

    Parameters
    ----------
    posterior : LogPosterior
    optimum : Outcome or State
        How its maximisation has ended from each start.
    """
    free = _free(posterior)
    found: list[Mode] = []
    for lane in np.argsort(optimum.value, kind="stable"):
        x, height = optimum.x[lane], -float(optimum.value[lane])
        if np.isfinite(height) and not any(_same(mode, x, free) for mode in found):
            slope = -optimum.gradient[lane]
            found.append(_mode(posterior, x, height, slope, free))
    return sorted(found, key=lambda mode: -mode.log_mass)


def _same(mode: Mode, x: Host, free: NDArray[np.bool_]) -> bool:
    """Say whether an optimum is part of a mode that is known."""
    away, W = (x - mode.parameters)[free], mode.spread[free]
    z = np.linalg.lstsq(W, away, rcond=None)[0]
    close = np.abs(away) < APART
    return bool(np.all(close) or (np.all(np.abs(z) < 1.0) and np.all(close | W.any(axis=1))))


def _free(posterior: LogPosterior) -> NDArray[np.bool_]:
    """Return which parameters the density depends on: not those of inputs that are out, `(p,)`."""
    problem = posterior.problem
    inputs = [one.input for one in problem.kernel.parameters(len(problem.mask))]
    inside = [position is None or bool(problem.mask[position]) for position in inputs]
    return np.array([*inside, *(True for _ in problem.likelihood.parameters)])


def _mode(
    posterior: LogPosterior, x: Host, height: float, slope: Host, free: NDArray[np.bool_]
) -> Mode:
    box = posterior.bounds
    # The density falls like exp(-|slope| t) from a bound that it pushes against.
    pushed = free & (
        ((x < box.lower + NEAR) & (slope < 0.0)) | ((x > box.upper - NEAR) & (slope > 0.0))
    )
    mass = height - float(np.sum(np.log(np.maximum(np.abs(slope[pushed]), 1.0 / WIDEST))))
    places = np.flatnonzero(free & ~pushed)
    H = posterior.curvature(x, places)
    if not np.all(np.isfinite(H)):  # the density ends here, and nothing around it can be drawn
        return Mode(x, np.zeros((x.size, 0)), height)
    values, directions = np.linalg.eigh(H)
    sd = 1.0 / np.sqrt(np.maximum(values, WIDEST**-2))
    spread = np.zeros((x.size, places.size))
    spread[places] = directions * sd
    mass += float(np.sum(np.log(sd))) + 0.5 * places.size * math.log(2.0 * math.pi)
    return Mode(x, spread, mass)


def settled(posterior: LogPosterior, mode: Mode, before: float) -> Mode:
    """Return a mode that was found on some rows at the maximum on more of them.

    With the spread W of the mode, the density is maximised in z, x = t + W z, where its curvature
    is about one in every direction: that takes a third of the evaluations. The mass changes as the
    height does.

    Parameters
    ----------
    posterior : LogPosterior
        Of more rows.
    mode : Mode
    before : float
        Log density of the posterior of some rows at the mode.
    """
    density, box = posterior.density(), posterior.bounds
    if not mode.spread.shape[1]:
        height = float(density(mode.parameters[None, :]).value[0])
        return mode._replace(log_mass=mode.log_mass + height - before)

    def at(z: Host) -> Host:
        return np.clip(mode.parameters + mode.spread @ z, box.lower, box.upper)

    def loss(z: Host) -> tuple[float, Host]:
        value, gradient = density(at(z)[None, :])
        if not np.isfinite(value[0]):
            return IMPOSSIBLE, np.zeros_like(z)
        return -float(value[0]), -mode.spread.T @ gradient[0]

    # Here alone, because loading a model for predictions comes by and needs none of it.
    from scipy.optimize import minimize

    found = minimize(
        loss,
        np.zeros(mode.spread.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxcor": MEMORY, "maxfun": MOST, "ftol": RELATIVE, "gtol": LITTLE},
    )
    mass = mode.log_mass - float(found.fun) - before
    return mode._replace(parameters=at(found.x), log_mass=mass)


def distinct(posterior: LogPosterior, modes: Sequence[Mode]) -> list[Mode]:
    """Return modes without those that have come to the same maximum, those of most mass first."""
    free, found = _free(posterior), list[Mode]()
    for mode in sorted(modes, key=lambda mode: -mode.log_mass):
        if not any(_same(one, mode.parameters, free) for one in found):
            found.append(mode)
    return found


def shares_of(modes: Sequence[Mode], count: int) -> NDArray[np.intp]:
    """Return how many of some draws each mode's mass is worth, `(m,)`; they sum to `count`."""
    weights = np.exp(np.array([mode.log_mass for mode in modes]) - modes[0].log_mass)
    exact = count * weights / weights.sum()
    shares: NDArray[np.intp] = np.floor(exact).astype(np.intp)
    left = count - int(shares.sum())
    shares[np.argsort(shares - exact, kind="stable")[:left]] += 1
    return shares


def draws_around(modes: Sequence[Mode], count: int, box: Bounds) -> Draws:
    """Return draws of the Gaussians around modes, as many of each as its mass is worth.

    The draws are the same each time: a Latin hypercube, whose margins are spread evenly.

    Parameters
    ----------
    modes : sequence of Mode
    count : int
        Number of draws.
    box : Bounds
        Of the parameters.
    """
    shares = shares_of(modes, count)
    rng = np.random.default_rng(0)
    found, off = [], []
    for mode, share in zip(modes, shares.tolist(), strict=True):
        if not share:
            continue
        drawn = mode.parameters + _hypercube(rng, share, mode.spread.shape[1]) @ mode.spread.T
        absent = np.zeros(box.upper.size, dtype=bool) if mode.off is None else mode.off
        off.append(np.tile(absent, (share, 1)))
        found.append(np.where(absent, box.upper + AWAY, np.clip(drawn, box.lower, box.upper)))
    absent = np.concatenate(off)
    return Draws.equal(np.concatenate(found), absent if absent.any() else None)


def _hypercube(rng: np.random.Generator, count: int, dimensions: int) -> Host:
    """Return standard normal numbers, `(count, dimensions)`: each column has one in each quantile.

    A single draw is the mode itself.
    """
    ranks = np.tile(np.arange(count), (dimensions, 1))
    strata = rng.permuted(ranks, axis=1).T if count > 1 else ranks.T
    inside = rng.uniform(size=strata.shape) if count > 1 else 0.5
    found: Host = ndtri((strata + inside) / count)
    return found
