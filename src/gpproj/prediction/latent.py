"""One Gaussian process given the data: what it predicts of the latent function at new points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood
from gpproj.linalg import (
    Array,
    Host,
    cholesky,
    in_lapack_order,
    inverse_root,
    like,
    namespace,
    transpose,
)
from gpproj.prediction.responses import Prediction
from gpproj.prediction.tiles import by_tiles, near, squared_norms, weighted


class Gradients(NamedTuple):
    """Derivatives of a prediction in the inputs of each new point."""

    mean: Array
    """`(m, d)`."""
    variance: Array
    """`(m, d)`."""


@dataclass(frozen=True, eq=False)
class LatentPredictor:
    """A Gaussian process conditioned on Gaussian sites, on the model's scale.

    mean = k(x*, X) b,   variance = k(x*, x*) + extra - k(x*, X) R k(X, x*),   R = root' root.

    Parameters
    ----------
    kernel : Kernel
        Structure of the covariance function.
    log_parameters : array `(p,)`
        Its values.
    mask : bool array `(d,)`
        Inputs that are in.
    X : array `(n, d)`
        Training inputs.
    coefficients : array `(n,)`
        The vector b.
    root : array `(n, n)` or None
        None where it follows from the precision: it takes far more room than all else.
    extra : float
        Variance that is independent between points: the nugget, and in submodels the extra
        variance.
    precision : array `(n,)`, optional
        The sites' tau, of a process that was seen at X itself.
    """

    kernel: Kernel
    log_parameters: Host
    mask: NDArray[np.bool_]
    X: Array
    coefficients: Array
    root: Array | None
    extra: float
    precision: Array | None = None

    @cached_property
    def whitener(self) -> Array:
        """The root, `(n, n)`, given or computed when it is asked for first.

        With B = I + tau^1/2 K tau^1/2 = L L', K the prior with its extra variance: R = root' root
        and root = L^-1 tau^1/2.
        """
        if self.root is not None:
            return self.root
        assert self.precision is not None  # one of them is there
        tau, theta, mask = self.precision, self.log_parameters[None, :], self.mask[None, :]
        smooth = self.kernel.evaluate(theta, self.X, mask).value
        scale = np.sqrt(tau)
        outer = in_lapack_order(np.outer(scale, scale)[None, :, :])
        factor = cholesky(smooth, (1.0 + self.extra * tau)[None, :], outer)
        if factor.failed[0]:
            raise np.linalg.LinAlgError("the covariance of a submodel is not positive definite")
        root: Array = inverse_root(factor, overwrite=True)[0, :, :]
        root *= scale
        return root

    def __call__(self, X_new: Array) -> Prediction:
        """Predict the latent function at `X_new`, `(m, d)`, each row by itself to the last bit."""
        return Prediction(*by_tiles(self._predict, X_new))

    def mean(self, X_new: Array) -> Array:
        """Predict its mean alone, `(m,)`: far cheaper than with the variance."""
        return by_tiles(self._mean, X_new)[0]

    def joint(self, X_new: Array) -> tuple[Array, Array]:
        """Predict mean `(m,)` and covariance `(m, m)` at rows together.

        With k = k(X, x*): covariance = k(x*, x*) + extra I - k' R k.
        """
        mean, reduced = by_tiles(self._reduced, X_new)
        theta, mask = self.log_parameters[None, :], self.mask[None, :]
        prior = self.kernel.evaluate(theta, near(X_new), mask).value[0, :, :]
        identity = like(np.eye(int(X_new.shape[0])), prior)
        return mean, prior + self.extra * identity - reduced @ reduced.T

    def _reduced(self, X_new: Array) -> tuple[Array, Array]:
        k = self._cross(X_new)
        return weighted(k, self.coefficients), k @ self.whitener.T

    def gradients(self, X_new: Array) -> Gradients:
        """Return the derivatives of mean and variance in the inputs of `X_new`, `(m, d)` each.

        dmean = dk(x*, X) b,   dvariance = dk(x*, x*) - 2 dk(x*, X) R k(X, x*).
        """
        return Gradients(*by_tiles(self._differentiate, X_new))

    def _cross(self, X_new: Array) -> Array:
        """Return `k(X_new, X)`, `(m, n)`; distances are centred on the second, training rows."""
        theta, mask = self.log_parameters[None, :], self.mask[None, :]
        return self.kernel.cross(theta, X_new, self.X, mask)[0, :, :]

    def _mean(self, X_new: Array) -> tuple[Array]:
        return (weighted(self._cross(X_new), self.coefficients),)

    def _predict(self, X_new: Array) -> tuple[Array, Array]:
        xp = namespace(self.X)
        theta, mask = self.log_parameters[None, :], self.mask[None, :]
        k = self._cross(X_new)
        prior = self.kernel.diagonal(theta, X_new, mask)[0, :]
        variance = prior + self.extra - squared_norms(k, self.whitener)
        # Rounding may leave a hair below zero where the function is known.
        return weighted(k, self.coefficients), xp.maximum(variance, xp.zeros_like(variance))

    def _differentiate(self, X_new: Array) -> tuple[Array, Array]:
        theta, mask = self.log_parameters[None, :], self.mask[None, :]
        k = transpose(self._cross(X_new))

        def pulled(weights: Array) -> Array:
            weights = weights[None, :, :]
            return self.kernel.cross_gradient(theta, self.X, X_new, mask, weights)[0, :, :]

        root = self.whitener
        coefficients = namespace(k).broadcast_to(self.coefficients[:, None], k.shape)
        prior = self.kernel.diagonal_gradient(theta, X_new, mask)[0, :, :]
        return pulled(coefficients), prior - 2.0 * pulled(root.T @ (root @ k))


class Component(NamedTuple):
    """One Gaussian process of a mixture, on the model's scale."""

    weight: float
    predictor: LatentPredictor
    likelihood: Likelihood
