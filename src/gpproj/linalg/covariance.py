"""The small interface that every covariance matrix of the package sits behind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg.arrays import Array, is_numpy, like, namespace, to_host
from gpproj.linalg.factor import Factor, cholesky, log_determinant, solve

DENSE_LIMIT = 10_000
"""Rows up to which a low-rank covariance can be had as a matrix."""


class Covariance(ABC):
    """A symmetric positive definite matrix `C`, `(n, n)`, known by what it does."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """`(n, n)`."""

    @abstractmethod
    def diagonal(self) -> Array:
        """Return the diagonal, `(n,)`."""

    @abstractmethod
    def column(self, i: int) -> Array:
        """Return the i-th column, `(n,)`."""

    @abstractmethod
    def product(self, right: Array) -> Array:
        """Return `C right` for `right` of shape `(n,)` or `(n, k)`."""

    @abstractmethod
    def solve(self, right: Array) -> Array:
        """Return `C^-1 right` for `right` of shape `(n,)` or `(n, k)`."""

    @abstractmethod
    def log_determinant(self) -> float:
        """Return `log|C|`, computed once."""

    @abstractmethod
    def scaled(self, factor: float) -> Covariance:
        """Return `factor C`."""

    @abstractmethod
    def plus(self, other: Covariance) -> Covariance:
        """Return the sum with another covariance of the same kind."""

    @abstractmethod
    def plus_outer(self, half: Array) -> Covariance:
        """Return `C + half half'` for `half` of shape `(n, k)`."""

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> Covariance:
        """Return the covariance of some rows."""

    @abstractmethod
    def dense(self) -> Array:
        """Return the matrix itself, `(n, n)`."""

    def __matmul__(self, right: Array) -> Array:
        """Return `C right`."""
        return self.product(right)

    def __getitem__(self, index: Any) -> Any:
        """Return entries of the matrix, indexed as an array is."""
        return self.dense()[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Let NumPy functions take the covariance as the matrix it stands for."""
        return np.array(to_host(self.dense()), dtype=dtype, copy=copy)


class DenseCovariance(Covariance):
    """A covariance held as its matrix.

    Parameters
    ----------
    matrix : array `(n, n)`
        Symmetric positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from gpproj.linalg import DenseCovariance
    >>> covariance = DenseCovariance(np.diag([1.0, 4.0]))
    >>> covariance @ np.ones(2)
    array([1., 4.])
    >>> round(covariance.log_determinant(), 4)
    1.3863
    >>> np.asarray(covariance).shape
    (2, 2)
    """

    def __init__(self, matrix: Array) -> None:
        self._matrix = matrix

    @cached_property
    def _factor(self) -> Factor:
        factor = cholesky(self._matrix[None, :, :])
        if factor.failed[0]:
            raise np.linalg.LinAlgError("the covariance matrix is not positive definite")
        return factor

    @property
    def shape(self) -> tuple[int, int]:
        """`(n, n)`."""
        return (int(self._matrix.shape[0]), int(self._matrix.shape[1]))

    def diagonal(self) -> Array:
        """Return the diagonal, `(n,)`."""
        return namespace(self._matrix).linalg.diagonal(self._matrix)

    def column(self, i: int) -> Array:
        """Return the i-th column, `(n,)`."""
        return self._matrix[:, i]

    def product(self, right: Array) -> Array:
        """Return `C right`."""
        return self._matrix @ right

    def solve(self, right: Array) -> Array:
        """Return `C^-1 right`."""
        columns = right[:, None] if right.ndim == 1 else right
        solution = solve(self._factor, columns[None, :, :])[0, :, :]
        return solution[:, 0] if right.ndim == 1 else solution

    def log_determinant(self) -> float:
        """Return `log|C|`."""
        return float(log_determinant(self._factor)[0])

    def scaled(self, factor: float) -> DenseCovariance:
        """Return `factor C`."""
        return DenseCovariance(self._matrix * factor)

    def plus(self, other: Covariance) -> DenseCovariance:
        """Return the sum."""
        return DenseCovariance(self._matrix + other.dense())

    def plus_outer(self, half: Array) -> DenseCovariance:
        """Return `C + half half'`."""
        return DenseCovariance(self._matrix + half @ half.T)

    def take(self, rows: NDArray[np.intp]) -> DenseCovariance:
        """Return the covariance of some rows."""
        xp = namespace(self._matrix)
        where = xp.asarray(rows, device=self._matrix.device)
        return DenseCovariance(xp.take(xp.take(self._matrix, where, axis=0), where, axis=1))

    def dense(self) -> Array:
        """Return the matrix itself."""
        return self._matrix

    def __repr__(self) -> str:
        """Name the class and its size."""
        return f"DenseCovariance(n={self.shape[0]})"


