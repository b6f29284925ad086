"""Laplace's approximation: a Gaussian at the mode of the posterior.

With a = K^-1 f and the information W of the likelihood at f, Newton's method repeats

    c = W f + dlog p/df,   a = c - R K c,   f = K a,   R = W^1/2 (I + W^1/2 K W^1/2)^-1 W^1/2

and climbs psi = log p(y | f) - a'f / 2. At the mode

    log Z = psi - log|B| / 2,   sites tau = W, nu = W f + dlog p/df = c.

W depends on the mode, and the mode on K: with v the posterior variances and d3 the third
derivative, s = v d3 / 2 is the slope of log Z in the mode, and w = s - R K s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpproj.inference.approximation import Approximation
from gpproj.inference.problem import Observed, Sites
from gpproj.inference.sites import Prior
from gpproj.linalg import Host

MAX_ITERATIONS = 200

TOLERANCE = 1e-10
"""Largest change of the mode, in posterior standard deviations, that counts as none."""

NEAR = 1e-4
"""Change of the mode, in the same units, below which steps are trusted without looking: rounding of
`K a` alone can move it by 1e-6 where counts are large."""

HALVINGS = 30


def approximate(
    prior: Prior, observed: Observed, start: Sites | None = None
) -> Approximation | None:
    """Approximate the posterior under a prior, see `approximation.Approximate`.

    The mode under the sites of `start` is the first point.
    """
    likelihood, y, offset = observed
    a: Host = np.zeros_like(y)
    if start is not None:
        begun = prior.given(start)
        a = a if begun is None else begun.coefficients
    f = prior.product(a)
    psi = _height(observed, a, f)
    if not np.isfinite(psi):
        a, f = np.zeros_like(y), np.zeros_like(y)
        psi = _height(observed, a, f)
    settled, iterations, before = False, 0, np.inf
    while not settled and iterations < MAX_ITERATIONS:
        iterations += 1
        W = likelihood.weights(y, f + offset)
        given = prior.given(_sites(observed, f, W))
        if given is None:
            return None
        sd = np.sqrt(given.marginals.variance)
        near = np.max(np.abs(given.marginals.mean - f) / sd) < NEAR
        found = _climb(prior, observed, a, psi, given.coefficients, 0 if near else HALVINGS)
        if found is None:
            break
        moved = float(np.max(np.abs(found.f - f) / sd))
        a, f, psi = found
        # Where rounding ends the approach before the tolerance does, that is as near as it gets.
        settled = moved < TOLERANCE or (moved < NEAR and moved >= before)
        before = moved
    return _at_mode(prior, observed, f, psi, settled, iterations)


class _Point(NamedTuple):
    a: Host
    f: Host
    psi: float


def _climb(
    prior: Prior, observed: Observed, a: Host, psi: float, target: Host, halvings: int
) -> _Point | None:
    """Step from a towards its target, less far where psi falls; None if it falls everywhere.

    Without halvings the step is taken as it is: near the mode heights differ by rounding alone.
    """
    step = 1.0
    for _ in range(max(halvings, 1)):
        new = a + step * (target - a)
        f = prior.product(new)
        height = _height(observed, new, f)
        if not halvings or height >= psi - 1e-12 * (1.0 + abs(psi)):
            return _Point(new, f, height)
        step *= 0.5
    return None


def _height(observed: Observed, a: Host, f: Host) -> float:
    likelihood, y, offset = observed
    return float(np.sum(likelihood.log_likelihood(y, f + offset)) - 0.5 * (a @ f))


def _sites(observed: Observed, f: Host, W: Host) -> Sites:
    """Return the sites with precision W that have the slope of log p at f."""
    likelihood, y, offset = observed
    W = np.maximum(W, 0.0)
    shift = W * f + likelihood.derivatives(y, f + offset).first
    return Sites(W, np.where(W > 0.0, shift, 0.0))


def _at_mode(
    prior: Prior,
    observed: Observed,
    f: Host,
    psi: float,
    settled: bool,
    iterations: int,
) -> Approximation | None:
    likelihood, y, offset = observed
    W = likelihood.information(y, f + offset)
    given = prior.given(_sites(observed, f, W))
    if given is None:
        return None
    variance = given.marginals.variance
    lean, pull = np.zeros_like(f), np.zeros_like(f)
    if likelihood.log_concave:  # else W is an expectation, which the mode does not change
        s = 0.5 * variance * likelihood.derivatives(y, f + offset).third
        lean = s - given.precision_product(prior.product(s))  # w = s - R K s
        pull = prior.product(lean)  # K w = Sigma s
    by_parameter = likelihood.parameter_derivatives(y, f + offset)
    slopes = by_parameter.value.sum(axis=1) + by_parameter.first @ pull
    slopes = slopes - 0.5 * likelihood.information_slopes(y, f + offset) @ variance
    return Approximation(given, psi - 0.5 * given.log_det, lean, slopes, settled, iterations)
