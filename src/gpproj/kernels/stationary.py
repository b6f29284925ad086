"""Kernels of the scaled distance, with a length-scale for each input (ARD)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpproj.data import positive
from gpproj.kernels.base import (
    Evaluation,
    Kernel,
    Mask,
    Parameter,
    for_each_input,
    no_gradient,
    positive_per_input,
    show,
)
from gpproj.kernels.constant import ConstantEvaluation, Zero
from gpproj.kernels.distances import CrossEvaluation, SquareEvaluation, exponent, rates_of
from gpproj.kernels.kinds import LENGTHSCALE, SIGNAL
from gpproj.linalg import (
    Array,
    Host,
    exp_in_place,
    exponential,
    is_numpy,
    like,
    namespace,
    transpose,
)


class Stationary(Kernel):
    """`k(x, x') = variance s(q)` with `q = -1/2 sum_j (x_j - x'_j)^2 / lengthscale_j^2`.

    A subclass says what the profile `s` and its derivative `ds/dq` are; both are finite at `q = 0`,
    where the kernels are smooth.

    Parameters
    ----------
    variance : float
        Prior variance of the function.
    lengthscales : float or sequence of float
        One number gives every input that value to start with; each input still has its own.
    """

    def __init__(self, variance: float = 1.0, lengthscales: Any = 1.0) -> None:
        self._variance = positive("variance", variance)
        self._lengthscales = positive_per_input("lengthscales", lengthscales)

    @staticmethod
    @abstractmethod
    def profile(q: Array) -> tuple[Array, Array]:
        """Return `s(q)` and `ds/dq`, `(b, n, m)`; may overwrite `q` and return one array twice."""

    @property
    def variance(self) -> float:
        """Prior variance of the function."""
        return self._variance

    @property
    def lengthscales(self) -> float | Host:
        """Length-scale of each input."""
        return (
            np.asarray(self._lengthscales)
            if isinstance(self._lengthscales, tuple)
            else self._lengthscales
        )

    def parameters(self, d: int) -> tuple[Parameter, ...]:
        """Return the signal variance and `d` length-scales."""
        scales = tuple(Parameter(LENGTHSCALE, j) for j in range(d))
        return (Parameter(SIGNAL, None), *scales)

    def log_parameters(self, d: int) -> Host:
        """Return `log variance` and `log lengthscales`, `(1 + d,)`."""
        scales = for_each_input("lengthscales", self._lengthscales, d)
        values: Host = np.concatenate([[self._variance], scales])
        return np.log(values)

    def with_log_parameters(self, log_parameters: Host, d: int) -> Stationary:
        """Return the kernel with another variance and other length-scales."""
        values = np.exp(log_parameters)
        return type(self)(values[0], values[1:] if d else 1.0)

    def scaled(self, factor: float) -> Stationary:
        """Return `factor k`."""
        return type(self)(self._variance * factor, self._lengthscales)

    def restricted(self, positions: Sequence[int], d: int) -> Stationary:
        """Return the kernel of some inputs; of none, it is a constant."""
        values = for_each_input("lengthscales", self._lengthscales, d)[list(positions)]
        return type(self)(self._variance, values if len(positions) else 1.0)

    def without_inputs(self) -> Kernel:
        """Return nothing: the function is gone with its inputs."""
        return Zero()

    def evaluate(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate at `X`, `(n, d)`."""
        return SquareEvaluation(self.profile, log_parameters, X, mask)

    def evaluate_cross(self, log_parameters: Host, X: Array, Z: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(X, Z)`, `(b, n, m)`."""
        return CrossEvaluation(self.profile, log_parameters, X, Z, mask)

    def evaluate_diagonal(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(x_i, x_i)`, `(b, n)`: the variance."""
        variance, d = like(exponential(log_parameters[:, 0]), X), int(X.shape[-1])
        return ConstantEvaluation(variance, (int(X.shape[-2]),), log_parameters.shape[1], d)

    def cross_gradient(
        self, log_parameters: Host, X: Array, X_new: Array, mask: Mask, weights: Array
    ) -> Array:
        """Return `sum_i weights_im dk(x_i, x_m) / dx_mj`, `(b, m, d)`.

        dq/dx_mj = (x_ij - x_mj) / lengthscale_j^2, so that with W = weights dk/dq all inputs come
        from the one product W'X.
        """
        xp = namespace(X)
        centre, rates = xp.mean(X, axis=0), rates_of(log_parameters, mask)
        X, X_new = X - centre, X_new - centre
        _, derivative = self.profile(exponent(rates, X, X_new))
        W = weights * derivative * like(exponential(log_parameters[:, :1, None]), X)
        sums = xp.sum(W, axis=1)[:, :, None]
        if not is_numpy(X):
            return (transpose(W) @ X - sums * X_new[None, :, :]) * like(rates[:, None, :] ** 2, X)
        value = np.zeros((rates.shape[0], *X_new.shape))
        for lane, rate in enumerate(rates):
            columns = np.flatnonzero(rate)
            pulled = W[lane].T @ X[:, columns] - sums[lane] * X_new[:, columns]
            value[lane][:, columns] = pulled * rate[columns] ** 2
        return value

    def diagonal_gradient(self, log_parameters: Host, X: Array, mask: Mask) -> Array:
        """Return zeros, `(b, n, d)`: the variance is the same everywhere."""
        return no_gradient(log_parameters, X)

    def _key(self) -> tuple[Any, ...]:
        return (self._variance, self._lengthscales)

    def __repr__(self) -> str:
        values = f"variance={show(self._variance)}, lengthscales={show(self._lengthscales)}"
        return f"{type(self).__name__}({values})"


class SquaredExponential(Stationary):
    """`k = variance exp(-r^2 / 2)`, the paper's kernel: very smooth functions.

    Examples
    --------
    >>> from gpproj.kernels import SquaredExponential
    >>> SquaredExponential(1.0, lengthscales=[1.0, 2.0])([[0.0, 0.0], [1.0, 0.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    @staticmethod
    def profile(q: Array) -> tuple[Array, Array]:
        """Return `exp(q)`, its own derivative."""
        shape = exp_in_place(q)
        return shape, shape


class Matern32(Stationary):
    """`k = variance (1 + a) exp(-a)` with `a = sqrt(3) r`: once differentiable functions.

    Examples
    --------
    >>> from gpproj.kernels import Matern32
    >>> Matern32(1.0, lengthscales=1.0)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.4834],
           [0.4834, 1.    ]])
    """

    @staticmethod
    def profile(q: Array) -> tuple[Array, Array]:
        """Return the shape and `ds/dq = 3 exp(-a)`."""
        a = _root(q, 6.0)
        decay = namespace(q).exp(-a)
        return (1.0 + a) * decay, 3.0 * decay


class Matern52(Stationary):
    """`k = variance (1 + a + a^2/3) exp(-a)` with `a = sqrt(5) r`: twice differentiable functions.

    Examples
    --------
    >>> from gpproj.kernels import Matern52
    >>> Matern52(1.0, lengthscales=1.0)([[0.0], [1.0]]).round(4)
    array([[1.   , 0.524],
           [0.524, 1.   ]])
    """

    @staticmethod
    def profile(q: Array) -> tuple[Array, Array]:
        """Return the shape and `ds/dq = 5/3 (1 + a) exp(-a)`."""
        a = _root(q, 10.0)
        decay = namespace(q).exp(-a)
        return (1.0 + a + a**2 / 3.0) * decay, 5.0 / 3.0 * (1.0 + a) * decay


def _root(q: Array, factor: float) -> Array:
    """Return `sqrt(-factor q)`; rounding may leave `q` a hair above zero for equal points."""
    xp = namespace(q)
    return xp.sqrt(factor * xp.maximum(-q, xp.zeros_like(q)))
