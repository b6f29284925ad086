"""The small interface that every covariance matrix of the package sits behind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg.arrays import Array, namespace, to_host
from gpproj.linalg.factor import Factor, cholesky, log_determinant, solve


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
    def product(self, right: Array) -> Array:
        """Return `C right` for `right` of shape `(n,)` or `(n, k)`."""

    @abstractmethod
    def solve(self, right: Array) -> Array:
        """Return `C^-1 right` for `right` of shape `(n,)` or `(n, k)`."""

    @abstractmethod
    def log_determinant(self) -> float:
        """Return `log|C|`, computed once."""

    @abstractmethod
    def contract(self, change: Array) -> float:
        """Return `sum_ij C_ij dK_ij` for a change `dK`, `(n, n)`."""

    @abstractmethod
    def scaled(self, factor: float) -> Covariance:
        """Return `factor C`."""

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

    def contract(self, change: Array) -> float:
        """Return `sum_ij C_ij dK_ij`."""
        return float(namespace(self._matrix).sum(self._matrix * change))

    def scaled(self, factor: float) -> DenseCovariance:
        """Return `factor C`."""
        return DenseCovariance(self._matrix * factor)

    def dense(self) -> Array:
        """Return the matrix itself."""
        return self._matrix

    def __repr__(self) -> str:
        """Name the class and its size."""
        return f"DenseCovariance(n={self.shape[0]})"
