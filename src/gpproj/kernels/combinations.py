"""Sums and products of kernels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpproj.kernels.base import Evaluation, Kernel, Mask, Parameter
from gpproj.kernels.constant import Zero
from gpproj.linalg import Array, Host, namespace


@dataclass(frozen=True, eq=False, repr=False)
class _Pair(Kernel):
    """Two kernels over the same inputs; the parameters of the left one come first."""

    left: Kernel
    right: Kernel

    def parameters(self, d: int) -> tuple[Parameter, ...]:
        """Return the parameters of both kernels."""
        return self.left.parameters(d) + self.right.parameters(d)

    def log_parameters(self, d: int) -> Host:
        """Return the log parameters of both kernels, `(p,)`."""
        return np.concatenate([self.left.log_parameters(d), self.right.log_parameters(d)])

    def with_log_parameters(self, log_parameters: Host, d: int) -> Kernel:
        """Return the same pair with other values."""
        left, right = self._split(log_parameters, d)
        return type(self)(
            self.left.with_log_parameters(left, d), self.right.with_log_parameters(right, d)
        )

    def _split(self, log_parameters: Host, d: int) -> tuple[Host, Host]:
        split = len(self.left.parameters(d))
        return log_parameters[..., :split], log_parameters[..., split:]

    def restricted(self, positions: Sequence[int], d: int) -> Kernel:
        """Return the pair on some of the inputs."""
        return type(self)(self.left.restricted(positions, d), self.right.restricted(positions, d))

    @abstractmethod
    def _combine(self, left: Evaluation, right: Evaluation) -> Evaluation:
        """Return the evaluation of the pair from those of its kernels."""

    def evaluate(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate at `X`, `(n, d)`."""
        left, right = self._split(log_parameters, int(X.shape[-1]))
        return self._combine(self.left.evaluate(left, X, mask), self.right.evaluate(right, X, mask))

    def evaluate_cross(self, log_parameters: Host, X: Array, Z: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(X, Z)`, `(b, n, m)`."""
        left, right = self._split(log_parameters, int(X.shape[-1]))
        return self._combine(
            self.left.evaluate_cross(left, X, Z, mask),
            self.right.evaluate_cross(right, X, Z, mask),
        )

    def evaluate_diagonal(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(x_i, x_i)`, `(b, n)`."""
        left, right = self._split(log_parameters, int(X.shape[-1]))
        return self._combine(
            self.left.evaluate_diagonal(left, X, mask),
            self.right.evaluate_diagonal(right, X, mask),
        )

    def _key(self) -> tuple[Any, ...]:
        return (self.left, self.right)


class Sum(_Pair):
    """`k = left + right`: the sum of two independent functions."""

    def scaled(self, factor: float) -> Sum:
        """Return `factor k`."""
        return Sum(self.left.scaled(factor), self.right.scaled(factor))

    def without_inputs(self) -> Kernel:
        """Return the sum of what is left of both."""
        left, right = self.left.without_inputs(), self.right.without_inputs()
        if isinstance(left, Zero):
            return right
        return left if isinstance(right, Zero) else Sum(left, right)

    def cross_gradient(
        self, log_parameters: Host, X: Array, X_new: Array, mask: Mask, weights: Array
    ) -> Array:
        """Return the sum of the contracted gradients, `(b, m, d)`."""
        left, right = self._split(log_parameters, int(X.shape[1]))
        return self.left.cross_gradient(left, X, X_new, mask, weights) + self.right.cross_gradient(
            right, X, X_new, mask, weights
        )

    def diagonal_gradient(self, log_parameters: Host, X: Array, mask: Mask) -> Array:
        """Return the sum of the gradients, `(b, n, d)`."""
        left, right = self._split(log_parameters, int(X.shape[1]))
        return self.left.diagonal_gradient(left, X, mask) + self.right.diagonal_gradient(
            right, X, mask
        )

    def _combine(self, left: Evaluation, right: Evaluation) -> Evaluation:
        return _SumEvaluation(left, right, left.addend + right.value)

    def __repr__(self) -> str:
        return f"{self.left!r} + {self.right!r}"


class Product(_Pair):
    """`k = left * right`."""

    def scaled(self, factor: float) -> Product:
        """Return `factor k`."""
        return Product(self.left.scaled(factor), self.right)

    def without_inputs(self) -> Kernel:
        """Return the product of what is left of both: nothing, if either is gone."""
        left, right = self.left.without_inputs(), self.right.without_inputs()
        return Zero() if isinstance(left, Zero) or isinstance(right, Zero) else Product(left, right)

    def cross_gradient(
        self, log_parameters: Host, X: Array, X_new: Array, mask: Mask, weights: Array
    ) -> Array:
        """Return the contracted gradient by the product rule, `(b, m, d)`."""
        left, right = self._split(log_parameters, int(X.shape[1]))
        by_right = weights * self.right.cross(right, X, X_new, mask)
        by_left = weights * self.left.cross(left, X, X_new, mask)
        return self.left.cross_gradient(left, X, X_new, mask, by_right) + self.right.cross_gradient(
            right, X, X_new, mask, by_left
        )

    def diagonal_gradient(self, log_parameters: Host, X: Array, mask: Mask) -> Array:
        """Return the gradient by the product rule, `(b, n, d)`."""
        left, right = self._split(log_parameters, int(X.shape[1]))
        by_right = self.right.diagonal(right, X, mask)[:, :, None]
        by_left = self.left.diagonal(left, X, mask)[:, :, None]
        return (
            self.left.diagonal_gradient(left, X, mask) * by_right
            + self.right.diagonal_gradient(right, X, mask) * by_left
        )

    def _combine(self, left: Evaluation, right: Evaluation) -> Evaluation:
        return _ProductEvaluation(left, right, left.value * right.value)

    def __repr__(self) -> str:
        parts = (f"({part!r})" if isinstance(part, Sum) else repr(part) for part in self._key())
        return " * ".join(parts)


class _PairEvaluation(Evaluation):
    def __init__(self, left: Evaluation, right: Evaluation, value: Array) -> None:
        self._left, self._right, self.value = left, right, value


class _SumEvaluation(_PairEvaluation):
    def pull_back(self, G: Array) -> Array:
        return namespace(G).concat([self._left.pull_back(G), self._right.pull_back(G)], axis=1)

    def slopes(self, G: Array) -> Array:
        return self._left.slopes(G) + self._right.slopes(G)


class _ProductEvaluation(_PairEvaluation):
    def pull_back(self, G: Array) -> Array:
        # d(k1 k2) = dk1 k2 + k1 dk2
        return namespace(G).concat(
            [
                self._left.pull_back(G * self._right.value),
                self._right.pull_back(G * self._left.value),
            ],
            axis=1,
        )

    def slopes(self, G: Array) -> Array:
        return self._left.slopes(G * self._right.value) + self._right.slopes(G * self._left.value)
