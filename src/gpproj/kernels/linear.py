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
    by_lane,
    for_each_input,
    own,
    positive_per_input,
    show,
)
from gpproj.kernels.constant import Zero
from gpproj.kernels.kinds import SLOPE
from gpproj.linalg import (
    Array,
    Host,
    exponential,
    is_numpy,
    like,
    masked,
    namespace,
    transpose,
)


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
        return (
            np.asarray(self._variances) if isinstance(self._variances, tuple) else self._variances
        )

    def parameters(self, d: int) -> tuple[Parameter, ...]:
        """Return one parameter for each input."""
        return tuple(Parameter(SLOPE, j) for j in range(d))

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
        return self.evaluate_cross(log_parameters, X, X, mask)

    def evaluate_cross(self, log_parameters: Host, X: Array, Z: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(X, Z)`, `(b, n, m)`."""
        return _LinearEvaluation(log_parameters, by_lane(X), by_lane(Z), mask)

    def evaluate_diagonal(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(x_i, x_i)`, `(b, n)`."""
        return _DiagonalEvaluation(log_parameters, by_lane(X), mask)

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
    return like(masked(mask, exponential(log_parameters))[:, None, :], X)


class _SlopeEvaluation(Evaluation):
    """A linear function of the variances of the slopes, `(b, 1, d)`."""

    _weights: Array

    def pull_back(self, G: Array) -> Array:
        return self.slopes(G) * self._weights[:, 0, :]


class _LinearEvaluation(_SlopeEvaluation):
    def __init__(self, log_parameters: Host, X: Array, Z: Array, mask: Mask) -> None:
        self._X, self._Z = X, Z
        self._weights = _weights(log_parameters, X, mask)
        if is_numpy(X):
            self.value = np.empty((len(log_parameters), X.shape[1], Z.shape[1]))
            for lane, variances in enumerate(np.exp(log_parameters)):
                # Inputs that are out are really left out, as in the stationary kernels.
                columns = np.flatnonzero(mask[lane])
                left = own(X, lane)[:, columns] * variances[columns]
                np.matmul(left, own(Z, lane)[:, columns].T, out=self.value[lane])
        else:
            self.value = (X * self._weights) @ transpose(Z)

    def slopes(self, G: Array) -> Array:
        # sum_im G_im x_ij z_mj, for all inputs from the one product G Z.
        return namespace(G).sum(self._X * (G @ self._Z), axis=1)


class _DiagonalEvaluation(_SlopeEvaluation):
    def __init__(self, log_parameters: Host, X: Array, mask: Mask) -> None:
        self._squares = X * X
        self._weights = _weights(log_parameters, X, mask)
        self.value = namespace(X).sum(self._squares * self._weights, axis=-1)

    def slopes(self, G: Array) -> Array:
        return namespace(G).sum(self._squares * G[:, :, None], axis=1)
