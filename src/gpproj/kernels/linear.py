"""Linear functions with a Gaussian prior on each slope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpproj.kernels.base import (
    Evaluation,
    Kernel,
    Mask,
    Parameter,
    for_each_input,
    positive_per_input,
    show,
)
from gpproj.kernels.zero import Zero
from gpproj.linalg import Array, Host, is_numpy, like, namespace, transpose


class Linear(Kernel):
    """`k(x, x') = sum_j variances_j x_j x'_j`.

    Parameters
    ----------
    variances : float or sequence of float
        Prior variance of each slope; one number gives every input that value.

    Examples
    --------
    >>> from gpproj.kernels import Linear
    >>> Linear([1.0, 0.5])([[1.0, 2.0], [0.0, 1.0]])
    array([[3. , 1. ],
           [1. , 0.5]])
    """

    def __init__(self, variances: Any = 1.0) -> None:
        self._variances = positive_per_input("variances", variances)

    @property
    def variances(self) -> float | Host:
        """Prior variance of each slope."""
        held = self._variances
        return np.asarray(held) if isinstance(held, tuple) else held

    def parameters(self, d: int) -> tuple[Parameter, ...]:
        """Return one parameter for each input."""
        return tuple(Parameter("slope_variance", "slope", j) for j in range(d))

    def log_parameters(self, d: int) -> Host:
        """Return `log variances`, `(d,)`."""
        return np.log(for_each_input("variances", self._variances, d))

    def with_log_parameters(self, log_parameters: Host, d: int) -> Linear:
        """Return the kernel with other variances."""
        return Linear(np.exp(log_parameters))

    def scaled(self, factor: float) -> Linear:
        """Return `factor k`."""
        return Linear(np.asarray(self._variances) * factor)

    def restricted(self, positions: Sequence[int], d: int) -> Kernel:
        """Return the kernel of some inputs."""
        values = for_each_input("variances", self._variances, d)[list(positions)]
        return Linear(values) if len(positions) else Zero()

    def without_inputs(self) -> Kernel:
        """Return nothing: the function is gone with its inputs."""
        return Zero()

    def evaluate(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate at `X`, `(n, d)`."""
        return _LinearEvaluation(self, log_parameters, X, mask)

    def cross(self, log_parameters: Host, X: Array, X_new: Array, mask: Mask) -> Array:
        """Return `k(X, X_new)`, `(b, n, m)`."""
        if not is_numpy(X):
            return (X[None, :, :] * _weights(log_parameters, X, mask)) @ X_new.T
        value = np.empty((log_parameters.shape[0], X.shape[0], X_new.shape[0]))
        for lane, variances in enumerate(np.exp(log_parameters)):
            # Inputs that are out are really left out, as in the stationary kernels.
            columns = np.flatnonzero(mask[lane])
            Z = X[:, columns] * variances[columns]
            np.matmul(Z, X_new[:, columns].T, out=value[lane])
        return value

    def diagonal(self, log_parameters: Host, X: Array, mask: Mask) -> Array:
        """Return `k(x_i, x_i)`, `(b, n)`."""
        return namespace(X).sum((X * X)[None, :, :] * _weights(log_parameters, X, mask), axis=-1)

    def cross_gradient(
        self, log_parameters: Host, X: Array, X_new: Array, mask: Mask, weights: Array
    ) -> Array:
        """Return `variances_j sum_i weights_im x_ij`, `(b, m, d)`."""
        if not is_numpy(X):
            return (transpose(weights) @ X) * _weights(log_parameters, X, mask)
        value = np.zeros((log_parameters.shape[0], *X_new.shape))
        for lane, variances in enumerate(np.exp(log_parameters)):
            columns = np.flatnonzero(mask[lane])
            value[lane][:, columns] = weights[lane].T @ (X[:, columns] * variances[columns])
        return value

    def diagonal_gradient(self, log_parameters: Host, X: Array, mask: Mask) -> Array:
        """Return `2 variances_j x_ij`, `(b, n, d)`."""
        return 2.0 * X[None, :, :] * _weights(log_parameters, X, mask)

    def _key(self) -> tuple[Any, ...]:
        return (self._variances,)

    def __repr__(self) -> str:
        return f"Linear(variances={show(self._variances)})"


def _weights(log_parameters: Host, X: Array, mask: Mask) -> Array:
    """Return the variances of the slopes, `(b, 1, d)`, zero for inputs that are out."""
    return like(np.where(mask, np.exp(log_parameters), 0.0)[:, None, :], X)


class _LinearEvaluation(Evaluation):
    def __init__(self, kernel: Linear, log_parameters: Host, X: Array, mask: Mask) -> None:
        self.value = kernel.cross(log_parameters, X, X, mask)
        self._X = X
        self._weights = _weights(log_parameters, X, mask)

    def pull_back(self, G: Array) -> Array:
        return self.slopes(G) * self._weights[:, 0, :]

    def slopes(self, G: Array) -> Array:
        # sum_ij G_ij x_ij x_i'j = x_j' G x_j, for all inputs from the one product G X.
        return namespace(G).sum(self._X[None, :, :] * (G @ self._X), axis=1)
