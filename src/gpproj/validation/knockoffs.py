"""Gaussian knockoffs: copies of inputs that tell nothing about the target.

A copy is related to the other inputs as the input is that it stands beside (Candes et al., 2018):
swapping the two changes nothing but what the target has to do with them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from gpproj.linalg import Host

LEAST_VARIANCE = (1e-4, 0.3)
"""Smallest eigenvalue of correlations: since columns may be equal; and with no more rows than
columns, where samples have directions without any variance by chance. Of 60 columns and 40 rows, a
tenth took 0.06 to 0.14 too many inputs for useless, and this 0.01 to 0.09."""

SWEEPS = 20
"""Rounds in which the scores of equal values are drawn, and correlations estimated from them."""

SETTLED = 1e-4
"""Change of a conditional variance, as a share of the largest, below which it is solved for."""


def knockoffs(X: Host, rng: np.random.Generator) -> Host:
    """Return Gaussian knockoffs of inputs, with their marginal distributions.

    With Z the normal scores of the inputs, C their correlations and S = diag(s), copies are drawn
    from

        N(Z - Z C^-1 S,  2 S - S C^-1 S),

    and mapped back to the values of the inputs by rank. Columns are correlated with all others as
    those they are copies of, and with the latter by 1 - s. Constant columns stay as they are.
    """
    varying = np.ptp(X, axis=0) > 0.0
    if not varying.any():
        return X.copy()
    Z, C = normal_scores(X[:, varying], rng)
    s = independent_parts(C)
    # C^-1 S, and a root of 2 S - S C^-1 S, which rounding may leave indefinite.
    part = np.linalg.solve(C, np.diag(s))
    values, axes = np.linalg.eigh(2.0 * np.diag(s) - s[:, None] * part)
    noise = (rng.standard_normal(Z.shape) * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    rank = np.argsort(np.argsort(Z - Z @ part + noise, axis=0), axis=0)
    found = X.copy()
    found[:, varying] = np.take_along_axis(np.sort(X[:, varying], axis=0), rank, axis=0)
    return found


def independent_parts(C: Host) -> Host:
    """Return 1 less the correlation of each column with its copy, `(d,)`.

    Those of the copies with the largest entropy (Gimenez and Zou, 2019),

        max  log det(2 C - S) + sum_j log s_j,   where   s_j = 1 / ((2 C - S)^-1)_jj,

    which is solved for one column after the other. An s that is the same for all columns, as large
    as can be, would make all copies useless where two columns are nearly equal; the smallest
    correlations with the copies would let inputs be recovered from the others and their copies.
    """
    s = np.full(len(C), min(1.0, float(np.linalg.eigvalsh(C)[0])))
    change = 1.0
    while change > SETTLED * s.max():
        change = 0.0
        P = np.linalg.inv(2.0 * C - np.diag(s))  # anew, so that rounding does not add up
        for j in range(len(C)):
            step = 0.5 * (1.0 / P[j, j] - s[j])
            s[j] += step
            # (D - step e e')^-1 with P = D^-1, by Sherman and Morrison
            P += (step / (1.0 - step * P[j, j])) * np.outer(P[j], P[j])
            change = max(change, abs(step))
    return s


def normal_scores(X: Host, rng: np.random.Generator) -> tuple[Host, Host]:
    """Return normal scores of columns that vary, `(n, d)`, and their correlations, `(d, d)`.

    Equal values share an interval of scores. Which one each row has is drawn given the others, in
    turn with the correlations, as for the Gaussian copula of Hoff (2007): scores that ignore the
    others would make columns of few values seem less related than they are.
    """
    n, d = X.shape
    order = np.lexsort((rng.random((n, d)), X), axis=0)
    rank = np.argsort(order, axis=0)
    Z = ndtri((rank + 0.5) / n)
    tied = []
    for j in range(d):
        values, label, count = np.unique(X[:, j], return_inverse=True, return_counts=True)
        if values.size < n:
            edges = ndtri(np.concatenate([[0], np.cumsum(count)]) / n)
            tied.append((j, edges[label], edges[label + 1]))
    C = _correlations(Z)
    for _ in range(SWEEPS if tied and d > 1 else 0):
        P = np.linalg.inv(C)
        Z /= np.sqrt(np.mean(Z**2, axis=0))
        for j, low, high in tied:
            sd = P[j, j] ** -0.5
            mean = Z[:, j] - Z @ P[:, j] / P[j, j]
            Z[:, j] = mean + sd * _between((low - mean) / sd, (high - mean) / sd, rng)
        C = _correlations(Z)
    return Z / np.sqrt(np.mean(Z**2, axis=0)), C


def _between(low: Host, high: Host, rng: np.random.Generator) -> Host:
    """Return standard normal numbers between bounds, `(n,)`."""
    flip = low > -high  # the lower tail has more digits
    below, above = np.where(flip, -high, low), np.where(flip, -low, high)
    part = ndtr(below)
    drawn = ndtri(part + rng.random(low.size) * (ndtr(above) - part))
    drawn = np.clip(drawn, np.maximum(below, -40.0), above)
    found: Host = np.where(flip, -drawn, drawn)
    return found


def _correlations(Z: Host) -> Host:
    """Return correlations of scores, each shrunk by as much as it may be chance.

    By the garrote of Breiman (1995), r becomes r (1 - v / r^2), or zero, with its sampling variance
    v = (1 - r^2)^2 / n: those that are chance all but go, so that copies may differ from their
    inputs, and strong ones stay. One share for all, such as that of Ledoit and Wolf (2004), takes
    too much from a few strong ones among many that are chance: copies are then less related to
    useful inputs than useless inputs are, and are chosen too seldom.
    """
    n, d = Z.shape
    Z = Z / np.sqrt(np.mean(Z**2, axis=0))
    R = Z.T @ Z / n
    C: Host = R * np.maximum(1.0 - (1.0 - R**2) ** 2 / (n * np.maximum(R**2, 1.0 / n**2)), 0.0)
    np.fill_diagonal(C, 1.0)
    # Together they may be too small in some direction, or negative: no smaller than they were.
    least = LEAST_VARIANCE[1]
    if n > d:
        least = float(np.clip(np.linalg.eigvalsh(R)[0], *LEAST_VARIANCE))
    lack = max(least - float(np.linalg.eigvalsh(C)[0]), 0.0)
    share = lack / (1.0 - least + lack)
    return (1.0 - share) * C + share * np.eye(d)
