"""Cholesky factors of batches of matrices: solutions, determinants and inverses."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import device_factor, lapack
from gpproj.linalg.arrays import Array, Host, is_numpy, like, namespace, to_host, transpose
from gpproj.linalg.order import clear_upper, fortran_lanes, mirror_lower

JITTER_LADDER = (0.0, 1e-12, 1e-10, 1e-8, 1e-6)
"""Multiples of a matrix's mean diagonal, added to its diagonal one after the other."""


class JitterWarning(UserWarning):
    """A matrix was not positive definite as it stood, and its diagonal was enlarged a little."""


class Factor(NamedTuple):
    """Lower Cholesky factors `A = L L'` of a batch of matrices."""

    lower: Array
    """`(b, n, n)`; what is above the diagonal means nothing. The identity in lanes that failed. The
    matrices themselves where `root` was found without it; use `lower_triangle`."""
    jitter: Host
    """`(b,)`, what was added to the diagonal of each lane."""
    failed: Array
    """`(b,)`, lanes that no jitter of the ladder made positive definite; see `flags`."""
    root: Array = None
    """`L^-1`, where it was found on the way."""
    log_det: Array = None
    """`log|A|`, where it was found on the way, `(b,)`."""


def cholesky(matrix: Array, diagonal: Array | None = None, scale: Array | None = None) -> Factor:
    """Factorise `matrix * scale + diag(diagonal)`, adding jitter only in lanes that need it.

    Parameters
    ----------
    matrix : array `(b, n, n)`
        Symmetric matrices; left untouched.
    diagonal : array `(b, n)` or `(b, 1)`, optional
        Added to the diagonals.
    scale : array `(1, n, n)` or `(1, 1, 1)`, optional
        Symmetric, in LAPACK order; multiplies the matrices elementwise, saving a pass over them.

    Returns
    -------
    Factor

    Examples
    --------
    >>> import numpy as np
    >>> from gpproj.linalg import cholesky, lower_triangle
    >>> lower_triangle(cholesky(np.array([[[4.0, 2.0], [2.0, 2.0]]])))[0]
    array([[2., 0.],
           [1., 1.]])
    """
    lanes = matrix.shape[0]
    jitter, failed = np.zeros(lanes), np.zeros(lanes, dtype=bool)
    if is_numpy(matrix):
        lower = fortran_lanes(matrix.shape)
        for lane in range(lanes):
            added = None if diagonal is None else diagonal[lane]
            factor = None if scale is None else scale[0]
            jitter[lane], failed[lane] = _factorise_lapack(matrix[lane], factor, added, lower[lane])
    else:
        plain = diagonal is None and scale is None
        whole = matrix if plain else _assembled(matrix, diagonal, scale)
        if device_factor.is_torch(whole):
            halves = device_factor.factorise(whole)
            if device_factor.defers_failures() or not bool(namespace(whole).any(halves.failed)):
                return Factor(whole, jitter, halves.failed, halves.root, halves.log_det)
        lower, jitter, failed = _factorise_any(whole)
    if jitter.any():
        # One constant text, so that the warning registry shows it once.
        warnings.warn(
            "a covariance matrix was numerically singular and was factorised with jitter on its "
            "diagonal; a larger nugget or fewer near-duplicate rows avoids this",
            JitterWarning,
            stacklevel=2,
        )
    if not is_numpy(lower):
        failed = namespace(lower).asarray(failed, device=lower.device)
    return Factor(lower, jitter, failed)


def _factorise_lapack(
    matrix: Host, scale: Host | None, added: Host | None, lower: Host
) -> tuple[float, bool]:
    """Write the factor of one lane into `lower`; return its jitter and whether it failed."""
    n = matrix.shape[0]
    diagonal = matrix.diagonal()
    if scale is not None:
        diagonal = diagonal * scale.diagonal()
    if added is not None:
        diagonal = diagonal + added
    size = float(np.add.reduce(diagonal)) / max(n, 1)
    if math.isfinite(size) and size > 0:
        # Symmetric: a matrix in the order of rows is its transpose in that of `lower`.
        rows = lower.T
        for rung in JITTER_LADDER:
            if scale is None:
                rows[...] = matrix
            else:
                np.multiply(matrix, scale.T, out=rows)
            rows.reshape(-1)[:: n + 1] = diagonal + rung * size if rung else diagonal
            if lapack.CALLS.factorise(lower):
                return rung * size, False
    lower[...] = np.eye(n)
    return 0.0, True


def _assembled(matrix: Array, diagonal: Array | None, scale: Array | None) -> Array:
    """Return `matrix * scale + diag(diagonal)` on a device_factor."""
    xp, (lanes, n, _) = namespace(matrix), matrix.shape
    flat = xp.empty((lanes, n * n), dtype=matrix.dtype, device=matrix.device)
    _assemble(matrix, diagonal, scale, flat)
    return xp.reshape(flat, (lanes, n, n))


def _assemble(matrix: Array, diagonal: Array | None, scale: Array | None, flat: Array) -> None:
    """Write `matrix * scale + diag(diagonal)` into rows `(b, n * n)`, if possible in one pass."""
    xp, (lanes, n, _) = namespace(matrix), matrix.shape
    if device_factor.is_torch(flat):
        device_factor.assemble(matrix, scale, xp.reshape(flat, (lanes, n, n)))
    else:
        flat[...] = xp.reshape(matrix if scale is None else matrix * scale, (lanes, n * n))
    if diagonal is not None:
        flat[:, :: n + 1] += diagonal


