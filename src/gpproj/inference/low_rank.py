"""A process given sites where inducing points make its prior low rank plus diagonal.

With `K = Phi Phi' + diag(Lam)`, Lam the variances that Q lacks and the nugget:

    p = tau / (1 + tau Lam),   q = nu / (1 + tau Lam),   M = I + Phi' p Phi
    R = p - p Phi M^-1 Phi' p,   b = q - p Phi M^-1 Phi'q,   log|B| = sum log(1 + tau Lam) + log|M|
    mean = K b,   Sigma = Lam / (1 + tau Lam) + Psi M^-1 Psi',   Psi = Phi / (1 + tau Lam)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpproj.inference.features import EvidenceSums, Features, evidence_sums
from gpproj.inference.problem import Marginals, Sites
from gpproj.inference.sites import Given
from gpproj.linalg import (
    Array,
    Covariance,
    Host,
    LowRankCovariance,
    like,
    namespace,
    to_host,
)

SMALLEST = float(np.finfo(np.float64).eps)
"""Smallest share of its own precision that a row is left with: rounding must not use it up."""


def through_inducing(features: Features, found: EvidenceSums) -> tuple[Array, Array]:
    """Return `c = L^-T M^-1 v` and a root of `L^-T (I - M^-1) L^-1`, `(m,)` and `(m, m)`.

    With them predictions go through the inducing points as others go through X.
    """
    L_inverse = features.root[0, :, :]
    xp = namespace(L_inverse)
    coefficients = L_inverse.T @ found.mean[0, :]
    values, vectors = xp.linalg.eigh(found.small.inverse[0, :, :])
    kept = xp.maximum(1.0 - values, xp.zeros_like(values))  # rounding
    return coefficients, xp.sqrt(kept)[:, None] * (vectors.T @ L_inverse)


class LowRankGiven(Given):
    """A process with a low-rank prior given sites: `R = p - p Phi M^-1 Phi' p`."""

    def __init__(self, prior: LowRankPrior, sites: Sites) -> None:
        xp, Phi, lam = namespace(prior.lam), prior.Phi, prior.lam
        tau, nu = like(sites.precision, lam), like(sites.shift, lam)
        self._prior, self._stretch = prior, 1.0 + tau * lam
        self._p, self._q = tau / self._stretch, nu / self._stretch
        gram = Phi.T @ (Phi * self._p[:, None])
        self.sums = evidence_sums(gram[None, :, :], (Phi.T @ self._q)[None, :])
        small = self.sums.small
        mean = Phi @ self.sums.mean[0, :]
        b = self._q - self._p * mean
        Psi = Phi / self._stretch[:, None]
        variance = lam / self._stretch + xp.sum(Psi * (Psi @ small.inverse[0, :, :]), axis=1)
        log_det = float(xp.sum(xp.log(self._stretch)) + small.log_det[0])
        marginals = Marginals(to_host(mean + lam * b), to_host(variance))
        super().__init__(sites, to_host(b), marginals, log_det)

    def precision_product(self, right: Host) -> Host:
        """Return `R right`."""
        Phi, scaled = self._prior.Phi, self._p * like(right, self._p)
        inside = self.sums.small.inverse[0, :, :] @ (Phi.T @ scaled)
        return to_host(scaled - self._p * (Phi @ inside))

    def precision_diagonal(self) -> Host:
        """Return the diagonal of R, `p (1 - p rs(Phi M^-1 * Phi))`."""
        xp, Phi, p = namespace(self._p), self._prior.Phi, self._p
        inside = xp.sum(Phi * (Phi @ self.sums.small.inverse[0, :, :]), axis=1)
        return to_host(p * xp.maximum(1.0 - p * inside, xp.zeros_like(p) + SMALLEST))

    def precision_block(self, rows: NDArray[np.intp]) -> Host:
        """Return R at some rows, `p - p Phi M^-1 Phi' p`."""
        xp = namespace(self._p)
        where = xp.asarray(rows, device=self._p.device)
        scaled = xp.take(self._p, where)[:, None] * xp.take(self._prior.Phi, where, axis=0)
        product = scaled @ self.sums.small.inverse[0, :, :] @ scaled.T
        return np.diag(to_host(xp.take(self._p, where))) - to_host(product)

    def predictor(self) -> tuple[Array, Array]:
        """Return coefficients and root of the inducing points."""
        return through_inducing(self._prior.features, self.sums)

    def covariance(self) -> Covariance:
        """Return `K - K R K`, low rank plus diagonal."""
        half = self.sums.small.root[0, :, :].T  # M^-1 = half half'
        factor = (self._prior.Phi / self._stretch[:, None]) @ half
        return LowRankCovariance(self._prior.lam / self._stretch, factor)

    def slopes(self, lean: Host) -> tuple[Host, float]:
        """Return the derivatives of -2 log evidence, as for other priors.

        The evidence knows `G = R - b b'`; what is left of it is `-(w b' + b w')`.
        """
        Phi, features = self._prior.Phi, self._prior.features
        b, w = like(self.coefficients, Phi), like(lean, Phi)
        across_b, across_w = Phi.T @ b, Phi.T @ w
        total, trace = features.pull_back(), 0.0
        for rows in features.blocks():
            here = rows.where
            G_Phi, diagonal = self.sums.derivative(rows, self._p[None, here], self._q[None, here])
            outer = w[here, None] * across_b[None, :] + b[here, None] * across_w[None, :]
            diagonal = diagonal - 2.0 * (w[here] * b[here])[None, :]
            total.add(rows, G_Phi - outer[None, :, :], diagonal, diagonal)
            trace += float(namespace(diagonal).sum(diagonal))
        return to_host(total.total())[0], trace


class LowRankPrior:
    """`K = Phi Phi' + diag(Lam)`.

    Parameters
    ----------
    features : Features
        Features of one lane.
    nugget : float
        eps, and in submodels the extra variance.
    """

    def __init__(self, features: Features, nugget: float) -> None:
        self.features = features
        blocks = list(features.blocks())
        xp = namespace(features.root)
        self.Phi = xp.concat([rows.Phi[0, :, :] for rows in blocks])
        self.lam = xp.concat([rows.residual[0, :] for rows in blocks]) + nugget

    def product(self, right: Host) -> Host:
        """Return `K right`."""
        vector = like(right, self.lam)
        return to_host(self.lam * vector + self.Phi @ (self.Phi.T @ vector))

    def given(self, sites: Sites) -> LowRankGiven | None:
        """Return the process given sites, or None if its covariance could not be factorised."""
        given = LowRankGiven(self, sites)
        return None if self.features.failed[0] or given.sums.small.failed[0] else given
