"""The low-rank part of a covariance: what inducing points Z make of a kernel.

    Q = Phi Phi',   Phi = K_nm L_mm^-T,   L_mm L_mm' = K_mm,   P = Phi L_mm^-1 = K_nm K_mm^-1

so that, for an objective with derivative G in `Q + diag(c)`,

    dE = 2 <H, dK_nm> - <P'H, dK_mm> + ...,   H = G P.

Rows are taken in blocks, twice: once for sums over all of them, once for the gradient. That bounds
the workspace, and on a processor the blocks stay in its cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gpproj.kernels import Evaluation, Kernel, Mask
from gpproj.linalg import (
    Array,
    Host,
    cholesky,
    inverse_root,
    is_numpy,
    like,
    log_determinant,
    namespace,
    point_jitter,
    point_jitter_pull_back,
    room_for,
    transpose,
)

BLOCK = 1024
"""Rows at a time on a processor."""

KEPT_NUMBERS = 2**25
"""Numbers in Phi up to which its blocks are kept for the second time; on a device as many as in
eight of its blocks."""


class Rows(NamedTuple):
    """Some rows of K_nm and Phi, and the variances of their points."""

    where: slice
    cross: Evaluation
    """K_nm, `(b, r, m)`."""
    Phi: Array
    """`(b, r, m)`."""
    diagonal: Evaluation
    """`k(x_i, x_i)`, `(b, r)`."""
    residual: Array
    """`diag(K - Q)`, `(b, r)`; rounding below zero is cut off."""


class Features:
    """Phi for a batch of parameter vectors.

    Parameters
    ----------
    kernel : Kernel
    log_parameters : array `(b, p)`
    X : array `(n, d)`
    Z : array `(b, m, d)` or `(m, d)`
        Inducing points.
    mask : bool array `(b, d)`
    """

    def __init__(
        self, kernel: Kernel, log_parameters: Host, X: Array, Z: Array, mask: Mask
    ) -> None:
        self._kernel, self._theta, self._mask = kernel, log_parameters, mask
        self._X, self._Z = X, Z
        self._kept: list[Rows] = []
        self._inner = kernel.evaluate_cross(log_parameters, Z, Z, mask)
        K_mm = self._inner.value
        self.size = int(K_mm.shape[-1])
        factor = cholesky(K_mm, point_jitter(K_mm))
        self.failed: Array = factor.failed
        self.root = inverse_root(factor, overwrite=True)
        """`L_mm^-1`, `(b, m, m)`."""

    @property
    def lanes(self) -> int:
        """Number of parameter vectors."""
        return int(self._theta.shape[0])

    def blocks(self) -> Iterator[Rows]:
        """Go through the rows of X."""
        if self._kept:
            yield from self._kept
            return
        n = int(self._X.shape[0])
        numbers, step = KEPT_NUMBERS, BLOCK
        if not is_numpy(self._X):
            room = room_for(self._X) // 4
            numbers = 8 * room
            step = max(room // max(self.lanes * self.size, 1), BLOCK)
        keep = n * self.size * self.lanes <= numbers
        kept = []
        for start in range(0, n, step):
            rows = self._rows(slice(start, min(start + step, n)))
            if keep:
                kept.append(rows)
            yield rows
        self._kept = kept  # once they are all there

    def _rows(self, where: slice) -> Rows:
        xp, X = namespace(self._X), self._X[where, :]
        cross = self._kernel.evaluate_cross(self._theta, X, self._Z, self._mask)
        Phi = cross.value @ transpose(self.root)
        diagonal = self._kernel.evaluate_diagonal(self._theta, X, self._mask)
        left = diagonal.value - xp.sum(Phi * Phi, axis=-1)
        return Rows(where, cross, Phi, diagonal, xp.maximum(left, xp.zeros_like(left)))

    def pull_back(self) -> PullBack:
        """Return an empty sum for the gradient of an objective in the parameters."""
        return PullBack(self)

    def slopes(self) -> PullBack:
        """Return an empty sum for its slopes in the relevance of every input, in or out."""
        return PullBack(self, slopes=True)


class PullBack:
    """Sums a gradient over the blocks of rows, then adds what comes through K_mm."""

    def __init__(self, features: Features, *, slopes: bool = False) -> None:
        self._features, self._slopes = features, slopes
        self._total: Array = None
        self._S: Array = None

    def add(self, rows: Rows, G_Phi: Array, weights: Array, taken: Array) -> None:
        """Add what some rows contribute.

        Parameters
        ----------
        rows : Rows
        G_Phi : array `(b, r, m)`
            Rows of `G Phi`.
        weights : array `(b, r)`
            Derivative in `k(x_i, x_i)`.
        taken : array `(b, r)`
            What Q does not have of the diagonal of G: `diag(G)` where `diag(K - Q)` is added to Q.
        """
        H = (G_Phi - taken[:, :, None] * rows.Phi) @ self._features.root
        S = transpose(rows.Phi) @ H
        own = self._pulled(rows.cross, 2.0 * H) + self._pulled(rows.diagonal, weights)
        self._total = own if self._total is None else self._total + own
        self._S = S if self._S is None else self._S + S

    def total(self) -> Array:
        """Return the gradient, `(b, p)`, or the slopes, `(b, d)`."""
        features = self._features
        S = transpose(features.root) @ self._S  # P'H
        S = point_jitter_pull_back(0.5 * (S + transpose(S)))
        return self._total - self._pulled(features._inner, S)

    def _pulled(self, evaluation: Evaluation, G: Array) -> Array:
        return evaluation.slopes(G) if self._slopes else evaluation.pull_back(G)


class Small(NamedTuple):
    """`M = I + Phi' diag(p) Phi`, which stands for all rows in `(diag(1/p) + Q)^-1`."""

    root: Array
    """`L_M^-1`, `(b, m, m)`: `M^-1 = root' root`."""
    inverse: Array
    """`M^-1`, `(b, m, m)`."""
    log_det: Array
    """`(b,)`."""
    failed: Array


def small(gram: Array) -> Small:
    """Return M of `Phi' diag(p) Phi`, `(b, m, m)`."""
    factor = cholesky(gram, like(np.ones((1, 1)), gram) + namespace(gram).zeros_like(gram[:, :, 0]))
    log_det, root = log_determinant(factor), inverse_root(factor)
    return Small(root, transpose(root) @ root, log_det, factor.failed)


class EvidenceSums(NamedTuple):
    """Sums over the rows for `-2 log evidence` of targets with covariance `Q + diag(1/p)`.

    With q = p t for targets t, and v = Phi'q:

        R = diag(p) - diag(p) Phi M^-1 Phi' diag(p),   b = R t = q - p Phi M^-1 v.
    """

    small: Small
    mean: Array
    """`M^-1 v`, `(b, m)`: the posterior mean is Phi times this."""
    explained: Array
    """`v'M^-1 v`, `(b,)`."""

    def coefficients(self, rows: Rows, p: Array, q: Array) -> Array:
        """Return b of some rows, `(b, r)`."""
        return q - p * (rows.Phi @ self.mean[:, :, None])[:, :, 0]

    def derivative(self, rows: Rows, p: Array, q: Array) -> tuple[Array, Array]:
        """Return some rows of `G Phi`, `(b, r, m)`, and of `diag(G)`, for `G = R - b b'`."""
        b = self.coefficients(rows, p, q)
        V = rows.Phi @ self.small.inverse
        inside = namespace(V).sum(rows.Phi * V, axis=-1)
        G_Phi = p[:, :, None] * V - b[:, :, None] * self.mean[:, None, :]
        return G_Phi, p - p**2 * inside - b**2


def evidence_sums(gram: Array, shift: Array) -> EvidenceSums:
    """Return the sums of `Phi' diag(p) Phi`, `(b, m, m)`, and `v = Phi'q`, `(b, m)`."""
    M = small(gram)
    mean = (M.inverse @ shift[:, :, None])[:, :, 0]
    return EvidenceSums(M, mean, namespace(mean).sum(mean * shift, axis=-1))
