"""Expectation propagation: sites that match the moments of every tilted marginal.

In every sweep each observation's site is left out of its marginal (the cavity), the likelihood
takes its place, and the new site is what turns the cavity into a Gaussian with the same moments.
All sites move at once, by a share that shrinks when the mismatch of moments grows; where that does
not settle, they move one after the other. With cavities N(m, v) and tilted normalisers Z_i:

    log Z = sum_i [ log Z_i + log(1 + tau v) / 2 - (v nu^2 + 2 nu m - tau m^2) / (2 (1 + tau v)) ]
            - log|B| / 2 + nu'mean / 2,

which is stationary in the sites: derivatives see the prior covariance and the likelihood alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpproj.inference.approximation import Approximation
from gpproj.inference.problem import Marginals, Observed, Sites
from gpproj.inference.sites import DensePrior, Given, Prior, cavities
from gpproj.linalg import Host, to_host

MAX_SWEEPS = 100
"""Largest number of parallel updates."""

MAX_SEQUENTIAL = 50

TOLERANCE = 1e-9
"""Largest mismatch of a marginal and its tilted counterpart that counts as none: of means in
standard deviations, of variances relative."""

NEAR = 1e-6
"""Mismatch below which an approach that has ended for `PATIENCE` sweeps has ended by rounding."""

PATIENCE = 5

SMALLEST_SHARE = 0.05


class _Sweep(NamedTuple):
    sites: Sites
    """Sites that would match the tilted moments."""
    mismatch: float
    cavity: Marginals
    log_normaliser: Host


def approximate(
    prior: Prior, observed: Observed, start: Sites | None = None
) -> Approximation | None:
    """Approximate the posterior under a prior, see `approximation.Approximate`."""
    silent = np.zeros_like(observed.y)
    sites = Sites(silent, silent) if start is None else start
    share, before, least, waited = 1.0, np.inf, np.inf, 0
    sweep = 0
    for sweep in range(1, MAX_SWEEPS + 1):
        given = prior.given(sites)
        if given is None:
            return None
        found = _sweep(observed, given.marginals, sites)
        waited = 0 if found.mismatch < 0.5 * least else waited + 1
        least = min(least, found.mismatch)
        if found.mismatch < TOLERANCE or (found.mismatch < NEAR and waited >= PATIENCE):
            return _ended(observed, given, found, True, sweep)
        if not np.isfinite(found.mismatch):
            break
        # Where sites oscillate the mismatch grows, and they move by a smaller share.
        grown = found.mismatch > before
        share = max(0.5 * share, SMALLEST_SHARE) if grown else min(1.2 * share, 1.0)
        before = found.mismatch
        sites = _towards(sites, found.sites, share)
    if given is not None and not isinstance(prior, DensePrior):
        # One site after the other needs the whole covariance.
        return _ended(observed, given, found, False, sweep)
    return _sequential(prior, observed, sites, sweep)


def _sweep(observed: Observed, marginals: Marginals, sites: Sites) -> _Sweep:
    """Return the sites of the tilted moments, and how far these are from the marginals."""
    likelihood, y, offset = observed
    cavity = cavities(marginals, sites)
    tilted = likelihood.tilted(y, cavity.mean + offset, cavity.variance)
    mean = tilted.mean - offset
    precision = 1.0 / tilted.variance - 1.0 / cavity.variance
    shift = mean / tilted.variance - cavity.mean / cavity.variance
    precision = np.where(precision > 0.0, precision, 0.0)  # log-concave: below zero is rounding
    wanted = Sites(precision, np.where(precision > 0.0, shift, 0.0))
    sd = np.sqrt(marginals.variance)
    away = np.maximum(
        np.abs(mean - marginals.mean) / sd, np.abs(tilted.variance / marginals.variance - 1.0)
    )
    return _Sweep(wanted, float(np.max(away)), cavity, tilted.log_normaliser)


def _towards(old: Sites, new: Sites, share: float) -> Sites:
    if share == 1.0:
        return new
    return Sites(
        old.precision + share * (new.precision - old.precision),
        old.shift + share * (new.shift - old.shift),
    )


def _ended(
    observed: Observed, given: Given, found: _Sweep, settled: bool, sweeps: int
) -> Approximation:
    """Return the approximation with its evidence."""
    likelihood, y, offset = observed
    (tau, nu), (m, v) = given.sites, found.cavity
    stretch = 1.0 + tau * v
    terms = found.log_normaliser + 0.5 * np.log(stretch)
    terms -= 0.5 * (v * nu**2 + 2.0 * nu * m - tau * m**2) / stretch
    value = float(terms.sum() - 0.5 * given.log_det + 0.5 * nu @ given.marginals.mean)
    slopes = likelihood.tilted_slopes(y, m + offset, v).sum(axis=1)
    return Approximation(given, value, np.zeros_like(y), slopes, settled, sweeps)


def _sequential(
    prior: Prior, observed: Observed, sites: Sites, sweeps: int
) -> Approximation | None:
    """Update one site after the other, each time with the posterior it changes."""
    likelihood, y, offset = observed
    if not np.all(np.isfinite(sites.precision + sites.shift)):
        sites = Sites(np.zeros_like(y), np.zeros_like(y))
    tau, nu = sites.precision.copy(), sites.shift.copy()
    for extra in range(1, MAX_SEQUENTIAL + 1):
        given = prior.given(Sites(tau.copy(), nu.copy()))
        if given is None:
            return None
        found = _sweep(observed, given.marginals, given.sites)
        if found.mismatch < TOLERANCE:
            return _ended(observed, given, found, True, sweeps + extra)
        cov = to_host(given.covariance().dense()).copy()
        mean = given.marginals.mean.copy()
        for i in range(y.size):
            one = slice(i, i + 1)
            own = Observed(likelihood, y[one], offset[one])
            here = Marginals(mean[one], cov[i, one])
            wanted = _sweep(own, here, Sites(tau[one], nu[one])).sites
            more = float(wanted.precision[0] - tau[i])
            lift = float(wanted.shift[0] - nu[i])
            column = cov[:, i].copy()
            gain = 1.0 + more * column[i]
            mean += column * ((lift - more * mean[i]) / gain)
            cov -= np.outer(column, column * (more / gain))
            tau[i], nu[i] = wanted.precision[0], wanted.shift[0]
    given = prior.given(Sites(tau, nu))
    if given is None:
        return None
    found = _sweep(observed, given.marginals, given.sites)
    settled = found.mismatch < TOLERANCE
    return _ended(observed, given, found, settled, sweeps + MAX_SEQUENTIAL)
