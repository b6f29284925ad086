"""The memory order of matrices: LAPACK works in place on matrices whose columns are contiguous."""

from __future__ import annotations

import numpy as np

from gpproj.linalg.arrays import Array, Host, is_numpy

BLOCK = 64
"""Size of the blocks in which triangles are copied: few calls, and each stays in cache."""

UPPER = np.triu(np.ones((BLOCK, BLOCK), dtype=bool), 1)


def in_lapack_order(matrix: Array) -> Array:
    """Return matrices `(b, n, n)` whose lanes are in Fortran order, for repeated use with factors.

    Passes over two matrices of different orders take several times as long.
    """
    if not is_numpy(matrix) or matrix.swapaxes(1, 2).flags.c_contiguous:
        return matrix
    ordered = fortran_lanes(matrix.shape)
    ordered[...] = matrix
    return ordered


def in_row_order(symmetric: Array) -> Array:
    """Return symmetric matrices `(b, n, n)` in the order of every other array; never a copy."""
    if is_numpy(symmetric) and not symmetric.flags.c_contiguous:
        return symmetric.swapaxes(1, 2)
    return symmetric


def fortran_lanes(shape: tuple[int, ...]) -> Host:
    """Return an empty batch whose matrices are in Fortran order, LAPACK's fast (in-place) side."""
    lanes, rows, columns = shape
    return np.empty((lanes, columns, rows)).swapaxes(1, 2)


def fortran_view(matrix: Host) -> Host:
    """Return a symmetric matrix in the Fortran order that BLAS updates in place."""
    return matrix if matrix.flags.f_contiguous else matrix.T


def clear_upper(matrix: Host) -> None:
    """Zero what is above the diagonal of one matrix."""
    n = matrix.shape[0]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        matrix[start:stop, stop:] = 0.0
        block = matrix[start:stop, start:stop]
        np.copyto(block, 0.0, where=UPPER[: stop - start, : stop - start])


def mirror_lower(matrix: Host) -> None:
    """Copy the lower triangle of one matrix onto its upper one, in blocks that stay in cache."""
    n = matrix.shape[0]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
        block = matrix[start:stop, start:stop]
        np.copyto(block, block.T, where=UPPER[: stop - start, : stop - start])
