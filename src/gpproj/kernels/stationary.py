"""Kernels of the scaled distance, with a length-scale for each input (ARD)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.data import positive
from gpproj.kernels.base import (
    Evaluation,
    Kernel,
    Mask,
    Parameter,
    by_lane,
    for_each_input,
    no_gradient,
    own,
    positive_per_input,
    show,
)
from gpproj.kernels.kinds import LENGTHSCALE, SIGNAL
from gpproj.kernels.zero import Zero
from gpproj.linalg import (
    Array,
    Host,
    exp_in_place,
    exponential,
    is_numpy,
    like,
    masked,
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
        held = self._lengthscales
        return np.asarray(held) if isinstance(held, tuple) else held

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
        return _StationaryEvaluation(self, log_parameters, X, mask)

    def evaluate_cross(self, log_parameters: Host, X: Array, Z: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(X, Z)`, `(b, n, m)`."""
        return _CrossEvaluation(self, log_parameters, by_lane(X), by_lane(Z), mask, X is Z)

    def evaluate_diagonal(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(x_i, x_i)`, `(b, n)`: the variance."""
        return _DiagonalEvaluation(log_parameters, X)

    def cross_gradient(
        self, log_parameters: Host, X: Array, X_new: Array, mask: Mask, weights: Array
    ) -> Array:
        """Return `sum_i weights_im dk(x_i, x_m) / dx_mj`, `(b, m, d)`.

        dq/dx_mj = (x_ij - x_mj) / lengthscale_j^2, so that with W = weights dk/dq all inputs come
        from the one product W'X.
        """
        xp = namespace(X)
        centre, rates = xp.mean(X, axis=0), _rates(log_parameters, mask)
        X, X_new = X - centre, X_new - centre
        _, derivative = self.profile(_exponent(rates, X, X_new))
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


def _rates(log_parameters: Host, mask: Mask) -> Array:
    """Return the inverse length-scales, `(b, d)`, zero for inputs that are out."""
    return masked(mask, exponential(-log_parameters[:, 1:]))


def _exponent(rates: Host, X: Array, Z: Array) -> Array:
    """Return `q = -r^2 / 2` of scaled distances, `(b, n, m)`; the points are centred."""
    X, Z = by_lane(X), by_lane(Z)
    if is_numpy(X):
        q = np.empty((rates.shape[0], X.shape[1], Z.shape[1]))
        for lane, (rate, mine) in enumerate(zip(rates, q, strict=True)):
            # Inputs that are out are really left out: exact, and cheap when few are in.
            columns = rate.nonzero()[0]
            rate = rate[columns]
            _write_exponent(own(X, lane)[:, columns] * rate, own(Z, lane)[:, columns] * rate, mine)
        return q
    weights = like(rates[:, None, :], X)
    return _exponent_of(X * weights, Z * weights)


def _own_exponent(rates: Host, X: Array) -> Array:
    """Return the same for one set of points, `(b, n, n)`."""
    Z = X[None, :, :] * like(rates[:, None, :], X)
    return _exponent_of(Z, Z)


def _exponent_of(Z: Array, Z_new: Array) -> Array:
    """Return `z'z_new - |z|^2/2 - |z_new|^2/2` for points over their length-scales.

    Centred points keep the cancellation to the last digits. The norms are two more columns, so that
    one product does it all.
    """
    xp = namespace(Z)
    norms, norms_new = (-0.5 * xp.sum(one * one, axis=-1)[:, :, None] for one in (Z, Z_new))
    left = xp.concat([Z, norms, xp.ones_like(norms)], axis=-1)
    right = xp.concat([Z_new, xp.ones_like(norms_new), norms_new], axis=-1)
    return left @ transpose(right)


def _write_exponent(Z: Host, Z_new: Host, q: Host) -> None:
    """Write the same for one lane."""
    np.matmul(Z, Z_new.T, out=q)
    half = _half_squares(Z)
    q -= half[:, None]
    q -= half if Z_new is Z else _half_squares(Z_new)


def _half_squares(Z: Host) -> Host:
    half: Host = np.einsum("ij,ij->i", Z, Z)
    half *= 0.5
    return half


class _StationaryEvaluation(Evaluation):
    def __init__(self, kernel: Stationary, log_parameters: Host, X: Array, mask: Mask) -> None:
        self._rates = _rates(log_parameters, mask)
        self._X = X
        self._inside: list[_Columns] = []
        variance = like(exponential(log_parameters[:, :1, None]), X)
        shape, derivative = kernel.profile(self._exponent())
        derivative *= variance
        if shape is not derivative:
            shape *= variance
        self.value = shape
        self._derivative = derivative  # dk/dq

    def _exponent(self) -> Array:
        X, rates = self._X, self._rates
        if not is_numpy(X):
            return _own_exponent(rates, X - namespace(X).mean(X, axis=0))
        n = X.shape[0]
        q = np.empty((rates.shape[0], n, n))
        centre = _centre(X)
        for rate, mine in zip(rates, q, strict=True):
            inside = _columns(X, centre, rate.nonzero()[0])
            self._inside.append(inside)
            Z = inside.centred * rate[inside.positions]
            _write_exponent(Z, Z, mine)
            mine.reshape(-1)[:: n + 1] = 0.0
        return q

    def pull_back(self, G: Array) -> Array:
        xp = namespace(G)
        W = G * self._derivative
        row_sums = xp.sum(W, axis=2)
        if self._derivative is self.value:
            signal = xp.sum(row_sums, axis=1)
        else:
            signal = xp.sum(G * self.value, axis=(1, 2))
        # dw/dlog lengthscale = -2 w for the relevance w = 1 / lengthscale^2.
        weights = like(-2.0 * self._rates**2, G)
        slopes = self._relevance_slopes(W, row_sums, self._inside)
        return xp.concat([signal[:, None], weights * slopes], axis=1)

    def slopes(self, G: Array) -> Array:
        W = G * self._derivative
        lanes, d = self._rates.shape
        everything: list[_Columns] = []
        if is_numpy(G):
            everything = [_columns(self._X, _centre(self._X), np.arange(d))] * lanes
        return self._relevance_slopes(W, namespace(G).sum(W, axis=2), everything)

    def _relevance_slopes(self, W: Array, row_sums: Array, wanted: list[_Columns]) -> Array:
        """Return the slopes of the inputs that are wanted from the one product `W X`, `(b, d)`.

        dq/dw_j = -(x_j - x'_j)^2 / 2, so sum_ij W_ij dq_ij/dw_j = x_j' W x_j - (x_j^2)' (W 1).
        Libraries other than NumPy give those of all inputs.
        """
        if is_numpy(W):
            slopes = np.zeros(self._rates.shape)
            for lane, (positions, columns) in enumerate(wanted):
                slope = np.einsum("ij,ij->j", columns, W[lane] @ columns)
                slope -= row_sums[lane] @ columns**2
                slopes[lane, positions] = slope
            return slopes
        X = self._X - namespace(W).mean(self._X, axis=0)
        return namespace(W).sum(X[None, :, :] * (W @ X), axis=1) - row_sums @ X**2


class _CrossEvaluation(Evaluation):
    """Of two sets of points, `(b, n, d)` and `(b, m, d)`, or the same for all lanes."""

    def __init__(
        self,
        kernel: Stationary,
        log_parameters: Host,
        X: Array,
        Z: Array,
        mask: Mask,
        same: bool = False,
    ) -> None:
        self._rates = _rates(log_parameters, mask)
        centre = namespace(Z).mean(Z, axis=1)[:, None, :]
        self._X, self._Z = X - centre, Z - centre
        variance = like(exponential(log_parameters[:, :1, None]), X)
        q = _exponent(self._rates, self._X, self._Z)
        if same:  # rounding must not move points apart from themselves
            q = q * (1.0 - namespace(q).eye(q.shape[-1], dtype=q.dtype, device=q.device))
        shape, derivative = kernel.profile(q)
        derivative *= variance
        if shape is not derivative:
            shape *= variance
        self.value = shape
        self._derivative = derivative  # dk/dq

    def pull_back(self, G: Array) -> Array:
        xp = namespace(G)
        W = G * self._derivative
        same = self._derivative is self.value
        signal = xp.sum(W if same else G * self.value, axis=(1, 2))
        if is_numpy(G):
            slopes = np.zeros(self._rates.shape)
            for lane, rate in enumerate(self._rates):
                columns = rate.nonzero()[0]
                slopes[lane, columns] = _slopes(
                    W[lane], own(self._X, lane)[:, columns], own(self._Z, lane)[:, columns]
                )
        else:
            slopes = _slopes(W, self._X, self._Z)
        # dw/dlog lengthscale = -2 w for the relevance w = 1 / lengthscale^2.
        return xp.concat([signal[:, None], like(-2.0 * self._rates**2, G) * slopes], axis=1)

    def slopes(self, G: Array) -> Array:
        return _slopes(G * self._derivative, self._X, self._Z)


def _slopes(W: Array, X: Array, Z: Array) -> Array:
    """Return `sum_im W_im dq_im/dw_j`, `(..., d)`, where `dq/dw_j = -(x_j - z_j)^2 / 2`."""
    xp = namespace(W)
    rows, columns = xp.sum(W, axis=-1)[..., None], xp.sum(W, axis=-2)[..., None]
    mixed = xp.sum(X * (W @ Z), axis=-2)
    return mixed - 0.5 * (xp.sum(rows * X**2, axis=-2) + xp.sum(columns * Z**2, axis=-2))


class _DiagonalEvaluation(Evaluation):
    def __init__(self, log_parameters: Host, X: Array) -> None:
        self._variance = like(exponential(log_parameters[:, :1]), X)
        self._d = int(X.shape[-1])
        shape = (log_parameters.shape[0], X.shape[-2])
        self.value = namespace(X).broadcast_to(self._variance, shape)

    def pull_back(self, G: Array) -> Array:
        xp = namespace(G)
        signal = self._variance * xp.sum(G, axis=1)[:, None]
        return xp.concat([signal, self.slopes(G)], axis=1)

    def slopes(self, G: Array) -> Array:
        return namespace(G).zeros((G.shape[0], self._d), dtype=G.dtype, device=G.device)


class _Columns(NamedTuple):
    """Some inputs of all points."""

    positions: NDArray[np.intp]
    centred: Host
    """`(n, k)`."""


def _centre(X: Host) -> Host:
    """Return the mean of the points, without what `np.mean` wraps around it."""
    centre: Host = np.add.reduce(X, axis=0) / len(X)
    return centre


def _columns(X: Host, centre: Host, positions: NDArray[np.intp]) -> _Columns:
    return _Columns(positions, X[:, positions] - centre[positions])


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
