"""Functions that do not depend on the inputs: a constant with a Gaussian prior, and zero."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from gpproj.data import positive
from gpproj.kernels.base import Evaluation, Kernel, Mask, Parameter, no_gradient, show
from gpproj.kernels.kinds import CONSTANT
from gpproj.linalg import Array, Host, exponential, like, namespace


class _WithoutInputs(Kernel):
    """`k(x, x')` is the same for all points."""

    @abstractmethod
    def _variances(self, log_parameters: Host) -> Array:
        """Return the variance of every lane, `(b,)`."""

    def restricted(self, positions: Sequence[int], d: int) -> Self:
        """Return the kernel itself."""
        return self

    def without_inputs(self) -> Self:
        """Return the kernel itself."""
        return self

    def evaluate(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate at `X`, `(n, d)`."""
        return self.evaluate_cross(log_parameters, X, X, mask)

    def evaluate_cross(self, log_parameters: Host, X: Array, Z: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(X, Z)`, one number spread over each lane."""
        shape = (int(X.shape[-2]), int(Z.shape[-2]))
        variances, d = like(self._variances(log_parameters), X), int(X.shape[-1])
        return ConstantEvaluation(variances, shape, log_parameters.shape[1], d)

    def evaluate_diagonal(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(x_i, x_i)`, `(b, n)`."""
        variances, d = like(self._variances(log_parameters), X), int(X.shape[-1])
        return ConstantEvaluation(variances, (int(X.shape[-2]),), log_parameters.shape[1], d)

    def cross_gradient(
        self, log_parameters: Host, X: Array, X_new: Array, mask: Mask, weights: Array
    ) -> Array:
        """Return zeros, `(b, m, d)`."""
        return no_gradient(log_parameters, X_new)

    def diagonal_gradient(self, log_parameters: Host, X: Array, mask: Mask) -> Array:
        """Return zeros, `(b, n, d)`."""
        return no_gradient(log_parameters, X)


class Constant(_WithoutInputs):
    """`k(x, x') = variance`.

    Parameters
    ----------
    variance : float
        Prior variance of the constant.

    Examples
    --------
    >>> from gpproj.kernels import Constant
    >>> Constant(2.0)([[0.0], [1.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    def __init__(self, variance: float = 1.0) -> None:
        self._variance = positive("variance", variance)

    @property
    def variance(self) -> float:
        """Prior variance of the constant."""
        return self._variance

    def parameters(self, d: int) -> tuple[Parameter, ...]:
        """Return the one parameter."""
        return (Parameter(CONSTANT, None),)

    def log_parameters(self, d: int) -> Host:
        """Return `log variance`, `(1,)`."""
        return np.log([self._variance])

    def with_log_parameters(self, log_parameters: Host, d: int) -> Constant:
        """Return the constant with another variance."""
        return Constant(float(np.exp(log_parameters[0])))

    def scaled(self, factor: float) -> Constant:
        """Return `factor k`."""
        return Constant(self._variance * factor)

    def _variances(self, log_parameters: Host) -> Array:
        return exponential(log_parameters[:, 0])

    def _key(self) -> tuple[Any, ...]:
        return (self._variance,)

    def __repr__(self) -> str:
        return f"Constant(variance={show(self._variance)})"


class Zero(_WithoutInputs):
    """`k(x, x') = 0`: what is left of a kernel when nothing is. It has no parameters.

    Examples
    --------
    >>> from gpproj.kernels import SquaredExponential
    >>> SquaredExponential(2.0, lengthscales=1.0).without_inputs()
    Zero()
    """

    def parameters(self, d: int) -> tuple[Parameter, ...]:
        """Return no parameters."""
        return ()

    def log_parameters(self, d: int) -> Host:
        """Return an empty vector."""
        return np.zeros(0)

    def with_log_parameters(self, log_parameters: Host, d: int) -> Zero:
        """Return the same kernel."""
        return self

    def scaled(self, factor: float) -> Zero:
        """Return the same kernel."""
        return self

    def _variances(self, log_parameters: Host) -> Array:
        return np.zeros(log_parameters.shape[0])

    def _key(self) -> tuple[Any, ...]:
        return ()

    def __repr__(self) -> str:
        return "Zero()"


class ConstantEvaluation(Evaluation):
    """One variance for each lane, spread over all points.

    Parameters
    ----------
    variance : array `(b,)`
    shape : tuple of int
        Shape of the covariances of one lane.
    count : int
        Number of log parameters, of which the variance is the first, if there are any. The value
        does not depend on the others.
    d : int
        Number of inputs.
    """

    def __init__(self, variance: Array, shape: tuple[int, ...], count: int, d: int) -> None:
        self._variance, self._shape = variance, shape
        self._count, self._d = count, d

    @property
    def value(self) -> Array:
        """The covariances, `(b, *shape)`."""
        shape = (self._variance.shape[0], *self._shape)
        return namespace(self._variance).broadcast_to(self.addend, shape)

    @property
    def addend(self) -> Array:
        """The variances, which broadcast to the value."""
        return namespace(self._variance).reshape(self._variance, (-1, *(1 for _ in self._shape)))

    def pull_back(self, G: Array) -> Array:
        """Return the gradient in the log parameters, `(b, count)`."""
        total = namespace(G).sum(G, axis=tuple(range(1, G.ndim)))
        gradient = (self._variance * total)[:, None]
        if self._count == 1:
            return gradient
        others = self._zeros(G, max(self._count - 1, 0))
        return namespace(G).concat([gradient, others], axis=1)[:, : self._count]

    def slopes(self, G: Array) -> Array:
        """Return zeros, `(b, d)`."""
        return self._zeros(G, self._d)

    @staticmethod
    def _zeros(G: Array, columns: int) -> Array:
        return namespace(G).zeros((G.shape[0], columns), dtype=G.dtype, device=G.device)