def _factorise_any(matrix: Array) -> tuple[Array, Host, NDArray[np.bool_]]:
    """Factorise through the array-API standard; lanes are separated only when the batch fails."""
    xp = namespace(matrix)
    lanes, n = matrix.shape[0], matrix.shape[1]
    identity = xp.eye(n, dtype=matrix.dtype, device=matrix.device)
    try:
        return xp.linalg.cholesky(matrix), np.zeros(lanes), np.zeros(lanes, dtype=bool)
    except Exception as error:  # each library raises its own LinAlgError
        if "LinAlgError" not in type(error).__name__:
            raise
    if lanes > 1:
        parts = [_factorise_any(matrix[i : i + 1, :, :]) for i in range(lanes)]
        lower, jitter, failed = zip(*parts, strict=True)
        return xp.concat(lower, axis=0), np.concatenate(jitter), np.concatenate(failed)
    scale = float(xp.linalg.trace(matrix)[0]) / n
    for rung in JITTER_LADDER[1:]:
        try:
            lower = xp.linalg.cholesky(matrix + rung * scale * identity)
        except Exception as error:
            if "LinAlgError" not in type(error).__name__:
                raise
        else:
            return lower, np.asarray([rung * scale]), np.asarray([False])
    return identity[None, :, :], np.asarray([0.0]), np.asarray([True])


def flags(failed: Array) -> NDArray[np.bool_]:
    """Return the flags of lanes that failed on the host."""
    found: NDArray[np.bool_] = np.asarray(failed if is_numpy(failed) else to_host(failed) > 0.0)
    return found


def lower_triangle(factor: Factor) -> Array:
    """Return the factors themselves, zero above the diagonal, `(b, n, n)`."""
    xp = namespace(factor.lower)
    if factor.root is not None:  # then `lower` is still the matrix
        return xp.linalg.cholesky(factor.lower)
    return xp.tril(factor.lower)


def log_determinant(factor: Factor) -> Array:
    """Return `log|A|`, `(b,)`."""
    if is_numpy(factor.lower):
        return 2.0 * np.add.reduce(np.log(factor.lower.diagonal(axis1=1, axis2=2)), axis=-1)
    if factor.log_det is not None:
        return factor.log_det
    xp = namespace(factor.lower)
    diagonal = xp.linalg.diagonal(factor.lower)
    return 2.0 * xp.sum(xp.log(diagonal), axis=-1)


def solve(factor: Factor, right: Array) -> Array:
    """Return `A^-1 right` for right-hand sides `(b, n, k)`."""
    lower = factor.lower
    if is_numpy(lower):
        solution = fortran_lanes(right.shape)
        solution[...] = right
        for lane in range(lower.shape[0]):
            lapack.CALLS.solve_factored(lower[lane], solution[lane])
        return solution
    root = inverse_root(factor)
    return transpose(root) @ (root @ right)


def inverse_root(factor: Factor, *, overwrite: bool = False) -> Array:
    """Return `L^-1`, `(b, n, n)`, lower triangular: `A^-1 = L^-T L^-1`.

    With `overwrite` the factor's memory is reused where possible, and the factor is spent.
    """
    lower = factor.lower
    if is_numpy(lower):
        root = lower if overwrite else lower.copy(order="K")
        for lane in range(lower.shape[0]):
            lapack.CALLS.invert_lower(root[lane])
            clear_upper(root[lane])
        return root
    if factor.root is not None:
        return factor.root
    xp = namespace(lower)
    identity = like(np.eye(lower.shape[-1]), lower)
    return xp.linalg.solve(lower, xp.broadcast_to(identity, lower.shape))


def inverse(factor: Factor, *, overwrite: bool = False) -> Array:
    """Return `A^-1`, `(b, n, n)`, symmetric with both triangles filled.

    With `overwrite` the factor's memory is reused where possible, and the factor is spent.
    """
    if not is_numpy(factor.lower):
        root = inverse_root(factor)
        return (
            device_factor.squared(root) if device_factor.is_torch(root) else transpose(root) @ root
        )
    result = factor.lower if overwrite else factor.lower.copy(order="K")
    for lane in range(result.shape[0]):
        lapack.CALLS.invert_lower(result[lane])
        # A^-1 = M' M, computed in place in the lower triangle.
        lapack.CALLS.square_lower(result[lane])
        mirror_lower(result[lane])
    return result


def inverses(
    *systems: tuple[Array, Array | None, Array | None],
) -> tuple[Array, Array, Array]:
    """Return `A^-1`, `log|A|` and what failed for several batches at once, one after the other.

    Parameters
    ----------
    systems : (matrix, diagonal, scale)
        As for `cholesky`, all of one size.
    """
    first = systems[0][0]
    xp, n = namespace(first), int(first.shape[1])
    lanes = sum(int(matrix.shape[0]) for matrix, _, _ in systems)
    flat = xp.empty((lanes, n * n), dtype=first.dtype, device=first.device)
    place = 0
    for matrix, diagonal, scale in systems:
        count = int(matrix.shape[0])
        _assemble(matrix, diagonal, scale, flat[place : place + count, :])
        place += count
    whole = xp.reshape(flat, (lanes, n, n))
    # Where failures are only flagged, the matrices are not needed again.
    if device_factor.is_torch(whole) and device_factor.defers_failures():
        halves = device_factor.factorise(whole, overwrite=True)
        return device_factor.squared(halves.root), halves.log_det, halves.failed
    factor = cholesky(whole)
    return inverse(factor), log_determinant(factor), factor.failed
