"""A process given Gaussian sites: marginals, cavities, leave-one-out.

With the sites' natural parameters tau, nu and u = tau^-1/2 nu (zero where tau is):

    B = I + tau^1/2 K tau^1/2,   R = tau^1/2 B^-1 tau^1/2,   b = tau^1/2 B^-1 u
    mean = K b,   Sigma = K - K R K

`K + 1 / tau` is never formed: that loses all digits as tau goes to zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpproj.inference.problem import LeaveOneOut, Marginals, Observed, Sites
from gpproj.linalg import (
    Array,
    DenseCovariance,
    Host,
    cholesky,
    in_lapack_order,
    inverse_root,
    like,
    log_determinant,
    namespace,
    subtract_gram,
    to_host,
)

INFORMED = 1e-4
"""Product of a site's precision and its marginal variance above which the short way to that
variance loses no more than four digits."""


class Given(NamedTuple):
    """A process given sites."""

    sites: Sites
    coefficients: Host
    """b, `(n,)`."""
    root: Array
    """`(n, n)`, with `R = root' root`; lower triangular before its columns were scaled."""
    marginals: Marginals
    """Of the posterior."""
    log_det: float
    """`log|B|`."""


def given_sites(K: Array, prior_variance: Host, sites: Sites) -> Given | None:
    """Return the process given sites, or None if its covariance could not be factorised.

    The marginal variance of a site that says something is `(1 - [B^-1]_ii) / tau_i`, which needs no
    product of matrices.

    Parameters
    ----------
    K : array `(n, n)`
        Prior covariance, nugget included.
    prior_variance : array `(n,)`
        Its diagonal.
    sites : Sites
    """
    xp, scale = namespace(K), np.sqrt(sites.precision)
    outer = in_lapack_order(like(scale[:, None] * scale[None, :], K)[None, :, :])
    ones = like(np.ones((1, scale.size)), K)
    factor = cholesky(K[None, :, :], ones, outer)
    if factor.failed[0]:
        return None
    log_det = float(log_determinant(factor)[0])
    M = inverse_root(factor, overwrite=True)[0, :, :]  # B^-1 = M'M
    u = like(site_targets(sites, scale), K)
    b = like(scale, K) * (M.T @ (M @ u))
    kept = to_host(xp.sum(M**2, axis=0))
    root = M * like(scale, K)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (1.0 - kept) / sites.precision
    faint = ~(sites.precision * variance > INFORMED)
    if faint.any():
        chosen = np.flatnonzero(faint)
        columns = xp.take(K, xp.asarray(chosen, device=K.device), axis=1)
        explained = xp.sum((root @ columns) ** 2, axis=0)
        variance[chosen] = prior_variance[chosen] - to_host(explained)
    variance = np.maximum(variance, np.finfo(float).tiny)
    return Given(sites, to_host(b), root, Marginals(to_host(K @ b), variance), log_det)


def site_targets(sites: Sites, scale: Host) -> Host:
    """Return `u = nu / tau^1/2`, zero where a site says nothing, `(n,)`."""
    silent = scale == 0.0
    return np.where(silent, 0.0, sites.shift / np.where(silent, 1.0, scale))


def posterior_covariance(K: Array, root: Array) -> DenseCovariance:
    """Return `K - K R K`."""
    half = (K @ root.T)[None, :, :]
    copy = namespace(K).asarray(K, copy=True)[None, :, :]
    return DenseCovariance(subtract_gram(copy, half)[0, :, :])


def cavities(marginals: Marginals, sites: Sites) -> Marginals:
    """Return the marginals without their own sites.

    v_-i = v / (1 - tau v),   m_-i = (m - v nu) / (1 - tau v).
    """
    mean, variance = marginals
    left = np.maximum(1.0 - sites.precision * variance, np.finfo(float).eps)
    return Marginals((mean - variance * sites.shift) / left, variance / left)


def leave_one_out(observed: Observed, marginals: Marginals, sites: Sites) -> LeaveOneOut:
    """Predict every observation from its cavity, `(n,)` each, on the host."""
    likelihood, y, offset = observed
    mean, variance = cavities(marginals, sites)
    seen = likelihood.response(mean + offset, variance)
    return LeaveOneOut(*seen, likelihood.log_density(y, mean + offset, variance))
