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
"""What is left of a row's own precision at least, as a fraction: rounding must not use it up."""


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


class LowRankPrecision:
    """`R = p - p Phi M^-1 Phi' p`."""

    def __init__(self, features: Features, Phi: Array, p: Array, q: Array) -> None:
        self._features, self._Phi = features, Phi
        self.p, self.q = p, q
        gram = Phi.T @ (Phi * p[:, None])
        self.found = evidence_sums(gram[None, :, :], (Phi.T @ q)[None, :])

    def product(self, right: Host) -> Host:
        """Return `R right`."""
        scaled = self.p * like(right, self.p)
        inside = self.found.small.inverse[0, :, :] @ (self._Phi.T @ scaled)
        return to_host(scaled - self.p * (self._Phi @ inside))

    def diagonal(self) -> Host:
        """Return the diagonal of R, `p (1 - p rs(Phi M^-1 * Phi))`."""
        xp = namespace(self.p)
        inside = xp.sum(self._Phi * (self._Phi @ self.found.small.inverse[0, :, :]), axis=1)
        return to_host(self.p * xp.maximum(1.0 - self.p * inside, xp.zeros_like(self.p) + SMALLEST))

    def block(self, rows: NDArray[np.intp]) -> Host:
        """Return R at some rows, `p - p Phi M^-1 Phi' p`."""
        xp = namespace(self.p)
        where = xp.asarray(rows, device=self.p.device)
        scaled = xp.take(self.p, where)[:, None] * xp.take(self._Phi, where, axis=0)
        product = scaled @ self.found.small.inverse[0, :, :] @ scaled.T
        return np.diag(to_host(xp.take(self.p, where))) - to_host(product)

    def predicting(self, coefficients: Host) -> tuple[Array, Array]:
        """Return coefficients and root of the inducing points."""
        return through_inducing(self._features, self.found)


class LowRankPrior:
    """`K = Phi Phi' + diag(Lam)`.

    Parameters
    ----------
    features : Features
        Of one lane.
    nugget : float
        eps, and in submodels the extra variance.
    """

    def __init__(self, features: Features, nugget: float) -> None:
        self._features = features
        blocks = list(features.blocks())
        xp = namespace(features.root)
        self._Phi = xp.concat([rows.Phi[0, :, :] for rows in blocks])
        self._lam = xp.concat([rows.residual[0, :] for rows in blocks]) + nugget

    def product(self, right: Host) -> Host:
        """Return `K right`."""
        vector = like(right, self._lam)
        return to_host(self._lam * vector + self._Phi @ (self._Phi.T @ vector))

    def given(self, sites: Sites) -> Given | None:
        """Return the process given sites, or None if its covariance could not be factorised."""
        xp = namespace(self._lam)
        tau, nu = like(sites.precision, self._lam), like(sites.shift, self._lam)
        stretch = 1.0 + tau * self._lam
        R = LowRankPrecision(self._features, self._Phi, tau / stretch, nu / stretch)
        found = R.found
        if self._features.failed[0] or found.small.failed[0]:
            return None
        mean = self._Phi @ found.mean[0, :]
        b = R.q - R.p * mean
        Psi = self._Phi / stretch[:, None]
        variance = self._lam / stretch + xp.sum(Psi * (Psi @ found.small.inverse[0, :, :]), axis=1)
        log_det = float(xp.sum(xp.log(stretch)) + found.small.log_det[0])
        marginals = Marginals(to_host(mean + self._lam * b), to_host(variance))
        return Given(sites, to_host(b), R, marginals, log_det)

    def covariance(self, given: Given) -> Covariance:
        """Return `K - K R K`, low rank plus diagonal."""
        assert isinstance(given.precision, LowRankPrecision)
        stretch = 1.0 + like(given.sites.precision, self._lam) * self._lam
        half = given.precision.found.small.root[0, :, :].T  # M^-1 = half half'
        factor = (self._Phi / stretch[:, None]) @ half
        return LowRankCovariance(self._lam / stretch, factor)

    def slopes(self, given: Given, lean: Host) -> tuple[Host, float]:
        """Return the derivatives of -2 log evidence, as for other priors.

        The evidence knows `G = R - b b'`; what is left of it is `-(w b' + b w')`.
        """
        R = given.precision
        assert isinstance(R, LowRankPrecision)
        b, w = like(given.coefficients, self._lam), like(lean, self._lam)
        across_b, across_w = self._Phi.T @ b, self._Phi.T @ w
        total, trace = self._features.pull_back(), 0.0
        for rows in self._features.blocks():
            here = rows.where
            G_Phi, diagonal = R.found.derivative(rows, R.p[None, here], R.q[None, here])
            outer = w[here, None] * across_b[None, :] + b[here, None] * across_w[None, :]
            diagonal = diagonal - 2.0 * (w[here] * b[here])[None, :]
            total.add(rows, G_Phi - outer[None, :, :], diagonal, diagonal)
            trace += float(namespace(diagonal).sum(diagonal))
        return to_host(total.total())[0], trace