class DeferredCovariance(Covariance):
    """A covariance whose diagonal is known, and whose matrix is computed where it is needed.

    Parameters
    ----------
    diagonal : array `(n,)`
    compute : callable
        Returns the matrix, `(n, n)`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpproj.linalg import DeferredCovariance
    >>> covariance = DeferredCovariance(np.ones(3), lambda: np.eye(3))
    >>> covariance.diagonal().tolist(), (covariance @ np.arange(3.0)).tolist()
    ([1.0, 1.0, 1.0], [0.0, 1.0, 2.0])
    """

    def __init__(self, diagonal: Array, compute: Callable[[], Array]) -> None:
        self._diagonal, self._compute = diagonal, compute

    @cached_property
    def whole(self) -> DenseCovariance:
        """The covariance with its matrix, which is computed once.

        Its diagonal is the one that is known, to the last bit, wherever it is looked at.
        """
        matrix = self._compute()
        if is_numpy(matrix):
            np.fill_diagonal(matrix, self._diagonal)
        return DenseCovariance(matrix)

    @property
    def shape(self) -> tuple[int, int]:
        """`(n, n)`."""
        return (int(self._diagonal.shape[0]), int(self._diagonal.shape[0]))

    def diagonal(self) -> Array:
        """Return the diagonal, `(n,)`."""
        return self._diagonal

    def column(self, i: int) -> Array:
        """Return the i-th column, `(n,)`."""
        return self.whole.column(i)

    def product(self, right: Array) -> Array:
        """Return `C right`."""
        return self.whole.product(right)

    def solve(self, right: Array) -> Array:
        """Return `C^-1 right`."""
        return self.whole.solve(right)

    def log_determinant(self) -> float:
        """Return `log|C|`."""
        return self.whole.log_determinant()

    def scaled(self, factor: float) -> DeferredCovariance:
        """Return `factor C`."""
        return DeferredCovariance(factor * self._diagonal, lambda: factor * self.dense())

    def plus(self, other: Covariance) -> DeferredCovariance:
        """Return the sum."""
        total = self._diagonal + other.diagonal()
        return DeferredCovariance(total, lambda: self.dense() + other.dense())

    def plus_outer(self, half: Array) -> DeferredCovariance:
        """Return `C + half half'`."""
        total = self._diagonal + namespace(half).sum(half**2, axis=1)
        return DeferredCovariance(total, lambda: self.dense() + half @ half.T)

    def take(self, rows: NDArray[np.intp]) -> DeferredCovariance:
        """Return the covariance of some rows."""
        xp = namespace(self._diagonal)
        some = xp.take(self._diagonal, xp.asarray(rows, device=self._diagonal.device))
        return DeferredCovariance(some, lambda: self.whole.take(rows).dense())

    def dense(self) -> Array:
        """Return the matrix itself."""
        return self.whole.dense()

    def __reduce__(self) -> tuple[Any, ...]:
        """Go elsewhere as a matrix."""
        return DenseCovariance, (self.dense(),)

    def __repr__(self) -> str:
        """Name the class and its size."""
        return f"DeferredCovariance(n={self.shape[0]})"


