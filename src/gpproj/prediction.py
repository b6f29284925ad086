"""From a conditioned Gaussian process to predictions at new points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Array, Host, namespace

ROWS = 1024
"""New rows handled at a time: bounds the memory of a prediction by `ROWS n` numbers."""


class Prediction(NamedTuple):
    """Mean and variance at each new point."""

    mean: Array
    """`(m,)`."""
    variance: Array
    """`(m,)`."""


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
    root : array `(n, n)`
    extra : float
        Variance that is independent between points: the nugget, and in submodels the extra
        variance.
    """

    kernel: Kernel
    log_parameters: Host
    mask: NDArray[np.bool_]
    X: Array
    coefficients: Array
    root: Array
    extra: float

    def __call__(self, X_new: Array) -> Prediction:
        """Predict the latent function at `X_new`, `(m, d)`."""
        xp = namespace(self.X)
        m = int(X_new.shape[0])
        blocks = [
            self._predict(X_new[start : min(start + ROWS, m), :]) for start in range(0, m, ROWS)
        ]
        means, variances = zip(*blocks, strict=True)
        return Prediction(xp.concat(means), xp.concat(variances))

    def _predict(self, X_new: Array) -> tuple[Array, Array]:
        xp = namespace(self.X)
        theta, mask = self.log_parameters[None, :], self.mask[None, :]
        k = self.kernel.cross(theta, self.X, X_new, mask)[0, :, :]
        prior = self.kernel.diagonal(theta, X_new, mask)[0, :]
        explained = xp.sum((self.root @ k) ** 2, axis=0)
        variance = prior + self.extra - explained
        # Rounding may leave a hair below zero where the function is known.
        return self.coefficients @ k, xp.maximum(variance, xp.zeros_like(variance))
