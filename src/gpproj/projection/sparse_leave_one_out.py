"""The divergence between leave-one-out predictions through inducing points, in O(n m^2).

The objective is that of `leave_one_out`; its matrices are those of `sparse`. With
D_K = diag(k - Q) + extra + eps, s = 1 + tau D_K, P = tau / s, M = I + Phi' P Phi and
h = rs(Phi M^-1 * Phi), rs being row sums,

    A^-1 = P - P Phi M^-1 Phi' P,    A^-1 Phi = P Phi M^-1,    D = P (1 - P h)
    m' = (Phi M^-1 v - h nu / s) / (1 - P h),    v = Phi' nu / s
    V = 1 / D   or   1 / D - 1 / tau = (D_K + h / s) / (1 - P h),

and of G = sym(x alpha') - A^-1 diag(w) A^-1, with x = A^-1 (a / D) and C = Phi' P^2 w Phi,

    A^-1 w A^-1 Phi = P^2 w Phi M^-1 - P Phi M^-1 C M^-1,    Phi' alpha = M^-1 v
    diag(A^-1 w A^-1) = P^2 w (1 - 2 P h) + P^2 rs(Phi M^-1 C M^-1 * Phi).
"""

from __future__ import annotations

from typing import NamedTuple

from gpproj.inference.features import EvidenceSums, Features, Rows, evidence_sums
from gpproj.linalg import Array, namespace, transpose
from gpproj.projection.values import compared
from gpproj.reference import LeaveOneOut, Target

SMALLEST = 1e-14
"""What is left of a row's own precision, 1 - P h, at least: rounding must not use it up."""


class SiteWeights(NamedTuple):
    """Diagonals at some rows, `(b, r)` each."""

    D: Array
    """`D_K`: what completes the diagonal of `Phi Phi'`."""
    stretch: Array
    """`s = 1 + tau D_K`."""
    precision: Array
    """`P = tau / s`: finite where a site says nothing."""
    shift: Array
    """`nu / s`."""


def site_weights(target: Target | LeaveOneOut, rows: Rows, extra: Array) -> SiteWeights:
    """Return what sites and the diagonal of K make of each other at some rows."""
    D = rows.residual + extra
    tau, nu = target.site_precision[rows.where], target.site_shift[rows.where]
    stretch = 1.0 + tau * D
    return SiteWeights(D, stretch, tau / stretch, nu / stretch)


class LeaveOneOutDivergence:
    """E, and its derivative in K row by row."""

    def __init__(self, target: LeaveOneOut, features: Features, extra: Array) -> None:
        xp, self._target, self._extra = namespace(target.X), target, extra
        gram, shift = [], []
        for rows in features.blocks():
            _, _, P, q = site_weights(target, rows, extra)
            gram.append(transpose(rows.Phi * P[:, :, None]) @ rows.Phi)
            shift.append((transpose(rows.Phi) @ q[:, :, None])[:, :, 0])
        self._sums: EvidenceSums = evidence_sums(_total(gram), _total(shift))
        self.failed = features.failed | self._sums.small.failed

        means, variances, precisions, weights = [], [], [], []
        for rows in features.blocks():
            D_K, stretch, P, q = site_weights(target, rows, extra)
            h = xp.sum((rows.Phi @ self._sums.small.inverse) * rows.Phi, axis=-1)
            left = xp.maximum(1.0 - P * h, xp.zeros_like(h) + SMALLEST)
            here = rows.where
            inside = (rows.Phi @ self._sums.mean[:, :, None])[:, :, 0]
            means.append((inside - h * q) / left)
            tau, latent = target.site_precision[here], target.latent[here]
            cavity = (D_K + h / stretch) / left
            variances.append(latent * cavity + (1.0 - latent) * stretch / (tau * left))
            precisions.append(P * left)
            weights.append(P)
        self.mean = xp.concat(means, axis=1)
        found = compared(target, self.mean, xp.concat(variances, axis=1))
        self.value = found.value
        D, P = xp.concat(precisions, axis=1), xp.concat(weights, axis=1)
        blocks = list(features.blocks())
        alpha = xp.concat([self._coefficients(rows) for rows in blocks], axis=1)
        self._w = (found.by_mean * alpha - found.by_variance) / D**2
        self._pull = P * found.by_mean / D  # P (a / D)
        M_inverse = self._sums.small.inverse
        spread, across = [], []
        for rows in blocks:
            here, Phi = rows.where, rows.Phi
            spread.append(transpose(Phi * (P**2 * self._w)[:, here, None]) @ Phi)
            across.append((transpose(Phi) @ self._pull[:, here, None])[:, :, 0])
        self._inner = M_inverse @ _total(spread) @ M_inverse
        self._across = (M_inverse @ _total(across)[:, :, None])[:, :, 0]  # Phi'x

    def derivative(self, rows: Rows) -> tuple[Array, Array]:
        """Return some rows of `G Phi` and of `diag(G)`."""
        xp, Phi, here = namespace(rows.Phi), rows.Phi, rows.where
        P = site_weights(self._target, rows, self._extra).precision
        w, alpha = self._w[:, here], self._coefficients(rows)
        x = self._pull[:, here] - P * (Phi @ self._across[:, :, None])[:, :, 0]
        V, W = Phi @ self._sums.small.inverse, Phi @ self._inner
        h = xp.sum(V * Phi, axis=-1)
        outer = x[:, :, None] * self._sums.mean[:, None, :]
        outer = outer + alpha[:, :, None] * self._across[:, None, :]
        G_Phi = 0.5 * outer - (P**2 * w)[:, :, None] * V + P[:, :, None] * W
        within = P**2 * (w * (1.0 - 2.0 * P * h) + xp.sum(W * Phi, axis=-1))
        return G_Phi, x * alpha - within

    def _coefficients(self, rows: Rows) -> Array:
        """Return alpha at some rows, `(b, r)`."""
        _, _, P, q = site_weights(self._target, rows, self._extra)
        return self._sums.coefficients(rows, P, q)


def _total(parts: list[Array]) -> Array:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
