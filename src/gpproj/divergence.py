"""Kullback-Leibler divergence between Gaussians."""

from __future__ import annotations

import math

from gpproj.linalg import (
    Array,
    Factor,
    inverse_root,
    log_determinant,
    namespace,
    times_lower,
)


def gaussian_kl(difference: Array, root: Array, log_det: float, other: Factor) -> Array:
    """Return `KL( N(mu, Sigma) || N(mu', Sigma') )` for a batch of `N(mu', Sigma')`, `(b,)`.

    2 KL = tr(Sigma'^-1 Sigma) + (mu - mu')'Sigma'^-1 (mu - mu') + log|Sigma'| - log|Sigma| - n

    Parameters
    ----------
    difference : array `(b, n)`
        `mu - mu'`.
    root : array `(n, n)`
        Lower triangular, `Sigma = root root'`.
    log_det : float
        `log|Sigma|`, known once for all.
    other : Factor
        Factor of Sigma', `(b, n, n)`; its memory is reused. Lanes that failed are infinitely far.

    Returns
    -------
    array `(b,)`

    Examples
    --------
    >>> import numpy as np
    >>> from gpproj.linalg import cholesky
    >>> gaussian_kl(np.array([[1.0]]), np.array([[1.0]]), 0.0, cholesky(np.array([[[1.0]]])))
    array([0.5])
    """
    xp = namespace(difference)
    n = difference.shape[1]
    log_ratio = log_determinant(other) - log_det
    M = inverse_root(other, overwrite=True)  # Sigma'^-1 = M'M
    trace = xp.sum(times_lower(M, root) ** 2, axis=(1, 2))
    distance = xp.sum((M @ difference[:, :, None]) ** 2, axis=(1, 2))
    divergence = 0.5 * (trace + distance + log_ratio - n)
    return xp.where(other.failed, xp.full_like(divergence, math.inf), divergence)
