"""SciPy's BLAS and LAPACK by its public wrappers, which fit whatever SciPy was built with.

A wrapper works in place on whole Fortran-ordered arrays, and on a copy of any other block, which is
then brought back; most of them keep the interpreter's lock. The functions behind them and the order
of work are those of `lapack_direct`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from gpproj.linalg.arrays import Host

LEAF = 96
"""Size below which LAPACK inverts a triangle in one go.

Its `dtrtri` takes 2.3 ms at n = 400. Recursion to this size with matrix products in between takes
0.75 ms; smaller leaves are no faster there, and cost more in calls at n = 150.
"""

DOUBLE = np.dtype(np.float64).itemsize


def leading_dimension(matrix: Host) -> int:
    """Return how many numbers lie between the beginnings of two columns."""
    row, column = matrix.strides
    if row != DOUBLE and matrix.shape[0] > 1:
        raise ValueError("the columns of the matrix are not contiguous")
    return max(int(column) // DOUBLE, int(matrix.shape[0]), 1)


def _check(*matrices: Host) -> None:
    """Refuse what calls by address refuse, which wrappers would copy without a word."""
    for matrix in matrices:
        leading_dimension(matrix)


def _bring_back(result: Any, matrix: Host) -> None:
    """Write a result into the matrix that was to be overwritten, unless that was done in place."""
    if result is not matrix:
        matrix[...] = result


class Wrapped:
    """The calls by the wrappers, which do not take empty matrices."""

    def factorise(self, matrix: Host) -> bool:
        """Overwrite the lower triangle of `A` with its Cholesky factor; say if that succeeded."""
        _check(matrix)
        result, info = lapack.dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        _bring_back(result, matrix)
        return bool(info == 0)

    def solve_factored(self, lower: Host, right: Host) -> None:
        """Overwrite `right` with `A^-1 right`, given the lower factor of `A`."""
        _check(lower, right)
        if right.size:
            _bring_back(lapack.dpotrs(lower, right, lower=1, overwrite_b=1)[0], right)

    def invert_lower(self, lower: Host) -> None:
        """Overwrite a lower triangle with its inverse, by halves.

        [L11 0; L21 L22]^-1 = [M11 0; -M22 L21 M11, M22] with M11 = L11^-1, M22 = L22^-1.
        """
        _check(lower)
        n = len(lower)
        if n <= LEAF:
            if n:
                _bring_back(lapack.dtrtri(lower, lower=1, overwrite_c=1)[0], lower)
            return
        h = n // 2
        first, block, corner = lower[:h, :h], lower[h:, :h], lower[h:, h:]
        self.invert_lower(first)
        self.invert_lower(corner)
        product = blas.dtrmm(-1.0, corner, block, lower=1)
        block[...] = blas.dtrmm(1.0, first, product, side=1, lower=1, overwrite_b=1)

    def square_lower(self, lower: Host) -> None:
        """Overwrite the lower triangle `M` with that of `M' M`."""
        _check(lower)
        if lower.size:
            _bring_back(lapack.dlauum(lower, lower=1, overwrite_c=1)[0], lower)

    def multiply_lower(self, matrix: Host, lower: Host) -> None:
        """Overwrite `B` with `B L`."""
        _check(lower, matrix)
        if matrix.size:
            result = blas.dtrmm(1.0, lower, matrix, side=1, lower=1, overwrite_b=1)
            _bring_back(result, matrix)

    def subtract_square(self, half: Host, matrix: Host) -> None:
        """Subtract `P P'` from the lower triangle of `C`."""
        self._add_square(half, matrix, -1.0, 1.0)

    def add_square(self, half: Host, matrix: Host, *, overwrite: bool = False) -> None:
        """Add `P P'` to the lower triangle of `C`, or write it there whatever stood in it."""
        self._add_square(half, matrix, 1.0, 0.0 if overwrite else 1.0)

    def _add_square(self, half: Host, matrix: Host, factor: float, kept: float) -> None:
        _check(half, matrix)
        if matrix.size:
            result = blas.dsyrk(factor, half, beta=kept, c=matrix, lower=1, overwrite_c=1)
            _bring_back(result, matrix)

    def subtract_outer(self, left: Host, right: Host, matrix: Host) -> None:
        """Subtract `v w'` from a square matrix; the vectors are contiguous."""
        _check(matrix)
        if matrix.size:
            _bring_back(blas.dger(-1.0, left, right, a=matrix, overwrite_a=1), matrix)
