"""A process given Gaussian sites: marginals, cavities, leave-one-out.

With the sites' natural parameters tau, nu and u = tau^-1/2 nu (zero where tau is):

    B = I + tau^1/2 K tau^1/2,   R = tau^1/2 B^-1 tau^1/2,   b = tau^1/2 B^-1 u
    mean = K b,   Sigma = K - K R K

`K + 1 / tau` is never formed: that loses all digits as tau goes to zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpproj.inference.problem import LeaveOneOut, Marginals, Observed, Sites
from gpproj.kernels import Evaluation
from gpproj.linalg import (
    Array,
    Covariance,
    DenseCovariance,
    Host,
    cholesky,
    in_lapack_order,
    in_row_order,
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


class Given(ABC):
    """A process given sites.

    R is the inverse of `K + 1 / tau` where that exists, known by what it does.

    Parameters
    ----------
    sites : Sites
    coefficients : array `(n,)`
        b.
    marginals : Marginals
        Marginals of the posterior.
    log_det : float
        `log|B|`.
    """

    def __init__(
        self, sites: Sites, coefficients: Host, marginals: Marginals, log_det: float
    ) -> None:
        self.sites, self.coefficients = sites, coefficients
        self.marginals, self.log_det = marginals, log_det

    @abstractmethod
    def precision_product(self, right: Host) -> Host:
        """Return `R right`, `(n,)`."""

    @abstractmethod
    def precision_diagonal(self) -> Host:
        """Return the diagonal of R, `(n,)`, positive where tau is."""

    @abstractmethod
    def precision_block(self, rows: NDArray[np.intp]) -> Host:
        """Return R at some rows, `(r, r)`."""

    @abstractmethod
    def predictor(self) -> tuple[Array, Array]:
        """Return the coefficients and the root of predictions, at X or at inducing points."""

    @abstractmethod
    def covariance(self) -> Covariance:
        """Return the posterior covariance `K - K R K`."""

    @abstractmethod
    def slopes(self, lean: Host) -> tuple[Host, float]:
        """Return derivatives of -2 log evidence: in the kernel's log parameters, and in eps.

        The derivative in K is `R - b b' - (w b' + b w')`, and `lean` is w, `(n,)`.
        """


class Prior(Protocol):
    """The covariance of the latent function at the training inputs, nugget included."""

    def product(self, right: Host) -> Host:
        """Return `K right`, `(n,)`."""

    def given(self, sites: Sites) -> Given | None:
        """Return the process given sites, or None if its covariance could not be factorised."""


class DenseGiven(Given):
    """A process with a covariance matrix given sites: `R = root' root`.

    The root is lower triangular before its columns were scaled.
    """

    def __init__(
        self,
        prior: DensePrior,
        root: Array,
        sites: Sites,
        coefficients: Host,
        marginals: Marginals,
        log_det: float,
    ) -> None:
        super().__init__(sites, coefficients, marginals, log_det)
        self._prior, self.root = prior, root

    def precision_product(self, right: Host) -> Host:
        """Return `R right`."""
        return to_host(self.root.T @ (self.root @ like(right, self.root)))

    def precision_diagonal(self) -> Host:
        """Return the diagonal of R: squared norms, which no rounding makes negative."""
        return to_host(namespace(self.root).sum(self.root**2, axis=0))

    def precision_block(self, rows: NDArray[np.intp]) -> Host:
        """Return R at some rows."""
        xp = namespace(self.root)
        columns = xp.take(self.root, xp.asarray(rows, device=self.root.device), axis=1)
        return to_host(columns.T @ columns)

    def predictor(self) -> tuple[Array, Array]:
        """Return b and the root."""
        return like(self.coefficients, self.root), self.root

    def covariance(self) -> Covariance:
        """Return `K - K R K`."""
        return posterior_covariance(self._prior.K, self.root)

    def slopes(self, lean: Host) -> tuple[Host, float]:
        """Return the derivatives of -2 log evidence."""
        smooth, root, b = self._prior.smooth, self.root, self.coefficients
        assert smooth is not None  # derivatives are those of a kernel
        # b b' + w b' + b w' = (b + w)(b + w)' - w w'
        total, w = like(b + lean, root), like(lean, root)
        G = root.T @ root - total[:, None] * total[None, :] + w[:, None] * w[None, :]
        G = G[None, :, :]
        own = to_host(smooth.pull_back(in_row_order(G)))[0]
        return own, float(namespace(G).linalg.trace(G)[0])


class DensePrior:
    """A covariance matrix.

    Parameters
    ----------
    K : array `(n, n)`
        Nugget included.
    smooth : Evaluation, optional
        The evaluation of its kernel, for derivatives.
    """

    def __init__(self, K: Array, smooth: Evaluation | None = None) -> None:
        self.K, self.smooth = K, smooth

    def product(self, right: Host) -> Host:
        """Return `K right`."""
        return to_host(self.K @ like(right, self.K))

    def given(self, sites: Sites) -> Given | None:
        """Return the process given sites, or None if its covariance could not be factorised.

        The marginal variance of a site that says something is `(1 - [B^-1]_ii) / tau_i`, which
        needs no product of matrices.
        """
        K = self.K
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
            own = to_host(xp.linalg.diagonal(K))[chosen]
            variance[chosen] = own - to_host(explained)
        variance = np.maximum(variance, np.finfo(float).tiny)
        marginals = Marginals(to_host(K @ b), variance)
        return DenseGiven(self, root, sites, to_host(b), marginals, log_det)


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
