"""Jitter for covariances of points that may coincide, as a differentiable function of the matrix.

`cholesky` adds jitter only to matrices that need it, which a gradient does not see. Covariances of
inducing points are often singular: they always have a jitter, and gradients know it.
"""

from __future__ import annotations

from gpproj.linalg.arrays import Array, namespace

JITTER = 1e-10
"""Jitter as a fraction of what varies in the matrix, `mean K_ii - mean K_ij`: points may coincide.
A constant, however large, does not count."""

ROUNDING = 1e-13
"""Jitter besides, as a fraction of the mean diagonal: that of equal points is singular."""

SMALLEST = 1e-100
"""Jitter besides: the covariance of no function at all is zero."""


def point_jitter(K: Array) -> Array:
    """Return what is added to the diagonals of covariances `(b, m, m)`, `(b, 1)`."""
    xp = namespace(K)
    mean = xp.mean(xp.linalg.diagonal(K), axis=-1)[:, None]
    shared = xp.mean(K, axis=(1, 2))[:, None]
    return JITTER * (mean - shared) + ROUNDING * mean + SMALLEST


def point_jitter_pull_back(G: Array) -> Array:
    """Return derivatives in K, given those in K with its jitter, `(b, m, m)`."""
    xp, m = namespace(G), int(G.shape[-1])
    trace = xp.linalg.trace(G)[:, None, None]
    identity = xp.eye(m, dtype=G.dtype, device=G.device)
    return G + trace * ((JITTER + ROUNDING) / m * identity - JITTER / m**2)
