"""Scaled distances between points, and kernels of them with their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels.base import Evaluation, Mask, by_lane, own
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

Profile: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""From `q = -r^2 / 2`, `(b, n, m)`, to `s(q)` and `ds/dq`; may overwrite `q` and return one array
twice."""


def rates_of(log_parameters: Host, mask: Mask) -> Array:
    """Return the inverse length-scales, `(b, d)`, zero for inputs that are out."""
    return masked(mask, exponential(-log_parameters[:, 1:]))


def exponent(rates: Host, X: Array, Z: Array) -> Array:
    """Return `q = x'z - |x|^2/2 - |z|^2/2` of points over their length-scales, `(b, n, m)`.

    The points must be centred, which keeps the cancellation to the last digits.
    """
    X, Z = by_lane(X), by_lane(Z)
    if is_numpy(X):
        q = np.empty((rates.shape[0], X.shape[1], Z.shape[1]))
        for lane, (rate, mine) in enumerate(zip(rates, q, strict=True)):
            # Inputs that are out are really left out: exact, and cheap when few are in.
            columns = rate.nonzero()[0]
            rate = rate[columns]
            _write_exponent(own(X, lane)[:, columns] * rate, own(Z, lane)[:, columns] * rate, mine)
        return q
    xp, weights = namespace(X), like(rates[:, None, :], X)
    X, Z = X * weights, Z * weights
    # The norms are two more columns, so that one product does it all.
    norms, norms_new = (-0.5 * xp.sum(points * points, axis=-1)[:, :, None] for points in (X, Z))
    left = xp.concat([X, norms, xp.ones_like(norms)], axis=-1)
    right = xp.concat([Z, xp.ones_like(norms_new), norms_new], axis=-1)
    return left @ transpose(right)


def _write_exponent(Z: Host, Z_new: Host, q: Host) -> None:
    """Write `z'z_new - |z|^2/2 - |z_new|^2/2` for points of one lane over their length-scales."""
    np.matmul(Z, Z_new.T, out=q)
    half = _half_squares(Z)
    q -= half[:, None]
    q -= half if Z_new is Z else _half_squares(Z_new)


def _half_squares(Z: Host) -> Host:
    half: Host = np.einsum("ij,ij->i", Z, Z)
    half *= 0.5
    return half


class _DistanceEvaluation(Evaluation):
    """A kernel at scaled distances, and its derivative `dk/dq`.

    Parameters
    ----------
    profile : callable
        The profile of the kernel, and its derivative, at `q`.
    log_parameters : array `(b, p)`
    rates : array `(b, d)`
        Inverse length-scales.
    q : array `(b, n, m)`
        Exponents, whose memory is reused.
    """

    def __init__(self, profile: Profile, log_parameters: Host, rates: Host, q: Array) -> None:
        self._rates = rates
        variance = like(exponential(log_parameters[:, :1, None]), q)
        self.value, self._derivative = profile(q)
        self._derivative *= variance
        if self.value is not self._derivative:
            self.value *= variance

    def _in_logs(self, signal: Array, slopes: Array) -> Array:
        """Return derivatives in the log parameters, `(b, 1 + d)`, from those in relevances."""
        # dw/dlog lengthscale = -2 w for the relevance w = 1 / lengthscale^2.
        scales = like(-2.0 * self._rates**2, slopes) * slopes
        return namespace(slopes).concat([signal[:, None], scales], axis=1)


class SquareEvaluation(_DistanceEvaluation):
    """The covariances of one set of points, `(n, d)`, with itself."""

    def __init__(self, profile: Profile, log_parameters: Host, X: Array, mask: Mask) -> None:
        self._X = X
        self._inside: list[_Columns] = []
        rates = rates_of(log_parameters, mask)
        super().__init__(profile, log_parameters, rates, self._exponent(rates))

    def _exponent(self, rates: Host) -> Array:
        X = self._X
        if not is_numpy(X):
            centred = X - namespace(X).mean(X, axis=0)
            return exponent(rates, centred, centred)
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
        """Return the derivatives in the log variance and the log length-scales, `(b, 1 + d)`."""
        xp = namespace(G)
        W = G * self._derivative
        row_sums = xp.sum(W, axis=2)
        if self._derivative is self.value:
            signal = xp.sum(row_sums, axis=1)
        else:
            signal = xp.sum(G * self.value, axis=(1, 2))
        return self._in_logs(signal, self._relevance_slopes(W, row_sums, self._inside))

    def slopes(self, G: Array) -> Array:
        """Return the derivatives in the relevances of all inputs, `(b, d)`."""
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


class CrossEvaluation(_DistanceEvaluation):
    """The covariances of two sets of points, `(b, n, d)` and `(b, m, d)`."""

    def __init__(
        self, profile: Profile, log_parameters: Host, X: Array, Z: Array, mask: Mask
    ) -> None:
        same, X, Z = X is Z, by_lane(X), by_lane(Z)
        centre = namespace(Z).mean(Z, axis=1)[:, None, :]
        self._X, self._Z = X - centre, Z - centre
        rates = rates_of(log_parameters, mask)
        q = exponent(rates, self._X, self._Z)
        if same:  # rounding must not move points apart from themselves
            q = q * (1.0 - namespace(q).eye(q.shape[-1], dtype=q.dtype, device=q.device))
        super().__init__(profile, log_parameters, rates, q)

    def pull_back(self, G: Array) -> Array:
        """Return the derivatives in the log variance and the log length-scales, `(b, 1 + d)`."""
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
        return self._in_logs(signal, slopes)

    def slopes(self, G: Array) -> Array:
        """Return the derivatives in the relevances of all inputs, `(b, d)`."""
        return _slopes(G * self._derivative, self._X, self._Z)


def _slopes(W: Array, X: Array, Z: Array) -> Array:
    """Return `sum_im W_im dq_im/dw_j`, `(..., d)`, where `dq/dw_j = -(x_j - z_j)^2 / 2`."""
    xp = namespace(W)
    rows, columns = xp.sum(W, axis=-1)[..., None], xp.sum(W, axis=-2)[..., None]
    mixed = xp.sum(X * (W @ Z), axis=-2)
    return mixed - 0.5 * (xp.sum(rows * X**2, axis=-2) + xp.sum(columns * Z**2, axis=-2))


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
