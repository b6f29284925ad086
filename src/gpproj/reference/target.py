"""What a projection is held to: the reference reduced to two moments and Gaussian sites."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpproj.linalg import Array, Covariance, cholesky, namespace


@dataclass(frozen=True, eq=False)
class Target:
    """What a projection is held to: the reference's latent posterior and sites, model scale."""

    X: Array
    """`(n, d)`."""
    latent_mean: Array
    """`(n,)`."""
    latent_cov: Covariance
    """`(n, n)`."""
    site_precision: Array
    """tau, `(n,)`, not negative."""
    site_shift: Array
    """nu, `(n,)`."""
    nugget: float
    """eps, a variance."""

    @cached_property
    def root(self) -> Array:
        """Lower triangular factor of Sigma, `(n, n)`."""
        factor = cholesky(self.latent_cov.dense()[None, :, :])
        return factor.lower[0, :, :]

    @cached_property
    def log_det(self) -> float:
        """`log|Sigma|`, computed once."""
        return self.latent_cov.log_determinant()

    @cached_property
    def site_scale(self) -> Array:
        """`tau^1/2 1 1' tau^1/2`, `(1, n, n)`."""
        half = namespace(self.X).sqrt(self.site_precision)
        return (half[:, None] * half[None, :])[None, :, :]

    @cached_property
    def constant(self) -> float:
        """`sum_i tau_i S_ii - 2 mu'nu - log|Sigma| - n`."""
        xp = namespace(self.X)
        mu, tau = self.latent_mean, self.site_precision
        fit = xp.sum(tau * (self.latent_cov.diagonal() + mu**2)) - 2.0 * xp.sum(
            mu * self.site_shift
        )
        return float(fit) - self.log_det - int(mu.shape[0])