class LowRankCovariance(Covariance):
    """`diag(noise) + factor factor'`, never held as a matrix.

    Parameters
    ----------
    noise : array `(n,)`
        Positive.
    factor : array `(n, r)`

    Examples
    --------
    >>> import numpy as np
    >>> from gpproj.linalg import LowRankCovariance
    >>> covariance = LowRankCovariance(np.ones(3), np.array([[1.0], [2.0], [0.0]]))
    >>> covariance @ np.ones(3)
    array([4., 7., 1.])
    >>> round(covariance.log_determinant(), 4)
    1.7918
    """

    def __init__(self, noise: Array, factor: Array) -> None:
        self.noise, self.factor = noise, factor

    @cached_property
    def _inner(self) -> Factor:
        """The factor of `I + factor' noise^-1 factor`, `(r, r)`."""
        gram = self.factor.T @ (self.factor / self.noise[:, None])
        factor = cholesky(gram[None, :, :], like(np.ones((1, self.rank)), gram))
        if factor.failed[0]:
            raise np.linalg.LinAlgError("the covariance is not positive definite")
        return factor

    @property
    def rank(self) -> int:
        """Columns of the factor."""
        return int(self.factor.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """`(n, n)`."""
        return (int(self.factor.shape[0]), int(self.factor.shape[0]))

    def diagonal(self) -> Array:
        """Return the diagonal, `(n,)`."""
        return self.noise + namespace(self.factor).sum(self.factor**2, axis=1)

    def column(self, i: int) -> Array:
        """Return the i-th column, `(n,)`."""
        unit = like(np.arange(self.shape[0]) == i, self.noise)
        return self.noise * unit + self.factor @ self.factor[i, :]

    def product(self, right: Array) -> Array:
        """Return `C right`."""
        noise = self.noise if right.ndim == 1 else self.noise[:, None]
        return noise * right + self.factor @ (self.factor.T @ right)

    def solve(self, right: Array) -> Array:
        """Return `C^-1 right`, by the Woodbury identity."""
        noise = self.noise if right.ndim == 1 else self.noise[:, None]
        scaled = right / noise
        inside = self.factor.T @ scaled
        columns = inside[:, None] if right.ndim == 1 else inside
        found = solve(self._inner, columns[None, :, :])[0, :, :]
        explained = self.factor @ (found[:, 0] if right.ndim == 1 else found)
        return scaled - explained / noise

    def log_determinant(self) -> float:
        """Return `log|C|`, by the determinant lemma."""
        xp = namespace(self.noise)
        return float(xp.sum(xp.log(self.noise)) + log_determinant(self._inner)[0])

    def scaled(self, factor: float) -> LowRankCovariance:
        """Return `factor C`."""
        return LowRankCovariance(factor * self.noise, factor**0.5 * self.factor)

    def plus(self, other: Covariance) -> LowRankCovariance:
        """Return the sum, of a rank that does not grow with the number of terms."""
        assert isinstance(other, LowRankCovariance)  # sums are of one kind
        whole = LowRankCovariance(self.noise + other.noise, self.factor)
        limit = max(2 * other.rank, self.rank)
        return whole.plus_outer(other.factor)._compressed(limit)

    def plus_outer(self, half: Array) -> LowRankCovariance:
        """Return `C + half half'`."""
        factor = namespace(self.factor).concat([self.factor, half], axis=1)
        return LowRankCovariance(self.noise, factor)

    def take(self, rows: NDArray[np.intp]) -> LowRankCovariance:
        """Return the covariance of some rows."""
        xp = namespace(self.factor)
        where = xp.asarray(rows, device=self.factor.device)
        return LowRankCovariance(xp.take(self.noise, where), xp.take(self.factor, where, axis=0))

    def _compressed(self, rank: int) -> LowRankCovariance:
        """Return the best factor of a lower rank; the variances it loses join the noise."""
        if self.rank <= rank:
            return self
        xp = namespace(self.factor)
        _, vectors = xp.linalg.eigh(self.factor.T @ self.factor)
        rotated = self.factor @ vectors  # columns in the order of their size
        lost = xp.sum(rotated[:, :-rank] ** 2, axis=1)
        return LowRankCovariance(self.noise + lost, rotated[:, -rank:])

    def dense(self) -> Array:
        """Return the matrix itself, where it is not too large to be meant."""
        n = self.shape[0]
        if n > DENSE_LIMIT:
            raise MemoryError(
                f"this covariance of {n} rows is kept as low rank plus diagonal; as a matrix it "
                f"would have {n} x {n} numbers, and more than {DENSE_LIMIT} rows are refused: use "
                "its diagonal, product or solve"
            )
        identity = namespace(self.noise).eye(n, dtype=self.noise.dtype, device=self.noise.device)
        return self.noise[:, None] * identity + self.factor @ self.factor.T

    def __repr__(self) -> str:
        """Name the class and its sizes."""
        return f"LowRankCovariance(n={self.shape[0]}, rank={self.rank})"
