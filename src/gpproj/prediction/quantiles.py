"""Quantiles of predicted targets: of the mixture itself, not of a normal one with its variance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, gammaincc, ndtri

from gpproj.likelihoods import Gaussian, Likelihood, NegativeBinomial, Poisson
from gpproj.likelihoods.base import AdditiveNoise
from gpproj.linalg import Host

Component: TypeAlias = tuple[float, Host, Host, Likelihood]
"""Weight, mean and variance of the latent function `(m,)`, what is added to it included, and how
targets follow from it."""

NODES = np.linspace(-6.0, 6.0, 241)
"""Nodes of the integral over the latent function, in standard deviations from its mean."""

WEIGHTS = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()

ROWS = 256
"""New rows at a time: bounds the memory."""

LARGEST = 1e300
"""Counts above this are as good as infinite."""

CLOSE = 1e-12
"""Distance to a quantile of real targets, in standard deviations, at which it is found."""

STEPS = 200
"""Steps towards it at most: halving alone takes fewer to the last digit."""


def quantiles(components: Sequence[Component], shares: Sequence[float]) -> Host:
    """Return quantiles of the targets that a mixture predicts, `(q, m)`.

        P(y <= k) = sum_c w_c int P(y <= k | f) N(f | m_c, v_c) df.

    Those of real targets are where this is the share. Those of counts are the smallest counts for
    which it is large enough: the integral over f is by the trapezoidal rule.

    Parameters
    ----------
    components : sequence of Component
    shares : sequence of float
        Probabilities, between 0 and 1.
    """
    kind = components[0][3].kind
    if kind.has_classes:
        raise TypeError("classes have no quantiles; predict_response gives their probability")
    find = _of_counts if kind.takes_exposure else _of_numbers
    found = np.empty((len(shares), components[0][1].size))
    for start in range(0, found.shape[1], ROWS):
        block = slice(start, start + ROWS)
        some = [(w, mean[block], var[block], own) for w, mean, var, own in components]
        for row, share in enumerate(shares):
            found[row, block] = find(some, share)
    return found


def _of_numbers(components: list[Component], share: float) -> Host:
    _, mean, variance, likelihood = components[0]
    if len(components) == 1 and isinstance(likelihood, Gaussian):
        normal: Host = mean + ndtri(share) * np.sqrt(variance + likelihood.variance)
        return normal
    spread = np.max([own.response(m, v)[1] for _, m, v, own in components], axis=0) ** 0.5
    centres = [m for _, m, _, _ in components]

    def below(y: Host, rows: NDArray[np.intp]) -> tuple[Host, Host]:
        """Return `P(y_i <= y)` and its derivative."""
        total, slope = np.zeros_like(y), np.zeros_like(y)
        for weight, mean, variance, likelihood in components:
            assert isinstance(likelihood, AdditiveNoise)  # as all of real targets
            own = mean[rows], variance[rows]
            total += weight * likelihood.cumulative(y, *own)
            slope += weight * np.exp(likelihood.log_density(y, *own))
        return total, slope

    every = np.arange(mean.size)
    low = _outside(lambda y, rows: below(y, rows)[0] > share, np.min(centres, axis=0), -spread)
    high = _outside(lambda y, rows: below(y, rows)[0] < share, np.max(centres, axis=0), spread)
    y, left = 0.5 * (low + high), every
    # Newton's method within bounds that close in; a step that leaves them is a bisection. Every
    # row by itself: how far others are changes nothing.
    for _ in range(STEPS):
        total, slope = below(y[left], left)
        over = total >= share
        high[left] = np.where(over, y[left], high[left])
        low[left] = np.where(over, low[left], y[left])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            moved = y[left] - (total - share) / slope
        inside = (moved > low[left]) & (moved < high[left])
        moved = np.where(inside, moved, 0.5 * (low[left] + high[left]))
        rough = np.abs(moved - y[left]) > CLOSE * spread[left] + 4.0 * np.spacing(np.abs(moved))
        y[left] = moved
        left = left[rough]
        if not left.size:
            break
    return y


def _outside(
    wrong: Callable[[Host, NDArray[np.intp]], NDArray[np.bool_]], start: Host, step: Host
) -> Host:
    """Return places on one side of a quantile: farther and farther out, until they are."""
    y, left = start + step, np.arange(start.size)
    for turn in range(STEPS):
        left = left[wrong(y[left], left)]
        if not left.size:
            break
        y[left] += 2.0**turn * step[left]
    return y


def _of_counts(components: list[Component], share: float) -> Host:
    """Return the smallest counts k with `P(y <= k) >= share`, `(m,)`."""

    def enough(k: Host) -> NDArray[np.bool_]:
        total = np.zeros_like(k)
        for weight, mean, variance, likelihood in components:
            total += weight * _counted(k, mean, variance, likelihood)
        return (total >= share) | (k > LARGEST)

    low = np.full(components[0][1].shape, -1.0)  # is not enough
    high = np.zeros_like(low)
    while not (done := enough(high)).all():
        low, high = np.where(done, low, high), np.where(done, high, 2.0 * high + 1.0)
    while (wide := high - low > np.maximum(1.0, 1e-9 * high)).any():
        middle = np.where(wide, np.floor(0.5 * (low + high)), high)
        done = enough(middle)
        low, high = np.where(done, low, middle), np.where(done, middle, high)
    return high


def _counted(k: Host, mean: Host, variance: Host, likelihood: Likelihood) -> Host:
    """Return `P(y <= k)` of one component."""
    known = not variance.any()  # as that of a draw of a linear model
    nodes, weights = (np.zeros(1), np.ones(1)) if known else (NODES, WEIGHTS)
    rate = np.exp(np.minimum(mean[:, None] + np.sqrt(variance)[:, None] * nodes, 700.0))
    beyond = k[:, None] + 1.0
    if isinstance(likelihood, NegativeBinomial):
        # The incomplete beta function, as the distribution of a ratio of variances.
        below = fdtrc(2.0 * beyond, 2.0 / likelihood.dispersion, rate / beyond)
    elif isinstance(likelihood, Poisson):
        below = gammaincc(beyond, rate)
    else:
        raise TypeError(f"quantiles of the counts of {likelihood!r} are not known")
    found: Host = np.einsum("ij,j->i", below, weights)  # not by BLAS: each row by itself
    return found
