"""Likelihoods whose tilted moments are integrated numerically."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gpproj.likelihoods.base import Likelihood, Tilted
from gpproj.likelihoods.quadrature import Index, Weights, concave_edges, integrate
from gpproj.likelihoods.special import LOG_2_PI
from gpproj.linalg import Host

BLOCK = 512
"""Integrals done at a time: bounds the memory."""

LEAST = 1e-100
"""Standard deviation that stands for none."""

LIMIT = 9.0
"""Latent standard deviations within which a log-concave tilted distribution lies."""


class Layout(NamedTuple):
    """The places where `N(f | mean, sd^2) p(y | f)` is integrated, elementwise."""

    place: Host
    """Latent values near the maxima, `(n,)`."""
    edges: Host
    """Ends of the first panels, in units of sd from `place`, `(n, k)`."""


class Numerical(Likelihood):
    """Adds tilted moments by adaptive quadrature to the other methods of a likelihood.

    Near a place `f0` and in units of the latent standard deviation, `f = f0 + sd x`, the logarithm
    of the integrand is

        log N(f0 | m, sd^2) p(y | f0) + x (sd l'(f0) - (f0 - m) / sd) - x^2 / 2
            + [ l(f0 + sd x) - l(f0) - l'(f0) sd x ],      l(f) = log p(y | f).

    At a maximum the second term vanishes, and what is large is left out of the integral.
    """

    def tilted(self, y: Host, mean: Host, variance: Host) -> Tilted:
        """Return the moments of `N(f | mean, variance) p(y | f)`, elementwise."""

        def rows(y: Host, mean: Host, sd: Host) -> Host:
            place, found = self._integrated(y, mean, sd)
            u = (place - mean) / sd
            highest = self.log_likelihood(y, place) - 0.5 * (u**2 + LOG_2_PI)
            log_normaliser = highest + found.log_integral
            return np.stack([log_normaliser, place + sd * found.mean, found.variance])

        log_normaliser, tilted_mean, share = _in_blocks(rows, 3, y, mean, variance)
        if not self.kind.is_scaled:  # probabilities, whatever the last digit says
            log_normaliser = np.minimum(log_normaliser, 0.0)
        return Tilted(log_normaliser, tilted_mean, variance * share)

    def tilted_slopes(self, y: Host, mean: Host, variance: Host) -> Host:
        """Return derivatives of the log normaliser in the log parameters, `(q, n)`.

        They are the tilted expectations of the derivatives of `log p(y | f)`.
        """

        def rows(y: Host, mean: Host, sd: Host) -> Host:
            place, found = self._integrated(y, mean, sd)
            own = found.owner
            f = place[own, None] + sd[own, None] * found.nodes
            values = self.parameter_derivatives(y[own, None], f).value
            return np.stack([found.expectation(value) for value in values])

        if not self.parameters:
            return super().tilted_slopes(y, mean, variance)
        return _in_blocks(rows, len(self.parameters), y, mean, variance)

    @abstractmethod
    def _corner(self, y: Host) -> Host:
        """Return latent values at which the slope of `log p(y | f)` is moderate."""

    def _excess(self, y: Host, f: Host, step: Host) -> Host:
        """Return `l(f + step) - l(f) - l'(f) step` for `l(f) = log p(y | f)`."""
        linear = self.log_likelihood(y, f) + self.derivatives(y, f).first * step
        return self.log_likelihood(y, f + step) - linear

    def _layout(self, y: Host, mean: Host, sd: Host) -> Layout:
        """Find where to integrate, for likelihoods that are log-concave."""
        place, width = self._mode(y, mean, sd)
        integrand = self._log_integrand(y, mean, sd, place)
        return Layout(place, concave_edges(integrand, width, np.full_like(sd, LIMIT)))

    def _integrated(self, y: Host, mean: Host, sd: Host) -> tuple[Host, Weights]:
        with np.errstate(over="ignore"):  # of rates, far from the mode: their density is 0
            place, edges = self._layout(y, mean, sd)
            return place, integrate(self._log_integrand(y, mean, sd, place), edges)

    def _log_integrand(
        self, y: Host, mean: Host, sd: Host, place: Host
    ) -> Callable[[Index, Host], Host]:
        first, second, _ = self.derivatives(y, place)
        slope = sd * first - (place - mean) / sd
        # Within the last digit of the place the maximum may as well be there.
        slope[np.abs(slope) < np.spacing(np.abs(place)) * (1.0 / sd - sd * second)] = 0.0

        def log_integrand(owner: Index, x: Host) -> Host:
            own = owner[:, None]
            return x * (slope[own] - 0.5 * x) + self._excess(y[own], place[own], sd[own] * x)

        return log_integrand

    def _mode(self, y: Host, mean: Host, sd: Host) -> tuple[Host, Host]:
        """Return the tilted modes and, in units of sd, the widths that the curvatures stand for.

        In `u = (f - mean) / sd` the mode is where `u = sd l'(mean + sd u)`, and since the right
        side decreases it lies between any u and the right side there. Newton's method within such
        bounds, with a bisection every third time, ends near the mode for its width and for the
        latent scale of likelihoods with exponentials of f, which is 1.
        """
        corner = (self._corner(y) - mean) / sd
        low, high = np.full_like(sd, -np.inf), np.full_like(sd, np.inf)
        for u in (np.zeros_like(sd), corner):
            other = sd * self.derivatives(y, mean + sd * u).first
            low, high = (
                np.maximum(low, np.minimum(u, other)),
                np.minimum(high, np.maximum(u, other)),
            )
        u = np.clip(corner, low, high)
        width = np.ones_like(sd)
        left = np.arange(sd.size)
        for turn in range(1, 300):
            own, scale = u[left], sd[left]
            first, second, _ = self.derivatives(y[left], mean[left] + scale * own)
            gap = scale * first - own
            curvature = 1.0 - scale * second * scale
            low[left], high[left] = (
                np.where(gap > 0, own, low[left]),
                np.where(gap > 0, high[left], own),
            )
            width[left] = 1.0 / np.sqrt(curvature)
            rough = np.abs(gap) > np.minimum(0.02 * np.sqrt(curvature), curvature / scale)
            left = left[rough]
            if left.size == 0:
                break
            moved = (own + gap / curvature)[rough]
            outside = (moved <= low[left]) | (moved >= high[left]) | (turn % 3 == 0)
            u[left] = np.where(outside, 0.5 * (low[left] + high[left]), moved)
        return mean + sd * u, width


def _in_blocks(
    rows: Callable[[Host, Host, Host], Host], count: int, y: Host, mean: Host, variance: Host
) -> Host:
    """Return `rows(y, mean, sd)`, `(count, n)` each time, for arrays of any shape."""
    arrays = np.broadcast_arrays(
        *(np.asarray(one, dtype=np.float64) for one in (y, mean, variance))
    )
    shape = arrays[0].shape
    flat = [array.ravel() for array in arrays]
    flat[2] = np.maximum(np.sqrt(flat[2]), LEAST)
    found = np.empty((count, flat[0].size))
    for start in range(0, flat[0].size, BLOCK):
        block = slice(start, start + BLOCK)
        found[:, block] = rows(*(array[block] for array in flat))
    return found.reshape(count, *shape)
