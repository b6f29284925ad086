"""The function that is zero everywhere: what is left of a kernel when nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpproj.kernels.base import Evaluation, Kernel, Mask, Parameter, no_gradient
from gpproj.linalg import Array, Host, namespace


class Zero(Kernel):
    """`k(x, x') = 0`: no function at all, and no parameters.

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

    def restricted(self, positions: Sequence[int], d: int) -> Zero:
        """Return the same kernel."""
        return self

    def without_inputs(self) -> Zero:
        """Return the same kernel."""
        return self

    def evaluate(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate at `X`, `(n, d)`."""
        return self.evaluate_cross(log_parameters, X, X, mask)

    def evaluate_cross(self, log_parameters: Host, X: Array, Z: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(X, Z)`: zeros."""
        return _ZeroEvaluation((log_parameters.shape[0], X.shape[-2], Z.shape[-2]), X)

    def evaluate_diagonal(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(x_i, x_i)`: zeros."""
        return _ZeroEvaluation((log_parameters.shape[0], X.shape[-2]), X)

    def cross_gradient(
        self, log_parameters: Host, X: Array, X_new: Array, mask: Mask, weights: Array
    ) -> Array:
        """Return zeros, `(b, m, d)`."""
        return no_gradient(log_parameters, X_new)

    def diagonal_gradient(self, log_parameters: Host, X: Array, mask: Mask) -> Array:
        """Return zeros, `(b, n, d)`."""
        return no_gradient(log_parameters, X)

    def _key(self) -> tuple[Any, ...]:
        return ()

    def __repr__(self) -> str:
        return "Zero()"


class _ZeroEvaluation(Evaluation):
    def __init__(self, shape: tuple[int, ...], X: Array) -> None:
        self.value = namespace(X).zeros(shape, dtype=X.dtype, device=X.device)
        self._d = int(X.shape[-1])

    def pull_back(self, G: Array) -> Array:
        return namespace(G).zeros((G.shape[0], 0), dtype=G.dtype, device=G.device)

    def slopes(self, G: Array) -> Array:
        return namespace(G).zeros((G.shape[0], self._d), dtype=G.dtype, device=G.device)
