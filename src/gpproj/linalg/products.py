"""Products and updates of batches of matrices, in place where that is possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import device_factor, lapack
from gpproj.linalg.arrays import Array, Host, is_numpy, namespace, transpose
from gpproj.linalg.order import fortran_lanes, fortran_view, in_lapack_order, mirror_lower


def subtract_outer(matrix: Array, vector: Array) -> Array:
    """Return `A - v v'` for matrices `(b, n, n)` and vectors `(b, n)`, reusing the matrices."""
    if is_numpy(matrix):
        for lane in range(matrix.shape[0]):
            target, own = fortran_view(matrix[lane]), np.ascontiguousarray(vector[lane])
            lapack.CALLS.subtract_outer(own, own, target)
        return matrix
    return minus_product(matrix, vector[:, :, None], vector[:, None, :])


def subtract_symmetric(matrix: Array, left: Array, right: Array) -> Array:
    """Return `A - (v w' + w v') / 2` for vectors `(b, n)`, reusing the symmetric matrices."""
    if is_numpy(matrix):
        half = 0.5 * left
        for lane in range(matrix.shape[0]):
            target = fortran_view(matrix[lane])
            v, w = np.ascontiguousarray(half[lane]), np.ascontiguousarray(right[lane])
            lapack.CALLS.subtract_outer(v, w, target)
            lapack.CALLS.subtract_outer(w, v, target)
        return matrix
    xp = namespace(matrix)
    both = xp.stack([0.5 * left, 0.5 * right], axis=2)
    return minus_product(matrix, both, xp.stack([right, left], axis=1))


def subtract_gram(matrix: Array, half: Array) -> Array:
    """Return `A - P P'` for batches `(b, n, n)`, reusing the memory of `A`."""
    if is_numpy(matrix):
        half = in_lapack_order(half)
        for lane in range(matrix.shape[0]):
            target = fortran_view(matrix[lane])
            lapack.CALLS.subtract_square(half[lane], target)
            mirror_lower(target)
        return matrix
    return minus_product(matrix, half, transpose(half))


def minus_product(matrix: Array, left: Array, right: Array) -> Array:
    """Return `A - left right` on a device, in one pass and in place where the library can."""
    if device_factor.is_torch(matrix):
        return device_factor.minus_product(matrix, left, right)
    return matrix - left @ right


def subtract_scaled(matrix: Array, other: Array, scale: Array) -> Array:
    """Return `A - B * scale` elementwise on a device, reusing the memory of `A`."""
    if device_factor.is_torch(matrix):
        return device_factor.minus_scaled(matrix, other, scale)
    return matrix - other * scale


def weighted_square(matrix: Array, weights: Array) -> Array:
    """Return `A diag(w) A` for symmetric matrices `(b, n, n)` and weights `(b, n)` of either sign.

    On the processor the columns of each sign are one symmetric product: together half the work of a
    product of matrices.
    """
    if not is_numpy(matrix):
        return (matrix * weights[:, None, :]) @ matrix
    product = fortran_lanes(matrix.shape)
    for lane, (A, w) in enumerate(zip(matrix, weights, strict=True)):
        target, A = product[lane], fortran_view(A)
        above = w > 0.0
        if above.any():
            lapack.CALLS.add_square(_scaled_columns(A, w, above), target, overwrite=True)
        else:
            target[...] = 0.0
        if not above.all():
            lapack.CALLS.subtract_square(_scaled_columns(A, -w, ~above), target)
        mirror_lower(target)
    return product


def _scaled_columns(matrix: Host, squares: Host, chosen: NDArray[np.bool_]) -> Host:
    """Return some columns times the roots of their weights, in LAPACK's order."""
    # The matrix is symmetric in memory of either order: rows are gathered, which is contiguous.
    rows = matrix.T[chosen]
    rows *= np.sqrt(squares[chosen])[:, None]
    return rows.T


def times_lower(matrix: Array, lower: Array) -> Array:
    """Return `M L` for matrices `(b, n, n)` and one lower triangular `L`, `(n, n)`.

    On a device there may be one for each, `(b, n, n)`.
    """
    if is_numpy(matrix):
        product, lower = fortran_lanes(matrix.shape), np.asfortranarray(lower)
        product[...] = matrix
        for lane in range(matrix.shape[0]):
            lapack.CALLS.multiply_lower(product[lane], lower)
        return product
    return (
        device_factor.times_lower(matrix, lower)
        if device_factor.is_torch(matrix)
        else matrix @ lower
    )


def times_vector(matrix: Array, vector: Array) -> Array:
    """Return `A v` for matrices `(b, n, n)` and one vector `(n,)`, or one for each, `(b, n)`."""
    return matrix @ vector if vector.ndim == 1 else (matrix @ vector[:, :, None])[:, :, 0]


def lane_dot(left: Array, right: Array) -> Array:
    """Return `left'right` of each lane, `(b,)`, for vectors `(b, n)` and `(n,)` or `(b, n)`."""
    return left @ right if right.ndim == 1 else namespace(left).sum(left * right, axis=1)


def contraction(left: Array, right: Array) -> Array:
    """Return `sum_ij left_ij right_ij` of each lane, `(b,)`; `right` is `(n, n)`.

    Both in LAPACK order for speed. On a device `right` may be `(b, n, n)`.
    """
    if is_numpy(left):
        return np.array([np.vdot(lane.T, right.T) for lane in left])
    return namespace(left).sum(left * right, axis=(1, 2))
