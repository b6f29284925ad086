"""A constant function with a Gaussian prior on its level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpproj.data import positive
from gpproj.kernels.base import Evaluation, Kernel, Mask, Parameter, no_gradient, show
from gpproj.kernels.kinds import CONSTANT
from gpproj.linalg import Array, Host, exponential, like, namespace


class Constant(Kernel):
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

    def restricted(self, positions: Sequence[int], d: int) -> Constant:
        """Return the constant itself."""
        return self

    def without_inputs(self) -> Constant:
        """Return the constant itself."""
        return self

    def evaluate(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate at `X`, `(n, d)`."""
        return self.evaluate_cross(log_parameters, X, X, mask)

    def evaluate_cross(self, log_parameters: Host, X: Array, Z: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(X, Z)`, one number spread over each lane."""
        shape = (int(X.shape[-2]), int(Z.shape[-2]))
        return _ConstantEvaluation(_variances(log_parameters, X), shape, int(X.shape[-1]))

    def evaluate_diagonal(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(x_i, x_i)`."""
        shape = (int(X.shape[-2]),)
        return _ConstantEvaluation(_variances(log_parameters, X), shape, int(X.shape[-1]))

    def cross_gradient(
        self, log_parameters: Host, X: Array, X_new: Array, mask: Mask, weights: Array
    ) -> Array:
        """Return zeros, `(b, m, d)`."""
        return no_gradient(log_parameters, X_new)

    def diagonal_gradient(self, log_parameters: Host, X: Array, mask: Mask) -> Array:
        """Return zeros, `(b, n, d)`."""
        return no_gradient(log_parameters, X)

    def _key(self) -> tuple[Any, ...]:
        return (self._variance,)

    def __repr__(self) -> str:
        return f"Constant(variance={show(self._variance)})"


def _variances(log_parameters: Host, X: Array) -> Array:
    """Return the variance of every lane, `(b,)`."""
    return like(exponential(log_parameters[:, 0]), X)


class _ConstantEvaluation(Evaluation):
    def __init__(self, variance: Array, shape: tuple[int, ...], d: int) -> None:
        self._variance = variance
        self._shape, self._d = shape, d

    @property
    def value(self) -> Array:
        shape = (self._variance.shape[0], *self._shape)
        return namespace(self._variance).broadcast_to(self.addend, shape)

    @property
    def addend(self) -> Array:
        return namespace(self._variance).reshape(self._variance, (-1, *(1 for _ in self._shape)))

    def pull_back(self, G: Array) -> Array:
        total = namespace(G).sum(G, axis=tuple(range(1, G.ndim)))
        return (self._variance * total)[:, None]

    def slopes(self, G: Array) -> Array:
        return namespace(G).zeros((G.shape[0], self._d), dtype=G.dtype, device=G.device)
